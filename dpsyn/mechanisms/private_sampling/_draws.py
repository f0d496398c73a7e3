"""The output: rows drawn from h*, block by block, with probabilities that lie in the box exactly."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from dpsyn.domain import Codes
from dpsyn.mechanisms.private_sampling._reduced_space import ReducedSpace
from dpsyn.privacy.exact_draws import TOTAL, BlockTotals, WholeCounts, positions, shared, whole_counts
from dpsyn.solvers.blocks import Block
from dpsyn.solvers.matching import ClippedDensity, Density, Floats

Integers = npt.NDArray[np.int64]

_BINS = 60
"""Bins of the histogram of m·h*, evenly spaced in its logarithm between floor and ceiling."""


@dataclass(frozen=True, eq=False)
class Drawn:
    """Rows, and what the distribution that they come from looks like.

    Attributes:
        codes: the rows, shape (k, number of columns).
        statistics: Σ w(θ) P(θ) of the very distribution that was drawn from, shape (C,).
        edges: of the bins for x = m·h*, shape (_BINS + 1,).
        points: share of the points of S in each bin, shape (_BINS,).
        mass: probability of each bin, shape (_BINS,).
        at_floor, at_ceiling: shares of the points whose x is that bound, to a relative 1e-9.
        probabilities: of every point, shape (s,); None unless they were asked for.
    """

    codes: Codes
    statistics: Floats
    edges: Floats
    points: Floats
    mass: Floats
    at_floor: float
    at_ceiling: float
    probabilities: Floats | None


@dataclass(frozen=True, eq=False)
class _Plan:
    """What every block has to know."""

    m: int
    coefficients: Floats | None
    floor: float
    ceiling: float
    starts: tuple[int, ...] = ()
    shares: tuple[int, ...] = ()
    numbers: Integers | None = None
    keep: bool = False

    def edges(self) -> Floats:
        return np.geomspace(self.floor, self.ceiling, _BINS + 1)


def draw_rows(
    space: ReducedSpace,
    density: Density,
    floor: float,
    ceiling: float,
    rows: int,
    generator: np.random.Generator,
    *,
    keep: bool,
) -> Drawn:
    """``rows`` independent draws from h* = x·c/m on S.

    Two passes over the points: the first lets the blocks agree on their shares of the probability, the second draws.

    Args:
        space: S.
        density: x on its points.
        floor: lower end of the box of x.
        ceiling: its upper end.
        rows: k.
        generator: of the draws.
        keep: return the probability of every point too.
    """
    coefficients, vectors = _as_arguments(density)
    plan = _Plan(space.m, coefficients, floor, ceiling)
    totals: list[tuple[int, BlockTotals]] = space.operator.map(_totals, plan, vectors=vectors)
    shares = shared([one for _, one in totals])
    numbers = generator.integers(0, TOTAL, rows)
    order = np.argsort(numbers, kind="stable")
    starts = tuple(start for start, _ in totals)
    plan = _Plan(space.m, coefficients, floor, ceiling, starts, tuple(shares), numbers[order], keep)
    parts: list[dict[str, Any]] = space.operator.map(_draw, plan, vectors=vectors)
    sorted_codes = np.concatenate([part["codes"] for part in parts])
    codes = np.empty_like(sorted_codes)
    codes[order] = sorted_codes
    return Drawn(
        codes=codes,
        statistics=np.sum([part["statistics"] for part in parts], axis=0),
        edges=plan.edges(),
        points=np.sum([part["points"] for part in parts], axis=0),
        mass=np.sum([part["mass"] for part in parts], axis=0),
        at_floor=float(sum(part["at_floor"] for part in parts)),
        at_ceiling=float(sum(part["at_ceiling"] for part in parts)),
        probabilities=np.concatenate([part["probabilities"] for part in parts]) if keep else None,
    )


def _as_arguments(density: Density) -> tuple[Floats | None, tuple[Floats, ...]]:
    """C coefficients where they describe x, else x itself."""
    if isinstance(density, ClippedDensity):
        return density.coefficients, ()
    return None, (density.values,)


def _whole(block: Block, plan: _Plan, vectors: tuple[Floats, ...]) -> WholeCounts:
    ratio = vectors[0] if plan.coefficients is None else 1.0 + block.adjoint(plan.coefficients)
    multiplicity = np.rint(block.weights * plan.m).astype(np.int64)
    return whole_counts(ratio, multiplicity, plan.m, plan.floor, plan.ceiling)


def _totals(block: Block, plan: _Plan, *vectors: Floats) -> tuple[int, BlockTotals]:
    return block.start, _whole(block, plan, vectors).totals()


def _draw(block: Block, plan: _Plan, *vectors: Floats) -> dict[str, Any]:
    assert plan.numbers is not None
    at = plan.starts.index(block.start)
    before = sum(plan.shares[:at])
    # The bounds depend on S alone, so that the counts stay in the box whatever happened to the ratio since the first pass.
    counts = _whole(block, plan, vectors).settled(plan.shares[at])
    low, high = np.searchsorted(plan.numbers, (before, before + plan.shares[at]))
    chosen = positions(counts, plan.numbers[low:high] - before)
    probabilities = counts / TOTAL
    ratio = np.clip(probabilities / block.weights, plan.floor, plan.ceiling)
    edges = plan.edges()
    edges[0], edges[-1] = plan.floor, plan.ceiling
    return {
        "codes": block.codes()[chosen],
        "statistics": block.apply(probabilities),
        "points": np.histogram(ratio, edges, weights=block.weights)[0],
        "mass": np.histogram(ratio, edges, weights=probabilities)[0],
        "at_floor": float(block.weights[ratio <= plan.floor * (1 + 1e-9)].sum()),
        "at_ceiling": float(block.weights[ratio >= plan.ceiling * (1 - 1e-9)].sum()),
        "probabilities": probabilities if plan.keep else None,
    }
