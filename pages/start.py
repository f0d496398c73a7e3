"""The way in: one picture of real beside synthetic, and two ways on."""

import streamlit as st

st.title("What can differentially private synthetic data do?")
st.page_link("data.py", label="Use my data", icon=":material/table:")
st.page_link("lessons.py", label="Teach me", icon=":material/school:")
