"""Time of W x, Wᵀ y and Gram matrices for each million points, beside products of matrices made block by block.

    python benchmarks/operator_speed.py [--points 1000000] [--threads N] [--large]

Medians of three. ``dense`` makes W in blocks of double precision and multiplies; it is measured on fewer points and scaled.
``--large`` adds p = 46 with ten million points and p = 54 with 166 million, which need 1.6 GB and a few minutes.
"""

from __future__ import annotations

import argparse
import math
import resource
import statistics
import time
from collections.abc import Callable

import numpy as np

from dpsyn.solvers.contrasts import ContrastBasis
from dpsyn.solvers.executors import ThreadExecutor
from dpsyn.solvers.memory import operator_bytes
from dpsyn.solvers.operator import BlockOperator
from dpsyn.solvers.spectrum import conditioning

CASES: dict[str, tuple[tuple[int, ...], int]] = {
    "p = 20, d = 2": ((2,) * 20, 2),
    "p = 46, d = 2": ((2,) * 46, 2),
    "p = 54, d = 2": ((2,) * 54, 2),
    "Adult, d = 2": ((9, 16, 7, 15, 6, 5, 2, 2), 2),
    "p = 20, d = 3": ((2,) * 20, 3),
    "p = 46, d = 1": ((2,) * 46, 1),
}
LARGE = {"p = 46, d = 2": ((2,) * 46, 10_000_000), "p = 54, d = 2": ((2,) * 54, 166_000_000)}
DENSE_ENTRIES = 20_000_000


def median_seconds(function: Callable[[], object], repeats: int = 3) -> float:
    """Median of the wall clock; the first call prepares and is not counted."""
    function()
    times = []
    for _ in range(repeats):
        start = time.perf_counter()
        function()
        times.append(time.perf_counter() - start)
    return statistics.median(times)


def measure(sizes: tuple[int, ...], degree: int, points: int, threads: int | None) -> dict[str, float]:
    """Seconds for each million points."""
    operator = BlockOperator.uniform(sizes, degree, points, np.random.default_rng(0), ThreadExecutor(threads))
    x, y = np.random.default_rng(1).random(points), np.random.default_rng(2).normal(size=operator.shape[0])
    few = min(points, max(1000, DENSE_ENTRIES // operator.shape[0]))
    codes = operator.codes(np.arange(few))
    basis = ContrastBasis(sizes, degree)
    scale, small = 1e6 / points, 1e6 / few
    return {
        "C": operator.shape[0],
        "W x": scale * median_seconds(lambda: operator.matvec(x)),
        "Wᵀ y": scale * median_seconds(lambda: operator.rmatvec(y)),
        "gram": scale * median_seconds(lambda: operator.gram(x)),
        "dense W x": small * median_seconds(lambda: basis.matrix(codes) @ x[:few]),
        "dense gram": small * median_seconds(lambda: _dense_gram(basis, codes, x[:few])),
    }


def _dense_gram(basis: ContrastBasis, codes: np.ndarray, scaling: np.ndarray) -> np.ndarray:
    root = basis.matrix(codes) * np.sqrt(scaling)
    return root @ root.T


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--points", type=int, default=1_000_000)
    parser.add_argument("--threads", type=int, default=None)
    parser.add_argument("--large", action="store_true")
    options = parser.parse_args()
    print(f"{'seconds per million points':28}{'C':>6}{'W x':>9}{'Wᵀ y':>9}{'gram':>9}{'dense W x':>11}{'dense gram':>12}")
    for name, (sizes, degree) in CASES.items():
        found = measure(sizes, degree, options.points, options.threads)
        print(
            f"{name:28}{found['C']:6.0f}{found['W x']:9.3f}{found['Wᵀ y']:9.3f}{found['gram']:9.3f}"
            f"{found['dense W x']:11.2f}{found['dense gram']:12.1f}",
            flush=True,
        )
    if not options.large:
        return
    for name, (sizes, points) in LARGE.items():
        executor = ThreadExecutor(options.threads)
        start = time.perf_counter()
        operator = BlockOperator.uniform(sizes, 2, points, np.random.default_rng(0), executor)
        drawn = time.perf_counter() - start
        y = np.random.default_rng(2).normal(size=operator.shape[0])
        both = median_seconds(lambda operator=operator, y=y: operator.reduce(there_and_back, y), 3)
        start = time.perf_counter()
        test = conditioning(operator, 1 / (2 * math.exp(2)))
        tested = time.perf_counter() - start
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
        print(
            f"{name}, m = {points:.3g}: drawn in {drawn:.1f} s; W(p ∘ Wᵀy) {both:.1f} s; conditioning {tested:.1f} s, "
            f"σ/√m >= {test.smallest:.3f} proven on {test.points:,} points; peak {peak / 1e9:.2f} GB, estimated "
            f"{operator_bytes(sizes, 2, points, executor.threads) / 1e9:.2f} GB",
            flush=True,
        )


def there_and_back(block, y):  # type: ignore[no-untyped-def]
    """W(p ∘ Wᵀ y): one step of conjugate gradients."""
    return (block.apply(block.adjoint(y) * block.weights),)


if __name__ == "__main__":
    main()
