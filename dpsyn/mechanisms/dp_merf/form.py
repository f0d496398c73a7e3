"""The settings of DP-MERF as widgets."""

from __future__ import annotations

import streamlit as st

from dpsyn.kit import categories
from dpsyn.kit.visit import Dataset
from dpsyn.mechanisms.base import Config
from dpsyn.mechanisms.dp_merf import DPMERF
from dpsyn.privacy.spec import PrivacySpec


def form(current: Dataset, epsilon: float, delta: float) -> tuple[Config, PrivacySpec]:
    """Settings of DP-MERF; its classes are those of the column that is predicted."""
    left, right = st.columns(2, gap="medium")
    with left:
        rows = categories.rows(current, "dp_merf")
    with right:
        neighbouring = categories.neighbours("dp_merf")
    features = st.select_slider(
        "D (features of the numbers)",
        [100, 300, 1_000, 3_000],
        1_000,
        key="dp_merf_features",
        bind="query-params",
        help="More say more of the numbers, each with the same noise.",
    )
    return DPMERF(target=current.target, features=features, rows=rows), PrivacySpec(epsilon, delta, neighbouring)
