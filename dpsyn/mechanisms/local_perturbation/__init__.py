"""Local perturbation (Fukuchi, Tran, Sakuma 2017): every record with Gaussian noise of its own."""

from dpsyn.mechanisms.local_perturbation.mechanism import LocalPerturbation, LocalPerturbationMechanism

__all__ = ["LocalPerturbation", "LocalPerturbationMechanism"]
