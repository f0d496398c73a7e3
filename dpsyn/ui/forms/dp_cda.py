"""The settings of DP-CDA as widgets."""

from __future__ import annotations

import streamlit as st

from dpsyn.errors import ParameterError
from dpsyn.mechanisms.base import Config
from dpsyn.mechanisms.dp_cda import DPCDA
from dpsyn.privacy.spec import PrivacySpec
from dpsyn.ui import widgets
from dpsyn.ui.state import Dataset


def dp_cda(current: Dataset) -> tuple[Config, PrivacySpec]:
    """Settings of DP-CDA; needs δ > 0 and a target."""
    left, right = st.columns(2, gap="medium")
    with left:
        epsilon = widgets.epsilon_slider("cda_epsilon", value=3.16, persist_state="session")
        delta = widgets.delta_slider("cda_delta", persist_state="session")
        order = st.select_slider(
            "l (order of mixture)",
            (1, 2, 4, 8, 16, 32, 64, 128, 256, 512),
            8,
            key="cda_order",
            persist_state="session",
            help="How many records of a class are averaged into one synthetic row.",
        )
        rows = st.number_input(
            "T (rows in all, shared equally among the classes)",
            1,
            1_000_000,
            min(current.parts[0].n, 1000),
            key=f"cda_rows_{current.revision}",
            help="Every further row costs privacy: fewer rows need less noise.",
        )
    with right:
        options = list(current.classes)
        target = st.selectbox(
            "Class",
            options,
            index=options.index(current.target) if current.target in options else None,
            key=f"cda_target_{current.revision}",
            placeholder="No column has 2 to 50 categories and no empty cells",
        )
        estimate = st.toggle(
            "Estimate the class sizes privately",
            True,
            key="cda_estimate",
            persist_state="session",
            help="Otherwise state a lower bound that is public knowledge.",
        )
        if estimate:
            share = st.slider(
                "Share of ε for the class sizes", 0.02, 0.5, 0.1, 0.02, key="cda_share", persist_state="session"
            )
            sizes = None
        else:
            share = 0.1
            sizes = int(
                st.number_input(
                    "Public lower bound on every class's size", 1, 10_000_000, 100, key="cda_sizes", persist_state="session"
                )
            )
        clip = st.slider("c (largest norm of a record)", 0.1, 1.0, 1.0, 0.05, key="cda_clip", persist_state="session")
    if target is None:
        raise ParameterError("target", None, "DP-CDA needs a class: a column with 2 to 50 categories and no empty cells")
    config = DPCDA(
        target=target, order_of_mixture=order, rows=int(rows), class_sizes=sizes, count_share=share, clip_norm=clip
    )
    return config, PrivacySpec(epsilon, delta)
