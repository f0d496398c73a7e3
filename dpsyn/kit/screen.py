"""What a page says to the frame around it: settings for the address, code for what is shown, larger type."""

from __future__ import annotations

from collections.abc import Callable

import streamlit as st

PRESENT = "present"
_KEPT, _CODE = "_kept_in_address", "_code_on_screen"


def drop_of_other_page() -> None:
    """Take what another page kept (:func:`keep`) out of the address."""
    page, name = st.session_state.get(_KEPT, ("", ""))
    if page != _page():
        write(name, None)


def keep(name: str, text: str | None) -> None:
    """Write the one setting of this page that no widget can be bound to into the address; None takes it away.

    Under another name it takes the place of what was kept before; on another page it goes.
    """
    _, before = st.session_state.get(_KEPT, ("", name))
    if before != name:
        write(before, None)
    write(name, text)
    st.session_state[_KEPT] = (_page(), name)


def write(name: str, text: str | None) -> None:
    """Set a parameter of the address; None takes it away."""
    if text is None and name in st.query_params:
        del st.query_params[name]
    elif text is not None and st.query_params.get(name) != text:
        st.query_params[name] = text


def offer(code: Callable[[], str] | None) -> None:
    """Say how to do in Python what the page shows, for the popover that is opened next on this page; None: nothing."""
    st.session_state[_CODE] = (_page(), code)


def code_on_screen() -> str | None:
    """What the page offered when it was last drawn."""
    page, code = st.session_state.get(_CODE, ("", None))
    return code() if code is not None and page == _page() else None


def _page() -> str:
    return (st.context.url or "").split("?")[0]


def presenting() -> dict[str, str]:
    """What a link to another page of the app takes along so that larger type stays on; nothing while it is off."""
    return {PRESENT: "true"} if st.session_state.get(PRESENT) else {}
