"""Releases beside the real rows: what to measure, and what was found."""

from __future__ import annotations

import math
import zlib
from collections.abc import Mapping
from operator import attrgetter
from typing import Any

import numpy as np
import pandas as pd
import streamlit as st

from dpsyn import escape
from dpsyn.app import road
from dpsyn.app.lab.releases import earlier_measures
from dpsyn.evaluation.distributions import draw_column
from dpsyn.evaluation.experiments import MadeRelease
from dpsyn.evaluation.figures import draw_correlations, draw_errors, draw_heatmaps, draw_scores, draw_table
from dpsyn.evaluation.prediction import DEFAULT_MODELS, MODELS, Score
from dpsyn.evaluation.report import DEGREES, Closeness, Report
from dpsyn.evaluation.values import QUANTILES, ValueErrors
from dpsyn.kit import visit, widgets
from dpsyn.kit.plotly import places_of
from dpsyn.kit.show import show_figure
from dpsyn.kit.visit import Dataset
from dpsyn.mechanisms.registry import MECHANISMS
from dpsyn.notation import percent, short
from dpsyn.privacy.histograms import bins_of
from dpsyn.table import Table

Reports = Mapping[str, Report]
_MOST_COLUMNS = 100
"""Columns of numbers in the table; each has a line for every release and two more."""
_SHOWN_QUANTILES = {"5 %": 0.05, "Median": 0.5, "95 %": 0.95}
_RUINED = 5
"""Columns that are named in a warning."""
MODELS_HELP = "Numbers are predicted by regressions of the same kinds, ridge in place of logistic regression."
_MEANINGS = {
    "Brier score": "Brier score: mean squared error of the probabilities, 0 to 2, smaller is better.",
    "Calibration error": "Calibration error: how far confidence is from accuracy, over ten groups of rows.",
    "R²": "R²: share of the spread that is explained; below 0 the mean would do better.",
}
FLOOR = "Sampling noise (held-out real rows)"


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
        + (f" The {_MOST_COLUMNS} columns with the largest gap, of {count:,}." if count > _MOST_COLUMNS else "")
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


def floor_meaning(reports: Reports) -> str:
    """What the sampling noise is, and that it is no bound; empty without held-out rows."""
    report = next(iter(reports.values()))
    if report.noise_floor is None:
        return ""
    return (
        f"Sampling noise is the error of the {report.noise_floor.rows:,} held-out real rows against the {report.n:,}: a "
        "yardstick and no bound. A release is measured against the very rows that it was made from: with enough ε it can "
        "go below."
    )


def heatmaps(reports: Reports) -> dict[str, Any]:
    """One heat-map per release and one of the sampling noise, all on one colour scale."""
    matrices = {name: report.pairwise for name, report in reports.items()}
    floor = next(iter(reports.values())).noise_floor
    return draw_heatmaps(matrices if floor is None else matrices | {FLOOR: floor.pairwise})


def summary_table(reports: Reports) -> pd.DataFrame:
    """All figures of all releases, and of the sampling noise, one line each."""
    return pd.DataFrame([_line(name, measured) for name, measured in _compared(reports).items()])


def _line(name: str, measured: Closeness) -> dict[str, Any]:
    line: dict[str, Any] = {
        "Compared": name,
        "Rows": measured.rows,
        "Range queries, mean error": round(measured.ranges.mean, 4),
    }
    for degree, error in measured.marginals.items():
        line[f"{degree}-way mean"] = round(error.mean, 4)
        line[f"{degree}-way max"] = round(error.max, 4)
        line[f"worst {degree}-way table"] = " × ".join(error.worst)
    return line


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


def _compared(reports: Reports) -> dict[str, Closeness]:
    """What is beside the real rows: the releases, and the held-out rows as the yardstick."""
    floor = next(iter(reports.values())).noise_floor
    return {name: report.release for name, report in reports.items()} | ({} if floor is None else {FLOOR: floor})


def values_table(reports: Reports) -> pd.DataFrame:
    """Numeric and date columns: of each a line for the real rows, every release, and the sampling noise.

    Of very many columns those with the largest gap in any release.
    """
    compared = _compared(reports)
    gaps = np.array([[errors.kolmogorov_smirnov for errors in report.values] for report in reports.values()]).max(axis=0)
    lines = []
    for at in np.sort(np.argsort(-gaps, kind="stable")[:_MOST_COLUMNS]):
        lines.append(_value_line("Real rows", next(iter(compared.values())).values[at], real=True))
        lines += [_value_line(name, measured.values[at]) for name, measured in compared.items()]
    return pd.DataFrame(lines)


def _value_line(name: str, errors: ValueErrors, *, real: bool = False) -> dict[str, Any]:
    mean, deviation, quantiles = (
        (errors.real_mean, errors.real_deviation, errors.real_quantiles)
        if real
        else (errors.mean, errors.deviation, errors.quantiles)
    )
    share = attrgetter("real" if real else "share")
    spike = max(errors.spikes, key=share, default=None)
    at = dict(zip(QUANTILES, quantiles or [math.nan] * len(QUANTILES), strict=True))
    return {
        "Column": errors.column,
        "Compared": name,
        "Mean": errors.written(mean),
        "Deviation": short(deviation, 4),
        **{heading: errors.written(at[level]) for heading, level in _SHOWN_QUANTILES.items()},
        "Commonest": "—" if spike is None else f"{errors.written(spike.value)}: {percent(share(spike))}",
        "Largest gap": None if real else round(errors.kolmogorov_smirnov, 4),
        "Mean shift": None if real else round(errors.wasserstein, 4),
    }


def correlations_table(reports: Reports) -> pd.DataFrame:
    """How far the correlations of columns are from the real ones, in every release and in the sampling noise."""
    lines = [
        {
            "Compared": name,
            "Coefficient": coefficient,
            "Mean difference": round(found.mean, 4),
            "Largest": round(found.largest, 4),
            "Of which pair": " × ".join(found.worst),
        }
        for name, measured in _compared(reports).items()
        for coefficient, found in measured.correlations.items()
    ]
    return pd.DataFrame(lines)


def scores_table(reports: Reports) -> pd.DataFrame:
    """Measures of every model, what is unusual; train-on-real and always the majority class or the mean below."""
    lines: list[dict[str, Any]] = []
    for name, report in reports.items():
        if not isinstance(report.prediction, str):
            lines += [_score_line(name, score) for score in report.prediction.synthetic]
    found = next(iter(reports.values())).prediction
    if not isinstance(found, str):
        lines += [_score_line("Real rows", score) for score in (*found.real.scores, found.real.constant)]
    table = pd.DataFrame(lines)
    return table[[name for name in table if name not in ("Rows", "Note")] + ["Rows", "Note"]]


def _score_line(name: str, score: Score) -> dict[str, Any]:
    measures = {measure[0].upper() + measure[1:]: float(f"{value:.4g}") for measure, value in score.measures.items()}
    return {"Trained on": name, "Model": score.model, **measures, "Rows": score.training_rows, "Note": score.note}
