"""Fine histograms: sensitivity by brute force, post-processing against a solver, values that come back."""

from __future__ import annotations

from itertools import product

import cvxpy as cp
import numpy as np
import pandas as pd
import pytest

from dpsyn.domain import Attribute, Domain
from dpsyn.privacy.histograms import Histograms, nearest_with_sum
from dpsyn.table import Table

AGES = Attribute("age", "numeric", lower=0, upper=119, bins=4, integer=True, missing=True, public=True)
SPANS = [
    AGES,
    Attribute("gain", "numeric", lower=0, upper=99_999, bins=10, integer=True, public=True),
    Attribute("width", "numeric", lower=-1.5, upper=2.5, bins=3, public=True),
    Attribute("day", "date", lower=-40, upper=700, bins=7, public=True),
    Attribute("wide", "numeric", lower=-(2**52), upper=2**52, bins=3, integer=True, public=True),
    Attribute("uneven", "numeric", lower=1, upper=17, bins=3, integer=True, public=True),
]


def only(attribute: Attribute) -> tuple[Domain, Histograms]:
    domain = Domain.of([attribute])
    found = Histograms.of(domain)
    assert found is not None
    return domain, found


def counts(found: Histograms, domain: Domain, values: list[float]) -> np.ndarray:
    frame = pd.DataFrame({domain.names[0]: values})
    return found.counts(domain.encode(frame), frame)


def test_no_neighbour_moves_more_counts_than_it_says_and_one_moves_as_many():
    """Every table of two rows over two small columns against every neighbour."""
    first = Attribute("a", "numeric", lower=0, upper=23, bins=2, integer=True, missing=True)
    second = Attribute("b", "numeric", lower=0, upper=5, bins=2, integer=True)
    domain = Domain.of([first, second])
    found = Histograms.of(domain)
    assert found is not None
    assert [column.levels for column in found.columns] == [2, 1]
    rows = list(product([None, *range(24)], range(6)))

    def of(table: list[tuple[float | None, int]]) -> np.ndarray:
        frame = pd.DataFrame({"a": pd.array([a for a, _ in table], dtype="Int64"), "b": [b for _, b in table]})
        return found.counts(domain.encode(frame), frame)

    single = np.array([of([row]) for row in rows])
    none = of([(0, 0)]) - of([(0, 0)])
    added = np.abs(single - none)
    assert set(np.unique(added)) == {0, 1}
    assert added.sum(axis=1).max() == found.moved("add_remove") == 3
    replaced = np.abs(single[:, None] - single[None])
    assert replaced.max() == 1
    assert replaced.sum(axis=2).max() == found.moved("replace_one") == 6
    # Tables of several rows are sums of single ones, so neighbours of any table differ as much.
    np.testing.assert_array_equal(of([rows[0], rows[77], rows[77]]), single[0] + 2 * single[77])


@pytest.mark.parametrize("attribute", SPANS, ids=lambda a: a.name)
def test_every_value_lies_in_the_part_that_holds_it(attribute):
    domain, found = only(attribute)
    column = found.columns[0]
    random = np.random.default_rng(0)
    numbers = np.concatenate([random.uniform(attribute.lower, attribute.upper, 400), column.edges[:, :-1].ravel()[:2000]])
    values = attribute.from_numbers(numbers)
    codes = attribute.encode(values)
    places = column.places(values, codes)
    bins, parts = np.divmod(places, column.parts)
    np.testing.assert_array_equal(bins, codes)
    exact = attribute.numbers(values)
    assert (column.edges[bins, parts] <= exact).all()
    assert ((exact < column.edges[bins, parts + 1]) | (exact == attribute.upper)).all()
    domain.encode(pd.DataFrame({attribute.name: values}))


