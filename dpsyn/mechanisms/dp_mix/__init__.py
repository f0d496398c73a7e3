"""DP-Mix (Lee et al. 2019): each row is the average of l records of any class, labels with them, and Gaussian noise."""

from dpsyn.mechanisms.dp_mix.mechanism import DPMix, DPMixMechanism

__all__ = ["DPMix", "DPMixMechanism"]
