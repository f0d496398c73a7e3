"""Python that makes what a section of the feasibility page shows: the same functions, the same numbers."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import fields
from typing import Any

from dpsyn.kit.code import script, written
from dpsyn.kit.explorer import Explorer
from dpsyn.kit.visit import Dataset

ASKED = ("f_exact", "f_vary", "f_spread", "f_accuracy", "f_mixing", "f_table_epsilon")
"""Where the session holds what the sections' own widgets say."""
_TITLE = "Which theorem applies, and what would have to change."


def _begun(explorer: Explorer, current: Dataset) -> tuple[str, Dataset | None]:
    """Lines that make ``statistics`` and ``spec``, and the dataset that they read, if any."""
    spec = f"spec = {written(explorer.spec)}\n"
    if explorer.focus.loaded:
        return f"\nstatistics = table.statistics(two_valued_as_bit={current.two_valued_as_bit!r})\n{spec}", current
    stats = explorer.stats
    known = ", ".join(f"{f.name}={getattr(stats, f.name)!r}" for f in fields(stats) if f.init)
    return f"\nstatistics = dpsyn.DatasetStatistics({known})\n{spec}", None


def _arguments(**values: Any) -> str:
    """Named arguments, a line each; what is None is left to its default."""
    return "".join(f"    {name}={value!r},\n" for name, value in values.items() if value is not None)


def verdict(explorer: Explorer, current: Dataset, asked: Mapping[str, Any]) -> str:
    """The verdicts on the dataset in focus, with every condition."""
    begun, dataset = _begun(explorer, current)
    arguments = _arguments(
        **explorer.bounds,
        rows=explorer.rows,
        order_of_mixture=explorer.order_of_mixture,
        classes=explorer.focus.classes,
        exact_accounting=bool(asked.get("f_exact", False)),
    )
    if explorer.focus.smallest_class is not None:
        arguments += f"    smallest_class=table.smallest_class({current.target!r}),\n"
    body = f"""{begun}found = dpsyn.feasibility(
    statistics,
    spec,
{arguments})
for verdict in found:
    print(verdict.title, verdict.holds, verdict.summary)
    for condition in verdict.conditions:
        print("   ", condition.label, condition.holds, condition.slack_orders, condition.fix)
"""
    return script(_TITLE, body, dataset)


def sampling(explorer: Explorer, current: Dataset, asked: Mapping[str, Any]) -> str:
    """Certificates, the map, the trade-off in floor, and the inverse questions of private sampling."""
    begun, dataset = _begun(explorer, current)
    vary, spread = asked.get("f_vary", "n"), asked.get("f_spread", "data")
    body = f"""{begun}settings = dict(
{_arguments(**explorer.bounds, rows=explorer.rows)})
setting = sampling_setting(statistics, spec, **settings)
for answer in certificate_answers(setting):
    print(answer.name, "smallest epsilon", answer.smallest_epsilon, "largest k", answer.largest_rows, answer.reason)
print(inverse_frame(sampling_inverses(setting)).to_string())
draw_certificates(certificates_info(statistics, spec, vary={vary!r}, **settings)).save("certificates.html")
draw_plane(plane_info([statistics], spec, spread={spread!r}, **settings)).save("map.html")
draw_floor_tradeoff(floor_tradeoff_info(statistics, spec, **settings)).save("trade_off.html")
"""
    imports = (
        "from dpsyn.mechanisms.private_sampling.figures.certificates import certificates_info, draw_certificates\n"
        "from dpsyn.mechanisms.private_sampling.figures.certificates import draw_floor_tradeoff, floor_tradeoff_info\n"
        "from dpsyn.mechanisms.private_sampling.figures.plane import draw_plane, plane_info\n"
        "from dpsyn.mechanisms.private_sampling.answers import certificate_answers, inverse_frame, sampling_inverses\n"
        "from dpsyn.mechanisms.private_sampling.setting import sampling_setting\n"
    )
    return script(_TITLE, body, dataset, imports)


def reweighting(explorer: Explorer, current: Dataset, asked: Mapping[str, Any]) -> str:
    """Noise and accuracy of noisy reweighting, as published and corrected, and the condition numbers."""
    begun, dataset = _begun(explorer, current)
    degree = min(explorer.degree, explorer.stats.p)
    arguments = _arguments(
        degree=degree,
        accuracy=asked.get("f_accuracy", 0.1),
        failure_probability=explorer.failure_probability,
        rows=explorer.rows,
        reduced_space_size=explorer.reduced_space_size,
    )
    body = f"""{begun}found = reweighting_table(
    statistics,
    spec,
{arguments})
print(reweighting_frame(found).to_string())
for row in condition_number_table(statistics, {"table.codes" if explorer.focus.loaded else "None"}):
    print(row.measure, "log10 of the condition number:", row.log_value / np.log(10))
info = reweighting_info(statistics, spec, degree={degree}, failure_probability={explorer.failure_probability!r})
draw_reweighting(info).save("noise_and_accuracy.html")
"""
    imports = (
        "from dpsyn.mechanisms.noisy_reweighting.figures.feasibility import draw_reweighting, reweighting_info\n"
        "from dpsyn.mechanisms.noisy_reweighting.theorem_table import condition_number_table\n"
        "from dpsyn.mechanisms.noisy_reweighting.theorem_table import reweighting_frame, reweighting_table\n"
    )
    return script(_TITLE, body, dataset, imports)


def mixing(explorer: Explorer, current: Dataset, asked: Mapping[str, Any]) -> str:
    """Three accountants of DP-CDA, and the paper's claims for these sizes."""
    mixed: Mapping[str, Any] = asked["f_mixing"]
    order = min(explorer.order_of_mixture, mixed["facts"]["smallest_class"])
    body = f"""
facts = dict(
{_arguments(**mixed["facts"])})
for claim in claims(**facts, order_of_mixture={order}, sigma={mixed["sigma"]!r}, features={mixed["features"]}):
    print(claim.verdict, claim.statement, claim.by_how_much)
needed = sigma_needed_info(**facts, epsilon={explorer.spec.epsilon!r})
draw_sigma_needed(needed).save("sigma_needed.html")
against = epsilon_against_sigma_info(**facts, orders={mixed["orders"]!r})
draw_epsilon_against_sigma(against).save("epsilon_against_sigma.html")
"""
    imports = (
        "from dpsyn.mechanisms.dp_cda.figures.feasibility import draw_epsilon_against_sigma, draw_sigma_needed\n"
        "from dpsyn.mechanisms.dp_cda.figures.feasibility import epsilon_against_sigma_info, sigma_needed_info\n"
        "from dpsyn.mechanisms.dp_cda.claims import claims\n"
    )
    return script("What the paper on DP-CDA claims, and what is true for these sizes.", body, None, imports)


def tables(explorer: Explorer, current: Dataset, asked: Mapping[str, Any]) -> str:
    """The tables of the paper, printed and recomputed."""
    epsilon = asked.get("f_table_epsilon", 10.0)
    body = f"""
for table in paper_tables({epsilon!r}):
    print(table.title)
    print(table.frame.to_string())
    print(*table.errata, sep="\\n")
"""
    imports = "from dpsyn.mechanisms.private_sampling.tables import paper_tables\n"
    return script("The tables of Pierquin et al. (2023), recomputed.", body, None, imports)


CODE: dict[str, Callable[[Explorer, Dataset, Mapping[str, Any]], str]] = {
    "Private sampling": sampling,
    "Noisy reweighting": reweighting,
    "DP-CDA": mixing,
    "The papers' tables": tables,
}
"""By section; those that are not here show the verdicts."""
