"""Inside DP-CDA: what the mechanism does to the data at hand. For teaching: it reads private rows."""

from __future__ import annotations

from collections.abc import Callable

import streamlit as st

from dpsyn.errors import DpsynError
from dpsyn.kit import screen, widgets
from dpsyn.kit.panel import empty
from dpsyn.kit.visit import Dataset
from dpsyn.mechanisms.dp_cda.panels import _code as code
from dpsyn.mechanisms.dp_cda.panels._audit import audit
from dpsyn.mechanisms.dp_cda.panels._controls import Bench, choose
from dpsyn.mechanisms.dp_cda.panels._noise import noise
from dpsyn.mechanisms.dp_cda.panels._order import order
from dpsyn.mechanisms.dp_cda.panels._paper import paper
from dpsyn.mechanisms.dp_cda.panels._pictures import pictures

VIEWS: dict[str, Callable[[Bench], None]] = {
    "Noise and budget": noise,
    "What mixing does": pictures,
    "Order of mixture": order,
    "Against the paper": paper,
    "Audit": audit,
}


def inside(current: Dataset) -> None:
    """The panels of DP-CDA: sliders that all of them share, and one view of them at a time."""

    @st.fragment
    def live() -> None:
        try:
            bench = choose(current)
        except DpsynError as fault:
            empty(widgets.humanise(str(fault)))
            return
        if bench is None:
            return
        chosen = st.segmented_control(
            "View",
            list(VIEWS),
            default=next(iter(VIEWS)),
            required=True,
            key="in_cda_view",
            label_visibility="collapsed",
            bind="query-params",
        )
        screen.offer(lambda: code.noise(bench))  # a view that shows something else offers its own
        VIEWS[chosen](bench)

    live()
