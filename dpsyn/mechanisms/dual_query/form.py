"""The settings of DualQuery as widgets."""

from __future__ import annotations

import streamlit as st

from dpsyn.kit import categories
from dpsyn.kit.visit import Dataset
from dpsyn.mechanisms.base import Config
from dpsyn.mechanisms.dual_query import DualQuery
from dpsyn.privacy.spec import PrivacySpec

_COUNTS = [10, 20, 30, 50, 100, 200, 300, 500, 1_000]


def form(current: Dataset, epsilon: float, delta: float) -> tuple[Config, PrivacySpec]:
    """Settings of DualQuery."""
    settings, spec = categories.settings(current, "dual_query", epsilon, delta)
    left, right = st.columns(2, gap="medium")
    rounds = left.select_slider(
        "T (rounds)",
        _COUNTS,
        100,
        key="dual_query_rounds",
        bind="query-params",
        help="As many different rows are made. More rounds leave each of them less of the budget.",
    )
    samples = right.select_slider("s (queries of a round)", _COUNTS, 100, key="dual_query_samples", bind="query-params")
    return DualQuery(**settings, rounds=rounds, samples=samples), spec
