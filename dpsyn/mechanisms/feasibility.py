"""One question, as many answers as there are theorems: may a mechanism be used on data like this? And a document of them."""

from __future__ import annotations

import inspect
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import cache
from typing import Any, Literal, get_args, get_origin, get_type_hints

import pandas as pd

from dpsyn import checks, escape
from dpsyn.display import PRIVATE, Shown
from dpsyn.errors import ParameterError
from dpsyn.mechanisms.registry import JUDGED, offered
from dpsyn.notation import counted, number, readable
from dpsyn.privacy.spec import PrivacySpec
from dpsyn.statistics import DatasetStatistics
from dpsyn.theory.conditions import MARKS, Condition, Verdict
from dpsyn.theory.logarithms import format_log

_LARGEST_WHOLE, _LARGEST = 10**300, 1e300


@dataclass(frozen=True, repr=False)
class Feasibility(Shown):
    """The verdicts on all mechanisms that have a theorem, for one dataset and one privacy specification.

    Iterate over it, or take one by the mechanism's registered name: ``found["dp_cda"]``, ``found.dp_cda``.
    """

    stats: DatasetStatistics
    spec: PrivacySpec
    verdicts: Mapping[str, Verdict]

    def __iter__(self) -> Iterator[Verdict]:
        return iter(self.verdicts.values())

    def _shown(self) -> tuple[str, list[str]]:
        stats, spec = self.stats, self.spec
        delta = f", δ = {spec.delta:g}" if spec.delta else ""
        heading = f"{stats.name}: p = {stats.p:,} bits, n = {counted(stats.n)} rows, at ε = {spec.epsilon:g}{delta}"
        return PRIVATE, [readable(heading), *(f"  {verdict.line}" for verdict in self), "; ".join(MARKS.values())]

    def __getitem__(self, mechanism: str) -> Verdict:
        return self.verdicts[checks.choice("mechanism", mechanism, list(self.verdicts))]

    def __getattr__(self, mechanism: str) -> Verdict:
        # Unpickling asks for names before there are verdicts.
        if mechanism.startswith("_") or mechanism not in self.verdicts:
            raise AttributeError(mechanism)
        return self.verdicts[mechanism]

    def to_dict(self) -> dict[str, Any]:
        """Plain data, fit for JSON: no infinities, logarithms beside numbers that a float cannot hold."""
        return {
            "data": asdict(self.stats),
            "privacy": asdict(self.spec),
            "verdicts": {verdict.mechanism: verdict.to_dict() for verdict in self},
        }


def feasibility(stats: DatasetStatistics, spec: PrivacySpec, **settings: Any) -> Feasibility:
    """Every condition of every theorem: required, actual, whether it holds, by how much, and what would make it true.

    Args:
        stats: p, n, ‖f_n‖∞ of the data.
        spec: ε, δ and the neighbours.
        settings: what the theorems depend on besides, by name; each mechanism's ``theorems.verdict`` says what it takes and
            what it takes without being told. Several share ``degree`` (d, the order of the marginals), ``rows`` (k,
            synthetic rows), ``reduced_space_size`` (m; None takes for each theorem the smallest that its lower bound allows)
            and ``failure_probability`` (γ).

    Raises:
        ParameterError: a value with which the formulas mean nothing; it names the field. A value that the algorithm
            cannot use but the formulas can (floor = 0.6, say) is a condition that does not hold instead.
            No theorem has a setting of this name.
    """
    known = {setting for name in JUDGED for setting in _settings_of(offered(name, "theorems:verdict"))}
    for name, value in settings.items():
        if name not in known:
            raise ParameterError(name, value, f"no theorem has such a setting; there are {', '.join(sorted(known))}")
    return Feasibility(stats, spec, {name: verdict_of(name, stats, spec, **settings) for name in JUDGED})


def verdict_of(mechanism: str, stats: DatasetStatistics, spec: PrivacySpec, **settings: Any) -> Verdict:
    """As :func:`feasibility`, on one mechanism that has a theorem; settings of others are left aside."""
    checks.choice("mechanism", mechanism, JUDGED)
    checks.instance("stats", stats, DatasetStatistics, "a dpsyn.DatasetStatistics, such as table.statistics()")
    checks.instance("spec", spec, PrivacySpec, "a dpsyn.PrivacySpec")
    judge = offered(mechanism, "theorems:verdict")
    taken = _settings_of(judge)
    own = {name: _of_kind(name, value, taken[name]) for name, value in settings.items() if name in taken}
    found: Verdict = judge(stats, spec, **own)
    return found


