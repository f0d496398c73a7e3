"""What an experiment has found: progress while it runs, curves, refusals, where the spread comes from, and planning."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal

import streamlit as st

from dpsyn import escape
from dpsyn.app import state
from dpsyn.app.lab.releases import edit, of_other_data
from dpsyn.evaluation.experiments import Experiment, crossings, experiment_script, results_frame, summarise
from dpsyn.evaluation.experiments.figures import draw_experiment, draw_spread
from dpsyn.evaluation.experiments.plan import axes
from dpsyn.evaluation.experiments.summary import Point, is_rising, points_table, refusals
from dpsyn.kit import visit, widgets
from dpsyn.kit.show import show_figure
from dpsyn.kit.visit import Dataset
from dpsyn.mechanisms.base import Config
from dpsyn.mechanisms.registry import MECHANISMS, config_class
from dpsyn.notation import short
from dpsyn.privacy.spec import rounded_up

POLL = 0.7


def show(experiment: Experiment, current: Dataset, *, own: bool = True) -> None:
    """The panel of one experiment; it follows the run by itself while there is one.

    Args:
        experiment: what to show.
        current: the data that is open.
        own: the experiment is about it. Of other data it cannot be resumed, and the panel says which data that is.
    """
    every = widgets.poll_every(POLL) if state.running_of(experiment) is not None else None

    @st.fragment(run_every=every)
    def panel() -> None:
        with st.container(border=True):
            _heading(experiment)
            if not own:
                of_other_data(current, experiment)
            job = state.running_of(experiment)
            if job is not None:
                workspace = state.workspace()
                state.take_in(job)
                if state.workspace() is not workspace:
                    # It failed: what the page says of it stands outside of this panel.
                    st.rerun(scope="app")
                widgets.follow(every)
            _findings(experiment, own=own)

    panel()


def _heading(experiment: Experiment) -> None:
    number = experiment.number
    with st.container(horizontal=True, vertical_alignment="center", horizontal_alignment="distribute"):
        st.header(f"{number} · {escape.markdown(experiment.name)}", width="content", anchor=False)
        with st.container(horizontal=True, vertical_alignment="center", width="content"):
            widgets.badge(True)
            edit([experiment], f"lab_{number}", busy=state.running_of(experiment) is not None)


def _findings(experiment: Experiment, *, own: bool) -> None:
    results = list(experiment.results.values())
    missing = len(experiment.missing)
    running = state.running_of(experiment) is not None
    if missing and not running:
        with st.container(horizontal=True, vertical_alignment="center"):
            st.warning(f"{missing} of {len(experiment.cells)} cells have not been run.", icon=":material/pending:")
            if own and st.button(
                f"Resume: run the {missing} that are missing",
                icon=":material/resume:",
                disabled=visit.job() is not None,
                key=f"lab_resume_{experiment.number}",
            ):
                state.start(experiment)
                st.rerun(scope="app")
    _refusals(experiment)
    measures = experiment.measures
    if not measures:
        st.info(
            "The first results will appear here." if running else "There is no result to show yet.", icon=":material/info:"
        )
        return
    usual = next((i for i, name in enumerate(measures) if name == "2-way error, mean"), 0)
    measure = st.selectbox("Measure", measures, index=usual, key=f"lab_measure_{experiment.number}")
    points = summarise(results, measure)
    curve, spread, table = st.tabs(["Curve and planning", "Where the spread comes from", "Numbers"])
    with curve:
        wish = _wish(experiment, measure, points)
        figure = draw_experiment(experiment.grid, points, measure, references=experiment.references, wish=wish)
        show_figure(figure, key=f"lab_curve_{experiment.number}")
        st.caption(
            "Means over the repeats with 95 % confidence bars (Student's t). Open symbols spend more than "
            "was asked for: they are shown, not compared. The sampling floor is the error of a fresh real sample of "
            "the same size as the held-out rows: a yardstick and no bound, since a curve can go below. Independent columns: "
            "the real rows with every column shuffled by itself."
        )
        fewer = [f"{p.label} at {short(p.value)}: {p.runs_in_words}" for p in points if p.failed]
        if fewer:
            st.caption(
                "Open symbols with a dot inside are means of fewer runs than asked for. "
                f"{escape.markdown('; '.join(fewer))}."
            )
    with spread:
        bars = draw_spread(points, measure, experiment.grid.vary)
        if bars is not None:
            show_figure(bars, key=f"lab_spread_{experiment.number}")
            st.caption(
                "Two draws from the same run differ by the draw alone; what is left between runs is the mechanism's noise."
                + "".join(
                    f" {title} has no bars: every one of its rows has noise of its own, so noise and draw are one."
                    for title in _without_fit(map(type, experiment.grid.configs.values()))
                )
            )
        else:
            others = " and ".join(f"{title}'s noise is its draw" for title in _without_fit(map(config_class, MECHANISMS)))
            st.info(
                "This takes at least two repeats and two draws, and a mechanism that fits a density before it draws"
                f"{f' ({others})' if others else ''}.",
                icon=":material/info:",
            )
    with table:
        st.dataframe(widgets.with_thousands(points_table(points, experiment.grid.vary)), hide_index=True, placeholder="—")
        _downloads(experiment)


def _without_fit(kinds: Iterable[type[Config]]) -> list[str]:
    """Titles of the mechanisms whose noise is their draw."""
    return list(dict.fromkeys(kind.title for kind in kinds if kind.noise_is_draw))


def _wish(experiment: Experiment, measure: str, points: list[Point]) -> float | None:
    rising = is_rising(measure)
    direction: Literal["below", "above"] = "above" if rising else "below"
    if not st.toggle(f"I need {escape.markdown(measure)} {direction} …", key=f"lab_wish_on_{experiment.number}"):
        return None
    middle = sorted(p.mean for p in points)[len(points) // 2]
    wish = st.number_input(
        "… this value", value=float(f"{middle:.2g}"), step=0.01, format="%.4f", key=f"lab_wish_{experiment.number}_{measure}"
    )
    axis = axes()[experiment.grid.vary]
    fair = [p for p in points if not p.over_budget]
    for crossing in crossings(fair, wish, direction, logarithmic=axis.logarithmic):
        st.markdown(f"**{escape.markdown(crossing.label)}**: {axis.symbol} {escape.markdown(crossing.message)}")
    for label in dict.fromkeys(p.label for p in points if p.over_budget):
        st.markdown(f"**{escape.markdown(label)}**: not compared, it spends more than was asked for")
    return wish


def _refusals(experiment: Experiment) -> None:
    for label, at, why in refusals(list(experiment.results.values())):
        st.warning(f"**{escape.markdown(label)}** at {at} — {widgets.said(why)}", icon=":material/block:")
    statuses = {result.status for result in experiment.results.values()}
    if "crashed" in statuses:
        st.caption("A cell whose process died counts as missing: **Resume** runs it again once this run has ended.")
    if statuses & {"refused", "failed"}:
        st.caption(
            "On this form you can change ε (or let it vary) and what else varies, such as l, the order of mixture. All "
            "other settings are those of the Generator: make a release there, and choose “as in release …” under Mechanisms."
        )
    over = {r.label: r.guarantee["epsilon"] for r in experiment.results.values() if r.budget == "over budget"}
    for label, epsilon in over.items():
        needed = widgets.humanise(rounded_up(epsilon, 4))
        st.warning(
            f"**{escape.markdown(label)}** cannot give the ε asked for: these rows need **ε = {needed}**. It is drawn open "
            "and dotted, outside the comparison.",
            icon=":material/balance:",
        )


def _downloads(experiment: Experiment) -> None:
    results = list(experiment.results.values())
    with st.container(horizontal=True):
        widgets.download(
            "All numbers as CSV",
            lambda: escape.csv(results_frame(results)),
            f"experiment_{experiment.number}.csv",
            key=f"lab_csv_{experiment.number}",
        )
        if experiment.data is None:
            st.caption("Its columns were not kept, so there is no script of it until its data is open.")
            return
        widgets.download(
            "Script that does it again",
            experiment_script(experiment).encode(),
            f"experiment_{experiment.number}.py",
            icon="code",
            key=f"lab_script_{experiment.number}",
        )
