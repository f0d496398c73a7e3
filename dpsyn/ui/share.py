"""What stands at the top of every page: a link that restores it, its code, and larger type for a projector."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from urllib.parse import urlencode

import streamlit as st

from dpsyn.data.samples import SAMPLES
from dpsyn.ui import state

DATA, PRESENT = "data", "present"
_FROM_LINK, _CODE = "_data_of_link", "_code_on_screen"
_LARGER = """<style>
html {font-size: 21px}
[data-testid='stMainBlockContainer'] {padding-left: 2rem; padding-right: 2rem}
</style>"""


def take_over_data() -> None:
    """Load the bundled dataset that the address names, once for every link."""
    wanted = st.query_params.get(DATA)
    if wanted in SAMPLES and wanted != st.session_state.get(_FROM_LINK):
        state.use_sample(wanted)
    st.session_state[_FROM_LINK] = wanted


def keep_data_in_address() -> None:
    """Write the name of the bundled dataset into the address, so that a reload opens it again; nothing of anybody's own."""
    sample = state.dataset().sample
    if sample is not None and st.query_params.get(DATA) != sample:
        st.query_params[DATA] = sample
    elif sample is None and DATA in st.query_params:
        del st.query_params[DATA]
    st.session_state[_FROM_LINK] = sample


def offer(code: Callable[[], str]) -> None:
    """Say how to do in Python what the page shows, for the popover that is opened next on this page."""
    st.session_state[_CODE] = (_page(), code)


def code_on_screen() -> str | None:
    """What the page offered when it was last drawn."""
    page, code = st.session_state.get(_CODE, ("", None))
    return code() if code is not None and page == _page() else None


def _page() -> str:
    return (st.context.url or "").split("?")[0]


def link(query: Mapping[str, list[str]] | None = None) -> str:
    """The address of this page with every setting that differs from its default."""
    query = {name: st.query_params.get_all(name) for name in st.query_params} if query is None else query
    base = (st.context.url or "").split("?")[0]
    return f"{base}?{urlencode(query, doseq=True)}" if query else base


def tools() -> None:
    """The popover with the link and the code of the page as it was drawn last. It makes them when it is opened."""
    with st.popover("Share", icon=":material/share:", key="share", on_change="rerun") as popover:
        if not popover.open:
            return
        st.markdown("**A link to this page**")
        st.caption("It holds every setting that differs from its default and the name of a bundled dataset, but no data.")
        st.code(link(), language=None, wrap_lines=True)
        code = code_on_screen()
        if code is not None:
            st.markdown("**Code for what is on screen**")
            if state.dataset().sample is None:
                st.caption("Put the path of your file in place of its name.")
            st.code(code, language="python", height=360)


def presentation() -> None:
    """The toggle, and larger type while it is on. The address keeps it."""
    if st.toggle("Presentation", key=PRESENT, bind="query-params", help="Larger type, for a projector."):
        st.html(_LARGER)
