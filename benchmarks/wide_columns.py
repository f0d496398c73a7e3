"""Wide columns and small tables: how much of them do the mechanisms on categories keep?

    python benchmarks/wide_columns.py [--seeds 4] [--mechanisms mst aim]

Independent columns of one law, all confirmed as public, replace-one. For each table, ε and δ: the total variation of tables
of one column (of the rows made and of the even law) and of two columns, each the mean of all tables and seeds.
"""

from __future__ import annotations

import argparse
from itertools import combinations

import numpy as np
import pandas as pd

import dpsyn
from dpsyn.mechanisms.registry import config_class
from dpsyn.solvers.coded import table_counts

TABLES = {
    "640 x 4, 40 categories, steep": (640, 4, 40, 0.3),
    "4,000 x 4, 40 categories, steep": (4000, 4, 40, 0.3),
    "640 x 4, 40 categories, flat": (640, 4, 40, 0.05),
    "4,000 x 3, 20 categories": (4000, 3, 20, 0.1),
    "300 x 8, 5 categories": (300, 8, 5, 0.4),
}
"""Rows, columns, categories, and how likely a value is to be the next one (geometric, the last takes the rest)."""
CLAIMS = ((1.0, 0.0), (1.0, 1e-5), (0.1, 1e-5))


def drawn(rows: int, columns: int, categories: int, chance: float) -> dpsyn.Table:
    """Rows of that law."""
    random, values = np.random.default_rng(0), [f"v{k:02d}" for k in range(categories)]
    names = [f"c{j}" for j in range(columns)]
    domain = dpsyn.Domain(tuple(dpsyn.Attribute(name, "categorical", tuple(values), public=True) for name in names))
    codes = np.minimum(random.geometric(chance, (rows, columns)) - 1, categories - 1)
    return dpsyn.read_table(pd.DataFrame(np.array(values)[codes], columns=names), domain=domain)


def variation(table: dpsyn.Table, made: pd.DataFrame, degree: int) -> float:
    """Mean over all tables of so many columns."""
    sizes, other = table.domain.shape, table.domain.encode(made)
    found = [
        np.abs(table_counts(table.codes, some, sizes) / table.n - table_counts(other, some, sizes) / len(other)).sum() / 2
        for some in combinations(range(len(sizes)), degree)
    ]
    return float(np.mean(found))


def main() -> None:
    """Print a line for each table, mechanism and claim."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=4)
    parser.add_argument("--mechanisms", nargs="*", default=["independent", "mst", "aim", "noisy_reweighting"])
    asked = parser.parse_args()
    for title, (rows, columns, categories, chance) in TABLES.items():
        table = drawn(rows, columns, categories, chance)
        counts = np.array([table_counts(table.codes, (j,), table.domain.shape) for j in range(columns)])
        even = float((np.abs(counts / rows - 1 / categories).sum(axis=1) / 2).mean())
        for name in asked.mechanisms:
            for epsilon, delta in CLAIMS:
                config = config_class(name)()
                mechanism = config.calibrate(dpsyn.PrivacySpec(epsilon, delta), table.domain, n=rows)
                made = [mechanism(np.random.default_rng(seed), table).rows for seed in range(asked.seeds)]
                one, two = (np.mean([variation(table, of, degree) for of in made]) for degree in (1, 2))
                print(
                    f"{title:32} {name:18} ε = {epsilon:g}, δ = {delta:g}: {one:.3f} (even {even:.3f}), {two:.3f}",
                    flush=True,
                )


if __name__ == "__main__":
    main()
