"""The settings of private sampling as widgets."""

from __future__ import annotations

import streamlit as st

from dpsyn.mechanisms.base import Config
from dpsyn.mechanisms.private_sampling import PrivateSampling
from dpsyn.privacy.spec import PrivacySpec
from dpsyn.ui import widgets
from dpsyn.ui.state import Dataset


def private_sampling(current: Dataset) -> tuple[Config, PrivacySpec]:
    """Settings of private sampling; pure ε."""
    left, right = st.columns(2, gap="medium")
    with left:
        epsilon = widgets.epsilon_slider("ps_epsilon", value=3.16, persist_state="session")
        degree = st.slider("d (degree of the marginals)", 1, 3, 2, key="ps_degree", persist_state="session")
        limit = st.toggle("As many rows as the guarantee allows", True, key="ps_most", persist_state="session")
        rows = st.number_input("k (rows)", 1, 100_000, 1, key="ps_rows", disabled=limit, persist_state="session")
    with right:
        floor = st.slider(
            "floor (the papers' δ)",
            0.01,
            0.5,
            0.25,
            0.01,
            key="ps_floor",
            persist_state="session",
            help="Smallest density allowed, relative to uniform. Large is private, small is accurate.",
        )
        ceiling = st.slider(
            "ceiling (the papers' Δ)",
            1.05,
            10.0,
            2.0,
            0.05,
            key="ps_ceiling",
            persist_state="session",
            help="Largest density allowed, relative to uniform. Choose it without looking at the data.",
        )
        whole = st.toggle(
            "Reduced space S: the default",
            True,
            key="ps_whole",
            persist_state="session",
            help="The whole domain when it is small enough, otherwise independent uniform draws.",
        )
        m = st.number_input("m (points of S)", 10, 200_000, 2000, key="ps_m", disabled=whole, persist_state="session")
    config = PrivateSampling(
        degree=degree,
        floor=floor,
        ceiling=ceiling,
        rows=None if limit else int(rows),
        reduced_space_size=None if whole else int(m),
    )
    return config, PrivacySpec(epsilon)
