"""Pictures of what private sampling does inside: for each one a function that makes its data, and one that draws them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import altair as alt

from dpsyn.kit import layers

SOLID, DASHED, DOTTED = [1, 0], [6, 3], [3, 4]


def tips(fields: Mapping[str, str]) -> list[Any]:
    """What a mark says on hover: a title by field; ``"x"`` is a text, ``"x:"`` a number, and ``"x:.3f"`` one so written."""
    found = []
    for field, title in fields.items():
        name, number, written = field.partition(":")
        form = {"format": written} if written else {}
        found.append(alt.Tooltip(f"{name}:{'Q' if number else 'N'}", title=title, **form))
    return found


def channels(labels: Sequence[str], field: str = "series", **ranges: Sequence[Any]) -> dict[str, Any]:
    """Channels such as ``color`` and ``strokeDash`` that tell named series apart, with one legend for all of them."""
    kinds = {"color": alt.Color, "fill": alt.Fill, "strokeDash": alt.StrokeDash, "shape": alt.Shape, "size": alt.Size}
    shared: dict[str, Any] = {"title": None, "sort": None, "legend": layers.legend(labels)}
    return {
        name: kinds[name](f"{field}:N", scale=alt.Scale(domain=list(labels), range=list(values)), **shared)
        for name, values in ranges.items()
    }
