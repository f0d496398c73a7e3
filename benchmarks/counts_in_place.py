"""Noisy reweighting on tables that are counted where they lie: time, memory, and error against the whole table.

    python benchmarks/counts_in_place.py [--rows 1000000 10000000 100000000] [--folder PLACE] [--spark]

A million rows are released of each. A table is a Parquet file of 8 columns, made in a temporary folder and deleted, and
counted in a process of its own.
Targets: 100,000,000 rows at d = 2 within 4 minutes and 2 GB on two cores. With ``--spark`` Spark counts the smallest one
through Ibis in local mode (``pip install pyspark``, and Java).
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from pyarrow import parquet

import dpsyn
from dpsyn import Attribute, Domain
from dpsyn.mechanisms.base import Progress
from dpsyn.privacy.histograms import Encoding

BLOCK = 1_000_000
BYTES_PER_ROW = 20
RELEASED = 1_000_000
REGIONS = tuple(f"region {i}" for i in range(12))
LEVELS = ("low", "middle", "high", "top")
DAYS = (14_610, 19_722)
DOMAIN = Domain.of(
    [
        Attribute("age", "numeric", lower=17, upper=90, unit=1, public=True),
        Attribute("income", "numeric", lower=0, upper=250_000, unit=0.01, missing=True, public=True),
        Attribute("score", "numeric", lower=-4, upper=4, public=True),
        Attribute("since", "date", lower=DAYS[0], upper=DAYS[1], public=True),
        Attribute("region", "categorical", REGIONS, public=True),
        Attribute("sex", "categorical", ("f", "m"), public=True),
        Attribute("level", "categorical", LEVELS, missing=True, public=True),
        Attribute("sick", "truth", (False, True), public=True),
    ]
)
"""Public: wider than the rows, which are made below."""


def block(generator: np.random.Generator, rows: int) -> pa.Table:
    """Rows of columns that depend on each other, with empty cells and values beyond the bounds."""
    age = np.minimum(17 + generator.gamma(3, 9, rows), 95).astype(np.int16)
    level = np.clip((age / 25 + generator.normal(0, 0.8, rows)).astype(np.int8), 0, 3)
    income = np.round(generator.gamma(2, 8_000, rows) * (1 + level), 2)
    days = (DAYS[0] + (DAYS[1] - DAYS[0]) * np.sqrt(generator.random(rows))).astype(np.int32)
    region = np.minimum(generator.poisson(3 + level), 11).astype(np.int8)

    def words(codes: np.ndarray, values: tuple[str, ...], empty: np.ndarray | None = None) -> pa.Array:
        return pa.DictionaryArray.from_arrays(pa.array(codes, mask=empty), pa.array(values)).cast(pa.string())

    return pa.table(
        {
            "age": age,
            "income": pa.array(income, mask=generator.random(rows) < 0.03),
            "score": generator.normal(level / 2 - 0.7, 1.0, rows),
            "since": pa.array(days, pa.int32()).cast(pa.date32()),
            "region": words(region, REGIONS),
            "sex": words((generator.random(rows) < 0.5).astype(np.int8), ("f", "m")),
            "level": words(level, LEVELS, generator.random(rows) < 0.02),
            "sick": generator.random(rows) < 0.02 + 0.002 * (age - 17),
        }
    )


def blocks(rows: int) -> Iterator[pa.Table]:
    """The table in parts."""
    generator = np.random.default_rng(0)
    for start in range(0, rows, BLOCK):
        yield block(generator, min(BLOCK, rows - start))


def write(path: Path, rows: int) -> None:
    """Make the file; says so if the disk has no room for it."""
    free = shutil.disk_usage(path.parent).free
    if free < 3 * BYTES_PER_ROW * rows:
        sys.exit(
            f"{rows:,} rows take about {3 * BYTES_PER_ROW * rows / 1e9:.0f} GB of disk, and {free / 1e9:.0f} GB are free"
        )
    with parquet.ParquetWriter(path, next(blocks(1)).schema) as writer:
        for part in blocks(rows):
            writer.write_table(part)


def spark_table(path: Path) -> Any:
    """The file in Spark's local mode, on two cores."""
    import ibis
    from pyspark.sql import SparkSession

    session = SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false").getOrCreate()
    return ibis.pyspark.connect(session).read_parquet(str(path))


def measure(path: Path, seed: int, *, spark: bool) -> dict[str, Any]:
    """One release, what it took, and its error in all two-way tables of the domain's bins."""
    clock, cpu = time.perf_counter(), time.process_time()
    source = spark_table(path) if spark else path
    begun = time.perf_counter() - clock
    table = dpsyn.read_table(source, domain=DOMAIN, in_place=True)
    opened = time.perf_counter() - clock - begun
    steps: dict[str, float] = {}

    def progress(step: str, share: float) -> None:
        steps.setdefault(step.split(":", maxsplit=1)[0], time.perf_counter())

    listen: Progress = progress
    mechanism = dpsyn.NoisyReweighting(degree=2, rows=RELEASED).calibrate(dpsyn.PrivacySpec(1.0), DOMAIN, table.n)
    release = mechanism(np.random.default_rng(seed), table, listen)
    seconds, used = time.perf_counter() - clock - begun, time.process_time() - cpu
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / (1e9 if sys.platform == "darwin" else 1e6)
    starts = list(steps.values())
    counting = opened + (starts[1] - starts[0] if len(starts) > 1 else 0.0)
    real, made = (Encoding(DOMAIN).rows(one) for one in (table, dpsyn.Table(release.rows, DOMAIN)))
    pairs = list(combinations(range(len(DOMAIN)), 2))
    real.expect(pairs)
    errors = [np.abs(real.counts(pair) / real.n - made.counts(pair) / made.n) for pair in pairs]
    return {
        "rows": table.n,
        "seconds": seconds,
        "of which counting": counting,
        "seconds of the processor": used,
        "peak GB": peak,
        "rows released": len(release.rows),
        "mean two-way error (total variation)": float(np.mean([error.sum() / 2 for error in errors])),
        "largest error of a cell": float(max(error.max() for error in errors)),
    }


def main() -> None:
    """A line for every size."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, nargs="+", default=[1_000_000, 10_000_000, 100_000_000])
    parser.add_argument("--folder", type=Path, help="where to make the temporary folder")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--spark", action="store_true", help="Spark counts the smallest table, too")
    parser.add_argument("--measure", type=Path, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.measure:
        print(json.dumps(measure(arguments.measure, arguments.seed, spark=arguments.spark)))
        return
    for rows in sorted(arguments.rows):
        with tempfile.TemporaryDirectory(dir=arguments.folder) as folder:
            path = Path(folder) / "rows.parquet"
            start = time.perf_counter()
            write(path, rows)
            print(
                f"{rows:,} rows, {path.stat().st_size / 1e9:.2f} GB, made in {time.perf_counter() - start:.0f} s", flush=True
            )
            smallest = rows == min(arguments.rows)
            for engine in ("DuckDB", *(["Spark"] if arguments.spark and smallest else [])):
                command = [sys.executable, __file__, "--measure", str(path), "--seed", str(arguments.seed)]
                command += ["--spark"] if engine == "Spark" else []
                answer = subprocess.run(command, stdout=subprocess.PIPE, check=True, env=dict(os.environ)).stdout
                found = json.loads(answer.splitlines()[-1])
                shown = ", ".join(f"{name} {value:.4g}" for name, value in found.items() if name != "rows")
                print(f"  {engine}: {shown}", flush=True)


if __name__ == "__main__":
    main()
