"""The settings of AIM as widgets."""

from __future__ import annotations

import streamlit as st

from dpsyn.kit import categories
from dpsyn.kit.visit import Dataset
from dpsyn.mechanisms.aim import AIM
from dpsyn.mechanisms.base import Config
from dpsyn.privacy.spec import PrivacySpec


def form(current: Dataset, epsilon: float, delta: float) -> tuple[Config, PrivacySpec]:
    """Settings of AIM."""
    settings, spec = categories.settings(current, "aim", epsilon, delta)
    size = st.select_slider(
        "Cells of the model",
        [1_000, 3_000, 10_000, 30_000, 100_000, 300_000, 1_000_000],
        100_000,
        key="aim_cells",
        bind="query-params",
        help="More keep more of the data, and take longer.",
    )
    return AIM(**settings, model_cells=size), spec
