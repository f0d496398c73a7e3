"""The settings of PrivBayes as widgets."""

from __future__ import annotations

import streamlit as st

from dpsyn.kit import categories
from dpsyn.kit.visit import Dataset
from dpsyn.mechanisms.base import Config
from dpsyn.mechanisms.privbayes import PrivBayes
from dpsyn.privacy.spec import PrivacySpec


def form(current: Dataset, epsilon: float, delta: float) -> tuple[Config, PrivacySpec]:
    """Settings of PrivBayes."""
    settings, spec = categories.settings(current, "privbayes", epsilon, delta)
    left, right = st.columns(2, gap="medium")
    parents = left.slider("Parents of a column", 1, 4, 3, key="privbayes_parents", bind="query-params")
    usefulness = right.slider(
        "θ (usefulness)",
        1.0,
        20.0,
        4.0,
        key="privbayes_usefulness",
        bind="query-params",
        help="How many times its noise an average count of a table is at least: larger means smaller tables.",
    )
    return PrivBayes(**settings, parents=parents, usefulness=usefulness), spec
