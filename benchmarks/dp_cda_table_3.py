"""The five rows of the DP-CDA paper's Table 3 on images: accuracy of a classifier at ε = 10 and 20, with exact accounting.

    python benchmarks/dp_cda_table_3.py [--images IMAGES.csv --target label] [--epsilons 10 20] [--draws 3] [--order 4]

Images are scikit-learn's digits, or a CSV or Parquet file of pixels with a column of labels. δ = 1e-5, replace-one, as many
rows as there are training rows, l = 4 as in the paper; a logistic regression that is trained on the release and tested on a
quarter of the real rows. Beside each row of the paper stands what it printed for MNIST, by a convolutional network. For
DP-CDA, whose ε is exact here, what the paper's Theorem 1 says of the same σ, as published.
"""

from __future__ import annotations

import argparse
import statistics
import warnings

import numpy as np

import dpsyn
from dpsyn.errors import DpsynError
from dpsyn.evaluation.prediction import LOGISTIC, predict, real_scores
from dpsyn.mechanisms.base import Config
from dpsyn.mechanisms.dp_cda.counterexamples import published_epsilon

DELTA = 1e-5
PRINTED = {
    "random projection": {20: 0.104, 10: 0.100},
    "local perturbation": {20: 0.098, 10: 0.098},
    "DP-Mix": {20: 0.800, 10: 0.782},
    "DP-MERF": {10: 0.674},
    "DP-CDA": {20: 0.796, 10: 0.795},
}
"""Table 3, MNIST."""


def configurations(table: dpsyn.Table, target: str, order: int) -> dict[str, Config]:
    """The rows of the table, each as it comes, with the paper's order of mixture. Class sizes are public."""
    sizes = {value: int(count) for value, count in table.frame[target].value_counts().items()}
    return {
        "random projection": dpsyn.RandomProjection(),
        "local perturbation": dpsyn.LocalPerturbation(),
        "DP-Mix": dpsyn.DPMix(order_of_mixture=order),
        "DP-MERF": dpsyn.DPMERF(target=target),
        "DP-CDA": dpsyn.DPCDA(target=target, order_of_mixture=order, class_sizes=sizes),
    }


def main(options: argparse.Namespace) -> None:
    """Print the table."""
    if options.images is None:
        table, target = dpsyn.load_sample("digits"), "digit"
    else:
        table, target = dpsyn.read_table(options.images), options.target
    train, holdout = table.split(0.25, np.random.default_rng(0))
    real = real_scores(train, holdout, target, 0, (LOGISTIC,))
    if isinstance(real, str):
        raise SystemExit(real)
    print(f"real rows: {real.scores[0].measures['accuracy']:.3f}; {train.n} rows to learn from")
    print("| row | ε | accuracy | printed for MNIST | σ | ε as published |\n" + "| --- " * 6 + "|")
    for name, config in configurations(train, target, options.order).items():
        for epsilon in options.epsilons:
            printed = PRINTED[name].get(round(epsilon))
            try:
                mechanism = config.calibrate(dpsyn.PrivacySpec(epsilon, DELTA), train.domain, train.n)
                found = []
                for _ in range(options.draws):
                    rows = dpsyn.Table(mechanism(None, train).rows, holdout.domain)
                    (score,) = predict(rows, holdout, real, 0).synthetic
                    found.append(score.measures["accuracy"] or 0.0)
            except DpsynError as fault:
                print(f"| {name} | {epsilon:g} | {fault} | {printed or ''} | | |", flush=True)
                continue
            spread = statistics.stdev(found) if len(found) > 1 else 0.0
            sigma = mechanism.calibrated().get("noise_scale")
            shown = "" if sigma is None else f"{sigma:.4g}"
            claimed = ""
            if name == "DP-CDA" and sigma is not None:
                printed_epsilon = published_epsilon(order_of_mixture=options.order, sigma=sigma, n=train.n, delta=DELTA)
                claimed = f"{printed_epsilon:.3g}"
            accuracy = f"{statistics.mean(found):.3f} ± {spread:.3f}"
            print(f"| {name} | {epsilon:g} | {accuracy} | {printed or ''} | {shown} | {claimed} |", flush=True)


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--images")
    parser.add_argument("--target", default="label")
    parser.add_argument("--epsilons", nargs="+", type=float, default=[10.0, 20.0])
    parser.add_argument("--draws", type=int, default=3)
    parser.add_argument("--order", type=int, default=4)
    main(parser.parse_args())
