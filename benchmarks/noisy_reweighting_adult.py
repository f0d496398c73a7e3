"""Quality, time and memory of noisy reweighting as it comes, on Adult (8 and 13 columns), ASIA and CAR.

    python benchmarks/noisy_reweighting_adult.py TRAIN.csv TEST.csv [--sets adult8 asia] [--epsilons 1 10] [--seeds 1 2 3]

The files need a header with the usual column names. For every set and ε, medians over the seeds: mean total variation of all
two-way tables between the released rows and the training rows, accuracy of a logistic regression that is trained on the
release and tested on the test file, seconds of a run, and the largest memory of a process that does nothing else. Each run
is a process of its own. ``--neighbouring add_remove`` is what other tools guarantee; those are in ``rivals.py``.
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
from itertools import pairwise
from typing import Any

import numpy as np
import pandas as pd

import dpsyn
from dpsyn.data.samples import load_sample

DELTA = 1e-5
EIGHT = ("workclass", "education", "marital-status", "occupation", "relationship", "race", "sex", "income")
LEFT_OUT = ("fnlwgt", "education-num")
# Public bins: rounded ages and hours, and amounts from the tax tables' order of magnitude; zero is a bin of its own.
EDGES = {
    "age": (17, 22, 26, 30, 35, 40, 45, 50, 55, 60, 65, 91),
    "capital-gain": (0, 1, 3000, 4500, 5500, 7000, 10000, 100000),
    "capital-loss": (0, 1, 1600, 1800, 2000, 2300, 4500),
    "hours-per-week": (1, 20, 30, 35, 40, 41, 46, 51, 61, 100),
}
ROWS = {"asia": 20_000}
SETS = ("adult8", "adult13", "asia", "car")


def labels(edges: tuple[int, ...]) -> list[str]:
    """A name for every bin: "17 to 21"."""
    return [f"{a} to {b - 1}" for a, b in pairwise(edges)]


def binned(frame: pd.DataFrame) -> pd.DataFrame:
    """The 13 columns, numbers replaced by the name of their public bin."""
    frame = frame.drop(columns=list(LEFT_OUT))
    for column, edges in EDGES.items():
        at = np.clip(np.searchsorted(edges, frame[column], side="right") - 1, 0, len(edges) - 2)
        frame[column] = np.array(labels(edges), dtype=object)[at]
    return frame


def load(name: str, train: str, test: str) -> tuple[dpsyn.Table, dpsyn.Table | None]:
    """The training table and the held-out one."""
    if not name.startswith("adult"):
        return load_sample(name), None
    frames = [pd.read_csv(path) for path in (train, test)]
    frames = [frame.loc[:, list(EIGHT)] if name == "adult8" else binned(frame) for frame in frames]
    domain = dpsyn.Domain.of(
        dpsyn.Attribute(
            column,
            "categorical",
            tuple(labels(EDGES[column])) if column in EDGES else tuple(sorted(set(pd.concat(frames)[column]))),
            public=True,
        )
        for column in frames[0].columns
    )
    tables = [dpsyn.read_table(frame, domain=domain, name=name) for frame in frames]
    return tables[0], tables[1]


def measured(table: dpsyn.Table, holdout: dpsyn.Table | None, rows: pd.DataFrame) -> dict[str, float | None]:
    """Mean and largest two-way total variation, and accuracy of the logistic regression."""
    from dpsyn.evaluation.distances import choose_subsets, marginal_errors
    from dpsyn.evaluation.prediction import LOGISTIC, predict, real_scores
    from dpsyn.solvers.coded import CodedRows

    subsets = choose_subsets(len(table.domain), 2, 5000, np.random.default_rng(0))
    codes = table.domain.encode(rows)
    errors, _ = marginal_errors(CodedRows(table.codes, table.domain.shape), codes, table.domain.names, [subsets])
    accuracy = None
    if holdout is not None:
        real = real_scores(table, holdout, "income", 0, (LOGISTIC,))
        if not isinstance(real, str):
            accuracy = predict(dpsyn.Table(rows, table.domain), holdout, real, 0).synthetic[0].measures["accuracy"]
    return {"mean": errors[2].mean, "max": errors[2].max, "accuracy": accuracy}


def one_run(arguments: argparse.Namespace) -> dict[str, Any]:
    """One release in this process, with its time and the process's largest memory before anything is measured."""
    table, holdout = load(arguments.set, arguments.train, arguments.test)
    start = time.perf_counter()
    spec = dpsyn.PrivacySpec(arguments.epsilon, DELTA, arguments.neighbouring)
    config = dpsyn.NoisyReweighting(degree=2, rows=ROWS.get(arguments.set))
    rows = config.calibrate(spec, table.domain, n=table.n)(np.random.default_rng(arguments.seed), table).rows
    seconds = time.perf_counter() - start
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    return {"seconds": seconds, "gigabytes": memory, **measured(table, holdout, rows)}


def in_a_process(arguments: argparse.Namespace, **settings: Any) -> dict[str, Any]:
    """:func:`one_run` in a fresh process."""
    command = [sys.executable, __file__, arguments.train, arguments.test, "--neighbouring", arguments.neighbouring, "--one"]
    for name, value in settings.items():
        command += [f"--{name}", str(value)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        return {"failed": done.stderr.strip().splitlines()[-1] if done.stderr.strip() else "no message"}
    return dict(json.loads(done.stdout.strip().splitlines()[-1]))


def main(arguments: argparse.Namespace) -> None:
    """Print one line for every set and ε."""
    print("set      ε     mean 2-way TV  largest  accuracy  seconds  GB", flush=True)
    for name in arguments.sets:
        for epsilon in arguments.epsilons:
            runs = [in_a_process(arguments, set=name, epsilon=epsilon, seed=seed) for seed in arguments.seeds]
            failed = next((run["failed"] for run in runs if "failed" in run), None)
            if failed:
                print(f"{name:8} {epsilon:<4g} did not run: {failed}", flush=True)
                continue
            middle = {
                key: statistics.median([run[key] for run in runs]) if runs[0][key] is not None else float("nan")
                for key in ("mean", "max", "accuracy", "seconds", "gigabytes")
            }
            shown = (
                f"{name:8} {epsilon:<4g} {middle['mean']:13.5f}",
                f"{middle['max']:7.4f}  {middle['accuracy']:8.4f}  {middle['seconds']:7.1f}  {middle['gigabytes']:.2f}",
            )
            print("  ".join(shown), flush=True)


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("train")
    parser.add_argument("test")
    parser.add_argument("--sets", nargs="+", choices=SETS, default=list(SETS))
    parser.add_argument("--epsilons", nargs="+", type=float, default=[1.0, 10.0])
    parser.add_argument("--seeds", nargs="+", type=int, default=[1, 2, 3])
    parser.add_argument("--neighbouring", choices=("replace_one", "add_remove"), default="replace_one")
    parser.add_argument("--one", action="store_true", help=argparse.SUPPRESS)
    parser.add_argument("--set", help=argparse.SUPPRESS)
    parser.add_argument("--epsilon", type=float, help=argparse.SUPPRESS)
    parser.add_argument("--seed", type=int, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.one:
        print(json.dumps(one_run(given)))
    else:
        main(given)
