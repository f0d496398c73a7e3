"""Which theorem applies to these data, by how much it does not, and what would have to change."""

import streamlit as st

from dpsyn.app.explorer import choose, sections
from dpsyn.errors import ParameterError
from dpsyn.kit import visit, widgets
from dpsyn.kit.widgets import path_counter, show_fault, uploader

st.title("Feasibility")
widgets.data_notices()
with st.expander("More data: upload a table, or count a large file where it lies", icon=":material/upload_file:"):
    left, right = st.columns(2, gap="medium")
    with left:
        uploader("f_upload")
    with right:
        path_counter()
show_fault()
widgets.watch_job()
widgets.show_message()
explorer = choose()
every = sections()
section = widgets.view_of(every, "f_section", "Section")
if explorer.private:
    st.caption(
        "The statistics of loaded data are read from private rows: what this page says about them is for you, not for "
        "publication. The section “Export” offers statistics that may be published."
    )
visit.offer(None)
try:
    every[section](explorer)
except ParameterError as fault:
    st.error(widgets.said(str(fault)), icon=":material/error:")
