"""Releases beside the real rows: what to measure, and what was found."""

from __future__ import annotations

import zlib
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import pandas as pd
import streamlit as st

from dpsyn import escape
from dpsyn.app import road, state
from dpsyn.app.lab.releases import take_comparison
from dpsyn.evaluation.baseline import DEGREES
from dpsyn.evaluation.conclusions import ranking
from dpsyn.evaluation.distributions import draw_column
from dpsyn.evaluation.experiments import MadeRelease
from dpsyn.evaluation.figures import draw_coefficients, draw_correlations, draw_table
from dpsyn.evaluation.prediction import DEFAULT_MODELS, MODELS
from dpsyn.evaluation.report import Report
from dpsyn.evaluation.standings import draw_errors, draw_scores
from dpsyn.evaluation.tables import (
    MOST_COLUMNS,
    Reports,
    coefficients_table,
    correlations_table,
    fresh_meaning,
    heatmaps,
    scores_table,
    summary_table,
    values_table,
    whole_rows_table,
)
from dpsyn.kit import visit, widgets
from dpsyn.kit.plotly import places_of
from dpsyn.kit.show import show_figure
from dpsyn.kit.visit import Dataset
from dpsyn.mechanisms.registry import MECHANISMS
from dpsyn.privacy.histograms import bins_of
from dpsyn.table import Table

_PAIRS = "Pairs of columns"
_SHOWN = 3
"""Releases beside the real rows in the picture of one column, unless others are chosen."""
_OVERLAP = (
    "The regression that an analyst would fit. Overlap: what its 95 % intervals share with those of the real rows, 0 to 1; "
    "0.71 for as many fresh real rows. They take synthetic rows for real ones: the noise of privacy is not in them."
)
_WHOLE_ROWS = (
    "pMSE: how far a tree can tell rows from the real ones, 0 to ¼ for as many of both. Ratio: pMSE divided by what chance "
    "alone gives: about 1 for fresh real rows, less for copies, more for rows that differ."
)
_NO_PRIVACY = (
    "Copies are no measure of privacy, nor is the distance: where few values are likely, independent rows are copies too; "
    "and the last line, whose rows anyone would know again, may look better than a private release."
)
MODELS_HELP = "Numbers are predicted by regressions of the same kinds, ridge in place of logistic regression."
_MEANINGS = {
    "Brier score": "Brier score: mean squared error of the probabilities, 0 to 2, smaller is better.",
    "Calibration error": "Calibration error: how far confidence is from accuracy, over ten groups of rows.",
    "R²": "R²: share of the spread that is explained; below 0 the mean would do better.",
}


def measure_form(current: Dataset, releases: Mapping[str, MadeRelease]) -> None:
    """Choose releases, tables, and what is predicted, and start measuring."""
    learn = current.parts[0]
    with st.form("comparison_form", border=True):
        chosen = st.multiselect(
            "Releases",
            list(releases),
            default=list(releases),
            key=f"comparison_releases_{zlib.crc32(repr(list(releases)).encode())}",
        )
        left, middle, right = st.columns([2, 3, 4])
        possible = [d for d in DEGREES if d <= len(learn.domain)]
        degrees = left.multiselect(
            "Columns in a table",
            possible,
            default=possible,
            key=f"comparison_degrees_{len(possible)}",
            **current.kept,
            help="Tables over one, two or three columns are compared.",
        )
        options = list(current.predictable)
        target = middle.selectbox(
            "Column to predict",
            options,
            index=options.index(current.target) if current.target in options else None,
            key=f"comparison_target_{current.tag}",
            **current.kept,
        )
        models = right.multiselect(
            "Models", MODELS, default=list(DEFAULT_MODELS), key="comparison_models", bind="query-params", help=MODELS_HELP
        )
        measure = st.form_submit_button(
            "Measure", type="primary", icon=":material/straighten:", disabled=visit.job() is not None
        )
    if not measure:
        return
    if not chosen or not degrees:
        st.warning("Choose at least one release and one number of columns.", icon=":material/warning:")
        return
    road.compare(
        current,
        [releases[label] for label in chosen],
        "Comparison",
        target=target if models else None,
        degrees=tuple(degrees),
        models=tuple(models) or DEFAULT_MODELS,
    )
    st.rerun()


def _predicting(target: str | None) -> str:
    return "without predicting a column" if target is None else f"for predicting **{escape.markdown(target)}**"


