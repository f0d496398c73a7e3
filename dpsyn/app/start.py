"""What the page Start shows: rows of ASIA beside synthetic ones at 21 values of ε, made by sample_data/make_start.py."""

from __future__ import annotations

import json
from functools import cache
from html import escape
from itertools import combinations
from typing import Any

from dpsyn.kit import live
from dpsyn.kit.layers import BLUE, GUIDE, SKY, VERMILLION, WORD
from dpsyn.notation import percent
from dpsyn.places import HOME

FILE = HOME / "sample_data" / "start.json"
KEY = "start"
"""Of the slider and what follows it."""
USUAL = 1.0
_ORDER = {
    "smoke": "smokes",
    "bronc": "bronchitis",
    "dysp": "short of breath",
    "lung": "lung cancer",
    "either": "cancer or TB",
    "xray": "X-ray unclear",
    "tub": "tuberculosis",
    "asia": "visited Asia",
}
"""Columns that occur together stand together."""
_GAP = "gap"
_TOGETHER, _APART = f"light-dark({BLUE}, {SKY})", f"light-dark({VERMILLION}, #ff9a4d)"


@cache
def document() -> dict[str, Any]:
    """The file as it is."""
    found: dict[str, Any] = json.loads(FILE.read_text(encoding="utf-8"))
    return found


def epsilons() -> list[float]:
    """What the slider can say."""
    return [made["epsilon"] for made in document()["made"]]


def sentences() -> list[str]:
    """The sentence for each ε: by how much a table of two columns is off on average (total variation)."""
    return [
        f"At ε = {made['epsilon']:g} (the privacy budget), "
        f"a table of two columns is off by {percent(made['error'])} of the rows."
        for made in document()["made"]
    ]


def control() -> str:
    """The sentence, the slider and Play as HTML; ``kit/live.js`` moves them."""
    at = epsilons().index(USUAL)
    named = escape(json.dumps([f"ε = {epsilon:g}" for epsilon in epsilons()], ensure_ascii=False))
    said = escape(json.dumps(sentences(), ensure_ascii=False))
    return f"""<p class="said" data-live="{KEY}" data-words="{said}">{sentences()[at]}</p>
<div class="drive"><button type="button" data-plays="{KEY}">▶ Play</button><span>private</span>
<input type="range" min="0" max="{len(epsilons()) - 1}" value="{at}" data-slides="{KEY}" data-words="{named}"
aria-label="ε, the privacy budget" aria-valuetext="ε = {USUAL:g}"><span>accurate</span></div>"""


def _squares(synthetic: list[float]) -> list[dict[str, Any]]:
    """Both squares of every pair of columns, in both orders."""
    columns, found = document()["columns"], []
    for pair, real, value in zip(combinations(columns, 2), document()["real"], synthetic, strict=True):
        for x, y in (pair, pair[::-1]):
            row = {"left": f"real {x}", "right": f"synthetic {x}", "y": _ORDER[y], "pair": f"{_ORDER[x]} × {_ORDER[y]}"}
            found.append({**row, "real": real, "synthetic": value})
    return found


def draw() -> Any:
    """An Altair chart: correlations of the real rows on the left, of the synthetic ones on the right."""
    import altair as alt

    made, usual = document()["made"], epsilons().index(USUAL)
    states = [_squares(each["pairs"]) for each in (made[usual], *made)]
    across = [f"real {column}" for column in _ORDER] + [_GAP] + [f"synthetic {column}" for column in _ORDER]
    place = alt.Scale(domain=across, paddingInner=0.08, paddingOuter=0)
    axis = alt.Axis(title=None, domain=False, ticks=False, labelLimit=0, labelPadding=8, labelFontSize=14)
    y = alt.Y("y:N", axis=axis, scale=alt.Scale(domain=list(_ORDER.values()), paddingInner=0.08, paddingOuter=0))
    tiles = [{"x": side, "y": label} for side in across if side != _GAP for label in _ORDER.values()]
    x = alt.X("x:N", axis=None, scale=place)
    ground = live.rows([tiles]).mark_rect(color=GUIDE, opacity=0.13, cornerRadius=4).encode(x=x, y=y)
    words = "datum.pair + ': real ' + format(datum.real, '+.2f') + ', synthetic ' + format(datum.synthetic, '+.2f')"

    def squares(side: str, value: str) -> Any:
        chart = live.rows(states).transform_calculate(size=f"abs(datum.{value})", text=words)
        return chart.mark_rect(cornerRadius=4).encode(
            x=alt.X(f"{side}:N", axis=None, scale=place),
            y=y,
            color=alt.condition(f"datum.{value} >= 0", alt.value(_TOGETHER), alt.value(_APART)),
            opacity=alt.Opacity(
                "size:Q", legend=None, scale=alt.Scale(type="pow", exponent=0.38, domain=[0, 1], range=[0, 1], clamp=True)
            ),
            tooltip=alt.Tooltip("text:N", title="correlation"),
        )

    first = next(iter(_ORDER))
    heads = [{"x": f"{side.lower()} {first}", "text": side} for side in ("Real", "Synthetic")]
    over = (
        live.rows([heads])
        .mark_text(align="left", baseline="bottom", fontSize=19, fontWeight="bold", y=-10, color=WORD)
        .encode(x=alt.X("x:N", bandPosition=0), text="text:N")
    )
    chart = alt.layer(ground, squares("left", "real"), squares("right", "synthetic"), over)
    chart = chart.properties(width="container", height=328, padding={"left": 4, "right": 4, "top": 34, "bottom": 4})
    return live.follow(chart.configure_view(stroke=None), {KEY: len(made)})
