"""Python that makes what a view of DP-CDA shows: the same functions, the same numbers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from dpsyn.kit.code import imports_of, script
from dpsyn.kit.visit import Dataset
from dpsyn.mechanisms.dp_cda.inside import Inside

_ROOM = "dpsyn.mechanisms.dp_cda"
_TITLE = "DP-CDA from the inside: it reads the private rows."


def _script(current: Dataset, inside: Inside, body: str, **figures: str) -> str:
    """A script that begins with the settings and the noise of the mechanism."""
    begun = f"""
records = Records(train, {inside.records.target!r})
inside = Inside(
    records,
    epsilon={inside.epsilon!r},
    delta={inside.delta!r},
    order_of_mixture={inside.order_of_mixture},
    rows={inside.rows},
    clip_norm={inside.clip_norm!r},
    variant={inside.variant!r},
)
print("sigma =", inside.sigma)  # of inside.mechanism, which takes the class sizes for public
"""
    imports = imports_of(f"{_ROOM}.figures", **figures) + f"from {_ROOM}.inside import Inside, Records\n"
    return script(_TITLE, begun + body.lstrip("\n"), current, imports)


def noise(current: Dataset, inside: Inside) -> str:
    """σ by three accountants, the budget class by class, and what clipping cuts."""
    body = """
noise = noise_info(inside.sizes, inside.epsilon, inside.order_of_mixture)
print(noise.verdict)
for line in noise.lines:
    print(line.accountant, "sigma =", line.sigma)
draw_noise(noise).save("noise.html")
names = [records.classes[k] for k in inside.kept]
budgets = class_budgets(names, inside.sizes, inside.order_of_mixture, inside.sigma, inside.epsilon)
print("binding:", budgets[0].name, "epsilon =", budgets[0].epsilon)
draw_budget(budgets, inside.sigma, inside.rows_per_class, inside.epsilon).save("budget.html")
norms = clipping_of(inside)
print(f"clipping shortens {norms.share_cut:.4%} of the records")
draw_norms(norms).save("norms.html")
"""
    what = "class_budgets, clipping_of, draw_budget, draw_noise, draw_norms, noise_info"
    return _script(current, inside, body, noise=what)


def images(current: Dataset, inside: Inside, side: int, seed: int, classes: Sequence[int]) -> str:
    """A record, its average and the row that would be released, as images."""
    body = f"""
found = stages_info(inside, {side}, seed={seed}, classes={list(classes)!r})  # {side} pixels a side
print(found.subtitle)
draw_images(found).write_html("images.html")
"""
    return _script(current, inside, body, rows="draw_images, stages_info")


def points(current: Dataset, inside: Inside, seed: int, axes: tuple[str, str] | None, classes: Sequence[int]) -> str:
    """Records, averages and rows as points of a plane."""
    body = f"""
found = points_info(inside, seed={seed}, axes={axes!r}, classes={list(classes)!r})
print(f"these two directions carry {{found.explained:.4%}} of the variance")
draw_points(found).write_html("points.html")
"""
    return _script(current, inside, body, rows="draw_points, points_info")


def order(current: Dataset, inside: Inside) -> str:
    """Noise and signal against l."""
    body = """
points = order_points(inside)
print("best l =", best_order(points))
draw_needed(points, inside).save("noise_needed.html")
draw_order(points, inside).save("signal.html")
"""
    return _script(current, inside, body, order="best_order, draw_needed, draw_order, order_points")


def paper(facts: Mapping[str, Any], orders: Sequence[int], attacked: Mapping[str, Any] | None) -> str:
    """The published formula beside the exact ε, and the pair that breaks the z-score."""
    body = f"""
found, gaps = published_info({dict(facts)!r}, orders={tuple(orders)!r})
print(where_too_small(gaps))
draw_epsilon_against_sigma(found).save("published.html")
"""
    if attacked is not None:
        arguments = "".join(f"    {name}={value!r},\n" for name, value in attacked.items())
        body += f"""
attack = published_attack(
{arguments})
print("claimed:", {attacked["epsilon"]!r}, "sigma and proven, epsilon >=:", attack)
"""
    imports = f"from {_ROOM}.counterexamples import published_attack\n" + imports_of(
        f"{_ROOM}.figures", feasibility="draw_epsilon_against_sigma", paper="published_info, where_too_small"
    )
    return script("Where the published guarantee of DP-CDA breaks.", body, None, imports)


def audit(epsilon: float, delta: float, order_of_mixture: int, runs: int) -> str:
    """The audits of the mechanism on its worst pairs; their runs are drawn anew."""
    body = f"""
found = audit_mixing(epsilon={epsilon!r}, delta={delta!r}, order_of_mixture={order_of_mixture}, runs={runs})
for name, audit in found.items():
    print(name, "claimed:", audit.claim, "at least:", audit.epsilon, "refuted" if audit.refuted else "not refuted")
draw_audits(found).save("audits.html")
"""
    imports = f"from {_ROOM}.audit import audit_mixing\n" + imports_of(f"{_ROOM}.figures", paper="draw_audits")
    return script("Audits of DP-CDA.", body, None, imports)
