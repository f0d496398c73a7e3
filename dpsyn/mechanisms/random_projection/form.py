"""The settings of random projection as widgets."""

from __future__ import annotations

import streamlit as st

from dpsyn.kit import points
from dpsyn.kit.visit import Dataset
from dpsyn.mechanisms.base import Config
from dpsyn.mechanisms.random_projection import RandomProjection
from dpsyn.privacy.spec import PrivacySpec


def form(current: Dataset, epsilon: float, delta: float) -> tuple[Config, PrivacySpec]:
    """Settings of random projection; needs δ > 0."""
    left, right = st.columns(2, gap="medium")
    with left:
        rows = points.rows(current, "random_projection", "Each record is in one row at most: more cost no privacy here.")
    kept = right.select_slider(
        "k (dimensions)",
        [0, 1, 2, 3, 5, 10, 20, 50, 100],
        0,
        format_func=lambda k: str(k or "half"),
        key="random_projection_dimension",
        bind="query-params",
        help="Fewer dimensions hold less of a record, and less noise.",
    )
    return RandomProjection(rows=rows, dimension=kept or None), PrivacySpec(epsilon, delta)
