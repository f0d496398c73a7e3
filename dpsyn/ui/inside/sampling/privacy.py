"""What the certificates promise, and what a neighbour that the visitor picks gives away."""

from __future__ import annotations

import numpy as np
import streamlit as st

from dpsyn.domain import Codes
from dpsyn.figures.private_sampling.instance import Instance
from dpsyn.figures.private_sampling.privacy import (
    OBSERVED,
    Claim,
    LocalLoss,
    certificates,
    draw_log_ratios,
    draw_privacy,
    neighbour_loss,
    privacy_info,
)
from dpsyn.ui import widgets
from dpsyn.ui.inside._panel import empty, panel
from dpsyn.ui.inside.sampling.controls import Settings, box_note, instance_of, remembered
from dpsyn.ui.state import Dataset

_LISTED = 500
THIS = "this neighbour"


def show_privacy(current: Dataset, settings: Settings) -> None:
    """Certificates for k rows beside the exact loss of one neighbour."""
    floor, ceiling = settings.floor, settings.ceiling
    with panel(
        "What is promised, and what a neighbour really gives away",
        badge=True,
        caption="The certificates hold for every dataset. The loss of a neighbour, k·max |ln h*(θ)/h'*(θ)|, is exact for "
        "these rows and this S; the largest over all neighbours is what the true ε cannot be below.",
    ):
        box_note(settings)
        if ceiling < 1 + floor:
            empty("There is no density at this floor and ceiling.")
            return
        instance = instance_of(current, settings)
        left, right = st.columns([2, 3], gap="large")
        with left:
            rows = int(st.number_input("k (rows drawn)", 1, 100_000, 1, key="is_rows", persist_state="session"))
            leaves, comes = _pick(current, settings, instance)
            st.caption(f"One of {instance.n:,} rows is replaced. Searching the dropdowns by typing works.")
        key = ("loss", current.revision, settings, leaves, comes)
        loss = remembered(key, lambda: neighbour_loss(instance, leaves, comes, floor=floor, ceiling=ceiling))
        observed = [Claim(THIS, rows * loss.epsilon, OBSERVED, f"worst at {_text(instance, loss.worst)}")]
        claims = certificates(instance, floor=floor, ceiling=ceiling, rows=rows)
        with right:
            st.altair_chart(draw_privacy(privacy_info(claims, observed, rows=rows)), key="is_claims")
        with left:
            _facts(instance, loss, rows)
    with panel("Where the loss comes from", badge=True):
        st.altair_chart(draw_log_ratios(loss, ceiling / floor), key="is_log_ratios")


def _facts(instance: Instance, loss: LocalLoss, rows: int) -> None:
    st.metric(f"Exact loss of {rows:,} row{'' if rows == 1 else 's'}", widgets.number(rows * loss.epsilon))
    st.caption(
        f"Worst at *{_text(instance, loss.worst)}*. λ moves from {loss.shrinkage[0]:.6f} to {loss.shrinkage[1]:.6f}. The "
        f"programs' residuals could change the loss by {widgets.number(rows * loss.uncertainty)}."
    )


def _pick(current: Dataset, settings: Settings, instance: Instance) -> tuple[tuple[int, ...], tuple[int, ...]]:
    present, counts = remembered(
        ("present", current.revision, settings.columns), lambda: np.unique(instance.codes, axis=0, return_counts=True)
    )
    order = np.argsort(counts, kind="stable")[:_LISTED]
    leaving = {f"{_text(instance, present[i])} · {counts[i]:,}×": i for i in order}
    candidates = _candidates(instance)
    coming = {_text(instance, row): i for i, row in enumerate(candidates)}
    place = f"{current.revision}_{hash(settings.columns)}"
    out = st.selectbox("The row that leaves", list(leaving), key=f"is_leaves_{place}", help="Rarest rows first.")
    into = st.selectbox("The row that comes", list(coming), key=f"is_comes_{place}")
    return tuple(int(c) for c in present[leaving[out]]), tuple(int(c) for c in candidates[coming[into]])


def _candidates(instance: Instance) -> Codes:
    points = instance.space.points
    chosen = np.linspace(0, len(points) - 1, min(len(points), _LISTED)).round().astype(int)
    return np.asarray(points[np.unique(chosen)])


def _text(instance: Instance, codes: Codes | tuple[int, ...]) -> str:
    attributes = instance.domain.attributes
    return ", ".join(f"{a.labels()[int(code)]}" for a, code in zip(attributes, codes, strict=True))
