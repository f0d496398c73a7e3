"""Short guided paths through the mechanisms, for teaching."""

import streamlit as st

from dpsyn.ui import documents, lessons

st.title("Lessons")
st.caption(
    "Every step opens in a tab of its own, with its data, sliders and seed set; come back here for the next one. “Draw "
    "again” shows what is luck, “Freeze” keeps the draw while you move the sliders."
)
documents.show()
lessons.show()
