"""Are numbers still numbers? Values of numeric columns and what can be learnt from them, on Adult with all 15 columns.

    python benchmarks/numeric_columns.py TRAIN.csv TEST.csv [--data adult breast_cancer digits made] [--epsilons 1 10]
                                         [--seeds 1 2 3] [--mechanism noisy_reweighting] [--keep weekday month]

The files are those of UCI Adult, with a header; only ``adult`` reads them. Replace-one, δ = 1e-5, each mechanism with its
defaults. ``made`` is drawn by this script: a heavy-tailed amount, a score with two modes and a point mass, days of ten
years. For every numeric or date column: mean, share of the value that is commonest among the real rows, and largest distance
of the distributions (Kolmogorov-Smirnov); for dates the total variation of the weekdays' and of the months' shares, which
``--keep`` asks to be kept; area under the ROC curve of models trained on the release and tested on held-out rows. Medians
over the seeds, beside the held-out rows and the models trained on the real rows. Each run is a process of its own; the
seconds are those of the run, the memory is its peak before anything is measured.
"""

from __future__ import annotations

import argparse
import json
import resource
import statistics
import subprocess
import sys
import time
import warnings
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd

import dpsyn
from dpsyn.calendar import calendar_codes
from dpsyn.domain import CALENDAR
from dpsyn.evaluation.prediction import BOOSTED, LOGISTIC, real_scores
from dpsyn.evaluation.values import value_errors
from dpsyn.mechanisms.registry import MECHANISMS, config_class

DELTA = 1e-5
BOUNDS = {
    "age": (17, 90),
    "fnlwgt": (10_000, 1_500_000),
    "education-num": (1, 16),
    "capital-gain": (0, 99_999),
    "capital-loss": (0, 5_000),
    "hours-per-week": (1, 99),
}
"""Of Adult's numbers, all whole: what the census form admits, not what its rows hold."""
SETS = {"adult": "income", "breast_cancer": "diagnosis", "digits": "digit", "made": "group"}
"""Data and the column to predict."""
REAL = "real"
SPIKE = 0.01
"""Share of the real rows from which their commonest value is looked at."""
_HELD_OUT = 1 / 3
_SHOWN = 8
_MADE_ROWS = 20_000


def load(name: str, train: str, test: str, keep: Sequence[str] = ()) -> tuple[dpsyn.Table, dpsyn.Table]:
    """The rows to learn from and the held-out ones, over a public domain with as many bins as it comes with.

    ``keep`` is what its dates are to keep.
    """
    if name == "adult":
        return adult(train, test)
    table = made() if name == "made" else dpsyn.load_sample(name)
    asked = [replace(a, keep=keep if a.kind == "date" else (), public=True) for a in table.domain.attributes]
    return table.with_domain(dpsyn.Domain.of(asked)).split(_HELD_OUT, np.random.default_rng(0))


def adult(train: str, test: str) -> tuple[dpsyn.Table, dpsyn.Table]:
    """All 15 columns as they are; categories are those of both files."""
    frames = [pd.read_csv(path) for path in (train, test)]
    both = pd.concat(frames)
    domain = dpsyn.Domain.of(
        dpsyn.Attribute(column, "numeric", lower=BOUNDS[column][0], upper=BOUNDS[column][1], integer=True, public=True)
        if column in BOUNDS
        else dpsyn.Attribute(column, "categorical", tuple(sorted(set(both[column]))), public=True)
        for column in both.columns
    )
    first, second = (dpsyn.Table(frame, domain, "adult") for frame in frames)
    return first, second