@pytest.mark.parametrize("attribute", SPANS, ids=lambda a: a.name)
def test_without_noise_the_counts_come_back(attribute):
    """Whole numbers and days value by value where the tree goes down to them; else part by part."""
    _, found = only(attribute)
    column = found.columns[0]
    random = np.random.default_rng(1)
    numbers = random.choice(random.uniform(attribute.lower, attribute.upper, 30), 500)
    values = attribute.from_numbers(numbers)
    codes = attribute.encode(values)
    exact = column.counts(column.places(values, codes))
    drawn = column.draw(exact.astype(float), 0.0, codes, 500, np.random.default_rng(2))
    np.testing.assert_array_equal(attribute.encode(drawn), codes)
    np.testing.assert_array_equal(column.counts(column.places(drawn, codes)), exact)
    if attribute.name in ("age", "gain", "day", "uneven"):
        pd.testing.assert_series_equal(
            values.value_counts().sort_index(), drawn.value_counts().sort_index(), check_dtype=False, check_names=False
        )


def test_a_spike_survives_noise_and_missing_cells_stay_missing():
    random = np.random.default_rng(3)
    values = pd.Series(np.where(random.random(20_000) < 0.5, 40, random.integers(0, 120, 20_000)), name="age").astype(
        "Int64"
    )
    values[:1000] = pd.NA
    _, found = only(AGES)
    column = found.columns[0]
    codes = AGES.encode(values)
    exact = column.counts(column.places(values, codes))
    drawn = column.draw(exact + random.normal(0, 40, len(exact)), 40.0, codes, 20_000, random)
    assert drawn.isna().sum() == 1000
    assert (drawn == 40).mean() == pytest.approx((values == 40).mean(), abs=0.01)
    assert np.sort(drawn.dropna())[::100] == pytest.approx(np.sort(values.dropna())[::100], abs=4)


def test_impossible_parts_stay_empty_whatever_the_noise():
    attribute = SPANS[-1]
    _, found = only(attribute)
    column = found.columns[0]
    masses = column.masses(np.random.default_rng(4).normal(0, 30, column.count), 30.0, np.array([5.0, 400.0, 0.0]))
    assert masses.min() >= 0
    np.testing.assert_allclose(masses.reshape(3, -1).sum(axis=1), [5, 400, 0])
    assert (masses[(np.diff(column.edges, axis=1) == 0).ravel()] == 0).all()


def test_levels_are_weighed_by_their_noise():
    """Two levels and one bin: a part's count is (10·own + sum of its parts)/11, the least-squares answer."""
    attribute = Attribute("x", "numeric", lower=0, upper=99, bins=1, integer=True)
    _, found = only(attribute)
    column = found.columns[0]
    assert column.levels == 2
    top = np.full(10, 1000.0)
    low = np.full(100, 100.0)
    top[0] += 110
    masses = column.masses(np.concatenate([top, low]), 1e-9, np.array([10_100.0]))
    np.testing.assert_allclose(masses.reshape(10, 10).sum(axis=1), [1100, *[1000] * 9], rtol=1e-12)


def test_the_nearest_vector_is_the_one_that_a_solver_finds():
    random = np.random.default_rng(5)
    wanted, sums = random.normal(0, 3, (6, 10)), np.array([0.0, 0.5, 3.0, 10.0, 40.0, 1e-9])
    found = nearest_with_sum(wanted, sums)
    np.testing.assert_allclose(found.sum(axis=1), sums, atol=1e-12)
    for row, total, mine in zip(wanted, sums, found, strict=True):
        x = cp.Variable(10, nonneg=True)
        cp.Problem(cp.Minimize(cp.sum_squares(x - row)), [cp.sum(x) == total]).solve(solver="CLARABEL")
        np.testing.assert_allclose(mine, x.value, atol=1e-5)


def test_only_columns_with_several_values_in_a_bin_get_a_tree():
    fine = Attribute("fine", "numeric", lower=0, upper=9, bins=10, integer=True)
    word = Attribute("word", "categorical", categories=("a", "b"))
    assert Histograms.of(Domain.of([fine, word])) is None
    both = Histograms.of(Domain.of([word, AGES, fine]))
    assert both is not None
    assert [(column.attribute.name, column.position) for column in both.columns] == [("age", 1)]


def test_rows_known_by_codes_alone_count_once_a_level():
    domain, found = only(AGES)
    codes = np.array([[0], [3], [4]], dtype=np.int32)
    exact = found.counts(codes, None)
    assert exact.sum() == 2 * found.columns[0].levels
    table = Table(pd.DataFrame({"age": pd.array([0, 90, None], dtype="Int64")}), domain)
    np.testing.assert_array_equal(exact, found.counts(table.codes, table.frame))
