"""Releases beside the real rows: what to measure, and what was found."""

from __future__ import annotations

import zlib
from collections.abc import Mapping

import streamlit as st

from dpsyn import escape
from dpsyn.app import road
from dpsyn.app.lab.releases import earlier_measures
from dpsyn.evaluation.distributions import draw_column
from dpsyn.evaluation.experiments import MadeRelease
from dpsyn.evaluation.figures import draw_correlations, draw_errors, draw_scores, draw_table
from dpsyn.evaluation.prediction import DEFAULT_MODELS, MODELS
from dpsyn.evaluation.report import DEGREES, Report
from dpsyn.evaluation.tables import (
    MOST_COLUMNS,
    Reports,
    correlations_table,
    floor_meaning,
    heatmaps,
    scores_table,
    summary_table,
    values_table,
)
from dpsyn.kit import visit, widgets
from dpsyn.kit.plotly import places_of
from dpsyn.kit.show import show_figure
from dpsyn.kit.visit import Dataset
from dpsyn.mechanisms.registry import MECHANISMS
from dpsyn.privacy.histograms import bins_of
from dpsyn.table import Table

_RUINED = 5
"""Columns that are named in a warning."""
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
            bind="query-params",
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


def findings(current: Dataset, releases: Mapping[str, MadeRelease]) -> None:
    """What the last measurement of this data found."""
    found = st.session_state.get("comparison")
    if found is None or found["revision"] != current.revision:
        if not earlier_measures(current, list(releases.values())):
            st.info("Nothing has been measured yet for this data: open “Measure again”.", icon=":material/info:")
        return
    learn, held_out = current.parts
    reports: dict[str, Report] = found["reports"]
    road.conclude(reports)
    places = _places(reports, releases)
    with st.container(border=True):
        st.caption(
            f"Measured against the {learn.n:,} real rows that the mechanisms saw: for you, not for publication. "
            f"{floor_meaning(reports)}"
        )
        for note in dict.fromkeys(note for report in reports.values() for note in report.notes):
            st.info(escape.markdown(note), icon=":material/info:")
        for label, report in reports.items():
            _ruined(label, report)
        numeric = ["Numbers and dates"] if any(report.values for report in reports.values()) else []
        marginals, *values, worst, pairs, predicted, columns = st.tabs(
            ["Marginal errors", *numeric, "Worst tables", "Pairs of columns", "Prediction", "One column"]
        )
        for tab in values:
            with tab:
                _numbers(reports)
        with marginals:
            show_figure(draw_errors(reports, places), key="errors")
            st.dataframe(widgets.with_thousands(summary_table(reports)), hide_index=True)
        with worst:
            _worst_tables(current, reports, releases)
        with pairs:
            side_by_side = st.columns(2 if len(learn.domain) <= 20 else 1)
            for i, (name, figure) in enumerate(heatmaps(reports).items()):
                show_figure(figure, key=f"pairs_{name}", place=side_by_side[i % len(side_by_side)])
        with predicted:
            chart = draw_scores(reports, places)
            if isinstance(chart, str):
                st.info(f"Nothing is predicted: {escape.markdown(chart)}.", icon=":material/info:")
            else:
                show_figure(chart, key="scores")
                table = scores_table(reports)
                st.dataframe(
                    widgets.with_thousands(table), hide_index=True, placeholder="—",
                    column_config={"Note": st.column_config.TextColumn(width=330)},
                )  # fmt: skip
                st.caption(" ".join(words for measure, words in _MEANINGS.items() if measure in table))
        with columns:
            name = st.selectbox("Column", learn.domain.names, key="comparison_column", **current.kept)
            if name in learn.domain:
                shown = {label: releases[label].release.rows[name] for label in reports if label in releases}
                colours = [place for label, place in zip(reports, places, strict=True) if label in releases]
                held = None if held_out is None else held_out.frame[name]
                show_figure(draw_column(learn.domain[name], learn.frame[name], shown, held, colours), key="column")


def _places(reports: Reports, releases: Mapping[str, MadeRelease]) -> list[int]:
    """Of the colours of the releases: every mechanism has its own on all pages."""
    kinds = [releases[label].release.mechanism if label in releases else "" for label in reports]
    return places_of(kinds, list(MECHANISMS))


def _numbers(reports: Reports) -> None:
    """Columns of numbers and dates by their values, and how they hang together."""
    st.dataframe(widgets.with_thousands(values_table(reports)), hide_index=True, placeholder="—")
    count = len(next(iter(reports.values())).values)
    st.caption(
        "Largest gap: of the shares of rows up to any value (Kolmogorov-Smirnov). Mean shift: how far values moved, of the "
        "column's range (Wasserstein)."
        + (f" The {MOST_COLUMNS} columns with the largest gap, of {count:,}." if count > MOST_COLUMNS else "")
    )
    chart = draw_correlations(reports)
    if chart is not None:
        show_figure(chart, key="correlations")
        st.dataframe(widgets.with_thousands(correlations_table(reports)), hide_index=True, placeholder="—")


@st.fragment
def _worst_tables(current: Dataset, reports: Mapping[str, Report], releases: Mapping[str, MadeRelease]) -> None:
    learn, held_out = current.parts
    names = [label for label in reports if label in releases]
    if not names:
        return
    label = st.selectbox("Release", names, key="worst_release")
    if label not in names:
        return
    st.caption("Of every number of columns the table that is furthest from the real rows: what went wrong, and where.")
    encoding = bins_of(learn)
    real, rows = encoding.codes(learn), encoding.codes(Table(releases[label].release.rows, learn.domain))
    held = None if held_out is None else encoding.codes(held_out)
    for degree, error in reports[label].marginals.items():
        at = _places(reports, releases)[list(reports).index(label)]
        figure = draw_table(encoding, error.worst, real, rows, label, at=at, held_out=held)
        show_figure(figure, key=f"worst_{degree}")


def _ruined(label: str, report: Report) -> None:
    """Numeric columns of a release that are far from the real ones, a line each, in one box."""
    found = [(errors.column, errors.warning) for errors in report.values if errors.warning]
    if not found:
        return
    lines = [f"- **{escape.markdown(column)}**: {escape.markdown(said)}." for column, said in found[:_RUINED]]
    more = [f"- {len(found) - _RUINED} more: see “Numbers and dates”."] if len(found) > _RUINED else []
    st.warning(
        f"Values of {escape.markdown(label)} that are far from the real ones:\n" + "\n".join([*lines, *more]),
        icon=":material/warning:",
    )
