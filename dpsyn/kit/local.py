"""Whether the paths of this machine are the visitor's own to read and write."""

from __future__ import annotations

import os
import re

import streamlit as st

SWITCH = "DPSYN_LOCAL"
"""The environment variable with which whoever starts the server says, by 1, that its visitors are at this machine."""
_HERE = re.compile(r"(https?://)?(localhost|127\.0\.0\.1|\[::1\])(:\d+)?")
_OF_BROWSERS = re.compile(
    r"host|connection|upgrade|origin|user-agent|cookie|dnt|priority|pragma|cache-control|accept(-.+)?|sec-.+"
)


def is_local() -> bool:
    """Whoever started the server said so, it listens to this machine alone, and the visit came straight from a browser here:
    under a name of this machine, and with no header that a browser would not send. Of a proxy this finds what it can; what
    forwards without a trace is why there is a switch."""
    headers = {name.lower(): value for name, value in st.context.headers.items()}
    return (
        os.environ.get(SWITCH) == "1"
        and st.get_option("server.address") in ("localhost", "127.0.0.1", "::1")
        and st.context.ip_address is None  # Streamlit's word for an address of this machine
        and all(_HERE.fullmatch(headers.get(name, "")) for name in ("host", "origin"))
        and all(_OF_BROWSERS.fullmatch(name) for name in headers)
    )