@cache
def _settings_of(judge: Callable[..., Verdict]) -> dict[str, Any]:
    """What a verdict takes by name, and the types."""
    kinds = get_type_hints(judge)
    parameters = inspect.signature(judge).parameters.values()
    return {one.name: kinds[one.name] for one in parameters if one.kind is inspect.Parameter.KEYWORD_ONLY}


def _of_kind(name: str, value: object, kind: Any) -> Any:
    """A setting as a plain value of its type. Its range is its theorem's to check."""
    kinds = get_args(kind)
    if value is None and type(None) in kinds:
        return None
    if get_origin(kind) is Literal:
        return checks.choice(name, value, kinds)
    if bool in (kind, *kinds):
        return checks.flag(name, value)
    if int in (kind, *kinds):
        return checks.whole(name, value, 0, _LARGEST_WHOLE)
    return checks.number(name, value, 0.0, _LARGEST)


def _checked(verdicts: Sequence[Feasibility]) -> list[Feasibility]:
    why = "a list of what feasibility gives"
    return [checks.instance("verdicts", found, Feasibility, why) for found in checks.items("verdicts", verdicts, why)]


def side_by_side(verdicts: Sequence[Feasibility]) -> pd.DataFrame:
    """One line per dataset: statistics, what holds by how many orders of magnitude; "—" where nothing is judged."""
    lines = []
    for found in _checked(verdicts):
        line = {
            "Data": found.stats.name,
            "p": f"{found.stats.p:,}",
            "n": number(found.stats.n),
            "‖fₙ‖∞": number(found.stats.max_frequency),
        }
        for verdict in found:
            failing = [c for c in verdict.conditions if not c.holds]
            worst = min((c.slack_orders for c in failing), default=0.0)
            far = f", worst by {worst:+.1f} orders" if worst < -0.05 else ", narrowly"
            line[verdict.title] = f"{verdict.mark} {f'{len(failing)} fail{far}' if failing else 'all hold'}"
        lines.append(line)
    return pd.DataFrame(lines).fillna("—")


NOT_FOR_PUBLICATION = (
    "Not for publication: these statistics come from private rows, or over a domain that nobody has confirmed as public."
)


def verdict_json(verdicts: Sequence[Feasibility], settings: dict[str, Any], *, private: bool) -> str:
    """All verdicts, the settings and whether the statistics may be published, as JSON text."""
    document = {
        "settings": checks.facts("settings", settings),
        "statistics_are_private_data": checks.flag("private", private),
        "datasets": [verdict.to_dict() for verdict in _checked(verdicts)],
    }
    return json.dumps(document, indent=2, allow_nan=False, ensure_ascii=False)


def verdict_markdown(verdicts: Sequence[Feasibility], settings: dict[str, Any], *, private: bool) -> str:
    """All verdicts as a Markdown document: one section a dataset, one table a mechanism."""
    lines = ["# Feasibility of differentially private synthetic data", ""]
    if checks.flag("private", private):
        lines += [f"> {NOT_FOR_PUBLICATION}", ""]
    said = ", ".join(f"{name} = {value}" for name, value in checks.facts("settings", settings).items())
    lines += [escape.markdown(readable(said)), ""]
    for found in _checked(verdicts):
        stats = found.stats
        lines += [
            f"## {escape.markdown(stats.name)}",
            "",
            f"p = {stats.p} bits, n = {stats.n:,} rows, largest share of equal rows {stats.max_frequency:.6g}.",
            "",
        ]
        for verdict in found:
            lines += _section(verdict)
    return "\n".join(lines)


def _section(verdict: Verdict) -> list[str]:
    lines = [f"### {verdict.title}", "", escape.markdown(verdict.summary), ""]
    lines += ["| holds | condition | actual | required | orders of magnitude | what would make it true | source |"]
    lines += ["| --- | --- | --- | --- | --- | --- | --- |"]
    lines += [_row(condition) for condition in verdict.conditions]
    if verdict.alternatives:
        lines += [_row(condition, "beside the verdict: ") for condition in verdict.alternatives]
    return [*lines, "", *(f"- {escape.markdown(note)}" for note in verdict.notes), ""]


def _row(condition: Condition, prefix: str = "") -> str:
    if condition.assumed:
        cells = ["assumed", condition.label, "", "", "", condition.note, condition.source]
    else:
        sign = {"<=": "<" if condition.strict else "≤", ">=": ">" if condition.strict else "≥"}[condition.relation]
        cells = [
            "yes" if condition.holds else "no",
            prefix + condition.label,
            format_log(condition.log_actual),
            f"{sign} {format_log(condition.log_required)}",
            f"{condition.slack_orders:+.2f}",
            condition.fix,
            condition.source,
        ]
    return "| " + " | ".join(escape.markdown(cell) for cell in cells) + " |"
