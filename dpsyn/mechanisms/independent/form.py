"""The settings of independent columns as widgets."""

from __future__ import annotations

from dpsyn.kit import categories
from dpsyn.kit.visit import Dataset
from dpsyn.mechanisms.base import Config
from dpsyn.mechanisms.independent import Independent
from dpsyn.privacy.spec import PrivacySpec


def form(current: Dataset, epsilon: float, delta: float) -> tuple[Config, PrivacySpec]:
    """Settings of independent columns."""
    settings, spec = categories.settings(current, "independent", epsilon, delta)
    return Independent(**settings), spec
