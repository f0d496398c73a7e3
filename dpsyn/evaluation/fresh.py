"""How far tables of fresh real rows are off, at as many rows as a release has: what its tables are held against."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from dpsyn.domain import Codes
from dpsyn.evaluation.distances import Subsets, variations
from dpsyn.solvers.coded import CodedRows, Rows

Floats = npt.NDArray[np.float64]
Each = Mapping[int, Mapping[tuple[str, ...], float]]
"""Total variation by the number of columns of a table, and by these columns."""

_DRAWS = 3
_FEWEST = 4


@dataclass(frozen=True, eq=False)
class FreshSample:
    """Errors of the tables of other real rows.

    Attributes:
        rows: how many other rows.
        drawn: they were measured of held-out rows; else estimated from parts of the real ones.
        each: the errors.
    """

    rows: int
    drawn: bool
    each: Each

    def mean(self, degree: int) -> float | None:
        """Average over the tables of so many columns; None without any."""
        return float(np.mean([*self.each[degree].values()])) if degree in self.each else None

    def to_dict(self) -> dict[str, Any]:
        """Plain data, fit for JSON."""
        return {"rows": self.rows, "drawn": self.drawn, "mean": {str(degree): self.mean(degree) for degree in self.each}}


@dataclass(frozen=True, eq=False)
class Parts:
    """What a half of the real rows differs by from the other, and a quarter from another, on average of some draws.

    Attributes:
        n: number of real rows.
        halves, quarters: the errors, by the number of columns, in the order of the plan.
    """

    n: int
    plan: Sequence[Subsets]
    names: Sequence[str]
    halves: Sequence[Floats]
    quarters: Sequence[Floats]

    @classmethod
    def of(cls, real: CodedRows, names: Sequence[str], plan: Sequence[Subsets], generator: np.random.Generator) -> Parts:
        """Of fewer than four rows every table is said to be off by all of it."""
        found = [[np.ones(len(subsets)) for subsets in plan]] * 2
        if real.n >= _FEWEST:
            drawn = [generator.permutation(real.n) for _ in range(_DRAWS)]
            found = [
                [np.mean(each, axis=0) for each in zip(*(_apart(real, order, part, plan) for order in drawn), strict=True)]
                for part in (real.n // 2, real.n // 4)
            ]
        return cls(real.n, plan, names, *found)

    def estimate(self, rows: int) -> FreshSample:
        """Of so many fresh rows beside all n: (1/n + 1/rows)^α as far off, where α is between 0 (cells with a row at most)
        and ½ (cells of many), from a half's error beside a quarter's."""
        wider = (1 / self.n + 1 / rows) * (self.n // 2) / 2
        each = {}
        for subsets, half, quarter in zip(self.plan, self.halves, self.quarters, strict=True):
            with np.errstate(invalid="ignore", divide="ignore"):
                power = np.clip(np.nan_to_num(np.log2(quarter / half)), 0.0, 0.5)
            each[len(subsets[0])] = _named(subsets, self.names, np.minimum(half * wider**power, 1.0))
        return FreshSample(rows, False, each)


def of_held_out(
    real: Rows,
    held: Codes,
    rows: int,
    names: Sequence[str],
    plan: Sequence[Subsets],
    generator: np.random.Generator,
) -> FreshSample:
    """Of ``rows`` of the held-out ones, on average of up to three samples that share no row."""
    order = generator.permutation(len(held))
    drawn = [order[at * rows : (at + 1) * rows] for at in range(min(_DRAWS, len(held) // rows))]
    every = [variations(real, held[some], plan) for some in drawn]
    means = [np.mean(each, axis=0) for each in zip(*every, strict=True)]
    pairs = zip(plan, means, strict=True)
    return FreshSample(rows, True, {len(subsets[0]): _named(subsets, names, mean) for subsets, mean in pairs})


def _apart(real: CodedRows, order: npt.NDArray[np.int64], part: int, plan: Sequence[Subsets]) -> list[Floats]:
    """The first rows beside the last ones."""
    return variations(CodedRows(real.codes[order[:part]], real.sizes), real.codes[order[-part:]], plan)


def _named(subsets: Subsets, names: Sequence[str], errors: Floats) -> dict[tuple[str, ...], float]:
    return {tuple(names[j] for j in subset): float(error) for subset, error in zip(subsets, errors, strict=True)}
