"""DualQuery under audit: the one round of two in which the rows are asked, on one column."""

from functools import partial

from dpsyn.mechanisms.audit import Trial, audit_answers
from dpsyn.mechanisms.dual_query.mechanism import DualQuery
from dpsyn.privacy.spec import PrivacySpec


def worst_case(spec: PrivacySpec) -> Trial:
    """Of one column a replaced row moves the scores of all queries; of more columns it moves those of fewer."""
    return partial(audit_answers, DualQuery(rounds=2), spec, columns=1)
