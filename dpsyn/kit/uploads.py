"""Uploading a file, on whichever page: it replaces the data, or says what is wrong and loses nothing."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import streamlit as st

from dpsyn.errors import InputError
from dpsyn.kit import jobs, visit

if TYPE_CHECKING:
    from dpsyn.data.large import FileStatistics

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
        visit.use_upload(file.getvalue(), file.name)
    except InputError as fault:
        st.session_state["upload_fault"] = f"{file.name}: {fault}"
    else:
        st.session_state[visit.SAMPLE_KEY] = None


def path_counter() -> None:
    """Statistics of a file on this machine, however large, without loading it; only where the app runs locally."""
    if not is_local():
        st.caption("Reading a file by its path is offered only when the app runs on your own machine.")
        return
    with st.form("f_path_form", border=False):
        path = st.text_input("A file on this machine, however large: its path", key="f_path", placeholder="/data/people.csv")
        if st.form_submit_button("Count it", icon=":material/functions:", disabled=visit.job() is not None) and path.strip():
            context = {"done": _keep_statistics}
            label = f"Counting {path.strip()}"
            visit.set_job(
                jobs.start(
                    "dpsyn.kit.uploads:count_file", label=label, context=context, path=path.strip(), two_valued_as_bit=False
                )
            )
            st.rerun()


def _keep_statistics(context: dict[str, Any], counted: FileStatistics) -> None:
    visit.read_statistics()[f"{counted.statistics.name} (counted)"] = counted.statistics


def is_local() -> bool:
    """Whether only this machine can reach the app, and no proxy stands in front of it: then a path is the user's own."""
    proxied = {"x-forwarded-for", "forwarded", "x-real-ip"} & {name.lower() for name in st.context.headers}
    return st.get_option("server.address") in ("localhost", "127.0.0.1", "::1") and not proxied


def show_fault() -> None:
    """What was wrong with the last file."""
    fault = st.session_state.get("upload_fault")
    if fault:
        st.error(f"{fault.rstrip('.')}.  \nThe data that was loaded before is still here.", icon=":material/error:")


def count_file(path: str, two_valued_as_bit: bool, progress: Callable[[str, float], None]) -> FileStatistics:
    """Task of a background job: statistics of a file of any size, read from a path on this machine."""
    from dpsyn.data.large import file_statistics

    return file_statistics(path, wide="leave_out", two_valued_as_bit=two_valued_as_bit, progress=progress)
