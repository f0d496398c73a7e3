"""Rows by class size against as many of each class: DP-CDA on UCI Adult with ``income`` as its class.

    python benchmarks/dp_cda_rows.py ADULT_TRAIN.csv ADULT_TEST.csv

Class sizes are estimated with a tenth of ε, δ = 1e-5, replace-one, as many rows as there are; columns as in
``dp_cda_accuracy.py``, l of the largest signal-to-noise ratio at about these sizes. Medians of three draws: the error of the
shares of income, σ, what a logistic regression that learns from the rows says of the test file, and what averages cannot
keep, the share of capital-gain = 0 and its 99.9 % quantile.
"""

from __future__ import annotations

import argparse
import statistics
from dataclasses import replace
from typing import Any

import numpy as np
from dp_cda_accuracy import DELTA, adult

import dpsyn
from dpsyn.evaluation.prediction import LOGISTIC, RealScores, predict, real_scores
from dpsyn.mechanisms.dp_cda.accounting.plan import plan_order_of_mixture

TARGET, GAIN = "income", "capital-gain"
SHARES = (0.76, 0.24)


def configurations(epsilon: float, train: dpsyn.Table) -> list[dpsyn.DPCDA]:
    """Both variants, both ways of sharing rows out."""
    sizes = [round(train.n * share) for share in SHARES]
    dimension = sum(1 if a.is_binned else a.size - 1 for a in train.domain.attributes if a.name != TARGET)
    found = []
    for variant in ("fixed_size", "poisson"):
        kind: dict[str, Any] = {"variant": variant}
        plan = plan_order_of_mixture(0.9 * epsilon, DELTA, 1.0, sizes, sizes, dimension=dimension, **kind)
        config = dpsyn.DPCDA(TARGET, plan.best.order_of_mixture, **kind)
        found += [replace(config, rows_by="equal"), config]
    return found


def line(release: dpsyn.Release, train: dpsyn.Table, holdout: dpsyn.Table, real: RealScores) -> tuple[float, ...]:
    """Error of income, σ, accuracy, AUC, zeros and the far quantile of one release."""
    (score,) = predict(dpsyn.Table(release.rows, holdout.domain), holdout, real, 0).synthetic
    made, there = (rows[TARGET].value_counts(normalize=True) for rows in (release.rows, train.frame))
    gain = release.rows[GAIN]
    error, sigma = float((made - there).abs().max()), release.diagnostics["noise_scale"]
    return error, sigma, score.accuracy, score.auc or 0.0, float((gain == 0).mean()), float(gain.quantile(0.999))


def main() -> None:
    """Measure and print a Markdown table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("train")
    parser.add_argument("test")
    parser.add_argument("--draws", type=int, default=3)
    options = parser.parse_args()
    train = adult(options.train)
    holdout = dpsyn.read_table(options.test, domain=train.domain)
    real = real_scores(train, holdout, TARGET, 0, (LOGISTIC,))
    if isinstance(real, str):
        raise SystemExit(real)
    (ceiling,), gain = real.scores, train.frame[GAIN]
    print("| ε | variant | rows | l | error of income | σ | accuracy | AUC | zeros of capital-gain | its 99.9 % quantile |")
    print("| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |")
    last = f"{(gain == 0).mean():.3f} | {gain.quantile(0.999):,.0f}"
    print(f"| | real | | | | | {ceiling.accuracy:.3f} | {ceiling.auc:.3f} | {last} |")
    for epsilon in (1.0, 10.0):
        for config in configurations(epsilon, train):
            mechanism = config.calibrate(dpsyn.PrivacySpec(epsilon, DELTA), train.domain, train.n)
            runs = [line(mechanism(np.random.default_rng(s), train), train, holdout, real) for s in range(options.draws)]
            error, sigma, accuracy, auc, zeros, far = (statistics.median(one) for one in zip(*runs, strict=True))
            asked = f"{epsilon:g} | {config.variant} | {config.rows_by} | {config.order_of_mixture}"
            print(
                f"| {asked} | {error:.4f} | {sigma:.4f} | {accuracy:.3f} | {auc:.3f} | {zeros:.3f} | {far:,.0f} |",
                flush=True,
            )


if __name__ == "__main__":
    main()
