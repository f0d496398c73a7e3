"""Time and memory of the exact statistics of a CSV that need not fit into memory, or of reading it into memory.

    python benchmarks/large_file_statistics.py [--rows 1000000 | --gigabytes 5] [--quoted] [--folder PLACE] [--in-memory]

The file is made in a temporary folder, read in a process of its own, and deleted. Targets: 1,000,000 rows of 10 columns
within 10 s, in memory within 2 GB; and 5 GB within 2 GB of memory.
"""

from __future__ import annotations

import argparse
import multiprocessing
import resource
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd

BLOCK = 200_000
PARTS = 10


@dataclass(frozen=True)
class Measured:
    """One reading of a file."""

    seconds: float
    peak_gigabytes: float
    told: str


def block(generator: np.random.Generator, *, quoted: bool) -> str:
    """Rows of ten columns: three of real numbers, two of whole numbers, three of texts, a date and a truth value."""
    days = np.datetime64("2015-01-01") + generator.integers(0, 3000, BLOCK).astype("timedelta64[D]")
    frame = pd.DataFrame(
        {
            "height": generator.normal(170, 10, BLOCK).round(2),
            "weight": generator.gamma(20, 3.5, BLOCK).round(3),
            "score": generator.uniform(size=BLOCK),
            "age": generator.integers(0, 100, BLOCK),
            "income": generator.integers(0, 250_000, BLOCK),
            "work": generator.choice(["Private", "State-gov", "Self-emp, not inc" if quoted else "Self-emp", "?"], BLOCK),
            "region": generator.choice([f"region {i}" for i in range(40)], BLOCK),
            "level": generator.choice(["low", "middle", "high"], BLOCK),
            "since": days.astype(str),
            "sick": generator.choice(["yes", "no"], BLOCK, p=[0.1, 0.9]),
        }
    )
    return frame.to_csv(index=False)


def write(path: Path, *, rows: int | None, size: float, quoted: bool) -> int:
    """Write ``rows`` rows or ``size`` bytes, whichever is asked for, and return the number of rows.

    A file of many rows repeats ten blocks of fresh rows, each time with another number in front of every score, so that
    the rows stay different: making millions of random rows as text would take longer than reading them.
    """
    generator = np.random.default_rng(0)
    header, *parts = block(generator, quoted=quoted).split("\n", 1)
    written = turn = 0
    with path.open("w", encoding="utf-8") as stream:
        stream.write(header + "\n")
        while (written < rows) if rows is not None else (stream.tell() < size):
            if len(parts) < PARTS or rows is not None:
                parts = [*parts[-PARTS:], block(generator, quoted=quoted).split("\n", 1)[1]]
                lines = parts[-1].splitlines(keepends=True)
            else:
                lines = parts[turn % PARTS].replace(",0.", f",{turn // PARTS}.").splitlines(keepends=True)
            lines = lines if rows is None else lines[: rows - written]
            stream.writelines(lines)
            written += len(lines)
            turn += 1
    return written


def measure(path: Path, in_memory: bool, results: multiprocessing.Queue[Measured]) -> None:
    """Read a file and put down what it took."""
    start = time.perf_counter()
    import dpsyn

    statistics = dpsyn.read_table(path).statistics() if in_memory else dpsyn.file_statistics(path).statistics
    seconds = time.perf_counter() - start
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / (1e9 if sys.platform == "darwin" else 1e6)
    results.put(Measured(seconds, peak, str(statistics)))


def main() -> None:
    """Print one line a step."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--gigabytes", type=float, help="make a file of this size instead of this many rows")
    parser.add_argument("--quoted", action="store_true", help="some texts hold a comma and are quoted")
    parser.add_argument("--folder", type=Path, help="where to make the temporary folder")
    parser.add_argument(
        "--in-memory", action="store_true", help="read the table, infer its domain, and compute its statistics"
    )
    arguments = parser.parse_args()
    rows = None if arguments.gigabytes else arguments.rows
    with tempfile.TemporaryDirectory(dir=arguments.folder) as folder:
        path = Path(folder) / "large.csv"
        written = write(path, rows=rows, size=(arguments.gigabytes or 0) * 1e9, quoted=arguments.quoted)
        sys.stdout.write(f"file: {path.stat().st_size / 1e9:.3f} GB, {written} rows\n")
        sys.stdout.flush()
        context = multiprocessing.get_context("spawn")
        results: multiprocessing.Queue[Measured] = context.Queue()
        process = context.Process(target=measure, args=(path, arguments.in_memory, results))
        process.start()
        measured = results.get()
        process.join()
    sys.stdout.write(
        f"statistics: {measured.seconds:.1f} s, peak memory {measured.peak_gigabytes:.2f} GB\n{measured.told}\n"
    )


if __name__ == "__main__":
    main()
