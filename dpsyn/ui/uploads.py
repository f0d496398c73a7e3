"""Uploading a file, on whichever page: it replaces the data, or says what is wrong and loses nothing."""

from __future__ import annotations

import streamlit as st

from dpsyn.errors import InputError
from dpsyn.ui import jobs, state

TYPES = ("csv", "tsv", "txt", "parquet")


def uploader(key: str) -> None:
    """A file uploader; what it is given becomes the session's dataset."""
    st.file_uploader(
        "Your own table: it stays on the machine that runs this app",
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
        st.session_state[state.SAMPLE_KEY] = None


def path_counter() -> None:
    """Statistics of a file on this machine, however large, without loading it; only where the app runs locally."""
    if not is_local():
        st.caption("Reading a file by its path is offered only when the app runs on your own machine.")
        return
    with st.form("f_path_form", border=False):
        path = st.text_input("A file on this machine, however large: its path", key="f_path", placeholder="/data/people.csv")
        if st.form_submit_button("Count it", icon=":material/functions:", disabled=state.job() is not None) and path.strip():
            context = {"kind": "statistics"}
            label = f"Counting {path.strip()}"
            state.set_job(
                jobs.start(
                    "dpsyn.ui.tasks:count_file", label=label, context=context, path=path.strip(), two_valued_as_bit=False
                )
            )
            st.rerun()


def is_local() -> bool:
    """Whether only this machine can reach the app, and no proxy stands in front of it: then a path is the user's own."""
    proxied = {"x-forwarded-for", "forwarded", "x-real-ip"} & {name.lower() for name in st.context.headers}
    return st.get_option("server.address") in ("localhost", "127.0.0.1", "::1") and not proxied


def show_fault() -> None:
    """What was wrong with the last file."""
    fault = st.session_state.get("upload_fault")
    if fault:
        st.error(f"{fault.rstrip('.')}.  \nThe data that was loaded before is still here.", icon=":material/error:")
