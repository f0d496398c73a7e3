"""Random range queries against a plain filter of the rows, and their distribution."""

from __future__ import annotations

import numpy as np
import pytest

from dpsyn.domain import Attribute, Domain
from dpsyn.errors import ParameterError
from dpsyn.evaluation.distances import RangeQuery, answers, choose_queries, range_errors
from dpsyn.solvers.coded import CodedRows

DOMAIN = Domain.of(
    [
        Attribute("age", "numeric", lower=0, upper=100, bins=5, missing=True),
        Attribute("day", "date", lower=0, upper=1_000, bins=4),
        Attribute("sex", "truth", categories=("f", "m")),
        Attribute("city", "categorical", categories=("a", "b", "c"), missing=True),
        Attribute("same", "categorical", categories=("x",)),
    ]
)


def _rows(rows: int, seed: int) -> CodedRows:
    generator = np.random.default_rng(seed)
    codes = np.stack([generator.integers(0, size, rows) for size in DOMAIN.shape], axis=1).astype(np.int32)
    return CodedRows(codes, DOMAIN.shape)


def test_answers_by_hand() -> None:
    rows = CodedRows(np.array([[0, 0], [1, 0], [1, 1], [2, 1]], dtype=np.int32), (3, 2))
    query = RangeQuery((0, 1), (np.array([False, True, True]), np.array([False, True])))
    assert answers(rows, [query]) == pytest.approx([0.5])
    error = range_errors(rows, CodedRows(rows.codes[:1], rows.sizes), [query])
    assert (error.mean, error.max, error.queries, error.columns) == (0.5, 0.5, 1, 2)


def test_answers_against_a_filter() -> None:
    rows = _rows(300, 1)
    queries = choose_queries(DOMAIN, 40, np.random.default_rng(2))
    brute = [
        np.mean([all(a[row[j]] for j, a in zip(q.columns, q.allowed, strict=True)) for row in rows.codes]) for q in queries
    ]
    assert answers(rows, queries) == pytest.approx(brute)


def test_identical_rows_have_no_error_and_others_do() -> None:
    queries = choose_queries(DOMAIN, 100, np.random.default_rng(3))
    rows = _rows(200, 4)
    assert range_errors(rows, CodedRows(rows.codes[::-1], rows.sizes), queries).max == 0.0
    assert range_errors(rows, CodedRows(rows.codes[:1], rows.sizes), queries).mean > 0.1


def test_few_sets_of_columns_if_so_wanted() -> None:
    queries = choose_queries(DOMAIN, 50, np.random.default_rng(3), tables=2)
    assert len(queries) == 50
    assert len({query.columns for query in queries}) <= 2
    assert len({str(query.allowed) for query in queries}) > 10


def test_shape_of_the_queries() -> None:
    for query in choose_queries(DOMAIN, 300, np.random.default_rng(5)):
        assert len(query.columns) == 3
        assert 4 not in query.columns
        for j, allowed in zip(query.columns, query.allowed, strict=True):
            attribute = DOMAIN.attributes[j]
            assert len(allowed) == attribute.size
            assert allowed.any()
            if attribute.is_binned:
                inside = np.flatnonzero(allowed)
                assert inside[-1] - inside[0] + 1 == len(inside)
                assert not allowed[attribute.effective_bins :].any()
            else:
                assert not allowed.all()


def test_every_range_is_equally_likely() -> None:
    domain = Domain.of([Attribute("x", "numeric", lower=0, upper=1, bins=4)])
    seen: dict[tuple[bool, ...], int] = {}
    for query in choose_queries(domain, 5_000, np.random.default_rng(6)):
        key = tuple(query.allowed[0].tolist())
        seen[key] = seen.get(key, 0) + 1
    # 4 + 3 + 2 + 1 ranges; 5 standard deviations of a binomial count.
    assert len(seen) == 10
    assert np.array(list(seen.values())) == pytest.approx(np.full(10, 500), abs=5 * np.sqrt(5_000 * 0.09))


def test_few_or_useless_columns() -> None:
    single = Domain.of([Attribute("same", "categorical", categories=("x",))])
    (query,) = choose_queries(single, 1, np.random.default_rng(0))
    assert query.columns == (0,)
    assert answers(CodedRows(np.zeros((3, 1), dtype=np.int32), (1,)), [query]) == pytest.approx([1.0])


def test_wrong_parameters() -> None:
    with pytest.raises(ParameterError, match="queries"):
        choose_queries(DOMAIN, 0, np.random.default_rng(0))
    with pytest.raises(ParameterError, match="queries"):
        range_errors(_rows(3, 0), _rows(3, 1), [])
    with pytest.raises(ParameterError, match="rows"):
        answers(_rows(0, 0), choose_queries(DOMAIN, 1, np.random.default_rng(0)))
