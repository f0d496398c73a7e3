"""Altair charts as PNG and SVG files, drawn without a browser."""

from __future__ import annotations

import json
from typing import Any

from dpsyn.errors import ParameterError

WIDTH, HEIGHT = 720, 400


def standalone(chart: Any, *, width: int = WIDTH, height: int = HEIGHT) -> dict[str, Any]:
    """The chart's Vega-Lite specification with a size and a white background of its own."""
    spec: dict[str, Any] = json.loads(chart.to_json())
    for part in _sized(spec):
        part["width"] = width
        if "height" in part:
            part["height"] = height
    return {**spec, "background": "white", "padding": 16}


def _sized(spec: dict[str, Any]) -> list[dict[str, Any]]:
    """The parts of a specification that take their width from a page."""
    inner = [part for key in ("hconcat", "vconcat", "concat") for part in spec.get(key, [])]
    found = [part for each in inner for part in _sized(each)]
    return [*found, spec] if spec.get("width") == "container" else found


def chart_png(chart: Any, *, scale: float = 2.0) -> bytes:
    """The chart as PNG, ``scale`` times 720 × 400 points.

    Raises:
        ParameterError: ``scale`` is not between 0.5 and 8.
    """
    import vl_convert

    if not 0.5 <= scale <= 8:
        raise ParameterError("scale", scale, "between 0.5 and 8")
    return bytes(vl_convert.vegalite_to_png(standalone(chart), scale=scale))


def chart_svg(chart: Any) -> bytes:
    """The chart as SVG, UTF-8."""
    import vl_convert

    return str(vl_convert.vegalite_to_svg(standalone(chart))).encode()
