"""DualQuery (Gaboardi et al. 2014): queries that the rows answer badly are drawn with noise, and a row is found for them."""

from dpsyn.mechanisms.dual_query.mechanism import DualQuery, DualQueryMechanism

__all__ = ["DualQuery", "DualQueryMechanism"]
