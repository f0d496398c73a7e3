"""What stands at the top of every page: a link that restores it, its code, and larger type for a projector."""

from __future__ import annotations

from collections.abc import Mapping
from urllib.parse import urlencode

import streamlit as st

from dpsyn.app import data_link
from dpsyn.kit import screen, visit

_FROM_LINK = "_data_of_link"
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
            visit.use(found)
            st.session_state[visit.SAMPLE_KEY] = found.sample
        elif wanted.get(data_link.DATA) == data_link.OWN and not visit.has_dataset():
            visit.use_sample(visit.DEFAULT_SAMPLE)
            st.session_state[visit.SAMPLE_KEY] = None  # nobody chose it
            st.session_state[visit.OWN_LOST] = True
    st.session_state[_FROM_LINK] = wanted


def keep_data_in_address() -> None:
    """Write the bundled dataset and its settings into the address, so that a reload opens it again; of the user's own data
    that there was one, so that a reload can say that it is gone."""
    current = visit.dataset()
    wanted = {data_link.DATA: data_link.OWN} if visit.OWN_LOST in st.session_state else data_link.described(current)
    for name in data_link.NAMES:
        screen.write(name, wanted.get(name))
    st.session_state[_FROM_LINK] = wanted
    screen.drop_of_other_page()


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
                if visit.dataset().sample is not None
                else "but nothing of your own data: whoever opens it has to load the file first."
            )
        )
        st.code(link(), language=None, wrap_lines=True)
        code = screen.code_on_screen()
        if code is not None:
            st.markdown("**Code for what is on screen**")
            if visit.dataset().sample is None:
                st.caption("Put the path of your file in place of its name.")
            st.code(code, language="python", height=360)


def presentation() -> None:
    """The toggle, and larger type while it is on. The address keeps it."""
    if st.toggle("Presentation", key=screen.PRESENT, bind="query-params", help="Larger type, for a projector."):
        st.html(_LARGER)
