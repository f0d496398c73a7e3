"""The sections of private sampling's page: reduced space, λ, density, privacy, time."""

from __future__ import annotations

from collections.abc import Callable

import streamlit as st

from dpsyn.ui import share
from dpsyn.ui.inside.sampling import code
from dpsyn.ui.inside.sampling.controls import Settings, choose
from dpsyn.ui.inside.sampling.density import show_density
from dpsyn.ui.inside.sampling.privacy import show_privacy
from dpsyn.ui.inside.sampling.shrinkage import show_shrinkage
from dpsyn.ui.inside.sampling.space import show_space
from dpsyn.ui.inside.sampling.timing import show_timing
from dpsyn.ui.state import Dataset

SECTIONS: dict[str, Callable[[Dataset, Settings], None]] = {
    "1 · Reduced space": show_space,
    "2 · Why λ": show_shrinkage,
    "3 · Density": show_density,
    "4 · Privacy": show_privacy,
    "5 · Time": show_timing,
}


@st.fragment
def sampling(current: Dataset) -> None:
    """The panels of private sampling; a slider redraws them in place."""
    settings = choose(current)
    if settings is None:
        return
    section = st.segmented_control(
        "Step", list(SECTIONS), default=next(iter(SECTIONS)), required=True, key="is_section", bind="query-params",
        label_visibility="collapsed",
    )  # fmt: skip
    share.offer(lambda: code.space(current, settings))  # a section that shows more offers its own
    SECTIONS[section](current, settings)
