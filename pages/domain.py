"""Step 2 of the road: categories, bounds and units of every column, and where they are known from."""

import streamlit as st

from dpsyn.app import address, columns, editor, road
from dpsyn.data.editing import READ_OFF, SOURCES
from dpsyn.kit import code, visit, widgets
from dpsyn.notation import counted

road.head("Domain", "Domain")
current = widgets.dataset_bar()
widgets.watch_job()
visit.offer(lambda: code.data(current))
st.markdown(
    "Categories, bounds and units become public. Where something was read off the rows, put what is known **without looking "
    "at them**: a largest value is somebody's value. Then say where you know it from."
)
with st.form(f"domain_{current.revision}", border=False):
    open_ones = sum(not attribute.public for attribute in current.table.domain.attributes)
    source = READ_OFF
    if open_ones:
        source = st.segmented_control(
            f"Where are the values of the {counted(open_ones, 'column')} that {'are' if open_ones > 1 else 'is'} "
            "read off these rows known from?",
            SOURCES,
            default=READ_OFF,
            required=True,
            key=f"source_{current.revision}",
        )
    dates = ["keep"] if any(attribute.kind == "date" for attribute in current.table.domain.attributes) else []
    order = ("column", "kind", "categories", "lower", "upper", "unit", *dates, "missing", "source", "bins")
    lines = editor.lines(current, "lines", order)
    warned = columns.doubts_on(current, lines["column"])
    if warned:
        st.warning(warned, icon=":material/warning:")
    with st.container(horizontal=True, vertical_alignment="center"):
        back = st.form_submit_button("Back", icon=":material/arrow_back:")
        go = st.form_submit_button("Next: choose a mechanism", type="primary", icon=":material/arrow_forward:")
        st.caption(f"{editor.WHEN} or Back.", width="content")
if back or go:
    editor.apply(current, lines, source or READ_OFF, then="data.py" if back else "generator.py")
if (place := editor.applied()) is not None:
    if place != "domain.py" and columns.doubts_on(visit.dataset(), lines["column"]) not in (None, warned):
        st.rerun()  # it is said once; the next press goes on
    if place == "generator.py":
        st.session_state.pop("newest", None)
    address.go(place)
