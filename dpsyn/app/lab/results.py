"""What an experiment has found: progress while it runs, curves, refusals, where the spread comes from, and planning."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Literal

import streamlit as st

from dpsyn import escape
from dpsyn.app import road, state
from dpsyn.app.lab.releases import edit, of_other_data
from dpsyn.domain import listed
from dpsyn.evaluation.experiments import Experiment, crossings, experiment_script, results_frame, summarise
from dpsyn.evaluation.experiments.field import FIELD, costs, field_panels, field_references, frontier_in_words, unfinished
from dpsyn.evaluation.experiments.figures import draw_experiment, draw_spread
from dpsyn.evaluation.experiments.plan import Cell, axes
from dpsyn.evaluation.experiments.results import OTHER_NEIGHBOURS, OVER_BUDGET
from dpsyn.evaluation.experiments.summary import Point, is_rising, placed, points_table, refusals
from dpsyn.kit import visit, widgets
from dpsyn.kit.show import show_figure
from dpsyn.kit.visit import Dataset
from dpsyn.mechanisms.base import Config
from dpsyn.mechanisms.registry import MECHANISMS, config_class
from dpsyn.notation import percent, short
from dpsyn.privacy.spec import Guarantee, rounded_up

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
        elsewhere = state.runs_elsewhere(experiment)
        with st.container(border=True):
            _heading(experiment, elsewhere=elsewhere)
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
            _findings(experiment, current, own=own, elsewhere=elsewhere)

    panel()


def _heading(experiment: Experiment, *, elsewhere: bool) -> None:
    number = experiment.number
    with st.container(horizontal=True, vertical_alignment="center", horizontal_alignment="distribute"):
        st.header(f"{number} · {escape.markdown(experiment.name)}", width="content", anchor=False)
        with st.container(horizontal=True, vertical_alignment="center", width="content"):
            widgets.badge(True)
            busy = elsewhere or state.running_of(experiment) is not None
            edit([experiment], f"lab_{number}", busy=busy)


def _findings(experiment: Experiment, current: Dataset, *, own: bool, elsewhere: bool) -> None:
    results = experiment.found
    missing = len(experiment.missing)
    running = state.running_of(experiment) is not None
    if missing and not running:
        with st.container(horizontal=True, vertical_alignment="center"):
            to_come = "are still to come: another visit runs them. Open the workspace again to see them"
            said = to_come if elsewhere else "have not been run"
            st.warning(f"{missing} of {len(experiment.cells)} cells {said}.", icon=":material/pending:")
            offered = own and not elsewhere
            if offered and st.button(
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
    grid = experiment.grid
    several = len(grid.configs) > 1 and len(grid.values) > 1  # by the plan: of the first results some have one value
    usual = "2-way error, mean" if "2-way error, mean" in measures else measures[0]
    choice = st.selectbox(
        "Measure",
        [FIELD] * several + measures,
        index=0 if several else measures.index(usual),
        format_func=lambda name: "The field: tables, ranges and prediction" if name == FIELD else name,
        key=f"lab_measure_{experiment.number}",
    )
    measure = usual if choice == FIELD else choice
    points = summarise(results, measure)
    curve, spread, table = st.tabs(["Curve", "Where the spread comes from", "Numbers"])
    with curve:
        panels = field_panels(results) if choice == FIELD else {}
        wish = None if panels else _wish(experiment, measure, points)
        _curves(experiment, panels or {measure: points}, wish, current if own else None)
        fewer = [f"{p.label} at {short(p.value)}: {p.runs_in_words}" for p in points if p.failed]
        if fewer:
            st.caption(
                "Open symbols with a dot inside are means of fewer runs than asked for. "
                f"{escape.markdown('; '.join(fewer))}."
            )
    with spread:
        bars = draw_spread(points, measure, grid.vary)
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
        for name, shown in (panels or {measure: points}).items():
            st.caption(escape.markdown(name))
            st.dataframe(widgets.with_thousands(points_table(shown, grid.vary, results)), hide_index=True, placeholder="—")
        spent = costs(results)
        if len(spent):
            st.caption("What a run takes: seconds of the processor, and the largest memory of its process.")
            st.dataframe(widgets.with_thousands(spent), hide_index=True)
        _downloads(experiment)


def _curves(
    experiment: Experiment, panels: Mapping[str, Sequence[Point]], wish: float | None, current: Dataset | None
) -> None:
    """The figure, which system is the best where, and the release of the point that was clicked; ``current``: its data, if
    that is open."""
    references = field_references(experiment.references)
    waiting = unfinished(experiment.grid, experiment.found)
    figure = draw_experiment(experiment.grid, panels, references=references, wish=wish, waiting=waiting)
    chosen = show_figure(figure, key=f"lab_curve_{experiment.number}", select=True)
    labels = {escape.chart(p.label): p.label for points in panels.values() for p in points}
    if len(labels) > 1:
        for measure, points in panels.items():
            words = frontier_in_words(points, experiment.grid.vary, waiting, references.get(measure, {}))
            st.markdown(f"**{escape.markdown(measure)}**: {escape.markdown(words)}")
    for value, _, label, *_ in chosen:
        _card(experiment, labels[label], value, field_panels(experiment.found) or panels, current)
    st.caption(
        "Means over the repeats with 95 % bars (Student's t); click on a point to see more. The thick line is the best. "
        "Open symbols spend more than was asked for, and lines with a star give another guarantee: they are shown, not "
        "compared. Fresh real rows, with how many they are: a yardstick and no bound, since a curve can go below; how far "
        "more than were held out are off is estimated. Columns shuffled: the real rows with every column shuffled by "
        "itself. Better than guessing: by four of its standard errors."
    )


def _card(
    experiment: Experiment, label: str, value: float, panels: Mapping[str, Sequence[Point]], current: Dataset | None
) -> None:
    """The release that a point stands for: its claim, means of what was measured of it, and what a run of it takes."""
    runs = [r for r in placed(experiment.found) if r.measures and (r.label, r.value) == (label, value)]
    shown = [p for points in panels.values() for p in points if (p.label, p.value) == (label, value)]
    if not runs or not shown:
        return
    references = field_references(experiment.references)
    with st.container(border=True, key=f"lab_point_{experiment.number}"):
        st.markdown(f"#### {escape.markdown(label)} at {axes()[experiment.grid.vary].symbol} = {short(value)}")
        st.markdown(
            f"{shown[0].runs_in_words.capitalize()}, each {widgets.said(str(Guarantee.from_dict(runs[0].guarantee)))}."
        )
        for place, point in zip(st.columns(len(shown)), shown, strict=True):
            beside = [f"{name} {short(height, 3)}" for name, height in references.get(point.measure, {}).items()]
            place.metric(escape.markdown(point.measure), short(point.mean, 3))
            ends = [] if point.interval is None else ["95 %: {} to {}".format(*(short(x, 3) for x in point.interval))]
            place.caption("; ".join([*ends, *beside]))
        for _, line in costs(runs).iterrows():
            st.caption(f"A run takes {short(line['Median seconds'], 2)} s of the processor and {short(line['GB'], 2)} GB.")
        # The middle one by the first error; a release of this visit is made of all rows to learn from.
        middle = sorted(runs, key=lambda run: run.measures[0].get(shown[0].measure, 0.0))[len(runs) // 2]
        cell = next((cell for cell in experiment.cells if cell.key == middle.key and cell.n is None), None)
        if current is not None and cell is not None:
            _again(experiment, cell, current)


def _again(experiment: Experiment, cell: Cell, current: Dataset) -> None:
    """The button that makes the release of a run again and shows it among the releases of this visit."""
    share = percent(1 - current.held_out)
    pressed = st.button(
        f"Make the rows of run {cell.repeat + 1} again",
        icon=":material/replay:",
        key=f"lab_again_{experiment.number}",
        disabled=visit.job() is not None,
        help=f"The middle one of these runs. Its seed brings back the very rows that were measured, from the same {share} "
        "of the real ones: a demonstration, which joins the releases of this visit.",
        # Where the release will be seen, and how far it is.
        on_click=lambda: st.session_state.update(comparison_what="Releases"),
    )
    if pressed:
        title = f"{cell.label}, run {cell.repeat + 1} of experiment {experiment.number} on {share} of the rows"
        road.make(current, title, cell.own_seed, "dpsyn.evaluation.experiments.run:make_again", cell=cell)
        st.rerun(scope="app")


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
    fair = [p for p in points if p.fair]
    for crossing in crossings(fair, wish, direction, logarithmic=axis.logarithmic):
        st.markdown(f"**{escape.markdown(crossing.label)}**: {axis.symbol} {escape.markdown(crossing.message)}")
    for label in dict.fromkeys(p.label for p in points if not p.fair):
        st.markdown(f"**{escape.markdown(label)}**: not compared, it gives another guarantee than was asked for")
    return wish


def _refusals(experiment: Experiment) -> None:
    for label, at, why in refusals(experiment.found):
        st.warning(f"**{escape.markdown(label)}** at {at} — {widgets.said(why)}", icon=":material/block:")
    statuses = {result.status for result in experiment.results.values()}
    if "crashed" in statuses:
        st.caption("A cell whose process died counts as missing: **Resume** runs it again once this run has ended.")
    others = dict.fromkeys(r.label for r in experiment.results.values() if r.budget == OTHER_NEIGHBOURS)
    if others:
        names = escape.markdown(listed(others))
        st.caption(f"A star marks what protects a row that is replaced, and knows no other neighbours: {names}.")
    over: dict[str, list[float]] = {}
    for r in experiment.results.values():
        if r.budget == OVER_BUDGET:
            over.setdefault(r.label, []).append(r.guarantee["epsilon"])
    for label, epsilons in over.items():
        ends = dict.fromkeys(rounded_up(end, 4) for end in (min(epsilons), max(epsilons)))
        needed = widgets.humanise(" to ".join(ends))
        st.warning(
            f"**{escape.markdown(label)}** cannot give the ε asked for: these rows need **ε = {needed}**. It is drawn open "
            "and dotted, outside the comparison.",
            icon=":material/balance:",
        )


def _downloads(experiment: Experiment) -> None:
    results = experiment.found
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
