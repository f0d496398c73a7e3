"""The file that the app was opened with: ``dpsyn app people.csv``."""

from __future__ import annotations

import os
from pathlib import Path

import streamlit as st

from dpsyn.app import share
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
        st.session_state["upload_fault"] = f"{Path(path).name}: {fault}"
    return True
