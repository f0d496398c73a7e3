"""Private sampling, calibrated: draws S, solves the two programs, draws the rows, and tells for teaching what it saw."""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import product
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import numpy.typing as npt
import pandas as pd

from dpsyn.data.counted import AnyTable
from dpsyn.domain import Codes
from dpsyn.mechanisms.base import Mechanism, Progress, Release
from dpsyn.mechanisms.encoding import Stage
from dpsyn.mechanisms.private_sampling._reduced_space import ReducedSpace, SpaceSize, draw_space
from dpsyn.mechanisms.private_sampling._solve import Clock, Densities, Matched, match
from dpsyn.mechanisms.private_sampling.certificates import (
    IGNORES_DATA,
    ReducedSpaceGeometry,
    bounded_ratio_epsilon,
    measured_geometry,
    stability_epsilon,
    whole_cube_geometry,
)
from dpsyn.privacy.exact_draws import TOTAL, BlockTotals, WholeCounts, positions, shared, whole_counts
from dpsyn.privacy.histograms import Encoding
from dpsyn.privacy.noise import NoiseSource
from dpsyn.solvers.blocks import Block
from dpsyn.solvers.contrasts import ContrastBasis, contrasts
from dpsyn.solvers.executors import executor_for
from dpsyn.solvers.matching import ClippedDensity, Density, Floats, MatchingProblem

if TYPE_CHECKING:
    from dpsyn.mechanisms.private_sampling._config import PrivateSampling

_POINTS_KEPT = 1_000_000
"""Points of S up to which the diagnostics hold all of them, with their probabilities."""
CELLS_TOLD = 20
_GEOMETRY_ENTRIES = 20_000_000
_NONE = 1e-9
_BINS = 60
"""Bins of the histogram of m·h*, evenly spaced in its logarithm between floor and ceiling."""


@dataclass(frozen=True)
class PrivateSamplingMechanism(Mechanism):
    """Calibrated private sampling.

    Attributes:
        config: the configuration.
        rows: k.
        size: of the reduced space.
        theorem_4_1_per_row: ε of one row by Theorem 4.1, or None off the Boolean cube and for add_remove.
        stage: what comes first, for numbers and dates; its ε is in no certificate of the rows.
    """

    config: PrivateSampling
    rows: int
    size: SpaceSize
    theorem_4_1_per_row: float | None
    stage: Stage

    needs_counts_alone: ClassVar[bool] = True

    def certificates(self, space: ReducedSpace | None = None) -> dict[str, float | None]:
        """ε of the rows by ``"bounded_ratio"``, by ``"theorem_4_1"``, and by ``"stability"``, which is experimental.

        None where one does not apply; the last one needs S where that is drawn and not the whole cube.
        """
        floor, ceiling = self.config.floor, self.config.ceiling
        theorem, geometry = self.theorem_4_1_per_row, self._geometry(space)
        stability = math.inf
        if geometry is not None:
            stability = stability_epsilon(rows=self.rows, floor=floor, ceiling=ceiling, n=self.n, geometry=geometry)
        return {
            "bounded_ratio": bounded_ratio_epsilon(rows=self.rows, floor=floor, ceiling=ceiling),
            "theorem_4_1": None if theorem is None else theorem * self.rows,
            "stability": stability if math.isfinite(stability) else None,
        }

    def _geometry(self, space: ReducedSpace | None) -> ReducedSpaceGeometry | None:
        if self.size.space != "cube" or self.spec.neighbouring != "replace_one":
            return None
        p, degree = len(self.domain), min(self.config.degree, len(self.domain))
        if self.size.whole:
            return whole_cube_geometry(p, degree)
        if space is None or space.points * self.size.dimension > _GEOMETRY_ENTRIES:
            return None
        return measured_geometry(space.functions, space.multiplicity, p, degree)

    def calibrated(self) -> dict[str, Any]:
        """Number of rows, size of the problem, and every certificate that public facts give."""
        found = self.certificates()
        return {
            "rows": self.rows,
            "space": self.size.space,
            "reduced_space_size": self.size.m,
            "whole_domain": self.size.whole,
            "functions": self.size.dimension,
            "bounded_ratio_epsilon": found["bounded_ratio"],
            "theorem_4_1_epsilon": found["theorem_4_1"],
            "experimental_stability_epsilon": found["stability"],
            **self.stage.facts(),
        }

    def _run(self, noise: NoiseSource, table: AnyTable, progress: Progress) -> tuple[pd.DataFrame, dict[str, Any]]:
        clock = Clock(progress)
        floor, ceiling = self.config.floor, self.config.ceiling
        with executor_for(self.config.scheduler) as executor:
            encoding = self.stage.encoding(noise, table)
            clock("drawing the reduced space", 0.0)
            space = draw_space(self.size, noise.generator, executor, clock.tell)
            densities = Densities.on(space, floor, ceiling)
            clock("measuring the marginals of the data", 0.1)
            problem = densities.problem_of(encoding.rows(table))
            matched = match(problem, clock)
            clock("drawing rows", 0.95)
            keep = space.points <= _POINTS_KEPT
            drawn = draw_rows(space, matched.density, floor, ceiling, self.rows, noise.generator, keep=keep)
            rows = encoding.decode(drawn.codes, noise.generator)
            diagnostics = {
                **self.calibrated(),
                "experimental_stability_epsilon": self.certificates(space)["stability"],
                **matched.found(),
                "redraws": space.redraws,
                "distinct_points": space.points,
                "spectrum": space.spectrum,
                "spectrum_threshold": space.threshold**2 / space.m,
                "smallest_singular_value": space.smallest_singular_value,
                "smallest_singular_value_is_exact": space.spectrum is not None,
                "failure_threshold": space.threshold,
                "points": space.codes if keep else None,
                "multiplicity": space.multiplicity if keep else None,
                "density": drawn.probabilities,
                "ratio_edges": drawn.edges,
                "ratio_points": drawn.points,
                "ratio_mass": drawn.mass,
                "share_at_floor": drawn.at_floor,
                "share_at_ceiling": drawn.at_ceiling,
                "residual": float(np.abs(drawn.statistics - problem.wanted(matched.shrinkage)).max()),
                "binding": binding_cells(encoding, densities.basis, problem, matched),
                "encoding": encoding,
                "seconds": clock.seconds(),
            }
        if matched.pinned:
            diagnostics["note"] = IGNORES_DATA
        return rows, diagnostics

    def _redraw(self, generator: np.random.Generator, release: Release) -> pd.DataFrame | None:
        """As many rows again, drawn independently from h*; None where S was too large to be kept."""
        density, points, encoding = (release.diagnostics.get(name) for name in ("density", "points", "encoding"))
        if density is None or points is None or encoding is None:
            return None
        chosen = generator.choice(len(points), len(release.rows), p=density / density.sum())
        rows: pd.DataFrame = encoding.decode(points[chosen], generator)
        return rows


