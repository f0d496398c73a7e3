"""The self-test at the end of mbi's ``mechanisms/aim.py``: its own data and measure, for noisy reweighting as it comes.

    python benchmarks/mbi_self_test.py DATA/adult.csv DATA/adult-domain.json [--epsilon 1] [--delta 1e-9] [--seeds 1]

The folder ``data`` of mbi's repository has both files: 48,842 rows of codes, 14 columns of up to 100 codes. Printed are the
mean ("Average Error" there) and the largest total variation of all tables of two columns with at most 10,000 cells, under
add/remove, seconds, and the largest memory of the process.
"""

from __future__ import annotations

import argparse
import json
import resource
import time
from itertools import combinations
from pathlib import Path

import numpy as np
import pandas as pd

import dpsyn

_MOST_CELLS = 10_000


def main(arguments: argparse.Namespace) -> None:
    """Release once for every seed, print what it took and how far it is."""
    sizes: dict[str, int] = json.loads(Path(arguments.domain).read_text())
    frame = pd.read_csv(arguments.data)[list(sizes)]
    domain = dpsyn.Domain.of(
        dpsyn.Attribute(name, "categorical", tuple(range(size)), public=True) for name, size in sizes.items()
    )
    table = dpsyn.Table(frame, domain)
    real = table.codes
    pairs = [(i, j) for i, j in combinations(range(len(domain)), 2) if domain.shape[i] * domain.shape[j] <= _MOST_CELLS]
    spec = dpsyn.PrivacySpec(arguments.epsilon, arguments.delta, "add_remove")
    for seed in arguments.seeds:
        wall, processor = time.perf_counter(), time.process_time()
        mechanism = dpsyn.NoisyReweighting(degree=2).calibrate(spec, domain, n=table.n)
        made = domain.encode(mechanism(np.random.default_rng(seed), table).rows)
        seconds, cpu = time.perf_counter() - wall, time.process_time() - processor
        errors = []
        for i, j in pairs:
            cells = domain.shape[i] * domain.shape[j]
            both = [
                np.bincount(codes[:, i] * domain.shape[j] + codes[:, j], minlength=cells) / len(codes)
                for codes in (real, made)
            ]
            errors.append(np.abs(both[0] - both[1]).sum() / 2)
        memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
        print(
            f"seed {seed}: mean {np.mean(errors):.4f}, largest {max(errors):.4f} of {len(pairs)} tables; {seconds:.0f} s "
            f"({cpu:.0f} s of a processor), {memory:.2f} GB",
            flush=True,
        )


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data")
    parser.add_argument("domain")
    parser.add_argument("--epsilon", type=float, default=1.0)
    parser.add_argument("--delta", type=float, default=1e-9)
    parser.add_argument("--seeds", type=int, nargs="+", default=[1])
    main(parser.parse_args())
