"""Pictures of noisy reweighting: one function each, from plain data or a run to a chart."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pandas as pd

from dpsyn.kit import layers as _layers


def named_lines(
    rows: pd.DataFrame,
    x: Any,
    y: Any,
    styles: Mapping[str, tuple[str, list[int]]],
    tooltip: Mapping[str, str],
    width: float = 2.5,
) -> Any:
    """Lines of the column ``series``, each with the colour and dash that ``styles`` has for its name, and one legend."""
    import altair as alt

    names = list(styles)
    shared = {"title": None, "sort": None, "legend": _layers.legend(names)}
    colours, dashes = ([style[part] for style in styles.values()] for part in (0, 1))
    return (
        alt.Chart(rows)
        .mark_line(strokeWidth=width, clip=True)
        .encode(
            x=x,
            y=y,
            color=alt.Color("series:N", scale=alt.Scale(domain=names, range=colours), **shared),
            strokeDash=alt.StrokeDash("series:N", scale=alt.Scale(domain=names, range=dashes), **shared),
            tooltip=[alt.Tooltip(field, title=title) for field, title in tooltip.items()],
        )
    )
