"""What the app opens on its own machine: the file that it was started with (``dpsyn app people.csv``), and rows that
are counted where they lie, in files or in tables of named connections."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import streamlit as st

from dpsyn.app import share
from dpsyn.errors import InputError
from dpsyn.kit import jobs, visit
from dpsyn.kit.local import is_local
from dpsyn.statistics import DatasetStatistics

FILE = "DPSYN_FILE"
"""The environment variable with its path."""


def take_file() -> bool:
    """Load it where a visit begins that names no other data, and comes from this machine; whether it was tried."""
    path = os.environ.get(FILE)
    other = st.query_params.get(share.DATA, share.OWN) != share.OWN
    if not path or other or visit.has_dataset() or st.session_state.get(FILE) or not is_local():
        return False
    st.session_state[FILE] = True
    try:
        visit.use_upload(Path(path).read_bytes(), Path(path).name)
    except (InputError, OSError) as fault:
        st.session_state["upload_fault"] = f"{Path(path).name}: {fault}"
    return True


def path_counter() -> None:
    """Statistics of a file on this machine, however large, without loading it; only where the app runs locally."""
    if not is_local():
        st.caption(
            "Reading a file by its path is offered only where the app was started for your own machine (`DPSYN_LOCAL=1`)."
        )
        return
    connections = named_connections()
    with st.form("f_path_form", border=False):
        label = "A CSV or Parquet file on this machine, however large, or a folder of Parquet files: its path"
        path = st.text_input(label, key="f_path", placeholder="/data/people.csv").strip()
        if connections:
            chosen = st.selectbox("Or a table of your secrets", list(connections), None, key="f_connection")
            path = path or chosen or ""
        if st.form_submit_button("Count it", icon=":material/functions:", disabled=visit.job() is not None) and path:
            context = {"done": _keep_statistics}
            where = {"address": connections[path]} if path in connections else {"path": path}
            visit.set_job(
                jobs.start("dpsyn.app.opened:count_rows", label=f"Counting {path}", context=context, name=path, **where)
            )
            st.rerun()


def named_connections() -> dict[str, tuple[str, str]]:
    """Address and table of every connection in Streamlit's secrets that has both a ``url`` and a ``table``, by name."""
    try:
        found = st.secrets.get("connections", {})
    except FileNotFoundError:
        return {}
    return {str(name): (str(one["url"]), str(one["table"])) for name, one in found.items() if {"url", "table"} <= set(one)}


def _keep_statistics(context: dict[str, Any], counted: DatasetStatistics) -> None:
    visit.read_statistics()[f"{counted.name} (counted)"] = counted


def count_rows(
    name: str, progress: Callable[[str, float], None], path: str = "", address: tuple[str, str] | None = None
) -> DatasetStatistics:
    """Task of a background job: statistics of rows that stay where they are.

    Args:
        name: how to call them.
        progress: told of each step.
        path: of a file or a folder on this machine.
        address: of a database, as Ibis takes it, and one of its tables.

    Raises:
        DataError: they cannot be read.
    """
    from dpsyn.data.in_place import connected, open_in_place
    from dpsyn.data.large import file_statistics

    if address is None and not Path(path).is_dir():
        return file_statistics(path, wide="leave_out", progress=progress).statistics
    progress("counting", 0.0)
    source = path if address is None else connected(*address)
    return open_in_place(source, None, name if address else None, None, "leave_out")[0].statistics()
