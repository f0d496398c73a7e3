"""The settings of PrivSyn as widgets."""

from __future__ import annotations

from itertools import combinations
from typing import Literal

import streamlit as st

from dpsyn.errors import ParameterError
from dpsyn.kit import categories, widgets
from dpsyn.kit.visit import Dataset
from dpsyn.mechanisms.base import Config
from dpsyn.mechanisms.privsyn import PrivSyn
from dpsyn.mechanisms.privsyn.mechanism import MOST_COLUMNS, Selection
from dpsyn.privacy.spec import PrivacySpec

_SELECTIONS: dict[Selection | Literal["named"], str] = {
    "dense_marg": "chosen by dependence and noise (DenseMarg)",
    "privbayes": "a network, one parent a column (PrivBayes)",
    "named": "pairs that I name",
}


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
    how = widgets.pick("Tables of several columns", _SELECTIONS, key="privsyn_selection")
    if how != "named":
        return PrivSyn(**settings, table_cells=cells, selection=how), spec
    pairs = list(combinations(current.table.domain.names[:MOST_COLUMNS], 2))
    chosen = st.multiselect(
        "Pairs", pairs, pairs[:1], format_func=" – ".join, key=f"privsyn_pairs_{current.tag}", **current.kept,
        help="Choose them by what you know without these rows: nothing is spent on choosing.",
    )  # fmt: skip
    if not chosen:
        raise ParameterError("selection", "no pair", "at least one pair of columns")
    return PrivSyn(**settings, table_cells=cells, selection=tuple(chosen)), spec
