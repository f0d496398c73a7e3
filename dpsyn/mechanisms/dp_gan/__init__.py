"""DP-GAN (Xie et al. 2018; Xu et al. 2019): a generator that learns from a critic, which sees rows through noise alone."""

from dpsyn.mechanisms.dp_gan.mechanism import DPGAN, DPGANMechanism

__all__ = ["DPGAN", "DPGANMechanism"]
