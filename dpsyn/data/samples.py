"""Bundled datasets, each over a public domain that is written down here and was not read from its rows."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from dpsyn import checks
from dpsyn.attribute import Attribute
from dpsyn.data.read import read_table
from dpsyn.domain import Domain
from dpsyn.errors import DataError, quoted
from dpsyn.places import HOME
from dpsyn.table import Table


@dataclass(frozen=True)
class Sample:
    """A bundled dataset: ``target`` is the column that is usually predicted."""

    name: str
    title: str
    description: str
    target: str


SAMPLES: dict[str, Sample] = {
    sample.name: sample
    for sample in (
        Sample(
            "asia",
            "ASIA (chest clinic)",
            "20,000 rows drawn from the Bayesian network of Lauritzen and Spiegelhalter (1988): 8 yes/no columns.",
            "dysp",
        ),
        Sample(
            "car",
            "CAR (car evaluation)",
            "1,728 rows: all combinations of 6 attributes, classed by the expert model of Bohanec and Rajkovič (1988).",
            "class",
        ),
        Sample(
            "digits",
            "Digits (8 × 8 pixels)",
            "1,797 handwritten digits as 64 whole numbers from 0 to 16 (UCI; bundled with scikit-learn).",
            "digit",
        ),
        Sample(
            "breast_cancer",
            "Breast cancer (Wisconsin)",
            "569 biopsies with 30 measurements of cell nuclei (UCI; bundled with scikit-learn). The bounds are ours: the "
            "ranges that the dataset's documentation lists, rounded outwards.",
            "diagnosis",
        ),
    )
}
"""The bundled datasets by name."""

_TRUTH = ("no", "yes")
_ASIA = ("asia", "tub", "smoke", "lung", "bronc", "either", "xray", "dysp")
_CAR = {
    "buying": ("vhigh", "high", "med", "low"),
    "maint": ("vhigh", "high", "med", "low"),
    "doors": ("2", "3", "4", "5more"),
    "persons": ("2", "4", "more"),
    "lug_boot": ("small", "med", "big"),
    "safety": ("low", "med", "high"),
    "class": ("unacc", "acc", "good", "vgood"),
}

# Documented range of the mean, the standard error and the worst value of each measurement, rounded outwards by us.
_NUCLEI = {
    "radius": ((5, 30), (0, 3), (5, 40)),
    "texture": ((5, 40), (0, 5), (10, 50)),
    "perimeter": ((40, 200), (0, 25), (50, 260)),
    "area": ((100, 2600), (0, 600), (100, 4500)),
    "smoothness": ((0.05, 0.2), (0, 0.04), (0.05, 0.25)),
    "compactness": ((0, 0.4), (0, 0.15), (0, 1.2)),
    "concavity": ((0, 0.5), (0, 0.4), (0, 1.5)),
    "concave points": ((0, 0.25), (0, 0.06), (0, 0.3)),
    "symmetry": ((0.1, 0.35), (0, 0.1), (0.1, 0.7)),
    "fractal dimension": ((0.04, 0.1), (0, 0.03), (0.05, 0.25)),
}


def load_sample(name: str) -> Table:
    """A bundled dataset by its name in :data:`SAMPLES`; every attribute is public.

    Raises:
        ParameterError: there is no such sample.
        DataError: the bundled file is not where it should be.
    """
    return _loaded(checks.choice("name", name, SAMPLES))


@cache
def _loaded(name: str) -> Table:
    """Read once: nobody can change a table."""
    return _LOADERS[name]()


def _asia() -> Table:
    return read_table(_file("asia.csv"), domain=Domain.of(Attribute(c, "truth", _TRUTH, public=True) for c in _ASIA))


def _car() -> Table:
    domain = Domain.of(Attribute(c, "categorical", values, public=True) for c, values in _CAR.items())
    return read_table(_file("car.csv"), domain=domain)


def _file(name: str) -> Path:
    path = HOME / "sample_data" / name
    if not path.is_file():
        raise DataError(f"the bundled file {quoted(str(path))} is missing; install dpsyn again")
    return path


def _digits() -> Table:
    from sklearn.datasets import load_digits

    bunch = load_digits(as_frame=True)
    frame = bunch.data.astype("int64").assign(digit=bunch.target.astype("int64"))
    pixels = [Attribute(c, "numeric", lower=0, upper=16, bins=4, integer=True, public=True) for c in bunch.data.columns]
    domain = Domain.of([*pixels, Attribute("digit", "categorical", tuple(range(10)), public=True)])
    return read_table(frame, domain=domain, name="digits")


def _breast_cancer() -> Table:
    from sklearn.datasets import load_breast_cancer

    bunch = load_breast_cancer(as_frame=True)
    names = ("malignant", "benign")
    frame = bunch.data.assign(diagnosis=[names[code] for code in bunch.target])
    attributes = [
        Attribute(label.format(feature), "numeric", lower=lower, upper=upper, public=True)
        for column, label in enumerate(("mean {}", "{} error", "worst {}"))
        for feature, ranges in _NUCLEI.items()
        for lower, upper in [ranges[column]]
    ]
    domain = Domain.of([*attributes, Attribute("diagnosis", "categorical", names, public=True)])
    return read_table(frame, domain=domain, name="breast_cancer")


_LOADERS: dict[str, Callable[[], Table]] = {
    "asia": _asia,
    "car": _car,
    "digits": _digits,
    "breast_cancer": _breast_cancer,
}
