from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from dpsyn.domain import Attribute, Domain
from dpsyn.errors import ParameterError
from dpsyn.statistics import DatasetStatistics, EqualRows, bits_of, row_keys, statistics_of

Codes = npt.NDArray[np.int32]


@given(arrays(np.int32, st.tuples(st.integers(1, 40), st.integers(1, 5)), elements=st.integers(0, 2)))
def test_statistics_against_counting_rows(codes: Codes) -> None:
    domain = Domain.of(Attribute(f"c{j}", "categorical", ("a", "b", "c")) for j in range(codes.shape[1]))
    counts = Counter(map(tuple, codes.tolist()))
    statistics = statistics_of(EqualRows.of(codes, domain.shape), domain)
    assert statistics.p == 3 * codes.shape[1]
    assert statistics.max_frequency == max(counts.values()) / len(codes)
    assert statistics.distinct_rows == len(counts)


def test_keys_do_not_collide_where_the_product_of_sizes_overflows() -> None:
    generator = np.random.default_rng(0)
    codes = generator.integers(0, 1000, (500, 30)).astype(np.int32)
    codes[250:] = codes[:250]
    codes[250:, -1] = (codes[250:, -1] + 1) % 1000
    keys = row_keys(codes, [1000] * 30)
    assert len(np.unique(keys)) == len(np.unique(codes, axis=0)) == 500
    assert len(np.unique(row_keys(codes[:, :-1], [1000] * 29))) == 250


def test_rows_are_counted_as_by_hand() -> None:
    codes = np.array([[0, 2, 1], [1, 0, 1], [0, 2, 1], [0, 0, 0]], dtype=np.int32)
    domain = Domain.of(
        Attribute(f"c{j}", "categorical", tuple("abc"[:size]), public=True) for j, size in enumerate((2, 3, 2))
    )
    rows = EqualRows.of(codes, domain.shape)
    assert rows == EqualRows(4, 3, 2)
    assert statistics_of(rows, domain, name="four") == DatasetStatistics(7, 4, 0.5, 3, (2, 3, 2), "four")
    assert EqualRows.of(codes[:1], domain.shape) == EqualRows(1, 1, 1)
    assert EqualRows.of(codes[:0], (2**40, 2**40, 2)) == EqualRows(0, 0, 0)
    with pytest.raises(ParameterError) as caught:
        statistics_of(EqualRows.of(codes[:0], domain.shape), domain)
    assert caught.value.field == "n"


@pytest.mark.parametrize(("bits", "columns"), [(16, 6), (30, 5), (30, 8), (31, 2)])
def test_keys_tell_rows_apart_that_differ_in_any_one_column(bits: int, columns: int) -> None:
    """Products of sizes up to, and far beyond, what 64 bits hold; all rows but one column are alike."""
    first = np.full((1, columns), 2**bits - 1)
    codes = np.concatenate([first, first, *(first - step * np.eye(columns, dtype=np.int64) for step in (1, 2**bits - 1))])
    keys = row_keys(codes.astype(np.int64), [2**bits] * columns)
    assert keys[0] == keys[1]
    assert len(np.unique(keys)) == len(codes) - 1
    for j in range(columns):
        assert len(np.unique(row_keys(codes[[0, 1, 2 + j]], [2**bits] * columns))) == 2


@pytest.mark.parametrize("where", ["first", "last", "first and last", "all"])
@pytest.mark.parametrize("columns", [63, 140, 200, 400])
@pytest.mark.parametrize("largest", [2, 3, 1000])
def test_keys_of_wide_tables_are_equal_where_rows_are(largest: int, columns: int, where: str) -> None:
    """Renumbered many times; rows differ in 12 columns at one end, at both, or in all, and every fourth is a copy."""
    random = np.random.default_rng(columns)
    sizes = random.integers(2, largest + 1, columns)
    codes = random.integers(0, sizes, (400, columns))
    kept = {"first": slice(12, None), "last": slice(-12), "first and last": slice(12, -12), "all": slice(0)}[where]
    codes[:, kept] = codes[0, kept]
    codes[::4] = codes[1::4]
    number, times = np.unique(codes, axis=0, return_inverse=True, return_counts=True)[1:]
    keys = np.unique(row_keys(codes.astype(np.int32), sizes.tolist()), return_inverse=True)[1]
    assert len(set(zip(keys.tolist(), number.ravel().tolist(), strict=True))) == keys.max() + 1 == len(times)
    assert EqualRows.of(codes.astype(np.int32), sizes.tolist()) == EqualRows(400, len(times), times.max())


