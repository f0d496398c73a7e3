"""Make rows: which mechanism, under which budget, the run, and how good its rows are."""

import streamlit as st

from dpsyn import escape
from dpsyn.app import address, road, share, state
from dpsyn.app.releases import (
    csv_guard,
    diagnostics_table,
    expectations,
    form_of,
    show_budget,
    show_claim,
    show_release,
)
from dpsyn.errors import DpsynError
from dpsyn.kit import code, visit, widgets
from dpsyn.kit.visit import calibrated
from dpsyn.mechanisms.registry import MECHANISMS, title
from dpsyn.notation import counted
from dpsyn.privacy.spec import PrivacySpec

releases = state.made()
comparable = state.comparable()
newest = next((made for made in comparable if made.number == st.session_state.get("newest")), None)
road.head("Generator")
current = widgets.dataset_bar()
learn = current.parts[0]


def chosen(best: str) -> str:
    """The mechanism whose button is pressed; ``best`` until one is, a choice like any other: a link keeps it."""
    if not st.session_state.get("mechanism") and "mechanism" not in st.query_params:
        st.session_state["mechanism"] = best
    # One widget: of two, each emptied by the other, a click is lost where the page is drawn again meanwhile.
    return (
        st.segmented_control(
            "Mechanism: the three, then the field",
            list(MECHANISMS),
            format_func=title,
            required=True,
            key="mechanism",
            bind="query-params",
        )
        or best
    )


@visit.fragment
def settings() -> None:
    """The budget, one line per mechanism, the guarantee that follows, and the run."""
    first = st.columns([2, 2, 1], gap="medium")
    with first[0]:
        epsilon = widgets.epsilon_slider(why=widgets.AFTERWARDS)
    with first[1]:
        delta = widgets.delta_slider(why=widgets.AFTERWARDS)
    first[2].space("small")  # the sliders have their names there
    run_here = first[2].container()
    budget = PrivacySpec(epsilon, delta)
    found = road.offers(current, budget)
    best = road.best_of(found)
    road.offers_tables(found, budget, best)
    name = chosen(best)
    with st.expander("Advanced settings", icon=":material/tune:", key="advanced"):
        try:
            config, spec = form_of(name)(current, epsilon, delta)
            with st.spinner("Computing the guarantee …"):
                mechanism = calibrated(config, spec, learn)
        except DpsynError as fault:
            mechanism, reason = None, widgets.said(str(fault)).rstrip(".")
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
    running = visit.job() is not None
    pressed = run_here.button(
        "Run",
        type="primary",
        icon=":material/play_arrow:",
        disabled=mechanism is None or running,
        key="run",
        width="stretch",
    )
    if mechanism is None:
        st.warning(f"**Cannot run with these settings:** {reason}.", icon=":material/block:")
        return
    visit.offer(lambda: code.generator(current, config, spec, seed))
    widgets.guarantee_card(mechanism.claim(seeded=demo), before=True)
    if mechanism.guarantee.unconfirmed:
        widgets.confirm_link()
    for kind, sentence in expectations(mechanism):
        (st.warning if kind == "warning" else st.caption)(widgets.said(sentence))
    if more := road.a_tenth_more(mechanism, learn):
        st.caption(more)
    show_claim(config.name, mechanism.guarantee, mechanism.facts())
    with st.expander("Budget and derived settings", icon=":material/pie_chart:"):
        show_budget(config.name, mechanism.calibrated(), mechanism.guarantee, "planned_budget")
        st.dataframe(diagnostics_table(mechanism.calibrated()), hide_index=True)
    if pressed:
        said = share.settings_in_address()
        road.make(current, config.title, seed, "dpsyn.mechanisms.base:run", said, mechanism=mechanism, seed=seed)
        st.rerun()


widgets.watch_job()
if newest is None:
    settings()
else:
    st.markdown(f"## {escape.markdown(newest.name)}", anchors=False)
    show_release(newest, newest=True)
    address.hold(st.session_state.get("settings_of_newest", {}))
    if st.button("Make other rows", icon=":material/tune:", key="again"):
        st.session_state.pop("newest")
        address.drop_shared()
        st.rerun()
others = [made for made in reversed(releases) if made is not newest]
if others:
    st.subheader("Earlier releases", anchor=False)
    if newest is None:
        csv_guard()
    for made in others:
        with st.expander(escape.markdown(made.label if made in comparable else f"{made.label}, of other data")):
            show_release(made)
if releases:
    drawn = [found for _, found in state.drawn_statistics()]
    if state.workspace() is None:
        them = "it" if len(releases) + len(drawn) == 1 else "them"
        then = f"Reloading the page deletes {them}: download what you want to keep."
    else:
        they = "The release is" if len(releases) == 1 else "Releases are"
        then = f"{they} kept in the workspace: after a reload, open that on the page Comparison."
        then += " Draws of statistics are not: write down what they cost." * bool(drawn)
        if more := state.with_workspace(lambda folder: folder.more_than(releases)):
            then += f" Other visits have made {counted(more, 'release')} there that the total leaves out: open it again."
    st.caption(f"{widgets.said(state.total_claim(releases, drawn))} {then}")
