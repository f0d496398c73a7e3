"""Both programs of private sampling on large reduced spaces: seconds, iterations, residuals, peak memory.

    python benchmarks/private_sampling_large.py [INSTANCE ...] [--quick] [--repeats 1] [--output results.json]

Instances (all by default), degree 2 on the cube:

    million    p = 20, m = 1,000,000,   20,000 correlated rows, floor 0.05, ceiling 20: bounds are active, λ > 0
    paper      p = 46, m = 120,000,000, statistics of the whole cube (a = e_0), floor 1/4, ceiling 3/2
    corrected  p = 54, m = 166,000,000, the same: the p at which one row is possible at ε = 10
    active     p = 46, m = 10,000,000,  20,000 correlated rows, floor 0.05, ceiling 20: bounds are active, λ > 0

Every instance runs in a process of its own, whose peak memory is reported. --quick takes a hundredth of the points.
Medians over the repeats. Pierquin et al. (2023) estimate 38 years (45.6, by their own rule) for m = 1.2e8.
"""

from __future__ import annotations

import argparse
import json
import resource
import statistics
import subprocess
import sys
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from dpsyn.solvers.closest import closest_to_uniform
from dpsyn.solvers.matching import MatchingProblem
from dpsyn.solvers.operator import BlockOperator
from dpsyn.solvers.shrinkage import least_shrinkage

ROWS = 20_000


@dataclass(frozen=True)
class Instance:
    """Columns p, draws m, box, and whether the data are the whole cube."""

    columns: int
    draws: int
    floor: float
    ceiling: float
    ideal: bool


INSTANCES = {
    "million": Instance(20, 1_000_000, 0.05, 20.0, ideal=False),
    "paper": Instance(46, 120_000_000, 0.25, 1.5, ideal=True),
    "corrected": Instance(54, 166_000_000, 0.25, 1.5, ideal=True),
    "active": Instance(46, 10_000_000, 0.05, 20.0, ideal=False),
}


def correlated_bits(columns: int, rows: int, generator: np.random.Generator) -> np.ndarray:
    """Bits that follow one hidden level: P(bit = 1) = 0.05 + 0.9·level."""
    level = generator.random((rows, 1))
    return (generator.random((rows, columns)) < 0.05 + 0.9 * level).astype(np.int32)


def run(instance: Instance, draws: int, *, tell: bool) -> dict[str, Any]:
    """Solve one instance and say what it took."""
    generator = np.random.default_rng(46)
    start = time.perf_counter()
    operator = BlockOperator.uniform((2,) * instance.columns, 2, draws, generator)
    drawn = time.perf_counter() - start
    if instance.ideal:
        target = np.zeros(operator.shape[0])
        target[0] = 1.0
    else:
        target = operator.functions.basis.means(correlated_bits(instance.columns, ROWS, generator))
    problem = MatchingProblem(operator, target, instance.floor, instance.ceiling)

    def progress(step: str, share: float, numbers: Mapping[str, float]) -> None:
        if tell:
            known = ", ".join(f"{name} {value:.2g}" for name, value in numbers.items())
            print(f"  {time.perf_counter() - start:8.1f} s  {step}: {share:.0%}, {known}", file=sys.stderr, flush=True)

    linear = least_shrinkage(problem.with_box(2 * instance.floor, instance.ceiling - instance.floor), progress=progress)
    closest = closest_to_uniform(problem, min(1.0, linear.shrinkage + 1e-9), progress=progress)
    return {
        "p": instance.columns,
        "C": operator.shape[0],
        "m": draws,
        "drawing_seconds": drawn,
        "lp_seconds": linear.seconds,
        "lp_iterations": linear.iterations,
        "lp_residual": linear.residual,
        "shrinkage": linear.shrinkage,
        "lp_gap": linear.gap,
        "lp_status": linear.status,
        "qp_seconds": closest.seconds,
        "qp_iterations": closest.iterations,
        "qp_residual": closest.residual,
        "qp_gap": closest.gap,
        "qp_status": closest.status,
        "objective": closest.objective,
        "total_seconds": time.perf_counter() - start,
        "peak_gigabytes": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 / 1e9,
    }


def main() -> None:
    """Run the instances, each in its own process."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("instances", nargs="*", metavar="INSTANCE", choices=[*INSTANCES, []])
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--repeats", type=int, default=1)
    parser.add_argument("--output", type=Path)
    parser.add_argument("--progress", action="store_true")
    parser.add_argument("--here", action="store_true", help=argparse.SUPPRESS)
    given = parser.parse_args()
    shrink = 100 if given.quick else 1
    if given.here:
        (name,) = given.instances
        print(json.dumps(run(INSTANCES[name], INSTANCES[name].draws // shrink, tell=given.progress)))
        return
    results: dict[str, list[dict[str, Any]]] = {}
    print(f"{'':10} {'p':>3} {'C':>5} {'m':>12} {'λ':>10} {'LP s':>8} {'QP s':>8} {'all s':>8} {'LP res':>8} {'QP res':>8} "
          f"{'LP gap':>8} {'GB':>6}")  # fmt: skip
    for name in given.instances or INSTANCES:
        for _ in range(given.repeats):
            command = [sys.executable, __file__, "--here", name]
            command += ["--quick"] * given.quick + ["--progress"] * given.progress
            done = subprocess.run(command, stdout=subprocess.PIPE, check=True, text=True)
            results.setdefault(name, []).append(json.loads(done.stdout))
        runs = results[name]
        middle = {key: statistics.median(float(one[key]) for one in runs) for key in (
            "lp_seconds", "qp_seconds", "total_seconds", "peak_gigabytes")}  # fmt: skip
        one = runs[-1]
        print(
            f"{name:10} {one['p']:3} {one['C']:5} {one['m']:12,} {one['shrinkage']:10.7f} {middle['lp_seconds']:8.1f} "
            f"{middle['qp_seconds']:8.1f} {middle['total_seconds']:8.1f} {one['lp_residual']:8.0e} "
            f"{one['qp_residual']:8.0e} {one['lp_gap']:8.0e} {middle['peak_gigabytes']:6.2f}",
            flush=True,
        )
        if given.output:
            given.output.write_text(json.dumps(results, indent=1))


if __name__ == "__main__":
    main()
