"""A wide, long table as it comes: 100 columns, 200,000 rows, which tables of two columns are measured chosen by the library.

    python benchmarks/noisy_reweighting_scale.py [--columns 100] [--rows 200000] [--tables 200] [--data classes]

The data are a random tree of columns with 2 to 10 codes. Prints seconds, peak memory and the mean error of all tables of two
columns, beside that of independent columns. ``--tables`` names the tables instead: those of the tree, which a curator who
knows the columns would choose, and random others up to so many; their error is printed, too. ``--data classes`` has columns
that all depend on each other, through eight hidden classes.
"""

from __future__ import annotations

import argparse
import resource
import time
from itertools import combinations

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
    return domain_of(sizes), codes, edges


def class_data(columns: int, rows: int, generator: np.random.Generator) -> tuple[Domain, np.ndarray]:
    """Codes of columns of 2 to 12 codes that hang on one of eight hidden classes; two in five copy another column, too."""
    sizes = generator.integers(2, 13, columns)
    hidden = generator.choice(8, rows, p=generator.dirichlet(np.full(8, 2.0)))
    codes = np.empty((rows, columns), dtype=np.int32)
    for j, size in enumerate(sizes):
        laws = np.cumsum([generator.dirichlet(np.full(size, 0.25)) for _ in range(8)], axis=1)
        codes[:, j] = np.minimum((laws[hidden] <= generator.random(rows)[:, None]).sum(axis=1), size - 1)
        if j > 2 and generator.random() < 0.4:
            other = int(generator.integers(max(0, j - 6), j))
            copied = generator.random(rows) < 0.5
            codes[copied, j] = (codes[copied, other] * 3 + 1) % size
    return domain_of(sizes), codes


def domain_of(sizes: np.ndarray) -> Domain:
    """Public categories."""
    return Domain.of(Attribute(f"c{j}", "categorical", tuple(range(int(size))), public=True) for j, size in enumerate(sizes))


def total_variation(codes: np.ndarray, other: np.ndarray, shape: tuple[int, ...], tables: list[tuple[int, ...]]) -> float:
    """Mean over the tables."""
    family = TableFamily(shape, tables)
    return float(np.abs(family.sums(codes) / len(codes) - family.sums(other) / len(other)).sum() / 2 / len(tables))


def main(arguments: argparse.Namespace) -> None:
    """Make the data, release once, print what it took."""
    generator = np.random.default_rng(0)
    if arguments.data == "tree":
        domain, codes, edges = tree_data(arguments.columns, arguments.rows, generator)
    else:
        (domain, codes), edges = class_data(arguments.columns, arguments.rows, generator), []
    shape, spec = domain.shape, dpsyn.PrivacySpec(arguments.epsilon, arguments.delta)
    pairs: list[tuple[int, ...]] = list(combinations(range(len(shape)), 2))
    chosen: list[tuple[int, ...]] = pairs if arguments.tables is None else list(edges)
    while len(chosen) < min(arguments.tables or 0, len(pairs)):
        pair = tuple(sorted(int(j) for j in generator.choice(arguments.columns, 2, replace=False)))
        if pair not in chosen:
            chosen.append(pair)
    table = Table(domain.decode(codes, generator), domain)
    _ = table.codes
    names = None if arguments.tables is None else tuple(tuple(f"c{j}" for j in columns) for columns in chosen)
    start, before = time.perf_counter(), time.process_time()
    try:
        mechanism = dpsyn.NoisyReweighting(degree=2, tables=names).calibrate(spec, domain, n=table.n)
        release = mechanism(generator, table, lambda step, share: print(f"  {share:4.0%} {step}", flush=True))
    except DpsynError as refused:
        print(f"refused after {time.perf_counter() - start:.1f} s: {refused}")
        return
    seconds, work = time.perf_counter() - start, time.process_time() - before
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    print(
        f"{len(shape)} columns, {len(codes):,} rows, {len(chosen)} tables: {seconds:.0f} s ({work:.0f} s of a processor), "
        f"{memory:.2f} GB at most"
    )
    apart = np.stack([generator.permutation(codes[:, j]) for j in range(len(shape))], axis=1)
    for what, tables in (("chosen", chosen), ("all", pairs))[arguments.tables is None :]:
        errors = [total_variation(codes, other, shape, tables) for other in (domain.encode(release.rows), apart)]
        print(f"mean total variation of {what} tables {errors[0]:.4f}; of independent columns {errors[1]:.4f}")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--columns", type=int, default=100)
    parser.add_argument("--rows", type=int, default=200_000)
    parser.add_argument("--tables", type=int)
    parser.add_argument("--data", choices=("tree", "classes"), default="tree")
    parser.add_argument("--epsilon", type=float, default=1.0)
    parser.add_argument("--delta", type=float, default=1e-6)
    main(parser.parse_args())
