"""The settings of independent columns as widgets."""

from __future__ import annotations

import streamlit as st

from dpsyn.kit import categories
from dpsyn.kit.visit import Dataset
from dpsyn.mechanisms.base import Config
from dpsyn.mechanisms.independent import Independent
from dpsyn.privacy.spec import PrivacySpec


def form(current: Dataset, epsilon: float, delta: float) -> tuple[Config, PrivacySpec]:
    """Settings of independent columns."""
    settings, spec = categories.settings(current, "independent", epsilon, delta)
    degree = st.slider(
        "Columns of a table",
        1,
        3,
        1,
        key="independent_columns",
        bind="query-params",
        help="With more than one, noisy tables of all such sets are released, as in Barak et al. (2007), and rows changed "
        "until theirs are near. Both can be downloaded.",
    )
    return Independent(**settings, degree=degree), spec
