"""The three mechanisms on ASIA, CAR and (given its file) UCI Adult, at ε = 1, δ = 1e-5, five repeats.

    python benchmarks/three_mechanisms.py [--adult PATH_TO_THE_TRAINING_CSV] [--repeats 5] [--figure FILE.svg]

It runs what the comparison page runs when "1" is typed in as the values of ε: the numbers are the same for the same data,
seed and versions (tests/pages/test_three_mechanisms.py holds the two against each other). Of Adult it takes the eight
categorical columns. It writes every number to three_mechanisms.csv, the picture to three_mechanisms.svg (README shows the
one in docs/), and prints means with 95 % confidence intervals.
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path

import numpy as np
import pandas as pd
from standings import draw_standings

import dpsyn
from dpsyn.data.samples import SAMPLES
from dpsyn.evaluation.experiments import Grid, references, results_frame, run_grid, summarise
from dpsyn.evaluation.experiments.plan import DRAWS, STANDARD_CLASSIFIERS, mechanisms_as_they_come, standard_degrees
from dpsyn.evaluation.report import real_baseline
from dpsyn.kit.export import chart_svg
from dpsyn.kit.visit import HELD_OUT, SPLIT_SEED

ADULT = ("workclass", "education", "marital-status", "occupation", "relationship", "race", "sex", "income")
SHOWN = ("2-way error, mean", "accuracy, boosted trees", "ROC-AUC, boosted trees")


def datasets(names: list[str], adult: str | None) -> dict[str, tuple[dpsyn.Table, str]]:
    """Tables and what is to be predicted."""
    found = {name.upper(): (dpsyn.load_sample(name), str(SAMPLES[name].target)) for name in names}
    if adult is not None:
        table = dpsyn.read_table(adult, columns=ADULT)
        found["Adult, 8 columns"] = (table.with_domain(table.domain.confirmed()), "income")
    return found


def main(arguments: list[str] | None = None) -> None:
    """Run everything, print and write it."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--adult", help="path of UCI Adult's training table as CSV with a header")
    parser.add_argument("--only", nargs="*", default=["asia", "car"], choices=["asia", "car"])
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--csv", type=Path, default=Path("three_mechanisms.csv"))
    parser.add_argument("--figure", type=Path, default=Path("three_mechanisms.svg"))
    options = parser.parse_args(arguments)
    frames, points, lines = [], {}, {}
    for name, (table, target) in datasets(options.only, options.adult).items():
        start = time.perf_counter()
        train, test = table.split(HELD_OUT, np.random.default_rng(SPLIT_SEED))
        degrees = standard_degrees(len(table.domain))
        baseline = real_baseline(train, test, target, degrees=degrees, classifiers=STANDARD_CLASSIFIERS)
        grid = Grid(
            mechanisms_as_they_come(train.n, target),
            dpsyn.PrivacySpec(1.0, 1e-5),
            repeats=options.repeats,
            draws=DRAWS,
            seed=options.seed,
        )
        results = run_grid(grid, train, baseline=baseline, workers=options.workers)
        frames.append(results_frame(results).assign(dataset=name))
        points[name] = {measure: summarise(results, measure) for measure in SHOWN}
        lines[name] = references(baseline)
        print(f"\n{name}: n = {train.n:,} to learn from, {len(table.domain)} columns, {time.perf_counter() - start:.0f} s")
        for measure in SHOWN:
            print(f"  {measure}; " + ", ".join(f"{k} {v:.4f}" for k, v in lines[name].get(measure, {}).items()))
            for p in points[name][measure]:
                over = f"   needs ε = {p.claimed_epsilon:,.0f}" if p.over_budget else ""
                print(f"    {p.label:20} {p.mean:8.4f}   95 % {p.low:.4f} to {p.high:.4f}   {p.runs} runs{over}")
        for label, why in dict.fromkeys((r.label, r.message) for r in results if r.status != "done"):
            print(f"    {label}: {why}")
    pd.concat(frames).to_csv(options.csv, index=False)
    title = "Three mechanisms at ε = 1, δ = 1e-5: means of " + f"{options.repeats} runs with 95 % confidence"
    options.figure.write_bytes(chart_svg(draw_standings(title, points, lines)))
    print(f"\nwritten: {options.csv}, {options.figure}")


if __name__ == "__main__":
    main()
