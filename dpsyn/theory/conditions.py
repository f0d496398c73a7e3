"""A theorem's condition as plain data: what it requires, what there is, whether it holds, and what would make it true.

Quantities are kept as natural logarithms, so that nothing overflows at p = 10^4 or n = 10^30.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field
from functools import wraps
from typing import Any, Literal, ParamSpec, TypeVar

from dpsyn.display import PRIVATE, Shown
from dpsyn.notation import readable
from dpsyn.theory.logarithms import LN10, Side, at_most, exp_of, format_log

Relation = Literal["<=", ">="]
Group = Literal["validity", "privacy", "accuracy"]

_LARGEST_EXACT = 2.0**53
_P = ParamSpec("_P")
_Setting = TypeVar("_Setting")


@dataclass(frozen=True)
class Remedy:
    """The value of one parameter at which a condition begins to hold, all other parameters fixed.

    Attributes:
        parameter: its full name.
        side: the condition holds for values ``"at_least"`` or ``"at_most"`` this large.
        log_value: natural logarithm of the threshold; None where no value of this parameter makes the condition true.
        integer: the parameter is a whole number; :attr:`value` is then rounded to the side on which the condition holds.
        log_current: natural logarithm of the value that the parameter has now.
        reason: why no value does, where that is so.
        caveat: what is wrong with using this value although it makes the condition true.
        strict: the threshold itself is not enough; :attr:`log_value` is then a hair beyond it.
    """

    parameter: str
    side: Side
    log_value: float | None
    log_current: float
    integer: bool = False
    reason: str = ""
    caveat: str = ""
    strict: bool = False

    @property
    def value(self) -> float | None:
        """The threshold: an int where it is a whole number below 2^53, else a float (inf where too large); or None."""
        if self.log_value is None:
            return None
        value = exp_of(self.log_value)
        if self.integer and value < _LARGEST_EXACT:
            return round(value)
        return value

    def admits(self, value: float) -> bool:
        """Whether a value of the parameter is on the side on which the condition holds, the threshold included."""
        if self.value is None:
            return True
        return value >= self.value if self.side == "at_least" else value <= self.value

    @property
    def orders(self) -> float:
        """How far the value is from the present one, in orders of magnitude; inf where there is none."""
        return math.inf if self.log_value is None else abs(self.log_value - self.log_current) / LN10

    def __str__(self) -> str:
        if self.log_value is None:
            return f"no {self.parameter} does" + (f" ({self.reason})" if self.reason else "")
        caveat = f" ({self.caveat})" if self.caveat else ""
        sign = {"at_least": ("≥", ">"), "at_most": ("≤", "<")}[self.side][self.strict]
        return f"{self.parameter} {sign} {format_log(self.log_value, 4, self.side)}{caveat}"

    def to_dict(self) -> dict[str, Any]:
        """Plain data, fit for JSON: numbers that a float cannot hold are None beside their log10."""
        return {
            "parameter": self.parameter,
            "side": self.side,
            "value": None if self.value is None else _finite(self.value),
            "log10_value": None if self.log_value is None else _finite(self.log_value / LN10),
            "exists": self.log_value is not None,
            "strict": self.strict,
            "text": str(self),
        }


@dataclass(frozen=True)
class Condition:
    """``actual`` <= ``required`` or ``actual`` >= ``required``.

    Attributes:
        key: short name for programs.
        label: plain words.
        formula: with the papers' letters.
        source: where it comes from, e.g. ``"Theorem 4.2"``.
        relation: between actual (left) and required (right).
        log_required, log_actual: natural logarithms.
        group: ``"validity"`` of the parameters, ``"privacy"`` or ``"accuracy"``.
        remedies: for each parameter that matters, where the condition begins to hold with the rest fixed.
        strict: equality is not enough.
        assumed: not computed but taken for granted: true by construction of the mechanism.
        experimental: rests on an unpublished proof; never certify a release with it.
        note: one more sentence for the page.
    """

    key: str
    label: str
    formula: str
    source: str
    relation: Relation
    log_required: float
    log_actual: float
    group: Group = "accuracy"
    remedies: tuple[Remedy, ...] = ()
    strict: bool = False
    assumed: bool = False
    experimental: bool = False
    note: str = ""

    @property
    def required(self) -> float:
        """What the theorem asks for; inf where a float cannot hold it."""
        return _snapped(exp_of(self.log_required))

    @property
    def actual(self) -> float:
        """What there is; inf where a float cannot hold it."""
        return _snapped(exp_of(self.log_actual))

    @property
    def holds(self) -> bool:
        """Whether the condition is met."""
        if self.relation == "<=":
            return at_most(self.log_actual, self.log_required, strict=self.strict)
        return at_most(self.log_required, self.log_actual, strict=self.strict)

    @property
    def slack_orders(self) -> float:
        """Orders of magnitude by which it holds (> 0) or is missed (< 0)."""
        if self.log_actual == self.log_required:
            return 0.0
        sign = 1 if self.relation == "<=" else -1
        return sign * (self.log_required - self.log_actual) / LN10

    @property
    def fix(self) -> str:
        """What would make it true, each with the rest fixed; empty where it holds."""
        if self.holds:
            return ""
        possible = sorted((r for r in self.remedies if r.log_value is not None), key=lambda r: r.orders)
        if possible:
            return " or ".join(str(r) for r in possible)
        reasons = "; ".join(str(r) for r in self.remedies)
        return reasons or "no value does"

    def remedy(self, parameter: str) -> Remedy | None:
        """The remedy for one parameter, or None where the condition does not depend on it."""
        return next((r for r in self.remedies if r.parameter == parameter), None)

    def to_dict(self) -> dict[str, Any]:
        """Plain data, fit for JSON."""
        return {
            "key": self.key,
            "label": self.label,
            "formula": self.formula,
            "source": self.source,
            "group": self.group,
            "relation": self.relation,
            "required": _finite(self.required),
            "actual": _finite(self.actual),
            "log10_required": _finite(self.log_required / LN10),
            "log10_actual": _finite(self.log_actual / LN10),
            "holds": self.holds,
            "slack_orders": _finite(self.slack_orders),
            "fix": self.fix,
            "remedies": [r.to_dict() for r in self.remedies],
            "assumed": self.assumed,
            "experimental": self.experimental,
            "note": self.note,
        }


NEXT_TO_NOTHING = 0.5
"""Error of a share, or of a statistic in [-1, 1], from which on a promise says next to nothing: ignoring the data is
within 1."""


@dataclass(frozen=True)
class Headline:
    """A verdict in one number and one sentence.

    Attributes:
        number: what is promised, or what it takes; e.g. ``"± 0.9"``, ``"ε = 2,080"``.
        sentence: whether it is private, and what to expect of the error.
        level: ``"good"`` private with an informative bound on the error, ``"open"`` private without one, ``"bad"`` not
            private, or not possible.
    """

    number: str
    sentence: str
    level: Literal["good", "open", "bad"]

    @classmethod
    def of_little(cls, within: str, what: str, provided: str = "") -> Headline:
        """Of a bound that holds, and is :data:`NEXT_TO_NOTHING` or more."""
        return cls(f"± {within}", f"Private{provided}. A theorem promises little: {what} within {within}.", "open")


MARKS = {
    "good": "✓ private, the error is bounded",
    "open": "◇ private, without such a bound",
    "bad": "✗ not private, or not possible",
}
"""What a verdict's sign means, by the level of its headline."""


