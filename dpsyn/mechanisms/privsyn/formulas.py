"""The formulas behind the claim of PrivSyn."""

from dpsyn.theory.formulas import Paper
from dpsyn.theory.formulas import by_ledger as claim

__all__ = ["PAPER", "claim"]

PAPER = Paper(
    "Zhang, Wang, Li, Honorio, Backes, He, Chen, Zhang 2021",
    "PrivSyn: Differentially private data synthesis",
    "https://arxiv.org/abs/2012.15128",
)
"""Where it stands."""
