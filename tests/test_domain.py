from __future__ import annotations

import datetime
import decimal
import json
import math
from dataclasses import fields, replace
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from dpsyn.domain import Attribute, Domain, listed
from dpsyn.errors import DomainError, ParameterError
from tests.conftest import Topmost

WRITABLE = st.characters(exclude_categories=["Cs"], exclude_characters="\0")
NAMES = st.text(WRITABLE, min_size=1, max_size=8)
CATEGORIES = st.one_of(
    st.lists(st.text(WRITABLE, max_size=5), min_size=1, max_size=12, unique=True),
    st.lists(st.integers(-(2**60), 2**60), min_size=1, max_size=12, unique=True),
)
BOUND = st.floats(-1e12, 1e12, allow_nan=False)
UNITS = (0.01, 0.0001, 0.25, 0.05, 3e-05, 0.5, 2.0, 1000.0)


@st.composite
def attributes(draw: st.DrawFn, name: str | None = None) -> Attribute:
    kind = draw(st.sampled_from(["truth", "categorical", "numeric", "integer", "unit", "date"]))
    name = name or draw(NAMES)
    missing = draw(st.booleans())
    public = draw(st.booleans())
    if kind == "truth":
        return Attribute(name, "truth", draw(st.sampled_from([("no", "yes"), (0, 1), (False, True)])), public=public)
    if kind == "categorical":
        return Attribute(name, "categorical", tuple(draw(CATEGORIES)), missing=missing, public=public)
    bins = draw(st.integers(1, 40))
    if kind == "date":
        lower = draw(st.integers(-700_000, 2_900_000))
        upper = lower + draw(st.integers(1, 5000))
        return Attribute(name, "date", lower=lower, upper=upper, bins=bins, missing=missing, public=public)
    lower, width, unit = draw(BOUND), draw(st.floats(1.0, 1e12)), 1.0 if kind == "integer" else None
    if kind == "unit":
        unit = draw(st.sampled_from(UNITS))
        lower, width = draw(st.floats(-1e9, 1e9)), 2 * unit + draw(st.floats(0.0, 1e9))
    return Attribute(name, "numeric", lower=lower, upper=lower + width, unit=unit, bins=bins, missing=missing, public=public)


@given(attributes(), st.integers(0, 2**32 - 1))
def test_encode_is_the_inverse_of_decode_on_codes(attribute: Attribute, seed: int) -> None:
    generator = np.random.default_rng(seed)
    codes = np.concatenate([np.arange(attribute.size), generator.integers(0, attribute.size, 30)]).astype(np.int32)
    values = attribute.decode(codes, generator)
    assert attribute.encode(values).tolist() == codes.tolist()
    assert values.isna().sum() == (attribute.missing and (codes == attribute.size - 1).sum())


@given(attributes())
def test_every_code_has_its_own_label(attribute: Attribute) -> None:
    labels = attribute.labels()
    assert len(labels) == attribute.size
    if attribute.is_binned:
        assert len(set(labels)) == attribute.size


@given(attributes())
def test_edges_increase_and_span_the_bounds(attribute: Attribute) -> None:
    if not attribute.is_binned:
        return
    edges = attribute.edges
    assert len(edges) == attribute.effective_bins + 1
    assert (np.diff(edges) > 0).all()
    assert attribute.lower is not None
    assert attribute.upper is not None
    if attribute.unit is None:
        assert (edges[0], edges[-1]) == (attribute.lower, attribute.upper)
        return
    counted = attribute.unit_edges
    assert (counted == np.round(counted)).all()
    assert np.diff(counted).max() - np.diff(counted).min() <= 1
    if attribute.unit == 1:
        assert (edges == counted).all()
        return
    first, last = (attribute.from_units(ends).to_numpy() for ends in (counted[:-1], counted[1:] - 1))
    assert (edges[:-1] < first).all()
    assert (last < edges[1:]).all()
    half = 0.6 * attribute.unit
    assert (first - edges[:-1] < half).all()
    assert (edges[1:] - last < half).all()


@given(attributes(), st.lists(st.floats(0, 1), max_size=20))
def test_units_are_counted_and_back(attribute: Attribute, places: list[float]) -> None:
    if attribute.unit is None or not attribute.is_binned:
        return
    first, last = attribute.unit_edges[0], attribute.unit_edges[-1] - 1
    counts = np.array([first, last, *(first + np.floor(place * (last - first)) for place in places)])
    column = attribute.from_units(np.append(counts, np.nan) if attribute.missing else counts)
    back = attribute.in_units(column)
    assert back[: len(counts)].tolist() == counts.tolist()
    assert np.isnan(back[len(counts) :]).all()
    if attribute.kind == "date":
        return
    for count, value in zip(counts, column, strict=False):
        exact = decimal.Decimal(int(count)) * decimal.Decimal(repr(attribute.unit))
        assert decimal.Decimal(repr(float(value))) == exact
    assert attribute.from_numbers(column.dropna().to_numpy(float)).tolist() == column.dropna().tolist()


def test_numbers_of_a_unit_are_written_without_dust():
    cents = Attribute("x", "numeric", lower=-1, upper=10, unit=0.01)
    assert cents.from_numbers(np.array([0.1 + 0.2, 1.005, 9.999, -0.001])).tolist() == [0.3, 1.0, 10.0, 0.0]
    assert str(cents.from_numbers(np.array([-0.001]))[0]) == "0.0"
    assert cents.in_units(pd.Series(["0.07", "1.3", "12"])).tolist() == [7, 130, 1000]
    halves = Attribute("x", "numeric", lower=0, upper=3, unit=0.5)
    assert halves.in_units(pd.Series([0.7, 1.2, 2.9])).tolist() == [1, 2, 6]
    assert halves.from_units(np.array([1.2, 4.7])).tolist() == [0.5, 2.5]
    whole = Attribute("x", "numeric", lower=0, upper=5, unit=1, bins=2)
    assert whole.in_units(pd.Series([2.4, 2.6])).tolist() == [2, 3]
    assert whole.encode(pd.Series([2.4, 2.6])).tolist() == [0, 1]


