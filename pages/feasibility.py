"""Which theorem applies to these data, by how much it does not, and what would have to change."""

import streamlit as st

from dpsyn import escape
from dpsyn.app.explorer import choose, sections
from dpsyn.errors import ParameterError
from dpsyn.kit import visit, widgets

st.title("Feasibility")
widgets.data_notices()
widgets.watch_job()
widgets.show_message()
every = sections()
section = widgets.view_of(every, "f_section", "Section")
explorer = choose(section)
if explorer.private:
    warning = escape.markdown(explorer.focus.domain_warning)
    st.caption(
        "Private rows, not for publication: see Export. "
        + (f":material/warning: {warning} Confirm it on the page Data." if warning else "")
    )
visit.offer(None)
try:
    every[section](explorer)
except ParameterError as fault:
    st.error(widgets.said(str(fault)), icon=":material/error:")
