"""Inside private sampling: what the mechanism does to the data at hand. For teaching: most of it reads private rows."""

from dpsyn.mechanisms.private_sampling.panels.sections import inside

__all__ = ["inside"]
