"""What is the same for every release of a table, and what is measured of one set of rows beside it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd

from dpsyn import checks
from dpsyn.data.counted import AnyTable, CountedTable
from dpsyn.domain import Domain
from dpsyn.errors import DomainError, ParameterError, quoted
from dpsyn.evaluation.coefficients import Regression, regression
from dpsyn.evaluation.correlations import Correlation, correlations
from dpsyn.evaluation.distances import (
    QUERIES,
    MarginalError,
    RangeError,
    RangeQuery,
    Relations,
    Subsets,
    choose_queries,
    choose_subsets,
    default_max_subsets,
    marginal_errors,
    out_of_proportion,
    range_errors,
    relations_off,
)
from dpsyn.evaluation.fresh import FreshSample, Plan, pairs_of
from dpsyn.evaluation.orders import Order, Rule, orders_and_rules
from dpsyn.evaluation.prediction import (
    DEFAULT_MODELS,
    MODELS,
    RIDGE,
    RealScores,
    check_target,
    real_scores,
)
from dpsyn.evaluation.values import ValueErrors, value_errors
from dpsyn.evaluation.whole_rows import Copies, Propensity, copies, nearly_copies, propensity
from dpsyn.notation import counted
from dpsyn.privacy.histograms import Encoding, bins_of
from dpsyn.solvers.coded import CodedRows
from dpsyn.table import Table

DEGREES = (1, 2, 3)
_FIXED_SEED = 20210101
_MOST_QUERIES = 1_000_000
_TABLES_OF_QUERIES = 40
"""Sets of columns that range queries look at where an engine counts: as many as it counts in one reading."""
_DRAWN_FOR_TESTS = 0.25
_ABOUT_DRAWN = (
    "tables and values are those of all {n:,} rows, as the engine counts them; models, correlations, orders of columns, "
    "copies and columns of very many values are of {rows} that it drew, which the mechanism has seen too, and how far fresh "
    "real rows are off is estimated from these; range queries look at {queries} sets of columns at most"
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
        off: columns and categories that are far too rare or too frequent by no chance, with their real and synthetic rows,
            the commonest first.
        lost: pairs of columns whose relation is weaker by no chance, its strength, and how much of it is left.
        made: pairs whose relation is stronger by no chance, its strength in these rows, and how much of it real ones have.
        orders, rules: of two columns of dates or of numbers, orders that no real row breaks, and rules that most keep.
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
    off: tuple[tuple[str, str, int, int], ...] = ()
    lost: Relations = ()
    made: Relations = ()
    orders: tuple[Order, ...] = ()
    rules: tuple[Rule, ...] = ()

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
            "orders": [order.to_dict() for order in self.orders],
            "rules": [rule.to_dict() for rule in self.rules],
            **{
                name: [dict(zip(("column", "other", "strength", "left"), one, strict=True)) for one in found]
                for name, found in (("lost", self.lost), ("made", self.made))
            },
            "off": [dict(zip(("column", "category", "real_rows", "rows"), one, strict=True)) for one in self.off],
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
    changed: tuple[int, Copies]
    prediction: RealScores | str
    notes: tuple[str, ...]

    @property
    def degrees(self) -> tuple[int, ...]:
        """Numbers of columns of the tables to compare."""
        return tuple(len(subsets[0]) for subsets in self.plan)

    @cached_property
    def shuffled(self) -> FreshSample:
        """Errors of the tables of two columns if every column is shuffled by itself: what rows miss that keep single columns
        and nothing else."""
        return self._plan.shuffled(self.seen.n)

    @cached_property
    def _plan(self) -> Plan:
        seen = CodedRows(self.encoding.codes(self.seen), self.encoding.domain.shape)
        return Plan(self.encoding.rows(self.table), seen, self.table.domain.names, self.plan, self.seed)

    def alone(self, rows: int) -> FreshSample:
        """As ``shuffled``, of so many rows, or of all where these are fewer."""
        return self._plan.shuffled(rows) if rows < self.seen.n else self.shuffled

    def fresh(self, rows: int) -> FreshSample:
        """How far tables of so many fresh real rows are off: held-out ones, or an estimate where these are fewer."""
        if self.holdout is None or rows > self.holdout.n:
            return self._plan.estimate(rows)
        return self._plan.held_out(self.encoding.codes(self.holdout), rows)


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
    degrees = checked_degrees(degrees)
    check_tables(table, holdout)
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
    seen, held = table.drawn, None if holdout is None else over(holdout.frame, table.domain, "holdout")
    if held is not None and _same(table, held):
        notes.append("the held-out rows are the real rows themselves, so nothing that is said of fresh rows is true of them")
    if in_place:
        rows = counted(seen.n, "row")
        if held is None and seen.n > 1:
            seen, held = seen.split(_DRAWN_FOR_TESTS, np.random.default_rng(seed))
            rows = f"{seen.n:,} of {rows}"
        notes.append(_ABOUT_DRAWN.format(rows=rows, n=table.n, queries=_TABLES_OF_QUERIES))
    if target is None:
        scores: RealScores | str = "no target column was chosen"
    elif held is None:
        scores = "there are no held-out rows to test on"
    else:
        scores = real_scores(seen, held, target, seed, models)
    encoding = bins_of(table.drawn)
    floor = None if held is None else closeness(table, seen, held, encoding, plan, asked, target, seed)
    changed = nearly_copies(seen, encoding.codes(seen), seed)
    said = tuple(notes)
    return Baseline(table, seen, held, target, encoding, plan, asked, seed, floor, changed, scores, said)


def checked_degrees(degrees: Sequence[int]) -> list[int]:
    """Numbers of columns, at least one."""
    why = "at least one number of columns"
    found = [checks.whole("degrees", degree) for degree in checks.items("degrees", degrees, why)]
    if not found:
        raise ParameterError("degrees", degrees, why)
    return found


def check_tables(table: AnyTable, holdout: Table | None) -> None:
    """Refuse what is no table of real rows, or no held-out one."""
    if not isinstance(table, AnyTable):
        raise ParameterError("table", type(table).__name__, "a dpsyn.Table")
    checks.instance("holdout", holdout, Table, "a dpsyn.Table, or None", optional=True)


def over(frame: pd.DataFrame, domain: Domain, field: str) -> Table:
    """Rows as a table over a domain, called as the argument is that they came in."""
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


def closeness(
    table: AnyTable,
    seen: Table,
    rows: Table,
    encoding: Encoding,
    plan: Sequence[Subsets],
    queries: Sequence[RangeQuery],
    target: str | None,
    seed: int,
) -> Closeness:
    """All that is measured of rows beside the real ones, as :class:`Baseline` has them; ``seen``: those in memory."""
    real, other = encoding.rows(table), encoding.rows(rows)
    marginals, pairwise = marginal_errors(real, other.codes, table.domain.names, plan)
    some = encoding.codes(seen)
    ordered = [size - a.missing if a.is_binned else 0 for a, size in zip(table.domain.attributes, real.sizes, strict=True)]
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
        out_of_proportion(real, other.codes, table.domain),
        *relations_off(real, other.codes, table.domain.names, pairs_of(plan), ordered),
        *orders_and_rules(seen, rows),
    )


def check_agreement(
    baseline: Baseline, table: AnyTable, holdout: Table | None, target: str | None, degrees: Sequence[int] | None
) -> None:
    """Refuse a baseline of another table, holdout, target or degrees than are named beside it."""
    if not _same(baseline.table, table):
        raise ParameterError("baseline", baseline.table.name, "a baseline of the same table; make it again")
    if holdout is not None and not (
        baseline.holdout is not None and _same(baseline.holdout, over(holdout.frame, table.domain, "holdout"))
    ):
        raise ParameterError("holdout", holdout.name, "the held-out rows that the baseline was made with")
    if target is not None and checks.text("target", target, "the name of a column, or None") != baseline.target:
        raise ParameterError("target", target, f"the baseline's target, {quoted(baseline.target)}")
    if degrees is not None:
        degrees = checked_degrees(degrees)
        if not {d for d in degrees if d <= len(table.domain)} == set(baseline.degrees):
            raise ParameterError("degrees", tuple(degrees), f"the baseline's degrees, {baseline.degrees}")


def _same(left: AnyTable, right: AnyTable) -> bool:
    return left is right or (left.domain == right.domain and left.mark == right.mark)
