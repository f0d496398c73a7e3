"""Write start.json beside this file: what the first page shows, synthetic rows of ASIA at 21 values of ε.

Noisy reweighting of all tables of two columns with Laplace noise, one draw at each ε from the same seed: the correlation of
every pair of columns, and by how much a table of two columns is off on average.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np

import dpsyn
from dpsyn.data.samples import load_sample
from dpsyn.kit.widgets import EPSILONS

SEED = 1
SHOWN = [float(f"{epsilon:.2g}") for epsilon in EPSILONS if 0.1 <= epsilon <= 10]


def correlations(codes: Any) -> list[float]:
    """Of every pair of columns, in the order of ``numpy.triu_indices``; 0 where a column is constant."""
    with np.errstate(invalid="ignore"):
        matrix = np.nan_to_num(np.corrcoef(codes.T))
    return [round(float(value), 3) for value in matrix[np.triu_indices(len(matrix), 1)]]


def made(epsilon: float) -> dict[str, Any]:
    """What the page shows at one ε."""
    table = load_sample("asia")
    config = dpsyn.NoisyReweighting(degree=2, noise="laplace")
    mechanism = config.calibrate(dpsyn.PrivacySpec(epsilon), table.domain, table.n)
    release = mechanism(np.random.default_rng(SEED), table)
    error = dpsyn.evaluate(table, release.rows).release.marginals[2].mean
    return {"epsilon": epsilon, "error": round(error, 5), "pairs": correlations(table.domain.encode(release.rows))}


if __name__ == "__main__":
    table = load_sample("asia")
    document = {
        "columns": list(table.domain.names),
        "rows": table.n,
        "real": correlations(table.codes),
        "made": [made(epsilon) for epsilon in SHOWN],
    }
    Path(__file__).with_name("start.json").write_text(json.dumps(document, separators=(",", ":")) + "\n", encoding="utf-8")
