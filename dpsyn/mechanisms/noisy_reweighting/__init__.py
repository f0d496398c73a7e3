"""Noisy reweighting (Boedihardjo, Strohmer, Vershynin 2021b): noisy statistics, then a density on a reduced space."""

from dpsyn.mechanisms.noisy_reweighting._config import (
    Allocation,
    Noise,
    NoisyReweighting,
    Objective,
    ReducedSpace,
    Rounding,
    Statistics,
)
from dpsyn.mechanisms.noisy_reweighting._ledger import FLOATING_POINT, Ledger, Part
from dpsyn.mechanisms.noisy_reweighting._mechanism import NoisyReweightingMechanism

__all__ = [
    "FLOATING_POINT",
    "Allocation",
    "Ledger",
    "Noise",
    "NoisyReweighting",
    "NoisyReweightingMechanism",
    "Objective",
    "Part",
    "ReducedSpace",
    "Rounding",
    "Statistics",
]
