"""Everything that is measured of a release, beside the error of held-out real rows."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from dpsyn import checks
from dpsyn.data.counted import AnyTable, CountedTable
from dpsyn.display import PRIVATE, Shown, aligned
from dpsyn.domain import Codes, Domain
from dpsyn.errors import DomainError, ParameterError, quoted
from dpsyn.evaluation.coefficients import Regression, regression
from dpsyn.evaluation.correlations import MOST_CORRELATED, Correlation, correlations
from dpsyn.evaluation.distances import (
    QUERIES,
    MarginalError,
    RangeError,
    RangeQuery,
    Subsets,
    choose_queries,
    choose_subsets,
    default_max_subsets,
    gone,
    lost_relations,
    marginal_errors,
    range_errors,
)
from dpsyn.evaluation.fresh import FreshSample, Plan
from dpsyn.evaluation.prediction import (
    DEFAULT_MODELS,
    MODELS,
    RIDGE,
    Prediction,
    RealScores,
    Score,
    check_target,
    predict,
    real_scores,
)
from dpsyn.evaluation.values import ValueErrors, value_errors
from dpsyn.evaluation.whole_rows import Copies, Propensity, copies, nearly_copies, propensity
from dpsyn.mechanisms.base import Progress
from dpsyn.notation import counted
from dpsyn.privacy.histograms import Encoding, bins_of
from dpsyn.solvers.coded import CodedRows, Rows
from dpsyn.table import Table

if TYPE_CHECKING:
    import plotly.graph_objects as go

DEGREES = (1, 2, 3)
_FIXED_SEED = 20210101
_MOST_QUERIES = 1_000_000
_TABLES_OF_QUERIES = 40
"""Sets of columns that range queries look at where an engine counts: as many as it counts in one reading."""
_DRAWN_FOR_TESTS = 0.25
_ABOUT_DRAWN = (
    "tables and values are those of all {n:,} rows, as the engine counts them; models, correlations, copies, columns of "
    "very many values and the fresh real sample are of {rows:,} rows that it drew, which the mechanism has seen too; range "
    "queries look at {queries} sets of columns at most"
)


@dataclass(frozen=True, eq=False)
class Closeness:
    """How close one set of rows is to the real table.

    Attributes:
        rows: number of rows.
        marginals: errors of the contingency tables, by number of columns.
        pairwise: total variation of every pair of columns, q × q; on the diagonal that of the single column, NaN where a
            pair was not measured.
        ranges: errors of random range queries.
        values: numeric and date columns, value by value.
        correlations: ``"correlation"``, ``"rank correlation"`` and ``"correlation ratio"`` of every pair of them; nothing
            with fewer than two.
        propensity: how well a tree tells these rows from the real ones.
        copies: how many equal a real row: no measure of privacy.
        regression: of the target on the other columns, beside that of the real rows; None without a target.
        gone: columns and categories that are all but gone by no chance, with their real and synthetic rows, most first.
        lost: pairs of columns whose relation is mostly lost by no chance, its strength, and how much of it is left.
    """

    rows: int
    marginals: Mapping[int, MarginalError]
    pairwise: pd.DataFrame
    ranges: RangeError
    values: tuple[ValueErrors, ...]
    correlations: Mapping[str, Correlation]
    propensity: Propensity | None = None
    copies: Copies | None = None
    regression: Regression | None = None
    gone: tuple[tuple[str, str, int, int], ...] = ()
    lost: tuple[tuple[str, str, float, float], ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """Plain data, fit for JSON; a pair that was not measured is None."""
        pairs = [[None if np.isnan(v) else float(v) for v in row] for row in self.pairwise.to_numpy()]
        whole = {"propensity": self.propensity, "copies": self.copies, "regression": self.regression}
        return {
            "rows": self.rows,
            "marginals": [error.to_dict() for error in self.marginals.values()],
            "pairwise": {"columns": list(self.pairwise.columns), "total_variation": pairs},
            "ranges": self.ranges.to_dict(),
            "values": [errors.to_dict() for errors in self.values],
            "correlations": {name: found.to_dict() for name, found in self.correlations.items()},
            "lost": [dict(zip(("column", "other", "strength", "left"), one, strict=True)) for one in self.lost],
            "gone": [dict(zip(("column", "category", "real_rows", "rows"), one, strict=True)) for one in self.gone],
            **{name: None if found is None else found.to_dict() for name, found in whole.items()},
        }


@dataclass(frozen=True, eq=False)
class Baseline:
    """What is the same for every release of a table: make it once with :func:`real_baseline`.

    It holds the real rows and is as private as they are.

    Attributes:
        table, holdout: the real rows and the held-out real ones, over the same domain.
        seen: real rows in memory: all, or where an engine counts them those that it drew, less the holdout if it is part of
            these.
        target: the column that models predict, or None.
        encoding: numbers and dates as bins of the real rows (:func:`~dpsyn.privacy.histograms.bins_of`): with bins of equal
            width, tables would not see what happens inside a wide one.
        plan: for every degree the column sets to compare.
        queries: the range queries to ask.
        seed: of the models, and of the choice of rows for them.
        noise_floor: the held-out rows measured as if they were a release, or None without them.
        shuffled: errors of the tables of two columns if every column is shuffled by itself: what rows miss
            that keep single columns and nothing else. None where no such table is measured.
        changed: of how many cells of real rows are those of another row, and how close these then are to the real ones.
        prediction: train-on-real and the majority class (or the mean), or the reason why there is none.
        notes: what was left out.
    """

    table: AnyTable
    seen: Table
    holdout: Table | None
    target: str | None
    encoding: Encoding
    plan: tuple[Subsets, ...]
    queries: tuple[RangeQuery, ...]
    seed: int
    noise_floor: Closeness | None
    shuffled: MarginalError | None
    changed: tuple[int, Copies]
    prediction: RealScores | str
    notes: tuple[str, ...]

    @property
    def degrees(self) -> tuple[int, ...]:
        """Numbers of columns of the tables to compare."""
        return tuple(len(subsets[0]) for subsets in self.plan)

    @cached_property
    def _plan(self) -> Plan:
        seen = CodedRows(self.encoding.codes(self.seen), self.encoding.domain.shape)
        return Plan(self.encoding.rows(self.table), seen, self.table.domain.names, self.plan, self.seed)

    def alone(self, rows: int) -> MarginalError | None:
        """As ``shuffled``, of so many rows, or of all where these are fewer."""
        if self.shuffled is None or rows >= self.seen.n:
            return self.shuffled
        generator, seen = np.random.default_rng(self.seed), self._plan.seen
        return _shuffled(seen, seen.codes[generator.permutation(seen.n)[:rows]], self.table.domain, self.plan, generator)

    def fresh(self, rows: int) -> FreshSample:
        """How far tables of so many fresh real rows are off: held-out ones, or an estimate where these are fewer."""
        if self.holdout is None or rows > self.holdout.n:
            return self._plan.estimate(rows)
        return self._plan.held_out(self.encoding.codes(self.holdout), rows)


@dataclass(frozen=True, eq=False, repr=False)
class Report(Shown):
    """Measures of a release, from real rows: not private, unlike the release.

    Attributes:
        n: number of real rows.
        release: the synthetic rows against the real ones.
        noise_floor: the held-out real rows against the real ones: the error of as many independent rows from the same
            source. No bound: a release is measured against the rows it was made from, and may have more rows or rows
            rounded to fit, so it can go below. None without held-out rows.
        prediction: scores of models, or the reason why there are none.
        notes: what was sampled or left out.
        shuffled: see :class:`Baseline`, of as many real rows as the release has, if there are more; None where it is not
            measured.
        fresh: how far tables of as many fresh real rows are off.
        changed: what is measured of ``release.copies`` for real rows with so many of their cells changed, which hide nobody.
        baseline: the real rows and what was measured of them alone: :func:`evaluate` takes it for the next release. None in
            what :func:`compare` hands over.
        rows: the synthetic rows; None likewise.
    """

    n: int
    release: Closeness
    noise_floor: Closeness | None
    prediction: Prediction | str
    notes: tuple[str, ...]
    shuffled: MarginalError | None = None
    fresh: FreshSample | None = None
    changed: tuple[int, Copies] | None = None
    baseline: Baseline | None = None
    rows: Table | None = None

    @property
    def marginals(self) -> Mapping[int, MarginalError]:
        """Errors of the contingency tables, by number of columns."""
        return self.release.marginals

    @property
    def pairwise(self) -> pd.DataFrame:
        """Total variation of every pair of columns, q × q; on the diagonal that of the single column."""
        return self.release.pairwise

    @property
    def ranges(self) -> RangeError:
        """Errors of random range queries."""
        return self.release.ranges

    @property
    def values(self) -> tuple[ValueErrors, ...]:
        """Numeric and date columns, value by value."""
        return self.release.values

    @property
    def figures(self) -> tuple[str, ...]:
        """Names of the charts that :meth:`figure` can draw of this report."""
        from dpsyn.evaluation.charts import drawable

        return drawable(self)

    def figure(self, name: str = "marginals", of: str | int | None = None) -> go.Figure:
        """A chart of the page Comparison, a Plotly figure: it reads private rows.

        Args:
            name: one of :attr:`figures`.
            of: ``"column"``: which one, the first when None; ``"worst table"``: of how many columns, the most when None.

        Raises:
            ParameterError: there is no such chart, or nothing to draw in it; the message names the choices.
        """
        from dpsyn.evaluation.charts import chart

        return chart(self, name, of)

    def _shown(self) -> tuple[str, list[str]]:
        from dpsyn.evaluation.conclusions import conclusions

        errors = [["error of tables", "mean", "largest"] + ["a fresh real sample"] * (self.fresh is not None)]
        for degree, error in self.marginals.items():
            floor = [] if self.fresh is None else [f"{self.fresh.mean(degree):.4f}"]
            errors.append([counted(degree, "column"), f"{error.mean:.4f}", f"{error.max:.4f}", *floor])
        heading = f"{self.release.rows:,} synthetic rows beside {self.n:,} real ones"
        judged = [f"  {finding.about}: {finding.grade}. {finding.sentence}" for finding in conclusions(self)]
        if isinstance(self.prediction, str):
            judged.append(f"  prediction: not measured, {self.prediction}")
        return PRIVATE, [heading, *judged, *(f"  {line}" for line in aligned(errors)), *(f"  {note}" for note in self.notes)]

    def to_dict(self) -> dict[str, Any]:
        """Plain data, fit for JSON."""
        scores = self.prediction
        return {
            "n": self.n,
            "release": self.release.to_dict(),
            "noise_floor": self.noise_floor.to_dict() if self.noise_floor else None,
            "prediction": {"skipped": scores} if isinstance(scores, str) else scores.to_dict(),
            "notes": list(self.notes),
            "independent_columns": None if self.shuffled is None else self.shuffled.mean,
            "fresh_sample": None if self.fresh is None else self.fresh.to_dict(),
            "real_rows_changed": None if self.changed is None else {"cells": self.changed[0], **self.changed[1].to_dict()},
        }


def real_baseline(
    table: AnyTable,
    holdout: Table | None = None,
    target: str | None = None,
    *,
    degrees: Sequence[int] = DEGREES,
    max_subsets: int | None = None,
    queries: int = QUERIES,
    generator: np.random.Generator | None = None,
    models: Sequence[str] = DEFAULT_MODELS,
) -> Baseline:
    """What is the same for every release: which tables and queries to compare, the noise floor, train-on-real.

    Args:
        table: the real rows that releases were made of. Where they are counted in place an engine counts tables and values,
            and draws rows for what needs rows: models, correlations and, without a holdout, what stands for it. Releases
            have seen these; the notes say so.
        holdout: real rows that no release has seen, valid in ``table.domain``.
        target: the column to predict: categories, numbers or dates.
        degrees: numbers of columns of the tables; those above the number of columns of the table are left out, with a note.
        max_subsets: compare at most so many tables of a degree, drawn at random (and say so); 5,000 when None, fewer (200
            at least) for tables of very many rows.
        queries: number of random range queries.
        generator: decides about the draws; None is a fixed one, so that two reports can be compared.
        models: which of :data:`~dpsyn.evaluation.prediction.MODELS` to train.

    Raises:
        ParameterError: a degree below 1 or none at all, no rows, or a target of one value.
        DomainError: there is no such target, or a held-out value is outside the domain.
    """
    degrees = _checked_degrees(degrees)
    _check_tables(table, holdout)
    if table.n == 0:
        raise ParameterError("table", "0 rows", "a table of at least 1 row")
    if target is not None:
        target = checks.text("target", target, "the name of a column, or None")
        check_target(table, target)
    columns = len(table.domain)
    generator = checks.generator("generator", generator) or np.random.default_rng(_FIXED_SEED)
    max_subsets, queries = (
        checks.whole_or_none("max_subsets", max_subsets),
        checks.whole("queries", queries, 1, _MOST_QUERIES),
    )
    models = [checks.choice("models", name, (*MODELS, RIDGE)) for name in checks.items("models", models, "a list of texts")]
    most = default_max_subsets(table.n) if max_subsets is None else max_subsets
    wanted = [degree for degree in sorted(set(degrees)) if degree <= columns]
    notes = [
        f"tables of {degree} columns are left out: the data has {columns}"
        for degree in sorted(set(degrees))
        if degree > columns
    ]
    plan = tuple(choose_subsets(columns, degree, most, generator) for degree in wanted)
    in_place = isinstance(table, CountedTable)
    asked = choose_queries(table.domain, queries, generator, _TABLES_OF_QUERIES if in_place else None)
    seed = int(generator.integers(2**31))
    seen, held = table.drawn, None if holdout is None else _over(holdout.frame, table.domain, "holdout")
    if in_place:
        notes.append(_ABOUT_DRAWN.format(rows=seen.n, n=table.n, queries=_TABLES_OF_QUERIES))
        if held is None and seen.n > 1:
            seen, held = seen.split(_DRAWN_FOR_TESTS, np.random.default_rng(seed))
    if target is None:
        scores: RealScores | str = "no target column was chosen"
    elif held is None:
        scores = "there are no held-out rows to test on"
    else:
        scores = real_scores(seen, held, target, seed, models)
    encoding = bins_of(table.drawn)
    floor = None if held is None else _closeness(table, seen, held, encoding, plan, asked, target, seed)
    shuffled = _shuffled(encoding.rows(seen), encoding.codes(seen), table.domain, plan, np.random.default_rng(seed))
    changed = nearly_copies(seen, encoding.codes(seen), seed)
    said = tuple(notes)
    return Baseline(table, seen, held, target, encoding, plan, asked, seed, floor, shuffled, changed, scores, said)


def evaluate(
    table: AnyTable,
    rows: pd.DataFrame,
    *,
    holdout: Table | None = None,
    target: str | None = None,
    degrees: Sequence[int] | None = None,
    max_subsets: int | None = None,
    queries: int | None = None,
    generator: np.random.Generator | None = None,
    models: Sequence[str] | None = None,
    baseline: Baseline | None = None,
) -> Report:
    """Measure synthetic rows against the real table.

    Marginals: total variation ½ Σ_cells |real share - synthetic share| of every contingency table over d columns (numeric
    columns in bins of the real rows), numeric and date columns by their values (:mod:`dpsyn.evaluation.values`). Range
    queries: |difference of the answers|. Prediction: train on the synthetic rows, test on the held-out ones. The same is
    measured for the held-out rows in place of the release: the noise floor, which is a yardstick and no bound (see
    :class:`Report`).

    Args:
        table: the real rows that the release was made of, in memory or counted in place: see :func:`real_baseline`.
        rows: the synthetic rows: the table's columns, values of its domain.
        holdout: see :func:`real_baseline`, as for ``target``, ``max_subsets``, ``queries`` and ``generator``.
        target: column to predict.
        degrees: numbers of columns of the tables; (1, 2, 3) when None.
        max_subsets: largest number of tables of a degree.
        queries: number of range queries; 500 when None.
        generator: decides about the draws.
        models: which of :data:`~dpsyn.evaluation.prediction.MODELS` to train; the first two when None.
        baseline: from :func:`real_baseline`, saves doing its work again for every release of a table. It decides about
            everything above: ``holdout``, ``target`` and ``degrees`` must agree with it, and the rest is not given.

    Raises:
        DomainError: a column is absent or twice there, or holds a value outside the domain.
        ParameterError: no rows, an impossible parameter, or a baseline of other data, target or degrees.
    """
    _check_tables(table, holdout)
    checks.instance("baseline", baseline, Baseline, "what real_baseline gives, or None", optional=True)
    synthetic = _over(rows, table.domain, "rows")
    if baseline is None:
        baseline = real_baseline(
            table,
            holdout,
            target,
            degrees=DEGREES if degrees is None else degrees,
            max_subsets=max_subsets,
            queries=QUERIES if queries is None else queries,
            generator=generator,
            models=DEFAULT_MODELS if models is None else models,
        )
    else:
        decided = {"max_subsets": max_subsets, "queries": queries, "generator": generator, "models": models}
        for name, value in decided.items():
            if value is not None:
                raise ParameterError(name, value, "None beside a baseline, which has decided about it")
        _check_agreement(baseline, table, holdout, target, degrees)
    plan, asked = baseline.plan, baseline.queries
    told = baseline.encoding, plan, asked, baseline.target, baseline.seed
    release = _closeness(baseline.table, baseline.seen, synthetic, *told)
    scores: Prediction | str
    if isinstance(baseline.prediction, str) or baseline.holdout is None:
        scores = str(baseline.prediction)
    else:
        scores = predict(synthetic, baseline.holdout, baseline.prediction, baseline.seed)
    sampled = tuple(
        f"{error.measured:,} of {error.possible:,} tables of {error.degree} columns were compared, drawn at random"
        for error in release.marginals.values()
        if error.sampled
    )
    sampled += tuple(
        f"column {quoted(a.name)}: {count:,} of {synthetic.n:,} synthetic cells lie outside the domain, {a.reach}, and are "
        "measured as its nearer end"
        for a in table.domain.attributes
        if (count := a.outside(synthetic.different(a.name)))
    )
    sampled += tuple(
        f"column {quoted(a.name)}: {count:,} of {synthetic.n:,} synthetic cells are no multiples of its unit, {a.unit:g}"
        for a in table.domain.attributes
        if (count := a.between_units(synthetic.different(a.name)))
    )
    numeric = len(release.values)
    if numeric > MOST_CORRELATED:
        sampled += (f"correlations are those of {MOST_CORRELATED} of the {numeric} columns of numbers and dates",)
    notes, beside = sampled + baseline.notes, (baseline.alone(synthetic.n), baseline.fresh(synthetic.n), baseline.changed)
    return Report(baseline.table.n, release, baseline.noise_floor, scores, notes, *beside, baseline, synthetic)


def _checked_degrees(degrees: Sequence[int]) -> list[int]:
    why = "at least one number of columns"
    found = [checks.whole("degrees", degree) for degree in checks.items("degrees", degrees, why)]
    if not found:
        raise ParameterError("degrees", degrees, why)
    return found


def _check_tables(table: AnyTable, holdout: Table | None) -> None:
    if not isinstance(table, AnyTable):
        raise ParameterError("table", type(table).__name__, "a dpsyn.Table")
    checks.instance("holdout", holdout, Table, "a dpsyn.Table, or None", optional=True)


def _over(frame: pd.DataFrame, domain: Domain, field: str) -> Table:
    if not isinstance(frame, pd.DataFrame):
        raise ParameterError(field, type(frame).__name__, "a DataFrame, such as release.rows")
    twice = [name for name in domain.names if int((frame.columns == name).sum()) > 1]
    if twice:
        raise DomainError(f"{field}: two columns are called {quoted(twice[0])}", column=twice[0])
    lost = [name for name in domain.names if name not in frame.columns]
    if lost:
        raise DomainError(f"{field}: there is no column {quoted(lost[0])}", column=lost[0])
    if len(frame) == 0:
        raise ParameterError(field, "0 rows", "at least 1 row")
    return Table(frame, domain, field)


def _shuffled(
    real: Rows, codes: Codes, domain: Domain, plan: Sequence[Subsets], generator: np.random.Generator
) -> MarginalError | None:
    pairs = [subsets for subsets in plan if len(subsets[0]) == 2]
    if not pairs:
        return None
    return marginal_errors(real, generator.permuted(codes, axis=0), domain.names, pairs)[0][2]


def _closeness(
    table: AnyTable,
    seen: Table,
    rows: Table,
    encoding: Encoding,
    plan: Sequence[Subsets],
    queries: Sequence[RangeQuery],
    target: str | None,
    seed: int,
) -> Closeness:
    real, other = encoding.rows(table), encoding.rows(rows)
    marginals, pairwise = marginal_errors(real, other.codes, table.domain.names, plan)
    some = encoding.codes(seen)
    return Closeness(
        rows.n,
        marginals,
        pairwise,
        range_errors(real, other, queries),
        value_errors(table, rows),
        correlations(seen, rows),
        propensity(some, other.codes, seed),
        copies(seen, rows, some, other.codes),
        None if target is None else regression(seen, rows, target, seed),
        gone(real, other.codes, table.domain),
        lost_relations(real, other.codes, table.domain.names, next((s for s in plan if len(s[0]) == 2), ())),
    )


def _check_agreement(
    baseline: Baseline, table: AnyTable, holdout: Table | None, target: str | None, degrees: Sequence[int] | None
) -> None:
    if not _same(baseline.table, table):
        raise ParameterError("baseline", baseline.table.name, "a baseline of the same table; make it again")
    if holdout is not None and not (
        baseline.holdout is not None and _same(baseline.holdout, _over(holdout.frame, table.domain, "holdout"))
    ):
        raise ParameterError("holdout", holdout.name, "the held-out rows that the baseline was made with")
    if target is not None and checks.text("target", target, "the name of a column, or None") != baseline.target:
        raise ParameterError("target", target, f"the baseline's target, {quoted(baseline.target)}")
    if degrees is not None:
        degrees = _checked_degrees(degrees)
        if not {d for d in degrees if d <= len(table.domain)} == set(baseline.degrees):
            raise ParameterError("degrees", tuple(degrees), f"the baseline's degrees, {baseline.degrees}")


def _same(left: AnyTable, right: AnyTable) -> bool:
    return left is right or (left.domain == right.domain and left.mark == right.mark)


def flat_measures(report: Report) -> dict[str, float]:
    """The numbers of a report by name, those that are defined."""
    found = _distances(report.release)
    if not isinstance(report.prediction, str):
        found |= _of_models(report.prediction)
    return found


def references(found: Baseline | Report) -> dict[str, dict[str, float]]:
    """What to draw beside every measure: the sampling floor, independent columns, real data, the majority class or mean.

    The floor is the error of the held-out rows: a yardstick, no bound (see :class:`Report`).

    Raises:
        ParameterError: it is neither.
    """
    if not isinstance(found, Baseline | Report):
        raise ParameterError("found", found, "what real_baseline or evaluate gives")
    floor, real = found.noise_floor, found.prediction
    if isinstance(real, Prediction):
        real = real.real
    lines = {} if floor is None else {name: {"sampling floor": value} for name, value in _distances(floor).items()}
    if found.shuffled is not None:
        lines.setdefault("2-way error, mean", {})["independent columns"] = found.shuffled.mean
    if not isinstance(real, str):
        constant = real.constant.measures
        for score in real.scores:
            for measure, value in score.measures.items():
                beside = {real.constant_name: constant[measure]} if measure in constant else {}
                lines[_named(measure, score)] = {"real data": value} | beside
    return lines


def _distances(measured: Closeness) -> dict[str, float]:
    found: dict[str, float] = {}
    for degree, error in measured.marginals.items():
        found[f"{degree}-way error, mean"] = error.mean
        found[f"{degree}-way error, largest"] = error.max
    found["range queries, mean error"] = measured.ranges.mean
    if measured.values:
        found["values, largest Kolmogorov-Smirnov distance"] = float(
            np.fmax.reduce([v.kolmogorov_smirnov for v in measured.values])
        )
    for name, correlation in measured.correlations.items():
        found[f"{name}, largest difference"] = correlation.largest
        found[f"{name}, mean difference"] = correlation.mean
    if measured.propensity is not None:
        found["propensity, pMSE ratio"] = measured.propensity.ratio
    if measured.regression is not None:
        found["coefficients, mean overlap of intervals"] = measured.regression.mean_overlap
    return {name: float(value) for name, value in found.items() if math.isfinite(value)}


def _of_models(scores: Prediction) -> dict[str, float]:
    found: dict[str, float] = {}
    for score in scores.synthetic:
        found |= {_named(measure, score): value for measure, value in score.measures.items()}
        if (group := scores.worst_group(score)) is not None:
            found[_named("loss in the worst group", score)] = group.loss
    return found


def _named(measure: str, score: Score) -> str:
    return f"{measure}, {score.model}"


def compare(rows: Mapping[str, pd.DataFrame], table: AnyTable, progress: Progress, **real: Any) -> dict[str, Report]:
    """A background job: a report on the rows of every release, without these rows; ``real`` is what :func:`real_baseline`
    takes besides."""
    progress("measuring the real data against itself", 0.05)
    baseline = real_baseline(table, **real)
    reports = {}
    for i, (name, synthetic) in enumerate(rows.items()):
        progress(f"measuring {name}", 0.3 + 0.7 * i / len(rows))
        reports[name] = replace(evaluate(table, synthetic, baseline=baseline), baseline=None, rows=None)
    progress("handing over what was found", 1.0)
    return reports
