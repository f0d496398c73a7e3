"""Which tables PrivSyn measures: DenseMarg, a network as of PrivBayes, tables named by hand; by noisy or exact scores.

    python benchmarks/selections.py TRAIN.csv TEST.csv [--sets adult8 asia] [--epsilons 0.2 1 2] [--seeds 1 2 3]
                                    [--json FILE]

The files are those of UCI Adult, with a header; ASIA is bundled. δ = 1e-5, replace-one. For every set, ε and selection: how
many tables, and means over the seeds of the mean total variation of pairs, the mean error of range queries, and the
misclassification of the best of two models on held-out rows. Below: models that learn from the real rows ("NonPriv" of the
paper), and always the commonest class ("Majority"). By hand: every pair with the target. Selections by exact scores are not
private, whatever their noise: they show what noisy scores cost, with their tenth of the budget, and are made here alone.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import time
import warnings
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
from noisy_reweighting_adult import DELTA, load

import dpsyn
from dpsyn.evaluation.baseline import Baseline, real_baseline
from dpsyn.evaluation.conclusions import best_score
from dpsyn.evaluation.report import evaluate
from dpsyn.mechanisms.privsyn.mechanism import PrivSynMechanism
from dpsyn.privacy.noise import NoiseSource
from dpsyn.solvers.dense_marginals import combined, dense_pairs, tree_pairs

TARGETS = {"adult8": "income", "asia": "dysp"}
SHARED: dict[str, Any] = {"histogram_share": 0.0}


class Silent(NoiseSource):
    """Leaves numbers as they are."""

    def discrete_laplace(self, values: Any, scale: float) -> Any:
        """The values."""
        return values

    discrete_gaussian = discrete_laplace


def exact(table: dpsyn.Table, spec: dpsyn.PrivacySpec, kind: str) -> tuple[tuple[str, ...], ...]:
    """The tables that DenseMarg, or the network, chooses by scores without noise: not private."""
    mechanism = dpsyn.PrivSyn(**SHARED).calibrate(spec, table.domain, table.n)
    assert isinstance(mechanism, PrivSynMechanism)
    shape, names = mechanism.domain.shape, mechanism.domain.names
    noise = Silent(np.random.default_rng(0))
    real = mechanism.stage.encoding(noise, table).rows(table)
    scores = mechanism._dependence(noise, real)
    cells = np.array([shape[i] * shape[j] for i, j in mechanism.pairs], dtype=np.float64)
    one = mechanism.budget.mean_error(mechanism.budget.noise_scale(mechanism.parts[2]))
    chosen = (
        tree_pairs(mechanism.pairs, scores)
        if kind == "privbayes"
        else dense_pairs(mechanism.pairs, scores, cells, mechanism._power, one)
    )
    found = combined(chosen, shape, mechanism.config.table_cells) or [(j,) for j in range(len(shape))]
    return tuple(tuple(names[j] for j in columns) for columns in found)


def selections(table: dpsyn.Table, spec: dpsyn.PrivacySpec, target: str) -> dict[str, Any]:
    """By name."""
    pairs = [pair for pair in combinations(table.domain.names, 2) if target in pair]
    return {
        "DenseMarg": "dense_marg",
        "DenseMarg, exact scores (not private)": exact(table, spec, "dense_marg"),
        "PrivBayes (InDif)": "privbayes",
        "PrivBayes (InDif), exact scores (not private)": exact(table, spec, "privbayes"),
        "by hand": tuple(pairs),
    }


def measured(baseline: Baseline, rows: Any) -> dict[str, float]:
    """Error of pairs and of range queries, and misclassification."""
    report = evaluate(baseline.table, rows, baseline=baseline)
    assert not isinstance(report.prediction, str)
    best = best_score(report.prediction.synthetic)
    assert best is not None
    return {"pairs": report.marginals[2].mean, "ranges": report.ranges.mean, "wrong": 1 - best[1].measures[best[0]]}


def main(arguments: argparse.Namespace) -> None:
    """Print one line for every set, ε and selection."""
    print(f"{'set':7} {'ε':4} {'selection':46} tables   pairs  ranges  misclassified  seconds", flush=True)
    every = []
    for name in arguments.sets:
        table, held = load(name, arguments.train, arguments.test)
        if held is None:
            table, held = table.split(0.25, np.random.default_rng(0))
        baseline = real_baseline(table, held, TARGETS[name], degrees=(2,))
        assert not isinstance(baseline.prediction, str)
        for epsilon in arguments.epsilons:
            spec = dpsyn.PrivacySpec(epsilon, DELTA)
            for label, selection in selections(table, spec, TARGETS[name]).items():
                start, runs = time.process_time(), []
                for seed in arguments.seeds:
                    mechanism = dpsyn.PrivSyn(**SHARED, selection=selection).calibrate(spec, table.domain, table.n)
                    release = mechanism(np.random.default_rng(seed), table)
                    runs.append(measured(baseline, release.rows) | {"tables": len(release.diagnostics["tables"])})
                line = {key: statistics.mean(run[key] for run in runs) for key in runs[0]}
                seconds = (time.process_time() - start) / len(runs)
                every.append({"set": name, "epsilon": epsilon, "selection": label, **line, "runs": runs})
                print(
                    f"{name:7} {epsilon:<4g} {label:46} {line['tables']:6.1f}  {line['pairs']:.4f}  {line['ranges']:.4f}  "
                    f"{line['wrong']:.4f}         {seconds:7.1f}",
                    flush=True,
                )
        best = best_score(baseline.prediction.scores)
        assert best is not None
        wrong = 1 - best[1].measures[best[0]], 1 - baseline.prediction.constant.measures[best[0]]
        print(f"{name:7}      by the real rows: {wrong[0]:.4f} misclassified; the commonest class: {wrong[1]:.4f}")
    print(f"load {os.getloadavg()[0]:.0f}")
    if arguments.json is not None:
        arguments.json.write_text(json.dumps(every, indent=1))


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("train")
    parser.add_argument("test")
    parser.add_argument("--sets", nargs="+", choices=list(TARGETS), default=list(TARGETS))
    parser.add_argument("--epsilons", nargs="+", type=float, default=[0.2, 1.0, 2.0])
    parser.add_argument("--seeds", nargs="+", type=int, default=[1, 2, 3])
    parser.add_argument("--json", type=Path)
    main(parser.parse_args())
