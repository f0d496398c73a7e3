"""MWEM under audit: one round, in which the choice tells as much as the measurement."""

from functools import partial

from dpsyn.mechanisms.audit import Trial, audit_answers
from dpsyn.mechanisms.mwem.mechanism import MWEM
from dpsyn.privacy.spec import PrivacySpec


def worst_case(spec: PrivacySpec) -> Trial:
    """Tables of one column each, whose scores move in opposite ways; several rounds cost as much as one."""
    return partial(audit_answers, MWEM(degree=1, rounds=1), spec, rows=20)
