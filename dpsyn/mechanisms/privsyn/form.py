"""The settings of PrivSyn as widgets."""

from __future__ import annotations

import streamlit as st

from dpsyn.kit import categories
from dpsyn.kit.visit import Dataset
from dpsyn.mechanisms.base import Config
from dpsyn.mechanisms.privsyn import PrivSyn
from dpsyn.privacy.spec import PrivacySpec


def form(current: Dataset, epsilon: float, delta: float) -> tuple[Config, PrivacySpec]:
    """Settings of PrivSyn."""
    settings, spec = categories.settings(current, "privsyn", epsilon, delta)
    cells = st.select_slider(
        "γ (cells of a combined table)",
        [1, 300, 1_000, 3_000, 5_000, 10_000, 30_000],
        5_000,
        key="privsyn_cells",
        bind="query-params",
        help="Pairs that belong together are measured as one table of at most so many cells; 1 combines none.",
    )
    return PrivSyn(**settings, table_cells=cells), spec
