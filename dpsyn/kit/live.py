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

SCRIPT = (Path(__file__).parent / "live.js").read_text(encoding="utf-8")
"""For the page; ``dpsyn.app.server`` allows this one by its hash."""

_STATES = "_states"
Row = Mapping[str, Any]
Sliders = Mapping[str, int]
"""How many values each slider has, by its widget's key."""


def rows(states: Sequence[Sequence[Row]]) -> Any:
    """An Altair chart over the rows of the state that is shown. What all states share is sent once.

    Args:
        states: the rows of each state; one that has fewer of them shows no more.
    """
    import altair as alt

    if len(states) == 1:
        return alt.Chart(alt.Data(values=list(states[0])))
    height = max(map(len, states))
    filled: list[list[Row]] = [[*state, *[{}] * (height - len(state))] for state in states]
    fields = dict.fromkeys(name for state in states for row in state for name in row)
    moving = {
        name
        for name in fields
        if any([row.get(name) for row in state] != [row.get(name) for row in filled[0]] for state in filled)
    }
    folded = []
    for every in zip(*filled, strict=True):
        row = {}
        for name in fields:
            values = [each.get(name) for each in every]
            row[name + _STATES * (name in moving)] = values[0] if values.count(values[0]) == len(values) else values
        folded.append(row)
    chart = alt.Chart(alt.Data(values=folded))
    for name in sorted(moving):
        found = f"datum['{name}{_STATES}']"
        chart = chart.transform_calculate(**{name: f"isArray({found}) ? {found}[live] : {found}"})
    return chart


def words(states: Sequence[Any]) -> Any:
    """A text, the lines of one, or a number, that follows the state."""
    import altair as alt

    if all(state == states[0] for state in states):
        return states[0]
    return alt.ExprRef(f"{json.dumps(list(states), ensure_ascii=False)}[live]")


def follow(chart: Any, sliders: Sliders) -> Any:
    """The finished chart with the hidden inputs that ``live.js`` fills."""
    import altair as alt

    if not sliders:
        return chart
    state, before, inputs = "0", 1 + sum(sliders.values()), []
    for key, count in reversed(list(sliders.items())):
        before -= count
        state = f"live_{key} >= 0 ? {before} + live_{key} : {state}"
        bind = alt.BindRange(input="range", min=-1, max=count - 1, step=1)
        inputs.append(alt.param(f"live_{key}", value=-1, bind=bind))
    return chart.add_params(*inputs, alt.param("live", expr=state))
