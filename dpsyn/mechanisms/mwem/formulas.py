"""The formulas behind the claim of MWEM."""

from dpsyn.theory.formulas import Paper
from dpsyn.theory.formulas import by_ledger as claim

__all__ = ["PAPER", "claim"]

PAPER = Paper(
    "Hardt, Ligett, McSherry 2012",
    "A simple and practical algorithm for differentially private data release",
    "https://arxiv.org/abs/1012.4763",
)
"""Where its theorems stand."""
