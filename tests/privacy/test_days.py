"""Days for rows of which bin, weekday, month and day of the month are drawn already."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import numpy.typing as npt
import pandas as pd
import pytest

import dpsyn
from dpsyn.calendar import PARTS, calendar_codes, with_calendar
from dpsyn.domain import CALENDAR
from dpsyn.privacy.days import drawn_days
from dpsyn.privacy.histograms import Bins, Encoding, Histograms

N = 20_000
SEVERAL = [keep for size in (1, 2, 3) for keep in combinations(CALENDAR, size)]


def of_a_year(keep: tuple[str, ...]) -> tuple[npt.NDArray[np.float64], dpsyn.Table]:
    """Days of 2025 in ten bins, which cut months: more of March and December, few Sundays."""
    random = np.random.default_rng(3)
    days = np.arange(20_089.0, 20_454.0)
    month = calendar_codes("month", days)
    weights = np.where(month == 11, 3.0, np.where(month == 2, 2.0, 1.0)) * np.where(
        calendar_codes("weekday", days) == 6, 0.2, 1
    )
    attribute = dpsyn.Attribute("d", "date", lower=20_089, upper=20_453, bins=10, keep=keep, public=True)
    drawn = random.choice(days, N, p=weights / weights.sum())
    return drawn, dpsyn.Table(pd.DataFrame({"d": attribute.from_units(drawn)}), dpsyn.Domain.of([attribute]))


def decoded(table: dpsyn.Table, codes: npt.NDArray[np.int32]) -> npt.NDArray[np.float64]:
    """With the rows of every day known."""
    histograms = Histograms.of(with_calendar(table.domain), fixed_bins=True)
    assert histograms is not None
    encoding = histograms.learn(table, lambda counts: counts, 0.0, table.n)
    made = encoding.decode(codes, np.random.default_rng(0))
    return table.domain["d"].in_units(made["d"])


def shuffled_inside(groups: npt.NDArray[np.int32], column: npt.NDArray[np.int32]) -> npt.NDArray[np.int32]:
    random, found = np.random.default_rng(1), column.copy()
    for group in np.unique(groups):
        found[groups == group] = random.permutation(column[groups == group])
    return found


def moved(one: npt.NDArray[np.int32], other: npt.NDArray[np.int32]) -> float:
    """The share of rows that would have to change."""
    size = max(one.max(), other.max()) + 1
    return float(np.abs(np.bincount(one, minlength=size) - np.bincount(other, minlength=size)).sum() / 2 / len(one))


def bins_of(days: npt.NDArray[np.float64], table: dpsyn.Table) -> npt.NDArray[np.int32]:
    return Bins.of_equal_width(table.domain["d"], 0).codes(days)


@pytest.mark.parametrize("keep", SEVERAL)
def test_rows_that_are_drawn_as_they_were_keep_bin_weekday_month_and_day_of_the_month(keep: tuple[str, ...]) -> None:
    """With nothing known of the days of a bin."""
    _, table = of_a_year(keep)
    encoding = Encoding(with_calendar(table.domain))
    codes = encoding.codes(table)
    made = table.domain["d"].in_units(encoding.decode(codes, np.random.default_rng(0))["d"])
    assert np.array_equal(bins_of(made, table), codes[:, 0])
    for column, part in enumerate(keep, 1):
        assert np.array_equal(calendar_codes(part, made), codes[:, column])


@pytest.mark.parametrize("keep", SEVERAL)
@pytest.mark.parametrize("inside", [True, False])
def test_parts_drawn_without_regard_to_each_other_or_to_the_bins_are_as_frequent_as_they_were(
    keep: tuple[str, ...], inside: bool
) -> None:
    """No day may have what a row asks for: the first 36 of the year hold 5 of February, and only one Monday the 13th."""
    days, table = of_a_year(keep)
    codes = Encoding(with_calendar(table.domain)).codes(table)
    groups = codes[:, 0] if inside else np.zeros(N, np.int32)
    for column in range(1, len(keep) + 1):
        codes[:, column] = shuffled_inside(groups, codes[:, column])
    made = decoded(table, codes)
    assert np.array_equal(bins_of(made, table), codes[:, 0])
    for part in PARTS:
        assert moved(calendar_codes(part, made), calendar_codes(part, days)) < (0.006 if part in keep else 0.015), part
    if inside:
        assert moved((made - 20_089).astype(np.int32), (days - 20_089).astype(np.int32)) < 0.05


def test_a_row_has_all_that_it_asks_for_where_hardly_any_bin_lacks_it() -> None:
    """Bins of a year, weekdays and months drawn for themselves, a histogram with most rows on other pairs of them."""
    random = np.random.default_rng(0)
    attribute = dpsyn.Attribute("d", "date", lower="2005-01-01", upper="2024-12-30", bins=20, keep=CALENDAR[:2], public=True)
    wide = with_calendar(dpsyn.Domain.of([attribute]))
    codes = np.column_stack([random.integers(0, size, N) for size in wide.shape]).astype(np.int32)
    days = np.arange(*attribute.unit_edges[[0, -1]])
    known = np.column_stack(
        [Bins.of_equal_width(attribute, 0).codes(days), *(calendar_codes(part, days) for part in CALENDAR[:2])]
    ).astype(np.int64)
    # No day of the first bin is a Monday of January: chance misses as often as these rows do.
    lacking = (known[:, 0] == 0) & (known[:, 1] == 0) & (known[:, 2] == 0)
    known, wished = known[~lacking], codes.astype(np.int64)
    weights = np.where(known[:, 1] == known[:, 2] % 7, 50.0, 1.0)
    given = known[drawn_days(weights, known, wished, random.random(N), random)]
    assert (given == wished).all(axis=1).mean() > 0.995


def test_later_positions_have_later_days_among_rows_that_ask_for_the_same() -> None:
    """Two weeks: two rows on each Monday, one row on each Tuesday."""
    known = np.column_stack([np.zeros(14, np.int64), np.arange(14) % 7])
    wished = np.array([[0, 0], [0, 0], [0, 0], [0, 1], [0, 1], [0, 0]])
    position = np.array([0.9, 0.1, 0.8, 0.7, 0.2, 0.3])
    given = drawn_days(np.ones(14), known, wished, position, np.random.default_rng(0))
    assert given.tolist() == [7, 0, 7, 8, 1, 0]


def test_a_row_stays_in_its_bin_whatever_it_asks_for() -> None:
    """Bins of one day, of two days and of none that anything was estimated of; code 7 is of no day."""
    known = np.array([[0, 3], [1, 4], [1, 5], [2, 6]])
    wished = np.array([[0, 1], [1, 5], [1, 7], [2, 7], [2, 6]])
    for seed in range(5):
        given = drawn_days(np.array([2.0, 1, 1, 0]), known, wished, np.zeros(5), np.random.default_rng(seed))
        assert known[given, 0].tolist() == [0, 1, 1, 2, 2]
        assert given[1] == 2
    assert drawn_days(np.ones(4), known, wished[:0], np.zeros(0), np.random.default_rng(0)).tolist() == []


@pytest.mark.parametrize("keep", [("month",), ("weekday", "month"), ("month", "day")])
@pytest.mark.parametrize("config", [dpsyn.MST(), dpsyn.NoisyReweighting()])
def test_months_that_bins_cut_are_right_where_they_are_kept(config: dpsyn.MST, keep: tuple[str, ...]) -> None:
    days, table = of_a_year(keep)
    release = config.calibrate(dpsyn.PrivacySpec(10.0, 1e-5), table.domain, n=N)(np.random.default_rng(0), table)
    real = np.bincount(calendar_codes("month", days))
    made = np.bincount(pd.to_datetime(release.rows["d"]).dt.month - 1, minlength=12)
    assert (np.abs(made - real) / real).max() < 0.06
