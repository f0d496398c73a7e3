"""Draw 20,000 rows from the ASIA network of Lauritzen and Spiegelhalter (1988) and write asia.csv beside this file.

Only the standard library is used: ``random.Random`` promises the same numbers for the same seed in every version.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product
from pathlib import Path
from random import Random

COLUMNS = ("asia", "tub", "smoke", "lung", "bronc", "either", "xray", "dysp")
ROWS = 20_000
SEED = 1988


def chances(row: tuple[bool, ...]) -> float:
    """Probability that the next column is "yes", given the columns before it in ``COLUMNS``."""
    known = dict(zip(COLUMNS, row, strict=False))
    match len(row):
        case 0:
            return 0.01
        case 1:
            return 0.05 if known["asia"] else 0.01
        case 2:
            return 0.5
        case 3:
            return 0.1 if known["smoke"] else 0.01
        case 4:
            return 0.6 if known["smoke"] else 0.3
        case 5:
            return float(known["tub"] or known["lung"])
        case 6:
            return 0.98 if known["either"] else 0.05
        case _:
            table = {(True, True): 0.9, (True, False): 0.8, (False, True): 0.7, (False, False): 0.1}
            return table[known["bronc"], known["either"]]


def probabilities() -> dict[tuple[bool, ...], float]:
    """The exact joint distribution: probability of each of the 256 rows."""
    joint = {}
    for row in product((False, True), repeat=len(COLUMNS)):
        probability = 1.0
        for j, value in enumerate(row):
            yes = chances(row[:j])
            probability *= yes if value else 1 - yes
        joint[row] = probability
    return joint


def rows(count: int = ROWS, seed: int = SEED) -> Iterator[tuple[bool, ...]]:
    """Independent rows of the network, parents before children."""
    random = Random(seed)
    for _ in range(count):
        row: tuple[bool, ...] = ()
        for _ in COLUMNS:
            row = (*row, random.random() < chances(row))
        yield row


def text() -> str:
    """The whole file."""
    lines = [",".join(COLUMNS), *(",".join("yes" if value else "no" for value in row) for row in rows())]
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    Path(__file__).with_name("asia.csv").write_text(text(), encoding="utf-8", newline="\n")