def test_the_ends_of_a_range_are_the_multiples_that_they_are_written_as():
    """0.07 / 0.01 is 7.000000000000001 in double precision."""
    cents = Attribute("x", "numeric", lower=0.07, upper=0.29, unit=0.01, bins=3)
    assert cents.unit_edges.tolist() == [7, 14, 22, 30]
    assert cents.labels() == ["0.07 to 0.13", "0.14 to 0.21", "0.22 to 0.29"]
    assert cents.encode(pd.Series([0.0, 0.07, 0.1349, 0.1351, 0.29, 9])).tolist() == [0, 0, 0, 1, 2, 2]
    assert cents.from_units(np.array([-5.0, 99])).tolist() == [0.07, 0.29]


def test_bounds_need_not_be_multiples():
    thousands = Attribute("x", "numeric", lower=500, upper=4_999, unit=1000, bins=10, missing=True)
    assert thousands.labels() == ["1000", "2000", "3000", "4000", "(missing)"]
    assert Attribute("a", "categorical", ("(missing)", "x"), missing=True).labels() == ["(missing)", "x", "((missing))"]
    both = Attribute("a", "categorical", ("(missing)", "((missing))"), missing=True)
    assert both.labels() == ["(missing)", "((missing))", "(((missing)))"]
    assert thousands.in_units(pd.Series([500, 1499, 1501, 4_999, None])).tolist()[:4] == [1, 1, 2, 4]
    column = thousands.decode(np.array([0, 3, 4]), np.random.default_rng(0))
    assert column.dtype == "Int64"
    assert column.dropna().tolist() == [1000, 4000]


def test_codes_of_cells_by_hand():
    plain = Attribute("x", "numeric", lower=0, upper=1, bins=4, missing=True)
    values = [-1, -math.inf, 0, 0.2499, 0.25, 0.5, 0.75, 1, 2, math.inf, None]
    codes = plain.encode(pd.Series(values, dtype=float))
    assert codes.tolist() == [0, 0, 0, 0, 1, 2, 3, 3, 3, 3, 4]
    assert plain.numbers(pd.Series(values, dtype=float)).tolist()[:-1] == [0, 0, 0, 0.2499, 0.25, 0.5, 0.75, 1, 1, 1]
    words = Attribute("x", "categorical", ("b", "a", 3), missing=True)
    for column in (
        pd.Series(["a", None, "b", 3, "a", math.nan], dtype=object),
        pd.Series(["a", None, "b", 3, "a", None], dtype="category"),
        pd.Series(["a", pd.NA, "b", 3, "a", pd.NaT], dtype=object),
    ):
        assert words.encode(column).tolist() == [1, 3, 0, 2, 1, 3]
        assert words.encode(column).dtype == codes.dtype == np.int32
    never = replace(words, missing=False)
    assert never.encode(pd.Series(["a", "b"])).tolist() == [1, 0]
    for cells, said in [
        (["a", None], "row 2 is empty"),
        (["c", "a", "d"], "row 1 has 'c'.*2 such rows"),
        (["", "a"], "row 1"),
    ]:
        with pytest.raises(DomainError, match=said):
            never.encode(pd.Series(cells, dtype=object))
    with pytest.raises(DomainError, match="row 2 has 'c'"):
        words.encode(pd.Series([None, "c"], dtype=object))


def test_what_is_no_column_of_numbers_or_dates_is_refused():
    plain = Attribute("x", "numeric", lower=0, upper=1, bins=4, missing=True)
    day = Attribute("x", "date", lower=0, upper=9, bins=3, missing=True)
    moments = pd.Series(pd.to_datetime(["1970-01-03", None]))
    assert day.encode(moments).tolist() == [0, 3]
    for attribute, column, said in [
        (plain, moments, "row 1 has .* not a number"),
        (plain, pd.Series([None, "0.5", "x"]), "row 3 has 'x'.* not a number"),
        (day, pd.Series([3, 4]), "row 1 has 3.* a number, not a date"),
        (day, pd.Series([None, "soon"]), "row 2 has 'soon'.* not a date"),
        (plain, pd.Series([decimal.Decimal("sNaN")]), "signalling NaN"),
        (plain, [0.5], "one pandas Series"),
        (Attribute("x", "categorical", ("a",)), ["a"], "one pandas Series"),
        (Attribute("x", "categorical", ("a",)), pd.Series([decimal.Decimal("sNaN")]), "signalling NaN"),
        (Attribute("x", "categorical", ("a",)), pd.Series([["a"]]), "single values"),
    ]:
        with pytest.raises(DomainError, match=said):
            attribute.encode(column)
    with pytest.raises(DomainError, match="has no numbers"):
        Attribute("x", "categorical", ("a",)).numbers(pd.Series(["a"]))


def test_numbers_without_a_unit_are_counted_as_they_are():
    plain = Attribute("x", "numeric", lower=0, upper=1, bins=2)
    assert plain.unit_edges.tolist() == plain.edges.tolist() == [0, 0.5, 1]
    assert plain.in_units(pd.Series([0.3, 7])).tolist() == [0.3, 1]
    assert plain.from_units(np.array([0.3, 7])).tolist() == [0.3, 1]


