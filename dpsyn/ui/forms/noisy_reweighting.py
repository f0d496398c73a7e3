"""The settings of noisy reweighting as widgets."""

from __future__ import annotations

import streamlit as st

from dpsyn.mechanisms.base import Config
from dpsyn.mechanisms.noisy_reweighting import Noise, NoisyReweighting, ReducedSpace, Statistics
from dpsyn.privacy.spec import PrivacySpec
from dpsyn.ui import widgets
from dpsyn.ui.state import Dataset

_NOISE: tuple[Noise, ...] = ("laplace", "gaussian")
_STATISTICS: tuple[Statistics, ...] = ("auto", "walsh", "contingency")
_SPACES: tuple[ReducedSpace, ...] = ("uniform", "marginals")


def noisy_reweighting(current: Dataset) -> tuple[Config, PrivacySpec]:
    """Settings of noisy reweighting; pure ε with Laplace noise."""
    left, right = st.columns(2, gap="medium")
    with left:
        epsilon = widgets.epsilon_slider("nr_epsilon", persist_state="session")
        degree = st.slider("d (degree of the statistics)", 1, 3, 2, key="nr_degree", persist_state="session")
        rows = st.number_input("k (rows)", 1, 1_000_000, current.parts[0].n, key=f"nr_rows_{current.revision}")
        noise = st.segmented_control(
            "Noise",
            _NOISE,
            default="laplace",
            required=True,
            format_func=str.title,
            key="nr_noise",
            persist_state="session",
            help="Laplace is the paper's and gives pure ε; Gaussian needs δ.",
        )
        delta = widgets.delta_slider("nr_delta", persist_state="session") if noise == "gaussian" else 0.0
    with right:
        statistics = st.selectbox(
            "Statistics",
            _STATISTICS,
            key="nr_statistics",
            persist_state="session",
            format_func={
                "auto": "The better family here",
                "walsh": "Walsh functions",
                "contingency": "Contingency tables",
            }.__getitem__,
        )
        space = st.selectbox(
            "Reduced space drawn from",
            _SPACES,
            key="nr_space",
            persist_state="session",
            format_func={
                "uniform": "the uniform measure (the paper)",
                "marginals": "a product of private one-way marginals",
            }.__getitem__,
        )
        share = 0.2
        if space == "marginals":
            share = st.slider(
                "Share of the budget for these marginals", 0.05, 0.95, 0.2, 0.05, key="nr_share", persist_state="session"
            )
        default = st.toggle("Reduced space size m: the default", True, key="nr_default_m", persist_state="session")
        m = st.number_input(
            "m (points of the reduced space)", 10, 100_000, 3000, key="nr_m", disabled=default, persist_state="session"
        )
    config = NoisyReweighting(
        degree=degree,
        statistics=statistics,
        noise=noise,
        rows=int(rows),
        reduced_space=space,
        marginal_share=share,
        reduced_space_size=None if default else int(m),
    )
    return config, PrivacySpec(epsilon, delta)
