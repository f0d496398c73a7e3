"""Theorems against practice, on the data at hand: what each mechanism's theorem promises beside what a run of it does."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np
import pandas as pd
import streamlit as st

from dpsyn import escape
from dpsyn.domain import listed
from dpsyn.errors import DpsynError
from dpsyn.kit import layers, visit
from dpsyn.kit.layers import BLUE, GUIDE, HERE, WORD
from dpsyn.kit.lesson import ASIA, Lesson, Question, Slider, Step, rows
from dpsyn.mechanisms.registry import MECHANISMS, offered
from dpsyn.notation import counted, percent, short
from dpsyn.privacy.spec import PrivacySpec
from dpsyn.solvers.coded import table_counts
from dpsyn.table import Table

PROMISED, MEASURED = "promised by the theorem", "measured in one run"
_SEED, _MOST_POINTS, _MOST_VALUES, _MOST_ROWS = 3, 3_000, 12, 20_000
_WORST = 1.0


@dataclass(frozen=True)
class Try:
    """The largest error of a cell of a mechanism's tables: promised (infinity: nothing is), measured (None: no rows)."""

    name: str
    promised: float
    measured: float | None
    rows: int = 0


def small(table: Table, columns: int, first: str | None = None) -> Table:
    """So many columns of a few values each, ``first`` among them; ASIA's where the data have fewer than two."""
    names: list[str] = []
    for name in dict.fromkeys([*([first] if first else []), *table.domain.names[::-1]]):
        column, chosen = table.domain[name], [*names, name]
        size = math.prod(table.domain[one].size for one in chosen)
        if not column.is_binned and 2 <= column.size <= _MOST_VALUES and size <= _MOST_POINTS and len(names) < columns:
            names.append(name)
    return table.project(names) if len(names) > 1 else small(rows("asia"), columns)


def largest_error(table: Table, made: Table, degree: int) -> float:
    """Of a cell's share, over all tables of ``degree`` columns."""
    sizes = [attribute.size for attribute in table.domain.attributes]
    return max(
        float(np.abs(table_counts(table.codes, at, sizes) / table.n - table_counts(made.codes, at, sizes) / made.n).max())
        for at in combinations(range(len(sizes)), degree)
    )


def tried(table: Table, epsilon: float, degree: int) -> list[Try]:
    """Every mechanism that says what a theorem promises of it, run once with a fixed seed."""
    found, stats = [], table.statistics()
    for offer in (offered(name, "lessons:promised") for name in MECHANISMS):
        for name, config, promised in offer(stats, epsilon, degree) if offer else ():
            try:
                mechanism = config.calibrate(PrivacySpec(epsilon), table.domain, table.n)
                made = Table(mechanism(np.random.default_rng(_SEED), table).rows, table.domain)
                found.append(Try(name, promised, largest_error(table, made, degree), rows=made.n))
            except DpsynError:
                found.append(Try(name, promised, None))
    return found


def draw(tries: Sequence[Try], *, measured: bool = True) -> Any:
    """An Altair chart: a line for each mechanism from the measured to the promised error, on a log10 axis that ends at 1."""
    import altair as alt

    marks = [
        {"name": one.name, "x": math.log10(min(max(value, 1e-4), _WORST)), "kind": kind, "text": text}
        for one in tries
        for kind, value, text in (
            (PROMISED, one.promised, short(one.promised, 2) if one.promised < _WORST else "no promise"),
            (MEASURED, one.measured, "" if one.measured is None else short(one.measured, 2)),
        )
        if value is not None and (measured or kind == PROMISED)
    ]
    names, kinds, domain = [one.name for one in tries], [PROMISED, MEASURED], (-4.05, 0.6)
    base = alt.Chart(pd.DataFrame(marks)).encode(
        y=alt.Y("name:N", sort=names, title=None, axis=alt.Axis(ticks=False, domain=False, labelLimit=170, labelPadding=8)),
        x=alt.X(
            "x:Q", axis=layers.log_axis("largest error of a cell", values=[-4, -3, -2, -1, 0]), scale=layers.scale(domain)
        ),
    )
    shared = {"title": None, "sort": None, "legend": layers.legend(kinds)}
    dots = base.mark_point(filled=True, size=220, opacity=1).encode(
        color=alt.Color("kind:N", scale=alt.Scale(domain=kinds, range=[HERE, BLUE]), **shared),
        shape=alt.Shape("kind:N", scale=alt.Scale(domain=kinds, range=["diamond", "circle"]), **shared),
        tooltip=[alt.Tooltip("kind:N"), alt.Tooltip("text:N", title="error")],
    )
    lines = base.mark_line(color=GUIDE, strokeWidth=2).encode(detail=alt.Detail("name:N"))
    said = alt.Text("text:N")
    words = [
        base.mark_text(dy=dy, color=WORD, fontWeight="bold").encode(text=said).transform_filter(alt.datum.kind == kind)
        for kind, dy in ((PROMISED, -18), (MEASURED, 20))
    ]
    return layers.finish(alt.layer(lines, dots, *words), "Promised and measured", legend_labels=kinds)


