"""DP-MERF (Harder, Adamczewski, Park 2021): one noisy mean embedding for each class, and rows that have nearly the same."""

from dpsyn.mechanisms.dp_merf.mechanism import DPMERF, DPMERFMechanism

__all__ = ["DPMERF", "DPMERFMechanism"]
