"""The first page: real rows beside synthetic ones, one slider, and two ways on."""

import streamlit as st

from dpsyn.app import address, start
from dpsyn.kit.show import show_chart

with st.container(key="start", gap="small"):
    st.title("Synthetic rows with proven privacy", anchor=False)
    st.html(start.control())
    show_chart(start.draw(), key="start_picture")
    st.caption(
        "Blue: occur together. Orange: rarely do. Grey: neither. Columns stand in the same order. "
        f"{start.document()['rows']:,} made-up patients; ε limits what the right picture shows of any one."
    )
    with st.container(horizontal=True, horizontal_alignment="center"):
        if st.button("Use my data", type="primary", icon=":material/table:"):
            address.go("data.py")
        if st.button("Teach me", icon=":material/school:"):
            address.go("lessons.py")
