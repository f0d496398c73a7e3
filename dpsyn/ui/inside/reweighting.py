"""Inside noisy reweighting: what the mechanism does to the data at hand. For teaching: it reads private rows."""

from __future__ import annotations

import streamlit as st

from dpsyn.ui.state import Dataset


def reweighting(current: Dataset) -> None:
    """The panels of noisy reweighting."""
    st.caption(f"Nothing to see here yet for {current.table.n:,} rows.")
