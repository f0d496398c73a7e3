"""The whole contingency table: noise on every cell, or on those that have rows, with a threshold."""

from dpsyn.mechanisms.contingency.mechanism import Contingency, ContingencyMechanism

__all__ = ["Contingency", "ContingencyMechanism"]
