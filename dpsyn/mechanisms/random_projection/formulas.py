"""The formulas behind the claim of random projection."""

from dpsyn.theory.formulas import one_gaussian as claim

__all__ = ["claim"]
