"""Random range queries: which share of the rows has its values in given ranges or subsets, on three columns at once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from dpsyn.domain import Attribute, Codes, Domain
from dpsyn.errors import ParameterError

QUERIES = 500
COLUMNS_OF_A_QUERY = 3


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
        mean_answer: average real answer, to see the errors in proportion.
        queries: number of queries.
        columns: number of columns that a query looks at.
    """

    mean: float
    max: float
    mean_answer: float
    queries: int
    columns: int

    def to_dict(self) -> dict[str, Any]:
        """Plain data, fit for JSON."""
        return asdict(self)


def choose_queries(domain: Domain, queries: int, generator: np.random.Generator) -> tuple[RangeQuery, ...]:
    """Random queries over three columns (over all, if there are fewer), chosen without looking at any row.

    Binned columns get a uniformly drawn range of neighbouring bins, without the missing values; the others a uniformly drawn
    subset that is neither empty nor everything. Columns with a single code are used only if there is nothing else.
    """
    if queries < 1:
        raise ParameterError("queries", queries, "at least 1")
    useful = [j for j, size in enumerate(domain.shape) if size > 1] or list(range(len(domain)))
    width = min(COLUMNS_OF_A_QUERY, len(useful))
    chosen = []
    for _ in range(queries):
        columns = tuple(int(j) for j in np.sort(generator.choice(useful, size=width, replace=False)))
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


def answers(codes: Codes, queries: Sequence[RangeQuery]) -> npt.NDArray[np.float64]:
    """Share of the rows that meet each query, shape (number of queries,). ``codes`` has shape (rows, q)."""
    if len(codes) == 0:
        raise ParameterError("rows", 0, "at least 1 row")
    found = np.empty(len(queries))
    for at, query in enumerate(queries):
        meets = np.ones(len(codes), dtype=bool)
        for column, allowed in zip(query.columns, query.allowed, strict=True):
            meets &= allowed[codes[:, column]]
        found[at] = np.count_nonzero(meets) / len(codes)
    return found


def range_errors(real: Codes, synthetic: Codes, queries: Sequence[RangeQuery]) -> RangeError:
    """|real answer - synthetic answer| over the queries. Codes have shape (n, q) and (k, q).

    Raises:
        ParameterError: there are no queries, or one of the sides has no rows.
    """
    if not queries:
        raise ParameterError("queries", 0, "at least 1")
    truth = answers(real, queries)
    errors = np.abs(truth - answers(synthetic, queries))
    return RangeError(
        mean=float(errors.mean()),
        max=float(errors.max()),
        mean_answer=float(truth.mean()),
        queries=len(queries),
        columns=len(queries[0].columns),
    )