@dataclass(frozen=True, repr=False)
class Verdict(Shown):
    """What a mechanism's theorems say about one dataset and one setting.

    Attributes:
        mechanism: registered name.
        title: how to call it on a page.
        conditions: all must hold.
        summary: plain words: the main obstacle, and the cheapest change.
        alternatives: conditions that are shown and do not count: single certificates, theorems as published.
        facts: numbers that follow (smallest epsilon, largest number of rows, noise scale, …), by name; None: there is none.
        notes: sentences for the page.
        symbols: LaTeX of a symbol in the conditions' formulas -> natural logarithm of its number, or LaTeX.
        letters: what those of the formulas stand for that mean something else on a page; a sentence, or empty.
        headline: the same in one number and one sentence.
        change: the smallest change of one parameter that makes every condition true; None where none that has
            remedies does, or all hold.
    """

    mechanism: str
    title: str
    conditions: tuple[Condition, ...]
    summary: str
    alternatives: tuple[Condition, ...] = ()
    facts: Mapping[str, Any] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    symbols: Mapping[str, float | str] = field(default_factory=dict)
    letters: str = ""
    headline: Headline | None = None
    change: Remedy | None = None

    @property
    def holds(self) -> bool:
        """Whether every condition holds."""
        return all(c.holds for c in self.conditions)

    @property
    def mark(self) -> str:
        """One sign, of the same meaning for every mechanism: :data:`MARKS`."""
        level = ("good" if self.holds else "bad") if self.headline is None else self.headline.level
        return MARKS[level][0]

    @property
    def line(self) -> str:
        """Whether it is private, and what it comes to, in one line."""
        what = self.summary if self.headline is None else f"{self.headline.number}. {self.headline.sentence}"
        return readable(f"{self.mark} {self.title}: {what}")

    def _shown(self) -> tuple[str, list[str]]:
        return PRIVATE, [self.line, *(readable(f"  ✗ {c.label}: {c.fix}") for c in self.missed)]

    def holds_in(self, group: Group) -> bool:
        """Whether every condition of one group holds."""
        return all(c.holds for c in self.conditions if c.group == group)

    @property
    def missed(self) -> tuple[Condition, ...]:
        """The conditions that do not hold, the worst first."""
        return tuple(sorted((c for c in self.conditions if not c.holds), key=lambda c: c.slack_orders))

    def __getitem__(self, key: str) -> Condition:
        for condition in (*self.conditions, *self.alternatives):
            if condition.key == key:
                return condition
        raise KeyError(key)

    def to_dict(self) -> dict[str, Any]:
        """Plain data, fit for JSON."""
        return {
            "mechanism": self.mechanism,
            "title": self.title,
            "holds": self.holds,
            "private": self.holds_in("privacy") and self.holds_in("validity"),
            "accurate": self.holds_in("accuracy"),
            "summary": self.summary,
            "headline": None if self.headline is None else asdict(self.headline),
            "conditions": [c.to_dict() for c in self.conditions],
            "alternatives": [c.to_dict() for c in self.alternatives],
            "facts": {k: _finite(v) if isinstance(v, float) else v for k, v in self.facts.items()},
            "notes": list(self.notes),
        }


