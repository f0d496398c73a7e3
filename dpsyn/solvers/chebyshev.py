"""The density whose statistics are closest to given numbers in the largest deviation (an LP)."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import scipy.sparse as sp

from dpsyn.errors import ParameterError, SolverError
from dpsyn.solvers._chebyshev_interior import Pair, centre_path
from dpsyn.solvers._reference import HighsMethod, solve_with_highs, weights_of
from dpsyn.solvers.executors import one_blas_thread
from dpsyn.solvers.matching import Floats

Matrix = Floats | sp.csr_array | sp.csc_array

GAP_ALLOWED = 1e-6
"""A density counts as optimal if its deviation is within this of a proven lower bound."""

_GAP_AIMED_AT = 1e-8
_FIRST, _MORE = 2, 2
"""Points of the first part, and points that join in a round, as multiples of F."""
_ALL_AT_MOST = 4
"""With no more points than this multiple of F the program is solved at once."""
_ROUNDS = 60
_MOST_STATISTICS = 8_000
"""Above, the F × F normal equations would take over 0.5 GB."""
_SMALL = 50_000
"""Nonzeros up to which the simplex method of HiGHS beats its interior-point method (37 x 256: 9 ms against 28 ms;
1483 x 5000 with 28 nonzeros a column: 4.5 s against 0.8 s)."""


@dataclass(frozen=True, eq=False)
class DensityFit:
    """A density that has been checked without the solver's word.

    Attributes:
        density: h >= 0 with Σ h = 1 (up to rounding), shape (m,).
        deviation: max_f |(A h - y)_f| of that very density, recomputed.
        dual_bound: no density has a smaller deviation than this: proven by the dual weights, not by the solver.
        residual: how far the solver's own answer was from h >= 0, Σ h = 1 before it was repaired.
        status: ``"optimal"`` if deviation - dual_bound <= GAP_ALLOWED, else ``"feasible"``.
        solver: the method whose answer this is.
    """

    density: Floats
    deviation: float
    dual_bound: float
    residual: float
    status: str
    solver: str = ""

    @property
    def gap(self) -> float:
        """deviation - dual_bound: by how much the density may miss the optimum."""
        return self.deviation - self.dual_bound


def dual_bound(matrix: Matrix, target: Floats, weights: Floats) -> float:
    """A lower bound on min_h max_f |A h - y| from any weights w on the statistics: min_z (Aᵀw)_z - w·y for ‖w‖₁ <= 1.

    Weights with a larger norm are scaled down, so the bound holds whatever they are. Shape (F,).
    """
    scaled = weights / max(1.0, float(np.abs(weights).sum()))
    return max(0.0, float((matrix.T @ scaled).min()) - float(scaled @ target))


def fit_density(
    matrix: Matrix,
    target: Floats,
    *,
    vertex: bool = False,
) -> DensityFit:
    """h minimising max_f |(A h)_f - y_f| over densities h >= 0, Σ h = 1 (Boedihardjo et al. 2021b, step 2).

    An interior-point method with F × F normal equations on the points that matter, the others being priced
    (:mod:`dpsyn.solvers._chebyshev_interior`); HiGHS solves what it cannot.

    Where several densities are optimal they differ in which one they return: the interior point spreads the mass, a vertex
    sits on at most F + 1 points.

    Args:
        matrix: A, statistic f of reduced-space point z, dense or sparse, shape (F, m).
        target: y, shape (F,).
        vertex: whether the density must be a vertex of the set of optimal ones.

    Raises:
        ParameterError: the shapes do not fit, or a number is not finite.
        SolverError: no solver returned a density.
    """
    target = np.asarray(target, dtype=np.float64)
    _check(matrix, target)
    if len(target) > _MOST_STATISTICS:
        return _reference_fit(matrix, target)
    fit = _structured_fit(matrix, target)
    if fit.status != "optimal":
        other = _reference_fit(matrix, target)
        fit = other if other.deviation < fit.deviation else fit
    return at_vertex(matrix, target, fit) if vertex else fit


def _structured_fit(matrix: Matrix, target: Floats) -> DensityFit:
    # The blocks are so small that a second BLAS thread gains little, and on a busy machine it costs a factor of ten.
    with one_blas_thread():
        pair = _least_deviation(matrix, target, gap=_GAP_AIMED_AT)
    return _checked(matrix, target, pair.density, pair.weights, "structured")


def _least_deviation(matrix: Any, target: Floats, *, gap: float) -> Pair:
    """The density over all points with deviation - bound ≤ ``gap``, or the best pair found, by column generation.

    Of many points few carry weight, so the program is solved on some, and the rest are priced. Weights w that are optimal on
    a part of the points prove the bound min_z (Aᵀw)_z - w·y over all of them at the cost of one product with Aᵀ. Points with
    (Aᵀw)_z below the part's own level would lower the deviation: the lowest join the part. When the bound over all points
    meets the deviation, the density on the part is optimal among all densities.
    """
    statistics, points = matrix.shape
    if points <= _ALL_AT_MOST * statistics:
        return centre_path(matrix, target, gap=gap)
    columns = matrix if isinstance(matrix, np.ndarray) else matrix.tocsc()
    # Which points come first changes the time only; a fixed seed keeps the result a function of the input.
    part = np.sort(np.random.default_rng(0).choice(points, _FIRST * statistics, replace=False))
    best = Pair(np.full(points, 1 / points), np.zeros(statistics), np.inf, 0.0)
    # The first part only has to say where to look, so it is solved roughly.
    aim = max(gap / 2, 0.02 * float(np.abs(columns @ best.density - target).max()))
    for _ in range(_ROUNDS):
        inside = np.ascontiguousarray(columns[:, part]) if isinstance(columns, np.ndarray) else columns[:, part]
        found = centre_path(inside, target, gap=aim)
        priced = columns.T @ found.weights
        density = np.zeros(points)
        density[part] = found.density
        best = best.better(density, found.deviation, found.weights, float(priced.min()) - float(found.weights @ target))
        if best.deviation - best.bound <= gap:
            break
        lowest = np.argpartition(priced, _MORE * statistics)[: _MORE * statistics]
        wider = np.union1d(part, lowest)
        if aim <= gap / 2 and len(wider) == len(part):
            break
        part, aim = wider, gap / 2
    return best


def _reference_fit(matrix: Matrix, target: Floats) -> DensityFit:
    nonzeros = int(matrix.nnz) if sp.issparse(matrix) else int(matrix.size)
    methods: list[HighsMethod] = ["highs-ds", "highs-ipm"] if nonzeros <= _SMALL else ["highs-ipm", "highs-ds"]
    best: DensityFit | None = None
    messages = []
    for method in methods:
        result = solve_with_highs(matrix, target, method)
        if not _usable(result.x):
            messages.append(f"{method}: {result.message}")
            continue
        fit = _checked(matrix, target, result.x[:-1], weights_of(result, len(target)), method)
        if best is None or fit.deviation < best.deviation:
            best = fit
        if best.status == "optimal":
            break
    if best is None:
        raise SolverError("the linear program for the density has no usable solution: " + "; ".join(messages))
    return best


def at_vertex(matrix: Matrix, target: Floats, fit: DensityFit) -> DensityFit:
    """An optimal density on at most F + 1 points, from any optimal one: a simplex method on the points with the most mass.

    Args:
        matrix: A, as it was fitted.
        target: y.
        fit: an optimal density; returned as it is if the simplex method finds none as good.
    """
    columns = matrix if isinstance(matrix, np.ndarray) else matrix.tocsc()
    order = np.argsort(-fit.density, kind="stable")
    count = 3 * len(target)
    while True:
        part = np.sort(order[:count])
        result = solve_with_highs(columns[:, part], target, "highs-ds")
        if _usable(result.x):
            density = np.zeros(len(order))
            density[part] = result.x[:-1]
            found = _checked(matrix, target, density, None, "structured, then simplex")
            if found.deviation <= fit.deviation + GAP_ALLOWED / 2:
                status = "optimal" if found.deviation - fit.dual_bound <= GAP_ALLOWED else "feasible"
                return replace(found, dual_bound=fit.dual_bound, status=status)
        if count >= len(order):
            return fit
        count *= 4


def _usable(answer: Floats | None) -> bool:
    """Whether HiGHS gave (h, t) with some mass in h."""
    return answer is not None and bool(np.isfinite(answer).all()) and float(np.maximum(answer[:-1], 0.0).sum()) > 0


def _check(matrix: Matrix, target: Floats) -> None:
    if not isinstance(matrix, (np.ndarray, sp.csr_array, sp.csc_array)):
        raise ParameterError("matrix", type(matrix).__name__, "a NumPy array, or a SciPy csr_array or csc_array")
    if matrix.ndim != 2 or 0 in matrix.shape or target.shape != (matrix.shape[0],):
        raise ParameterError("matrix", f"shape {matrix.shape}", f"shape (F, m) with F = {target.size} targets and m >= 1")
    if not np.isfinite(target).all():
        raise ParameterError("target", "a number that is not finite", "finite numbers")
    entries = matrix if isinstance(matrix, np.ndarray) else matrix.data
    if not np.isfinite(entries).all():
        raise ParameterError("matrix", "a number that is not finite", "finite numbers")


def _checked(matrix: Matrix, target: Floats, answer: Floats, weights: Floats | None, solver: str) -> DensityFit:
    residual = max(float(-answer.min(initial=0.0)), abs(float(answer.sum()) - 1.0))
    density = np.maximum(answer, 0.0)
    density = density / density.sum()
    deviation = float(np.abs(matrix @ density - target).max())
    bound = 0.0 if weights is None else dual_bound(matrix, target, weights)
    status = "optimal" if deviation - bound <= GAP_ALLOWED else "feasible"
    return DensityFit(density, deviation, bound, residual, status, solver)
