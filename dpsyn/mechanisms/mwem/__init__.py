"""MWEM (Hardt, Ligett, McSherry 2012): choose the cell that is furthest off, measure it with noise, reweight; again."""

from dpsyn.mechanisms.mwem.mechanism import MWEM, MWEMMechanism

__all__ = ["MWEM", "MWEMMechanism"]
