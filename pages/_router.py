"""What every visit runs: page configuration, navigation, and what stands above every page; nothing else."""

import streamlit as st

from dpsyn.app import address, opened, share
from dpsyn.kit import show, visit

st.set_page_config(page_title="dpsyn", page_icon=show.icon(), layout="wide")

show.apply()
address.admit()
begins = not visit.has_dataset()
taken = opened.take_file()
share.take_over_data()
start = st.Page("start.py", title="Start", icon=":material/home:", default=True)
data = st.Page("data.py", title="Data", icon=":material/table:", url_path="data")
page = st.navigation(
    [
        start,
        data,
        st.Page("domain.py", title="Domain", url_path="domain", visibility="hidden"),
        st.Page("feasibility.py", title="Feasibility", icon=":material/rule:", url_path="feasibility"),
        st.Page("generator.py", title="Generator", icon=":material/casino:", url_path="generator"),
        st.Page("comparison.py", title="Comparison", icon=":material/compare:", url_path="comparison"),
        st.Page("lessons.py", title="Learn", icon=":material/school:", url_path="lessons"),
        st.Page("inside.py", title="Inside", url_path="inside", visibility="hidden"),
    ],
    position="top",
)
if page == start and begins and (taken or share.names_data()):
    address.go(data, keep=True)  # also with a link from the time when the data stood on the first page
if page != start:
    share.keep_data_in_address()
with address.refusals(page.url_path):
    page.run()
    with st.container(horizontal=True, horizontal_alignment="right", vertical_alignment="center", key="tools"):
        share.presentation()  # after the page: whoever walks it by keyboard comes to its buttons first
        if page != start:  # which has no settings: its slider moves a picture alone
            share.tools()
address.keep_shared()
visit.keep_in_step()