def test_keys_are_numbers_of_mixed_radix() -> None:
    codes = np.array([[1, 2, 3], [0, 0, 0], [0, 1, 2]], dtype=np.int32)
    assert row_keys(codes, (2, 3, 4)).tolist() == [23, 0, 6]
    assert row_keys(codes[:, :0], ()).tolist() == [0, 0, 0]
    # Up to 2^62 nothing is renumbered; one more, and the keys so far are 0, 1, … in their order.
    assert row_keys(codes[:, :2], (2**31, 2**31)).tolist() == [2**31 + 2, 0, 1]
    assert row_keys(codes[:, :2], (2**31, 2**31 + 1)).tolist() == [2**31 + 3, 0, 1]
    wide = np.array([[5, 7, 1], [3, 9, 0], [5, 7, 0]], dtype=np.int64)
    assert row_keys(wide, (2**40, 2**22, 2)).tolist() == [3, 0, 2]


def test_truth_values_are_one_bit_and_others_one_hot() -> None:
    domain = Domain.of(
        [
            Attribute("t", "truth", ("no", "yes")),
            Attribute("s", "categorical", ("F", "M")),
            Attribute("c", "categorical", ("a", "b", "c")),
        ]
    )
    codes = np.array([[0, 1, 2], [1, 0, 0]], dtype=np.int32)
    assert [bits_of(a) for a in domain.attributes] == [1, 2, 3]
    assert statistics_of(EqualRows.of(codes, domain.shape), domain, two_valued_as_bit=True).p == 5


@pytest.mark.parametrize(
    ("arguments", "field"),
    [
        ((0, 1, 1.0), "p"),
        ((1, 0, 1.0), "n"),
        ((1, 1, 0.0), "max_frequency"),
        ((1, 1, 1.5), "max_frequency"),
        ((1, 3, 0.3333), "max_frequency"),
        ((1, 10, 0.2), "max_frequency"),
        ((9, 10, 0.1, 11), "distinct_rows"),
        ((2, 10, 0.3, 5), "distinct_rows"),
        ((9, 100, 0.1, 9), "distinct_rows"),
        ((9, 100, 0.5, 52), "distinct_rows"),
        ((9, 10, 1.0, 2), "distinct_rows"),
        ((5, 10, 0.1, None, (2,)), "p"),
        ((4, 10, 0.1, None, (2, 2, 3)), "p"),
        ((4, 10, 0.1, None, ()), "p"),
    ],
)
def test_impossible_statistics_are_refused(arguments: tuple[Any, ...], field: str) -> None:
    with pytest.raises(ParameterError) as caught:
        DatasetStatistics(*arguments)
    assert caught.value.field == field


@given(st.lists(st.integers(1, 10**9), min_size=1, max_size=12), st.integers(0, 10**6))
def test_whatever_rows_have_is_possible(counts: list[int], once: int) -> None:
    """Rows of which some are equal, and others that are there once."""
    n, distinct = sum(counts) + once, len(counts) + once
    assert DatasetStatistics(24, n, max(counts) / n, distinct, (2,) * 12).distinct_rows == distinct
    assert DatasetStatistics(21, n, max(counts) / n, distinct).p == 21


def test_more_bits_than_anybody_has_are_refused() -> None:
    with pytest.raises(ParameterError, match="from 1 to 1,000,000"):
        DatasetStatistics(p=10**6 + 1, n=10, max_frequency=0.1)
