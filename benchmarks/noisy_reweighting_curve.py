"""Error against ε, with what each improvement buys: from the algorithm as published, one choice at a time, to the default.

    python benchmarks/noisy_reweighting_curve.py TRAIN.csv [--out FOLDER] [--epsilons 0.1 0.3 1 3 10] [--draws 5]

Adult, 8 categorical columns; δ = 1e-5 where noise is Gaussian. For every ε and every step of the way, mean two-way total
variation between released and training rows over ``--draws`` runs: median, smallest and largest. Writes ``curve.csv`` and
``curve.svg`` to the folder. Steps:

    as published         2|F|/(nε) continuous Laplace noise on indicators of cells, uniform Ω* of 3,000 points, a vertex of
                         the LP, independent draws
    exact sensitivity    discrete Laplace noise with the exact L1 sensitivity
    gaussian noise       discrete Gaussian noise, exactly accounted
    shared by size       tables with more cells get more of the budget
    noisy marginals      Ω* of 3,000 points from the product of noisy one-way marginals
    maximum entropy      in place of the LP, on 100,000 points, drawn once
    refined              Ω* drawn again around the fit
    whole domain         Ω* is the whole domain
    low variance         rows by systematic draws and repairs: the default

``--without`` goes the other way: the default with one choice taken back, into ``without.csv`` and ``without.svg``:

    family               monotone conjunctions in place of contingency tables
    noise                discrete Laplace noise
    base measure         Ω* of 100,000 uniform draws
    objective            least squares with a stop at the noise
    rounding             independent draws
"""

from __future__ import annotations

import argparse
import csv
import statistics
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np

import dpsyn

sys.path.insert(0, str(Path(__file__).parent))
from noisy_reweighting_adult import load, measured

DELTA = 1e-5


def steps() -> dict[str, dpsyn.NoisyReweighting]:
    """From the algorithm as published to the default; each adds one choice to the one before."""
    lp = {
        "allocation": "equal", "reduced_space": "uniform", "objective": "max", "vertex": True, "rounding": "independent"
    }  # fmt: skip
    shared = lp | {"noise": "gaussian", "allocation": "by_size"}
    entropy = {"rounding": "independent", "reduced_space": "marginals", "reduced_space_size": 100_000}
    chosen = {
        "exact sensitivity": lp | {"noise": "laplace"},
        "gaussian noise": lp | {"noise": "gaussian"},
        "shared by size": shared,
        "noisy marginals": shared | {"reduced_space": "marginals"},
        "maximum entropy": entropy | {"refinements": 0},
        "refined": entropy,
        "whole domain": {"rounding": "independent"},
        "low variance": {},
    }
    return {"as published": dpsyn.NoisyReweighting.as_published(degree=2)} | {
        name: dpsyn.NoisyReweighting(degree=2, **settings) for name, settings in chosen.items()
    }


def taken_back() -> dict[str, dpsyn.NoisyReweighting]:
    """The default with one choice taken back."""
    changes: dict[str, dict[str, Any]] = {
        "default": {},
        "family": {"statistics": "conjunctions"},
        "noise": {"noise": "laplace"},
        "base measure": {"reduced_space": "uniform", "reduced_space_size": 100_000},
        "objective": {"objective": "least_squares"},
        "rounding": {"rounding": "independent"},
    }
    return {name: dpsyn.NoisyReweighting(degree=2, **change) for name, change in changes.items()}


def main(arguments: argparse.Namespace) -> None:
    """Run the grid, print it, and write it down."""
    table, _ = load("adult8", arguments.train, arguments.train)
    folder = Path(arguments.out)
    folder.mkdir(parents=True, exist_ok=True)
    lines: list[dict[str, object]] = []
    title = "without" if arguments.without else "curve"
    for name, config in (taken_back() if arguments.without else steps()).items():
        if arguments.steps and name not in arguments.steps:
            continue
        for epsilon in arguments.epsilons:
            mechanism = config.calibrate(dpsyn.PrivacySpec(epsilon, DELTA), table.domain, n=table.n)
            errors, start = [], time.perf_counter()
            for seed in range(arguments.draws):
                rows = mechanism(np.random.default_rng(seed), table).rows
                errors.append(float(measured(table, None, rows)["mean"] or 0.0))
            seconds = (time.perf_counter() - start) / arguments.draws
            line = {
                "step": name,
                "epsilon": epsilon,
                "median": statistics.median(errors),
                "smallest": min(errors),
                "largest": max(errors),
                "seconds": seconds,
            }
            lines.append(line)
            print(f"{name:18} ε {epsilon:<4g} {line['median']:.5f}  [{line['smallest']:.5f}, {line['largest']:.5f}]"
                  f"  {seconds:.1f} s", flush=True)  # fmt: skip
            with (folder / f"{title}.csv").open("w", newline="") as file:
                writer = csv.DictWriter(file, list(line))
                writer.writeheader()
                writer.writerows(lines)
    draw(lines, folder / f"{title}.svg")


def draw(lines: list[dict[str, object]], path: Path) -> None:
    """Both axes logarithmic; a line through the medians, a band from the smallest to the largest."""
    import altair as alt
    import pandas as pd

    data = alt.Data(values=pd.DataFrame(lines).to_dict("records"))
    order = list(dict.fromkeys(line["step"] for line in lines))
    epsilon = alt.X("epsilon:Q", scale=alt.Scale(type="log"), title="ε")
    colour = alt.Color("step:N", sort=order, title=None, legend=alt.Legend(symbolOpacity=1))
    band = alt.Chart(data).mark_area(opacity=0.2).encode(
        epsilon,
        alt.Y("smallest:Q", scale=alt.Scale(type="log"), title="mean total variation of two-way tables"),
        alt.Y2("largest:Q"),
        colour,
    )  # fmt: skip
    line = alt.Chart(data).mark_line(point=True).encode(epsilon, alt.Y("median:Q"), colour)
    (band + line).properties(width=640, height=420).save(str(path))


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("train")
    parser.add_argument("--out", default="noisy_reweighting_curve")
    parser.add_argument("--epsilons", nargs="+", type=float, default=[0.1, 0.3, 1.0, 3.0, 10.0])
    parser.add_argument("--draws", type=int, default=5)
    parser.add_argument("--steps", nargs="+", choices=[*steps(), *taken_back()])
    parser.add_argument("--without", action="store_true", help="the default with one choice taken back")
    main(parser.parse_args())
