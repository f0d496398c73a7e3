"""The charts of a report by name, for :meth:`dpsyn.evaluation.report.Report.figure`. Each is drawn elsewhere, once."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from dpsyn import checks
from dpsyn.errors import ParameterError
from dpsyn.evaluation.distributions import draw_column
from dpsyn.evaluation.figures import draw_coefficients, draw_correlations, draw_errors, draw_scores, draw_table
from dpsyn.evaluation.report import Report
from dpsyn.evaluation.tables import FLOOR, heatmaps
from dpsyn.kit.plotly import alone

if TYPE_CHECKING:
    import plotly.graph_objects as go

_RELEASE = "Synthetic rows"
_OF_ROWS = "a report that evaluate made: this one comes without the rows"


def chart(report: Report, name: str, of: str | int | None = None) -> go.Figure:
    """One chart of one report; see :meth:`~dpsyn.evaluation.report.Report.figure`."""
    draw = CHARTS[checks.choice("name", name, CHARTS)]
    if of is not None and name not in _OF:
        raise ParameterError("of", of, f"nothing: only {' and '.join(map(repr, _OF))} are of something")
    found = draw(report, of) if name in _OF else draw(report)
    if isinstance(found, str):
        raise ParameterError("name", name, found)
    return alone(found)


def _marginals(report: Report) -> go.Figure:
    return draw_errors(_named(report))


def _pairs(report: Report) -> go.Figure:
    return heatmaps(_named(report))[_RELEASE]


def _pairs_of_sample(report: Report) -> go.Figure | str:
    return heatmaps(_named(report)).get(FLOOR, "there are no held-out rows")


def _correlations(report: Report) -> go.Figure | str:
    return draw_correlations(_named(report)) or "there are fewer than two columns of numbers and dates"


def _prediction(report: Report) -> go.Figure | str:
    return draw_scores(_named(report))


def _coefficients(report: Report) -> go.Figure | str:
    return draw_coefficients(_named(report)) or "no target column was chosen, or nothing explains it"


def _worst_table(report: Report, of: str | int | None) -> go.Figure | str:
    degrees = list(report.marginals)
    if report.rows is None or report.baseline is None:
        return _OF_ROWS
    if of is not None and of not in degrees:
        raise ParameterError("of", of, f"a number of columns that was compared: {', '.join(map(str, degrees))}")
    error = report.marginals[max(degrees) if of is None else int(of)]
    encoding, held_out = report.baseline.encoding, report.baseline.holdout
    real, rows = encoding.codes(report.baseline.table), encoding.codes(report.rows)
    held = None if held_out is None else encoding.codes(held_out)
    return draw_table(encoding, error.worst, real, rows, _RELEASE, held_out=held)


def _column(report: Report, of: str | int | None) -> go.Figure | str:
    if report.rows is None or report.baseline is None:
        return _OF_ROWS
    real, held = report.baseline.table, report.baseline.holdout
    name = checks.choice("of", real.domain.names[0] if of is None else of, real.domain.names)
    cells = {_RELEASE: report.rows.frame[name]}
    return draw_column(real.domain[name], real.frame[name], cells, None if held is None else held.frame[name])


def _named(report: Report) -> Mapping[str, Report]:
    return {_RELEASE: report}


CHARTS: Mapping[str, Callable[..., Any]] = {
    "marginals": _marginals,
    "worst table": _worst_table,
    "pairs": _pairs,
    "pairs of a real sample": _pairs_of_sample,
    "correlations": _correlations,
    "prediction": _prediction,
    "coefficients": _coefficients,
    "column": _column,
}
_OF = ("worst table", "column")
