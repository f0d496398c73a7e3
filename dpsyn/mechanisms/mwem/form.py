"""The settings of MWEM as widgets."""

from __future__ import annotations

from collections.abc import Mapping

import streamlit as st

from dpsyn.kit import bins, widgets
from dpsyn.kit.visit import Dataset
from dpsyn.mechanisms.base import Config
from dpsyn.mechanisms.mwem import MWEM
from dpsyn.mechanisms.mwem.mechanism import MOST_ROUNDS, Output
from dpsyn.privacy.spec import PrivacySpec

_OUTPUT: Mapping[Output, str] = {
    "last": "the density after the last round",
    "average": "the average over all rounds (the paper)",
}


def form(current: Dataset, epsilon: float, delta: float) -> tuple[Config, PrivacySpec]:
    """Settings of MWEM; pure ε: it leaves δ unused."""
    left, right = st.columns(2, gap="medium")
    n = current.parts[0].n
    with left:
        degree = widgets.degree_slider()
        rows = st.number_input(
            "k (rows)",
            1,
            max(1_000_000, n),
            n,
            key=f"mwem_rows_{current.tag}",
            **current.kept,
            help="As many as you like: rows cost no privacy here.",
        )
    with right:
        best = st.toggle(
            "T: the best of the theorem", True, key="mwem_best", bind="query-params", help="Where its bound is smallest."
        )
        rounds = st.number_input("T (rounds)", 1, MOST_ROUNDS, 20, key="mwem_rounds", disabled=best, bind="query-params")
        replays = st.slider(
            "Re-use of all measurements in a round",
            0,
            20,
            10,
            key="mwem_replays",
            bind="query-params",
            help="Costs no privacy and helps; the paper's theorem is about 0.",
        )
        output = st.selectbox(
            "Rows are drawn from", list(_OUTPUT), format_func=_OUTPUT.__getitem__, key="mwem_output", bind="query-params"
        )
        share = bins.histogram_share(current.table.domain, "mwem_histograms", 0.1, bind="query-params")
    config = MWEM(
        degree=degree,
        rounds=None if best else int(rounds),
        rows=None if rows == n else int(rows),
        replays=replays,
        output=output,
        histogram_share=share,
    )
    return config, PrivacySpec(epsilon)