def findings(current: Dataset, releases: Mapping[str, MadeRelease]) -> None:
    """What the last measurement of this data found."""
    found = state.comparison()
    if found is None:
        if (job := visit.job()) is not None and job.context.get("done") is take_comparison:
            return
        kept = " What was measured before stands in the list." if any(m.measured for m in releases.values()) else ""
        st.info(f"Nothing has been measured in this visit: open “Measure again”.{kept}", icon=":material/info:")
        return
    learn = current.parts[0]
    reports: dict[str, Report] = {name: found["reports"][name] for name in ranking(found["reports"])}
    if found["target"] != current.target:
        st.info(
            f"Measured {_predicting(found['target'])}. The page Data has **{escape.markdown(current.target or 'none')}** as "
            "the column to predict: “Measure again” can take it.",
            icon=":material/info:",
        )
    if left := [label for label in releases if label not in reports]:
        many = f"{len(left)} releases of this data are" if len(left) > 1 else f"{escape.markdown(left[0])} is"
        st.info(f"{many} not measured beside these: open “Measure again”.", icon=":material/info:")
    road.conclude(reports)
    places = colours(map(releases.get, reports))
    with st.container(border=True):
        views = measured_parts(reports, places)
        *tabs, worst, columns = st.tabs([*views, "Worst tables", "One column"])
        for tab, (name, parts) in zip(tabs, views.items(), strict=True):
            with tab:
                across = st.columns(2 if name == _PAIRS and len(learn.domain) <= 20 else 1)
                for i, part in enumerate(parts):
                    with across[i % len(across)]:
                        _show(part, f"{name}_{i}")
        with worst:
            _worst_tables(current, reports, releases)
        with columns:
            _column(current, reports, releases)
        st.caption(
            f"Measured against the {learn.n:,} real rows to learn from: for you, not for publication. "
            f"{fresh_meaning(reports)}"
        )
        for note in dict.fromkeys(note for report in reports.values() for note in report.notes):
            st.info(escape.markdown(note), icon=":material/info:")
    for made in (releases[label] for label in reports if label in releases):
        if notes := made.release.notes:
            st.warning(f"**{escape.markdown(made.label)}**: {widgets.said(' '.join(notes))}", icon=":material/warning:")


def _show(part: Any, key: str) -> None:
    if isinstance(part, str):
        st.caption(escape.markdown(part))
    elif isinstance(part, pd.DataFrame):
        st.dataframe(widgets.with_thousands(part), hide_index=True, placeholder="—")
    else:
        show_figure(part, key=key)


def colours(releases: Iterable[MadeRelease | None]) -> list[int]:
    """Places of the colours of these releases: every mechanism has its own on all pages."""
    return places_of([made.release.mechanism if made else "" for made in releases], list(MECHANISMS))


def measured_parts(reports: Reports, places: Sequence[int]) -> dict[str, list[Any]]:
    """What was measured, by heading, for a page as for a report: sentences, tables and figures in the colours at these
    places."""
    found = {"Marginal errors": [draw_errors(reports, places), summary_table(reports)]}
    count = len(next(iter(reports.values())).values)
    if count:
        said = (
            "Largest gap: of the shares of rows up to any value (Kolmogorov-Smirnov). Mean shift: how far values moved, of "
            "the column's range (Wasserstein)."
        )
        more = f" The {MOST_COLUMNS} columns with the largest gap, of {count:,}." if count > MOST_COLUMNS else ""
        found["Numbers and dates"] = [values_table(reports), f"{said}{more}"]
        if (drawn := draw_correlations(reports)) is not None:
            ratio = "Correlation ratio: how well either column tells the other, by any curve, from 0 to 1."
            found["Numbers and dates"] += [drawn, correlations_table(reports), ratio]
    found[_PAIRS] = list(heatmaps(reports).values())
    scores = draw_scores(reports, places)
    if isinstance(scores, str):
        found["Prediction"] = [f"Nothing is predicted: {scores}."]
    else:
        table = scores_table(reports)
        meanings = " ".join(words for measure, words in _MEANINGS.items() if measure in table)
        found["Prediction"] = [scores, table, *filter(None, [meanings])]
    if (drawn := draw_coefficients(reports, places)) is not None:
        found["Prediction"] += [drawn, coefficients_table(reports), _OVERLAP]
    if len(whole := whole_rows_table(reports)):
        found["Whole rows"] = [whole, _WHOLE_ROWS, _NO_PRIVACY]
    return found


@visit.fragment
def _column(current: Dataset, reports: Mapping[str, Report], releases: Mapping[str, MadeRelease]) -> None:
    learn, held_out = current.parts
    left, right = st.columns([1, 3])
    name = left.selectbox("Column", learn.domain.names, key=f"comparison_column_{current.tag}", **current.kept)
    names = [label for label in reports if label in releases]
    chosen = right.multiselect(
        "Releases", names, default=names[:_SHOWN], key=f"comparison_shown_{zlib.crc32(repr(names).encode())}"
    )
    if name in learn.domain:
        shown = {label: releases[label].release.rows[name] for label in chosen}
        held = None if held_out is None else held_out.frame[name]
        at = colours([releases[label] for label in chosen])
        show_figure(draw_column(learn.domain[name], learn.drawn.frame[name], shown, held, at), key="column")


@visit.fragment
def _worst_tables(current: Dataset, reports: Mapping[str, Report], releases: Mapping[str, MadeRelease]) -> None:
    learn, held_out = current.parts
    names = [label for label in reports if label in releases]
    if not names:
        return
    label = st.selectbox("Release", names, key="worst_release")
    if label not in names:
        return
    st.caption("The worst table of each size.")
    encoding = bins_of(learn.drawn)
    real, rows = encoding.codes(learn.drawn), encoding.codes(Table(releases[label].release.rows, learn.domain))
    held = None if held_out is None else encoding.codes(held_out)
    for degree, error in reports[label].marginals.items():
        at = colours(map(releases.get, reports))[list(reports).index(label)]
        figure = draw_table(encoding, error.worst, real, rows, label, at=at, held_out=held)
        show_figure(figure, key=f"worst_{degree}")
