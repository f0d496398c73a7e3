"""Inside noisy reweighting: what the mechanism does to the data at hand. For teaching: most of it reads private rows."""

from __future__ import annotations

from collections.abc import Callable

import streamlit as st

from dpsyn.errors import DpsynError
from dpsyn.kit import widgets
from dpsyn.kit.panel import empty
from dpsyn.kit.visit import Dataset
from dpsyn.mechanisms.noisy_reweighting.panels import views
from dpsyn.mechanisms.noisy_reweighting.panels.bench import Bench, choose

VIEWS: dict[str, Callable[[Bench], None]] = {
    "Noise and budget": views.noise,
    "Fitted statistics": views.fitted,
    "Support and rows": views.support,
    "Audit": views.audit,
}


def inside(current: Dataset) -> None:
    """The panels of noisy reweighting: sliders that all of them share, and one view of them at a time."""

    @st.fragment
    def live() -> None:
        try:
            bench = choose(current)
        except DpsynError as fault:
            empty(widgets.humanise(str(fault)))
            return
        if bench is None:
            return
        view = st.segmented_control(
            "View",
            list(VIEWS),
            default=next(iter(VIEWS)),
            required=True,
            key="in_nr_view",
            label_visibility="collapsed",
            bind="query-params",
        )
        VIEWS[view](bench)

    live()
