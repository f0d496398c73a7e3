"""DP-CDA: ε against σ by three accountants, the σ that an ε needs, and which published claims fail."""

from __future__ import annotations

from typing import Any

import streamlit as st

from dpsyn.figures.dp_cda import (
    draw_epsilon_against_sigma,
    draw_sigma_needed,
    epsilon_against_sigma_info,
    sigma_needed_info,
)
from dpsyn.ui.explorer.setting import Explorer

_ORDERS = ((1, 4, 16), (4, 8, 16), (4, 16, 64), (8, 32, 128))


def show(explorer: Explorer) -> None:
    """Draw the section."""
    stats, focus = explorer.stats, explorer.focus
    largest = max(1, stats.n // focus.classes)
    left, middle, right = st.columns(3)
    size = left.number_input(
        "Smallest class N_k (public)", 1, largest, largest, key=f"f_class_{stats.name}_{largest}",
        help="n / K at most; state what is public knowledge.",
    )  # fmt: skip
    clip = middle.slider("c (largest norm of a record)", 0.1, 2.0, 1.0, 0.1, key="f_clip", bind="query-params")
    orders = right.selectbox("l in the picture", _ORDERS, 2, key="f_orders", format_func=lambda o: ", ".join(map(str, o)))
    facts: dict[str, Any] = {
        "n": stats.n,
        "classes": focus.classes,
        "smallest_class": int(size),
        "rows": explorer.rows,
        "delta": explorer.spec.delta,
        "clip_norm": clip,
    }
    with st.spinner("Accounting …"):
        against = _against(tuple(facts.items()), orders)
        needed = _needed(tuple(facts.items()), explorer.spec.epsilon)
    left, right = st.columns(2, gap="medium")
    left.altair_chart(draw_epsilon_against_sigma(against), key="epsilon_against_sigma")
    right.altair_chart(draw_sigma_needed(needed), key="sigma_needed")
    for note in needed.notes:
        st.caption(note)


@st.cache_data(max_entries=100, show_spinner=False, scope="session")
def _against(facts: tuple[tuple[str, Any], ...], orders: tuple[int, ...]) -> Any:
    return epsilon_against_sigma_info(**dict(facts), orders=orders)


@st.cache_data(max_entries=100, show_spinner=False, scope="session")
def _needed(facts: tuple[tuple[str, Any], ...], epsilon: float) -> Any:
    return sigma_needed_info(**dict(facts), epsilon=epsilon)