@pytest.mark.parametrize("of", [{}, {"unit": 0.5}, {"integer": True}, {"kind": "date"}])
@pytest.mark.parametrize("missing", [True, False])
def test_no_number_is_missing_whatever_the_column_may_have(of: dict[str, Any], missing: bool) -> None:
    attribute = Attribute(**{"name": "x", "kind": "numeric", "lower": 18, "upper": 89, "missing": missing, **of})
    for column in (attribute.from_numbers(np.array([np.nan, 20])), attribute.from_units(np.array([np.nan, 40]))):
        assert column.isna().tolist() == [True, False]


def test_masked_values_are_refused_and_a_mask_that_hides_nothing_is_none() -> None:
    attribute = Attribute("x", "numeric", lower=0, upper=9, bins=3, unit=1)
    masked, bare = (np.ma.array([1, 2], mask=mask) for mask in ([True, False], [False, False]))
    makes = (attribute.from_numbers, attribute.from_units, lambda codes: attribute.decode(codes, np.random.default_rng(0)))
    for make in makes:
        assert len(make(bare)) == 2
        with pytest.raises(DomainError, match="numbers is needed"):
            make(masked)


def test_whatever_of_a_column_is_other_a_domain_has_another_mark() -> None:
    number = {"name": "x", "kind": "numeric", "lower": 0.0, "upper": 9.0, "bins": 3}
    changes: list[dict[str, Any]] = [
        {}, {"name": "y"}, {"kind": "date"}, {"lower": 1.0}, {"upper": 8.0}, {"bins": 4}, {"unit": 0.5}, {"missing": True},
        {"public": True},
    ]  # fmt: skip
    listed_as: list[tuple[Any, ...]] = [(1, 2), ("1", "2"), (True, 2), (1.0, 2.0), (2, 1)]
    alike = [Attribute("x", "categorical", each) for each in listed_as]
    several = [*alike, *(Attribute(**{**number, **change}) for change in changes)]
    assert len({Domain.of([one]).mark for one in several}) == len(several)
    assert Domain.of(several[:1]).mark == Domain.of([replace(several[0])]).mark


def test_whole_numbers_and_the_unit_1_are_one_thing():
    old = {"name": "x", "kind": "numeric", "missing": False, "public": True, "lower": 0, "upper": 9, "bins": 3}
    whole, any_number, day = (
        Attribute.from_dict(old | {"integer": True}),
        Attribute.from_dict(old | {"integer": False}),
        Attribute.from_dict(old | {"integer": False, "kind": "date"}),
    )
    assert whole == Attribute("x", "numeric", lower=0, upper=9, bins=3, unit=1, public=True)
    assert (whole.unit, whole.integer, any_number.unit, day.unit, day.integer) == (1.0, True, None, 1.0, False)
    # As before there were units: marks of kept experiments are made of it.
    for attribute, integer in ((whole, True), (any_number, False), (day, False)):
        assert attribute.to_dict() == old | {"kind": attribute.kind, "integer": integer}
    cents = Attribute("x", "numeric", lower=0, upper=9, unit=0.01)
    assert cents.to_dict()["unit"] == 0.01
    assert math.isclose(Attribute.from_dict(cents.to_dict()).unit or 0, 0.01, rel_tol=0)


@given(st.lists(attributes(), min_size=1, max_size=5, unique_by=lambda a: a.name))
def test_domains_survive_json(columns: list[Attribute]) -> None:
    domain = Domain.of(columns)
    assert Domain.from_dict(json.loads(json.dumps(domain.to_dict()))) == domain
    assert domain.confirmed().is_public


def test_numbers_fall_into_the_bin_whose_edges_surround_them() -> None:
    attribute = Attribute("x", "numeric", lower=0, upper=1, bins=4)
    column = pd.Series([-5.0, 0.0, 0.2499, 0.25, 0.5, 0.99, 1.0, 7.0, np.inf])
    assert attribute.encode(column).tolist() == [0, 0, 0, 1, 2, 3, 3, 3, 3]
    assert attribute.numbers(column).max() == 1.0


def test_whole_numbers_are_shared_out_among_bins() -> None:
    attribute = Attribute("pixel", "numeric", lower=0, upper=16, bins=4, integer=True)
    assert attribute.labels() == ["0 to 3", "4 to 7", "8 to 11", "12 to 16"]
    assert attribute.encode(pd.Series(range(17))).tolist() == [0] * 4 + [1] * 4 + [2] * 4 + [3] * 5
    few = Attribute("x", "numeric", lower=0.5, upper=3.5, bins=10, integer=True)
    assert few.size == 3
    assert few.labels() == ["1", "2", "3"]
    assert few.decode(np.array([0, 1, 2]), np.random.default_rng(0)).tolist() == [1, 2, 3]


def test_whole_numbers_in_a_bin_are_equally_likely() -> None:
    attribute = Attribute("x", "numeric", lower=0, upper=9, bins=2, integer=True)
    drawn = attribute.decode(np.zeros(50_000, dtype=np.int32), np.random.default_rng(0))
    counts = np.bincount(drawn, minlength=10)
    assert counts[5:].sum() == 0
    # Standard deviation of a count: sqrt(50000 · 0.2 · 0.8) = 89.
    assert np.abs(counts[:5] - 10_000).max() < 5 * 89


