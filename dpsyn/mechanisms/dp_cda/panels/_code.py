"""Python that makes what a view of DP-CDA shows: the same functions, the same numbers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from dpsyn.kit.code import imports_of, script
from dpsyn.mechanisms.dp_cda.mixing_noise import MixingFacts
from dpsyn.mechanisms.dp_cda.panels._controls import Bench

_FIGURES = "dpsyn.mechanisms.dp_cda.figures"
_TITLE = "DP-CDA from the inside: it reads the private rows."


def _sizes(bench: Bench) -> str:
    return f"""
records = records_of(train, {bench.records.target!r})
kept = records.mixable({bench.order_of_mixture})  # codes of the classes with l records or more
counts = tuple(records.sizes[k] for k in kept)
sizes = Sizes(counts, {bench.rows_per_class}, {bench.delta!r}, {bench.clip_norm!r}, {bench.variant!r})
"""


def _noise(bench: Bench) -> str:
    return f"""{_sizes(bench)}noise = noise_info(sizes, {bench.epsilon!r}, {bench.order_of_mixture})
sigma = noise.sigma("exact") or 0.0
"""


_SIZES = {"accounting": "Sizes", "noise": "noise_info", "records": "records_of"}


def noise(bench: Bench) -> str:
    """σ by three accountants, the budget class by class, and what clipping cuts."""
    body = f"""{_noise(bench)}
print(noise.verdict)
for accountant in ("exact", "published"):
    print(accountant, "sigma =", noise.sigma(accountant))
draw_noise(noise).save("noise.html")
budget = budget_info(
    classes=records.classes,
    sizes=records.sizes,
    rows_per_class={bench.rows_per_class},
    order_of_mixture={bench.order_of_mixture},
    sigma=sigma,
    clip_norm={bench.clip_norm!r},
    delta={bench.delta!r},
    target={bench.epsilon!r},
    variant={bench.variant!r},
)
print("binding:", budget.binding.name, "epsilon =", budget.binding.epsilon)
draw_budget(budget).save("budget.html")
norms = norms_info(records, {bench.clip_norm!r})
print(f"clipping shortens {{norms.cut:.4%}} of the records")
draw_norms(norms).save("norms.html")
"""
    imports = imports_of(
        _FIGURES,
        accounting="Sizes",
        budget="budget_info, draw_budget",
        noise="draw_noise, noise_info",
        norms="draw_norms, norms_info",
        records="records_of",
    )
    return script(_TITLE, body, bench.current, imports)


def images(bench: Bench, side: int, seed: int, classes: Sequence[int]) -> str:
    """A record, its average and the row that would be released, as images."""
    body = f"""{_noise(bench)}
found = stages_info(
    records,
    {side},  # pixels a side
    order_of_mixture={bench.order_of_mixture},
    sigma=sigma,
    epsilon={bench.epsilon!r},
    radius={bench.clip_norm!r},
    seed={seed},
    classes={list(classes)!r},
    variant={bench.variant!r},
)
print("sigma =", sigma)
print(found.subtitle)
draw_images(found).write_html("images.html")
"""
    return script(_TITLE, body, bench.current, imports_of(_FIGURES, **_SIZES, images="draw_images, stages_info"))


def points(bench: Bench, seed: int, axes: tuple[str, str] | None, classes: Sequence[int]) -> str:
    """Records, averages and rows as points of a plane."""
    body = f"""{_noise(bench)}
found = points_info(
    records,
    order_of_mixture={bench.order_of_mixture},
    sigma=sigma,
    epsilon={bench.epsilon!r},
    radius={bench.clip_norm!r},
    seed={seed},
    axes={axes!r},
    classes={list(classes)!r},
    variant={bench.variant!r},
)
print("sigma =", sigma)
print(f"these two directions carry {{found.explained:.4%}} of the variance")
draw_points(found).write_html("points.html")
"""
    return script(_TITLE, body, bench.current, imports_of(_FIGURES, **_SIZES, points="draw_points, points_info"))


def order(bench: Bench, asked: Mapping[str, Any] | None = None) -> str:
    """Noise and signal against l, and what was asked to be measured, if anything."""
    body = f"""{_sizes(bench)}
found = order_info(records, sizes, epsilon={bench.epsilon!r}, here={bench.order_of_mixture})
print("best l =", found.best)
draw_needed(found).save("noise_needed.html")
draw_order(found).save("signal.html")
"""
    imports = imports_of(_FIGURES, accounting="Sizes", order="draw_needed, draw_order, order_info", records="records_of")
    if asked is not None:
        arguments = ", ".join(f"{name}={value!r}" for name, value in asked.items())
        body += f"""
measured = accuracy_by_order(train, test, {arguments})
print(measured.summary().to_string())
"""
        imports = "from dpsyn.evaluation.order_of_mixture import accuracy_by_order\n" + imports
    return script(_TITLE, body, bench.current, imports)


def paper(bench: Bench, facts: MixingFacts, orders: Sequence[int], *, attack: bool) -> str:
    """The published formula beside the exact ε, and the pair that breaks the z-score."""
    body = f"""
found = published_info({facts!r}, orders={tuple(orders)!r})
print(found.verdict)
draw_published(found).save("published.html")
"""
    if attack:
        body += f"""
attack = attack_info(
    n={bench.current.table.n},
    features={len(bench.current.table.domain) - 1},
    classes={len(bench.records.classes)},
    order_of_mixture={bench.order_of_mixture},
    epsilon={bench.epsilon!r},
    delta={bench.delta!r},
    clip_norm={bench.clip_norm!r},
)
print("claimed:", attack.claimed, "sigma:", attack.sigma, "proven: epsilon >=", attack.refuted)
"""
    imports = imports_of(_FIGURES, published="draw_published, published_info", z_score="attack_info")
    imports += "from dpsyn.mechanisms.dp_cda.mixing_noise import MixingFacts\n"
    return script("Where the published guarantee of DP-CDA breaks.", body, None, imports)


def audit(epsilon: float, delta: float, order_of_mixture: int, runs: int) -> str:
    """The audits of the mechanism on its worst pairs; their runs are drawn anew."""
    body = f"""
found = audit_mixing(epsilon={epsilon!r}, delta={delta!r}, order_of_mixture={order_of_mixture}, runs={runs})
for name, audit in found.items():
    print(name, "claimed:", audit.claim, "at least:", audit.epsilon, "refuted" if audit.refuted else "not refuted")
draw_audits(audits_info(found)).save("audits.html")
"""
    imports = "from dpsyn.mechanisms.dp_cda.audit_trial import audit_mixing\n" + imports_of(
        _FIGURES, audits="audits_info, draw_audits"
    )
    return script("Audits of DP-CDA.", body, None, imports)
