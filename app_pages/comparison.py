"""Real against synthetic: marginal errors, range queries, classifiers; beside them what sampling noise alone does."""

import streamlit as st

from dpsyn.evaluation.report import DEGREES
from dpsyn.ui import jobs, state, widgets
from dpsyn.ui.comparisons import column_chart, errors_chart, heatmaps, scores_chart, scores_table, summary_table
from dpsyn.ui.lab import experiments, results
from dpsyn.ui.lab.bar import workspace_bar
from dpsyn.ui.lab.planner import planner
from dpsyn.ui.lab.report import report_button

QUIET = {"displayModeBar": False}

st.title("Comparison")
current = widgets.dataset_bar()
learn, held_out = current.parts
workspace_bar()
what = st.segmented_control(
    "What to compare",
    ["Releases", "Experiments"],
    default="Releases",
    required=True,
    key="comparison_what",
    persist_state="session",
    label_visibility="collapsed",
)
report_button()
if what == "Experiments":
    planner(current)
    widgets.show_message()
    for experiment in experiments.of_current_data():
        st.subheader(f"{experiment.number} · {experiment.name}")
        results.show(experiment)
    st.stop()

releases = {m.label: m for m in state.comparable()}
if not releases:
    st.info("There is no release of this data yet, with the columns as they are now.", icon=":material/info:")
    st.page_link("app_pages/generator.py", label="Make one in the Generator", icon=":material/casino:")
    st.stop()

with st.form("comparison_form", border=True):
    chosen = st.multiselect("Releases", list(releases), default=list(releases))
    left, right = st.columns(2)
    possible = [d for d in DEGREES if d <= len(learn.domain)]
    degrees = left.multiselect("Degrees of the marginals", possible, default=possible)
    options = list(current.classes)
    target = right.selectbox(
        "Column that the classifiers predict",
        options,
        index=options.index(current.target) if current.target in options else None,
    )
    measure = st.form_submit_button(
        "Measure", type="primary", icon=":material/straighten:", disabled=state.job() is not None
    )
if measure and (not chosen or not degrees):
    st.warning("Choose at least one release and one degree.", icon=":material/warning:")
elif measure:
    state.set_job(
        jobs.start(
            "dpsyn.ui.tasks:compare",
            label="Comparison",
            context={"kind": "comparison", "revision": current.revision, "labels": tuple(chosen), "target": target},
            releases={label: releases[label].release for label in chosen},
            table=learn,
            holdout=held_out,
            target=target,
            degrees=tuple(degrees),
        )
    )
    st.rerun()

widgets.watch_job()
widgets.show_message()

found = st.session_state.get("comparison")
if found is None or found["revision"] != current.revision:
    st.caption(
        "Nothing has been measured yet for this data. The numbers depend on the private rows: they are not for publication."
    )
    st.stop()

reports = found["reports"]
st.caption(
    f"Measured against the {learn.n:,} real rows that the mechanisms saw. **Sampling noise** is the error of the "
    f"{held_out.n if held_out else 0:,} held-out real rows: no synthetic table of that size is expected to do better. "
    "All of this depends on the private rows: it is not for publication."
)
for note in dict.fromkeys(note for report in reports.values() for note in report.notes):
    st.info(note, icon=":material/info:")
marginals, pairs, classifiers, columns = st.tabs(["Marginal errors", "Pairs of columns", "Classifiers", "One column"])
with marginals:
    st.plotly_chart(errors_chart(reports), config=QUIET, key="errors")
    st.dataframe(summary_table(reports), hide_index=True)
with pairs:
    side_by_side = st.columns(2 if len(learn.domain) <= 20 else 1)
    for i, (name, figure) in enumerate(heatmaps(reports).items()):
        side_by_side[i % len(side_by_side)].plotly_chart(figure, config=QUIET, key=f"pairs_{name}")
with classifiers:
    chart = scores_chart(reports)
    if isinstance(chart, str):
        st.info(f"No classifiers: {chart}.", icon=":material/info:")
    else:
        st.plotly_chart(chart, config=QUIET, key="scores")
        st.dataframe(scores_table(reports), hide_index=True)
        st.caption(f"Trained on the rows named, tested on the held-out real rows, predicting **{found['target']}**.")
with columns:
    name = st.selectbox("Column", learn.domain.names, key="comparison_column", persist_state="session")
    if name in learn.domain:
        st.plotly_chart(
            column_chart(learn, {label: releases[label].release for label in reports if label in releases}, name),
            config=QUIET,
            key="column",
        )
