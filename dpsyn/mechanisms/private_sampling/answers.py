"""What the theorems of private sampling answer: which certificate costs what, what would make each condition
true, and where floor may lie.

Theorem 4.1 of Boedihardjo, Strohmer and Vershynin (2021a) is proven in exact arithmetic, the bounded ratio without an if.
The stability bound is unpublished: it is compared, and certifies nothing.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import combinations, pairwise
from typing import Any, Literal

import pandas as pd

from dpsyn.mechanisms.private_sampling.bounds import ACCURACY, SHORT_NAMES, THEOREM_4_1, PrivateSamplingSetting
from dpsyn.mechanisms.private_sampling.certificates import EXACTLY, is_degenerate
from dpsyn.mechanisms.private_sampling.theorems import (
    LARGEST_WHOLE_CUBE,
    bounded_ratio,
    conditions,
    log_stability_epsilon,
    privacy_condition,
    theorem_4_1,
)
from dpsyn.notation import short
from dpsyn.theory.conditions import Condition, Remedy
from dpsyn.theory.logarithms import Side, exp_of, format_log
from dpsyn.theory.thresholds import monotone_root, whole

Certificate = Literal["theorem_4_1", "bounded_ratio", "stability"]
Varied = Literal["n", "rows", "floor", "ceiling", "reduced_space_size"]

PROVEN: tuple[Certificate, ...] = ("theorem_4_1", "bounded_ratio")
CERTIFICATES: tuple[Certificate, ...] = (*PROVEN, "stability")
NAMES: dict[Certificate, str] = {
    "theorem_4_1": "Theorem 4.1",
    "bounded_ratio": "bounded ratio",
    "stability": "stability (experimental)",
}
_HOLDS: dict[Certificate, str] = {"theorem_4_1": f", {EXACTLY}"}
_GRID = 64
_LEAST_FLOOR = sys.float_info.min


@dataclass(frozen=True)
class Crossing:
    """Where two certificates cost the same.

    Attributes:
        first, second: ``first`` is the smaller one below the value, ``second`` above it.
        log_value: natural logarithm of the parameter.
        log_epsilon: ln of the ε that both cost there.
    """

    first: Certificate
    second: Certificate
    log_value: float
    log_epsilon: float


@dataclass(frozen=True)
class CertificateAnswer:
    """The two inverse questions for one certificate.

    Attributes:
        certificate: which.
        applies: False where it says nothing: Theorem 4.1 under add/remove, an unusable box, stability above p = 16.
        smallest_epsilon: for the rows asked for; 0 where nothing is spent, inf where no ε is enough.
        log_largest_rows: ln of the largest whole k for the ε asked for; -inf where not even one row is, inf where all are.
        claimed: by a release of these rows.
        reason: why it does not apply.
    """

    certificate: Certificate
    applies: bool
    smallest_epsilon: float
    log_largest_rows: float
    claimed: bool
    reason: str = ""

    @property
    def name(self) -> str:
        """For a page."""
        return NAMES[self.certificate]

    @property
    def words(self) -> str:
        """Whether it is claimed, or why it does not apply."""
        return f"claimed{_HOLDS.get(self.certificate, '')}" if self.claimed else self.reason

    @property
    def largest_rows(self) -> float:
        """0 where not even one row is allowed, inf where any number is."""
        value = exp_of(self.log_largest_rows)
        return round(value) if value < 2.0**53 else value


def why_not(setting: PrivateSamplingSetting, certificate: Certificate) -> str:
    """Why a certificate says nothing about this setting; empty where it applies."""
    if not setting.is_valid:
        return "the box needs 2·floor ≤ 1 ≤ ceiling - floor"
    if certificate == "theorem_4_1" and setting.not_4_1:
        return setting.not_4_1
    if certificate == "stability" and (setting.p > LARGEST_WHOLE_CUBE or not setting.cube):
        return f"it is worked out for the whole cube and p <= {LARGEST_WHOLE_CUBE} only"
    if certificate == "stability" and not setting.replace_one:
        return "it is worked out for replacing one record"
    return ""


def log_epsilon(setting: PrivateSamplingSetting, certificate: Certificate) -> float:
    """ln of the ε that k rows cost; inf where the certificate says nothing, -inf where the output ignores the data."""
    if why_not(setting, certificate):
        return math.inf
    if certificate == "stability":
        return -math.inf if is_degenerate(setting.floor, setting.ceiling) else log_stability_epsilon(setting)
    theorem = certificate == "theorem_4_1"
    most = setting.logs.largest_rows_theorem_4_1 if theorem else setting.log_largest_rows_ratio
    return setting.logs.epsilon + setting.log_rows - most


def log_largest_rows(setting: PrivateSamplingSetting, certificate: Certificate) -> float:
    """ln of the largest whole k for the ε asked for; -inf where not even one row is allowed, inf where any number is."""
    bound = setting.log_rows + setting.logs.epsilon - log_epsilon(setting, certificate)
    rows = whole(bound, "at_most") if math.isfinite(bound) else bound
    return -math.inf if rows is None else rows


def smallest(setting: PrivateSamplingSetting) -> Certificate:
    """The smaller of the two proven certificates, whatever ε is asked for."""
    return min(PROVEN, key=lambda c: log_epsilon(setting, c))


def by_name(certificate: Certificate) -> str:
    """Which, after a number."""
    return f"by {NAMES[certificate]}{_HOLDS.get(certificate, '')}"


def certificate_answers(setting: PrivateSamplingSetting) -> tuple[CertificateAnswer, ...]:
    """The smallest ε for these rows and the largest k for this ε, by each certificate."""
    best = "theorem_4_1" if setting.claims_theorem_4_1 else "bounded_ratio"
    answers = []
    for certificate in CERTIFICATES:
        cost, reason = log_epsilon(setting, certificate), why_not(setting, certificate)
        claimed, largest = certificate == best and not reason, log_largest_rows(setting, certificate)
        answers.append(CertificateAnswer(certificate, not reason, exp_of(cost), largest, claimed, reason))
    return tuple(answers)


def crossings(setting: PrivateSamplingSetting, vary: Varied, low: float, high: float) -> tuple[Crossing, ...]:
    """All values of one parameter between e^low and e^high at which two certificates cost the same, in order.

    Theorem 4.1 and the bounded ratio cross at most once: in n and m one of them is constant, k multiplies both, and in
    t = ln(Δ/δ) the slope of 1.5 t - ln t is positive because t > ln 3 in every box that uses the data.
    """
    found = []
    grid = [low + i * (high - low) / _GRID for i in range(_GRID + 1)]
    costs = {c: [log_epsilon(setting.changed(vary, x), c) for x in grid] for c in CERTIFICATES}
    for one, other in combinations(CERTIFICATES, 2):

        def difference(x: float, one: Certificate = one, other: Certificate = other) -> float:
            there = setting.changed(vary, x)
            return log_epsilon(there, one) - log_epsilon(there, other)

        gaps = [a - b for a, b in zip(costs[one], costs[other], strict=True)]
        for (start, left), (end, right) in pairwise(zip(grid, gaps, strict=True)):
            if math.isfinite(left) and math.isfinite(right) and left * right < 0:
                root = monotone_root(difference, start, end)
                assert root is not None
                first, second = (one, other) if left < 0 else (other, one)
                found.append(Crossing(first, second, root[0], log_epsilon(setting.changed(vary, root[0]), one)))
    return tuple(sorted(found, key=lambda c: c.log_value))


Status = Literal["value", "none", "any", "independent"]

SYMBOLS = {
    "epsilon": "ε",
    "rows": "k (rows)",
    "n": "n",
    "max_frequency": "‖f‖∞",
    "p": "p",
    "floor": "floor",
    "ceiling": "ceiling",
    "reduced_space_size": "m",
    "failure_probability": "γ",
}
SAMPLING_PARAMETERS = tuple(SYMBOLS)
_STARTS: dict[Status, str] = {"none": "no value does", "any": "every value does", "independent": "does not depend on it"}
_CLOSED = {"floor": {"floor"}, "ceiling": {"floor", "ceiling"}, "bounded_ratio": {"epsilon", "rows", "floor", "ceiling"}}
"""What the conditions that are no :class:`Bound` depend on."""


@dataclass(frozen=True)
class Inverse:
    """What one parameter can do for one condition, all other parameters fixed.

    Attributes:
        condition, label: the condition's key and plain words.
        holds: whether it holds now.
        parameter: full name.
        status: ``"value"``: it holds on one side of ``remedy``; ``"none"``: no value does; ``"any"``: every value does;
            ``"independent"``: the condition does not depend on it.
        remedy: the threshold, where there is one.
        reason: one clause for every status but ``"value"``.
    """

    condition: str
    label: str
    holds: bool
    parameter: str
    status: Status
    remedy: Remedy | None = None
    reason: str = ""

    @property
    def value(self) -> float | None:
        """The threshold, rounded to the side on which the condition holds; None where there is none."""
        return None if self.remedy is None else self.remedy.value

    @property
    def text(self) -> str:
        """One cell of a table."""
        if self.status == "value":
            return str(self.remedy).removeprefix(f"{self.parameter} ")
        return f"{_STARTS[self.status]}: {self.reason}" if self.reason else _STARTS[self.status]


def sampling_inverses(setting: PrivateSamplingSetting) -> tuple[Inverse, ...]:
    """Every condition of private sampling, and its two certificates one by one, against nine parameters.

    Where m follows Theorem 4.2's lower bound, floor, ceiling, γ and p act through it; the column for m says what a fixed m
    would have to be. The experimental stability bound is left out: nothing is inverted that certifies nothing.
    """
    fixed = replace(setting, log_m=setting.logs.m)
    depends = _CLOSED | {
        bound.key: {q for q in SAMPLING_PARAMETERS if bound.depends_on(setting.logs, q) or bound.depends_on(fixed.logs, q)}
        for bound in (THEOREM_4_1, *ACCURACY)
    }
    depends["rows_upper"] = depends["bounded_ratio"] | (set() if setting.not_4_1 else depends["theorem_4_1"])
    by_m = {c.key: c.remedy("reduced_space_size") for c in (*conditions(fixed), theorem_4_1(fixed))}
    table = []
    for condition in (*conditions(setting), theorem_4_1(setting), bounded_ratio(setting)):
        for parameter in SAMPLING_PARAMETERS:
            remedy = condition.remedy(parameter)
            if parameter == "reduced_space_size" and remedy is None:
                remedy = by_m.get(condition.key)
            status, reason = _status(setting, condition, remedy, parameter in depends[condition.key])
            table.append(Inverse(condition.key, condition.label, condition.holds, parameter, status, remedy, reason))
    return tuple(table)


def _status(
    setting: PrivateSamplingSetting, condition: Condition, remedy: Remedy | None, depends: bool
) -> tuple[Status, str]:
    if remedy is not None:
        return ("value", "") if remedy.log_value is not None else ("none", remedy.reason)
    if condition.key == "theorem_4_1" and setting.not_4_1:
        return "none", condition.note.rstrip(".")
    if not depends:
        return "independent", ""
    follows = condition.key == "m_lower" and setting.log_m is None
    why = {
        "rows_upper": "the other certificate is enough",
        "bounded_ratio": "only the uniform density fits the box",
        "ceiling": "the ceiling is at least 2",
    }
    return "any", "m follows it" if follows else why.get(condition.key, "")


def inverse_frame(table: Sequence[Inverse]) -> pd.DataFrame:
    """One line per condition, one column per parameter, ready to show."""
    rows: dict[str, dict[str, Any]] = {}
    for entry in table:
        line = rows.setdefault(entry.condition, {"": "✓" if entry.holds else "✗", "Condition": entry.label})
        line[SYMBOLS[entry.parameter]] = entry.text
    return pd.DataFrame(list(rows.values()))


@dataclass(frozen=True)
class FloorWindow:
    """Where floor may lie, all other parameters fixed: privacy wants it large, the promised error 4·floor wants it small.

    Attributes:
        end: min(1/2, ceiling - 1), the largest floor that the algorithm accepts; there the output ignores the data. At
            most 0 where no floor is accepted.
        private_from: smallest floor below ``end`` at which the smaller certificate is at most the ε asked for, or None.
        accurate_from: smallest floor at which all conditions of Theorem 4.2 hold, or None.
        accurate_below: 1/4, below which the promised error is less than 1, or ``end`` where that is smaller.
        blocked_by: keys of the accuracy conditions that no floor makes true.
        exactly: whether it is private by Theorem 4.1 there, which holds in exact arithmetic only.
    """

    end: float
    private_from: float | None
    accurate_from: float | None
    accurate_below: float
    blocked_by: tuple[str, ...]
    exactly: bool = False

    @property
    def both(self) -> tuple[float, float] | None:
        """The interval in which a run is private and its accuracy promised; its upper end does not belong to it."""
        if self.private_from is None or self.accurate_from is None:
            return None
        low, high = max(self.private_from, self.accurate_from), self.accurate_below
        return (low, high) if low < high else None

    def words(self, rows: int, epsilon: float) -> str:
        """The window in a sentence, for so many rows at this ε."""
        if self.end <= 0:
            return "No floor is valid: the ceiling has to be above 1."
        end, below = _written(self.end, "at_most"), _written(self.accurate_below, "at_most")
        how = f", {EXACTLY}," if self.exactly else ""
        if self.both is not None:
            low = _written(self.both[0], "at_least")
            return f"Private{how} and accurate from floor = {low} to {below} (shaded green); valid below {end}."
        are = "1 row is" if rows == 1 else f"{rows:,} rows are"
        private = f"{are} private{how} from floor = {_written(self.private_from or 0.0, 'at_least')} on"
        if self.private_from is None:
            private = f"No valid floor that uses the data makes {are.rsplit(' ', 1)[0]} private at ε = {short(epsilon)}"
        accurate = f"accuracy needs {_written(self.accurate_from or 0.0, 'at_least')} ≤ floor < {below}"
        if self.accurate_from is None:
            accurate = f"no floor makes it accurate, for lack of: {', '.join(SHORT_NAMES[key] for key in self.blocked_by)}"
        return f"{private}; {accurate}; valid below {end}."


def _written(floor: float, side: Side) -> str:
    """An end of a window of floor, rounded into the window."""
    return "0" if floor <= 0 else format_log(math.log(floor), 4, side)


def floor_window(setting: PrivateSamplingSetting) -> FloorWindow:
    """The intervals of floor for privacy, for accuracy and for both; the setting's own floor does not matter."""
    end = min(0.5, setting.ceiling - 1)
    if end <= 0:
        return FloorWindow(end, None, None, end, ("box",))
    inside = replace(setting, floor=min(0.2, end / 2))
    found = privacy_condition(inside).remedy("floor")
    private = (
        None if found is None or found.log_value is None or found.caveat else max(math.exp(found.log_value), _LEAST_FLOOR)
    )
    blocked, lower = [], 0.0
    for condition in (bound.condition(inside) for bound in ACCURACY if bound.key != "promise"):
        found = condition.remedy("floor")
        if found is not None and found.log_value is not None:
            lower = max(lower, math.exp(found.log_value))
        elif found is not None or not condition.holds:
            blocked.append(condition.key)
    accurate = None if blocked or lower >= min(end, 0.25) else lower
    if not blocked and accurate is None:
        blocked.append("promise")
    exactly = private is not None and replace(setting, floor=private).claims_theorem_4_1
    return FloorWindow(end, private, accurate, min(0.25, end), tuple(blocked), exactly)
