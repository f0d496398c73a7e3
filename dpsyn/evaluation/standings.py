"""Releases line by line, the closest on top: errors of marginal tables, scores of models. Real rows stand among them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from dpsyn import escape
from dpsyn.evaluation.conclusions import best_score, degree_of, ranking, table_error
from dpsyn.evaluation.fresh import fresh_rows
from dpsyn.evaluation.prediction import Prediction, Score
from dpsyn.evaluation.report import Report
from dpsyn.kit.layers import GUIDE, HERE, SERIES
from dpsyn.kit.plotly import GRID, LINE_BREAK, SYMBOLS, at_least_one, finish, shorten
from dpsyn.notation import counted, short

if TYPE_CHECKING:
    import plotly.graph_objects as go

_NAME = 40
_TALL = 27
"""Pixels of a line."""
_WIDE = 20.0
"""Errors further apart than this factor are drawn on a logarithmic axis."""
_TICKS = [digit * 10.0**power for power in range(-6, 1) for digit in (1, 3)]
"""Of such an axis: all digits would lie over each other."""
_LOWEST = -1.0
"""R² below it is written, not drawn."""


@dataclass(frozen=True)
class _Line:
    """What stands on one line.

    Attributes:
        name: at its left.
        colour: of its dots.
        numbers: for each of the two panels, one for each kind of dot; None where there is none.
        notes: for each kind of dot.
    """

    name: str
    colour: str
    numbers: tuple[Sequence[float | None], ...]
    notes: Sequence[str] = ()


def draw_errors(reports: Mapping[str, Report], places: Sequence[int] = ()) -> go.Figure:
    """Total variation by columns of a table: the mean on the left, the largest on the right; a line per release.

    What stands above the line of fresh real rows is closer than these: as many as the closest release has.

    Args:
        reports: by the name of the release, all of the same real table.
        places: of their colours (:func:`dpsyn.kit.plotly.places_of`); in order without them.

    Raises:
        ParameterError: there are none.
    """
    at_least_one(reports)
    degrees = sorted({degree for report in reports.values() for degree in report.marginals})

    def line(name: str, colour: str, marginals: Mapping[int, Any]) -> _Line:
        mean, largest = (
            [float(getattr(marginals[d], what)) if d in marginals else None for d in degrees] for what in ("mean", "max")
        )
        return _Line(name, colour, (mean, largest))

    found = [
        (table_error(report), line(name, SERIES[at % len(SERIES)], report.marginals))
        for at, (name, report) in zip(places or range(len(reports)), reports.items(), strict=True)
    ]
    fresh = reports[ranking(reports)[0]].fresh
    if fresh is not None and (there := fresh.mean(degree_of(degrees))) is not None:
        numbers = [fresh.mean(d) for d in degrees], [fresh.largest(d) for d in degrees]
        found.append((there, _Line(fresh_rows(fresh.rows).capitalize(), GUIDE, numbers)))
    ordered = [one for _, one in sorted(found, key=lambda pair: pair[0])]
    kinds = [counted(degree, "column") for degree in degrees]
    figure = _drawn(ordered, kinds, ("Mean over the tables", "Worst table"))
    for panel in range(2):
        drawn = [n for one in ordered for n in one.numbers[panel] if n is not None]
        if min(drawn) > 0 and max(drawn) > _WIDE * min(drawn):
            figure.update_xaxes(type="log", tickvals=_TICKS, row=1, col=panel + 1)
        else:
            figure.update_xaxes(rangemode="tozero", row=1, col=panel + 1)
    figure.update_xaxes(title_text="Total variation", tickformat="~%")
    return _finished(figure, "Error of the marginal tables", len(ordered))


def draw_scores(reports: Mapping[str, Report], places: Sequence[int] = ()) -> go.Figure | str:
    """Scores of models as dots, a line per release, or the reason why no release has any.

    Of classes accuracy and ROC-AUC, of numbers R² and mean absolute error. Models that learned from real rows have a line,
    and so has always naming the majority class (for the AUC: chance) or the mean. A release without scores is left out.
    ``places`` are those of the colours of all releases, as :func:`draw_errors` takes them.

    Raises:
        ParameterError: there are no reports.
    """
    at_least_one(reports)
    found = {name: r.prediction for name, r in reports.items() if isinstance(r.prediction, Prediction)}
    if not found:
        return str(next(iter(reports.values())).prediction)
    styles = dict(zip(reports, places or range(len(reports)), strict=True))
    real = next(iter(found.values())).real
    measures = ("accuracy", "ROC-AUC") if real.classes else ("R²", "mean absolute error")

    def line(name: str, colour: str, scores: Sequence[Score]) -> tuple[float, _Line]:
        numbers = tuple([score.measures.get(measure) for score in scores] for measure in measures)
        best = best_score(scores)
        notes = [score.note for score in scores]
        return best[1].measures[best[0]] if best else float("-inf"), _Line(name, colour, numbers, notes)

    lines = [line(name, SERIES[styles[name] % len(SERIES)], scores.synthetic) for name, scores in found.items()]
    lines.append(line("Trained on real rows", GUIDE, real.scores))
    # One dot is enough for what needs no model.
    lines.append(line("Majority class (AUC: chance)" if real.classes else "Always the mean", HERE, [real.constant]))
    ordered = [one for _, one in sorted(lines, key=lambda pair: -pair[0])]
    least = [_LOWEST if measure == "R²" else 0.0 for measure in measures]
    kinds = [score.model for score in real.scores]
    figure = _drawn(ordered, kinds, tuple(m[0].upper() + m[1:] for m in measures), least)
    if not real.classes:
        figure.update_xaxes(rangemode="tozero", row=1, col=2)
    title = f"Predicting {shorten(real.target, 30)} on {real.test_rows:,} held-out real rows"
    return _finished(figure, title, len(ordered))


def _drawn(
    lines: Sequence[_Line], kinds: Sequence[str], headings: Sequence[str], least: Sequence[float] = (0.0, 0.0)
) -> go.Figure:
    """Dots on lines; a kind of dot is a symbol. What is absent, or below ``least`` of a panel, is written at its left."""
    import plotly.graph_objects as go
    from plotly.subplots import make_subplots

    figure = make_subplots(rows=1, cols=2, subplot_titles=headings, horizontal_spacing=0.05, shared_yaxes=True)
    heights = list(range(len(lines)))
    symbols: list[dict[str, Any]] = [{"size": 11, "symbol": SYMBOLS[k % len(SYMBOLS)]} for k in range(len(kinds))]
    for panel, lowest in enumerate(least):
        inside = [[n if n is not None and n >= lowest else None for n in one.numbers[panel]] for one in lines]
        # From the first dot of a line to the last one.
        x: list[float | None] = []
        y: list[float | None] = []
        for height, numbers in enumerate(inside):
            if there := [n for n in numbers if n is not None]:
                x += [min(there), max(there), None]
                y += [height, height, None]
        strokes = go.Scatter(x=x, y=y, mode="lines", line={"color": GRID, "width": 3}, hoverinfo="skip", showlegend=False)
        figure.add_trace(strokes, row=1, col=panel + 1)
        for k, kind in enumerate(kinds):
            with_dot = [height for height in heights if k < len(inside[height])]
            dots = go.Scatter(
                x=[inside[height][k] for height in with_dot],
                y=with_dot,
                mode="markers",
                marker={**symbols[k], "color": [lines[height].colour for height in with_dot]},
                customdata=[_told(lines[height], kind if len(inside[height]) > 1 else "", panel, k) for height in with_dot],
                hovertemplate="%{customdata}<extra></extra>",
                name=escape.chart(kind),
                showlegend=False,
                cliponaxis=False,
            )
            figure.add_trace(dots, row=1, col=panel + 1)
        for height, (line, numbers) in enumerate(zip(lines, inside, strict=True)):
            _write(figure, line, height, panel, [d is not None for d in numbers])
    if len(kinds) > 1:
        for kind, symbol in zip(kinds, symbols, strict=True):
            figure.add_scatter(
                x=[None], y=[None], mode="markers", marker={**symbol, "color": GUIDE}, name=escape.chart(kind)
            )
    names = [escape.chart(shorten(one.name, _NAME)) for one in lines]
    figure.update_yaxes(tickmode="array", tickvals=heights, ticktext=names, automargin=True)
    figure.update_yaxes(range=[len(lines) - 0.5, -0.5], showgrid=False, zeroline=False)
    figure.update_xaxes(showgrid=True, gridcolor=GRID, zeroline=False)
    return figure


def _write(figure: go.Figure, line: _Line, height: int, panel: int, drawn: Sequence[bool]) -> None:
    """Write at the left end of a panel which numbers of a line lie below it, or that there are none at all."""
    below = [f"↓ {short(n, 3)}" for n, there in zip(line.numbers[panel], drawn, strict=True) if n is not None and not there]
    words = ", ".join(below) if below or any(drawn) else "n/a"
    if words:
        axis = "" if panel == 0 else str(panel + 1)
        told = LINE_BREAK.join(dict.fromkeys(_told(line, "", panel, k) for k in range(len(drawn))))
        figure.add_annotation(
            text=words, hovertext=told, showarrow=False,
            x=0, xref=f"x{axis} domain", xanchor="left", y=height, yref=f"y{axis}",
        )  # fmt: skip


def _told(line: _Line, kind: str, panel: int, k: int) -> str:
    """What is said of a dot."""
    number, note = line.numbers[panel][k], line.notes[k] if line.notes else ""
    said = [line.name, kind, "not defined" if number is None else f"{number:.4f}", note]
    return LINE_BREAK.join(escape.chart(text) for text in said if text)


def _finished(figure: go.Figure, title: str, lines: int) -> go.Figure:
    return finish(figure, title, height=int(190 + _TALL * lines), entries=1, above=80)
