"""What the app opens on its own machine: the file that it was started with (``dpsyn app people.csv``), and rows that
are counted where they lie, in files or in tables of named connections."""

from __future__ import annotations

import os
from pathlib import Path

import streamlit as st

from dpsyn.app import share
from dpsyn.data.in_place import Connection
from dpsyn.errors import InputError
from dpsyn.kit import visit
from dpsyn.kit.local import is_local

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
        st.session_state[visit.FAULT_KEY] = f"{Path(path).name}: {fault}"
    return True


def opener() -> None:
    """Open rows that stay where they are; only where the app runs locally."""
    if not is_local():
        return
    connections = named_connections()
    with st.form("source_form", border=False):
        typed, button = st.columns([3, 1], vertical_alignment="bottom")
        label, known = "Or a path, read in place", "Parquet, a folder of it, a large CSV"
        path = typed.text_input(label, key="source_path", placeholder=known).strip()
        chosen = (
            typed.selectbox("Or a table of your secrets", list(connections), None, key="source_name")
            if connections
            else None
        )
        pressed = button.form_submit_button("Open", width="stretch", disabled=visit.job() is not None)
    if pressed and (path or chosen):
        visit.use_source(path or connections[str(chosen)], path or str(chosen))
        st.rerun()


def named_connections() -> dict[str, Connection]:
    """Every connection in Streamlit's secrets that has both a ``url`` and a ``table``, by name."""
    try:
        found = st.secrets.get("connections", {})
    except FileNotFoundError:
        return {}
    return {
        str(name): Connection(str(one["url"]), str(one["table"]))
        for name, one in found.items()
        if {"url", "table"} <= set(one)
    }