def made() -> dpsyn.Table:
    """Three groups that differ in a heavy-tailed amount, in a score with two modes and 30 % at 50, and in the days."""
    random = np.random.default_rng(20_210_101)
    group = random.integers(0, 3, _MADE_ROWS)
    mode = np.where(random.random(_MADE_ROWS) < 0.2 + 0.3 * group, 75.0, 25.0)
    score = np.where(random.random(_MADE_ROWS) < 0.3, 50.0, random.normal(mode, 6).clip(0, 100).round(1))
    amount = (20 * random.pareto(1.3, _MADE_ROWS) * (1 + group)).round(2).clip(0, 1_000_000)
    # More of the later years in later groups, hardly any Sundays, nothing in August.
    day = (3652 * random.beta(1 + group, 2, _MADE_ROWS)).astype(int) + 14_610
    dates = pd.Series(day.astype("datetime64[D]"))
    dates += pd.to_timedelta(np.where((dates.dt.weekday == 6) & (random.random(_MADE_ROWS) < 0.9), 1, 0), unit="D")
    dates += pd.to_timedelta(np.where(dates.dt.month == 8, 31, 0), unit="D")
    frame = pd.DataFrame({"amount": amount, "score": score, "day": dates, "group": np.array(list("abc"))[group]})
    domain = dpsyn.Domain.of(
        [
            dpsyn.Attribute("amount", "numeric", lower=0, upper=1_000_000, unit=0.01, public=True),
            dpsyn.Attribute("score", "numeric", lower=0, upper=100, unit=0.1, public=True),
            dpsyn.Attribute("day", "date", lower=14_610, upper=18_300, public=True),
            dpsyn.Attribute("group", "categorical", ("a", "b", "c"), public=True),
        ]
    )
    return dpsyn.Table(frame, domain, "made")


def measured(table: dpsyn.Table, rows: dpsyn.Table) -> dict[str, dict[str, float]]:
    """For every numeric or date column: both means, both shares of the real rows' commonest value, and the distance."""
    found = {}
    for errors in value_errors(table, rows):
        found[errors.column] = {
            "real mean": errors.real_mean,
            "mean": errors.mean,
            "distance": errors.kolmogorov_smirnov,
        }
        spike = next(iter(errors.spikes), None)
        if spike is not None and spike.real >= SPIKE:
            found[errors.column] |= {"value": spike.value, "real share": spike.real, "share": spike.share}
        attribute = table.domain[errors.column]
        if attribute.kind == "date":
            for part, count in (("weekday", 7), ("month", 12)):
                days = (attribute.in_units(each.frame[errors.column]) for each in (table, rows))
                shares = [np.bincount(calendar_codes(part, day), minlength=count) / len(day) for day in days]
                found[errors.column][part] = float(np.abs(shares[0] - shares[1]).sum() / 2)
    return found


def areas(rows: dpsyn.Table, holdout: dpsyn.Table, target: str) -> dict[str, float]:
    """Area under the ROC curve on the held-out rows, by model; ½ for one that has learnt nothing."""
    found = real_scores(rows, holdout, target, 0, (LOGISTIC, BOOSTED))
    return {} if isinstance(found, str) else {score.model: score.measures.get("ROC-AUC", 0.5) for score in found.scores}


def one_run(arguments: argparse.Namespace) -> dict[str, Any]:
    """One release in this process, with its time and the largest memory before it is measured; or the real rows."""
    table, holdout = load(arguments.set, arguments.train, arguments.test, tuple(arguments.keep))
    target = SETS[arguments.set]
    if arguments.mechanism == REAL:
        return {"columns": measured(table, holdout), "areas": areas(table, holdout, target)}
    config = config_class(arguments.mechanism).as_it_comes(table.n, target)
    assert config is not None
    start = time.perf_counter()
    mechanism = config.calibrate(dpsyn.PrivacySpec(arguments.epsilon, DELTA, "replace_one"), table.domain, n=table.n)
    release = mechanism(np.random.default_rng(arguments.seed), table)
    seconds = time.perf_counter() - start
    gigabytes = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    rows = dpsyn.Table(release.rows, table.domain)
    return {
        "columns": measured(table, rows),
        "areas": areas(rows, holdout, target),
        "run": {"seconds": seconds, "gigabytes": gigabytes},
    }


