"""What each mechanism does, step by step, on the data at hand: for teaching."""

import streamlit as st

from dpsyn.app import audits
from dpsyn.app.lessons import player
from dpsyn.kit import widgets
from dpsyn.mechanisms.registry import MECHANISMS, offered, title

st.title("Inside")
current = widgets.dataset_bar().drawn
back = player.way_back()
label = f"Back to {back['lesson']}, step {back['step']}" if back else "The lessons show it step by step"
st.page_link("lessons.py", label=label, icon=":material/school:", query_params=back)
st.caption(
    ":material/school: For teaching: these pictures read the private rows and follow every slider at once. "
    "Only what the Generator releases may be published."
)
shown = [name for name in MECHANISMS if offered(name, "panels:inside") is not None]
called = {name: title(name) for name in shown} | {audits.NAME: "Audits of all"}
chosen = widgets.one_of("Mechanism", called, key="inside_mechanism")
widgets.watch_job()
if chosen == audits.NAME:
    audits.show()
else:
    offered(chosen, "panels:inside")(current)
without = ", ".join(title(name) for name in MECHANISMS if name not in shown)
if without:
    st.caption(f"There are no pictures of {without}: the Generator runs them, and audits try them.")
