"""Charts that follow a slider while it is dragged: they hold what they show for each of its values, and the browser chooses.

A chart has a *state* for each value of each slider that moves it. State 0 is what the server drew for where the sliders
stand; then come those of the first slider in order, those of the second, and so on. ``live.js`` says which one to show;
the server is not asked. Without sliders there is state 0 alone, and the chart is as any other.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pandas as pd

SCRIPT = (Path(__file__).parent / "live.js").read_text(encoding="utf-8")
"""For the page; ``dpsyn.app.server`` allows this one by its hash."""

_NOW, _OTHER = "_now", "_other"
Row = Mapping[str, Any]
Sliders = Mapping[str, int]
"""How many values each slider has, by its widget's key."""


def rows(states: Sequence[Sequence[Row]]) -> Any:
    """An Altair chart over the rows of the state that is shown. Of a state only what differs from state 0 is sent.

    Args:
        states: the rows of each state, in the same order and with the same fields; one that has fewer shows no more.
    """
    import altair as alt

    if len(states) == 1:
        return alt.Chart(pd.DataFrame(list(states[0])))
    fields = dict.fromkeys(name for state in states for row in state[:1] for name in row)
    folded: list[dict[str, Any]] = []
    moving: set[str] = set()
    for at in range(max(map(len, states))):
        every = [state[at] if at < len(state) else {} for state in states]
        now = every[0]
        row: dict[str, Any] = {name: now.get(name) for name in fields}
        others = [(i, each) for i, each in enumerate(every) if each is not now and each != now]
        for name in fields if others else ():
            if other := {i: _short(value) for i, each in others if (value := each.get(name)) != row[name]}:
                moving.add(name)
                row[name + _OTHER] = other
        folded.append(row)
    for row in folded:
        row |= {name + _NOW: row.pop(name) for name in moving}
    # As text: Altair would look at every number.
    chart = alt.Chart(
        alt.Data(values=json.dumps(folded, ensure_ascii=False, separators=(",", ":")), format={"type": "json"})
    )
    shown = {}
    for name in sorted(moving):
        there = f"datum['{name}{_OTHER}']"
        shown[name] = f"isDefined({there}) && isDefined({there}[live]) ? {there}[live] : datum['{name}{_NOW}']"
    return chart.transform_calculate(**shown) if shown else chart


def _short(value: Any) -> Any:
    return round(value, 6) if isinstance(value, float) else value


def words(states: Sequence[Any]) -> Any:
    """A word or a number of a mark that follows the state."""
    import altair as alt

    return states[0] if _same(states) else alt.ExprRef(_choice(states))


def put_subtitle(title: Any, states: Sequence[Sequence[str]]) -> None:
    """Below the title the lines of the state that is shown."""
    if not _same(states):
        # Vega-Lite hands this on to Vega as it is; its own schema knows no expression here, and Altair would refuse it.
        title.subtitle = {"signal": _choice(states)}


def _same(states: Sequence[Any]) -> bool:
    return all(state == states[0] for state in states)


def _choice(states: Sequence[Any]) -> str:
    """An expression: that of the state, of texts of which the same ones are written once."""
    found = {json.dumps(state, ensure_ascii=False): None for state in states}
    place = {text: at for at, text in enumerate(found)}
    which = [place[json.dumps(state, ensure_ascii=False)] for state in states]
    return f"[{', '.join(found)}][{which}[live]]"


def follow(chart: Any, sliders: Sliders) -> Any:
    """The chart with the hidden inputs that ``live.js`` fills. They are put into it: Altair would copy all of it twice."""
    import altair as alt

    if not sliders:
        return chart
    state, before, inputs = "0", 1 + sum(sliders.values()), []
    for key, count in reversed(list(sliders.items())):
        before -= count
        state = f"live_{key} >= 0 ? {before} + live_{key} : {state}"
        bind = alt.BindRange(input="range", min=-1, max=count - 1, step=1)
        inputs.append(alt.param(f"live_{key}", value=-1, bind=bind))
    chart.params = [one.param for one in (*inputs, alt.param("live", expr=state))]
    return chart
