"""A file of rows that everybody may know: a reduced space for noisy reweighting, kept apart from the private table."""

from __future__ import annotations

from dataclasses import dataclass

import streamlit as st

from dpsyn.data.read import read_table
from dpsyn.data.table import Table
from dpsyn.errors import InputError, ParameterError
from dpsyn.ui.state import Dataset
from dpsyn.ui.uploads import TYPES

_KEY, _KEPT = "nr_public", "public_rows"


@dataclass(frozen=True, eq=False)
class _Kept:
    """A file of this visit, and what it became over a revision of the data."""

    data: bytes
    name: str
    revision: int
    table: Table | None
    fault: str


def public_rows(current: Dataset) -> Table | ParameterError:
    """The uploader, and the rows of its file over the domain of the data, or why there are none."""
    st.file_uploader(
        "Public rows (CSV, TSV or Parquet)",
        type=list(TYPES),
        key=_KEY,
        on_change=_take,
        args=(current,),
        help="Rows of the same columns that are public knowledge, for instance of an older survey. They must not come from "
        "the private table. A link to this page does not hold them.",
    )
    kept: _Kept | None = st.session_state.get(_KEPT)
    if kept is not None and kept.revision != current.revision:
        kept = st.session_state[_KEPT] = _read(kept.data, kept.name, current)
    if kept is None:
        return ParameterError(
            "reduced_space", "public", "there is no file of public rows yet; upload one, or choose another"
        )
    if kept.table is None:
        return ParameterError("public", kept.name, f"its rows must have the columns and values of the data; {kept.fault}")
    st.caption(f"{kept.name}: {kept.table.n:,} public rows.")
    return kept.table


def _take(current: Dataset) -> None:
    file = st.session_state[_KEY]
    if file is not None:
        st.session_state[_KEPT] = _read(file.getvalue(), file.name, current)


def _read(data: bytes, name: str, current: Dataset) -> _Kept:
    try:
        return _Kept(data, name, current.revision, read_table(data, domain=current.table.domain, name=name), "")
    except InputError as fault:
        return _Kept(data, name, current.revision, None, str(fault))
