"""A combination that nobody has, beside columns of many values that noise drowns: do the rows keep to what was measured?

    python benchmarks/beside_noise.py [--seeds 8] [--epsilon 1] [--columns 6] [--values 50]

4,000 rows: two columns of two values, of whose four combinations one never occurs, and unrelated columns of many values, all
confirmed as public, δ = 1e-5. For each mechanism and seed: rows of that combination, as many as if 4,000 were made; and the
count that the mechanism measured, with its deviation, where it measured that table.
"""

from __future__ import annotations

import argparse

import numpy as np
import pandas as pd

import dpsyn

ROWS = 4_000
MECHANISMS = (dpsyn.NoisyReweighting(), dpsyn.AIM(), dpsyn.MST(), dpsyn.PrivBayes(), dpsyn.PrivSyn())


def table(columns: int, values: int) -> dpsyn.Table:
    """The rows, of a fixed seed."""
    random = np.random.default_rng(0)
    first = random.integers(0, 2, ROWS)
    frame = pd.DataFrame(
        {"sex": np.where(first, "f", "m"), "pregnant": np.where(first * random.random(ROWS) > 0.05, "yes", "no")}
    )
    for number in range(columns):
        frame[f"place {number}"] = [f"p{value}" for value in random.integers(0, values, ROWS)]
    read = dpsyn.read_table(frame)
    return read.with_domain(read.domain.confirmed())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name, default in (("seeds", 8), ("epsilon", 1.0), ("columns", 6), ("values", 50)):
        parser.add_argument(f"--{name}", type=type(default), default=default)
    given = parser.parse_args()
    data = table(given.columns, given.values)
    domain = data.domain
    cell = domain["sex"].categories.index("m") * 2 + domain["pregnant"].categories.index("yes")
    for config in MECHANISMS:
        mechanism = config.calibrate(dpsyn.PrivacySpec(given.epsilon, 1e-5), domain, n=ROWS)
        found = []
        for seed in range(given.seeds):
            release = mechanism(np.random.default_rng(seed), data)
            rows, measured = release.rows, release.diagnostics.get("noisy_tables")
            made = round(float(((rows["sex"] == "m") & (rows["pregnant"] == "yes")).mean()) * ROWS)
            if measured is not None and (0, 1) in measured.counts:
                count, deviation = measured.counts[0, 1][cell], measured.variances[0, 1] ** 0.5
                found.append(f"{made} ({count:.0f} ± {deviation:.0f})")
            else:
                found.append(str(made))
        print(f"{config.title}: {', '.join(found)}", flush=True)


if __name__ == "__main__":
    main()
