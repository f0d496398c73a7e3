"""What stands at the top of every page: a link that restores it, its code, and larger type for a projector."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from urllib.parse import urlencode

import streamlit as st

from dpsyn.ui import data_link, state

PRESENT = "present"
_FROM_LINK, _KEPT, _CODE = "_data_of_link", "_kept_in_address", "_code_on_screen"
_LARGER = """<style>
html {font-size: 21px}
[data-testid='stMainBlockContainer'] {padding: 4rem 1.5rem 3rem}

/* All pages stand in the navigation beside the tools, also on a narrow projector. */
[data-testid='stTopNavLink'] > span:has([data-testid='stIconMaterial']) {display: none}
[data-testid='stTopNavLink'] {padding-left: 0.4rem; padding-right: 0.4rem}
.st-key-tools {right: 1rem; gap: 0.5rem}
.st-key-tools [data-testid='stTooltipIcon'] {display: none}
@media (min-width: 62rem) {[data-testid='stToolbar'] {padding-right: 14rem}}

/* Tables have many columns: less air in them, so that their text has room. */
[data-testid='stTable'] :is(th, td) {padding: 0.25rem 0.4rem !important}
[data-testid='stTable'] :is(th, td) p {font-size: 0.82rem}
@media (max-width: 100rem) {
  [data-testid='stTable'] table:has(th:nth-child(9)) :is(th, td) {padding: 0.25rem !important}
  [data-testid='stTable'] table:has(th:nth-child(9)) :is(th, td) p {font-size: 0.7rem}
}
</style>"""


def take_over_data() -> None:
    """Load the bundled dataset that the address names, as it was set on the page Data, once for every link."""
    wanted = {name: st.query_params[name] for name in data_link.NAMES if name in st.query_params}
    if wanted != st.session_state.get(_FROM_LINK):
        found = data_link.restored(wanted)
        if found is not None:
            state.use(found)
            st.session_state[state.SAMPLE_KEY] = found.sample
        elif wanted.get(data_link.DATA) == data_link.OWN and not state.has_dataset():
            state.use_sample(state.DEFAULT_SAMPLE)
            st.session_state[state.SAMPLE_KEY] = None  # nobody chose it
            st.session_state[state.OWN_LOST] = True
    st.session_state[_FROM_LINK] = wanted


def keep_data_in_address() -> None:
    """Write the bundled dataset and its settings into the address, so that a reload opens it again; of the user's own data
    that there was one, so that a reload can say that it is gone."""
    current = state.dataset()
    wanted = {data_link.DATA: data_link.OWN} if state.OWN_LOST in st.session_state else data_link.described(current)
    for name in data_link.NAMES:
        _write(name, wanted.get(name))
    st.session_state[_FROM_LINK] = wanted
    page, name = st.session_state.get(_KEPT, ("", ""))
    if page != _page():
        _write(name, None)


def keep(name: str, text: str | None) -> None:
    """Write the one setting of this page that no widget can be bound to into the address; None takes it away.

    Under another name it takes the place of what was kept before; on another page it goes.
    """
    _, before = st.session_state.get(_KEPT, ("", name))
    if before != name:
        _write(before, None)
    _write(name, text)
    st.session_state[_KEPT] = (_page(), name)


def _write(name: str, text: str | None) -> None:
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
        st.caption(
            "It holds every setting of this page that differs from its default, "
            + (
                "and which bundled data are loaded, with what was set on the page Data."
                if state.dataset().sample is not None
                else "but nothing of your own data: whoever opens it has to load the file first."
            )
        )
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


def presenting() -> dict[str, str]:
    """What a link to another page of the app takes along so that larger type stays on; nothing while it is off."""
    return {PRESENT: "true"} if st.session_state.get(PRESENT) else {}
