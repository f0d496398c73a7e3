"""Uploading a file, on whichever page: it replaces the data, or says what is wrong and loses nothing."""

from __future__ import annotations

import streamlit as st

from dpsyn.errors import InputError
from dpsyn.ui import state

TYPES = ("csv", "tsv", "txt", "parquet")


def uploader(key: str) -> None:
    """A file uploader; what it is given becomes the session's dataset."""
    st.file_uploader(
        "Your own table (CSV, TSV or Parquet; it stays on the machine that runs this app)",
        type=list(TYPES),
        key=key,
        on_change=_take,
        args=(key,),
    )


def _take(key: str) -> None:
    file = st.session_state[key]
    if file is None:
        return
    st.session_state.pop("upload_fault", None)
    try:
        state.use_upload(file.getvalue(), file.name)
    except InputError as fault:
        st.session_state["upload_fault"] = f"{file.name}: {fault}"
    else:
        st.session_state["sample"] = None


def show_fault() -> None:
    """What was wrong with the last file."""
    fault = st.session_state.get("upload_fault")
    if fault:
        st.error(f"{fault}  \nThe data that was loaded before is still here.", icon=":material/error:")
