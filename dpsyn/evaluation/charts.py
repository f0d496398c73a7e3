"""The charts of a report by name, for :meth:`dpsyn.evaluation.report.Report.figure`. Each is drawn elsewhere, once."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from dpsyn import checks
from dpsyn.errors import ParameterError
from dpsyn.evaluation.distributions import draw_column
from dpsyn.evaluation.figures import draw_coefficients, draw_correlations, draw_table
from dpsyn.evaluation.report import Report
from dpsyn.evaluation.standings import draw_errors, draw_scores
from dpsyn.evaluation.tables import fresh_name, heatmaps
from dpsyn.kit.plotly import alone

if TYPE_CHECKING:
    import plotly.graph_objects as go

_RELEASE = "Synthetic rows"


def chart(report: Report, name: str, of: str | int | None = None) -> go.Figure:
    """One chart of one report; see :meth:`~dpsyn.evaluation.report.Report.figure`."""
    name = checks.choice("name", name, CHARTS)
    draw, lacks = CHARTS[name]
    if of is not None and name not in _OF:
        raise ParameterError("of", of, f"nothing: only {' and '.join(map(repr, _OF))} are of something")
    if why := lacks(report):
        raise ParameterError("name", name, why)
    return alone(draw(report, of) if name in _OF else draw({_RELEASE: report}))


def drawable(report: Report) -> tuple[str, ...]:
    """Names of the charts of which the report lacks nothing."""
    return tuple(name for name, (_, lacks) in CHARTS.items() if not lacks(report))


def _worst_table(report: Report, of: str | int | None) -> go.Figure:
    assert report.rows is not None
    assert report.baseline is not None
    degrees = list(report.marginals)
    why = f"a number of columns that was compared: {', '.join(map(str, degrees))}"
    degree = max(degrees) if of is None else checks.whole("of", of, why=why)
    if degree not in degrees:
        raise ParameterError("of", of, why)
    error = report.marginals[degree]
    encoding, held_out = report.baseline.encoding, report.baseline.holdout
    real, rows = encoding.codes(report.baseline.table.drawn), encoding.codes(report.rows)
    held = None if held_out is None else encoding.codes(held_out)
    return draw_table(encoding, error.worst, real, rows, _RELEASE, held_out=held)


def _column(report: Report, of: str | int | None) -> go.Figure:
    assert report.rows is not None
    assert report.baseline is not None
    real, held = report.baseline.table, report.baseline.holdout
    name = checks.choice("of", real.domain.names[0] if of is None else of, real.domain.names)
    cells = {_RELEASE: report.rows.frame[name]}
    return draw_column(real.domain[name], real.drawn.frame[name], cells, None if held is None else held.frame[name])


def _pairs_of_a_sample(reports: Mapping[str, Report]) -> go.Figure:
    held_out = reports[_RELEASE].noise_floor
    assert held_out is not None
    return heatmaps(reports)[fresh_name(held_out)]


def _no_rows(report: Report) -> str:
    whole = report.rows is not None and report.baseline is not None
    return "" if whole else "a report that evaluate made: this one comes without the rows"


def _no_tables(report: Report) -> str:
    return "" if report.marginals else "no table was compared"


def _no_sample(report: Report) -> str:
    return _no_tables(report) if report.noise_floor else "there are no held-out rows"


def _no_numbers(report: Report) -> str:
    return "" if report.release.correlations else "there are fewer than two columns of numbers and dates"


def _no_scores(report: Report) -> str:
    return report.prediction if isinstance(report.prediction, str) else ""


def _no_coefficients(report: Report) -> str:
    return "" if report.release.regression else "no target column was chosen, or nothing explains it"


CHARTS: Mapping[str, tuple[Callable[..., Any], Callable[[Report], str]]] = {
    "marginals": (draw_errors, _no_tables),
    "worst table": (_worst_table, lambda report: _no_rows(report) or _no_tables(report)),
    "pairs": (lambda reports: heatmaps(reports)[_RELEASE], _no_tables),
    "pairs of a real sample": (_pairs_of_a_sample, _no_sample),
    "correlations": (draw_correlations, _no_numbers),
    "prediction": (draw_scores, _no_scores),
    "coefficients": (draw_coefficients, _no_coefficients),
    "column": (_column, _no_rows),
}
"""What draws it, and what the report lacks for it: empty where it lacks nothing."""
_OF = ("worst table", "column")
