"""DP-CDA's accountants against a table of reference values made by another program, row by row.

Usage: python benchmarks/dp_cda_reference.py TABLE.csv

The table has one row for each dataset size, ε and l, at δ = 1e-5 and c = 1, and these columns: ``i_pub`` σ by the published
formula, ``iv_addrem``, ``iv_sym``, ``iv_cross`` σ by exact accounting of one record more or fewer, replaced inside its
class, and moved to another class, ``v_pois_*`` the same for Poisson mixing, ``true_at_i_*`` and ``true_at_ii_*`` the exact ε
at the σ of ``i_pub`` and ``ii_wbk``. Prints the largest relative difference of every column, where it occurs, and whether
all σ agree within 0.5 % and all ε within 1 %; exits with 1 if not.
"""

from __future__ import annotations

import csv
import math
import sys
import time
from typing import Any

from dpsyn.mechanisms.dp_cda.accounting.functions import dp_cda_epsilon, dp_cda_noise_scale

SHAPES = {  # N, N_k, T_k, number of classes
    "MNIST": (60_000, 6000, 6000, 10),
    "digits": (1797, 179, 179, 10),
    "adult_bal": (32_561, 16_280, 16_280, 2),
    "adult_min": (32_561, 7841, 16_280, 2),
}
CHANGES = {
    "iv_addrem": "add_remove", "iv_sym": "replace_same_class", "iv_cross": "label_change",
    "v_pois_ar": "add_remove", "v_pois_rep": "replace_same_class", "v_pois_cross": "label_change",
}  # fmt: skip
TRUE = {"addrem": "add_remove", "sym": "replace_same_class", "cross": "label_change"}
ALLOWED = {"sigma": 5e-3, "epsilon": 1e-2}


def differences(row: dict[str, str]) -> list[tuple[str, str, float]]:
    """Column, what it holds, and the relative difference, for the columns of one row that are filled."""
    n, size, rows, classes = SHAPES[row["ds"]]
    order, epsilon = int(row["l"]), float(row["eps"])
    if order > size:
        return []
    shared: dict[str, Any] = {
        "delta": 1e-5, "order_of_mixture": order, "clip": 1.0, "class_counts": [size] * classes,
        "rows_per_class": [rows] * classes,
    }  # fmt: skip
    found = []
    for column, change in CHANGES.items():
        variant = "poisson" if column.startswith("v_") else "fixed_size"
        sigma = dp_cda_noise_scale(epsilon, neighbouring=change, variant=variant, **shared)  # type: ignore[arg-type]
        found.append((column, "sigma", sigma / float(row[column]) - 1))
    for prefix, source in (("true_at_i", "i_pub"), ("true_at_ii", "ii_wbk")):
        for suffix, change in TRUE.items():
            value = dp_cda_epsilon(float(row[source]), neighbouring=change, **shared)  # type: ignore[arg-type]
            found.append((f"{prefix}_{suffix}", "epsilon", value / float(row[f"{prefix}_{suffix}"]) - 1))
    totals = shared | {"class_counts": [n // classes + (k < n % classes) for k in range(classes)]}
    totals["rows_per_class"] = totals["class_counts"]
    sigma = dp_cda_noise_scale(epsilon, accountant="published", **totals)
    found.append(("i_pub", "sigma", sigma / float(row["i_pub"]) - 1))
    return found


def main(path: str) -> int:
    """Compare every row; 0 if all columns agree."""
    worst: dict[str, tuple[float, str, str]] = {}
    start, compared = time.perf_counter(), 0
    with open(path, newline="") as file:
        for row in csv.DictReader(file):
            for column, kind, difference in differences(row):
                compared += 1
                if abs(difference) >= abs(worst.get(column, (0.0, "", ""))[0]):
                    worst[column] = (difference, kind, f"{row['ds']}, epsilon {float(row['eps']):g}, l = {row['l']}")
    print(f"{compared} values, {time.perf_counter() - start:.0f} s")
    agree = True
    for column, (difference, kind, where) in worst.items():
        fine = math.isfinite(difference) and abs(difference) <= ALLOWED[kind]
        agree &= fine
        print(
            f"{column:18s} {kind:8s} largest difference {100 * difference:+.3f} % ({where}){'' if fine else '  TOO LARGE'}"
        )
    print("all agree" if agree else "NOT all agree")
    return 0 if agree and compared else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
