"""What the low bits of DP-CDA's noisy averages give away, and that a release does not hold them.

    python benchmarks/low_bits.py [--runs 60] [--columns 4096]

Two tables differ in one record: all others are 0, the target is 1 in every column or 0 too. Where a row holds the target, a
coordinate is noise + v, v = 1/(l√columns), and a released number x with |x| < v/2 can only be such a sum if noise near -v,
a double of spacing 2^-53·v or wider, was added to v: then its lowest bits are zero. Each further zero bit counts as
evidence. A demonstration (drawn from a generator) keeps the bits of its sums, a release rounds them away.
"""

from __future__ import annotations

import argparse
import math

import numpy as np
import numpy.typing as npt
import pandas as pd
from scipy.stats import binomtest

import dpsyn

RECORDS, ROWS, ORDER, NEEDED = 400, 200, 4, 20
SPEC = dpsyn.PrivacySpec(1.0, 1e-5)


def table(columns: int, *, target: bool) -> dpsyn.Table:
    """Records at 0, and the target."""
    values = np.zeros((RECORDS, columns))
    values[0] = 1.0 if target else 0.0
    frame = pd.DataFrame(values, columns=[f"x{j}" for j in range(columns)])
    frame.insert(0, "y", 0)
    numbers = [dpsyn.Attribute(name, "numeric", lower=-1.0, upper=1.0, public=True) for name in frame.columns[1:]]
    return dpsyn.Table(frame, dpsyn.Domain.of([dpsyn.Attribute("y", "truth", (0, 1), public=True), *numbers]))


def evidence(released: npt.NDArray[np.float64], shift: float) -> float:
    """The most that one row says for the target being in it."""
    grid = shift * 2.0**-53
    fits = np.rint(released / grid) * grid == released
    with np.errstate(divide="ignore"):
        zeros = -np.floor(np.log2(np.abs(released) / shift)) - 1
    zeros = np.where(released == 0, 60, zeros)
    score = np.where(np.abs(released) < shift / 2, np.where(fits, zeros, -np.inf), 0.0)
    return float(score.sum(axis=1).max())


def main() -> None:
    """Runs with and without the target, as a demonstration and as a release."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=60)
    parser.add_argument("--columns", type=int, default=4096, help="a power of four: scaling must keep every bit")
    options = parser.parse_args()
    length = math.isqrt(options.columns)
    config = dpsyn.DPCDA(target="y", rows={0: ROWS, 1: 0}, order_of_mixture=ORDER, class_sizes={0: RECORDS, 1: 0})
    tables = [table(options.columns, target=target) for target in (True, False)]
    mechanism = config.calibrate(SPEC, tables[0].domain, n=RECORDS)
    print(mechanism.guarantee)
    for name, seeded in (("demonstration", True), ("release", False)):
        hits = []
        for data in tables:
            generators = [np.random.default_rng([seed, len(hits)]) if seeded else None for seed in range(options.runs)]
            rows = (mechanism(generator, data).rows.drop(columns="y").to_numpy(float) for generator in generators)
            hits.append(sum(evidence(values / length, 1 / (length * ORDER)) >= NEEDED for values in rows))
        with_it, without = (binomtest(k, options.runs).proportion_ci(0.98) for k in hits)
        allowed = math.exp(SPEC.epsilon) * without.high + SPEC.delta
        verdict = "REFUTED" if with_it.low > allowed else "not refuted"
        print(f"{name}: found in {hits[0]} of {options.runs} runs with it, {hits[1]} without; "
              f"P >= {with_it.low:.3f}, at most {allowed:.3f} allowed: {verdict}")  # fmt: skip


if __name__ == "__main__":
    main()
