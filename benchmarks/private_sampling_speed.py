"""Time of the two programs of private sampling on small tables, cold and from a start nearby, and of HiGHS and Clarabel.

    python benchmarks/private_sampling_speed.py [--all]

Whole domains of ASIA and CAR, 8 categorical columns on 5,000 draws, and 16 bits. "moved": floor and ceiling a bit changed,
started from the solution before, as a slider does it. Without --all the reference is left out beyond 300,000 entries of W.
Every answer's residual is recomputed and shown: a fast wrong answer does not count. Medians of 3.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TypeVar

import numpy as np

from dpsyn.data.samples import load_sample
from dpsyn.errors import SolverError
from dpsyn.solvers.closest import closest_to_uniform
from dpsyn.solvers.contingency import all_codes
from dpsyn.solvers.contrasts import ContrastBasis
from dpsyn.solvers.matching import MatchingProblem, Solution
from dpsyn.solvers.operator import DenseOperator
from dpsyn.solvers.shrinkage import least_shrinkage

sys.path.insert(0, str(Path(__file__).parents[1]))

from tests.solvers.reference import density_by_clarabel, shrinkage_by_highs

BOXES = ((0.25, 2.0), (0.05, 75.0))
REFERENCE_UP_TO = 300_000
Answer = TypeVar("Answer", bound=Solution)


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


def report(label: str, work: Callable[[], Answer], repeats: int = 3) -> Answer | None:
    """One line: median seconds and what was found."""
    times: list[float] = []
    found: Answer | None = None
    for _ in range(repeats):
        start = time.perf_counter()
        try:
            found = work()
        except SolverError as fault:
            print(f"    {label:14} {time.perf_counter() - start:9.3f} s  {fault}", flush=True)
            return None
        times.append(time.perf_counter() - start)
    assert found is not None
    said = f"{found.objective:.9f}, residual {found.residual:.0e}, gap {found.gap:.0e}, {found.solver}"
    print(f"    {label:14} {statistics.median(times):9.3f} s  {said}", flush=True)
    return found


def main() -> None:
    """Run all cases."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--all", action="store_true", help="the slow combinations too")
    everything = parser.parse_args().all
    for name, sizes, codes, points in cases():
        basis = ContrastBasis(sizes, 2)
        whole = MatchingProblem(
            DenseOperator(basis.matrix(points), np.full(len(points), 1 / len(points))),
            basis.means(codes),
            *BOXES[0],
            basis.sparse_matrix(points),
            basis.sparse_means(codes),
        )
        print(f"\n{name}: C = {basis.dimension}, {len(points):,} points")
        for floor, ceiling in BOXES:
            quadratic = whole.with_box(floor, ceiling)
            linear = quadratic.with_box(2 * floor, ceiling - floor)
            near = quadratic.with_box(1.02 * floor, 0.99 * ceiling)
            near_linear = quadratic.with_box(2.04 * floor, 0.99 * ceiling - 1.02 * floor)
            print(f"  floor {floor:g}, ceiling {ceiling:g}")
            least = report("LP", lambda linear=linear: least_shrinkage(linear))  # type: ignore[misc]
            if least is None:
                continue
            target = min(1.0, least.shrinkage + 1e-9)
            close = report("QP", lambda quadratic=quadratic, target=target: closest_to_uniform(quadratic, target))  # type: ignore[misc]
            moved = report("LP, moved", lambda near=near_linear, least=least: least_shrinkage(near, start=least))  # type: ignore[misc]
            if moved is not None:
                target_moved = min(1.0, moved.shrinkage + 1e-9)
                report(
                    "QP, moved", lambda near=near, to=target_moved, close=close: closest_to_uniform(near, to, start=close)
                )  # type: ignore[misc]
            if not everything and basis.dimension * len(points) > REFERENCE_UP_TO:
                continue
            report("HiGHS", lambda linear=linear: shrinkage_by_highs(linear), 1)  # type: ignore[misc]
            report(
                "Clarabel",
                lambda quadratic=quadratic, target=target: density_by_clarabel(quadratic, target),  # type: ignore[misc]
                1,
            )


if __name__ == "__main__":
    main()
