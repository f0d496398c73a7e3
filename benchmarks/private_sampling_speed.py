"""Time of the two programs of private sampling, by our own methods and by HiGHS and Clarabel, side by side.

    python benchmarks/private_sampling_speed.py [--all]

Without --all the slow combinations (Clarabel beyond 300,000 entries, HiGHS beyond 2,000,000) are left out. Every answer's
largest residual is recomputed and shown: a fast wrong answer does not count.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable, Iterator

import numpy as np

from dpsyn.basis.contrasts import ContrastBasis, all_codes
from dpsyn.data.samples import load_sample
from dpsyn.optim import shrinkage
from dpsyn.optim.closest import clarabel_multipliers, closest_to_uniform
from dpsyn.optim.matching import MatchingProblem

BOXES = ((0.25, 2.0), (0.05, 75.0))


def dependent_codes(sizes: tuple[int, ...], rows: int, generator: np.random.Generator) -> np.ndarray:
    """Rows whose columns all follow one hidden level."""
    level = generator.random(rows)
    columns = [np.minimum((0.7 * level + 0.3 * generator.random(rows)) * size, size - 1) for size in sizes]
    return np.stack(columns, axis=1).astype(np.int32)


def cases() -> Iterator[tuple[str, tuple[int, ...], np.ndarray, np.ndarray]]:
    """Name, sizes of the columns, the data's codes, the reduced space's codes."""
    generator = np.random.default_rng(0)
    for name in ("asia", "car"):
        table = load_sample(name)
        yield f"{name}, whole domain", table.domain.shape, table.codes, all_codes(table.domain.shape)
    sizes = (9, 16, 7, 15, 6, 5, 2, 2)
    drawn = np.unique(np.stack([generator.integers(0, size, 5000) for size in sizes], axis=1).astype(np.int32), axis=0)
    yield "8 categorical columns, 5,000 draws", sizes, dependent_codes(sizes, 30_000, generator), drawn
    yield "16 bits, whole cube", (2,) * 16, dependent_codes((2,) * 16, 30_000, generator), all_codes((2,) * 16)


def timed(work: Callable[[], object]) -> tuple[object, float]:
    """What ``work`` returns and the seconds that it took."""
    start = time.perf_counter()
    result = work()
    return result, time.perf_counter() - start


def show(name: str, method: str, seconds: float, found: str) -> None:
    """One line of the report."""
    sys.stdout.write(f"{name:52} {method:18} {seconds:9.3f} s   {found}\n")
    sys.stdout.flush()


def linear_programs(name: str, problem: MatchingProblem, *, everything: bool) -> float:
    """Times of the LP; returns λ."""
    result, seconds = timed(lambda: shrinkage.least_shrinkage(problem))
    assert isinstance(result, shrinkage.ShrinkageSolution)
    show(name, result.solver, seconds, f"λ = {result.shrinkage:.9f}, residual {result.residual:.0e}, gap {result.gap:.0e}")
    own = shrinkage._interior_point
    methods = {"interior point": lambda: own(problem)}
    if everything or problem.functions.size <= 2_000_000:
        methods |= {m: lambda m=m: shrinkage._highs(problem, m) for m in ("highs-ds", "highs-ipm")}
    methods.pop(result.solver, None)
    for method, work in methods.items():
        other, seconds = timed(work)
        found = other if isinstance(other, str) else f"λ = {other.shrinkage:.9f}, residual {other.residual:.0e}"
        show(name, method, seconds, str(found))
    return result.shrinkage


def quadratic_programs(name: str, problem: MatchingProblem, least: float, *, everything: bool) -> None:
    """Times of the QP."""
    wanted = min(1.0, least + 1e-9)
    result, seconds = timed(lambda: closest_to_uniform(problem, wanted))
    show(name, result.solver, seconds, f"residual {result.residual:.0e}, gap {result.gap:.0e}")  # type: ignore[attr-defined]
    if not everything and problem.functions.size > 300_000:
        return
    multipliers, seconds = timed(lambda: clarabel_multipliers(problem, problem.wanted(wanted)))
    if multipliers is None:
        show(name, "clarabel", seconds, "no answer")
        return
    ratio = np.clip(1 + problem.functions.T @ multipliers, problem.lower, problem.upper)
    show(name, "clarabel", seconds, f"residual {problem.residual(ratio, wanted):.0e}")


def main() -> None:
    """Run all cases."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--all", action="store_true", help="the slow combinations too")
    everything = parser.parse_args().all
    for name, sizes, codes, points in cases():
        basis = ContrastBasis(sizes, 2)
        for floor, ceiling in BOXES:
            problem = MatchingProblem.dense(
                functions=basis.matrix(points),
                weights=np.full(len(points), 1 / len(points)),
                target=basis.means(codes),
                lower=floor,
                upper=ceiling,
                sparse_functions=basis.sparse_matrix(points),
                sparse_target=basis.sparse_means(codes),
            )
            label = f"{name}, box {floor:g}–{ceiling:g}"
            sys.stdout.write(f"\nC = {basis.dimension}, {len(points):,} points\n")
            least = linear_programs(label, problem.with_box(2 * floor, ceiling - floor), everything=everything)
            quadratic_programs(label, problem, least, everything=everything)


if __name__ == "__main__":
    main()
