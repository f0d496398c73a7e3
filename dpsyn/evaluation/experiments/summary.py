"""From results to curves: averages, where their spread comes from, and the setting at which a wish comes true."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from numbers import Real
from typing import Literal

import numpy as np
import numpy.typing as npt
import pandas as pd

from dpsyn import checks
from dpsyn.errors import ParameterError
from dpsyn.evaluation.experiments.plan import axes
from dpsyn.evaluation.experiments.results import OTHER_NEIGHBOURS, OVER_BUDGET, CellResult, Results, checked_results
from dpsyn.evaluation.prediction import RISING
from dpsyn.notation import counted, short
from dpsyn.privacy.spec import rounded_up

Floats = npt.NDArray[np.float64]


def placed(results: Sequence[CellResult]) -> list[CellResult]:
    """Results that know their plan (:class:`~dpsyn.evaluation.experiments.results.Results`) at all values at which they
    count; those of a plain list at the values under which they are stored.

    Raises:
        ParameterError: ``results`` are none.
    """
    checked = checked_results("results", results)
    if not isinstance(results, Results):
        return checked
    at = [(r, value) for r in checked for value in results.grid.counts_at(r.label, r.value)]
    return [r if r.value == value else replace(r, value=value) for r, value in at]


def results_frame(results: Sequence[CellResult]) -> pd.DataFrame:
    """One line per draw and measure: label, mechanism, value, repeat, draw, measure, number, budget, claimed ε.

    A run of a mechanism without the setting that varies is at every value (:func:`placed`).
    """
    columns = ["label", "mechanism", "value", "repeat", "draw", "measure", "number", "budget", "claimed epsilon"]
    lines = [
        (r.label, r.mechanism, r.value, r.repeat, draw, measure, number, r.budget, r.guarantee.get("epsilon", math.nan))
        for r in placed(results)
        if r.status == "done"
        for draw, measures in enumerate(r.measures)
        for measure, number in measures.items()
    ]
    return pd.DataFrame(lines, columns=columns)


@dataclass(frozen=True)
class Point:
    """One measure of one mechanism at one value of the varied setting.

    Attributes:
        label, value, measure: which.
        mean: over all runs and draws, each run counted alike.
        low, high: 95 % confidence interval of the mean (Student's t over runs), cut off at the ends of the measure's range:
            Student's t knows nothing of them, and with few runs it goes below 0; None for a single run, which has none.
        mechanism_deviation: standard deviation between runs that is not the draw's, or None if it cannot be told: with one
            draw per run, or one run.
        draw_deviation: standard deviation between draws from the same fit, or None likewise.
        runs, draws: how many runs, and draws in all.
        claimed_epsilon: of the releases; ``over_budget`` if it is above what the experiment asked for.
        failed: how many more runs were asked for here and ended without rows.
        other_neighbours: it protects a row that is replaced where one more or less was asked for.

    Raises:
        ParameterError: a field has a value that it cannot have.
    """

    label: str
    value: float
    measure: str
    mean: float
    low: float | None
    high: float | None
    mechanism_deviation: float | None
    draw_deviation: float | None
    runs: int
    draws: int
    claimed_epsilon: float
    over_budget: bool
    failed: int = 0
    other_neighbours: bool = False

    def __post_init__(self) -> None:
        for name in ("label", "measure"):
            checks.text(name, getattr(self, name), "a text in Unicode")
        found: dict[str, float | None] = {name: checks.number(name, getattr(self, name)) for name in ("value", "mean")}
        for name in ("low", "high", "mechanism_deviation", "draw_deviation"):
            found[name] = checks.number_or_none(name, getattr(self, name))
        for name, number in found.items():
            object.__setattr__(self, name, number)
        for name in ("runs", "draws", "failed"):
            checks.whole(name, getattr(self, name), 0)
        checks.instance("claimed_epsilon", self.claimed_epsilon, Real, "a number")
        for name in ("over_budget", "other_neighbours"):
            checks.flag(name, getattr(self, name))

    @property
    def fair(self) -> bool:
        """Whether it gives what was asked for, so that it may be compared."""
        return not (self.over_budget or self.other_neighbours)

    @property
    def runs_in_words(self) -> str:
        """How many runs it is the mean of, and of how many that were asked for."""
        if self.failed:
            return f"{self.runs} of {self.runs + self.failed} runs, {self.failed} failed"
        return counted(self.runs, "run")

    @property
    def interval(self) -> tuple[float, float] | None:
        """From where to where the mean is with 95 % confidence; None for a single run."""
        return None if self.low is None or self.high is None else (self.low, self.high)


def measure_range(measure: str) -> tuple[float, float]:
    """The ends of what a measure can be, by its name; infinite where nothing is known of it."""
    shares = ("accuracy", "ROC-AUC", "calibration error", "range queries", "values", "coefficients", "correlation ratio")
    if measure.startswith(shares) or "-way error" in measure:
        return 0.0, 1.0
    if measure.startswith(("Brier score", "correlation", "rank correlation")):
        return 0.0, 2.0
    if measure.startswith("loss in the worst group"):
        return -1.0, 1.0
    least = 0.0 if measure.startswith(("mean absolute error", "propensity")) else -math.inf
    return least, (1.0 if measure.startswith("R²") else math.inf)


def is_rising(measure: str) -> bool:
    """Whether more of it is better."""
    return measure.startswith(RISING)


def is_proportional(measure: str, heights: Sequence[float]) -> bool:
    """Whether curves of such heights are drawn, and read between values, over the logarithm: errors differ by factors."""
    return not is_rising(measure) and min(heights, default=0.0) > 0


def summarise(results: Sequence[CellResult], measure: str) -> list[Point]:
    """Averages of one measure by label and value, in their order, with the spread told apart.

    Runs r = 1 … R, draws b = 1 … B of each: x_rb = μ + M_r + D_rb. The variance within runs estimates Var D, the variance
    between the runs' means less Var D / B estimates Var M (one-way analysis of variance; not below 0). A mechanism without
    the setting that varies has the same point at every value (:func:`placed`).

    Raises:
        ParameterError: ``results`` are none, or ``measure`` is none that they have.
    """
    results = placed(results)
    measure = checks.text("measure", measure, "the name of a measure")
    frame = results_frame(results)
    if len(frame):
        checks.choice("measure", measure, frame["measure"].unique())
    frame = frame[frame["measure"] == measure]
    points = []
    # Not in the order of the results: of two runs at a time either may end first.
    for label, value in sorted(set(zip(frame["label"], frame["value"], strict=True))):
        group = frame[(frame["label"] == label) & (frame["value"] == value)]
        by_run = [part["number"].to_numpy(dtype=np.float64) for _, part in group.groupby("repeat")]
        claimed = float(group["claimed epsilon"].max())
        over = bool((group["budget"] == OVER_BUDGET).any())
        failed = sum(r.status != "done" and (r.label, r.value) == (label, value) for r in results)
        point = _point(str(label), float(value), measure, by_run, claimed, over, failed)
        points.append(replace(point, other_neighbours=bool((group["budget"] == OTHER_NEIGHBOURS).any())))
    return points


def _point(label: str, value: float, measure: str, by_run: list[Floats], claimed: float, over: bool, failed: int) -> Point:
    from scipy.stats import t

    means = np.array([run.mean() for run in by_run])
    runs = len(means)
    mean = float(means.mean())
    freedom = sum(len(run) - 1 for run in by_run)
    within = between = None
    if freedom:
        draw_variance = sum(float(((run - run.mean()) ** 2).sum()) for run in by_run) / freedom
        within = math.sqrt(draw_variance)
        if runs > 1:
            share = float(np.mean([1 / len(run) for run in by_run]))
            between = math.sqrt(max(0.0, float(means.var(ddof=1)) - draw_variance * share))
    draws = sum(len(run) for run in by_run)
    low = high = None
    if runs > 1:
        half = float(t.ppf(0.975, runs - 1) * means.std(ddof=1) / math.sqrt(runs))
        least, most = measure_range(measure)
        low, high = max(mean - half, min(least, mean)), min(mean + half, max(most, mean))
    return Point(label, value, measure, mean, low, high, between, within, runs, draws, claimed, over, failed)


def refusals(results: Sequence[CellResult]) -> list[tuple[str, str, str]]:
    """Mechanism, values of the setting with how many of their runs gave no rows, and why; alike ones together."""
    results = placed(results)
    runs = Counter((result.label, result.value) for result in results)
    told: dict[tuple[str, float, str], list[str]] = {}
    for result in results:
        if result.status != "done":
            told.setdefault((result.label, result.value, result.status), []).append(result.message)
    found: dict[tuple[str, str], list[str]] = {}
    for (label, value, status), messages in sorted(told.items()):
        count, of = len(messages), runs[label, value]
        at = f"{short(value)} ({count} of {counted(of, 'run')} {status})"
        # Those of several runs differ in numbers only: what would have been enough for that one.
        found.setdefault((label, f"{status}: {messages[0]}"), []).append(at)
    return [(label, ", ".join(places), why) for (label, why), places in found.items()]


def points_table(points: list[Point], vary: str, results: Sequence[CellResult] = ()) -> pd.DataFrame:
    """One line per mechanism and value of the setting that varies; one with no mean where none of its runs, among the
    ``results``, gave rows."""
    symbol, there = axes()[vary].symbol, {(p.label, p.value) for p in points}
    failed = Counter((r.label, r.value) for r in placed(results) if r.status != "done")
    none: list[dict[str, object]] = [
        {"Mechanism": label, symbol: value, "Runs": 0, "Failed": count}
        for (label, value), count in failed.items()
        if (label, value) not in there
    ]
    lines: list[dict[str, object]] = [
        {
            "Mechanism": p.label,
            symbol: p.value,
            "Mean": p.mean,
            "95 % from": p.low,
            "to": p.high,
            "Deviation, noise": p.mechanism_deviation,
            "Deviation, draw": p.draw_deviation,
            "Runs": p.runs,
            "Failed": p.failed,
            "Claimed ε": rounded_up(p.claimed_epsilon, 6),
        }
        for p in points
    ]
    table = pd.DataFrame(lines + none)
    return table.sort_values(["Mechanism", symbol], kind="stable", ignore_index=True) if none else table


@dataclass(frozen=True)
class Crossing:
    """The value of the varied setting at which a curve crosses a wish.

    Attributes:
        label: of the mechanism.
        value: where the mean curve crosses, or None.
        low, high: where the two ends of its 95 % band cross; ``low`` is at most that where it is the smallest value tried,
            ``high`` is None if its end never crosses: then more is needed than was tried. None, too, where a mean of a
            single run has no band.
        message: the answer in words.

    Raises:
        ParameterError: a field has a value that it cannot have.
    """

    label: str
    value: float | None
    low: float | None
    high: float | None
    message: str

    def __post_init__(self) -> None:
        for name in ("label", "message"):
            checks.text(name, getattr(self, name), "a text in Unicode")
        for name in ("value", "low", "high"):
            checks.number_or_none(name, getattr(self, name))


def crossings(
    points: Sequence[Point], wish: float, direction: Literal["below", "above"], *, logarithmic: bool = True
) -> list[Crossing]:
    """At which value each mechanism's curve gets below (or above) ``wish`` and stays there, with its uncertainty.

    Between two values the curve is straight as in its figure: over the logarithm of the value if ``logarithmic``, and the
    logarithm of an error whose means, and the wish, are above 0.

    Raises:
        ParameterError: a direction that is neither, a wish that is not a number, or a logarithm of what is not above 0.
    """
    direction = checks.choice("direction", direction, ("below", "above"))
    wish, logarithmic = checks.number("wish", wish), checks.flag("logarithmic", logarithmic)
    why = "a list of points, as summarise gives them"
    points = [checks.instance("points", point, Point, why) for point in checks.items("points", points, why)]
    if logarithmic and not all(point.value > 0 for point in points):
        raise ParameterError("logarithmic", logarithmic, "False: a point has a value that is not above 0")
    found = []
    for label in dict.fromkeys(point.label for point in points):
        curve = sorted((p for p in points if p.label == label), key=lambda p: p.value)
        found.append(_crossing(label, curve, wish, direction, logarithmic))
    return found


def _crossing(label: str, curve: list[Point], wish: float, direction: str, logarithmic: bool) -> Crossing:
    sign = 1.0 if direction == "below" else -1.0
    values = np.array([p.value for p in curve])
    places = np.log(values) if logarithmic else values
    means = [p.mean for p in curve]
    proportional = is_proportional(curve[0].measure, [*means, wish])

    def crossed(heights: Sequence[float]) -> float | None:
        """Where they get there; the end of a band that reaches 0 has no logarithm, and lies below all that have one."""
        scaled = np.array([*heights, wish], dtype=np.float64)
        scaled = sign * (np.log(np.maximum(scaled, np.finfo(np.float64).tiny)) if proportional else scaled)
        place = _first_below(places, scaled[:-1], scaled[-1])
        return None if place is None else float(math.exp(place) if logarithmic else place)

    at, bands = crossed(means), [p.interval for p in curve if p.interval is not None]
    early = late = None
    if len(bands) == len(curve):
        lows, highs = zip(*bands, strict=True)
        early, late = (crossed(lows), crossed(highs)) if sign > 0 else (crossed(highs), crossed(lows))
    first, last = float(values[0]), float(values[-1])
    if at is None:
        message = f"not reached up to {short(last)}: the last mean is {short(curve[-1].mean, 4)}"
        return Crossing(label, None, early, None, message)
    if at <= first:
        return Crossing(label, first, None, late, f"met already at {short(first)}, the smallest value tried")
    if early is None:
        said = "a single run has no 95 % interval"
    else:
        least = f"at most {short(first, 3)}" if early <= first else short(early, 3)
        said = f"95 %: {least} to {f'more than {short(last)}' if late is None else short(late, 3)}"
    return Crossing(label, at, early, late, f"about {short(at, 3)} ({said})")


def _first_below(places: Floats, heights: Floats, wish: float) -> float | None:
    """Where a curve of straight pieces gets to ``wish`` and stays at or below it to its end."""
    if heights[-1] > wish:
        return None
    above = np.flatnonzero(heights > wish)
    if len(above) == 0:
        return float(places[0])
    i = int(above[-1])
    share = (heights[i] - wish) / (heights[i] - heights[i + 1])
    return float(places[i] + share * (places[i + 1] - places[i]))
