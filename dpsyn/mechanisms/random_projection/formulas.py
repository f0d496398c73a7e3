"""The formulas behind the claim of random projection."""

from dpsyn.theory.formulas import Paper
from dpsyn.theory.formulas import one_gaussian as claim

__all__ = ["PAPER", "claim"]

PAPER = Paper(
    "Xu, Ren, Zhang, Qin, Ren 2017",
    "DPPro: Differentially private high-dimensional data release via random projection",
    "https://doi.org/10.1109/TIFS.2017.2737966",
)
"""Where it stands."""
