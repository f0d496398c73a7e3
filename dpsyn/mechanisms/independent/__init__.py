"""Independent columns: noisy tables of one column each, and rows drawn from each of them. What everybody has to beat."""

from dpsyn.mechanisms.independent.mechanism import Independent, IndependentMechanism

__all__ = ["Independent", "IndependentMechanism"]