def draw_curves(along: str, points: Sequence[tuple[float, Sequence[Try]]], *, measured: bool = True) -> Any:
    """An Altair chart on two log10 axes: what every theorem promises and what runs measure at growing ε or n."""
    import altair as alt

    marks = [
        {"name": one.name, "x": math.log10(x), "y": math.log10(min(max(y, 1e-4), 10.0)), "kind": kind, "error": short(y, 2)}
        for x, tries in points
        for one in tries
        for kind, y in ((PROMISED, one.promised), (MEASURED, one.measured if measured else None))
        if y is not None and y < math.inf
    ]
    names, kinds = [one.name for one in points[0][1]], [PROMISED, MEASURED]
    x_domain, y_domain = layers.domain_of([math.log10(x) for x, _ in points]), (-4.1, 1.1)
    shared = {"title": None, "sort": None, "legend": layers.legend([*names, *kinds])}
    dash = alt.Scale(domain=kinds, range=[[6, 4], [1, 0]])
    lines = (
        alt.Chart(pd.DataFrame(marks, columns=["name", "x", "y", "kind", "error"]))
        .mark_line(strokeWidth=2.5, clip=True)
        .encode(
            x=alt.X("x:Q", axis=layers.log_axis(along), scale=layers.scale(x_domain)),
            y=alt.Y("y:Q", axis=layers.log_axis("largest error of a cell"), scale=layers.scale(y_domain)),
            color=alt.Color("name:N", scale=layers.series_scales(names)[0], **shared),
            strokeDash=alt.StrokeDash("kind:N", scale=dash, **shared),
            tooltip=[alt.Tooltip("name:N"), alt.Tooltip("kind:N"), alt.Tooltip("error:N")],
        )
    )
    rule = layers.rules([(0.0, "at 1 and above a promise says nothing")], y_domain, labels_left=False)
    chart = layers.layered(lines, *rule)
    return layers.finish(chart, f"Promised and measured, along {along}", legend_labels=[*names, *kinds])


def _tried(columns: int, epsilon: float, share: float = 1.0, degree: int = 2) -> tuple[str, int, list[Try]]:
    """What was run on the loaded data: its name, its number of rows, and how it went; kept in the visit."""
    current = visit.dataset()
    memory: dict[object, tuple[str, int, list[Try]]] = st.session_state.setdefault("_practice", {})
    key = (current.revision, columns, epsilon, share, degree)
    if key not in memory:
        own = current.parts[0].drawn
        table = small(own, columns, current.target)
        if table.domain.attributes[0] not in own.domain.attributes:
            less = f" (your data have no two columns of 2 to {_MOST_VALUES} categories)"
        else:
            less = " (no other column is small enough)" if len(table.domain) < columns else ""
        count = max(2, round(min(table.n, _MOST_ROWS) * share))
        table = table.take(np.sort(np.random.default_rng(_SEED).permutation(table.n)[:count]))
        words = ASIA if table.name == "asia" else {}
        names = listed((words.get(name, escape.markdown(name)) for name in table.domain.names), 4)
        named = f"{'ASIA' if words else escape.markdown(table.name)}: {table.n:,} rows of {names}{less}"
        memory[key] = named, table.n, tried(table, epsilon, min(degree, len(table.domain)))
    return memory[key]


def _here(columns: int, epsilon: float, degree: int = 2, measured: bool = True) -> tuple[Any, str]:
    named, _, tries = _tried(columns, epsilon, degree=degree)
    missing = "".join(f" {one.name} makes no row." for one in tries if one.measured is None)
    return draw(tries, measured=measured), f"{named}, ε = {epsilon:g}.{missing}"


def _along(along: str, columns: int, measured: bool = True) -> tuple[Any, str]:
    if along == _ALONG_N:
        states = [_tried(columns, _FIXED, share) for share in _SHARES]
        points, where = [(float(n), tries) for _, n, tries in states], f"ε = {_FIXED:g}"
    else:
        states = [_tried(columns, epsilon) for epsilon in _EPSILONS]
        points, where = [(epsilon, tries) for epsilon, (*_, tries) in zip(_EPSILONS, states, strict=True)], "all rows"
    said = f" {gap(along, points)}" if measured else ""
    return draw_curves(along, points, measured=measured), f"{states[-1][0]}, {where}.{said}"


