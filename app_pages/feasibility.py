"""Which theorem applies to these data, by how much it does not, and what would have to change."""

import streamlit as st

from dpsyn.errors import ParameterError
from dpsyn.ui.explorer import setting
from dpsyn.ui.explorer.sections import SECTIONS

st.title("Feasibility")
explorer = setting.choose()
section = st.segmented_control(
    "Section", list(SECTIONS), default=next(iter(SECTIONS)), required=True, key="f_section", bind="query-params",
    label_visibility="collapsed",
)  # fmt: skip
if any(chosen.private for chosen in explorer.chosen):
    st.caption(
        "The statistics of loaded data are read from private rows: what this page says about them is for you, not for "
        "publication. The section “Export” offers statistics that may be published."
    )
try:
    SECTIONS[section](explorer)
except ParameterError as fault:
    st.error(str(fault), icon=":material/error:")
