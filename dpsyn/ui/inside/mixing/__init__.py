"""Inside DP-CDA: what the mechanism does to the data at hand. For teaching: it reads private rows."""

from __future__ import annotations

from collections.abc import Callable

import streamlit as st

from dpsyn.errors import DpsynError
from dpsyn.ui import share, widgets
from dpsyn.ui.inside._panel import empty
from dpsyn.ui.inside.mixing import _code as code
from dpsyn.ui.inside.mixing._audit import audit
from dpsyn.ui.inside.mixing._controls import Bench, choose
from dpsyn.ui.inside.mixing._noise import noise
from dpsyn.ui.inside.mixing._order import order
from dpsyn.ui.inside.mixing._paper import paper
from dpsyn.ui.inside.mixing._pictures import pictures
from dpsyn.ui.state import Dataset

VIEWS: dict[str, Callable[[Bench], None]] = {
    "Noise and budget": noise,
    "What mixing does": pictures,
    "Order of mixture": order,
    "Against the paper": paper,
    "Audit": audit,
}


def mixing(current: Dataset) -> None:
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
        share.offer(lambda: code.noise(bench))  # a view that shows something else offers its own
        VIEWS[chosen](bench)

    live()
