"""Noisy reweighting: noise, accuracy and sizes by Theorems 2.2 and 2.3, as published and corrected, by four families."""

from __future__ import annotations

import streamlit as st

from dpsyn.ui.explorer.setting import Explorer
from dpsyn.ui.verdicts import show_verdict


def show(explorer: Explorer) -> None:
    """Draw the section."""
    show_verdict(explorer.verdict(explorer.focus).noisy_reweighting)
    st.caption("")
