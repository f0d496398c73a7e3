"""Shares of the values of one column, real and in releases."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from dpsyn.domain import Attribute, Codes
from dpsyn.errors import ParameterError
from dpsyn.kit.plotly import GRID, bar_style, finish, safe, segments, shorten
from dpsyn.kit.theme import GUIDE

if TYPE_CHECKING:
    import plotly.graph_objects as go

_MOST_BARS = 30


@dataclass(frozen=True)
class ColumnInfo:
    """Shares of the values of one column, real and by release. ``shares`` has one row per release, as long as ``labels``.

    ``held`` are the shares among held-out real rows: what as many fresh real rows show; empty without them.
    """

    title: str
    column: str
    labels: tuple[str, ...]
    real: tuple[float, ...]
    releases: tuple[str, ...]
    shares: tuple[tuple[float, ...], ...]
    held: tuple[float, ...] = ()


def column_info(
    attribute: Attribute, real: Codes, releases: Mapping[str, Codes], held_out: Codes | None = None
) -> ColumnInfo:
    """Data of :func:`draw_column`.

    Args:
        attribute: the column.
        real: its codes in the real table, shape (n,).
        releases: its codes by the name of the release, each of shape (k,). Of a categorical column with more than 30 codes
            the most frequent real ones are shown and the others are added up.
        held_out: its codes in held-out real rows.
    """
    held = [] if held_out is None else [held_out]
    shares = [_shares(attribute, codes) for codes in (real, *releases.values(), *held)]
    labels = attribute.labels()
    if attribute.size > _MOST_BARS and not attribute.is_binned:
        first = np.sort(np.argsort(-shares[0], kind="stable")[: _MOST_BARS - 1])
        labels = [labels[i] for i in first] + [f"({attribute.size - len(first)} others)"]
        shares = [np.append(s[first], max(1.0 - s[first].sum(), 0.0)) for s in shares]
    rows = [tuple(float(v) for v in s) for s in shares]
    last = len(releases) + 1
    title = f"Values of {attribute.name}"
    return ColumnInfo(
        title, attribute.name, tuple(labels), rows[0], tuple(releases), tuple(rows[1:last]), rows[last] if held else ()
    )


def _shares(attribute: Attribute, codes: Codes) -> np.ndarray:
    if len(codes) == 0:
        raise ParameterError("codes", "no rows", "at least 1 row")
    return np.bincount(codes, minlength=attribute.size) / len(codes)


def draw_column(info: ColumnInfo) -> go.Figure:
    """Bars of the share of rows by value: the real ones in grey, beside them each release."""
    import plotly.graph_objects as go

    places = list(range(len(info.labels)))
    figure = go.Figure()
    text = [safe(label) for label in info.labels]
    for at, (name, heights) in enumerate(zip(("Real", *info.releases), (info.real, *info.shares), strict=True)):
        style = {"color": GUIDE, "line": {"width": 0}} if at == 0 else bar_style(at - 1)
        bars = go.Bar(x=places, y=heights, name=safe(shorten(name, 40)), marker=style, text=text, textposition="none")
        bars.update(hovertemplate=f"{safe(name)}<br>%{{text}}<br>share %{{y:.4f}}<extra></extra>")
        figure.add_trace(bars)
    if info.held:
        figure.add_trace(segments(info.held, "Held-out real rows (sampling noise)", 1, dash="dot"))
    ticks = [safe(shorten(label)) for label in info.labels]
    figure.update_xaxes(tickmode="array", tickvals=places, ticktext=ticks, title_text=safe(shorten(info.column, 60)))
    figure.update_xaxes(automargin=True, tickangle=-45 if len(places) > 6 else 0)
    figure.update_yaxes(rangemode="tozero", gridcolor=GRID, title_text="Share of rows")
    return finish(figure, info.title, entries=len(info.releases) + 1 + bool(info.held))
