"""Whom a job is for, and whether somebody still looks."""

from __future__ import annotations

from dataclasses import dataclass

import streamlit as st
from streamlit import runtime
from streamlit.runtime.scriptrunner import get_script_run_ctx

_BROWSER = "_streamlit_xsrf"
"""A cookie that all tabs of one browser share."""


@dataclass(frozen=True)
class Visitor:
    """One tab of somebody's.

    Attributes:
        name: tells people apart: the same for all tabs of one browser.
        session: of this tab; None outside the app.
    """

    name: str
    session: str | None = None

    @property
    def present(self) -> bool:
        """Whether the tab is connected; outside a server always."""
        return self.session is None or not runtime.exists() or runtime.get_instance().is_active_session(self.session)


def current() -> Visitor:
    """Whoever the script runs for."""
    context = get_script_run_ctx(suppress_warning=True)
    if context is None:
        return Visitor("")
    return Visitor(st.context.cookies.get(_BROWSER, context.session_id), context.session_id)
