"""The z-score that breaks the published guarantee."""

from __future__ import annotations

import math
from collections.abc import Mapping
from functools import partial
from typing import Any

import streamlit as st

from dpsyn.kit import visit, widgets
from dpsyn.kit.code import arguments, imports_of, script
from dpsyn.kit.show import show_chart
from dpsyn.kit.visit import Dataset
from dpsyn.kit.widgets import empty, panel, reads_domain
from dpsyn.mechanisms.dp_cda.counterexamples import published_attack
from dpsyn.mechanisms.dp_cda.figures.paper import draw_flip
from dpsyn.mechanisms.dp_cda.inside import Inside


def paper(current: Dataset, inside: Inside) -> None:
    """The pair of datasets that breaks the z-score."""
    caption = (
        "DP-CDA as published scales by the data's own mean and deviation. One record then decides the sign of all others."
    )
    with panel("The z-score gives everybody away", reads_domain(current), caption):
        left, right = st.columns(2, gap="medium")
        show_chart(draw_flip(scored=False), key="in_cda_before", place=left)
        show_chart(draw_flip(scored=True), key="in_cda_after", place=right)
        order, n, classes = inside.order_of_mixture, current.table.n, len(inside.records.classes)
        attacked = _attacked(current, inside)
        visit.offer(None if attacked is None else partial(_code_of_paper, attacked))
        if attacked is None:
            empty(
                f"With {n:,} records in {classes} equal classes there is no row of l = {order} to attack: take a smaller l."
            )
            return
        found = _attack(tuple(attacked.items()))
        if found is None:
            empty("The published formula cannot reach this ε at any σ, so there is no claim to refute: raise ε.")
            return
        sigma, refuted = found
        widgets.facts(
            {
                "The paper claims": f"ε = {widgets.number(inside.epsilon)}",
                "With its noise": f"σ = {widgets.number(sigma)}",
                # A lower bound, never more than it is.
                "Proven from this pair": "ε ≥ "
                + (f"{math.floor(refuted):,}" if refuted >= 10 else f"{math.floor(refuted * 100) / 100:g}"),
            }
        )
        if refuted <= inside.epsilon:
            st.caption("The paper claims so little here that this pair does not refute it.")
        st.caption(
            f"For {n:,} records of {attacked['features']:,} columns in {classes} equal classes, l = {order}, as many "
            "rows as records: all records equal, but one that is higher in D and lower in D′. After the z-score every "
            "record of D is the mirror image of its twin, however small the step was, and the released rows tell D from D′."
        )


def _attacked(current: Dataset, inside: Inside) -> dict[str, Any] | None:
    """The claim under attack; None where equal classes would not have a row of l records."""
    n, classes = current.table.n, len(inside.records.classes)
    if n < 2 or n // classes < inside.order_of_mixture:
        return None
    return {
        "n": n,
        "features": len(current.table.domain) - 1,
        "classes": classes,
        "order_of_mixture": inside.order_of_mixture,
        "epsilon": inside.epsilon,
        "delta": inside.delta,
        "clip_norm": inside.clip_norm,
    }


@st.cache_data(max_entries=200, show_spinner=False)
def _attack(attacked: tuple[tuple[str, Any], ...]) -> tuple[float, float] | None:
    return published_attack(**dict(attacked))


def _code_of_paper(attacked: Mapping[str, Any]) -> str:
    """The pair that breaks the z-score."""
    body = f"""
attack = published_attack(
{arguments(**attacked)})
print("claimed:", {attacked["epsilon"]!r}, "sigma and proven, epsilon >=:", attack)
"""
    imports = imports_of("dpsyn.mechanisms.dp_cda", counterexamples="published_attack")
    return script("Where the published guarantee of DP-CDA breaks.", body, None, imports)
