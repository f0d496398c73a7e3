"""Write car.csv beside this file: every car of the Car Evaluation grid with the class its expert model gives it.

The model is that of Bohanec and Rajkovič (1988): a car is judged by its price (buying, maint) and by its technical
side, the latter by its comfort (doors, persons, lug_boot) and its safety. Levels count from the worst, 0, upwards.
"""

from __future__ import annotations

from itertools import product
from pathlib import Path

ATTRIBUTES = {
    "buying": ("vhigh", "high", "med", "low"),
    "maint": ("vhigh", "high", "med", "low"),
    "doors": ("2", "3", "4", "5more"),
    "persons": ("2", "4", "more"),
    "lug_boot": ("small", "med", "big"),
    "safety": ("low", "med", "high"),
}

PRICE = ((0, 0, 1, 1), (0, 1, 1, 1), (1, 1, 2, 3), (1, 2, 3, 3))
"""Level of the price: [buying][maint]."""

COMFORT = (
    ((0, 0, 0), (1, 1, 2), (0, 1, 2)),
    ((0, 0, 0), (1, 1, 2), (1, 2, 2)),
    ((0, 0, 0), (1, 2, 2), (1, 2, 2)),
    ((0, 0, 0), (1, 2, 2), (1, 2, 2)),
)
"""Level of the comfort: [doors][persons][lug_boot]."""

TECH = ((0, 0, 0), (0, 1, 2), (0, 2, 3))
"""Level of the technical side: [comfort][safety]."""

CAR = (
    ("unacc", "unacc", "unacc", "unacc"),
    ("unacc", "unacc", "acc", "acc"),
    ("unacc", "acc", "acc", "vgood"),
    ("unacc", "acc", "good", "vgood"),
)
"""The class: [price][tech]."""


def judge(buying: int, maint: int, doors: int, persons: int, lug_boot: int, safety: int) -> str:
    """Class of the car with these levels."""
    return CAR[PRICE[buying][maint]][TECH[COMFORT[doors][persons][lug_boot]][safety]]


def text() -> str:
    """The whole file: the grid in the order of its attributes, the last one running fastest."""
    lines = [",".join([*ATTRIBUTES, "class"])]
    for levels in product(*(range(len(names)) for names in ATTRIBUTES.values())):
        names = [ATTRIBUTES[attribute][level] for attribute, level in zip(ATTRIBUTES, levels, strict=True)]
        lines.append(",".join([*names, judge(*levels)]))
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    Path(__file__).with_name("car.csv").write_text(text(), encoding="utf-8", newline="\n")
