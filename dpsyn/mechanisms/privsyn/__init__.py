"""PrivSyn (Zhang et al. 2021): many noisy tables that are made to agree, and rows that are changed until they have them."""

from dpsyn.mechanisms.privsyn.mechanism import PrivSyn, PrivSynMechanism

__all__ = ["PrivSyn", "PrivSynMechanism"]
