"""Both programs of private sampling by our own methods and by HiGHS and Clarabel, at the same optimum, in one run.

    python benchmarks/private_sampling_vs_reference.py [--quick] [--repeats 3] [--limit 1800] [--output results.json]

20 correlated binary columns, n = 20,000, degree 2 (C = 211), m = 50,000 draws from the cube, floor 0.05, ceiling 20. HiGHS
is asked in several ways: simplex, interior point with and without crossover, on the Walsh basis (dense) and on the indicator
basis (sparse, the same span), with presolve (its default); each once, the fastest again until there are medians. Clarabel is
asked through CVXPY, as the tests do; its time includes CVXPY's compilation. Time includes forming W for the reference, and
everything for ours. --quick: 12 columns, m = 5,000.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

from dpsyn.solvers.closest import closest_to_uniform
from dpsyn.solvers.matching import MatchingProblem
from dpsyn.solvers.operator import BlockOperator
from dpsyn.solvers.shrinkage import least_shrinkage

sys.path.insert(0, str(Path(__file__).parents[1]))

from tests.solvers.reference import density_by_clarabel

FLOOR, CEILING = 0.05, 20.0


def correlated_bits(columns: int, rows: int, generator: np.random.Generator) -> np.ndarray:
    """Bits that follow one hidden level: P(bit = 1) = 0.05 + 0.9·level."""
    level = generator.random((rows, 1))
    return (generator.random((rows, columns)) < 0.05 + 0.9 * level).astype(np.int32)


def problem(columns: int, draws: int, rows: int = 20_000) -> MatchingProblem:
    """The QP's problem on draws from the cube, with W not formed."""
    generator = np.random.default_rng(2)
    data = correlated_bits(columns, rows, generator)
    operator = BlockOperator.uniform((2,) * columns, 2, draws, generator)
    basis = operator.functions.basis
    codes = operator.codes(np.arange(draws))
    return MatchingProblem(operator, basis.means(data), FLOOR, CEILING, basis.sparse_matrix(codes), basis.sparse_means(data))


def timed(work: Callable[[], Any]) -> tuple[Any, float]:
    """What ``work`` returns and its seconds."""
    start = time.perf_counter()
    result = work()
    return result, time.perf_counter() - start


def highs(linear: MatchingProblem, *, sparse: bool, options: dict[str, Any], limit: float) -> tuple[float, float, str]:
    """λ, the largest residual of the equalities, and HiGHS's status."""
    import highspy

    if sparse:
        assert linear.sparse_functions is not None
        assert linear.sparse_target is not None
        functions, target = sp.csc_array(linear.sparse_functions), linear.sparse_target
    else:
        functions, target = sp.csc_array(linear.functions), linear.target
    towards = target - np.asarray(functions @ linear.weights)
    points = linear.points
    # In units of 1/m, so that the entries are of order 1 and the solver's tolerances mean something.
    matrix = sp.hstack([functions * (linear.weights[None, :] * points), sp.csc_array(towards[:, None] * points)]).tocsc()
    model = highspy.HighsLp()
    model.num_col_, model.num_row_ = points + 1, len(target)
    model.col_cost_ = np.append(np.zeros(points), 1.0)
    model.col_lower_ = np.append(np.full(points, linear.lower), 0.0)
    model.col_upper_ = np.append(np.full(points, linear.upper), 1.0)
    model.row_lower_ = model.row_upper_ = target * points
    model.a_matrix_.format_ = highspy.MatrixFormat.kColwise
    model.a_matrix_.start_, model.a_matrix_.index_ = matrix.indptr, matrix.indices
    model.a_matrix_.value_ = matrix.data
    solver = highspy.Highs()
    # At HiGHS's own tolerances its λ is 1e-6 above the optimum, relatively: not the same optimum.
    tolerances = {f"{kind}_feasibility_tolerance": 1e-9 for kind in ("primal", "dual")} | {"ipm_optimality_tolerance": 1e-10}
    for name, value in {"output_flag": False, "time_limit": limit, **tolerances, **options}.items():
        solver.setOptionValue(name, value)
    solver.passModel(model)
    solver.run()
    found = np.asarray(solver.getSolution().col_value)
    if len(found) == 0:
        return float("nan"), float("nan"), solver.modelStatusToString(solver.getModelStatus())
    residual = linear.residual(np.clip(found[:-1], linear.lower, linear.upper), float(found[-1]))
    return float(found[-1]), residual, solver.modelStatusToString(solver.getModelStatus())


