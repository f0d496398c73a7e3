"""The order of mixture: noise, signal, and the accuracy that a classifier reaches."""

from __future__ import annotations

import streamlit as st

from dpsyn.figures.mixing.order import OrderInfo, draw_needed, draw_order, order_info
from dpsyn.ui.inside._panel import panel
from dpsyn.ui.inside.mixing._controls import Bench


def order(bench: Bench) -> None:
    """Two columns of theory, and below them the measurement."""
    with st.spinner("Accounting …"):
        info = order_info(bench.records, bench.sizes, epsilon=bench.epsilon, here=bench.order_of_mixture)
    left, right = st.columns(2, gap="medium")
    with left:
        _needed(bench, info)
    with right:
        _signal(info)


def _needed(bench: Bench, info: OrderInfo) -> None:
    caption = "More records in an average, less noise: one record moves it by 2c/l (by c/l in a Poisson sum)."
    with panel("Noise that l needs", True, caption):
        st.altair_chart(draw_needed(info), key="in_cda_needed")
        st.caption(f"No row can average more than the {bench.sizes.smallest:,} records of the smallest class.")


def _signal(info: OrderInfo) -> None:
    caption = "What tells classes apart gains from every l; the variety inside a class is averaged away in the end."
    with panel("What is left of the records", True, caption):
        st.altair_chart(draw_order(info), key="in_cda_signal")
        if info.best is not None:
            st.caption(
                f"The variety inside classes stands out most at l = {info.best}. That l follows from public numbers: the "
                "records' own variance only lifts the curve, it does not move its top."
            )
