"""The formulas behind the claim of DualQuery."""

from dpsyn.theory.formulas import Paper
from dpsyn.theory.formulas import by_ledger as claim

__all__ = ["PAPER", "claim"]

PAPER = Paper(
    "Gaboardi, Gallego Arias, Hsu, Roth, Wu 2014",
    "Dual query: Practical private query release for high dimensional data",
    "https://arxiv.org/abs/1402.1526",
)
"""Where it stands."""
