"""The settings of the whole table as widgets."""

from __future__ import annotations

from collections.abc import Mapping

import streamlit as st

from dpsyn.kit import categories
from dpsyn.kit.visit import Dataset
from dpsyn.mechanisms.base import Config
from dpsyn.mechanisms.contingency import Contingency
from dpsyn.mechanisms.contingency.mechanism import Cells
from dpsyn.privacy.spec import PrivacySpec

_CELLS: Mapping[Cells, str] = {
    "auto": "all cells, if there are few",
    "all": "all cells",
    "present": "the cells that have rows, above a threshold",
}


def form(current: Dataset, epsilon: float, delta: float) -> tuple[Config, PrivacySpec]:
    """Settings of the whole table."""
    settings, spec = categories.settings(current, "contingency", epsilon, delta)
    cells = st.selectbox(
        "Noise goes on", list(_CELLS), format_func=_CELLS.__getitem__, key="contingency_cells", bind="query-params"
    )
    return Contingency(**settings, cells=cells), spec
