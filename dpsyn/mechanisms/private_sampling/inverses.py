"""The inverse questions as a table: for each condition and each parameter, the value that makes it true, the rest fixed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

import pandas as pd

from dpsyn.mechanisms.private_sampling.setting import PrivateSamplingSetting
from dpsyn.mechanisms.private_sampling.theorems import bounded_ratio, conditions, theorem_4_1
from dpsyn.theory.conditions import Condition, Remedy

Status = Literal["value", "none", "any", "independent", "unknown"]

SAMPLING_PARAMETERS = (
    "epsilon",
    "rows",
    "n",
    "max_frequency",
    "p",
    "floor",
    "ceiling",
    "reduced_space_size",
    "failure_probability",
)
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

_THEOREM_4_1 = {"epsilon", "rows", "n", "p", "floor", "ceiling", "reduced_space_size"}
_RATIO = {"epsilon", "rows", "floor", "ceiling"}
_M_FOLLOWS = {"floor", "ceiling", "failure_probability", "p"}
_SAMPLING: dict[str, set[str]] = {
    "floor": {"floor"},
    "ceiling": {"floor", "ceiling"},
    "theorem_4_1": _THEOREM_4_1,
    "bounded_ratio": _RATIO,
    "rows_upper": _THEOREM_4_1 | _RATIO,
    "n": {"n", "p", "floor", "failure_probability"},
    "m_lower": {"reduced_space_size", "p", "floor", "ceiling", "failure_probability"},
    "m_upper": {"reduced_space_size", "p"},
    "rows_lower": {"rows", "p", "floor", "failure_probability"},
    "max_frequency": {"max_frequency", "p", "ceiling"},
    "promise": {"floor"},
    "success": {"failure_probability", "p"},
}


@dataclass(frozen=True)
class Inverse:
    """What one parameter can do for one condition, all other parameters fixed.

    Attributes:
        condition, label: the condition's key and plain words.
        holds: whether it holds now.
        parameter: full name.
        status: ``"value"``: it holds on one side of ``remedy``; ``"none"``: no value does; ``"any"``: every value does;
            ``"independent"``: the condition does not depend on it; ``"unknown"``: not worked out.
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
        if self.status == "value" and self.remedy is not None:
            return str(self.remedy).removeprefix(f"{self.parameter} ")
        start = {
            "none": "no value does",
            "any": "every value does",
            "independent": "does not depend on it",
            "unknown": "not worked out",
        }[self.status]
        return f"{start}: {self.reason}" if self.reason else start

    def to_dict(self) -> dict[str, Any]:
        """Plain data, fit for JSON."""
        found = None if self.remedy is None else self.remedy.to_dict()
        return {
            "condition": self.condition,
            "label": self.label,
            "holds": self.holds,
            "parameter": self.parameter,
            "status": self.status,
            "remedy": found,
            "reason": self.reason,
            "text": self.text,
        }


def sampling_inverses(setting: PrivateSamplingSetting) -> tuple[Inverse, ...]:
    """Every condition of private sampling, and its two certificates one by one, against nine parameters.

    Where m follows Theorem 4.2's lower bound, floor, ceiling, γ and p act through it; the column for m says what a fixed m
    would have to be. The experimental stability bound is left out: nothing is inverted that certifies nothing.
    """
    found = (*conditions(setting), theorem_4_1(setting), bounded_ratio(setting))
    fixed = replace(setting, log_m=setting.log_reduced_space)
    by_m = {c.key: c.remedy("reduced_space_size") for c in (*conditions(fixed), theorem_4_1(fixed))}
    free = setting.log_m is None
    table = []
    for condition in found:
        depends = set(_SAMPLING[condition.key])
        if free and condition.key in ("theorem_4_1", "rows_upper", "m_upper"):
            depends |= _M_FOLLOWS
        if condition.key == "rows_upper" and not setting.replace_one:
            depends = set(_RATIO)
        for parameter in SAMPLING_PARAMETERS:
            remedy = condition.remedy(parameter)
            if parameter == "reduced_space_size" and remedy is None:
                remedy = by_m.get(condition.key)
            table.append(_entry(condition, parameter, remedy, depends, _why_any(condition, parameter, free=free)))
    return tuple(table)


def _why_any(condition: Condition, parameter: str, *, free: bool) -> str:
    if condition.key == "rows_upper":
        return "the other certificate is enough"
    if condition.key == "bounded_ratio":
        return "only the uniform density fits the box"
    if condition.key == "m_lower" and free:
        return "m follows it"
    if condition.key == "ceiling":
        return "the ceiling is at least 2"
    return ""


def _entry(condition: Condition, parameter: str, remedy: Remedy | None, depends: set[str], why_any: str) -> Inverse:
    status: Status
    reason = ""
    if remedy is not None and remedy.log_value is not None:
        status = "value"
    elif remedy is not None:
        status, reason = "none", remedy.reason
    elif not condition.remedies:
        status, reason = "none", condition.note.rstrip(".")
    elif parameter in depends:
        status, reason = "any", why_any
    else:
        status = "independent"
    if condition.key == "m_lower" and not condition.remedies and remedy is None:
        status, reason = ("any", why_any) if parameter in depends else ("independent", "")
    return Inverse(condition.key, condition.label, condition.holds, parameter, status, remedy, reason)


def inverse_frame(table: Sequence[Inverse], symbols: Mapping[str, str] = SYMBOLS) -> pd.DataFrame:
    """One line per condition, one column per parameter, ready to show."""
    parameters = list(dict.fromkeys(entry.parameter for entry in table))
    rows: dict[str, dict[str, str]] = {}
    for entry in table:
        line = rows.setdefault(entry.condition, {"": "✓" if entry.holds else "✗", "Condition": entry.label})
        line[symbols[entry.parameter]] = entry.text
    columns = ["", "Condition", *(symbols[p] for p in parameters)]
    return pd.DataFrame(list(rows.values()), columns=columns)
