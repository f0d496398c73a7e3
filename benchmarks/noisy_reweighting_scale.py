"""A wide, long table with chosen two-way tables: 100 columns, 200,000 rows.

    python benchmarks/noisy_reweighting_scale.py [--columns 100] [--rows 200000] [--tables 200] [--all-pairs]

The data are a random tree of columns with 2 to 10 codes. The tables are those of the tree, which a curator who knows the
columns would choose, and random others up to ``--tables``. Prints seconds, peak memory and the error of the chosen tables,
beside that of independent columns. ``--all-pairs`` asks for all 4950 tables, which is refused with an estimate if it does
not fit.
"""

from __future__ import annotations

import argparse
import resource
import time

import numpy as np

import dpsyn
from dpsyn.domain import Attribute, Domain
from dpsyn.errors import DpsynError
from dpsyn.mechanisms.noisy_reweighting.families import TableFamily
from dpsyn.table import Table


def tree_data(columns: int, rows: int, generator: np.random.Generator) -> tuple[Domain, np.ndarray, list[tuple[int, int]]]:
    """Codes of a random tree in which a column follows its parent three times in four, and the edges."""
    sizes = generator.integers(2, 11, columns)
    codes = np.empty((rows, columns), dtype=np.int32)
    edges = []
    for j, size in enumerate(sizes):
        own = generator.choice(size, rows, p=generator.dirichlet(np.full(size, 2.0)))
        if j == 0:
            codes[:, j] = own
            continue
        parent = int(generator.integers(max(0, j - 10), j))
        edges.append((parent, j))
        codes[:, j] = np.where(generator.random(rows) < 0.75, codes[:, parent] % size, own)
    domain = Domain.of(
        Attribute(f"c{j}", "categorical", tuple(range(int(size))), public=True) for j, size in enumerate(sizes)
    )
    return domain, codes, edges


def main(arguments: argparse.Namespace) -> None:
    """Make the data, release once, print what it took."""
    generator = np.random.default_rng(0)
    domain, codes, chosen = tree_data(arguments.columns, arguments.rows, generator)
    while len(chosen) < arguments.tables:
        pair = tuple(sorted(int(j) for j in generator.choice(arguments.columns, 2, replace=False)))
        if pair not in chosen:
            chosen.append((pair[0], pair[1]))
    table = Table(domain.decode(codes, generator), domain)
    _ = table.codes
    names = None if arguments.all_pairs else tuple(tuple(f"c{j}" for j in pair) for pair in chosen)
    start = time.perf_counter()
    try:
        mechanism = dpsyn.NoisyReweighting(degree=2, tables=names).calibrate(
            dpsyn.PrivacySpec(arguments.epsilon, 1e-6), domain, n=table.n
        )
        release = mechanism(generator, table, lambda step, share: print(f"  {share:4.0%} {step}", flush=True))
    except DpsynError as refused:
        print(f"refused after {time.perf_counter() - start:.1f} s: {refused}")
        return
    seconds, memory = time.perf_counter() - start, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    family = TableFamily(domain.shape, chosen)
    real, made = family.sums(codes) / table.n, family.sums(domain.encode(release.rows)) / len(release.rows)
    singles = [np.bincount(codes[:, j], minlength=size) / table.n for j, size in enumerate(domain.shape)]
    apart = np.concatenate([np.outer(singles[i], singles[j]).ravel() for i, j in chosen])
    count = len(chosen)
    print(f"{arguments.columns} columns, {arguments.rows:,} rows, {count} tables: {seconds:.0f} s, {memory:.2f} GB at most")
    errors = [np.abs(real - other).sum() / 2 / count for other in (made, apart)]
    print(f"mean total variation {errors[0]:.4f}; of independent columns {errors[1]:.4f}")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--columns", type=int, default=100)
    parser.add_argument("--rows", type=int, default=200_000)
    parser.add_argument("--tables", type=int, default=200)
    parser.add_argument("--epsilon", type=float, default=1.0)
    parser.add_argument("--all-pairs", action="store_true")
    main(parser.parse_args())
