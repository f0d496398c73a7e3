"""Time and memory of reading a CSV, inferring its domain and computing its statistics.

    python benchmarks/read_large_csv.py [rows] [--quoted]

The file is made in a temporary folder and deleted. Target: 1,000,000 rows of 10 columns within 10 s and 2 GB.
"""

from __future__ import annotations

import argparse
import resource
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import pandas as pd

import dpsyn

BLOCK = 100_000


def write(path: Path, rows: int, *, quoted: bool) -> None:
    """Ten columns: three of real numbers, two of whole numbers, three of texts, a date and a truth value."""
    generator = np.random.default_rng(0)
    for start in range(0, rows, BLOCK):
        count = min(BLOCK, rows - start)
        days = np.datetime64("2015-01-01") + generator.integers(0, 3000, count).astype("timedelta64[D]")
        block = pd.DataFrame(
            {
                "height": generator.normal(170, 10, count).round(2),
                "weight": generator.gamma(20, 3.5, count).round(3),
                "score": generator.uniform(size=count),
                "age": generator.integers(0, 100, count),
                "income": generator.integers(0, 250_000, count),
                "work": generator.choice(
                    ["Private", "State-gov", "Self-emp, not inc" if quoted else "Self-emp", "?"], count
                ),
                "region": generator.choice([f"region {i}" for i in range(40)], count),
                "level": generator.choice(["low", "middle", "high"], count),
                "since": days.astype(str),
                "sick": generator.choice(["yes", "no"], count, p=[0.1, 0.9]),
            }
        )
        block.to_csv(path, index=False, header=start == 0, mode="a")


def peak_memory() -> float:
    """Largest resident memory of this process so far, in GB."""
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak / (1e9 if sys.platform == "darwin" else 1e6)


def main() -> None:
    """Print one line a step."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("rows", type=int, nargs="?", default=1_000_000)
    parser.add_argument("--quoted", action="store_true", help="some texts hold a comma and are quoted")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "large.csv"
        write(path, arguments.rows, quoted=arguments.quoted)
        size = path.stat().st_size / 1e6
        before = peak_memory()
        start = time.perf_counter()
        table = dpsyn.read_table(path)
        read = time.perf_counter()
        statistics = table.statistics()
        end = time.perf_counter()
    sys.stdout.write(
        f"file: {size:.0f} MB, {table.n} rows, {len(table.domain)} columns\n"
        f"reading and inference: {read - start:.2f} s\n"
        f"statistics: {end - read:.2f} s (p = {statistics.p}, distinct rows = {statistics.distinct_rows})\n"
        f"peak memory: {peak_memory():.2f} GB ({before:.2f} GB before reading)\n"
    )


if __name__ == "__main__":
    main()
