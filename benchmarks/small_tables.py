"""Numbers of small tables: do chosen bins help, or does the noise choose them?

    python benchmarks/small_tables.py [--seeds 6]

Columns of numbers of one law and a column of two values, all confirmed as public, ε = 1, replace-one, noisy reweighting of
single columns. For each law and size, with the defaults and without histograms: total variation of the domain's ten bins,
largest distance of the distributions (Kolmogorov-Smirnov), and error of the mean in standard deviations; the middle and the
90 % of all columns of all seeds.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable

import numpy as np
import numpy.typing as npt
import pandas as pd
from scipy.stats import ks_2samp

import dpsyn

Numbers = npt.NDArray[np.float64]
LAWS: dict[str, Callable[[np.random.Generator, int], Numbers]] = {
    "normal": lambda random, n: random.normal(size=n).round(3),
    "uniform": lambda random, n: random.random(n).round(3),
    "exponential": lambda random, n: random.exponential(1, n).round(3),
    "lognormal, σ = 1": lambda random, n: random.lognormal(0, 1, n).round(3),
    "lognormal, σ = 2": lambda random, n: random.lognormal(0, 2, n).round(2),
    "80 % zeros": lambda random, n: np.where(random.random(n) < 0.8, 0.0, random.integers(1, 1000, n)),
    "whole, 17 to 89": lambda random, n: random.integers(17, 90, n).astype(np.float64),
}
SIZES = ((1000, 2, 0.0), (5000, 4, 0.0), (1000, 2, 1e-5))
"""Rows, columns of numbers, and δ."""
WAYS = {"defaults": 0.1, "no histograms": 0.0}
"""The histograms' share of the budget."""


def errors(law: str, rows: int, columns: int, delta: float, share: float, seed: int) -> list[tuple[float, float, float]]:
    """Of every column of numbers: total variation, distance, error of the mean."""
    random = np.random.default_rng(seed)
    frame = pd.DataFrame({f"x{i}": LAWS[law](random, rows) for i in range(columns)} | {"c": random.choice(["u", "v"], rows)})
    table = dpsyn.read_table(frame)
    table = table.with_domain(table.domain.confirmed())
    config = dpsyn.NoisyReweighting(degree=1, histogram_share=share)
    made = config.calibrate(dpsyn.PrivacySpec(1.0, delta), table.domain, n=rows)(np.random.default_rng(seed), table).rows
    found = []
    for attribute in table.domain.attributes:
        if attribute.is_binned:
            real, other = (one[attribute.name].to_numpy(np.float64) for one in (table.frame, made))
            shares = [np.histogram(one, attribute.edges)[0] / len(one) for one in (real, other)]
            apart = float(np.abs(shares[0] - shares[1]).sum() / 2)
            found.append(
                (apart, float(ks_2samp(real, other).statistic), float(abs(real.mean() - other.mean()) / real.std()))
            )
    return found


def main() -> None:
    """Print a line for each law, size and way."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=6)
    seeds = parser.parse_args().seeds
    for law in LAWS:
        for rows, columns, delta in SIZES:
            for way, share in WAYS.items():
                found = np.array([one for seed in range(seeds) for one in errors(law, rows, columns, delta, share, seed)])
                middle, high = np.quantile(found, (0.5, 0.9), axis=0)
                told = "  ".join(f"{a:.3f} {b:.3f}" for a, b in zip(middle, high, strict=True))
                print(f"{law:18} {rows:5} x {columns}, {delta:g}  {way:14} {told}", flush=True)


if __name__ == "__main__":
    main()
