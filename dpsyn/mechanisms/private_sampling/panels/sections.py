"""The sections of private sampling's page: reduced space, λ, density, privacy, time."""

from __future__ import annotations

from collections.abc import Callable

import streamlit as st

from dpsyn.kit import screen
from dpsyn.kit.visit import Dataset
from dpsyn.mechanisms.private_sampling.panels import code
from dpsyn.mechanisms.private_sampling.panels.controls import Settings, choose
from dpsyn.mechanisms.private_sampling.panels.density import show_density
from dpsyn.mechanisms.private_sampling.panels.privacy import show_privacy
from dpsyn.mechanisms.private_sampling.panels.shrinkage import show_shrinkage
from dpsyn.mechanisms.private_sampling.panels.space import show_space
from dpsyn.mechanisms.private_sampling.panels.timing import show_timing

SECTIONS: dict[str, Callable[[Dataset, Settings], None]] = {
    "1 · Reduced space": show_space,
    "2 · Why λ": show_shrinkage,
    "3 · Density": show_density,
    "4 · Privacy": show_privacy,
    "5 · Time": show_timing,
}


@st.fragment
def inside(current: Dataset) -> None:
    """The panels of private sampling; a slider redraws them in place."""
    settings = choose(current)
    if settings is None:
        return
    section = st.segmented_control(
        "Step", list(SECTIONS), default=next(iter(SECTIONS)), required=True, key="is_section", bind="query-params",
        label_visibility="collapsed",
    )  # fmt: skip
    screen.offer(lambda: code.space(current, settings))  # a section that shows more offers its own
    SECTIONS[section](current, settings)
