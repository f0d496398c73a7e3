"""Real against synthetic: releases of this visit, and experiments that run the mechanisms many times."""

import streamlit as st

from dpsyn.app import address, road, state
from dpsyn.app.lab import results
from dpsyn.app.lab.measures import findings, measure_form
from dpsyn.app.lab.planner import planner
from dpsyn.app.lab.releases import code_of, listing, other_releases
from dpsyn.app.lab.report import report_button
from dpsyn.app.lab.workspace import transfer, workspace_bar, workspace_button
from dpsyn.kit import visit, widgets

_NOT_IN_PLACE = "An experiment runs many times on rows in memory, and these are read in place: open some of them as a file."
st.title("Comparison", anchor=False)
current = widgets.dataset_bar()
releases = state.comparable()
others = [made for made in state.made() if made.number not in {own.number for own in releases}]
with st.container(horizontal=True, vertical_alignment="center", horizontal_alignment="distribute"):
    what = widgets.one_of(
        "What to compare",
        ["Releases", "Experiments"],
        key="comparison_what",
        label_visibility="collapsed",
    )
    with st.container(horizontal=True, width="content"):
        if releases and what == "Releases":
            road.run_all_button(current, first=False)
        workspace_button()
        transfer()
        report_button()
workspace_bar()
visit.offer(None)
if what == "Releases" or not any(map(state.running_of, state.experiments())):  # which says itself how far it is
    widgets.watch_job()
if what == "Releases":
    address.hold_budget()
if what == "Experiments":
    found, elsewhere = state.experiments_by_data()
    # Another key closes it: what was just started comes up to where its form was.
    with st.expander("Plan an experiment", icon=":material/science:", expanded=not found, key=f"plan_{len(found)}"):
        st.caption(
            "Which mechanism, at which ε, and how sure is that? An experiment runs them many times under one budget and "
            "draws what came out with its uncertainty."
        )
        if current.in_memory:
            planner(current)
        else:
            st.info(_NOT_IN_PLACE, icon=":material/info:")
    for experiment in found:
        results.show(experiment, current)
    if elsewhere:
        st.subheader("Experiments of other data, other columns or another held-out share", anchor=False)
    for experiment in elsewhere:
        results.show(experiment, current, own=False)
elif not releases:
    spec = widgets.budget()
    budget = widgets.said(f"ε = {spec.epsilon:g}, δ = {spec.delta:g}")
    st.markdown(f"There is no release of this data yet. One button makes one by every mechanism, each with {budget}.")
    with st.container(horizontal=True, vertical_alignment="center"):
        road.run_all_button(current, first=True)
        st.page_link("generator.py", label="Choose one in the Generator", icon=":material/casino:")
    other_releases(current, others)
else:
    visit.offer(lambda: code_of(current, releases))
    by_label = {made.label: made for made in releases}
    findings(current, by_label)
    with st.expander("Measure again: other releases, tables or models", icon=":material/straighten:", key="measure_again"):
        measure_form(current, by_label)
    with st.expander("All releases of this data", icon=":material/list:", key="releases_list"):
        listing(releases)
    other_releases(current, others)
