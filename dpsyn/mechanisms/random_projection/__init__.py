"""Random projection (Xu et al. 2017): records in fewer dimensions, with noise there, and back."""

from dpsyn.mechanisms.random_projection.mechanism import RandomProjection, RandomProjectionMechanism

__all__ = ["RandomProjection", "RandomProjectionMechanism"]
