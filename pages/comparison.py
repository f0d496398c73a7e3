"""Real against synthetic: marginal errors, range queries, classifiers; the sampling-noise floor beside them."""

import streamlit as st

st.title("Comparison")
