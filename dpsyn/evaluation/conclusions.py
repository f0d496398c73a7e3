"""What a report comes to, in sentences: is a release good enough, and what would make it better."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from dpsyn import checks
from dpsyn.domain import listed
from dpsyn.errors import ParameterError, quoted
from dpsyn.evaluation.fresh import columns_shuffled, fresh_rows
from dpsyn.evaluation.orders import lost_orders
from dpsyn.evaluation.prediction import CLEARLY, Prediction, RealScores, Score
from dpsyn.evaluation.report import Report
from dpsyn.evaluation.values import ValueErrors
from dpsyn.notation import counted, percent, short

Grade = Literal["no fault seen", "with care", "poor", "cannot be judged"]
"""Nothing was found that speaks against it; usable with care; not usable; real rows give nothing to measure it by."""
_BADNESS: Mapping[Grade, int] = {"no fault seen": 0, "cannot be judged": 1, "with care": 1, "poor": 2}
_NEAR, _FAR, _DEVIATIONS = 1.5, 3.0, 3.0
"""Table errors in parts of that of a fresh real sample: up to which they are good, and beyond which they are bad. So many of
its standard deviations more are good, too."""
_OF_MANY = 4.0
"""Standard deviations of the same of a single table, the worst of many."""
_SMALL, MIDDLE, _LARGE = 0.02, 0.10, 0.30
"""The same as total variation: small is good and large is bad whatever a sample would miss, and below the middle
nothing is."""
_KEPT, _LOST = 0.5, 0.9
"""In parts of the error of independent columns: up to where relations of columns are kept, and from where they are lost."""
_TWICE, _MANY = 2, 100
"""The same, from where they are so many times as far off, and up to where that is counted."""
_MOST_OF_THE_GAIN, _LITTLE_OF_IT = 0.9, 0.3
_APART = 2.0
"""Standard errors of guessing: so many of them less than real rows give are no fault."""
_FEWEST = 30
"""Held-out rows below which nothing is said of predictions."""
ALIKE = 1.25
"""Errors of single runs that differ by less than this factor are about as good."""
_SHAPE = 0.05
"""Of the law of a column of numbers, or of a table of three columns and more, beyond chance: what it may be off by."""
_TOLD_APART = 2.0
"""pMSE of a tree, in parts of what chance gives, from which it tells rows from the real ones."""
_UNLIKELY = 1e-3
"""Probability of as much by chance, below which it counts."""
_NAMED = 3
_TWO = 2
"""Columns of the largest tables whose errors a report holds one by one."""


@dataclass(frozen=True)
class Finding:
    """One line of a score card.

    Attributes:
        about: ``"tables"``, ``"prediction"`` or ``"numbers"``.
        grade: how good it is.
        figure: the one number, for people.
        sentence: what it means, beside the yardstick.
    """

    about: str
    grade: Grade
    figure: str
    sentence: str


def conclusions(report: Report) -> tuple[Finding, ...]:
    """The score card of a release: tables of columns, prediction, numeric columns; what was not measured is left out.

    The yardstick of tables is what as many fresh real rows of the same source show; that of prediction is training on real
    rows, and always guessing the commonest class (or the mean).
    """
    checks.instance("report", report, Report, "what dpsyn.evaluate gives")
    tables, predicted = _tables(report), _prediction(report.prediction)
    if tables and predicted and tables.grade == "poor" and predicted.grade == "no fault seen":
        of = "its tables are not, so use these rows for that prediction alone"
        tables = replace(tables, sentence=f"{tables.sentence} What predicts is kept; {of}.")
    return tuple(found for found in (tables, predicted, _with_orders(report, _numbers(report))) if found is not None)


def table_error(report: Report) -> float:
    """Mean total variation of the tables of two columns; of three, else of one, where there are no two. Infinite where no
    table was measured."""
    if not report.marginals:
        return math.inf
    return report.marginals[_degree(report)].mean


def degree_of(degrees: Iterable[int]) -> int:
    """Of how many columns the tables are that are looked at first: two; else three, else one."""
    return min(degrees, key=lambda degree: (abs(degree - 2), -degree))


def _degree(report: Report) -> int:
    return degree_of(report.marginals)


def _columns(degree: int) -> str:
    return "two columns" if degree == 2 else counted(degree, "column")


def _tables(report: Report) -> Finding | None:
    if not report.marginals:
        return None
    degree = _degree(report)
    error = report.marginals[degree].mean
    which = f"Tables of {_columns(degree)}"
    alone = None if report.shuffled is None else report.shuffled.mean(degree)
    sample = report.fresh
    fresh = None if sample is None else sample.mean(degree)
    said = f"{which} are off by {percent(error)} on average"
    if sample is not None and fresh is not None:
        said += f"; {counted(sample.rows, 'fresh real row')} by {'about ' * (not sample.drawn)}{percent(fresh)}"
    if alone is not None:
        said += f"; real rows with their columns shuffled by {percent(alone)}"
    by_chance = _by_chance(report, degree)
    near = max(_SMALL, by_chance)
    far = min(_LARGE, max(_FAR * (fresh or 0.0), MIDDLE))
    grade: Grade = "no fault seen" if error <= near else "poor" if error > far else "with care"
    small = error <= _SMALL
    if alone is not None and error > (_LOST * alone if small else _half(fresh, alone)):
        no, lost = "no" if error >= alone else "hardly", any(left < _KEPT for *_, left in report.release.lost)
        # A fresh sample is off by its own chance and by that of the rows that were learned from; rows without relations,
        # which are as many, or all of these, by the larger of both alone.
        rows = report.release.rows if sample is None else sample.rows
        chance = by_chance * math.sqrt(max(rows, report.n) / (rows + report.n))
        if error >= _TWICE * alone and error > near:
            said += f". It is {_beside(error, alone)} such rows"
            grade = "poor"
        elif alone <= chance and not lost:
            if grade == "no fault seen":
                are = f"no stronger than chance makes them in {counted(rows, 'row')}: weak ones cannot be judged"
                said, grade = f"{said}. On average, relations of columns are {are}", "cannot be judged"
        elif small:
            said += f". It is {no} closer than such rows, so relations, which are weak here, are not kept"
            grade = "with care"
        elif fresh is not None and fresh >= _LOST * alone and error <= near:
            # Of a relation that is lost it is known; it is named below.
            kept = ". Fresh real rows are hardly closer than such rows, if at all: whether relations are kept cannot be told"
            said, grade = (said, grade) if lost else (said + kept, "cannot be judged")
        elif error >= _LOST * alone:
            said += f". It is {no} closer than such rows"
            grade = "with care" if error <= near and not lost else "poor"
        elif grade == "no fault seen":
            said += ". It is closer to such rows than to fresh ones" * (fresh is not None)
            grade = "with care"
    worst = "" if grade == "poor" else (_relations(report) or _worst_table(report) or _told_apart(report)) + _off(report)
    if not worst and grade != "poor" and (near >= 1 or (grade == "no fault seen" and alone is None and error > MIDDLE)):
        said, grade = f"{said}. Chance alone moves them so far, so they cannot be judged", "cannot be judged"
    return Finding("tables", "with care" if worst else grade, percent(error), f"{said}.{worst}")


def _half(fresh: float | None, alone: float) -> float:
    """The error of rows that keep half of what relations there are beyond chance."""
    return _KEPT * (alone + (fresh if fresh is not None and fresh < alone else 0.0))


def _by_chance(report: Report, degree: int) -> float:
    """How far a fresh sample may well be off, to a row more; 0 where that is not known."""
    sample = report.fresh
    mean = None if sample is None else sample.mean(degree)
    if sample is None or mean is None:
        return 0.0
    return max(_NEAR * mean, mean + _DEVIATIONS * sample.deviation_of_mean(degree) + 1 / sample.rows)


def _relations(report: Report) -> str:
    """The strongest relations that are weaker, and stronger, than the real ones by no chance, in words."""
    said = ""
    for every, words, others in (
        (report.release.lost, "{} × {} keeps {} of its strength", "suffered"),
        (report.release.made, "{} × {} is made up: the real rows have {} of its strength", "came out too strong"),
    ):
        if every:
            (one, other, _, left), further = every[0], len(every) - 1
            said += f" {words.format(quoted(one), quoted(other), percent(left) if left > 0 else 'nothing')}"
            said += f"; {counted(further, 'weaker relation')} {others}, too." if further else "."
    return said


def _told_apart(report: Report) -> str:
    """That a tree tells the rows from the real ones, in words."""
    found = report.release.propensity
    if found is None or not found.ratio > _TOLD_APART or found.chance > _UNLIKELY:
        return ""
    return f" A tree tells these rows from the real ones {short(found.ratio, 2)} times as well as chance does."


def _off(report: Report) -> str:
    """The commonest category that is far too rare or too frequent, in words."""
    every, k = report.release.off, report.release.rows
    if not every:
        return ""
    (column, category, real, rows), more = every[0], f" (the commonest of {len(every):,} such)" * (len(every) > 1)
    what = "all but gone" if rows / k < real / report.n else "far too frequent"
    there = f"{rows:,} of {k:,} rows have it, {real:,} of {report.n:,} real ones"
    return f" {quoted(category)} of {quoted(column)} is {what}: {there}{more}."


def _worst_table(report: Report) -> str:
    """A table of the most columns that is far worse than chance makes it, in words.

    Chance is that of the same table of a fresh sample, and of so many rows. Beyond it one of two columns counts that is far
    off, or more than half as far as if they had nothing to do with each other.
    """
    about = "about " if report.fresh is not None and not report.fresh.drawn else ""
    for degree in sorted(report.marginals, reverse=True):
        each = report.marginals[degree].each
        fresh = {} if report.fresh is None else report.fresh.each.get(degree, {})
        alone = {} if report.shuffled is None else report.shuffled.each.get(degree, {})
        ours, theirs = (np.array([errors.get(table, np.nan) for table in each]) for errors in (each, fresh))
        related = _KEPT * np.array([alone.get(table, np.inf) for table in each])
        beside = np.clip(related, _SMALL, MIDDLE) if degree == _TWO else _SHAPE
        least = np.where(np.isnan(theirs), _LARGE if degree <= _TWO else np.inf, beside)
        beyond = ours - np.fmax(least, np.fmax(_FAR * theirs, [_table_by_chance(report, table) for table in each]))
        at = int(np.argmax(beyond))
        if beyond[at] > 0:
            table = list(each)[at]
            said = f"; that of fresh real rows by {about}{percent(fresh[table])}" if table in fresh else ""
            if table in fresh and table in alone:
                said += f"; with columns shuffled by {percent(alone[table])}"
            return f" Far beyond chance, that of {listed(map(quoted, table))} is off by {percent(each[table])}{said}."
    return ""


def _table_by_chance(report: Report, table: tuple[str, ...]) -> float:
    """How far one table of many may well be off in a fresh sample."""
    fresh = report.fresh
    mean = None if fresh is None else fresh.each.get(len(table), {}).get(table)
    if fresh is None or mean is None:
        return _FAR * math.hypot(report.n**-0.5, report.release.rows**-0.5)
    return mean + _OF_MANY * fresh.deviation(table) + 1 / fresh.rows


def _beside(error: float, alone: float) -> str:
    if error > _MANY * alone:
        return f"more than {_MANY} times as far off as"
    times = error / alone
    return f"about {'twice' if round(times) == _TWICE else f'{round(times)} times'} as far off as"


def best_score(scores: Sequence[Score], measures: Sequence[str] = ("accuracy", "R²")) -> tuple[str, Score] | None:
    """Of some models the one with the highest accuracy, or R² where numbers are predicted; and which of the two it is."""
    for measure in measures:
        measured = [score for score in scores if measure in score.measures]
        if measured:
            return measure, max(measured, key=lambda score: score.measures[measure])
    return None


def _judged_by(real: RealScores) -> tuple[str, float, float, float]:
    """What predictions are judged by, what the best model and guessing reach in the real rows, and the standard error of
    guessing; 0 where no model is clearly better.

    Accuracy, or R² of numbers. Of two classes so unequal that no model is clearly more often right than guessing the
    commoner one it is ROC-AUC, where that is clearly more than chance (standard error of Mann and Whitney).
    """
    constant, rows = real.constant.measures, real.test_rows
    first, best = best_score(real.scores) or ("accuracy" if real.classes else "R²", None)
    guessed = constant.get(first, 0.0)
    reached = guessed if best is None else best.measures[first]
    if best is not None and reached > real.better(first):
        return first, reached, guessed, real.chance(first)
    _, ranked = best_score(real.scores, ["ROC-AUC"]) or ("", None)
    pairs = rows**2 * guessed * (1 - guessed)
    if len(real.classes) == 2 and ranked is not None and pairs:
        spread = math.sqrt((rows + 1) / 12 / pairs)
        if ranked.measures["ROC-AUC"] > 0.5 + CLEARLY * spread:
            return "ROC-AUC", ranked.measures["ROC-AUC"], 0.5, spread
    return first, reached, guessed, 0.0


def _prediction(found: Prediction | str) -> Finding | None:
    if isinstance(found, str):
        return None
    if (rows := found.real.test_rows) < _FEWEST:
        said = f"{counted(rows, 'held-out row')} {'is' if rows == 1 else 'are'} too few to tell what predicts"
        return Finding("prediction", "cannot be judged", "too few rows", f"{said} {quoted(found.real.target)}.")
    measure, real, constant, chance = _judged_by(found.real)
    best = best_score(found.synthetic)
    if best is None:
        if not chance:
            return None
        why = next((score.note for score in found.synthetic if score.note), "there is no score")
        return Finding("prediction", "poor", "no model", f"No model learns to predict {quoted(found.real.target)}: {why}.")
    _, score = best_score(found.synthetic, [measure]) or best
    value = score.measures.get(measure, constant)
    guess = {"accuracy": "guessing the majority class", "R²": "guessing the mean"}.get(measure, "guessing")
    target = f"Predicting {quoted(found.real.target)}"
    figure = f"{short(value, 3)} {measure}"
    if not chance:
        said = f"No model predicts {quoted(found.real.target)} clearly better than {guess} in the real rows"
        beside = f"{measure} {short(real, 3)} against {short(constant, 3)}: so it says nothing of these"
        return Finding("prediction", "cannot be judged", figure, f"{said}, {beside}.")
    if value <= constant:
        how = "no better" if value == constant else "worse"
        said = f"{target} is {how} than {guess}: {measure} {short(value, 3)} against {short(constant, 3)}."
        return Finding("prediction", "poor", figure, said)
    gain = (value - constant) / (real - constant)
    near = gain >= _MOST_OF_THE_GAIN or value >= real - _APART * chance
    grade: Grade = "no fault seen" if near else "poor" if gain < _LITTLE_OF_IT else "with care"
    beside = f"{counted(found.real.scores[0].training_rows, 'real row')} give {short(real, 3)}, {guess} {short(constant, 3)}"
    if score.lost:
        grade = "with care" if grade == "no fault seen" else grade
        beside += f". Far fewer rows than among the real ones have {listed(map(quoted, score.lost), most=_NAMED)}"
    return Finding("prediction", grade, figure, f"{target} reaches {measure} {short(value, 3)} ({score.model}); {beside}.")


def _numbers(report: Report) -> Finding | None:
    values = [errors for errors in report.values if errors.real_rows or errors.rows]
    if not values:
        return None
    floor = () if report.noise_floor is None else report.noise_floor.values
    fresh = {errors.column: errors for errors in floor}
    warned = {errors.column: errors.warning(fresh.get(errors.column)) for errors in values}
    ruined = {column: why for column, why in warned.items() if why}
    told = [errors for errors in values if errors.column in ruined or not errors.few]
    count, kept, hidden = len(values), len(told) - len(ruined), len(values) - len(told)
    figure = f"{kept} of {count} kept"
    few = f" {counted(hidden, 'column')} with too few values cannot be judged." if hidden else ""
    if not told:
        chance = percent(min(1.0, max(errors.chance for errors in values)))
        said = f"So few rows say nothing of columns of numbers: chance alone moves them by up to {chance}."
        return Finding("numbers", "cannot be judged", "too few rows", said)
    held = [errors for errors in told if errors.column not in ruined]
    torn = _values_off(held) + _totals_off([each for each in held if each.total_off(fresh.get(each.column))])
    torn += _endings_off({each.column: each.ending_off(fresh.get(each.column)) for each in held})
    if not ruined:
        worst = max(told, key=lambda errors: errors.kolmogorov_smirnov - errors.chance)
        off = worst.kolmogorov_smirnov > _SHAPE + worst.chance
        worst = worst if off else max(told, key=lambda errors: errors.kolmogorov_smirnov)
        every = f"{kept} of {count}" if hidden else "Both" if kept == _TWO else f"All {kept}"
        said = "The column of numbers keeps its" if count == 1 else f"{every} columns of numbers keep their"
        said += f" shape{' roughly' * off}; furthest is {quoted(worst.column)}, by {percent(worst.kolmogorov_smirnov)}"
        grade: Grade = "with care" if torn or off else "no fault seen"
        said += f"{', more than chance' * off}; chance alone moves it by up to {percent(worst.chance)}"
        return Finding("numbers", grade, figure, f"{said}.{few}{torn}")
    named = listed(map(quoted, ruined), most=_NAMED)
    said = f"{len(ruined)} of {counted(count, 'column')} of numbers came out far from the real ones: {named}. "
    first, why = next(iter(ruined.items()))
    said += f"{'Why' if len(ruined) == 1 else f'Of {quoted(first)}'}: {why}.{few}"
    if not kept or 2 * len(ruined) > count:
        return Finding("numbers", "poor", figure, said)
    return Finding("numbers", "with care", figure, said + torn)


def _with_orders(report: Report, numbers: Finding | None) -> Finding | None:
    """The finding on numbers, and what is lost of their orders and rules."""
    release, floor = report.release, report.noise_floor
    fresh = () if floor is None else floor.orders + floor.rules
    lost = lost_orders(release.orders + release.rules, fresh, release.rows)
    if numbers is None or not lost:
        return numbers
    if numbers.grade == "cannot be judged":  # too few rows for anything else
        return replace(numbers, grade="with care", figure="a rule is lost", sentence=lost)
    return replace(numbers, grade="poor" if numbers.grade == "poor" else "with care", sentence=f"{numbers.sentence} {lost}")


def _values_off(columns: Sequence[ValueErrors]) -> str:
    """Of the column in which most rows are concerned the values that are far too rare or too frequent, in words, and which
    other columns have such values."""
    off = sorted((column for column in columns if column.off), key=lambda column: -max(column.off[0][2:]))
    if not off:
        return ""
    most, *others = off
    low, high, real, rows = most.off[0]
    value = most.written(high if math.isinf(low) else low)
    where = f"{value} or less" if math.isinf(low) else f"{value} or more" if math.isinf(high) else value
    there = f"{rows:,} of {most.rows:,} values are {where}, {real:,} of {most.real_rows:,} real ones"
    too = (
        f" Some values of {listed((quoted(each.column) for each in others), most=_NAMED)} are far off, too."
        if others
        else ""
    )
    return f" But of {quoted(most.column)} {there}.{too}"


def _totals_off(columns: Sequence[ValueErrors]) -> str:
    """The column whose mean is furthest from the real one, as a part of it, in words."""
    if not columns:
        return ""
    most = max(columns, key=lambda column: abs(column.mean - column.real_mean) / max(abs(column.real_mean), 1e-300))
    made = f"{most.written(most.mean)}, and {most.written(most.real_mean)} of the real ones"
    return f" But the mean of {quoted(most.column)} is {made}: so are totals."


def _endings_off(columns: Mapping[str, str]) -> str:
    """What is said of the first column whose last digits are off, and the names of the others."""
    off = {column: said for column, said in columns.items() if said}
    if not off:
        return ""
    first, *others = off
    too = f" Last digits of {listed(map(quoted, others), most=_NAMED)} are off, too." if others else ""
    return f" {off[first]}.{too}"


def yardsticks(report: Report) -> dict[str, dict[str, str]]:
    """What to hold the figures of findings against, by name and by what they are about: tables of fresh real rows; models
    that learned from the real rows; and rows that know no more than single columns."""
    checks.instance("report", report, Report, "what dpsyn.evaluate gives")
    found: dict[str, dict[str, str]] = {}
    degree = _degree(report) if report.marginals else 0
    if degree and report.fresh is not None and (error := report.fresh.mean(degree)) is not None:
        found[fresh_rows(report.fresh.rows).capitalize()] = {"tables": percent(error)}
    alone: dict[str, str] = {}
    if report.shuffled is not None and (error := report.shuffled.mean(degree)) is not None:
        alone["tables"] = percent(error)
    if not isinstance(report.prediction, str) and best_score(report.prediction.real.scores) is not None:
        measure, reached, constant, _ = _judged_by(report.prediction.real)
        found["Real rows"] = {"prediction": f"{short(reached, 3)} {measure}"}
        alone["prediction"] = f"{short(constant, 3)} {measure}"
    rows = report.n if report.shuffled is None else report.shuffled.rows
    return found | ({columns_shuffled(rows).capitalize(): alone} if alone else {})


def ranking(reports: Mapping[str, Report]) -> list[str]:
    """Names of releases, the one with the smallest mean error of tables first."""
    why = "what dpsyn.evaluate gives, by the names of releases"
    for report in checks.mapping("reports", reports, why).values():
        checks.instance("reports", report, Report, why)
    return sorted(reports, key=lambda name: table_error(reports[name]))


def advice(reports: Mapping[str, Report]) -> str:
    """What to do next, from the best of the releases."""
    ordered = ranking(reports)
    if not ordered:
        raise ParameterError("reports", reports, "at least one release")
    unknown = [name for name, report in reports.items() if not report.marginals]
    if unknown:
        return f"No tables were measured of {listed(unknown, most=_NAMED)}: nothing is advised without them."
    found = {name: {finding.about: finding.grade for finding in conclusions(report)} for name, report in reports.items()}
    # Of those about as close as the closest the one with the best finding of tables, then with the fewest bad ones.
    least = table_error(reports[ordered[0]])  # none is less than so many times an error of 0
    near = [name for name in ordered if table_error(reports[name]) <= least or table_error(reports[name]) < ALIKE * least]
    bad = {name: sorted((_BADNESS[grade] for grade in grades.values()), reverse=True) for name, grades in found.items()}
    best = min(near, key=lambda name: (_BADNESS[found[name]["tables"]], bad[name]))
    grades, others = found[best], len(ordered) > 1
    if grades["tables"] == "poor":
        cure = "another mechanism, a larger ε, other bins or fewer columns may help"
        return f"None of these is close to the real rows: {cure}."
    alike = [
        name
        for name in near
        if name != best and all(_BADNESS[grade] <= _BADNESS[grades.get(kind, grade)] for kind, grade in found[name].items())
    ]
    if others:
        place = "closest to the real rows" if best == ordered[0] else "about as close to the real rows as any of these"
        closest = f"{best} is {place} in tables of {_columns(_degree(reports[best]))}"
    elif grades["tables"] == "no fault seen":
        made = reports[best]
        as_close = (
            "close to the real rows" if table_error(made) <= MIDDLE else f"as close as {made.release.rows:,} real rows are"
        )
        closest = f"{best} is {as_close} in tables of {_columns(_degree(made))}"
    else:
        closest = f"{best} is to be used with care"
    if alike:
        closest += f", and {listed(alike, most=_NAMED)} about as close (one run each)"
    parts = {"tables": "these tables", "prediction": "its predictions", "numbers": "its columns of numbers"}
    weak, doubtful = ([words for about, words in parts.items() if grades.get(about) == of] for of in ("poor", "with care"))
    if grades["tables"] == "cannot be judged":
        said = f"{closest}. " if others else ""
        said += f"Tables of {_columns(_degree(reports[best]))} cannot tell whether weak relations are kept: in so many rows "
        said += "chance makes as much of a difference."
        todo = f"Do not rely on {' or '.join(weak)}" if weak else f"Take care with {' and '.join(doubtful)}"
        return f"{said} {todo}." if weak or doubtful else said
    if weak:
        return f"{closest}; do not rely on {' or '.join(weak)}."
    if "with care" in grades.values():
        *first, last = doubtful or [""]
        said = f"{', '.join(first)} and {last}" if first else last
        care = f"; take care with {said}" if doubtful and not closest.endswith("care") else ""
        return f"{closest}{care}."
    if _degree(reports[best]) == 1 and reports[best].marginals[1].possible > 1:
        return f"{closest}; relations of columns were not measured: compare tables of two columns before you take it."
    against = "them" if alike else "it"
    return f"{closest}. Nothing that was measured speaks against {against}: read some rows, or try a smaller ε."
