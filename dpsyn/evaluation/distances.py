"""How far apart two sets of rows are: their contingency tables (total variation) and random range queries.

Both are integer codes over one domain, so a numeric column is compared bin by bin; the real ones are counted where they lie.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from itertools import chain, combinations
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from dpsyn.domain import Attribute, Codes, Domain
from dpsyn.errors import ParameterError
from dpsyn.solvers.coded import CodedRows, Rows
from dpsyn.solvers.contingency import Integers

Floats = npt.NDArray[np.float64]
Subsets = tuple[tuple[int, ...], ...]

MAX_SUBSETS = 5_000
_LOOKS = 2e9
_FEWEST_SUBSETS = 200
_DENSE_CELLS = 2**20
QUERIES = 500
COLUMNS_OF_A_QUERY = 3
_NO_CHANCE = 1e-6
"""Probability below which what happened is put down to no chance."""
_ALL_BUT_GONE = 0.2
_TELLING, _KEPT = 0.2, 0.8
"""φ, or the correlation of ranks, from which on a relation counts, and what is to be left of it."""
_SURE, _ERRORS = 8.0, 4.0
"""Standard errors by which the real rows have to show a relation, and the synthetic ones to miss it."""


@dataclass(frozen=True)
class MarginalError:
    """Errors of the tables over ``degree`` columns.

    Attributes:
        degree: number of columns of a table.
        mean, max: average and largest total variation over the measured tables, in [0, 1].
        worst: the columns of the table with the largest total variation.
        measured: number of tables that were compared; a random sample if it is below ``possible``.
        possible: C(q, degree), the number of tables that there are.
        each: the total variation of every table, by its columns.
    """

    degree: int
    mean: float
    max: float
    worst: tuple[str, ...]
    measured: int
    possible: int
    each: Mapping[tuple[str, ...], float] = field(repr=False)

    @property
    def sampled(self) -> bool:
        """Whether only a random sample of the tables was compared."""
        return self.measured < self.possible

    @property
    def k_marginal(self) -> float:
        """NIST's k-marginal score for k = ``degree``, from 0 to 1,000 for equal tables: 1,000·(1 - mean total variation)
        (Ridgeway, Theofanos, Manley, Task 2021, NIST Technical Note 2151), in our bins."""
        return 1000 * (1 - self.mean)

    def to_dict(self) -> dict[str, Any]:
        """Plain data, fit for JSON."""
        plain = asdict(self) | {"worst": list(self.worst), "sampled": self.sampled, "k_marginal": self.k_marginal}
        return {name: value for name, value in plain.items() if name != "each"}


def default_max_subsets(rows: int) -> int:
    """How many tables of one degree to compare when nobody says: 5,000, fewer (200 at least) for very many rows."""
    return min(MAX_SUBSETS, max(_FEWEST_SUBSETS, int(_LOOKS // max(rows, 1))))


def choose_subsets(columns: int, degree: int, max_subsets: int, generator: np.random.Generator) -> Subsets:
    """All sets of ``degree`` columns, or ``max_subsets`` different ones drawn uniformly if there are more than that."""
    if degree < 1 or degree > columns:
        raise ParameterError("degree", degree, f"a whole number from 1 to the number of columns, {columns}")
    if max_subsets < 1:
        raise ParameterError("max_subsets", max_subsets, "at least 1")
    if math.comb(columns, degree) <= max_subsets:
        return tuple(combinations(range(columns), degree))
    if math.comb(columns, degree) <= 20 * max_subsets:
        every = list(combinations(range(columns), degree))
        picked = generator.choice(len(every), size=max_subsets, replace=False)
        return tuple(every[i] for i in np.sort(picked))
    found: set[tuple[int, ...]] = set()
    while len(found) < max_subsets:
        # Sorting random keys gives a uniform subset; drawing again on a repeat keeps the sample free of repeats.
        keys = generator.random((min(max_subsets, 1_000), columns))
        for row in np.sort(np.argpartition(keys, degree - 1, axis=1)[:, :degree], axis=1):
            if len(found) < max_subsets:
                found.add(tuple(int(j) for j in row))
    return tuple(sorted(found))


class _Columns:
    """The columns of real rows, wherever they are counted, and of synthetic ones."""

    def __init__(self, real: Rows, synthetic: Codes) -> None:
        if real.n == 0 or len(synthetic) == 0:
            raise ParameterError("rows", min(real.n, len(synthetic)), "at least 1 row on either side")
        self.n, self.k, self.sizes = real.n, len(synthetic), tuple(int(size) for size in real.sizes)
        self._real = _contiguous(real.codes, self.sizes) if isinstance(real, CodedRows) else real
        self._synthetic = _contiguous(synthetic, self.sizes)

    def expect(self, plan: Sequence[Subsets]) -> None:
        """Say which tables will be compared, besides those of single columns."""
        self._real.expect([*((j,) for j in range(len(self.sizes))), *chain.from_iterable(plan)])

    def shares(self, subset: tuple[int, ...]) -> tuple[Floats, Floats, bool]:
        """Real and synthetic shares of the cells of a table, and whether all cells are there (else occupied ones only)."""
        (real, rows), (other, _) = self._real.cells(subset), self._synthetic.cells(subset)
        both = np.zeros(len(real[0]), dtype=np.int64), np.zeros(len(other[0]), dtype=np.int64)
        cells = 1
        for at, j in enumerate(subset):
            if cells * self.sizes[j] > 2**62:
                cells, both = _renumbered(both)
            both = both[0] * self.sizes[j] + real[at], both[1] * self.sizes[j] + other[at]
            cells *= self.sizes[j]
        dense = cells <= _DENSE_CELLS
        if not dense:
            cells, both = _renumbered(both)
        counted, synthetic = np.bincount(both[0], rows, cells), np.bincount(both[1], minlength=cells)
        return counted / self.n, synthetic / self.k, dense

    def variation(self, subset: tuple[int, ...]) -> float:
        """Total variation."""
        real, synthetic, _ = self.shares(subset)
        return min(0.5 * float(np.abs(real - synthetic).sum()), 1.0)


def _contiguous(codes: Codes, sizes: tuple[int, ...]) -> CodedRows:
    """Codes that need neither be gathered nor widened before they are counted."""
    return CodedRows(np.asfortranarray(codes, dtype=np.int64), sizes)


def _renumbered(both: tuple[Integers, Integers]) -> tuple[int, tuple[Integers, Integers]]:
    """How many different numbers two sets hold, and both with 0, 1, 2, … in their place."""
    found, numbers = np.unique(np.concatenate(both), return_inverse=True)
    return len(found), (numbers[: len(both[0])], numbers[len(both[0]) :])


def variations(real: Rows, synthetic: Codes, plan: Sequence[Subsets]) -> list[Floats]:
    """Total variation of every table of a plan, as :func:`marginal_errors` takes them."""
    columns = _Columns(real, synthetic)
    columns.expect(plan)
    return [np.array([columns.variation(subset) for subset in subsets]) for subsets in plan]


def marginal_errors(
    real: Rows, synthetic: Codes, names: Sequence[str], plan: Sequence[Subsets]
) -> tuple[dict[int, MarginalError], pd.DataFrame]:
    """Errors by degree, and the pairwise matrix.

    Args:
        real: the rows, of q columns.
        synthetic: codes of shape (k, q), over the same domain.
        names: name of each column.
        plan: for each degree the column sets to compare, from :func:`choose_subsets`.

    Returns:
        The errors by degree, and total variation of every pair of columns as a q × q table: on the diagonal that of the
        single column, NaN where the pair was not in the plan.

    Raises:
        ParameterError: one of the sides has no rows.
    """
    columns = _Columns(real, synthetic)
    columns.expect(plan)
    matrix = np.full((len(names), len(names)), np.nan)
    for j in range(len(names)):
        matrix[j, j] = columns.variation((j,))
    found: dict[int, MarginalError] = {}
    for subsets in plan:
        errors = np.array([columns.variation(subset) for subset in subsets])
        found[len(subsets[0])] = _summary(subsets, errors, names)
        if len(subsets[0]) == 2:
            for (i, j), variation in zip(subsets, errors, strict=True):
                matrix[i, j] = matrix[j, i] = variation
    return found, pd.DataFrame(matrix, index=list(names), columns=list(names))


Relations = tuple[tuple[str, str, float, float], ...]


def relations_off(
    real: Rows, synthetic: Codes, names: Sequence[str], pairs: Subsets, ordered: Sequence[int]
) -> tuple[Relations, Relations]:
    """Pairs of columns of which the synthetic rows have lost more than a fifth of the relation, by no chance; and those of
    which the real ones lack as much of the synthetic rows' own.

    Both columns, the strength φ of the relation in the real rows, and how much of it is left; the strongest first. φ is the
    root of Pearson's mean square contingency, φ² = Σ (p - e)²/e for shares p of cells and products e of both columns' own,
    less what chance adds; left is Σ (p - e)(q - f)/e / φ², where q and f are those of the synthetic rows. A cell in which
    less than one real row is to be expected counts as if it were one: e is 1/n under the line. Where both columns have an
    order, that of their first codes, as many as ``ordered`` says, the correlation of ranks, which needs fewer rows to tell,
    is looked at as well.
    """
    columns = _Columns(real, synthetic)
    lost: list[tuple[str, str, float, float]] = []
    made: list[tuple[str, str, float, float]] = []
    columns.expect([pairs])
    for pair in pairs:
        p, q, dense = columns.shares(pair)
        if dense:
            p, q = (shares.reshape([columns.sizes[j] for j in pair]) for shares in (p, q))
            ends = [ordered[j] for j in pair]
            for found, (one, other, n, k) in ((lost, (p, q, columns.n, columns.k)), (made, (q, p, columns.k, columns.n))):
                strength, left = _relation(one, other, n, k)
                if left >= _KEPT and all(ends):
                    inside = np.s_[: ends[0], : ends[1]]
                    strength, left = _ranks(one[inside], other[inside], n, k)
                if left < _KEPT:
                    found.append((names[pair[0]], names[pair[1]], strength, left))
    first, second = (tuple(sorted(found, key=lambda each: -each[2])) for found in (lost, made))
    return first, second


def _relation(p: Floats, q: Floats, n: int, k: int) -> tuple[float, float]:
    """φ and what is left of it; all of it where that may be chance, or where there was little."""
    e, f = (np.outer(shares.sum(axis=1), shares.sum(axis=0)) for shares in (p, q))
    weights, apart, others = 1 / np.maximum(e, 1 / n), p - e, q - f
    freedom = (np.outer(1 - p.sum(axis=1), 1 - p.sum(axis=0)) * e * weights).sum()
    square = float((apart**2 * weights).sum() - freedom / n)
    if square < _TELLING**2 or square * n < _SURE * math.sqrt(2 * freedom + (weights**2 * e).sum() / n):
        return math.sqrt(max(square, 0.0)), 1.0
    left = float((apart * others * weights).sum()) / square
    # That of the mean of (p - e)/e over rows on either side, and of what chance alone adds to both.
    spread = float((apart**2 * weights**2 * p).sum() - (apart * weights * p).sum() ** 2)
    error = math.sqrt(spread * (1 / n + 1 / k) + 2 * freedom / n**2 + freedom / (n * k)) / square
    if 1 - left > _ERRORS * error:
        return math.sqrt(square), left
    # Of few rows that make all of it the standard error says little: their number does.
    telling = (p * n > e * n + _SURE * np.sqrt(np.maximum(e * n, 1))) & (p > 2 * e)
    rows, others = round(p[telling].sum() * n), round(q[telling].sum() * k)
    gone = no_chance(np.array([rows, n - rows]), np.array([others, k - others]))[0]
    return math.sqrt(square), left if gone else 1.0


def _ranks(p: Floats, q: Floats, n: int, k: int) -> tuple[float, float]:
    """As :func:`_relation`, of the correlation of ranks and the rows that have both (Spearman 1904)."""
    n, k = round(n * p.sum()), round(k * q.sum())
    if min(n, k) < 2:
        return 0.0, 1.0
    found, spread = _correlation(p / p.sum())
    other, _ = _correlation(q / q.sum())
    # As far as nearly all rows are alike in a column, the others decide.
    telling = min(1.0, 2 * min(1 - p.sum(axis=axis).max() / p.sum() for axis in (0, 1)))
    if abs(found) < _TELLING or telling == 0:
        return abs(found), 1.0
    error = math.sqrt(max(spread, 1 / telling) * (1 / n + 1 / k)) / abs(found)
    return abs(found), other / found if 1 - other / found > _ERRORS * error else 1.0


def _correlation(p: Floats) -> tuple[float, float]:
    """That of the ranks of both columns of a table of shares, and n times the variance that chance gives it."""
    scores = []
    for axis in (1, 0):
        shares = p.sum(axis=axis)
        ranks = np.cumsum(shares) - shares / 2 - 0.5
        deviation = math.sqrt(shares @ ranks**2)
        if deviation < 1e-9:  # all rows are alike, up to rounding
            return 0.0, 0.0
        scores.append(ranks / deviation)
    u, v = scores[0][:, None], scores[1][None, :]
    found = float((p * u * v).sum())
    return found, float((p * (u * v - found * (u**2 + v**2) / 2) ** 2).sum())


def out_of_proportion(real: Rows, synthetic: Codes, domain: Domain) -> tuple[tuple[str, str, int, int], ...]:
    """Column, category, its real and its synthetic rows, where it is far too rare or too frequent by no chance.

    The commonest first.
    """
    found: list[tuple[str, str, int, int]] = []
    for j, attribute in enumerate(domain.attributes):
        rows = real.counts((j,))
        others = np.bincount(synthetic[:, j], minlength=len(rows))
        off = no_chance(rows, others) | no_chance(others, rows)
        if attribute.is_binned:  # bins are looked at value by value, but for the empty cells
            off[: len(off) - attribute.missing] = False
        labels = attribute.labels() if off.any() else []
        found += [(attribute.name, labels[code], int(rows[code]), int(others[code])) for code in np.flatnonzero(off)]
    return tuple(sorted(found, key=lambda each: -max(each[2] / real.n, each[3] / len(synthetic))))


def no_chance(rows: Integers, others: Integers) -> npt.NDArray[np.bool_]:
    """Which codes ``others`` have less than a fifth as often, and by no chance."""
    few = others / max(others.sum(), 1) < _ALL_BUT_GONE * rows / max(rows.sum(), 1)
    return np.asarray(few & rarer(rows, others), dtype=bool)


def rarer(rows: Integers, others: Integers) -> npt.NDArray[np.bool_]:
    """Which codes ``others`` have less often, and by no chance: so few of them among all (binomial)."""
    from scipy.stats import binom

    n, k = max(rows.sum(), 1), max(others.sum(), 1)
    return np.asarray(binom.cdf(others, rows + others, k / (n + k)) < _NO_CHANCE)


def _summary(subsets: Subsets, errors: Floats, names: Sequence[str]) -> MarginalError:
    def named(at: int) -> tuple[str, ...]:
        return tuple(names[j] for j in subsets[at])

    worst = int(errors.argmax())
    degree = len(subsets[0])
    return MarginalError(
        degree=degree,
        mean=float(min(errors.mean(), errors[worst])),  # equal errors may round to a mean above them
        max=float(errors[worst]),
        worst=named(worst),
        measured=len(subsets),
        possible=math.comb(len(names), degree),
        each={named(at): float(error) for at, error in enumerate(errors)},
    )


@dataclass(frozen=True)
class RangeQuery:
    """A conjunction: on every column of ``columns``, the code is one that ``allowed`` marks (shape: number of codes)."""

    columns: tuple[int, ...]
    allowed: tuple[npt.NDArray[np.bool_], ...]


@dataclass(frozen=True)
class RangeError:
    """Errors of random range queries; shares of rows, in [0, 1].

    Attributes:
        mean, max: average and largest absolute difference between the real and the synthetic answer.
        queries: number of queries.
        columns: number of columns that a query looks at.
    """

    mean: float
    max: float
    queries: int
    columns: int

    def to_dict(self) -> dict[str, Any]:
        """Plain data, fit for JSON."""
        return asdict(self)


def choose_queries(
    domain: Domain, queries: int, generator: np.random.Generator, tables: int | None = None
) -> tuple[RangeQuery, ...]:
    """Random queries over three columns (over all, if there are fewer), chosen without looking at any row.

    With ``tables`` they look at so many different sets of columns at most.

    Binned columns get a uniformly drawn range of neighbouring bins, without the missing values; the others a uniformly drawn
    subset that is neither empty nor everything. Columns with a single code are used only if there is nothing else.
    """
    if queries < 1:
        raise ParameterError("queries", queries, "at least 1")
    useful = [j for j, size in enumerate(domain.shape) if size > 1] or list(range(len(domain)))
    width = min(COLUMNS_OF_A_QUERY, len(useful))
    chosen: list[RangeQuery] = []
    for at in range(queries):
        columns = tuple(int(j) for j in np.sort(generator.choice(useful, size=width, replace=False)))
        columns = columns if tables is None or at < tables else chosen[at % tables].columns
        chosen.append(RangeQuery(columns, tuple(_allowed(domain.attributes[j], generator) for j in columns)))
    return tuple(chosen)


def _allowed(attribute: Attribute, generator: np.random.Generator) -> npt.NDArray[np.bool_]:
    size = attribute.size
    allowed = np.zeros(size, dtype=bool)
    if attribute.is_binned:
        # Two different edges out of bins + 1, so that every range is equally likely.
        low, high = np.sort(generator.choice(attribute.effective_bins + 1, size=2, replace=False))
        allowed[low:high] = True
        return allowed
    if size == 1:
        return ~allowed
    while not allowed.any() or allowed.all():
        allowed = generator.random(size) < 0.5
    return allowed


def answers(rows: Rows, queries: Sequence[RangeQuery]) -> Floats:
    """Share of the rows that meet each query, shape (number of queries,)."""
    if rows.n == 0:
        raise ParameterError("rows", 0, "at least 1 row")
    rows.expect([query.columns for query in queries])
    found = np.empty(len(queries))
    for at, query in enumerate(queries):
        codes, number = rows.cells(query.columns)
        meets = np.ones(len(codes[0]), dtype=bool)
        for column, allowed in zip(codes, query.allowed, strict=True):
            meets &= allowed[column]
        found[at] = (np.count_nonzero(meets) if number is None else number[meets].sum()) / rows.n
    return found


def range_errors(real: Rows, synthetic: Rows, queries: Sequence[RangeQuery]) -> RangeError:
    """|real answer - synthetic answer| over the queries.

    Raises:
        ParameterError: there are no queries, or one of the sides has no rows.
    """
    if not queries:
        raise ParameterError("queries", 0, "at least 1")
    errors = np.abs(answers(real, queries) - answers(synthetic, queries))
    return RangeError(
        mean=float(errors.mean()),
        max=float(errors.max()),
        queries=len(queries),
        columns=len(queries[0].columns),
    )
