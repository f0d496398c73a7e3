"""The formulas behind the claim of local perturbation."""

from dpsyn.theory.formulas import Paper
from dpsyn.theory.formulas import one_gaussian as claim

__all__ = ["PAPER", "claim"]

PAPER = Paper(
    "Fukuchi, Tran, Sakuma 2017",
    "Differentially private empirical risk minimization with input perturbation",
    "https://arxiv.org/abs/1710.07425",
)
"""Where it stands."""
