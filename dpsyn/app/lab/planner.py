"""The form that plans an experiment."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace

import streamlit as st

from dpsyn import escape
from dpsyn.app import road, state
from dpsyn.app.lab.measures import MODELS_HELP
from dpsyn.data.counted import AnyTable
from dpsyn.errors import DataError, DpsynError, quoted
from dpsyn.evaluation.experiments import Experiment, Grid, experiment_script
from dpsyn.evaluation.experiments.plan import (
    DRAWS,
    axes,
    mechanisms_as_they_come,
    standard_degrees,
)
from dpsyn.evaluation.experiments.run import calibrated_nearby
from dpsyn.evaluation.prediction import DEFAULT_MODELS, LOGISTIC, MODELS
from dpsyn.kit import visit, widgets
from dpsyn.mechanisms.base import Config
from dpsyn.mechanisms.records import plain_config
from dpsyn.mechanisms.registry import THE_FIELD, THE_THREE
from dpsyn.notation import counted, short
from dpsyn.privacy.spec import Neighbouring, PrivacySpec

NO_TARGET = "— no column —"
_MOST_VALUES = 50
_REPEATS = 3
"""At first: somebody waits for them."""
_NEIGHBOURS: Mapping[Neighbouring, str] = {"replace_one": "replace one row", "add_remove": "add or remove one row"}


def choices(current: visit.Dataset) -> dict[str, Config]:
    """Settings to choose from by label: each mechanism as it comes, and those of the releases of this visit."""
    found = mechanisms_as_they_come(current.parts[0], current.target)
    for made in state.comparable():
        if made.release.guarantee.status == "published_but_wrong":
            continue
        # An experiment is kept and handed on as text, which cannot hold rows of the user's own.
        if made.config is not None and plain_config(made.config) is not None:
            # The address holds these names: none that somebody gave a release is among them.
            found[f"as in release {made.number}: {made.config.title}"] = made.config
    return found


def values_of(text: str) -> list[float]:
    """Numbers separated by commas, semicolons or spaces.

    Raises:
        DataError: something in it is no finite number or stands there twice, or there are too many; the message names it.
    """
    found = []
    for word in text.replace(";", " ").replace(",", " ").split():
        try:
            found.append(float(word))
        except ValueError:
            found.append(math.nan)
        if math.isinf(found[-1]):
            raise DataError("one of the values is too large: write them as 0.3, 1, 3")
        if math.isnan(found[-1]):
            raise DataError(f"{quoted(word[:40])} is no number: write them as 0.3, 1, 3")
    if twice := [value for value in found if found.count(value) > 1]:
        raise DataError(f"{short(twice[0])} stands there twice: write every value once")
    if len(found) > _MOST_VALUES:
        raise DataError(f"{len(found)} values are too many: take at most {_MOST_VALUES}")
    return found


def _usual(current: visit.Dataset) -> tuple[list[str], str]:
    """Of the three those that are chosen at first, and a sentence on those that are not: refused at ε = 1, or slow."""
    learn, taken, left_out = current.parts[0], [], []
    for label, config in mechanisms_as_they_come(learn, current.target, THE_THREE).items():
        found = road.possible(config, PrivacySpec(1.0, 1e-5), learn)
        why = found if isinstance(found, str) else road.long_wait(found)
        if why:
            left_out.append(f"{label} ({why})")
        else:
            taken.append(label)
    return taken, f"Not chosen at first: {'; '.join(left_out)}." if left_out else ""


def refusals_of(grid: Grid, learn: AnyTable) -> dict[str, str]:
    """Which mechanisms are refused at the largest ε, and why; one that can do something near it is run with that and
    marked."""
    spec = replace(grid.spec, epsilon=grid.values[-1]) if grid.vary == "epsilon" else grid.spec
    found = {}
    for label, config in grid.configs.items():
        try:
            visit.calibrated(config, spec, learn)
        except DpsynError as fault:
            try:
                calibrated_nearby(config, spec, learn.domain, learn.n)
            except DpsynError:
                found[label] = str(fault)
    return found


@visit.fragment
def planner(current: visit.Dataset) -> None:
    """Plan an experiment and start it."""
    options, known = choices(current), axes()
    learn = current.parts[0]
    usual, left_out = _usual(current)
    with st.container(border=True):
        left, right = st.columns(2, gap="medium")
        with left:
            field = [label for label, config in options.items() if label == config.title and config.name in THE_FIELD]
            chosen = st.multiselect(
                "The three, and releases of this visit",
                [label for label in options if label not in field],
                default=usual,
                key=f"lab_mechanisms_{current.tag}",
                **current.kept,
                help="As they come, or with the settings of a release that you have made in the Generator.",
            )
            chosen += st.multiselect(
                "The field",
                field,
                key=f"lab_field_{current.tag}",
                **current.kept,
                help="Other systems under the same budget, as they come.",
            )
            if left_out:
                st.caption(widgets.said(left_out))
            vary = st.selectbox(
                "What varies", list(known), format_func=lambda name: known[name].label, key="lab_vary", bind="query-params"
            )
            suggested = known[vary].values or ", ".join(str(max(10, learn.n // part)) for part in (100, 10, 3, 1))
            text = st.text_input("Its values", suggested, key=f"lab_values_{vary}_{current.tag}", **current.kept)
            repeats = st.slider(
                "Repeats", 1, 20, _REPEATS, key="lab_repeats", bind="query-params", help="Runs at every value."
            )
            draws = st.slider(
                "Draws from each run",
                1,
                5,
                DRAWS,
                key="lab_draws",
                bind="query-params",
                help="Two or more tell the noise of the mechanism from the luck of drawing rows.",
            )
        with right:
            epsilon = 1.0 if vary == "epsilon" else widgets.epsilon_slider()
            delta = widgets.delta_slider()
            neighbouring = widgets.pick(
                "Neighbouring",
                _NEIGHBOURS,
                key="lab_neighbouring",
                help="The same for all mechanisms: a claim between other neighbours is another claim.",
            )
            targets = [NO_TARGET, *current.predictable]
            chosen_target = st.selectbox(
                "Column to predict",
                targets,
                index=targets.index(current.target) if current.target in targets else 0,
                key=f"lab_target_{current.tag}",
                **current.kept,
            )
            models = st.multiselect(
                "Models", MODELS, default=list(DEFAULT_MODELS), key="lab_models", bind="query-params", help=MODELS_HELP
            )
            seed = st.number_input("Seed", 0, 2**31 - 1, 0, key="lab_seed", bind="query-params")
        target = None if chosen_target == NO_TARGET else chosen_target
        degrees = standard_degrees(len(learn.domain))
        st.caption(
            f"All mechanisms learn from the same {learn.n:,} rows under one (ε, δ, neighbouring). One that needs more ε is "
            "shown with it. Experiments are seeded, so their releases are demonstrations: no rows are kept, and a click "
            "on a point makes them again."
        )
        try:
            grid = Grid(
                {label: options[label] for label in chosen},
                PrivacySpec(epsilon, delta, neighbouring),
                vary,
                values_of(text),
                repeats=repeats,
                draws=draws,
                seed=int(seed),
            )
            refused = refusals_of(grid, learn)
            for label, why in refused.items():
                st.warning(f"**{escape.markdown(label)}** is left out: {widgets.said(why)}", icon=":material/block:")
            grid = replace(grid, configs={label: config for label, config in grid.configs.items() if label not in refused})
        except DpsynError as fault:
            st.warning(widgets.said(str(fault)), icon=":material/block:")
            return
        if not models and target is not None:
            st.warning("Choose at least one model, or no column to predict.", icon=":material/block:")
            return
        models = models or [LOGISTIC]
        planned = Experiment(
            number=0,
            name=f"{counted(len(grid.configs), 'mechanism')} against {known[vary].symbol}",
            dataset=current.table.name,
            fingerprint=state.mark(),
            grid=grid,
            target=target,
            degrees=tuple(degrees),
            models=tuple(models),
            data=current.source,
        )
        visit.offer(lambda: experiment_script(planned))
        count = len({cell.key for cell in grid.cells()})
        busy = visit.job() is not None
        label = f"Run {counted(count, 'time')}"
        st.caption(f"At {known[vary].symbol} = {', '.join(short(value) for value in planned.grid.values)}.")
        if st.button(label, type="primary", icon=":material/play_arrow:", disabled=busy, key="lab_start"):
            planned.number = visit.next_number("experiment")
            state.add(planned)
            state.start(planned)
            st.rerun(scope="app")
