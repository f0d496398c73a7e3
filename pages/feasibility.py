"""Which theorem applies to these data, by how much it does not, and what would have to change."""

import streamlit as st

from dpsyn import escape
from dpsyn.app.explorer import choose, sections
from dpsyn.errors import ParameterError
from dpsyn.kit import visit, widgets

st.title("Feasibility")
widgets.data_notices()
widgets.watch_job()
every = sections()
section = widgets.view_of(every, "f_section", "Section")
explorer = choose(section)
if explorer.private:
    warning = escape.markdown(explorer.focus.domain_warning)
    with st.container(horizontal=True, vertical_alignment="center"):
        said = f" :material/warning: {warning}" if warning else ""
        st.caption(f"Private rows, not for publication: see Export.{said}", width="content")
        if warning:
            st.page_link("domain.py", label="Confirm it on the page Domain", icon=":material/fact_check:")
visit.offer(None)
try:
    every[section](explorer)
except ParameterError as fault:
    st.error(widgets.said(str(fault)), icon=":material/error:")