def test_numbers_without_a_unit_are_drawn_evenly_from_a_bin_and_never_from_the_next() -> None:
    attribute = Attribute("x", "numeric", lower=-1.0, upper=3.0, bins=4)
    values = attribute.decode(np.full(4000, 2), np.random.default_rng(0)).to_numpy()
    assert stats.kstest(values, stats.uniform(1, 1).cdf).pvalue > 0.01
    assert attribute.decode(np.arange(4), Topmost(np.random.PCG64(0))).tolist() == np.nextafter([0, 1, 2, 3], -1).tolist()


def test_dates_are_whole_days() -> None:
    attribute = Attribute("d", "date", lower=0, upper=9, bins=3, missing=True)
    assert attribute.labels()[0] == "1970-01-01 to 1970-01-03"
    moments = ["1970-01-01 23:59", "1970-01-04", None, "1970-01-10", "2020-01-01"]
    column = pd.Series(pd.to_datetime(moments, format="ISO8601"))
    assert attribute.encode(column).tolist() == [0, 1, 3, 2, 2]
    dates = pd.Series([datetime.date(1970, 1, 5), None])
    assert attribute.encode(dates).tolist() == [1, 3]
    local = pd.Series(pd.to_datetime(["1970-01-04 00:30"]).tz_localize("Europe/Vienna"))
    assert attribute.encode(local).tolist() == [1]
    values = attribute.decode(np.array([0, 3, 2]), np.random.default_rng(0))
    assert values.dtype == "datetime64[us]"
    assert pd.isna(values[1])
    assert (values.dropna() == values.dropna().dt.normalize()).all()


def test_dates_far_from_today() -> None:
    attribute = Attribute("d", "date", lower=-719_162, upper=2_932_896, bins=2)
    assert attribute.labels() == ["0001-01-01 to 5000-07-01", "5000-07-02 to 9999-12-31"]
    values = attribute.decode(np.array([0, 1]), np.random.default_rng(0))
    assert attribute.encode(values).tolist() == [0, 1]


def test_a_column_without_any_value_is_all_empty() -> None:
    attribute = Attribute("x", "categorical", ("a", "b"), missing=True)
    for column in (pd.Series([None, None], dtype=object), pd.Series([np.nan, np.nan]), pd.Series([], dtype=object)):
        assert attribute.encode(column).tolist() == [2] * len(column)
    with pytest.raises(DomainError, match=r"row 1 is empty.*\(2 such rows\)"):
        replace(attribute, missing=False).encode(pd.Series([None, None], dtype=object))


def test_decoded_whole_numbers_with_gaps_stay_whole() -> None:
    attribute = Attribute("x", "categorical", (2, 3), missing=True)
    values = attribute.decode(np.array([0, 1, 2]), np.random.default_rng(0))
    assert values.dtype == "Int64"
    number = Attribute("x", "numeric", lower=0, upper=100, integer=True, missing=True)
    assert number.decode(np.array([0, 10]), np.random.default_rng(0)).dtype == "Int64"


@pytest.mark.parametrize(
    ("attribute", "column", "part"),
    [
        (
            Attribute("x", "categorical", ("a", "b")),
            ["a", "c", "c"],
            r"column 'x': row 2 has 'c', which is .* \(2 such rows\); add it to the domain or change the data",
        ),
        (Attribute("x", "categorical", ("a", "b")), ["a", None], "row 2 is empty"),
        (Attribute("x", "categorical", (1, 2), missing=True), [1, 3], "row 2 has 3"),
        (
            Attribute("x", "numeric", lower=0, upper=1, missing=True),
            ["0.5", "abc"],
            "'abc'.*a number .*; make the column cat.* or ch",
        ),
        (Attribute("x", "numeric", lower=0, upper=1), [0.5, None], "row 2 is empty"),
        (Attribute("x", "date", lower=0, upper=1, missing=True), ["2020-01-01", "soon"], "row 2 has 'soon'.*not a date"),
        (Attribute("x", "date", lower=0, upper=1), [3, 4], "row 1 has 3.*a number, not a date .*; make the column cat"),
        (Attribute("x", "categorical", ("a", "b")), [["a"], ["b"]], "nested"),
    ],
)
def test_cells_outside_the_domain_are_refused_with_row_and_value(attribute: Attribute, column: list[Any], part: str) -> None:
    with pytest.raises(DomainError, match=part) as caught:
        attribute.encode(pd.Series(column))
    assert caught.value.column == "x"


