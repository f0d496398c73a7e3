"""The first page: real rows beside synthetic ones, one slider, and two ways on."""

import streamlit as st

from dpsyn.app import start
from dpsyn.kit.show import show_chart

with st.container(key="start", gap="small"):
    st.title("Synthetic rows with proven privacy", anchor=False)
    st.html(start.control())
    show_chart(start.draw(), key="start_picture")
    st.caption(
        "Each square is a pair of columns. Blue: they occur together. Orange: they avoid each other. "
        "A smaller ε hides each person better and blurs the picture."
    )
    with st.container(horizontal=True, horizontal_alignment="center"):
        if st.button("Use my data", type="primary", icon=":material/table:"):
            st.switch_page("data.py")
        if st.button("Teach me", icon=":material/school:"):
            st.switch_page("lessons.py")