def in_a_process(arguments: argparse.Namespace, **settings: Any) -> dict[str, Any]:
    """:func:`one_run` in a fresh process."""
    command = [sys.executable, __file__, arguments.train, arguments.test, "--one"]
    for name, value in settings.items():
        command += [f"--{name}", str(value)]
    if arguments.keep:
        command += ["--keep", *arguments.keep]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        return {"failed": done.stderr.strip().splitlines()[-1] if done.stderr.strip() else "no message"}
    return dict(json.loads(done.stdout.strip().splitlines()[-1]))


def medians(runs: list[dict[str, Any]]) -> dict[str, Any]:
    """The same numbers, nested alike, each the median over the runs."""
    return {
        name: medians([run[name] for run in runs])
        if isinstance(first, dict)
        else statistics.median(run[name] for run in runs)
        for name, first in runs[0].items()
    }


def show(columns: dict[str, dict[str, float]]) -> None:
    """A line a column; of very many those with the largest distance."""
    worst = sorted(columns, key=lambda name: -columns[name]["distance"])[:_SHOWN]
    for name, found in columns.items():
        if name in worst:
            off = found["mean"] / found["real mean"] - 1 if found["real mean"] else float("nan")
            shown = f"  {name[:24]:24} KS {found['distance']:.4f}  "
            shown += f"mean {found['mean']:12.4f} (real {found['real mean']:12.4f}, {off:+8.2%})"
            if "value" in found:
                shown += f"  {found['value']:g} in {found['share']:.2%} (real {found['real share']:.2%})"
            shown += "".join(f"  {part}s off by {found[part]:.2%}" for part in CALENDAR if part in found)
            print(shown, flush=True)
    if len(columns) > len(worst):
        distances = [found["distance"] for found in columns.values()]
        print(
            f"  all {len(columns)}: KS median {statistics.median(distances):.4f}, largest {max(distances):.4f}", flush=True
        )


def main(arguments: argparse.Namespace) -> None:
    """Print the held-out rows of every set and then every ε."""
    for name in arguments.data:
        real = in_a_process(arguments, set=name, mechanism=REAL)
        if "failed" in real:
            print(f"{name}: {real['failed']}", flush=True)
            continue
        print(f"{name}: held-out rows; AUC train-on-real " + written(real["areas"]), flush=True)
        show(real["columns"])
        for epsilon in arguments.epsilons:
            settings = {"set": name, "epsilon": epsilon, "mechanism": arguments.mechanism}
            runs = [in_a_process(arguments, **settings, seed=seed) for seed in arguments.seeds]
            failed = next((run["failed"] for run in runs if "failed" in run), None)
            if failed is not None:
                print(f"{name}, ε = {epsilon:g}: did not run: {failed}", flush=True)
                continue
            middle = medians(runs)
            below = {model: middle["areas"][model] - auc for model, auc in real["areas"].items()}
            print(
                f"{name}, ε = {epsilon:g}, {arguments.mechanism}: {middle['run']['seconds']:.1f} s, "
                f"{middle['run']['gigabytes']:.2f} GB; AUC {written(middle['areas'])}; less train-on-real {written(below)}",
                flush=True,
            )
            show(middle["columns"])


def written(found: dict[str, float]) -> str:
    """Models with their numbers."""
    return ", ".join(f"{model} {auc:.4f}" for model, auc in found.items())


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("train")
    parser.add_argument("test")
    parser.add_argument("--data", nargs="+", choices=list(SETS), default=["adult"])
    parser.add_argument("--epsilons", nargs="+", type=float, default=[1.0, 10.0])
    parser.add_argument("--seeds", nargs="+", type=int, default=[1, 2, 3])
    parser.add_argument("--mechanism", choices=(*MECHANISMS, REAL), default="noisy_reweighting")
    parser.add_argument("--keep", nargs="*", choices=CALENDAR, default=[])
    parser.add_argument("--one", action="store_true", help=argparse.SUPPRESS)
    parser.add_argument("--set", help=argparse.SUPPRESS)
    parser.add_argument("--epsilon", type=float, help=argparse.SUPPRESS)
    parser.add_argument("--seed", type=int, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.one:
        print(json.dumps(one_run(given)))
    else:
        main(given)
