"""What DP-CDA costs: time against T, l and the number of features, a wide table against its noise, the accountants.

    python benchmarks/dp_cda_cost.py [--only lines|wide|accounting] [--runs 3] [--plot cost.png]

* ``lines``: whole runs (from a table in memory to rows) with one of T, l and the number of features varied, and the
  straight line through the times; ``--plot`` draws them (PNG or SVG).
* ``wide``: 60,000 rows of 784 numbers in 10 classes, T = 60,000, l = 4, beside the time that NumPy takes to draw
  60,000 × 784 normal numbers; the largest memory of the process.
* ``accounting``: one calibration of σ, and one ε, for 60,000 records and rows in 1, 2 and 10 classes, ε = 10, δ = 1e-5.

Times are medians; nothing else should run.
"""

from __future__ import annotations

import argparse
import resource
import statistics
import time
from collections.abc import Callable

import numpy as np
import pandas as pd

import dpsyn
from dpsyn.mechanisms.dp_cda.accounting.functions import dp_cda_epsilon, dp_cda_noise_scale
from dpsyn.privacy.mixing.exact import calibrated_multiplier

SPEC = dpsyn.PrivacySpec(10.0, 1e-5)
CLASSES = 10
BASE = {"rows": 20_000, "order_of_mixture": 4, "features": 100}
VARIED = {
    "rows": (5000, 10_000, 20_000, 40_000, 80_000),
    "order_of_mixture": (4, 16, 32, 64, 128),
    "features": (50, 100, 200, 400, 800),
}
RECORDS = 20_000


def table_of(records: int, features: int) -> dpsyn.Table:
    """Numbers between 0 and 1 in equally large classes."""
    values = np.random.default_rng(0).random((records, features))
    frame = pd.DataFrame(values, columns=[f"x{j}" for j in range(features)], copy=False)
    frame.insert(0, "label", np.arange(records) % CLASSES)
    numbers = [dpsyn.Attribute(f"x{j}", "numeric", lower=0.0, upper=1.0, bins=2, public=True) for j in range(features)]
    label = dpsyn.Attribute("label", "categorical", tuple(range(CLASSES)), public=True)
    return dpsyn.Table(frame, dpsyn.Domain.of([label, *numbers]))


def seconds(run: Callable[[], object], runs: int) -> float:
    """Median time."""
    times = []
    for _ in range(runs):
        start = time.perf_counter()
        run()
        times.append(time.perf_counter() - start)
    return statistics.median(times)


def one_run(table: dpsyn.Table, rows: int, order: int, runs: int) -> float:
    """Median time of a run; calibration is not counted."""
    config = dpsyn.DPCDA(target="label", order_of_mixture=order, rows=rows, class_sizes=table.n // CLASSES)
    mechanism = config.calibrate(SPEC, table.domain, n=table.n)
    mechanism(None, table)
    return seconds(lambda: mechanism(None, table), runs)


def lines(runs: int) -> pd.DataFrame:
    """One frame row for every time, with the straight line through its group."""
    found = []
    for field, values in VARIED.items():
        times = []
        for value in values:
            setting = BASE | {field: value}
            table = table_of(RECORDS, setting["features"])
            times.append(one_run(table, setting["rows"], setting["order_of_mixture"], runs))
        slope, start = np.polyfit(values, times, 1)
        line = start + slope * np.array(values)
        share = 1 - ((np.array(times) - line) ** 2).sum() / ((np.array(times) - np.mean(times)) ** 2).sum()
        print(f"{field:17s} {slope:.3g} s for each one more, R² = {share:.4f}")
        for value, measured, fitted in zip(values, times, line, strict=True):
            print(f"  {value:7d} {measured:8.3f} s (line {fitted:.3f} s)")
            found.append({"varied": field, "value": value, "seconds": measured, "line": float(fitted)})
    return pd.DataFrame(found)


def plot(frame: pd.DataFrame, path: str) -> None:
    """Three pictures side by side: points measured, straight lines."""
    import altair as alt
    import vl_convert

    titles = {"rows": "T (rows)", "order_of_mixture": "l (order of mixture)", "features": "number of features"}
    charts = []
    for field, title in titles.items():
        part = frame[frame["varied"] == field]
        axes = {"x": alt.X("value:Q", title=title)}
        points = alt.Chart(part).mark_point(filled=True, size=60).encode(y=alt.Y("seconds:Q", title="seconds"), **axes)
        line = alt.Chart(part).mark_line(strokeDash=[4, 3]).encode(y="line:Q", **axes)
        charts.append((line + points).properties(width=260, height=220))
    specification = alt.hconcat(*charts).to_json()
    if path.endswith(".svg"):
        with open(path, "w") as file:
            file.write(vl_convert.vegalite_to_svg(specification))
    else:
        with open(path, "wb") as file:
            file.write(vl_convert.vegalite_to_png(specification, scale=2))


def wide(runs: int) -> None:
    """60,000 × 784."""
    table = table_of(60_000, 784)
    generator = np.random.default_rng(0)
    noise = seconds(lambda: generator.normal(0.0, 1.0, (60_000, 784)), runs)
    whole = one_run(table, 60_000, 4, runs)
    largest = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    print(f"noise alone {noise:.2f} s, whole run {whole:.2f} s: {whole / noise:.2f} times; {largest:.2f} GiB at most")


def accounting(runs: int) -> None:
    """Calibrations and single evaluations."""
    for classes in (1, 2, 10):
        size = 60_000 // classes
        for order in (1, 4, 64, 512):
            arguments = (1e-5, order, 1.0, [size] * classes, [size] * classes)

            def calibrate(arguments: tuple = arguments) -> float:
                calibrated_multiplier.cache_clear()
                return dp_cda_noise_scale(10.0, *arguments)

            sigma = calibrate()
            calibration = seconds(calibrate, runs)
            factors = iter(1 + np.arange(1, runs + 1) / 100)
            one = seconds(lambda s=sigma, a=arguments, f=factors: dp_cda_epsilon(s * next(f), *a), runs)  # type: ignore[misc]
            print(f"{classes:2d} classes, l = {order:3d}: sigma {sigma:.5f} in {calibration:.2f} s, one epsilon {one:.3f} s")


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", choices=("lines", "wide", "accounting"))
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--plot")
    options = parser.parse_args()
    if options.only in (None, "accounting"):
        accounting(options.runs)
    if options.only in (None, "wide"):
        wide(options.runs)
    if options.only in (None, "lines"):
        frame = lines(options.runs)
        if options.plot:
            plot(frame, options.plot)


if __name__ == "__main__":
    main()
