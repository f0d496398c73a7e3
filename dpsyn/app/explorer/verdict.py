"""The verdicts: three cards, the two pictures that follow the sliders, datasets side by side, every condition."""

from __future__ import annotations

from typing import Literal

import pandas as pd
import streamlit as st

from dpsyn.app.explorer.setting import verdicts
from dpsyn.kit import widgets
from dpsyn.kit.charts import show_chart
from dpsyn.kit.explorer import Explorer
from dpsyn.kit.verdicts import show_verdict, verdict_card
from dpsyn.mechanisms.dp_cda import DPCDA
from dpsyn.mechanisms.feasibility import Feasibility
from dpsyn.mechanisms.private_sampling.figures.feasibility import (
    draw_reduced_space,
    draw_rows_bound,
    reduced_space_info,
    rows_bound_info,
)
from dpsyn.mechanisms.registry import MECHANISMS, title

Case = Literal["yours", "ideal"]
_CASES: tuple[Case, ...] = ("yours", "ideal")


def show(explorer: Explorer) -> None:
    """Draw the section."""
    overview, details = st.container(), st.container()
    with details:
        widgets.heading("Every condition", explorer.focus.private)
        tabs = st.tabs([title(name) for name in MECHANISMS])
    with tabs[list(MECHANISMS).index(DPCDA.name)]:
        # Off by default: a slider must answer within a quarter of a second, exact accounting takes up to some seconds.
        exact = st.toggle(
            "Find the smallest σ by exact accounting (0.1 to some seconds for each new setting)",
            key="f_exact",
            bind="query-params",
        )
    found = verdicts(explorer, explorer.focus, exact=exact)
    with overview:
        _overview(explorer, found)
    for tab, verdict in zip(tabs, found, strict=True):
        with tab:
            show_verdict(verdict)


def _overview(explorer: Explorer, found: Feasibility) -> None:
    """The cards and the pictures."""
    stats = explorer.stats
    widgets.facts(
        {
            "p, bits": f"{stats.p:,}",
            "n, rows": widgets.number(stats.n),
            "‖fₙ‖∞": widgets.number(stats.max_frequency),
            "2ᵖ · ‖fₙ‖∞ (ceiling needed)": widgets.power_of_ten(stats.log10_peak),
        }
    )
    for column, verdict in zip(st.columns(3), found, strict=True):
        with column:
            verdict_card(verdict, explorer.focus.private, explorer.focus.domain_warning)
    if len(explorer.chosen) > 1:
        widgets.heading("Side by side", explorer.private)
        widgets.text_table(side_by_side([verdicts(explorer, chosen) for chosen in explorer.chosen]))
        unconfirmed = [chosen.stats.name for chosen in explorer.chosen if chosen.domain_warning]
        if unconfirmed:
            st.caption(
                f":material/warning: Privacy is not yet true for {widgets.plain_text(', '.join(unconfirmed))}: nobody "
                "confirmed the domain as public."
            )
    case = st.segmented_control(
        "In the pictures, n is",
        _CASES,
        default="yours",
        required=True,
        key="f_case",
        bind="query-params",
        format_func={"yours": "that of the data", "ideal": "2^p: the ideal cube, every point once"}.__getitem__,
    )
    widgets.heading("How many rows, and how large a reduced space", explorer.focus.private)
    left, right = st.columns(2, gap="medium")
    rows = rows_bound_info(stats, epsilon=explorer.spec.epsilon, rows=explorer.rows, case=case, **explorer.bounds)
    show_chart(draw_rows_bound(rows), key="rows_bound", place=left)
    show_chart(draw_reduced_space(reduced_space_info(stats, **explorer.bounds)), key="reduced_space", place=right)


def side_by_side(verdicts: list[Feasibility]) -> pd.DataFrame:
    """One line per dataset: its statistics, and what holds by how many orders of magnitude."""
    lines = []
    for found in verdicts:
        line = {
            "Data": found.stats.name,
            "p": f"{found.stats.p:,}",
            "n": widgets.number(found.stats.n),
            "‖fₙ‖∞": widgets.number(found.stats.max_frequency),
        }
        for verdict in found:
            failing = [c for c in verdict.conditions if not c.holds]
            worst = min((c.slack_orders for c in failing), default=0.0)
            line[verdict.title] = (
                "✓ all hold"
                if not failing
                else f"✗ {len(failing)} fail" + (f", worst by {worst:+.1f} orders" if worst < -0.05 else ", narrowly")
            )
        lines.append(line)
    return pd.DataFrame(lines)
