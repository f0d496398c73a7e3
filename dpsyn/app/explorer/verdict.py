"""The verdicts: a card each, the pictures that follow the sliders, datasets side by side, every condition."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import pandas as pd
import streamlit as st

from dpsyn.app.explorer.setting import offers, verdicts
from dpsyn.kit import code, screen, visit, widgets
from dpsyn.kit.explorer import Explorer
from dpsyn.kit.verdicts import show_verdict, verdict_card
from dpsyn.mechanisms.feasibility import Feasibility
from dpsyn.mechanisms.registry import MECHANISMS, offered, title

_MOST_CARDS = 3
"""Beside each other; more come in a second row."""


def show(explorer: Explorer) -> None:
    """Draw the section."""
    overview, details = st.container(), st.container()
    judged = [name for name in MECHANISMS if offered(name, "theorems:verdict") is not None]
    further: dict[str, Any] = {}
    with details:
        widgets.heading("Every condition", explorer.focus.private)
        tabs = dict(zip(judged, st.tabs([title(name) for name in judged]), strict=True))
    for name, ask in offers("ask").items():
        with tabs[name]:
            further |= ask()
    found = verdicts(explorer, explorer.focus, **further)
    with overview:
        _overview(explorer, found)
    for verdict in found:
        with tabs[verdict.mechanism]:
            show_verdict(verdict, offered(verdict.mechanism, "formulas:PAPER"))
    without = [title(name) for name in MECHANISMS if name not in judged]
    if without:
        st.caption(f"No theorem is known to us that could judge {' or '.join(without)} before a run.")
    screen.offer(lambda: code_of(explorer, further))


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
    every = list(found)
    across = math.ceil(len(every) / math.ceil(len(every) / _MOST_CARDS))
    for row in range(0, len(every), across):
        for column, verdict in zip(st.columns(across), every[row : row + across], strict=False):
            with column:
                focus = explorer.focus
                verdict_card(verdict, focus.private, focus.domain_warning, offered(verdict.mechanism, "formulas:PAPER"))
    if len(explorer.chosen) > 1:
        widgets.heading("Side by side", explorer.private)
        widgets.text_table(side_by_side([verdicts(explorer, chosen) for chosen in explorer.chosen]))
        unconfirmed = [chosen.stats.name for chosen in explorer.chosen if chosen.domain_warning]
        if unconfirmed:
            st.caption(
                f":material/warning: Privacy is not yet true for {widgets.plain_text(', '.join(unconfirmed))}: nobody "
                "confirmed the domain as public."
            )
    for draw in offers("overview").values():
        draw(explorer)


def code_of(explorer: Explorer, further: Mapping[str, Any]) -> str:
    """The verdicts on the dataset in focus, with every condition."""
    focus, target = explorer.focus, visit.dataset().target
    settings = {**explorer.settings_of(focus), "exact_accounting": False, **further}
    known = settings.pop("smallest_class") is not None
    smallest = f"    smallest_class=table.smallest_class({target!r}),\n" if known else ""
    body = f"""found = dpsyn.feasibility(
    statistics,
    spec,
{code.arguments(**settings)}{smallest})
for verdict in found:
    print(verdict.title, verdict.holds, verdict.summary)
    for condition in verdict.conditions:
        print("   ", condition.label, condition.holds, condition.slack_orders, condition.fix)
"""
    return code.on_feasibility(explorer, body)


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