def judging(setting: Callable[_P, _Setting], judge: Callable[[_Setting], Verdict]) -> Callable[_P, Verdict]:
    """What a mechanism offers as ``theorems:verdict``: ``judge`` on the setting that the same arguments make."""

    @wraps(setting)
    def verdict(*args: _P.args, **kwargs: _P.kwargs) -> Verdict:
        return judge(setting(*args, **kwargs))

    return verdict


def _finite(value: float) -> float | None:
    return value if math.isfinite(value) else None


def _snapped(value: float) -> float:
    """The whole number that a logarithm and back has moved by a few units of rounding: 1000, not 999.9999999999998."""
    if not 1 <= value < _LARGEST_EXACT:
        return value
    return float(round(value)) if abs(value - round(value)) <= 1e-12 * value else value


def easier(first: Condition, second: Condition) -> tuple[Remedy, ...]:
    """Remedies for "one of two conditions holds": for each parameter the threshold that asks for less.

    A parameter that only one of them depends on matters only while the other one does not hold.
    """
    best: dict[str, Remedy] = {}
    for condition, other in ((first, second), (second, first)):
        for remedy in condition.remedies:
            rival = other.remedy(remedy.parameter)
            if rival is None:
                if not other.holds:
                    best[remedy.parameter] = remedy
            elif rival.log_value is None or (remedy.log_value is not None and _asks_less(remedy, rival)):
                best.setdefault(remedy.parameter, remedy)
    return tuple(best.values())


def _asks_less(remedy: Remedy, rival: Remedy) -> bool:
    assert remedy.log_value is not None
    assert rival.log_value is not None
    if remedy.side == "at_least":
        return remedy.log_value <= rival.log_value
    return remedy.log_value >= rival.log_value
