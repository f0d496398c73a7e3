"""The order of mixture: noise, signal, and the accuracy that a classifier reaches."""

from __future__ import annotations

import streamlit as st

from dpsyn.figures.dp_cda import draw_sigma_needed, sigma_needed_info
from dpsyn.figures.mixing.order import draw_order, order_info
from dpsyn.ui.inside._panel import panel
from dpsyn.ui.inside.mixing._controls import Bench


def order(bench: Bench) -> None:
    """Two columns of theory, and below them the measurement."""
    left, right = st.columns(2, gap="medium")
    with left:
        _needed(bench)
    with right:
        _signal(bench)


def _needed(bench: Bench) -> None:
    with panel(
        "Noise that l needs", True, "More records in an average, less noise: a single one moves the average by 2c/l."
    ):
        info = sigma_needed_info(
            epsilon=bench.epsilon,
            n=bench.facts.n,
            classes=bench.facts.classes,
            smallest_class=bench.facts.smallest_class,
            rows=bench.facts.rows,
            delta=bench.delta,
            clip_norm=bench.clip_norm,
            here=(bench.order_of_mixture, bench.sigma),
        )
        st.altair_chart(draw_sigma_needed(info), key="in_cda_needed")
        for note in info.notes:
            st.caption(note)


def _signal(bench: Bench) -> None:
    caption = "What tells classes apart gains from every l; the variety inside a class is averaged away in the end."
    with panel("What is left of the records", True, caption):
        info = order_info(bench.records, bench.facts, epsilon=bench.epsilon, here=bench.order_of_mixture)
        st.altair_chart(draw_order(info), key="in_cda_signal")
        if info.best is not None:
            st.caption(
                f"The variety inside classes stands out most at l = {info.best}. That l follows from public numbers: the "
                "records' own variance only lifts the curve, it does not move its top."
            )
