"""The columns as a table to be edited, on the pages of the first two steps, and what becomes of the edits."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import pandas as pd
import streamlit as st

from dpsyn import escape
from dpsyn.data.counted import AnyTable
from dpsyn.data.editing import READ_OFF, SHOWN_CATEGORIES, SOURCES, edited_table, editor_lines, reads_rows
from dpsyn.domain import CALENDAR, KINDS
from dpsyn.errors import InputError
from dpsyn.kit import jobs, visit
from dpsyn.kit.visit import Dataset

WHEN = "Changes count when you press Next"
_APPLIED = "applied"
_FIRST = 3
"""Rows whose values stand beside a column."""
_MOST_SEEN, _HEIGHT = 16, 597
"""Columns that the grid shows at once, and pixels that it is high where there are more."""
_CONFIG: Mapping[str, Any] = {
    "use": st.column_config.CheckboxColumn("Use", width=50),
    "column": st.column_config.TextColumn("Column", pinned=True),
    "kind": st.column_config.SelectboxColumn(
        "Kind",
        options=list(KINDS),
        required=True,
        width="small",
        help="yes/no: two truth values, one bit; numeric and date: bounds",
        format_func=lambda kind: "yes/no" if kind == "truth" else str(kind),
    ),
    "rows": st.column_config.ListColumn("First rows", width=220),
    "values": st.column_config.NumberColumn(
        "Values or bins", width="small", help="Categories, or bins of a number or date."
    ),
    "cost": st.column_config.ProgressColumn(
        "Cost",
        format="%.0f %%",
        min_value=0,
        max_value=100,
        help="Every cell of a table gets noise: leave out what you do not need.",
    ),
    "categories": st.column_config.ListColumn("Categories", width=200, help=f"The first {SHOWN_CATEGORIES} are shown."),
    "lower": st.column_config.TextColumn("Lower", width="small", help="Lower bound; what is below is moved to it"),
    "upper": st.column_config.TextColumn("Upper", width="small", help="Upper bound; what is above is moved to it"),
    "unit": st.column_config.NumberColumn(
        "Unit",
        format="%.10g",
        width="small",
        help="Numbers are whole multiples of it: 1 for whole numbers, 0.01 for cents. Empty: any number",
    ),
    "keep": st.column_config.MultiselectColumn(
        "Keep",
        options=list(CALENDAR),
        width=130,
        help="Dates: keep how often each weekday, month or day of the month occurs, and with what. Each adds a column to "
        "the statistics, so the noise on the others grows",
    ),
    "missing": st.column_config.CheckboxColumn("Empty", width="small", help="Cells may be empty"),
    "source": st.column_config.SelectboxColumn(
        "Known from",
        options=list(SOURCES),
        required=True,
        width="medium",
        help="Where the categories, bounds and unit are known from. What was read off the rows tells of them: no guarantee "
        "holds before it is replaced by public knowledge.",
    ),
    "bins": st.column_config.NumberColumn(
        "Bins",
        min_value=1,
        max_value=1000,
        step=1,
        width="small",
        help="How many values mechanisms tell apart in numbers or dates; where to cut is chosen privately from the data",
    ),
}


def lines(current: Dataset, key: str, order: tuple[str, ...]) -> pd.DataFrame:
    """The columns as a table to be edited. The grid has a search of its own, and draws no more than one sees."""
    of_all = "use" in order  # what is left out can be taken in again
    shown = (current.full.domain if of_all else current.table.domain).names
    made = editor_lines(current.full, current.table.domain, shown, current.sources, current.left_out)
    edited: pd.DataFrame = st.data_editor(
        made.assign(rows=pd.Series(_first_rows(current, shown))) if "rows" in order else made,
        hide_index=True,
        height="content" if len(shown) <= _MOST_SEEN else _HEIGHT,
        placeholder="",
        column_order=order,
        disabled=("column", "rows", "values", "cost"),
        column_config=_CONFIG,
        key=f"{key}_{current.revision}",
    )
    return edited.drop(columns="rows", errors="ignore")


def _first_rows(current: Dataset, names: Sequence[str]) -> list[list[str]]:
    """What the first rows hold in each column, as texts; of rows that an engine keeps, those that it drew."""
    first = (current.full if current.in_memory else current.table).drawn.frame.head(_FIRST)
    cells, empty = first.to_numpy(dtype=object).T, first.isna().to_numpy().T
    texts = [
        ["" if none else str(cell).removesuffix(" 00:00:00") for cell, none in zip(*column, strict=True)]
        for column in zip(cells, empty, strict=True)
    ]
    found = dict(zip(first.columns, texts, strict=True))
    return [found.get(name, []) for name in names]


def apply(current: Dataset, lines: pd.DataFrame, source: str = READ_OFF, *, then: str, **changes: Any) -> None:
    """Make the edited lines the domain, in the background where an engine is asked for it; the reason is on the page if they
    make none.

    Args:
        current: the dataset as it is.
        lines: of the editor.
        source: for all columns that are read off these rows; what a column of another kind takes from them has to be seen
            before anybody can say where it is known from.
        then: the page that :func:`applied` names as soon as it is done.
        changes: what else changes.
    """
    lines = lines.assign(source=lines["source"].mask(lines["source"] == READ_OFF, source))
    asked: dict[str, Any] = {"lines": lines, "full": current.full, "table": current.table, "left_out": current.left_out}
    said = {**current.sources, **dict(zip(lines["column"], lines["source"], strict=True))}
    context = {"done": _take_if_open, "current": current, "said": said, "changes": changes}
    context["then"] = visit.page_url(), then
    try:
        if not reads_rows(**asked):
            _take(context, edited_table(**asked, progress=visit.quietly))
        elif visit.job() is not None:
            st.warning(
                "An engine has to count the columns anew: wait for what runs, or cancel it.", icon=":material/warning:"
            )
        else:
            task = "dpsyn.data.editing:edited_table"
            visit.set_job(jobs.start(task, label="The columns", context=context, **asked))
            st.rerun()
    except InputError as fault:
        st.error(f"Nothing was changed: {escape.markdown(fault)}", icon=":material/error:")


def _take_if_open(context: Mapping[str, Any], table: AnyTable) -> str | None:
    if visit.dataset().revision != context["current"].revision:
        return "other data has been opened since, so nothing was changed."
    _take({**context, "current": visit.dataset()}, table)  # bits may be counted in another way by now
    return None


def _take(context: Mapping[str, Any], table: AnyTable) -> None:
    current, changes = context["current"], context["changes"]
    said = {name: text for name, text in context["said"].items() if text != READ_OFF}
    unseen = said.keys() & {a.name for a in table.domain.attributes if not a.public}
    sources = {name: text for name, text in said.items() if name not in unseen}
    if table.domain != current.table.domain or changes.items() - {
        ("target", current.target),
        ("held_out", current.held_out),
    }:
        visit.use(current.changed(table=table, sources=sources, **changes))
    else:
        visit.use(replace(current, sources=sources))
    page, then = context["then"]
    if page == visit.page_url():
        st.session_state[_APPLIED] = "domain.py" if unseen else then


def applied() -> str | None:
    """The page to go to, once what was pressed here is done."""
    found: str | None = st.session_state.pop(_APPLIED, None)
    return found
