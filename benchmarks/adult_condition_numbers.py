"""Condition numbers that need the real rows of UCI Adult, which are not part of this repository.

    python benchmarks/adult_condition_numbers.py PATH_TO_THE_TRAINING_CSV

The file needs a header with the usual column names. Expected: p = 62, ‖f_n‖∞ = 577/32561, and κ of the population (unbiased)
7.7e15 on the cube, 3043 on valid rows, 34 against the product of the one-way marginals.
"""

from __future__ import annotations

import argparse
import math

import dpsyn
from dpsyn.mechanisms.noisy_reweighting.setting import condition_number_table

COLUMNS = ("workclass", "education", "marital-status", "occupation", "relationship", "race", "sex", "income")


def main(path: str) -> None:
    """Print the statistics and every κ."""
    table = dpsyn.read_table(path, columns=COLUMNS)
    found = table.statistics()
    print(f"p = {found.p}, n = {found.n}, largest count = {found.max_frequency * found.n:.0f}")
    for row in condition_number_table(found, table.codes):
        print(f"κ {row.measure}, {row.kind}: {math.exp(row.log_value):.4g}")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("path")
    main(parser.parse_args().path)
