"""Entry point: page configuration and navigation, nothing else."""

import streamlit as st

st.set_page_config(page_title="dpsyn", page_icon=":material/blur_on:", layout="wide")

if st.context.theme.type == "dark":
    # Streamlit writes the chips of a multiselect in white whatever the colour below, which nobody could read here.
    st.html("<style>[data-testid='stMultiSelect'] [data-tag] * {color: #06201d}</style>")

st.navigation(
    [
        st.Page("app_pages/home.py", title="Data", icon=":material/table:", url_path="data", default=True),
        st.Page("app_pages/feasibility.py", title="Feasibility", icon=":material/rule:", url_path="feasibility"),
        st.Page("app_pages/generator.py", title="Generator", icon=":material/casino:", url_path="generator"),
        st.Page("app_pages/inside.py", title="Inside", icon=":material/biotech:", url_path="inside"),
        st.Page("app_pages/comparison.py", title="Comparison", icon=":material/compare:", url_path="comparison"),
    ],
    position="top",
).run()
