"""What a classifier learns from DP-CDA's rows: accuracy and ROC-AUC on held-out real rows, whatever they are.

    python benchmarks/dp_cda_accuracy.py [--adult ADULT.csv] [--datasets digits breast_cancer] [--out results]

Logistic regression and boosted trees, trained on releases for ε = 1, 5, 10, 20 and δ = 1e-5 (replace-one), five draws each,
tested on a quarter of the real rows; beside them the same trained on the real rows (ceiling) and the majority class (floor).
Adult is UCI Adult with ``income`` as target, without ``fnlwgt`` and ``native-country``; it is not part of this repository.

* ``DP-CDA``: l of the largest signal-to-noise ratio, from public quantities; as many rows as there are training rows.
* ``DP-CDA, a tenth of the rows``: the same for a tenth of the rows, which need less noise.
* ``DP-CDA, Poisson``: the same with Poisson mixing.
* ``l = 1``: each row is one record with noise (local perturbation).
* ``DP-CDA, private scaling``: a tenth of the rows, numbers standardised by means and deviations released with 0.1·ε.
* ``noisy reweighting``: this package's own with default settings at the same ε and δ; for digits and breast cancer with the
  two-way tables of the class and each column only, in place of all 2080 and 465.

Elsewhere numbers are scaled by public bounds; c = 1. Class sizes of digits and breast cancer are declared as public (their
documentation has them), those of Adult are estimated with a tenth of ε. Writes ``<out>.csv`` (every draw) and ``<out>.md``
(means); ``--append`` keeps what ``<out>.csv`` holds already.
"""

from __future__ import annotations

import argparse
import csv
import statistics
import sys
import time
from collections import defaultdict
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

import dpsyn
from dpsyn.errors import DpsynError
from dpsyn.evaluation.prediction import BOOSTED, LOGISTIC, RealScores, Score, predict, real_scores
from dpsyn.mechanisms.dp_cda.accounting.plan import plan_order_of_mixture

DELTA = 1e-5
CLASSIFIERS = (LOGISTIC, BOOSTED)
ADULT_NUMBERS = {
    "age": (17, 90), "education-num": (1, 16), "capital-gain": (0, 100_000), "capital-loss": (0, 5000),
    "hours-per-week": (1, 99),
}  # fmt: skip
ADULT_LEFT_OUT = ("fnlwgt", "native-country")


def adult(path: str) -> dpsyn.Table:
    """Adult over the domain that its documentation gives."""
    found = dpsyn.read_table(path)
    table = found.project([name for name in found.domain.names if name not in ADULT_LEFT_OUT])
    domain = table.domain
    for name, (lower, upper) in ADULT_NUMBERS.items():
        domain = domain.replace(dpsyn.Attribute(name, "numeric", lower=lower, upper=upper, bins=16, integer=True))
    return table.with_domain(domain.confirmed())


