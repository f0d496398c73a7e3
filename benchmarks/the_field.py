"""Every registered system as it comes, at one (ε, δ) on the same rows: Adult with 8 columns, or ASIA.

    python benchmarks/the_field.py TRAIN.csv TEST.csv [--sets adult8 asia] [--epsilons 0.1 1 10] [--seeds 1 2 3]
                                   [--systems mst aim] [--neighbouring replace_one] [--json FILE]

The files are those of UCI Adult, with a header; ASIA is bundled. δ = 1e-5. For every set, ε and system: means over the seeds
of the mean and of the largest total variation over all two-way tables between released and training rows, medians of the
seconds of a run (of processor time, too) and of the largest memory of its process. Each run is a process of its own.
Systems that know replacement of a row alone are run so, with a mark.
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
from pathlib import Path
from typing import Any

import numpy as np
from noisy_reweighting_adult import DELTA, load, measured

import dpsyn
from dpsyn.errors import DpsynError
from dpsyn.mechanisms.base import Config, Mechanism
from dpsyn.mechanisms.registry import MECHANISMS, config_class

TARGETS = {"adult8": "income", "asia": "dysp"}
REPLACED = "replace_one"


def calibrated(config: Config, table: dpsyn.Table, epsilon: float, neighbouring: Any) -> tuple[Mechanism, str]:
    """The mechanism and the neighbours that it protects: a replaced row where it knows no others.

    It makes as many rows as there are, or as the budget allows.
    """
    faults = []
    for kind in (neighbouring, REPLACED):
        for one in (config, config.fewer_rows()):
            if one is not None:
                try:
                    return one.calibrate(dpsyn.PrivacySpec(epsilon, DELTA, kind), table.domain, table.n), kind
                except DpsynError as fault:
                    faults.append(fault)
    raise faults[-1]


def one_run(arguments: argparse.Namespace) -> dict[str, Any]:
    """One release in this process, with its time and the process's largest memory before anything is measured."""
    table, _ = load(arguments.set, arguments.train, arguments.test)
    config = config_class(arguments.system).as_it_comes(table.n, TARGETS[arguments.set])
    assert config is not None
    wall, processor = time.perf_counter(), time.process_time()
    try:
        mechanism, neighbouring = calibrated(config, table, arguments.epsilon, arguments.neighbouring)
        rows = mechanism(np.random.default_rng(arguments.seed), table).rows
    except DpsynError as fault:
        return {"refused": str(fault)}
    seconds, cpu = time.perf_counter() - wall, time.process_time() - processor
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    found = measured(table, None, rows)
    kept = {"mean": found["mean"], "max": found["max"], "rows": len(rows), "neighbouring": neighbouring}
    return {**kept, "seconds": seconds, "cpu": cpu, "gigabytes": memory}


def in_a_process(arguments: argparse.Namespace, **settings: Any) -> dict[str, Any]:
    """:func:`one_run` in a fresh process."""
    command = [sys.executable, __file__, arguments.train, arguments.test, "--neighbouring", arguments.neighbouring, "--one"]
    command += [text for name, value in settings.items() for text in (f"--{name}", str(value))]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        return {"refused": done.stderr.strip().splitlines()[-1] if done.stderr.strip() else "no message"}
    return dict(json.loads(done.stdout.strip().splitlines()[-1]))


def main(arguments: argparse.Namespace) -> None:
    """Print one line for every set, ε and system, and write all runs."""
    print("set     ε    system             mean 2-way TV  largest    rows  seconds   (CPU)    GB", flush=True)
    every = []
    for name in arguments.sets:
        for epsilon in arguments.epsilons:
            for system in arguments.systems:
                settings = {"set": name, "epsilon": epsilon, "system": system}
                runs = [in_a_process(arguments, **settings, seed=seed) for seed in arguments.seeds]
                every += [settings | {"seed": seed} | run for seed, run in zip(arguments.seeds, runs, strict=True)]
                refused = next((run["refused"] for run in runs if "refused" in run), None)
                if refused:
                    print(f"{name:7} {epsilon:<4g} {system:18} did not run: {refused}", flush=True)
                    continue
                mean, largest = (statistics.mean(run[key] for run in runs) for key in ("mean", "max"))
                rows, seconds, cpu, memory = (
                    statistics.median(run[key] for run in runs) for key in ("rows", "seconds", "cpu", "gigabytes")
                )
                mark = "*" if runs[0]["neighbouring"] != arguments.neighbouring else " "
                shown = f"{mean:13.4f}  {largest:7.4f} {rows:7.0f}  {seconds:7.1f} {cpu:7.1f}  {memory:.2f}"
                print(f"{name:7} {epsilon:<4g} {system:18}{mark} {shown}", flush=True)
    if any(run.get("neighbouring", arguments.neighbouring) != arguments.neighbouring for run in every):
        print("* protects a row that is replaced")
    if arguments.json is not None:
        arguments.json.write_text(json.dumps(every, indent=1))


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("train")
    parser.add_argument("test")
    parser.add_argument("--sets", nargs="+", choices=list(TARGETS), default=list(TARGETS))
    parser.add_argument("--epsilons", nargs="+", type=float, default=[1.0])
    parser.add_argument("--seeds", nargs="+", type=int, default=[1, 2, 3])
    parser.add_argument("--systems", nargs="+", choices=list(MECHANISMS), default=list(MECHANISMS))
    parser.add_argument("--neighbouring", choices=("replace_one", "add_remove"), default="add_remove")
    parser.add_argument("--json", type=Path)
    parser.add_argument("--one", action="store_true", help=argparse.SUPPRESS)
    parser.add_argument("--set", help=argparse.SUPPRESS)
    parser.add_argument("--epsilon", type=float, help=argparse.SUPPRESS)
    parser.add_argument("--seed", type=int, help=argparse.SUPPRESS)
    parser.add_argument("--system", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.one:
        print(json.dumps(one_run(given)))
    else:
        main(given)