@pytest.mark.parametrize(
    ("arguments", "part"),
    [
        ({"kind": "sound"}, "kind = 'sound'"),
        ({"kind": "truth", "categories": ("a", "b", "c")}, "exactly two values"),
        ({"kind": "truth", "categories": ("a", "b"), "missing": True}, "no missing"),
        ({"kind": "categorical"}, "at least one category"),
        ({"kind": "categorical", "categories": ("a", "b", "a")}, "'a' is listed twice"),
        ({"kind": "categorical", "categories": ("a", None)}, "missing value cannot be a category"),
        ({"kind": "categorical", "categories": (1.0, float("nan"))}, "missing value cannot be a category"),
        ({"kind": "categorical", "categories": ((1, 2),)}, "tuple"),
        ({"kind": "numeric"}, "needs a lower and an upper bound"),
        ({"kind": "numeric", "lower": 1.0}, "needs a lower and an upper bound"),
        ({"kind": "date", "upper": 1.0}, "needs a lower and an upper bound"),
        ({"kind": "categorical", "categories": ("a", "b", "b")}, "'b' is listed twice"),
        ({"kind": "numeric", "lower": 1.0, "upper": 1.0}, "lower < upper"),
        ({"kind": "numeric", "lower": 0.0, "upper": float("inf")}, "finite"),
        ({"kind": "numeric", "lower": "0", "upper": 1}, "lower = '0'"),
        ({"kind": "numeric", "lower": True, "upper": 2}, "lower = True"),
        ({"kind": "numeric", "lower": 0, "upper": 10**400}, "upper = 1000"),
        ({"kind": "categorical", "categories": "ab"}, "categories = 'ab'"),
        ({"kind": "categorical", "categories": {"a", "b"}}, "in the order of their codes"),
        ({"kind": "categorical", "categories": ("\ud800",)}, "not Unicode"),
        ({"kind": "categorical", "categories": (float("inf"), 1.0)}, "not finite"),
        ({"kind": "numeric", "lower": -1.7e308, "upper": 1.7e308}, "double precision"),
        ({"kind": "numeric", "lower": 1.0, "upper": 1.0000000000000002}, "double precision"),
        ({"kind": "numeric", "lower": 0.2, "upper": 0.8, "integer": True}, "no whole number"),
        ({"kind": "numeric", "lower": 0, "upper": 2.0**60, "integer": True}, "2\\^53"),
        ({"kind": "numeric", "lower": -(2**53), "upper": 0, "integer": True}, "2\\^53"),
        ({"kind": "numeric", "lower": 0, "upper": 2**53, "integer": True}, "2\\^53"),
        ({"kind": "numeric", "lower": -(2.0**48), "upper": 0, "unit": 0.25}, "unit = 0.25 is too fine"),
        ({"kind": "numeric", "lower": 0, "upper": 2.0**48, "unit": 0.25}, "unit = 0.25 is too fine"),
        ({"kind": "numeric", "lower": 0, "upper": 1, "unit": 0}, "unit = 0"),
        ({"kind": "numeric", "lower": 0, "upper": 1, "unit": -0.1}, "unit = -0.1"),
        ({"kind": "numeric", "lower": 0, "upper": 1, "unit": "0.1"}, "unit = '0.1'"),
        ({"kind": "numeric", "lower": 0, "upper": 1, "unit": float("nan")}, "unit = nan"),
        ({"kind": "numeric", "lower": 0, "upper": 9, "unit": 0.5, "integer": True}, "unit 1, not 0.5"),
        ({"kind": "date", "lower": 0, "upper": 9, "unit": 7}, "unit 1, not 7"),
        ({"kind": "numeric", "lower": 0.2, "upper": 0.8, "unit": 5}, "no multiple of 5"),
        ({"kind": "numeric", "lower": 0, "upper": 1e9, "unit": 1e-9}, "unit = 1e-09 is too fine"),
        ({"kind": "numeric", "lower": 0, "upper": 2.0**60, "unit": 1000}, "2\\^53"),
        ({"kind": "numeric", "lower": 0, "upper": 1, "bins": 0}, "bins"),
        ({"kind": "numeric", "lower": 0, "upper": 1, "bins": 2.5}, "bins"),
        ({"kind": "numeric", "lower": 0, "upper": 1, "bins": 10**9}, "bins"),
        ({"kind": "date", "lower": 20454, "upper": "2025-05-15"}, "lower < upper, got 2026-01-01 and 2025-05-15"),
        ({"kind": "date", "lower": "0000-01-01", "upper": "2025-05-15"}, "9999-12-31, got 0000-01-01 and 2025-05-15"),
        ({"kind": "date", "lower": 0, "upper": 1e9}, "between 0001-01-01 and 9999-12-31, got 1970-01-01 and 1000000000"),
        ({"kind": "date", "lower": 0, "upper": 1e300}, "between 0001-01-01 and 9999-12-31"),
        ({"kind": "date", "lower": -math.inf, "upper": 3}, "finite"),
        ({"kind": "date", "lower": 1.5, "upper": 3}, "whole days since 1970-01-01, got 1.5 and 1970-01-04"),
        ({"kind": "date", "lower": 1, "upper": 3.5}, "whole days"),
        ({"kind": "categorical", "categories": ("a\0b",)}, "zero byte"),
        ({"kind": "categorical", "categories": (10**5000, 1)}, "300 digits"),
        ({"kind": "categorical", "categories": (2**1023, 1)}, "300 digits"),
        ({"kind": "categorical", "categories": (-(2**1023), 1)}, "300 digits"),
        ({"kind": "numeric", "lower": 0, "upper": 10, "categories": (0, 5, 10)}, "categories is for truth and categorical"),
        ({"kind": "date", "lower": 0, "upper": 10, "categories": ("a",)}, "categories is for truth and categorical"),
        ({"kind": "categorical", "categories": (1, 2), "lower": 0}, "lower is for numbers and dates"),
        ({"kind": "truth", "categories": (0, 1), "upper": 1}, "upper is for numbers and dates"),
        ({"kind": "categorical", "categories": (1, 2), "unit": 1}, "unit is for numbers and dates"),
        ({"kind": "categorical", "categories": (1, 2), "integer": True}, "integer is for numbers and dates"),
    ],
)
def test_contradictory_attributes_are_refused(arguments: dict[str, Any], part: str) -> None:
    with pytest.raises(DomainError, match=part) as caught:
        Attribute("x", **arguments)
    assert caught.value.column == "x"


def test_what_double_precision_just_carries_is_allowed() -> None:
    """The refusals above begin at the next number."""
    assert Attribute("x", "numeric", lower=1 - 2**53, upper=2**53 - 1, integer=True).lower == 1 - 2**53
    assert Attribute("x", "numeric", lower=0.25 - 2**48, upper=2**48 - 0.25, unit=0.25).upper == 2**48 - 0.25
    assert Attribute("x", "categorical", (2**1023 - 1, 1 - 2**1023)).size == 2


