"""What the page Feasibility is about: which data, which privacy, which parameters."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from dpsyn.privacy.spec import PrivacySpec
from dpsyn.statistics import DatasetStatistics


@dataclass(frozen=True)
class Chosen:
    """One dataset on the page: its statistics and what DP-CDA needs to know of it.

    ``smallest_class`` is the real one of loaded data with a target; None where nobody knows it, and n / K stands in.
    ``domain_warning`` says why no guarantee holds yet, and is empty where the domain is public.
    """

    stats: DatasetStatistics
    private: bool
    loaded: bool = False
    classes: int = 2
    smallest_class: int | None = None
    domain_warning: str = ""


@dataclass(frozen=True)
class Explorer:
    """Everything that the sections draw from.

    Attributes:
        chosen: the datasets side by side; the first is the one in the details.
        spec: the privacy asked for.
        degree, floor, ceiling, failure_probability, rows, reduced_space_size, order_of_mixture: the sliders.
    """

    chosen: tuple[Chosen, ...]
    spec: PrivacySpec
    degree: int
    floor: float
    ceiling: float
    failure_probability: float
    rows: int
    reduced_space_size: int | None
    order_of_mixture: int

    @property
    def focus(self) -> Chosen:
        """The dataset of the details."""
        return self.chosen[0]

    @property
    def private(self) -> bool:
        """Whether any of the datasets' statistics were read from private rows."""
        return any(chosen.private for chosen in self.chosen)

    @property
    def stats(self) -> DatasetStatistics:
        """Its statistics."""
        return self.focus.stats

    @property
    def bounds(self) -> dict[str, Any]:
        """The parameters that the pictures of private sampling share; d is at most p."""
        return {
            "degree": min(self.degree, self.stats.p),
            "floor": self.floor,
            "ceiling": self.ceiling,
            "failure_probability": self.failure_probability,
            "reduced_space_size": self.reduced_space_size,
        }

    def described(self) -> dict[str, Any]:
        """The settings as plain data, for an export."""
        return {
            "epsilon": self.spec.epsilon,
            "delta": self.spec.delta,
            "neighbouring": self.spec.neighbouring,
            **{k: v for k, v in self.bounds.items() if v is not None},
            "rows": self.rows,
            "order_of_mixture": self.order_of_mixture,
        }
