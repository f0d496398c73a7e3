"""Step 2 of the road: categories, bounds and units of every column, and where they are known from."""

import streamlit as st

from dpsyn.app import address, columns, editor, road
from dpsyn.data.editing import READ_OFF, SOURCES
from dpsyn.kit import code, visit, widgets
from dpsyn.notation import counted

road.head("Domain")
current = widgets.dataset_bar()
widgets.watch_job()
visit.offer(lambda: code.data(current))
described = current.table.domain.attributes
said = "Categories, bounds and units become public."
if not current.table.domain.is_public:
    said += (
        " Replace what was read off the rows by what you know **without looking at them**: a largest value is somebody's "
        "value. Then say where you know it from."
    )
st.markdown(said)
with st.form(f"domain_{current.revision}", border=False):
    open_ones = sum(not attribute.public for attribute in described)
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
    binned = any(attribute.is_binned for attribute in described)  # a column that becomes one is shown before it counts
    bounds, bins = (("lower", "upper", "unit"), ("bins",)) if binned else ((), ())
    dates = ["keep"] if any(attribute.kind == "date" for attribute in described) else []
    order = ("column", "kind", "categories", *bounds, *dates, "missing", "source", *bins)
    lines = editor.lines(current, "lines", order)
    warned = columns.doubts_on(current, lines["column"])
    if warned:
        st.warning(f"{warned} If it is right as it is, press Next.", icon=":material/warning:")
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