@pytest.mark.parametrize("kind", ["i2", "u4", "i8", "f4", "f8"])
def test_numbers_of_another_byte_order_are_the_same_numbers(kind: str) -> None:
    values = np.array([3, 1, 2, 1], dtype=f">{kind}")
    for attribute in (Attribute("c", "categorical", (1, 2, 3)), Attribute("c", "numeric", lower=0, upper=4, bins=4)):
        np.testing.assert_array_equal(
            attribute.encode(pd.Series(values)), attribute.encode(pd.Series(values.astype(np.float64)))
        )


def test_numpy_categories_become_plain_ones() -> None:
    attribute = Attribute("x", "categorical", tuple(np.array([1, 2])))
    assert [type(c) for c in attribute.categories] == [int, int]
    json.dumps(attribute.to_dict())


@pytest.mark.parametrize(
    "data",
    [
        {},
        [],
        {"columns": [{}]},
        {"columns": "abc"},
        {"columns": []},
        {"columns": [{"name": "x"}]},
        {"columns": [{"name": "x", "kind": "truth", "categories": [0, 1]}], "version": 99},
        {"columns": [{"name": "x", "kind": "numeric", "lower": 0, "upper": 1, "colour": 3}]},
        {"columns": [{"name": "x", "kind": "categorical", "categories": "ab"}]},
        {"columns": [{"name": 3, "kind": "categorical", "categories": ["ab"]}]},
        {"columns": [{"name": "x", "kind": "date", "lower": "\ud800", "upper": "2024-12-31"}]},
    ],
)
def test_plain_data_that_is_no_domain_is_refused(data: Any) -> None:
    with pytest.raises(DomainError):
        Domain.from_dict(data)


def test_codes_outside_the_domain_cannot_be_decoded() -> None:
    with pytest.raises(DomainError, match="between 0 and 1"):
        Attribute("x", "categorical", ("a", "b")).decode(np.array([0, 2]), np.random.default_rng(0))


def test_domain_looks_up_projects_and_replaces() -> None:
    domain = Domain.of([Attribute("a", "truth", ("no", "yes")), Attribute("b", "categorical", ("x", "y", "z"))])
    assert (len(domain), domain.names, domain.shape, domain.size) == (2, ("a", "b"), (2, 3), 6)
    assert "a" in domain
    assert "c" not in domain
    assert list(domain) == ["a", "b"]
    assert domain.project(["b"]).names == ("b",)
    assert domain.replace(Attribute("b", "truth", (0, 1))).is_binary
    assert not domain.is_public
    with pytest.raises(DomainError, match="no column 'c'"):
        domain.index("c")
    with pytest.raises(DomainError, match="two columns are called 'a'"):
        domain.project(["a", "a"])
    with pytest.raises(DomainError, match="no column 'b'"):
        domain.encode(pd.DataFrame({"a": ["no"]}))


def test_a_frame_is_encoded_column_by_column() -> None:
    domain = Domain.of([Attribute("a", "truth", ("no", "yes")), Attribute("x", "numeric", lower=0, upper=10, bins=5)])
    codes = domain.encode(pd.DataFrame({"x": [0.0, 9.9], "a": ["yes", "no"]}))
    assert codes.tolist() == [[1, 0], [0, 4]]
    assert codes.dtype == np.int32
    rows = domain.decode(codes, np.random.default_rng(0))
    assert list(rows.columns) == ["a", "x"]
    assert domain.encode(rows).tolist() == codes.tolist()


def test_many_names_are_listed_in_short() -> None:
    assert listed(["a", "b"], 2) == "a, b"
    assert listed(["a", "b", "c"], 2) == "a, b and 1 more"
    assert listed(["a", "b", "c", 4], 2) == "a, b and 2 more"
    assert listed([]) == ""


@pytest.mark.parametrize("field", ["public", "missing", "integer"])
@pytest.mark.parametrize("value", ["false", "no", "", float("nan"), 0, 1, 1.0, None, [], np.array([True]), pd.NA])
def test_truth_values_are_true_or_false_and_nothing_else(field: str, value: Any) -> None:
    plain = {"name": "x", "kind": "numeric", "lower": 0, "upper": 9}
    for make in (lambda given: Attribute(**given), lambda given: Domain.from_dict({"columns": [given]})):
        with pytest.raises(DomainError, match=f"column 'x': {field} = ") as caught:
            make({**plain, field: value})
        assert caught.value.column == "x"


def test_truth_values_and_numbers_of_numpy_become_plain_ones() -> None:
    attribute = Attribute("x", "numeric", lower=np.float32(0), upper=np.int64(9), bins=np.int8(3), public=np.bool_(True))  # type: ignore[arg-type]
    assert attribute == Attribute("x", "numeric", lower=0, upper=9, bins=3, public=True)
    assert attribute.public is True
    json.dumps(attribute.to_dict())


@pytest.mark.parametrize("kind", ["numeric", "date"])
def test_equal_bounds_are_one_thing_however_they_are_held(kind: Any) -> None:
    made = [
        Attribute("x", kind, lower=zero, upper=nine) for zero, nine in ((0, 9), (-0.0, 9.0), (np.int8(0), np.float32(9)))
    ]
    assert len({Domain.of([one]).mark for one in made}) == len({json.dumps(one.to_dict()) for one in made}) == 1


MOMENTS = ["2020-01-02T23:30:00", "2020-01-03T00:30:00+02:00", "2020-01-02T23:30:00Z", None]


