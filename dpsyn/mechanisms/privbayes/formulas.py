"""The formulas behind the claim of PrivBayes."""

from dpsyn.theory.formulas import Paper
from dpsyn.theory.formulas import by_ledger as claim

__all__ = ["PAPER", "claim"]

PAPER = Paper(
    "Zhang, Cormode, Procopiuc, Srivastava, Xiao 2017",
    "PrivBayes: Private data release via Bayesian networks",
    "https://doi.org/10.1145/3134428",
)
"""Where it stands."""
