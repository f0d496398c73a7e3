"""The settings of local perturbation as widgets."""

from __future__ import annotations

from dpsyn.kit import points
from dpsyn.kit.visit import Dataset
from dpsyn.mechanisms.base import Config
from dpsyn.mechanisms.local_perturbation import LocalPerturbation
from dpsyn.privacy.spec import PrivacySpec


def form(current: Dataset, epsilon: float, delta: float) -> tuple[Config, PrivacySpec]:
    """Settings of local perturbation; needs δ > 0."""
    rows = points.rows(current, "local_perturbation", "Each record is in one row at most: more cost no privacy here.")
    return LocalPerturbation(rows=rows), PrivacySpec(epsilon, delta)