@pytest.mark.parametrize(
    "column",
    [
        pd.Series(MOMENTS),
        pd.Series(MOMENTS, dtype=object),
        pd.Series(MOMENTS, dtype="category"),
        pd.Series([text and datetime.datetime.fromisoformat(text) for text in MOMENTS], dtype=object),
        pd.Series([text and pd.Timestamp(text) for text in MOMENTS], dtype=object),
    ],
    ids=["text", "object", "category", "datetime", "timestamp"],
)
def test_times_with_a_zone_have_the_day_of_their_own_clock(column: pd.Series[Any]) -> None:
    attribute = Attribute("x", "date", lower=18262, upper=18271, missing=True)
    assert attribute.encode(column).tolist() == [1, 2, 1, 10]


def test_days_before_and_after_all_calendars_are_clipped_like_numbers() -> None:
    attribute = Attribute("x", "date", lower=0, upper=9)
    column = pd.Series(np.array([-(10**13), 10**13, 86_399], "datetime64[s]"))
    assert attribute.encode(column).tolist() == [0, 9, 0]
    column = pd.Series(["9999-12-31T23:59:59.999999", "1969-12-31T23:59:59"])
    assert Attribute("x", "date", lower=-1, upper=2_932_896).numbers(column).tolist() == [2_932_896, -1]


@pytest.mark.parametrize("values", [pd.to_datetime(["2020-01-01"]), pd.to_timedelta([1], unit="D"), [b"1"], [1j]], ids=str)
def test_what_is_no_number_is_not_taken_for_one(values: Any) -> None:
    with pytest.raises(DomainError, match=r"row 1 has .* not a number"):
        Attribute("x", "numeric", lower=0, upper=9).encode(pd.Series(values))


@pytest.mark.parametrize("unit", ["ns", "h", "D"])
def test_a_duration_among_other_cells_is_no_number(unit: Any) -> None:
    with pytest.raises(DomainError, match=r"row 2 has .* not a number"):
        Attribute("x", "numeric", lower=0, upper=9).encode(pd.Series([1, np.timedelta64(3, unit)], dtype=object))


def test_numbers_too_large_for_double_precision_are_clipped() -> None:
    column = pd.Series([10**400, -(10**400), decimal.Decimal("1e400"), "7"], dtype=object)
    assert Attribute("x", "numeric", lower=0, upper=9).numbers(column).tolist() == [9, 0, 9, 7]


@pytest.mark.parametrize("unconfirmed", range(3))
def test_one_column_that_nobody_confirmed_is_enough(unconfirmed: int) -> None:
    """Whatever its kind, it is named, and the domain is not public."""
    columns = [
        Attribute("t", "truth", ("n", "y"), public=True),
        Attribute("c", "categorical", ("x",), public=True),
        Attribute("x", "numeric", lower=0, upper=1, public=True),
    ]
    columns[unconfirmed] = replace(columns[unconfirmed], public=False)
    domain = Domain.of(columns)
    assert not domain.is_public
    assert f"the domain of {columns[unconfirmed].name} was inferred" in domain.warning
    assert "1 not confirmed as public" in repr(domain)
    assert "; confirmed as public" not in repr(domain)
    assert "not confirmed" not in repr(domain.confirmed())
    assert domain.confirmed().is_public
    assert domain.confirmed().warning == ""


@pytest.mark.parametrize(
    "day", ["2019-01-01", pd.Timestamp("2019-01-01 13:00"), datetime.date(2019, 1, 1), np.datetime64("2019-01-01"), 17897]
)
def test_bounds_of_dates_are_dates(day):
    assert Attribute("d", "date", lower=day, upper="2020-01-01").lower == 17897.0


@pytest.mark.parametrize("day", ["2019-13-01", "soon", pd.NaT])
def test_what_is_no_date_is_no_bound(day):
    with pytest.raises(DomainError, match="a date such as 2024-12-31"):
        Attribute("d", "date", lower=day, upper="2020-01-01")


def test_an_attribute_is_changed_by_its_name():
    domain = Domain.of([Attribute("a", "categorical", ("x", "y"), public=True)])
    assert domain.replace("a", missing=True)["a"] == replace(domain["a"], missing=True)
    with pytest.raises(DomainError, match="'b'"):
        domain.replace("b", missing=True)
    secret = Attribute("b", "categorical", ("x", "z"))
    both = Domain.of([*domain.attributes, secret])
    with pytest.raises(DomainError, match="two columns are called 'b'"):
        both.replace("a", name="b")
    assert both.replace("a", name="c").names == ("c", "b")
    assert both.replace(secret, missing=True)["b"] == replace(secret, missing=True)
    for one in ("a", secret):
        with pytest.raises(ParameterError, match=r"binz = 3 .*no such field; there are name, kind, .*bins"):
            both.replace(one, binz=3)


X = Attribute("x", "numeric", lower=0, upper=1, bins=3)
DAYS = Attribute("x", "date", lower=0, upper=90)
FIELDS: list[tuple[str, Attribute, Any]] = [
    ("name", X, "y"),
    ("kind", Attribute("x", "categorical", (0, 1)), "truth"),
    ("categories", Attribute("x", "categorical", ("a", "b")), ("b", "a")),
    ("categories", Attribute("x", "categorical", (0, 1)), (False, True)),
    ("lower", X, -1),
    ("upper", X, 2),
    ("unit", X, 0.3),
    ("unit", replace(X, unit=0.3), 0.5),
    ("bins", X, 4),
    ("integer", X, True),
    ("missing", X, True),
    ("public", X, True),
    ("keep", DAYS, ("month",)),
    ("keep", replace(DAYS, keep=("weekday",)), ("month",)),
]


