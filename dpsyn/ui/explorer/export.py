"""Taking the verdict away: JSON, Markdown, pictures, a link; and statistics that may be published."""

from __future__ import annotations

from functools import partial
from typing import Any
from urllib.parse import urlencode

import streamlit as st

from dpsyn.figures.certificates import certificates_info, draw_certificates
from dpsyn.figures.export import chart_png, chart_svg
from dpsyn.figures.feasibility import draw_reduced_space, draw_rows_bound, reduced_space_info, rows_bound_info
from dpsyn.figures.floor_tradeoff import draw_floor_tradeoff, floor_tradeoff_info
from dpsyn.figures.plane import draw_plane, plane_info
from dpsyn.theory.export import verdict_json, verdict_markdown
from dpsyn.ui.explorer.setting import Explorer


def show(explorer: Explorer) -> None:
    """Draw the section."""
    st.markdown("##### The verdict")
    verdicts = [explorer.verdict(chosen) for chosen in explorer.chosen]
    private = any(chosen.private for chosen in explorer.chosen)
    settings = explorer.described()
    with st.container(horizontal=True):
        _download(
            "Verdict as JSON", verdict_json(verdicts, settings, private=private), "feasibility.json", "application/json"
        )
        _download(
            "Verdict as Markdown", verdict_markdown(verdicts, settings, private=private), "feasibility.md", "text/markdown"
        )
    st.markdown("##### The pictures")
    for name, chart in charts(explorer).items():
        with st.container(horizontal=True, vertical_alignment="center"):
            st.markdown(f"{name.replace('_', ' ').capitalize()}")
            _download("PNG", partial(chart_png, chart), f"{name}.png", "image/png", key=f"png_{name}")
            _download("SVG", partial(chart_svg, chart), f"{name}.svg", "image/svg+xml", key=f"svg_{name}")
    st.markdown("##### A link to this page")
    st.markdown(
        "The address holds every setting that differs from its default, but no data: whoever opens it sees their own."
    )
    st.code(link(), language=None, wrap_lines=True)


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
    query = urlencode(st.query_params.to_dict(), doseq=True)
    base = (st.context.url or "").split("?")[0]
    return f"{base}?{query}" if query else base


def _download(label: str, data: Any, name: str, mime: str, key: str | None = None) -> None:
    st.download_button(label, data, name, mime, key=key or f"download_{name}", icon=":material/download:", on_click="ignore")
