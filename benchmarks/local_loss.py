"""The exact privacy loss of private sampling on small data, beside what is certified.

    python benchmarks/local_loss.py [--pairs 200]

1. Random neighbour pairs on small cubes: no loss may exceed the bounded ratio k·ln(ceiling/floor). Exits with 1 if one does.
2. How close a loss comes to it, box by box: all neighbours of tables of one to three rows, which are the extreme ones.
3. The loss against n on one table that grows, beside Theorem 4.1 and the experimental stability bound.
"""

from __future__ import annotations

import argparse
import math
import sys
from itertools import combinations_with_replacement

import numpy as np

import dpsyn
from dpsyn.data.samples import load_sample
from dpsyn.solvers.contingency import all_codes

BOXES = ((0.25, 2.0), (0.25, 4.0), (0.1, 4.0), (0.05, 20.0), (0.01, 2.0), (1e-4, 2.0))
SIZES = (100, 1000, 10_000, 100_000)


def bits(codes: np.ndarray) -> dpsyn.Table:
    """A table of two-valued columns."""
    domain = dpsyn.Domain.of(
        dpsyn.Attribute(f"x{j}", "categorical", ("no", "yes"), public=True) for j in range(codes.shape[1])
    )
    return dpsyn.Table(domain.decode(codes.astype(np.int32), np.random.default_rng(0)), domain)


def random_pairs(pairs: int) -> bool:
    """Part 1."""
    generator = np.random.default_rng(2021)
    shares: list[float] = []
    beyond = 0
    while len(shares) < pairs:
        p = int(generator.integers(1, 6))
        floor = float(10 ** generator.uniform(-4, -0.31))
        ceiling = 1 + floor + float(10 ** generator.uniform(-2, 1.5))
        codes = generator.integers(0, 2, (int(generator.integers(1, 60)), p))
        config = dpsyn.PrivateSampling(degree=int(generator.integers(1, 4)), floor=floor, ceiling=ceiling, rows=1)
        meter = dpsyn.LossMeter(config, bits(codes), generator=generator)
        for change in meter.neighbours.random("replace_one", min(4, pairs - len(shares)), generator):
            shares.append(meter.loss(change, measure_uncertainty=False).loss / math.log(ceiling / floor))
            beyond += shares[-1] > 1
    print(
        f"{len(shares)} random pairs, p = 1 to 5: {beyond} losses above the bounded ratio; the largest is "
        f"{max(shares):.3f} of it, the median {np.median(shares):.3f}"
    )
    return beyond == 0


def closest(floor: float, ceiling: float) -> tuple[float, float, str]:
    """Part 2: the largest share of the certificate, its uncertainty, and where it is attained."""
    best = (0.0, 0.0, "")
    for p, degree, most in ((1, 1, 2), (2, 1, 2), (2, 2, 2), (3, 1, 1), (3, 2, 1), (3, 3, 1), (4, 2, 1), (4, 4, 1)):
        points = all_codes((2,) * p)
        for n in range(1, most + 1):
            for rows in combinations_with_replacement(range(len(points)), n):
                if rows[0] != 0:
                    continue  # flipping a bit of every row changes nothing
                config = dpsyn.PrivateSampling(degree=degree, floor=floor, ceiling=ceiling, rows=1)
                found = dpsyn.local_loss(config, bits(points[list(rows)]), method="all")
                share = found.lower_bound / math.log(ceiling / floor)
                if share > best[0] and found.worst is not None:
                    best = (share, found.worst.uncertainty, f"p = {p}, d = {degree}, n = {n}")
    return best


def against_n() -> None:
    """Part 3."""
    asia = load_sample("asia")
    config = dpsyn.PrivateSampling(degree=2, floor=0.25, ceiling=2.0, rows=1)
    print("\nASIA, whole cube, one row, floor 1/4, ceiling 2: largest loss found (steered, 60 tries) beside the bounds")
    print(f"{'n':>8} {'loss':>11} {'uncertainty':>12} {'ratio':>7} {'Theorem 4.1':>12} {'stability':>10} {'loss · n':>9}")
    for n in SIZES:
        generator = np.random.default_rng(n)
        table = dpsyn.Table(asia.frame.sample(n, replace=True, random_state=1).reset_index(drop=True), asia.domain)
        found = dpsyn.local_loss(config, table, method="steered", tries=60, generator=generator)
        bounds = found.certificates
        assert found.worst is not None
        print(
            f"{n:8,} {found.worst.loss:11.3e} {found.worst.uncertainty:12.1e} {bounds['bounded_ratio']:7.3f} "
            f"{bounds['theorem_4_1']:12.4g} {bounds['stability']:10.4g} {found.worst.loss * n:9.2f}"
        )


def main() -> int:
    """All three parts."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pairs", type=int, default=200)
    holds = random_pairs(parser.parse_args().pairs)
    print("\nlargest loss over all neighbours of tables of one or two rows, as a share of ln(ceiling/floor)")
    for floor, ceiling in BOXES:
        share, uncertainty, where = closest(floor, ceiling)
        print(f"floor {floor:g}, ceiling {ceiling:g}: {share:.4f} ({where}; uncertainty {uncertainty:.0e})")
    against_n()
    return int(not holds)


if __name__ == "__main__":
    sys.exit(main())
