"""Run a mechanism: settings, the guarantee before the run, progress, the release."""

import streamlit as st

from dpsyn import escape
from dpsyn.app import state
from dpsyn.app.releases import csv_guard, diagnostics_table, expectations, form_of, show_budget, show_claim, show_release
from dpsyn.errors import DpsynError
from dpsyn.kit import code, jobs, visit, widgets
from dpsyn.kit.visit import calibrated
from dpsyn.mechanisms.registry import MECHANISMS, title

st.title("Generator")
current = widgets.dataset_bar()
learn, held_out = current.parts
st.caption(
    f"The mechanisms see {learn.n:,} rows"
    + (
        f"; {held_out.n:,} rows are held out for the comparison. Feasibility judges all {current.table.n:,}."
        if held_out
        else "."
    )
)

chosen = widgets.one_of(
    "Mechanism",
    list(MECHANISMS),
    format_func=title,
    default=next(iter(MECHANISMS)),
    key="mechanism",
)


@st.fragment
def settings(name: str) -> None:
    """Settings, and the guarantee that follows from them, at once."""
    with st.container(border=True):
        try:
            config, spec = form_of(name)(current)
            with st.spinner("Computing the guarantee …"):
                mechanism = calibrated(config, spec, learn)
        except DpsynError as fault:
            mechanism = None
            reason = widgets.said(str(fault)).rstrip(".")
            st.warning(f"**Cannot run with these settings:** {reason}.", icon=":material/block:")
        refuted = mechanism is not None and mechanism.guarantee.status == "published_but_wrong"
        demo = st.toggle(
            "Repeatable demonstration with a seed",
            refuted,
            key="demo_only" if refuted else "demo",
            disabled=refuted,
            bind="query-params",
            help="For teaching. Whoever knows the seed can take the noise off, so such a release has no guarantee.",
        )
        seed = int(st.number_input("Seed", 0, 2**32 - 1, 7, key="seed", bind="query-params")) if demo else None
    if mechanism is not None:
        visit.offer(lambda: code.generator(current, config, spec, seed))
        widgets.badge(not current.table.domain.is_public)
        widgets.guarantee_card(mechanism.claim(seeded=demo), before=True)
        show_claim(config.name, mechanism.guarantee, mechanism.facts())
        for kind, sentence in expectations(mechanism):
            (st.warning if kind == "warning" else st.caption)(widgets.said(sentence))
        show_budget(config.name, mechanism.calibrated(), mechanism.guarantee, "planned_budget")
        with st.expander("What calibration made of the settings"):
            st.dataframe(diagnostics_table(mechanism.calibrated()), hide_index=True)
    running = visit.job() is not None
    if st.button("Run", type="primary", icon=":material/play_arrow:", disabled=mechanism is None or running, key="run"):
        context = {
            "done": state.take_release,
            "title": config.title,
            "seed": seed,
            "revision": current.revision,
            "table": learn,
            "config": config,
            **state.kept_by_workspace(state.keep_release),
        }
        visit.set_job(
            jobs.start(
                "dpsyn.mechanisms.base:run",
                label=config.title,
                context=context,
                mechanism=mechanism,
                table=learn,
                seed=seed,
            )
        )
        st.rerun()


settings(chosen)
widgets.watch_job()
widgets.show_message()

releases = state.made()
if releases:
    st.header("Releases of this visit")
    guarded = csv_guard()
    for made in reversed(releases):
        with st.expander(escape.markdown(made.label), expanded=made.number == st.session_state.get("newest")):
            show_release(made, guarded=guarded)
    st.caption(widgets.said(state.total_claim(releases)))
    st.page_link("comparison.py", label="Compare them with the real data", icon=":material/compare:")
else:
    st.caption(
        "Releases appear here. "
        + (
            "They live in this visit: a reload of the page loses them. Download what you want to keep."
            if state.workspace() is None
            else "They are kept in the workspace; after a reload of the page, open it again on the page Comparison."
        )
    )
