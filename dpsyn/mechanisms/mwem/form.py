"""The settings of MWEM as widgets."""

from __future__ import annotations

from collections.abc import Mapping

import streamlit as st

from dpsyn.kit import categories, widgets
from dpsyn.kit.visit import Dataset
from dpsyn.mechanisms.base import Config
from dpsyn.mechanisms.mwem import MWEM
from dpsyn.mechanisms.mwem.mechanism import MOST_ROUNDS, Measured, Output
from dpsyn.privacy.spec import PrivacySpec

_MEASURED: Mapping[Measured, str] = {"tables": "a whole table", "cells": "one cell (the paper)"}
_OUTPUT: Mapping[Output, str] = {
    "last": "the density after the last round",
    "average": "the average over all rounds (the paper)",
}


def form(current: Dataset, epsilon: float, delta: float) -> tuple[Config, PrivacySpec]:
    """Settings of MWEM."""
    settings, spec = categories.settings(current, "mwem", epsilon, delta)
    left, right = st.columns(2, gap="medium")
    with left:
        degree = widgets.degree_slider()
        measured = widgets.pick("A round measures", _MEASURED, key="mwem_measured")
        best = st.toggle(
            "T: the usual",
            True,
            key="mwem_best",
            bind="query-params",
            help="Two rounds a column; with cells the T at which the theorem's bound is smallest.",
        )
        rounds = st.number_input("T (rounds)", 1, MOST_ROUNDS, 20, key="mwem_rounds", disabled=best, bind="query-params")
    with right:
        replays = st.slider(
            "Re-use of all measurements in a round",
            0,
            20,
            10,
            key="mwem_replays",
            bind="query-params",
            help="Costs no privacy and helps; the paper's theorem is about 0.",
        )
        start = st.slider(
            "Share of the budget for a noisy start",
            0.0,
            0.9,
            0.0,
            0.05,
            key="mwem_start",
            bind="query-params",
            help="Noise on the count of every possible row, in place of equal weights. It helps where there are few.",
        )
        output = widgets.pick("Rows are drawn from", _OUTPUT, key="mwem_output")
    config = MWEM(
        **settings,
        degree=degree,
        measured=measured,
        rounds=None if best else int(rounds),
        replays=replays,
        start_share=start,
        output=output,
    )
    return config, spec
