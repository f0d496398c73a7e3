"""Local perturbation under audit: one record, seen in one row."""

from functools import partial

from dpsyn.mechanisms.audit import Trial, audit_points
from dpsyn.mechanisms.local_perturbation.mechanism import LocalPerturbation
from dpsyn.privacy.spec import PrivacySpec


def worst_case(spec: PrivacySpec) -> Trial:
    """A record against another one; where one is added, it is in the row with probability 1/2."""
    return partial(audit_points, LocalPerturbation(rows=1), spec)
