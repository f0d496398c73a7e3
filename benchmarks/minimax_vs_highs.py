"""The minimax program of noisy reweighting by our own method and by HiGHS: same optimum, times side by side in one run.

    python benchmarks/minimax_vs_highs.py [--points 20000] [--repeats 3] [--limit 120] [--output DIRECTORY]

Data: n = 20,000 correlated rows of p = 20 bits, all 211 Walsh functions of degree 2, Laplace noise 2|F|/(nε) at ε = 1 on
every one, a reduced space of uniform points: the paper's setting ("published"), in which the noise on the constant alone may
decide the optimum. "hard" is the same at ε = 0.1 without the constant, where hundreds of statistics compete. "tables" are
all two-way tables of eight categorical columns (sparse).

HiGHS gets the program as it stands and its dual, each by simplex and by interior point; every method runs once, the fastest
then as often as ours. Values must agree to 1e-6, ours being proven by its own dual bound.
"""

from __future__ import annotations

import argparse
import csv
import statistics
import sys
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

from dpsyn.mechanisms.noisy_reweighting.families import TableFamily, WalshFamily
from dpsyn.solvers._reference import solve_with_highs
from dpsyn.solvers.chebyshev import fit_density

METHODS = ("simplex", "interior point", "simplex on the dual", "interior point on the dual")


def problems(points: int) -> Iterator[tuple[str, Any, np.ndarray]]:
    """Name, A, y."""
    generator = np.random.default_rng(0)
    n, p = 20_000, 20
    level = generator.beta(0.6, 0.6, (n, 1))
    own = generator.uniform(0.1, 0.9, p)
    share = generator.uniform(0.2, 0.9, p)
    rows = (generator.random((n, p)) < share * level + (1 - share) * own).astype(np.int32)
    family = WalshFamily(p, 2)
    matrix = family.matrix(generator.integers(0, 2, (points, p), dtype=np.int32))
    exact = family.sums(rows) / n
    yield "published", matrix, exact + generator.laplace(0, 2 * family.count / n, family.count)
    noisy = exact + generator.laplace(0, 20 * family.count / n, family.count)
    yield "hard", matrix[1:], noisy[1:]
    sizes = (9, 16, 7, 15, 6, 5, 2, 2)
    level = generator.beta(0.6, 0.6, (n, 1))
    codes = np.minimum((0.7 * level + 0.3 * generator.random((n, 8))) * sizes, np.array(sizes) - 1).astype(np.int32)
    tables = TableFamily.all_of_degree(sizes, 2)
    drawn = np.stack([generator.choice(codes[:, j], points) for j in range(8)], axis=1)
    yield (
        "tables",
        tables.matrix(np.unique(drawn, axis=0)),
        tables.sums(codes) / n + generator.laplace(0, 56 / n, tables.count),
    )


def by_highs(matrix: Any, target: np.ndarray, method: str, limit: float) -> float:
    """The optimum as HiGHS finds it; NaN if it does not, in time."""
    kind = "highs-ds" if method.startswith("simplex") else "highs-ipm"
    if "dual" not in method:
        result = solve_with_highs(matrix, target, kind, limit)  # type: ignore[arg-type]
        return float(result.fun) if result.status == 0 else float("nan")
    from scipy.optimize import linprog

    # maximise v - y·(a - b) subject to v ≤ Aᵀ(a - b), Σ (a + b) = 1, a, b ≥ 0
    count = len(target)
    stack = sp.hstack if sp.issparse(matrix) else np.hstack
    ones = np.ones((matrix.shape[1], 1))
    result = linprog(
        np.concatenate([target, -target, [-1.0]]),
        A_ub=stack([-matrix.T, matrix.T, ones]),
        b_ub=np.zeros(matrix.shape[1]),
        A_eq=np.concatenate([np.ones(2 * count), [0.0]])[None, :],
        b_eq=np.ones(1),
        bounds=[(0, None)] * (2 * count) + [(None, None)],
        method=kind,
        options={"primal_feasibility_tolerance": 1e-9, "dual_feasibility_tolerance": 1e-9, "time_limit": limit},
    )
    return -float(result.fun) if result.status == 0 else float("nan")


def timed(work: Callable[[], Any]) -> tuple[Any, float]:
    """What ``work`` returns and the seconds that it took."""
    start = time.perf_counter()
    result = work()
    return result, time.perf_counter() - start


def main(points: int, repeats: int, limit: float, output: Path | None) -> int:
    """Print the table; 0 if every value agrees and ours is at least ten times faster on "published"."""
    lines: list[dict[str, Any]] = []
    good = True
    for name, matrix, target in problems(points):
        print(f"{name}: {matrix.shape[0]:,} statistics, {matrix.shape[1]:,} points", flush=True)
        first: dict[str, tuple[float, float]] = {}
        for method in METHODS:
            value, seconds = timed(partial(by_highs, matrix, target, method, limit))
            first[method] = (value, seconds)
            print(f"    HiGHS, {method:28} {seconds:8.2f} s   {value:.9f}", flush=True)
        solved = {method: seconds for method, (value, seconds) in first.items() if np.isfinite(value)}
        fastest = min(solved, key=solved.__getitem__) if solved else None
        ours, theirs = [], [solved[fastest]] if fastest else []
        fit = fit_density(matrix, target)
        for i in range(repeats):
            fit, seconds = timed(partial(fit_density, matrix, target))
            ours.append(seconds)
            if fastest and i:
                theirs.append(timed(partial(by_highs, matrix, target, fastest, limit))[1])
        mine = statistics.median(ours)
        best = statistics.median(theirs) if theirs else limit
        agrees = fastest is None or abs(fit.deviation - first[fastest][0]) <= 1e-6
        good &= agrees and fit.status == "optimal" and (name != "published" or best >= 10 * mine)
        print(f"    ours                                {mine:8.2f} s   {fit.deviation:.9f}, proven to {fit.gap:.1e}")
        print(f"    {best / mine:.0f} times faster than HiGHS' {fastest or 'time limit'}; agrees: {agrees}", flush=True)
        lines.append(
            {
                "problem": name,
                "statistics": matrix.shape[0],
                "points": matrix.shape[1],
                "ours_seconds": mine,
                "ours_value": fit.deviation,
                "ours_gap": fit.gap,
                "highs_method": fastest,
                "highs_seconds": best,
                "highs_value": first[fastest][0] if fastest else float("nan"),
                "ratio": best / mine,
            }
        )
    if output is not None:
        output.mkdir(parents=True, exist_ok=True)
        with (output / "minimax_vs_highs.csv").open("w", newline="") as file:
            writer = csv.DictWriter(file, lines[0].keys())
            writer.writeheader()
            writer.writerows(lines)
    return 0 if good else 1


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--points", type=int, default=20_000)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--limit", type=float, default=120.0, help="seconds that HiGHS may take")
    parser.add_argument("--output", type=Path, help="folder for the table as CSV")
    given = parser.parse_args()
    sys.exit(main(given.points, given.repeats, given.limit, given.output))
