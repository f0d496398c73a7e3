"""Private sampling on categorical data that the paper's cube cannot hold: UCI Adult, which is not part of this repository.

    python benchmarks/private_sampling_adult.py PATH_TO_THE_TRAINING_CSV [--points 100000] [--runs 3]

Eight categorical columns, the product space of their categories, d = 2: C = 1231 contrasts on m = 100,000 draws. For each
box it prints the median time of the whole run (from a table in memory to rows) and of its steps, checks that every table
over one or two columns of h* is (1-λ) · data + λ · reduced space, and that the rows decode to rows of the domain. It exits
with 1 if a table is off by more than 1e-8.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import time
from itertools import combinations

import numpy as np

import dpsyn

COLUMNS = ("workclass", "education", "marital-status", "occupation", "relationship", "race", "sex", "income")
BOXES = ((0.25, 2.0), (0.05, 20.0))
ALLOWED = 1e-8


def shares(codes: np.ndarray, sizes: tuple[int, ...], weights: np.ndarray | None = None) -> np.ndarray:
    """The contingency table of some columns, as shares."""
    cells = np.ravel_multi_index(tuple(codes.T), sizes)
    counts = np.bincount(cells, weights, minlength=int(np.prod(sizes)))
    return counts / counts.sum()


def worst_table(table: dpsyn.Table, release: dpsyn.Release) -> float:
    """The largest deviation of a cell of any table over one or two columns from the mixture."""
    found = release.diagnostics
    shape, points = table.domain.shape, found["points"]
    shrinkage, drawn = found["shrinkage"], found["multiplicity"].astype(float)
    worst = 0.0
    for count in (1, 2):
        for columns in combinations(range(len(shape)), count):
            sizes = tuple(shape[j] for j in columns)
            data = shares(table.codes[:, columns], sizes)
            space = shares(points[:, columns], sizes, drawn)
            density = shares(points[:, columns], sizes, found["density"])
            worst = max(worst, float(np.abs(density - (1 - shrinkage) * data - shrinkage * space).max()))
    return worst


def main() -> int:
    """Run every box and print a table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("path")
    parser.add_argument("--points", type=int, default=100_000)
    parser.add_argument("--runs", type=int, default=3)
    options = parser.parse_args()
    table = dpsyn.read_table(options.path, columns=COLUMNS)
    table = table.with_domain(table.domain.confirmed())
    print(f"n = {table.n:,}, categories {table.domain.shape}, {table.domain.size:,} possible rows")
    failed = False
    for floor, ceiling in BOXES:
        config = dpsyn.PrivateSampling(
            degree=2, floor=floor, ceiling=ceiling, rows=1000, reduced_space_size=options.points, space="product"
        )
        mechanism = config.calibrate(dpsyn.PrivacySpec(1e6), table.domain, n=table.n)
        times, releases = [], []
        for seed in range(options.runs):
            start = time.perf_counter()
            releases.append(mechanism(np.random.default_rng(seed), table))
            times.append(time.perf_counter() - start)
        worst = max(worst_table(table, release) for release in releases)
        for release in releases:
            table.domain.encode(release.rows)
        found = releases[int(np.argsort(times)[len(times) // 2])].diagnostics
        steps = ", ".join(f"{step} {seconds:.1f} s" for step, seconds in found["seconds"].items())
        print(
            f"\nbox {floor:g} to {ceiling:g}: C = {found['functions']}, {found['distinct_points']:,} distinct points, "
            f"λ = {found['shrinkage']:.6f}, ε = {found['bounded_ratio_epsilon'] / found['rows']:.3f} a row\n"
            f"  median of {options.runs}: {statistics.median(times):.1f} s ({steps})\n"
            f"  linear program {found['linear_program']}, gap {found['linear_program_gap']:.1e}; "
            f"quadratic program {found['quadratic_program']}, gap {found['quadratic_program_gap']:.1e}\n"
            f"  largest deviation of a table of one or two columns from the mixture: {worst:.1e}; all rows valid"
        )
        failed |= worst > ALLOWED
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
