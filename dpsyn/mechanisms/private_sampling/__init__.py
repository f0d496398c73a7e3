"""Private sampling (Boedihardjo, Strohmer, Vershynin 2021a): a few rows drawn from a density squeezed into a public box."""

from dpsyn.mechanisms.private_sampling._config import (
    BOX_ASSUMPTION,
    DEGENERATE_SOURCE,
    EXACT_ASSUMPTION,
    MOST_ROWS,
    RATIO_SOURCE,
    THEOREM_SOURCE,
    PrivateSampling,
)
from dpsyn.mechanisms.private_sampling._mechanism import PrivateSamplingMechanism
from dpsyn.mechanisms.private_sampling.certificates import IGNORES_DATA

__all__ = [
    "BOX_ASSUMPTION",
    "DEGENERATE_SOURCE",
    "EXACT_ASSUMPTION",
    "IGNORES_DATA",
    "MOST_ROWS",
    "RATIO_SOURCE",
    "THEOREM_SOURCE",
    "PrivateSampling",
    "PrivateSamplingMechanism",
]
