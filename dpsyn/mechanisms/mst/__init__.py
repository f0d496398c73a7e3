"""MST (McKenna, Miklau, Sheldon 2021): noisy tables of one column, of the pairs on a tree, and the model that they fix."""

from dpsyn.mechanisms.mst.mechanism import MST, MSTMechanism

__all__ = ["MST", "MSTMechanism"]