WAYS: dict[str, tuple[bool, dict[str, Any]]] = {
    "simplex, sparse basis": (True, {"solver": "simplex"}),
    "simplex, Walsh basis": (False, {"solver": "simplex"}),
    "interior point, sparse basis": (True, {"solver": "ipm"}),
    "interior point without crossover, sparse basis": (True, {"solver": "ipm", "run_crossover": "off"}),
    "interior point, Walsh basis": (False, {"solver": "ipm"}),
    "interior point without crossover, Walsh basis": (False, {"solver": "ipm", "run_crossover": "off"}),
}


def main() -> None:
    """Run and report."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--limit", type=float, default=1800.0, help="seconds for each way of asking HiGHS")
    parser.add_argument("--output", type=Path)
    given = parser.parse_args()
    columns, draws = (12, 5_000) if given.quick else (20, 50_000)

    def fresh() -> tuple[MatchingProblem, MatchingProblem]:
        whole = problem(columns, draws)
        return whole, whole.with_box(2 * FLOOR, CEILING - FLOOR)

    quadratic, linear = fresh()
    print(f"p = {columns}, C = {linear.operator.shape[0]}, m = {draws:,}, floor {FLOOR}, ceiling {CEILING}")
    ours: list[tuple[float, float]] = []
    for _ in range(given.repeats):
        quadratic, linear = fresh()
        least, first = timed(lambda linear=linear: least_shrinkage(linear))
        close, second = timed(
            lambda quadratic=quadratic, least=least: closest_to_uniform(quadratic, min(1.0, least.shrinkage + 1e-9))
        )
        ours.append((first, second))
    print(f"ours: LP λ = {least.shrinkage:.9f}, gap {least.gap:.1e}, residual {least.residual:.1e}, {least.solver}")
    print(f"      QP objective {close.objective:.9f}, gap {close.gap:.1e}, residual {close.residual:.1e}")
    lp, qp = (statistics.median(times) for times in zip(*ours, strict=True))
    print(f"      LP {lp:.3f} s, QP {qp:.3f} s (medians of {given.repeats})")

    limit, ways = given.limit, {}
    for name, (sparse, options) in WAYS.items():
        (value, residual, status), seconds = timed(
            lambda sparse=sparse, options=options, limit=limit: highs(linear, sparse=sparse, options=options, limit=limit)
        )
        ways[name] = {"seconds": seconds, "shrinkage": value, "residual": residual, "status": status}
        print(f"HiGHS, {name}: {seconds:.1f} s, {status}, λ = {value:.9f}, residual {residual:.1e}", flush=True)
        if status == "Optimal" and residual <= 1e-8:
            limit = min(limit, 2 * seconds)  # whoever is slower than that is not the fastest
    good = {name: way for name, way in ways.items() if way["status"] == "Optimal" and way["residual"] <= 1e-8}
    # Where no way arrives within the limit, the longest limit that was given stands in: the ratio is then a lower bound.
    arrived = bool(good)
    fastest = min(good, key=lambda name: float(good[name]["seconds"])) if arrived else "none within the limit"
    times = [float(good[fastest]["seconds"]) if arrived else given.limit]
    if arrived:
        sparse, options = WAYS[fastest]
        again_by_highs = partial(highs, linear, sparse=sparse, options=options, limit=given.limit)
        times += [timed(again_by_highs)[1] for _ in range(given.repeats - 1)]
    reference_lp = statistics.median(times)
    again: list[float] = []
    for _ in range(given.repeats):
        answer, seconds = timed(lambda: density_by_clarabel(quadratic, min(1.0, least.shrinkage + 1e-9)))
        again.append(seconds)
    reference_qp = statistics.median(again)
    print(f"fastest HiGHS: {fastest}, {reference_lp:.2f} s; Clarabel {reference_qp:.2f} s, objective {answer.objective:.9f}")
    ratio = (reference_lp + reference_qp) / (lp + qp)
    bound = "" if arrived else "more than "
    differences = (
        abs(float(good[fastest]["shrinkage"]) - least.shrinkage) / max(least.shrinkage, 1e-3) if arrived else float("nan"),
        abs(answer.objective - close.objective) / close.objective,
    )
    print(f"LP + QP: {reference_lp + reference_qp:.2f} s against {lp + qp:.3f} s: {bound}{ratio:.0f} times")
    print(f"relative differences of the optima: LP {differences[0]:.1e}, QP {differences[1]:.1e}")
    if given.output:
        found = {"columns": columns, "draws": draws, "ours": ours, "highs": ways, "highs_fastest": [fastest, times]}
        found |= {"clarabel": again, "ratio": ratio, "differences": differences}
        given.output.write_text(json.dumps(found, indent=1))


if __name__ == "__main__":
    main()
