"""Inside DP-CDA: what the mechanism does to the data at hand. For teaching: it reads private rows."""

from __future__ import annotations

import streamlit as st

from dpsyn.ui.state import Dataset


def mixing(current: Dataset) -> None:
    """The panels of DP-CDA."""
    st.caption(f"Nothing to see here yet for {current.table.n:,} rows.")
