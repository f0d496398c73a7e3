"""The formulas behind the claim of MST."""

from dpsyn.theory.formulas import Paper
from dpsyn.theory.formulas import by_ledger as claim

__all__ = ["PAPER", "claim"]

PAPER = Paper(
    "McKenna, Miklau, Sheldon 2021",
    "Winning the NIST Contest: A scalable and general approach to differentially private synthetic data",
    "https://arxiv.org/abs/2108.04978",
)
"""Where it stands."""
