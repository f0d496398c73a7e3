"""Short guided paths through the mechanisms, for teaching."""

import streamlit as st

from dpsyn.app import lessons
from dpsyn.kit import verdicts, widgets

st.title("Lessons")
widgets.data_notices()
st.caption(
    "Every step opens in a tab of its own, with its data, sliders and seed set; come back here for the next one. “Draw "
    "again” shows what is luck, “Freeze” keeps the draw while you move the sliders."
)
verdicts.show()
lessons.show()
