"""What Theorem 2.2 promises of MWEM, for the lesson that sets promises beside measurements."""

from dpsyn.mechanisms.mwem.mechanism import MWEM
from dpsyn.mechanisms.mwem.theorems import verdict
from dpsyn.privacy.spec import PrivacySpec
from dpsyn.statistics import DatasetStatistics


def promised(stats: DatasetStatistics, epsilon: float, degree: int) -> tuple[MWEM, float]:
    """Twenty rounds of cells, and the largest error of a cell that the theorem promises at its best T, as a share of n."""
    facts = verdict(stats, PrivacySpec(epsilon), degree=degree).facts
    return MWEM(degree=degree, measured="cells", rounds=20), float(facts["cell_error"])
