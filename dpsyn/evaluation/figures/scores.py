"""Scores of classifiers in a comparison, beside those of real rows and of naming the majority class."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from dpsyn.kit.plotly import GRID, at_least_one, dot_style, finish, safe, segments, series, shorten, two_panels
from dpsyn.kit.theme import GUIDE, HERE

if TYPE_CHECKING:
    import plotly.graph_objects as go

    from dpsyn.evaluation.report import Report


@dataclass(frozen=True)
class ScoresInfo:
    """Accuracy and ROC-AUC, by release and classifier, None where not defined; ``notes`` says why.

    ``accuracy``, ``auc`` and ``notes`` have one row per release and one entry per classifier; ``real_accuracy`` and
    ``real_auc`` are those of train-on-real. ``skipped`` names releases without scores, and the reason.
    """

    title: str
    releases: tuple[str, ...]
    classifiers: tuple[str, ...]
    accuracy: tuple[tuple[float | None, ...], ...]
    auc: tuple[tuple[float | None, ...], ...]
    notes: tuple[tuple[str, ...], ...]
    real_accuracy: tuple[float | None, ...]
    real_auc: tuple[float | None, ...]
    majority_accuracy: float
    skipped: Mapping[str, str]


def scores_info(reports: Mapping[str, Report]) -> ScoresInfo | str:
    """Data of :func:`draw_scores`, or the reason why there is nothing to draw: no release has scores."""
    at_least_one(reports)
    found = {name: r.classification for name, r in reports.items() if not isinstance(r.classification, str)}
    skipped = {name: r.classification for name, r in reports.items() if isinstance(r.classification, str)}
    if not found:
        return next(iter(skipped.values()))
    real = next(iter(found.values())).real
    return ScoresInfo(
        title=f"Predicting {shorten(real.target, 30)} on {real.test_rows:,} held-out real rows",
        releases=tuple(found),
        classifiers=tuple(score.classifier for score in real.scores),
        accuracy=tuple(tuple(score.accuracy for score in c.synthetic) for c in found.values()),
        auc=tuple(tuple(score.auc for score in c.synthetic) for c in found.values()),
        notes=tuple(tuple(score.note for score in c.synthetic) for c in found.values()),
        real_accuracy=tuple(score.accuracy for score in real.scores),
        real_auc=tuple(score.auc for score in real.scores),
        majority_accuracy=real.majority_accuracy,
        skipped=skipped,
    )


def draw_scores(info: ScoresInfo) -> go.Figure:
    """Dots by classifier and release; train-on-real is a line, the majority class (for the AUC: chance) a dashed one."""
    import plotly.graph_objects as go

    figure = two_panels("Accuracy", "ROC-AUC")
    places = list(range(len(info.classifiers)))
    panels = ((info.accuracy, info.real_accuracy, info.majority_accuracy), (info.auc, info.real_auc, 0.5))
    for panel, (scores, real, chance) in enumerate(panels, start=1):
        for at, name in enumerate(info.releases):
            across = [p + 0.7 * ((at + 0.5) / len(info.releases) - 0.5) for p in places]
            text = [_score_text(name, s, note) for s, note in zip(scores[at], info.notes[at], strict=True)]
            shared = {"x": across, "customdata": text, "hovertemplate": "%{customdata}<extra></extra>"}
            dots = go.Scatter(y=scores[at], mode="markers", zorder=1, marker=dot_style(at), **series(name, panel), **shared)
            figure.add_trace(dots, row=1, col=panel)
            absent = ["n/a" if s is None else "" for s in scores[at]]
            if any(absent):
                height = [0.03 if word else None for word in absent]
                words = go.Scatter(y=height, mode="text", text=absent, textfont={"color": GUIDE}, **shared)
                words.update(showlegend=False, legendgroup=name)
                figure.add_trace(words, row=1, col=panel)
        figure.add_trace(segments(real, "Trained on real rows", panel), row=1, col=panel)
        flat = [chance] * len(places)
        line = segments(flat, "Majority class (AUC: chance)", panel, dash="dot", colour=HERE)
        figure.add_trace(line, row=1, col=panel)
    figure.update_xaxes(tickmode="array", tickvals=places, ticktext=list(info.classifiers), showgrid=False, zeroline=False)
    figure.update_yaxes(range=[-0.03, 1.03], gridcolor=GRID)
    figure.update_yaxes(title_text="Share of rows", row=1, col=1)
    figure.update_yaxes(title_text="Area (0 to 1)", row=1, col=2)
    return finish(figure, info.title, entries=len(info.releases) + 2, above=80)


def _score_text(name: str, score: float | None, note: str) -> str:
    head = f"{safe(name)}<br>" + ("not defined" if score is None else f"{score:.4f}")
    return head + (f"<br>{safe(note)}" if note else "")
