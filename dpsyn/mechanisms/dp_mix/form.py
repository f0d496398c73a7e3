"""The settings of DP-Mix as widgets."""

from __future__ import annotations

import streamlit as st

from dpsyn.kit import points
from dpsyn.kit.visit import Dataset
from dpsyn.mechanisms.base import Config
from dpsyn.mechanisms.dp_mix import DPMix
from dpsyn.privacy.spec import PrivacySpec


def form(current: Dataset, epsilon: float, delta: float) -> tuple[Config, PrivacySpec]:
    """Settings of DP-Mix; needs δ > 0."""
    left, right = st.columns(2, gap="medium")
    with left:
        rows = points.rows(current, "dp_mix", "Fewer rows need less noise each.")
    order = right.select_slider(
        "l (order of mixture)",
        [1, 2, 4, 8, 16, 32, 64],
        4,
        key="dp_mix_order",
        bind="query-params",
        help="How many records are averaged into one row: more need less noise and keep less.",
    )
    return DPMix(rows=rows, order_of_mixture=order), PrivacySpec(epsilon, delta)
