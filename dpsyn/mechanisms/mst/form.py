"""The settings of MST as widgets."""

from __future__ import annotations

from dpsyn.kit import categories
from dpsyn.kit.visit import Dataset
from dpsyn.mechanisms.base import Config
from dpsyn.mechanisms.mst import MST
from dpsyn.privacy.spec import PrivacySpec


def form(current: Dataset, epsilon: float, delta: float) -> tuple[Config, PrivacySpec]:
    """Settings of MST."""
    settings, spec = categories.settings(current, "mst", epsilon, delta)
    return MST(**settings), spec
