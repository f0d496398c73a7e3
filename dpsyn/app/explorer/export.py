"""Taking the verdict away: JSON, Markdown, pictures, a link; and statistics that may be published."""

from __future__ import annotations

from functools import partial
from typing import Any
from urllib.parse import urlencode

import streamlit as st

from dpsyn.app import state
from dpsyn.app.explorer.setting import verdicts
from dpsyn.kit import visit, widgets
from dpsyn.kit.explorer import Chosen, Explorer
from dpsyn.kit.export import chart_png, chart_svg
from dpsyn.mechanisms.export import verdict_json, verdict_markdown
from dpsyn.mechanisms.private_sampling.figures.certificates import (
    certificates_info,
    draw_certificates,
    draw_floor_tradeoff,
    floor_tradeoff_info,
)
from dpsyn.mechanisms.private_sampling.figures.feasibility import (
    draw_reduced_space,
    draw_rows_bound,
    reduced_space_info,
    rows_bound_info,
)
from dpsyn.mechanisms.private_sampling.figures.plane import draw_plane, plane_info
from dpsyn.privacy.private_statistics import private_statistics
from dpsyn.privacy.spec import PrivacySpec, rounded_up


def show(explorer: Explorer) -> None:
    """Draw the section."""
    widgets.heading("The verdict", explorer.private)
    verdicts = [verdicts(explorer, chosen) for chosen in explorer.chosen]
    private = explorer.private
    settings = explorer.described()
    with st.container(horizontal=True):
        _download(
            "Verdict as JSON", verdict_json(verdicts, settings, private=private), "feasibility.json", "application/json"
        )
        _download(
            "Verdict as Markdown", verdict_markdown(verdicts, settings, private=private), "feasibility.md", "text/markdown"
        )
    widgets.heading("The pictures", explorer.private)
    for name, chart in charts(explorer).items():
        with st.container(horizontal=True, vertical_alignment="center", gap="small"):
            st.markdown(f"{name.replace('_', ' ').capitalize()}", width=180)
            _download("PNG", partial(chart_png, chart), f"{name}.png", "image/png", key=f"png_{name}")
            _download("SVG", partial(chart_svg, chart), f"{name}.svg", "image/svg+xml", key=f"svg_{name}")
    _private_statistics(explorer)
    widgets.heading("A link to this page", False)
    st.markdown(
        "The address holds every setting that differs from its default, but no data: whoever opens it sees their own."
    )
    st.code(link(), language=None, wrap_lines=True)


def _private_statistics(explorer: Explorer) -> None:
    if not explorer.focus.loaded:
        return
    current = visit.dataset()
    public = current.table.domain.is_public
    widgets.heading("Statistics that may be published", "release" if public else True)
    st.markdown("n and ‖fₙ‖∞ of the loaded data with exact noise, under ε-differential privacy for replacing one row.")
    epsilon = widgets.epsilon_slider(
        "f_publish_epsilon",
        value=0.1,
        why="It starts at 0.1 and not at 1: it adds to the ε of every release of the same data.",
        bind="query-params",
    )
    if st.button("Draw private statistics", icon=":material/casino:", help="Each press spends this ε once more."):
        found = private_statistics(current.table, PrivacySpec(epsilon))
        kept = state.published_statistics()
        kept.append((current.revision, found))
    mine = [found for revision, found in state.published_statistics() if revision == current.revision]
    if mine:
        newest = mine[-1]
        low, high = newest.max_frequency_interval
        widgets.facts(
            {
                "p (public)" if public else "p (once the domain is confirmed)": f"{newest.p:,}",
                "n": f"{newest.n:,}",
                "‖fₙ‖∞, private": widgets.number(newest.max_frequency),
                "95 % interval": f"{widgets.number(low)} to {widgets.number(high)}",
            }
        )
        widgets.guarantee_card(newest.guarantee, before=False)
        spent = rounded_up(sum(found.epsilon for found in mine), 4)
        st.caption(f"{len(mine)} drawn in this visit; publishing all of them costs ε = {spent} together.")
        verdict = [verdicts(explorer, Chosen(newest.statistics(), private=not public, classes=explorer.focus.classes))]
        text = verdict_markdown(verdict, explorer.described(), private=not public)
        _download("Verdict on these statistics as Markdown", text, "feasibility_private.md", "text/markdown")


def charts(explorer: Explorer) -> dict[str, Any]:
    """The pictures that can be saved, by file name."""
    stats, bounds, spec, rows = explorer.stats, explorer.bounds, explorer.spec, explorer.rows
    chosen = [c.stats for c in explorer.chosen]
    return {
        "rows_against_p": draw_rows_bound(rows_bound_info(stats, epsilon=spec.epsilon, rows=rows, **bounds)),
        "window_for_m": draw_reduced_space(reduced_space_info(stats, **bounds)),
        "certificates_against_n": draw_certificates(certificates_info(stats, spec, rows=rows, **bounds)),
        "map_of_p_and_n": draw_plane(plane_info(chosen, spec, rows=rows, **bounds)),
        "trade-off_in_floor": draw_floor_tradeoff(floor_tradeoff_info(stats, spec, rows=rows, **bounds)),
    }


def link() -> str:
    """The page's address with its settings."""
    query = urlencode({name: st.query_params.get_all(name) for name in st.query_params}, doseq=True)
    base = (st.context.url or "").split("?")[0]
    return f"{base}?{query}" if query else base


def _download(label: str, data: Any, name: str, mime: str, key: str | None = None) -> None:
    st.download_button(label, data, name, mime, key=key or f"download_{name}", icon=":material/download:", on_click="ignore")