def binding_cells(
    encoding: Encoding, basis: ContrastBasis, problem: MatchingProblem, matched: Matched
) -> list[dict[str, Any]]:
    """Cells of the tables that keep λ from being smaller, the most important first.

    The multipliers y of the linear program make one function Wᵀy = Σ_J g_J, and g_J gives each cell of the table over the
    columns J a number: by how much λ grows, before the factor 1-λ, with the share of the rows that lie in the cell, as far
    as that table alone accounts for it (each g_J has mean zero along every column). Negative: fewer rows than the space
    wants, as in an empty cell.

    Returns:
        For each cell its ``columns`` and their ``values``, ``dual`` and the ``share`` of the rows that lie in it, the latter
        computed from the statistics; at most CELLS_TOLD of them, none where λ = 0.
    """
    if matched.linear is None or float(np.abs(matched.linear.multipliers).max()) < _NONE:
        return []
    found: list[tuple[float, tuple[int, ...], tuple[int, ...], float]] = []
    for columns, (start, stop) in tables_of(basis).items():
        shape = tuple(basis.sizes[j] - 1 for j in columns)
        duals = _on_cells(basis.sizes, columns, matched.linear.multipliers[start:stop].reshape(shape))
        for codes, dual in zip(product(*map(range, duals.shape)), duals.ravel(), strict=True):
            found.append((abs(float(dual)), columns, codes, float(dual)))
    found.sort(key=lambda one: (-one[0], one[1], one[2]))
    return [
        {
            "columns": tuple(encoding.domain.names[j] for j in columns),
            "values": tuple(encoding.labels(j)[code] for j, code in zip(columns, codes, strict=True)),
            "dual": dual,
            "share": _share(basis, problem.target, columns, codes),
        }
        for size, columns, codes, dual in found[:CELLS_TOLD]
        if size > _NONE
    ]


def tables_of(basis: ContrastBasis) -> dict[tuple[int, ...], tuple[int, int]]:
    """Where the functions of each set of columns lie; the constant left out."""
    found: dict[tuple[int, ...], tuple[int, int]] = {}
    for at, columns in enumerate(basis.index):
        if columns:
            found[columns] = (found.get(columns, (at, at))[0], at + 1)
    return found


def _on_cells(sizes: tuple[int, ...], columns: tuple[int, ...], coefficients: Floats) -> Floats:
    """Σ_r y_r Π_j φ_{r_j}(x_j) on the cells of the table over the columns."""
    values = coefficients
    for j in columns:
        values = np.tensordot(values, contrasts(sizes[j])[1:], axes=(0, 0))
    return np.asarray(values)


def _share(basis: ContrastBasis, statistics: Floats, columns: tuple[int, ...], codes: tuple[int, ...]) -> float:
    """Share of the rows in a cell: (1/cells) Σ over subsets of the columns of their functions' means times their values."""
    total = 1.0
    for inner, (start, stop) in tables_of(basis).items():
        if set(inner) <= set(columns):
            shape = tuple(basis.sizes[j] - 1 for j in inner)
            values = _on_cells(basis.sizes, inner, statistics[start:stop].reshape(shape))
            total += float(values[tuple(codes[columns.index(j)] for j in inner)])
    return total / float(np.prod([basis.sizes[j] for j in columns]))


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
    numbers: npt.NDArray[np.int64] | None = None
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
    """``rows`` independent draws from h* = x·c/m on S, with probabilities that lie in the box exactly.

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
    return Drawn(
        codes=sorted_codes[np.argsort(order)],
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
