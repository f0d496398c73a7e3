"""Reports on releases as tables and heat-maps: a line for each release, and one for fresh real rows."""

from __future__ import annotations

import math
from collections.abc import Mapping
from operator import attrgetter
from typing import Any

import numpy as np
import pandas as pd

from dpsyn.evaluation.baseline import Closeness
from dpsyn.evaluation.figures import draw_heatmaps
from dpsyn.evaluation.fresh import fresh_rows
from dpsyn.evaluation.prediction import Prediction, Score
from dpsyn.evaluation.report import Report
from dpsyn.evaluation.values import LEAST_COMMON, QUANTILES, ValueErrors
from dpsyn.evaluation.whole_rows import Copies
from dpsyn.notation import counted, percent, short

Reports = Mapping[str, Report]
MOST_COLUMNS = 100
"""Columns of numbers in a table; each has a line for every release and two more."""
_SHOWN_QUANTILES = {"5 %": 0.05, "Median": 0.5, "95 %": 0.95}
_SCORED = 3
"""Columns of the tables that NIST's challenges score."""


def fresh_meaning(reports: Reports) -> str:
    """What fresh real rows are, and that they are no bound."""
    held_out = next(iter(reports.values())).noise_floor
    said = "A release may be closer than fresh real rows: it is measured against the rows that it was made from."
    if held_out is None:
        return said
    return f"{said} Of fresh ones {held_out.rows:,} were held out; how far more are off is estimated."


def heatmaps(reports: Reports) -> dict[str, Any]:
    """One heat-map per release and one of fresh real rows, all on one colour scale."""
    matrices = {name: report.pairwise for name, report in reports.items()}
    held_out = next(iter(reports.values())).noise_floor
    return draw_heatmaps(matrices if held_out is None else matrices | {fresh_name(held_out): held_out.pairwise})


def fresh_name(held_out: Closeness) -> str:
    """What the held-out rows are called where a line begins."""
    return fresh_rows(held_out.rows).capitalize()


def _compared(reports: Reports) -> dict[str, Closeness]:
    """What is beside the real rows: the releases, and the held-out rows as the yardstick."""
    held_out = next(iter(reports.values())).noise_floor
    return {name: r.release for name, r in reports.items()} | ({} if held_out is None else {fresh_name(held_out): held_out})


def summary_table(reports: Reports) -> pd.DataFrame:
    """All figures of all releases, and of fresh real rows, one line each."""
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
    if _SCORED in measured.marginals:
        line["k-marginal score"] = round(measured.marginals[_SCORED].k_marginal, 1)
    return line


def values_table(reports: Reports) -> pd.DataFrame:
    """Numeric and date columns: of each a line for the real rows, every release, and fresh real rows.

    Of very many columns those with the largest gap in any release.
    """
    compared = _compared(reports)
    gaps = np.array([[errors.kolmogorov_smirnov for errors in report.values] for report in reports.values()]).max(axis=0)
    lines = []
    for at in np.sort(np.argsort(-gaps, kind="stable")[:MOST_COLUMNS]):
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
    # Values that are common on the other side alone are not this one's commonest.
    spike = max((s for s in errors.spikes if share(s) >= LEAST_COMMON), key=share, default=None)
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
    """How far the correlations of columns are from the real ones, in every release and in fresh real rows."""
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


def whole_rows_table(reports: Reports) -> pd.DataFrame:
    """How well a tree tells rows from the real ones, and how many are copies; below, real rows with a few cells changed."""
    lines: list[dict[str, Any]] = []
    for name, measured in _compared(reports).items():
        if measured.propensity is not None and measured.copies is not None:
            seen = {"pMSE": float(f"{measured.propensity.error:.3g}"), "Ratio": round(measured.propensity.ratio, 2)}
            lines.append({"Compared": name, **seen, **_copies(measured.copies)})
    changed = next(iter(reports.values())).changed
    if changed is not None:
        cells, found = changed
        what = f"Real rows, {counted(cells, 'cell')} of each changed"
        lines.append({"Compared": what, "pMSE": None, "Ratio": None, **_copies(found)})
    return pd.DataFrame(lines)


def _copies(found: Copies) -> dict[str, Any]:
    return {
        "Equal to a real row": percent(found.equal),
        "Cells that differ from the nearest real row": round(found.distance, 2),
    }


def coefficients_table(reports: Reports) -> pd.DataFrame:
    """Of the regression of the target what the intervals of its coefficients share with those of the real rows."""
    lines = []
    for name, measured in _compared(reports).items():
        if (found := measured.regression) is not None:
            least = {"Least": round(found.worst.overlap, 2), "Of which term": found.worst.name}
            lines.append({"Compared": name, "Overlap, mean": round(found.mean_overlap, 3), **least})
    return pd.DataFrame(lines)


def scores_table(reports: Reports) -> pd.DataFrame:
    """Measures of every model, what is unusual; train-on-real and always the majority class or the mean below."""
    lines: list[dict[str, Any]] = []
    for name, report in reports.items():
        if not isinstance(report.prediction, str):
            lines += [_score_line(name, score) | _worst(report.prediction, score) for score in report.prediction.synthetic]
    found = next(iter(reports.values())).prediction
    if not isinstance(found, str):
        lines += [_score_line("Real rows", score) for score in (*found.real.scores, found.real.constant)]
    table = pd.DataFrame(lines)
    return table[[name for name in table if name not in ("Rows", "Note")] + ["Rows", "Note"]]


def _worst(found: Prediction, score: Score) -> dict[str, Any]:
    group = found.worst_group(score)
    if group is None or group.loss <= 0:
        return {}
    return {"Worst group": group.name, "Its accuracy": round(group.accuracy, 4), "Real-trained": round(group.real, 4)}


def _score_line(name: str, score: Score) -> dict[str, Any]:
    measures = {measure[0].upper() + measure[1:]: float(f"{value:.4g}") for measure, value in score.measures.items()}
    return {"Trained on": name, "Model": score.model, **measures, "Rows": score.training_rows, "Note": score.note}