def configurations(train: dpsyn.Table, target: str, epsilon: float, private_counts: bool) -> dict[str, Any]:
    """The mechanisms that are compared, by name, calibrated to the training rows' public facts."""
    classes = train.domain[target].categories
    counts = train.frame[target].value_counts()
    sizes = {value: int(counts[value]) for value in classes}
    shares = {value: round(size / train.n, 1 if private_counts else 2) for value, size in sizes.items()}
    dimension = sum(1 if a.is_binned else a.size - 1 for a in train.domain.attributes if a.name != target)

    def mixing(rows: int, order: int | None, variant: str = "fixed_size") -> dpsyn.DPCDA:
        by_class = {value: max(1, round(rows * share)) for value, share in shares.items()}
        expected = [max(1, round(train.n * share)) for share in shares.values()]
        if order is None:
            plan = plan_order_of_mixture(
                epsilon,
                DELTA,
                1.0,
                expected,
                list(by_class.values()),
                dimension=dimension,
                variant=variant,  # type: ignore[arg-type]
            )
            order = plan.best.order_of_mixture
        return dpsyn.DPCDA(
            target=target, order_of_mixture=order, rows=by_class, class_sizes=None if private_counts else sizes,
            variant=variant,  # type: ignore[arg-type]
        )  # fmt: skip

    pairs = None if private_counts else tuple((target, name) for name in train.domain.names if name != target)
    return {
        "DP-CDA": mixing(train.n, None),
        "DP-CDA, a tenth of the rows": mixing(train.n // 10, None),
        "DP-CDA, Poisson": mixing(train.n, None, "poisson"),
        "DP-CDA, private scaling": replace(mixing(train.n // 10, None), scaling="private"),
        "l = 1": mixing(train.n, 1),
        "noisy reweighting": dpsyn.NoisyReweighting(degree=2, tables=pairs),
    }


def scores_of(run: Callable[[], dpsyn.Release], holdout: dpsyn.Table, real: RealScores) -> list[tuple[str, Any, Any]]:
    """Model, accuracy and AUC for one release."""
    release = run()
    rows = dpsyn.Table(release.rows, holdout.domain)
    return [_line(score) for score in predict(rows, holdout, real, 0).synthetic]


def _line(score: Score) -> tuple[str, Any, Any]:
    return score.model, score.measures.get("accuracy"), score.measures.get("ROC-AUC")


def measure(name: str, table: dpsyn.Table, target: str, options: argparse.Namespace, write: Callable[..., None]) -> None:
    """All draws on one dataset."""
    train, holdout = table.split(0.25, np.random.default_rng(0))
    real = real_scores(train, holdout, target, 0, CLASSIFIERS)
    if isinstance(real, str):
        raise SystemExit(real)
    for score in real.scores if not options.append else ():
        write(name, "real rows (ceiling)", "", "", 0, *_line(score), "")
        write(name, "majority class (floor)", "", "", 0, score.model, real.constant.measures["accuracy"], 0.5, "")
    for epsilon in options.epsilons:
        spec = dpsyn.PrivacySpec(epsilon, DELTA)
        for method, config in configurations(train, target, epsilon, name == "adult").items():
            if options.methods and method not in options.methods:
                continue
            mechanism = config.calibrate(spec, train.domain, n=train.n)
            order = getattr(config, "order_of_mixture", "")
            for draw in range(options.draws):
                start = time.perf_counter()
                try:
                    found = scores_of(lambda m=mechanism: m(None, train), holdout, real)  # type: ignore[misc]
                except DpsynError as error:
                    print(f"{name}, epsilon {epsilon:g}, {method}: {error}", file=sys.stderr)
                    break
                seconds = time.perf_counter() - start
                for classifier, accuracy, auc in found:
                    write(name, method, epsilon, order, draw, classifier, accuracy, auc, f"{seconds:.2f}")
            print(f"{name}, epsilon {epsilon:g}, {method}, l = {order}: done", file=sys.stderr, flush=True)


def markdown(rows: list[dict[str, str]]) -> str:
    """Means over the draws, with the standard deviation of accuracies, one line for each dataset, method and ε."""
    groups: dict[tuple[str, str, str, str], dict[str, list[tuple[float, float]]]] = defaultdict(lambda: defaultdict(list))
    for row in rows:
        key = (row["dataset"], row["epsilon"], row["method"], row["l"])
        groups[key][row["classifier"]].append((float(row["accuracy"]), float(row["auc"] or "nan")))
    lines = [
        "| dataset | ε | method | l | logistic regression: accuracy | AUC | boosted trees: accuracy | AUC |",
        "| --- | --- | --- | --- | --- | --- | --- | --- |",
    ]
    for (dataset, epsilon, method, order), found in groups.items():
        cells = []
        for classifier in CLASSIFIERS:
            accuracies, areas = zip(*found[classifier], strict=True)
            spread = f" ± {statistics.stdev(accuracies):.3f}" if len(accuracies) > 1 else ""
            cells += [f"{statistics.mean(accuracies):.3f}{spread}", f"{statistics.mean(areas):.3f}"]
        lines.append(f"| {dataset} | {epsilon} | {method} | {order} | {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"


def main() -> None:
    """Measure, write, print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--adult", help="path of the training CSV with a header")
    parser.add_argument("--datasets", nargs="*", default=["digits", "breast_cancer"])
    parser.add_argument("--epsilons", nargs="*", type=float, default=[1.0, 5.0, 10.0, 20.0])
    parser.add_argument("--draws", type=int, default=5)
    parser.add_argument("--out", default="dp_cda_accuracy")
    parser.add_argument("--methods", nargs="*", help="only those of these names")
    parser.add_argument("--append", action="store_true")
    options = parser.parse_args()
    names = ["dataset", "method", "epsilon", "l", "draw", "classifier", "accuracy", "auc", "seconds"]
    rows: list[dict[str, str]] = []
    if options.append and Path(f"{options.out}.csv").exists():
        with Path(f"{options.out}.csv").open(newline="") as file:
            rows = list(csv.DictReader(file))

    def write(*values: object) -> None:
        rows.append(dict(zip(names, map(str, values), strict=True)))

    tables = {name: dpsyn.load_sample(name) for name in options.datasets}
    targets = {"digits": "digit", "breast_cancer": "diagnosis", "adult": "income"}
    if options.adult:
        tables["adult"] = adult(options.adult)
    for name, table in tables.items():
        measure(name, table, targets[name], options, write)
    with Path(f"{options.out}.csv").open("w", newline="") as file:
        writer = csv.DictWriter(file, names)
        writer.writeheader()
        writer.writerows(rows)
    text = markdown([row | {"auc": "" if row["auc"] == "None" else row["auc"]} for row in rows])
    Path(f"{options.out}.md").write_text(text)
    print(text)


if __name__ == "__main__":
    main()
