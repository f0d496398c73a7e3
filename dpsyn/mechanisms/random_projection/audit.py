"""Random projection under audit: one record, seen in one row, of one dimension: the projection may keep the worst."""

from functools import partial

from dpsyn.mechanisms.audit import Trial, audit_points
from dpsyn.mechanisms.random_projection.mechanism import RandomProjection
from dpsyn.privacy.spec import PrivacySpec


def worst_case(spec: PrivacySpec) -> Trial:
    """A record against another one; where one is added, it is in the row with probability 1/2."""
    return partial(audit_points, RandomProjection(rows=1), spec)
