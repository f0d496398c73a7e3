"""The formulas behind the claim of independent columns."""

from dpsyn.theory.formulas import Paper
from dpsyn.theory.formulas import by_ledger as claim

__all__ = ["PAPER", "claim"]

PAPER = Paper(
    "Dwork, McSherry, Nissim, Smith 2006",
    "Calibrating noise to sensitivity in private data analysis",
    "https://doi.org/10.1007/11681878_14",
)
"""Where its noise stands."""
