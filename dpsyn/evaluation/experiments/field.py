"""The field: systems on the same rows under one budget. Which is best at which ε, and what each of them takes."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from itertools import groupby

import pandas as pd

from dpsyn.domain import listed
from dpsyn.evaluation.conclusions import ALIKE
from dpsyn.evaluation.experiments.plan import Grid, axes
from dpsyn.evaluation.experiments.results import CellResult
from dpsyn.evaluation.experiments.summary import Point, is_rising, placed, summarise
from dpsyn.evaluation.report import BETTER, REAL
from dpsyn.notation import short

FIELD = "field"
"""The name of the picture, where a measure has its own."""
_ERRORS = ("2-way error, mean", "range queries, mean error")
_ACCURACY, _MISSED = "accuracy, ", "misclassification, "


def field_panels(results: Sequence[CellResult]) -> dict[str, list[Point]]:
    """Points of two-way tables, range queries and misclassification (1 - accuracy of the first model), by measure.

    Nothing unless there are two systems and two values of what varies: then one is best here and another one there.
    """
    done = [result for result in placed(results) if result.measures]
    if min(len({result.label for result in done}), len({result.value for result in done})) < 2:
        return {}
    measured = list(dict.fromkeys(name for result in done for name in result.measures[0]))
    found = {name: summarise(results, name) for name in _ERRORS if name in measured}
    accuracy = next((name for name in measured if name.startswith(_ACCURACY)), None)
    if accuracy is not None:
        found[_missed(accuracy)] = [
            replace(p, measure=_missed(accuracy), mean=1 - p.mean, low=_less(p.high), high=_less(p.low))
            for p in summarise(results, accuracy)
        ]
    return found


def field_references(references: Mapping[str, Mapping[str, float]]) -> dict[str, Mapping[str, float]]:
    """What to draw beside the measures of :func:`field_panels`."""
    missed = {
        _missed(measure): {name: 1 - height for name, height in lines.items()}
        for measure, lines in references.items()
        if measure.startswith(_ACCURACY)
    }
    return {**references, **missed}


def _less(share: float | None) -> float | None:
    return None if share is None else 1 - share


def _missed(accuracy: str) -> str:
    return accuracy.replace(_ACCURACY, _MISSED)


def unfinished(grid: Grid, results: Sequence[CellResult]) -> set[float]:
    """Values at which no run of some system has ended: it may be the best there. A run that was refused, failed or crashed
    has ended; one of a system without the setting that varies counts for all values."""
    known = {(result.label, value) for result in results for value in grid.counts_at(result.label, result.value)}
    return {value for value in grid.values for label in grid.configs if (label, value) not in known}


def _judges_nobody(points: Sequence[Point], beside: Mapping[str, float] | None) -> bool:
    """Whether the real data itself is not clearly better than guessing, of what is drawn beside the measure."""
    if beside is None or not {REAL, BETTER} <= beside.keys():
        return False
    real, better = beside[REAL], beside[BETTER]
    return any(real <= better if is_rising(p.measure) else real >= better for p in points)


def frontier(
    points: Sequence[Point], waiting: Collection[float] = (), beside: Mapping[str, float] | None = None
) -> list[Point]:
    """The best mean at every value, of the points that give what was asked for: the lower hull of the curves, or the upper
    one of a measure of which more is better. None at the values of ``waiting`` (:func:`unfinished`). Of equal ones the
    system that is the best at the value before, too, or else longest at those that follow; nobody where all are equal at
    every value, or where the lines ``beside`` the measure say that real data predict no better than guessing."""
    if _judges_nobody(points, beside):
        return []
    fair = [point for point in points if point.fair and point.value not in waiting]
    sign = -1 if fair and is_rising(fair[0].measure) else 1
    best, told_apart = [], False
    for value in sorted({p.value for p in fair}):
        there = [p for p in fair if p.value == value]
        best.append([p for p in there if sign * p.mean == min(sign * other.mean for other in there)])
        told_apart |= len(there) == 1 or len(best[-1]) < len(there)
    if not told_apart:
        return []
    hull: list[Point] = []
    reign: set[str] = set()
    for at, tied in enumerate(best):
        reign &= {p.label for p in tied}
        if not reign:
            for further in best[at:]:
                longer = {p.label for p in further}
                if reign and not reign & longer:
                    break
                reign = reign & longer or longer
        hull.append(next(p for p in tied if p.label in reign))
    return hull


def frontier_in_words(
    points: Sequence[Point], vary: str, waiting: Collection[float] = (), beside: Mapping[str, float] | None = None
) -> str:
    """Which system is best where, in a sentence, and at which values of ``waiting`` (:func:`unfinished`) that is not known
    yet; then those that are not told apart from the best one: bars meet, or a run is single and errors differ by little."""
    if _judges_nobody(points, beside):
        return "This tells no system from another: real data are not clearly better than guessing."
    hull, symbol = frontier(points, waiting), axes()[vary].symbol
    open_at = f"{symbol} = {', '.join(short(value) for value in sorted(waiting))}"
    if not hull and waiting:
        return f"Not known yet at {open_at}: not every system has run there."
    if not hull and any(p.fair for p in points):
        return f"No system is better than another one: all are equal at every {symbol}."
    if not hull:
        return "No system gives what was asked for."
    reigns = [list(reign) for _, reign in groupby(hull, key=lambda p: p.label)]
    if waiting:
        said = [f"{reign[0].label} at {symbol} = {', '.join(short(p.value) for p in reign)}" for reign in reigns]
        words = f"{'; '.join(said)}. Not known yet at {open_at}, where not every system has run"
    else:
        last = reigns[-1][0].label
        said = [f"{reign[0].label} up to {symbol} = {short(reign[-1].value)}" for reign in reigns[:-1]]
        words = ", ".join([*said, f"then {last}"]) if said else f"{last} at every {symbol}"
    sentences = [words]
    alike: dict[str, dict[str, list[str]]] = {}
    for best in hull:
        for p in points:
            if p.fair and p.value == best.value and p.label != best.label and (why := _not_told_apart(p, best)):
                alike.setdefault(why, {}).setdefault(p.label, []).append(short(best.value))
    for why, systems in alike.items():
        found = [f"{label} at {symbol} = {', '.join(at)}" for label, at in systems.items()]
        sentences.append(f"Perhaps as good ({why}): {listed(found, most=4)}")
    return f"{'. '.join(sentences)}."


def _not_told_apart(one: Point, other: Point) -> str:
    """Why two points are not told apart, in words; empty where they are. A single run has no bar."""
    single = one.interval is None or other.interval is None
    spans = [p.interval or (p.mean, p.mean) for p in (one, other)]
    if max(low for low, _ in spans) <= min(high for _, high in spans):
        return "a single run" if single else "bars meet"
    # What rises is 1 at best.
    low, high = sorted(1 - p.mean if is_rising(p.measure) else p.mean for p in (one, other))
    return "a single run" if single and (low < 0 or high < ALIKE * low) else ""


def costs(results: Sequence[CellResult]) -> pd.DataFrame:
    """One line per system over all of its runs that ended with rows: seconds of the processor for a run, without measuring
    it, and the largest memory of its process in gigabytes; nothing of what was kept by an earlier version."""
    lines = []
    for label in sorted({result.label for result in results}):  # of two runs at a time either may end first
        own = [result for result in results if result.label == label and result.status == "done" and result.gigabytes]
        if own:
            seconds = pd.Series([result.processor for result in own])
            lines.append((label, len(own), seconds.median(), seconds.max(), max(result.gigabytes for result in own)))
    return pd.DataFrame(lines, columns=["Mechanism", "Runs", "Median seconds", "Longest", "GB"])
