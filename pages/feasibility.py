"""Which theorem applies to these data, by how much it does not, and what would have to change."""

import streamlit as st

from dpsyn import escape
from dpsyn.app.explorer import choose, sections
from dpsyn.domain import NOT_YET_TRUE
from dpsyn.errors import ParameterError
from dpsyn.kit import visit, widgets

st.title("Feasibility")
widgets.data_notices()
widgets.watch_job()
every = sections()
section = widgets.view_of(every, "f_section", "Section")
explorer = choose(section)
if explorer.private:
    with st.container(horizontal=True, vertical_alignment="center"):
        warning = explorer.focus.domain_warning.removeprefix(f"{NOT_YET_TRUE}: t")
        said = f" :material/warning: T{escape.markdown(warning)}" if warning else ""
        st.caption(f"Private rows, not for publication: see Export.{said}", width="content")
        if warning:
            widgets.confirm_link()
visit.offer(None)
try:
    every[section](explorer)
except ParameterError as fault:
    st.error(widgets.said(str(fault)), icon=":material/error:")
