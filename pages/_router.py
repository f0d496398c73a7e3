"""What every visit runs: page configuration, navigation, and what stands above every page; nothing else."""

import streamlit as st

from dpsyn.app import address, share
from dpsyn.kit import show

st.set_page_config(page_title="dpsyn", page_icon=show.icon(), layout="wide")

show.apply()
address.admit()
share.take_over_data()
page = st.navigation(
    [
        st.Page("start.py", title="Start", icon=":material/home:", default=True),
        st.Page("home.py", title="Data", icon=":material/table:"),
        st.Page("feasibility.py", title="Feasibility", icon=":material/rule:", url_path="feasibility"),
        st.Page("generator.py", title="Generator", icon=":material/casino:", url_path="generator"),
        st.Page("inside.py", title="Inside", icon=":material/biotech:", url_path="inside"),
        st.Page("lessons.py", title="Lessons", icon=":material/school:", url_path="lessons"),
        st.Page("comparison.py", title="Comparison", icon=":material/compare:", url_path="comparison"),
    ],
    position="top",
)
share.keep_data_in_address()
with st.container(horizontal=True, horizontal_alignment="right", vertical_alignment="center", key="tools"):
    share.presentation()
    share.tools()
with address.refusals(page.url_path):
    page.run()
