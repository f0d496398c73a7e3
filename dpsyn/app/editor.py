"""The columns as a table to be edited, on the pages of the first two steps, and what becomes of the edits."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pandas as pd
import streamlit as st

from dpsyn import escape
from dpsyn.data.editing import READ_OFF, SHOWN_CATEGORIES, SOURCES, edited_domain, editor_lines
from dpsyn.domain import CALENDAR, KINDS
from dpsyn.errors import InputError
from dpsyn.kit import visit
from dpsyn.kit.visit import Dataset

_CONFIG: Mapping[str, Any] = {
    "use": st.column_config.CheckboxColumn("Use", width=50),
    "column": st.column_config.TextColumn("Column", pinned=True),
    "kind": st.column_config.SelectboxColumn(
        "Kind",
        options=list(KINDS),
        required=True,
        width="small",
        help="truth: two truth values, one bit; numeric and date: bounds",
    ),
    "values": st.column_config.NumberColumn("Values", width="small", help="Categories, or bins of a number or date."),
    "cost": st.column_config.ProgressColumn(
        "Cost",
        format="%.0f %%",
        min_value=0,
        max_value=100,
        help="Every cell of a table gets noise: leave out what you do not need.",
    ),
    "categories": st.column_config.ListColumn("Categories", width="large", help=f"The first {SHOWN_CATEGORIES} are shown."),
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
        width=150,
        help="Dates: keep how often each weekday or month occurs, and with what. Each adds a column to the statistics, so "
        "the noise on the others grows",
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
    edited: pd.DataFrame = st.data_editor(
        editor_lines(current.full, current.table.domain, shown, current.sources),
        hide_index=True,
        height=min(35 * (len(shown) + 1) + 2, 597),
        placeholder="",
        column_order=order,
        disabled=("column", "values", "cost"),
        column_config=_CONFIG,
        key=f"{key}_{current.revision}",
    )
    return edited


def apply(current: Dataset, lines: pd.DataFrame, source: str = READ_OFF, **changes: Any) -> bool:
    """Make the edited lines the domain; False, with the reason on the page, if they make none.

    Args:
        current: the dataset as it is.
        lines: of the editor.
        source: for all columns that are read off these rows.
        changes: what else changes.
    """
    try:
        domain = edited_domain(lines, current.full, current.table.domain)
        said = {**current.sources, **dict(zip(lines["column"], lines["source"], strict=True))}
        said |= {attribute.name: source for attribute in domain.attributes if not attribute.public}
        if source != READ_OFF:
            domain = domain.confirmed()
        table = current.full.with_domain(domain)
    except InputError as fault:
        st.error(f"Nothing was changed: {escape.markdown(fault)}", icon=":material/error:")
        return False
    sources = {name: text for name, text in said.items() if text != READ_OFF}
    if domain != current.table.domain or changes.items() - {("target", current.target), ("held_out", current.held_out)}:
        visit.use(current.changed(table=table, sources=sources, **changes))
    else:
        visit.use(replace(current, sources=sources))
    return True
