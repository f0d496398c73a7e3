"""What is asked for (:class:`PrivacySpec`) and what is claimed (:class:`Guarantee`)."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from typing import Any, Literal

from dpsyn.errors import ParameterError

Neighbouring = Literal["replace_one", "add_remove"]
Status = Literal["proven", "unconfirmed_domain", "experimental", "published_but_wrong"]


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
            confirms that the domain was known without looking at the data.
    """

    epsilon: float
    delta: float
    neighbouring: Neighbouring
    source: str
    assumptions: tuple[str, ...] = ()
    status: Status = "proven"
    unit: str = "row"

    def __str__(self) -> str:
        kind = f"{self.epsilon:.4g}" if self.delta == 0 else f"({self.epsilon:.4g}, {self.delta:.3g})"
        between = "replacing one row" if self.neighbouring == "replace_one" else "adding or removing one row"
        return f"{kind}-differentially private under {between}"

    def to_dict(self) -> dict[str, Any]:
        """Plain data for a record of the run."""
        return asdict(self)
