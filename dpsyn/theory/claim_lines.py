"""One line of a claim's derivation, and how its numbers are written."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from dpsyn.privacy.spec import rounded_up
from dpsyn.theory.filled import latex_number

OUR_PROOF = "Our proof"
"""The source of what is proven in docs/guarantees.md."""
TIMES = r"\cdot "
_EXACT = 1e-9
_MOST_DIGITS = 6


@dataclass(frozen=True)
class ClaimFormula:
    """One line of a claim's derivation.

    Attributes:
        label: what it computes, in words.
        formula: LaTeX, with letters.
        filled: LaTeX with the numbers of this release; empty where they are known only after a private count.
        source: theorem and paper, or that the proof is ours.
        note: what the letters stand for, and what else must be said.
    """

    label: str
    formula: str
    filled: str
    source: str
    note: str = ""


def whole(value: Any) -> int:
    """A count from a record's settings.

    Raises:
        TypeError, ValueError: it is none, or less than 1.
    """
    found = int(value)
    if found < 1:
        raise ValueError(f"{value!r} is no count")
    return found


def number(value: float, digits: int = 4) -> str:
    """LaTeX of a number >= 0, rounded to the nearest."""
    return latex_number(math.log(value) if value > 0 else -math.inf, digits)


def up(value: float, digits: int = 4) -> str:
    """LaTeX of an ε, δ or ρ that is claimed: never less than it is but by a relative 1e-12.

    All of it where six digits say it; else so many digits.
    """
    if value <= 0 or not math.isfinite(value):
        return number(value, digits)
    for many in range(1, _MOST_DIGITS + 1):
        shown = _ceiling(value, many)
        if shown <= value * (1 + _EXACT):
            return number(shown, many)
    return number(_ceiling(value, digits), digits)


def _ceiling(value: float, digits: int) -> float:
    if 1000 <= value < 1e6:
        digits = min(digits, len(str(int(value))))  # these are written as whole numbers
    return float(rounded_up(value, digits))


def power(base: str, exponent: str) -> str:
    """LaTeX of a number to a power; in parentheses where it has a space or a power in it."""
    plain = base.startswith("(") or base.replace(".", "", 1).isdigit()
    return f"{base if plain else f'({base})'}^{exponent if len(exponent) == 1 else f'{{{exponent}}}'}"
