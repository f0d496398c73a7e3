"""Independent columns, what everybody has to beat: noisy tables of one column each, and rows drawn from each of them.

With more columns it is the release of Barak et al. (2007): a set of tables that some rows have.
"""

from dpsyn.mechanisms.independent.mechanism import Independent, IndependentMechanism

__all__ = ["Independent", "IndependentMechanism"]
