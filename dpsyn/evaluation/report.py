"""Everything that is measured of a release, beside the error of held-out real rows."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from dpsyn import checks
from dpsyn.data.counted import AnyTable
from dpsyn.display import PRIVATE, Shown, aligned
from dpsyn.errors import ParameterError, quoted
from dpsyn.evaluation.baseline import (
    DEGREES,
    Baseline,
    Closeness,
    check_agreement,
    check_tables,
    closeness,
    over,
    real_baseline,
)
from dpsyn.evaluation.correlations import MOST_CORRELATED
from dpsyn.evaluation.distances import (
    QUERIES,
    MarginalError,
    RangeError,
)
from dpsyn.evaluation.fresh import FreshSample, columns_shuffled, fresh_rows
from dpsyn.evaluation.orders import MOST_ORDERED
from dpsyn.evaluation.prediction import (
    DEFAULT_MODELS,
    Prediction,
    Score,
    predict,
)
from dpsyn.evaluation.values import ValueErrors
from dpsyn.evaluation.whole_rows import Copies
from dpsyn.mechanisms.base import Progress
from dpsyn.notation import counted
from dpsyn.table import Moved, Table

REAL, BETTER = "real data", "better than guessing"
"""What is drawn beside a prediction: models of the real rows, and from where on they are clearly better than guessing."""

if TYPE_CHECKING:
    import plotly.graph_objects as go


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
        shuffled: see :class:`Baseline`, of as many real rows as the release has, if there are more.
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
    shuffled: FreshSample | None = None
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

        errors = [["error of tables", "mean", "largest"] + ["fresh real rows"] * (self.fresh is not None)]
        for degree, error in self.marginals.items():
            fresh = [] if self.fresh is None else [f"{self.fresh.mean(degree):.4f}"]
            errors.append([counted(degree, "column"), f"{error.mean:.4f}", f"{error.max:.4f}", *fresh])
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
            "independent_columns": None if self.shuffled is None else self.shuffled.mean(2),
            "fresh_sample": None if self.fresh is None else self.fresh.to_dict(),
            "real_rows_changed": None if self.changed is None else {"cells": self.changed[0], **self.changed[1].to_dict()},
        }


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
    columns in bins of the real rows), numeric and date columns by their values (:mod:`dpsyn.evaluation.values`) and orders
    (:mod:`dpsyn.evaluation.orders`). Range queries: |difference of the answers|. Prediction: train on the synthetic rows,
    test on the held-out ones. The same is measured for the held-out rows in place of the release: fresh real rows, a
    yardstick and no bound (see :class:`Report`).

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
    check_tables(table, holdout)
    checks.instance("baseline", baseline, Baseline, "what real_baseline gives, or None", optional=True)
    synthetic = over(rows, table.domain, "rows")
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
        check_agreement(baseline, table, holdout, target, degrees)
    plan, asked = baseline.plan, baseline.queries
    told = baseline.encoding, plan, asked, baseline.target, baseline.seed
    release = closeness(baseline.table, baseline.seen, synthetic, *told)
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
    moved = {a.name: Moved.of(a, synthetic.different(a.name)) for a in table.domain.attributes}
    sampled += tuple(
        f"column {quoted(a.name)}: {count:,} of {synthetic.n:,} synthetic cells lie outside the domain, {a.reach}, and are "
        "measured as its nearer end"
        for a in table.domain.attributes
        if (count := moved[a.name].outside)
    )
    sampled += tuple(
        f"column {quoted(a.name)}: {count:,} of {synthetic.n:,} synthetic cells are no multiples of its unit, {a.unit:g}"
        for a in table.domain.attributes
        if (count := moved[a.name].between)
    )
    numeric = len(release.values)
    if numeric > MOST_CORRELATED:
        sampled += (
            f"correlations are those of {MOST_CORRELATED} of the {numeric} columns of numbers and dates, orders those of "
            f"the first {MOST_ORDERED} of each kind",
        )
    notes, beside = sampled + baseline.notes, (baseline.alone(synthetic.n), baseline.fresh(synthetic.n), baseline.changed)
    return Report(baseline.table.n, release, baseline.noise_floor, scores, notes, *beside, baseline, synthetic)


def flat_measures(report: Report) -> dict[str, float]:
    """The numbers of a report by name, those that are defined."""
    found = _distances(report.release)
    if not isinstance(report.prediction, str):
        found |= _of_models(report.prediction)
    return found


def references(found: Baseline | Report) -> dict[str, dict[str, float]]:
    """What to draw beside every measure: fresh real rows, columns shuffled, real data, the majority class or mean, and from
    where an accuracy or R² is clearly better than that.

    Fresh real rows are as many as the release, or the rows to learn from, where tables are compared, and the held-out ones
    otherwise: a yardstick, no bound (see :class:`Report`).

    Raises:
        ParameterError: it is neither.
    """
    if not isinstance(found, Baseline | Report):
        raise ParameterError("found", found, "what real_baseline or evaluate gives")
    held_out, real = found.noise_floor, found.prediction
    if isinstance(real, Prediction):
        real = real.real
    lines: dict[str, dict[str, float]] = {}
    if held_out is not None:
        lines = {name: {fresh_rows(held_out.rows): value} for name, value in _distances(held_out).items()}
    sample = found.fresh if isinstance(found, Report) else found.fresh(found.table.n)
    if sample is not None:
        for degree, each in sample.each.items():
            lines[f"{degree}-way error, mean"] = {fresh_rows(sample.rows): float(np.mean([*each.values()]))}
            lines[f"{degree}-way error, largest"] = {fresh_rows(sample.rows): max(each.values())}
    if found.shuffled is not None and (alone := found.shuffled.mean(2)) is not None:
        lines.setdefault("2-way error, mean", {})[columns_shuffled(found.shuffled.rows)] = alone
    if not isinstance(real, str):
        constant = real.constant.measures
        for score in real.scores:
            for measure, value in score.measures.items():
                beside = {real.constant_name: constant[measure]} if measure in constant else {}
                beside |= {BETTER: real.better(measure)} if measure in ("accuracy", "R²") else {}
                lines[_named(measure, score)] = {REAL: value} | beside
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