def gap(along: str, points: Sequence[tuple[float, Sequence[Try]]]) -> str:
    """In words, how far below its promise each mechanism that has a theorem stays at both ends of the axis."""
    ends = ((along + " = " + short(points[0][0], 3), points[0][1]), (short(points[-1][0], 3), points[-1][1]))
    found = []
    for at, one in enumerate(points[0][1]):
        if all(tries[at].promised >= _WORST for _, tries in ends):
            found += [f"{one.name}: a bound of 1 and above all along."] * (one.promised < math.inf)
        else:
            found.append(f"{one.name}: " + ", ".join(f"{_times(tries[at])} at {where}" for where, tries in ends) + ".")
    return " ".join(found)


def _times(one: Try) -> str:
    if one.measured is None:
        return "no row"
    if one.promised >= _WORST:
        return "no promise"
    return f"{short(one.promised / one.measured, 2)} times below its promise" if one.measured else "no error at all"


def _few(one: Try) -> str:
    """Why the error is large where a mechanism makes few rows; nothing where it makes many."""
    return f" (it makes only {counted(one.rows, 'row')})" * (one.rows < 100)


def below(tries: Sequence[Try]) -> str:
    """How far each measured error lies below its promise: the reveal of the first step."""
    found = []
    for one in tries:
        error = f", error {short(one.measured, 2)}" if one.measured is not None and one.promised >= _WORST else ""
        found.append(f"{one.name}: {_times(one)}{error}{_few(one) if one.rows else ''}.")
    return " ".join(found)


def grown(whole: Sequence[Try], part: Sequence[Try], share: float) -> str:
    """The measured errors with all rows and with a share of them: the reveal of the second step."""
    found = [f"From all rows to {percent(share)} of them:"]
    for all_rows, fewer in zip(whole, part, strict=True):
        if all_rows.measured is None or fewer.measured is None:
            found.append(f"{fewer.name} makes no row;")
        else:
            found.append(f"{fewer.name} {short(all_rows.measured, 2)} → {short(fewer.measured, 2)}{_few(fewer)};")
    return " ".join(found).removesuffix(";") + "."


_EPSILONS, _SHARES, _FIXED, _ALONG_N = (0.1, 1.0, 3.0, 10.0, 30.0), (0.01, 0.03, 0.1, 0.3, 1.0), 3.0, "n"
_E, _C = Slider("epsilon", "ε", _EPSILONS, 3.0), Slider("columns", "Columns", (2, 3, 4, 5, 6), 4)

LESSONS = (
    Lesson(
        "practice",
        "No free lunch",
        "What theorems promise on your data, and what the mechanisms really do.",
        (
            Step(
                "A promise holds for the worst data",
                "A theorem bounds the error on every dataset; yours is kinder. Diamonds: the error that a run exceeds with "
                "a probability of at most a half (noisy reweighting), an eighth (MWEM). Circles: one run on your data. At 1 "
                "a theorem says nothing.",
                _here,
                (_E, _C),
                Question(
                    "On most data, how far below its promise is the error of noisy reweighting at ε = 3?",
                    ("Hardly", "By half", "Five times or more"),
                    2,
                    lambda columns, epsilon: f"Here, at ε = {epsilon:g}: {below(_tried(columns, epsilon)[-1])}",
                    {"measured": False},
                ),
            ),
            Step(
                "Few rows and a small ε",
                "Noise hides one person among n at strength ε, so what counts is n·ε. With 1 % of the rows you need 100 "
                "times the ε for the same noise. Private sampling pays in rows; at small ε it makes one or none.",
                _along,
                (Slider("along", "Along", (_ALONG_N, "ε"), _ALONG_N), Slider("columns", "Columns", (2, 3, 4), 3)),
                Question(
                    "Keep 1 % of the rows at ε = 3. What happens to the errors of noisy reweighting and MWEM?",
                    ("Nothing", "They grow", "They shrink"),
                    1,
                    lambda columns, along: grown(_tried(columns, _FIXED)[-1], _tried(columns, _FIXED, 0.01)[-1], 0.01),
                    {"measured": False},
                ),
            ),
            Step(
                "Many columns at once",
                "Each table more takes a part of the same budget. And if one-way functions exist, there are data whose "
                "two-way tables no fast method can keep privately in synthetic rows (Ullman and Vadhan 2011). Real data are "
                "not those: a belief, not a theorem.",
                lambda columns, degree: _here(columns, 1.0, degree=degree),
                (Slider("columns", "Columns", (3, 4, 5, 6), 6), Slider("degree", "d, columns in a table", (1, 2, 3), 2)),
            ),
        ),
        "reads the loaded rows.",
    ),
)
