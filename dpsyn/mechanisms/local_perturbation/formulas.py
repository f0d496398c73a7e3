"""The formulas behind the claim of local perturbation."""

from dpsyn.theory.formulas import one_gaussian as claim

__all__ = ["claim"]
