"""Reports as charts and tables for the comparison page."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pandas as pd

from dpsyn.evaluation.classifiers import Score
from dpsyn.evaluation.figures import columns, marginals, scores
from dpsyn.evaluation.report import Closeness, Report
from dpsyn.mechanisms.base import Release
from dpsyn.table import Table

Reports = Mapping[str, Report]
FLOOR = "Sampling noise (held-out real rows)"


def floor_meaning(reports: Reports) -> str:
    """What the sampling noise is, and that it is no bound; empty without held-out rows."""
    report = next(iter(reports.values()))
    if report.noise_floor is None:
        return ""
    return (
        f"Sampling noise is the error of the {report.noise_floor.rows:,} held-out real rows against the {report.n:,}: what "
        "as many fresh rows from the same source miss. It is a yardstick and no bound. A release is measured against the "
        "very rows that it was made from, and may have more rows than were held out, or rows rounded to fit rather than "
        "drawn: with enough ε it can go below."
    )


def errors_chart(reports: Reports) -> Any:
    """Mean and largest error by degree."""
    return marginals.draw_errors(marginals.errors_info(reports))


def scores_chart(reports: Reports) -> Any:
    """Accuracy and ROC-AUC, or the reason why there are none."""
    info = scores.scores_info(reports)
    return info if isinstance(info, str) else scores.draw_scores(info)


def heatmaps(reports: Reports) -> dict[str, Any]:
    """One heat-map per release and one of the sampling noise, all on one colour scale."""
    matrices = {name: report.pairwise for name, report in reports.items()}
    floor = next(iter(reports.values())).noise_floor
    if floor is not None:
        matrices[FLOOR] = floor.pairwise
    upper = marginals.shared_upper(matrices.values())
    return {name: marginals.draw_heatmap(marginals.heatmap_info(matrix, name, upper)) for name, matrix in matrices.items()}


def column_chart(table: Table, releases: Mapping[str, Release], name: str, held_out: Table | None = None) -> Any:
    """Shares of one column's values, real beside synthetic; held-out real rows as a mark on each."""
    attribute = table.domain[name]
    codes = {label: attribute.encode(release.rows[name]) for label, release in releases.items()}
    at = table.domain.index(name)
    held = None if held_out is None else held_out.codes[:, at]
    return columns.draw_column(columns.column_info(attribute, table.codes[:, at], codes, held))


def summary_table(reports: Reports) -> pd.DataFrame:
    """All figures of all releases, and of the sampling noise, one line each."""
    lines = [_line(name, report.release) for name, report in reports.items()]
    floor = next(iter(reports.values())).noise_floor
    return pd.DataFrame([*lines, _line(FLOOR, floor)] if floor is not None else lines)


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


def scores_table(reports: Reports) -> pd.DataFrame:
    """Accuracy and ROC-AUC of every classifier, what is unusual; train-on-real and the majority class below."""
    lines: list[dict[str, Any]] = []
    for name, report in reports.items():
        if not isinstance(report.classification, str):
            lines += [_score_line(name, score) for score in report.classification.synthetic]
    found = next(iter(reports.values())).classification
    if not isinstance(found, str):
        lines += [_score_line("Real rows", score) for score in found.real.scores]
        majority = f"always {found.real.majority_class}"
        share = found.real.majority_accuracy
        lines.append(
            {
                "Trained on": "Majority class",
                "Classifier": majority,
                "Accuracy": round(share, 4),
                "ROC-AUC": 0.5,
                "Brier score": round(2 * (1 - share), 4),
            }
        )
    return pd.DataFrame(lines)


def _score_line(name: str, score: Score) -> dict[str, Any]:
    return {
        "Trained on": name,
        "Classifier": score.classifier,
        "Accuracy": None if score.accuracy is None else round(score.accuracy, 4),
        "ROC-AUC": None if score.auc is None else round(score.auc, 4),
        "Brier score": None if score.brier is None else round(score.brier, 4),
        "Calibration error": None if score.calibration_error is None else round(score.calibration_error, 4),
        "Rows": score.training_rows,
        "Note": score.note,
    }