def test_codes_stay_what_they_are_where_nothing_but_what_is_known_differs():
    """Tables keep their codes then."""
    assert {field for field, _, _ in FIELDS} == {field.name for field in fields(Attribute)}
    for field, one, value in FIELDS:
        other = replace(one, **{field: value})
        for a, b in ((one, other), (other, one)):
            assert a.encodes_as(b) is (field == "public"), field
            assert a.encodes_as(replace(b, public=not b.public)) is (field == "public"), field
        assert one.encodes_as(replace(one))
    with pytest.raises(ParameterError, match="an attribute"):
        X.encodes_as("x")


def test_a_column_of_categories_has_no_edges():
    for name in ("edges", "unit_edges"):
        with pytest.raises(DomainError, match="'k' is of categories and has no bounds"):
            getattr(Attribute("k", "truth", (0, 1)), name)


def test_a_column_of_numbers_by_hand() -> None:
    """Two of four on the ends; halves between whole numbers, but not beyond the bounds, where they are clipped."""
    for upper, share in ((9, 0.5), (8, 0.0)):  # nine values are few, and half of them may well be the ends
        whole = Attribute("x", "numeric", lower=0, upper=upper, bins=2, integer=True, missing=True)
        assert whole.on_a_bound(pd.Series([0, upper, 4, 5])) == share
    real = Attribute("x", "numeric", lower=0, upper=1, bins=2)
    assert real.on_a_bound(pd.Series([0.0, 1.0, 0.5, 0.6])) == 0.5
    assert whole.between_units(pd.Series([0.5, 8.5, -0.5, 3.0])).tolist() == [True, False, False, False]
    assert whole.from_units(np.array([1.0, 2.0])).dtype == "Int64"  # as where a cell is empty
    assert replace(whole, missing=False).from_units(np.array([1.0, 2.0])).dtype == "int64"


def test_bounds_are_written_with_all_their_digits() -> None:
    """Six digits would say that 10,000,000 lies within bounds that end at 9,999,999."""
    for lower, upper, written in (
        (0, 9_999_999, ("0", "9999999")),
        (1_000_000, 1_000_001, ("1000000", "1000001")),
        (-0.25, 1234567.89, ("-0.25", "1234567.89")),
    ):
        attribute = Attribute("x", "numeric", lower=lower, upper=upper)
        assert attribute.bounds == written
        assert attribute.reach == " to ".join(written)
    assert Attribute("d", "date", lower="0099-12-31", upper="9999-12-31").bounds == ("0099-12-31", "9999-12-31")
    assert Attribute("k", "truth", (0, 1)).bounds == ("", "")
    with pytest.raises(ParameterError, match="numbers that grow, from 0 to 10000000"):
        Attribute("x", "numeric", lower=0, upper=9_999_999, unit=1).labels([1, 0])


def test_bins_that_hold_nothing_have_no_labels() -> None:
    ten = Attribute("x", "numeric", lower=0, upper=9, bins=2, unit=1)
    assert ten.labels([0, 5, 6, 10]) == ["0 to 4", "5", "6 to 9"]
    for edges in ([0, 5, 5, 10], [0, 6, 5, 10]):
        with pytest.raises(ParameterError, match="numbers that grow"):
            ten.labels(edges)


def test_a_bound_is_inside_and_a_short_number_is_as_near_its_multiple_as_it_can_be() -> None:
    """In single precision 12,345.6 is 0.0004 too large: no number of the data that its unit does not have."""
    cents = Attribute("x", "numeric", lower=-2.5, upper=20_000, unit=0.1)
    assert cents.outside(pd.Series([-2.6, -2.5, 20_000, 20_000.1])).tolist() == [True, False, False, True]
    for kind, found in (("float32", False), ("float64", True)):
        cells = pd.Series(np.array([12_345.6, 0.1], dtype="float32").astype(kind))
        assert cents.between_units(cells).tolist() == [found, False]


def test_empty_cells_lie_on_no_bound_and_count_as_cells() -> None:
    real = Attribute("x", "numeric", lower=0, upper=100, missing=True)
    assert real.on_a_bound(pd.Series([None, None, None, 0.0, 50.0])) == 0.2


def test_a_column_says_nothing_where_it_has_one_value_and_not_where_it_has_one_bin() -> None:
    one = Attribute("x", "categorical", ("a",))
    for attribute, constant in (
        (one, True),
        (replace(one, missing=True), False),
        (replace(one, categories=("a", "b")), False),
        (replace(X, bins=1), False),
        (replace(DAYS, bins=1), False),
    ):
        assert attribute.is_constant is constant


def test_what_a_date_keeps_is_one_thing_in_any_order() -> None:
    one, other = (
        Attribute("d", "date", lower=0, upper=99, keep=keep) for keep in (("weekday", "month"), ("month", "weekday"))
    )
    assert one == other
    assert other.keep == ("weekday", "month")


def test_all_columns_are_confirmed_or_none_and_a_cube_has_two_codes_in_each():
    of = [Attribute(name, "categorical", ("u", "v"), public=name != "b") for name in "abc"]
    for domain in (Domain.of(of), Domain.of(of).confirmed()):
        assert [a.public for a in domain.unconfirmed().attributes] == [False] * 3
        assert [a.public for a in domain.confirmed().attributes] == [True] * 3
    for values, cube in ((("u", "v"), True), (("u",), False), (("u", "v", "w"), False)):
        assert Domain.of([*of, Attribute("d", "categorical", values)]).is_binary is cube
