"""Step 4: λ against floor and ceiling, and the cells that bind."""

from __future__ import annotations

import streamlit as st

from dpsyn.kit import screen, widgets
from dpsyn.kit.charts import show_chart
from dpsyn.kit.panel import empty, panel
from dpsyn.kit.visit import Dataset
from dpsyn.mechanisms.private_sampling.figures.binding import BindingInfo, binding_info, draw_binding
from dpsyn.mechanisms.private_sampling.figures.instance import Instance
from dpsyn.mechanisms.private_sampling.figures.shrinkage import AXES, draw_shrinkage, shrinkage_info
from dpsyn.mechanisms.private_sampling.panels import code
from dpsyn.mechanisms.private_sampling.panels.controls import Settings, box_note, instance_of


def show_shrinkage(current: Dataset, settings: Settings) -> None:
    """λ along both sliders, and why it is not smaller."""
    floor, ceiling = settings.floor, settings.ceiling
    instance: Instance | None = None
    with panel(
        "How much of the uniform density must be mixed in",
        badge=True,
        caption="The linear program of step 4 finds the least λ for which (1 − λ)·data + λ·uniform can be matched by a "
        "density between 2·floor and ceiling − floor. Move the sliders.",
    ):
        box_note(settings)
        if ceiling < 1 + floor:
            empty("Even λ = 1 does not fit: the ceiling must be at least 1 + floor.")
            return
        instance = instance_of(current, settings)
        screen.offer(lambda: code.shrinkage(current, settings))
        left, right = st.columns(2, gap="medium")
        for column, axis in zip((left, right), AXES, strict=True):
            info = shrinkage_info(instance, axis, floor=floor, ceiling=ceiling)
            show_chart(draw_shrinkage(info), key=f"is_against_{axis}", place=column)
    if instance is None:
        return
    with panel("Why λ cannot be smaller", badge=True):
        found = binding_info(instance, floor=floor, ceiling=ceiling)
        if not found.cells:
            empty("λ = 0: some density in the box has the very marginals of the data. Nothing binds.")
            return
        left, right = st.columns([3, 2], gap="medium")
        show_chart(draw_binding(found), key="is_binding", place=left)
        with right:
            st.markdown(proof(found, settings))


def proof(info: BindingInfo, settings: Settings) -> str:
    """The certificate in words."""
    lines = [
        f"**λ = {info.shrinkage:.4f}**, and this is the proof that no smaller one will do. Put the dual values β on the "
        "cells.",
        "- The data score 1 more than the uniform density.\n"
        f"- No density in the box scores more than {info.reach:.4f} above it.\n"
        f"- Mixing scales the data's score to 1 − λ, so 1 − λ ≤ {info.reach:.4f}.",
    ]
    if info.alone is not None:
        lines.append(
            f"The strictest single cell is *{info.alone.text}* with {info.alone.data:.2%} of the rows, where the box allows "
            f"{info.alone.least:.2%} to {info.alone.most:.2%}: alone it forces λ ≥ {info.alone.alone:.4f}."
        )
    if info.empty:
        lines.append(
            f"{info.empty:,} of the {info.tables:,} cells of tables with at most d columns are empty. Each forces "
            f"λ ≥ 2·floor = {widgets.number(2 * settings.floor)}, whatever the ceiling."
        )
    if any(cell.share < 0 for cell in info.cells):
        lines.append("A bar to the left gives some of the conflict back: tables overlap.")
    return "\n\n".join(lines)
