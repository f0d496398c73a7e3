"""What is asked for (:class:`PrivacySpec`) and what is claimed (:class:`Guarantee`)."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from decimal import ROUND_CEILING, ROUND_FLOOR, Context
from typing import Any, Literal

from dpsyn.errors import DataError, ParameterError
from dpsyn.schema import checked

Neighbouring = Literal["replace_one", "add_remove"]
Status = Literal["proven", "real_arithmetic", "unconfirmed_domain", "experimental", "published_but_wrong", "stated"]


def rounded_up(value: float, digits: int) -> str:
    """A number >= 0 with so many significant digits, never less than it is: an ε rounded down would be a false claim.

    A relative excess of 1e-12 counts as rounding in the number itself: 0.1 + 0.2 is 0.3.
    """
    if value == 0 or not math.isfinite(value):
        return f"{value:g}"
    shown = Context(prec=digits, rounding=ROUND_CEILING).create_decimal(repr(float(value) * (1 - 1e-12)))
    return f"{float(shown):.{digits}g}"


def rounded_down(value: float, digits: int) -> str:
    """A number >= 0 with so many significant digits, never more than it is: what something stays above.

    A relative excess of 1e-12 counts as rounding, as in :func:`rounded_up`.
    """
    if value == 0 or not math.isfinite(value):
        return f"{value:g}"
    shown = Context(prec=digits, rounding=ROUND_FLOOR).create_decimal(repr(float(value) * (1 + 1e-12)))
    return f"{float(shown):.{digits}g}"


@dataclass(frozen=True)
class PrivacySpec:
    """The privacy asked for: ε, δ and between which datasets.

    Args:
        epsilon: ε > 0, finite.
        delta: 0 <= δ < 1; 0 asks for pure ε-differential privacy.
        neighbouring: ``"replace_one"`` (one record changes, n is public) or ``"add_remove"``.
        unit: what one record is; ``"row"`` is the only unit so far.
    """

    epsilon: float
    delta: float = 0.0
    neighbouring: Neighbouring = "replace_one"
    unit: str = "row"

    def __post_init__(self) -> None:
        if not (isinstance(self.epsilon, (int, float)) and math.isfinite(self.epsilon) and self.epsilon > 0):
            raise ParameterError("epsilon", self.epsilon, "a finite number > 0")
        if not (isinstance(self.delta, (int, float)) and 0 <= self.delta < 1):
            raise ParameterError("delta", self.delta, "a number with 0 <= delta < 1")
        if self.neighbouring not in ("replace_one", "add_remove"):
            raise ParameterError("neighbouring", self.neighbouring, "'replace_one' or 'add_remove'")
        if self.unit != "row":
            raise ParameterError("unit", self.unit, "'row' is the only unit of privacy so far")


@dataclass(frozen=True)
class Guarantee:
    """A claim of (ε, δ)-differential privacy, where it comes from and what it takes for granted.

    Attributes:
        epsilon, delta: the claim; at most what was asked for.
        neighbouring, unit: between which datasets.
        source: theorem or proof.
        assumptions: what must hold outside the mechanism, in plain sentences.
        status: only ``"proven"`` claims certify a release; ``"unconfirmed_domain"`` becomes ``"proven"`` once somebody
            confirms that the domain was known without looking at the data; ``"real_arithmetic"`` is proven of noise in real
            numbers, and known to fail for the floating-point numbers of a computer; ``"published_but_wrong"`` is no
            guarantee, and its ε is infinite, so that nothing that adds or compares ε can take it for one; ``"stated"`` is
            what a file says, and nobody has checked it.

    Raises:
        ParameterError: a finite ε for what is published but wrong, or an ε or δ that cannot be.
    """

    epsilon: float
    delta: float
    neighbouring: Neighbouring
    source: str
    assumptions: tuple[str, ...] = ()
    status: Status = "proven"
    unit: str = "row"

    def __post_init__(self) -> None:
        if self.status == "published_but_wrong" and math.isfinite(self.epsilon):
            raise ParameterError("epsilon", self.epsilon, "infinity: what is published but wrong guarantees nothing")
        if not self.epsilon >= 0:
            raise ParameterError("epsilon", self.epsilon, "a number that is not negative")
        if not 0 <= self.delta <= 1:
            raise ParameterError("delta", self.delta, "a number from 0 to 1")

    def __str__(self) -> str:
        if self.status == "published_but_wrong":
            return "no guarantee: what the paper claims is refuted, and no epsilon is known to hold"
        epsilon, delta = rounded_up(self.epsilon, 4), rounded_up(self.delta, 3)
        kind = epsilon if self.delta == 0 else f"({epsilon}, {delta})"
        between = "replacing one row" if self.neighbouring == "replace_one" else "adding or removing one row"
        return f"{kind}-differentially private under {between}"

    def to_dict(self) -> dict[str, Any]:
        """Plain data for a record of the run; an infinite ε is None, as JSON has no such number."""
        return asdict(self) | {"epsilon": self.epsilon if math.isfinite(self.epsilon) else None}

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Guarantee:
        """The claim that :meth:`to_dict` wrote down.

        Raises:
            DataError: it is no claim of that form.
        """
        lost = [field.name for field in fields(cls) if field.name not in data]
        if lost:
            raise DataError(f"the guarantee has no {lost[0]!r}")
        refuted = data["status"] == "published_but_wrong" and data["epsilon"] is None
        try:
            return checked(cls, {**data, "epsilon": math.inf if refuted else data["epsilon"]})
        except DataError as fault:
            raise DataError(f"the guarantee's {fault}") from fault
