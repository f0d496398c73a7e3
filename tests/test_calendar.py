"""Weekday, month and day of the month of dates: what is added to a row, and what a neighbour moves."""

from __future__ import annotations

import datetime
from dataclasses import replace
from itertools import combinations
from typing import Any

import numpy as np
import pandas as pd
import pytest

import dpsyn
from dpsyn.app.releases import expectations
from dpsyn.calendar import WithCalendar, calendar_codes, with_calendar, without_calendar
from dpsyn.domain import CALENDAR
from dpsyn.errors import DomainError, InputError, ParameterError
from dpsyn.mechanisms.base import no_progress
from dpsyn.mechanisms.noisy_reweighting.audit import worst_rows
from dpsyn.mechanisms.noisy_reweighting.inside import Inside
from dpsyn.mechanisms.private_sampling.local_loss import LossMeter
from dpsyn.mechanisms.registry import MECHANISMS, as_it_comes
from dpsyn.privacy.histograms import Encoding, Histograms
from dpsyn.solvers.coded import CodedRows
from tests.mechanisms.test_what_gets_noise import Deaf

TEN_YEARS = dpsyn.Attribute("day", "date", lower=14_610, upper=18_261, public=True, keep=("month", "weekday"))
PAID = dpsyn.Attribute("paid", "truth", (False, True), public=True)
SPEC = dpsyn.PrivacySpec(5.0, 1e-5)


def of_days(days: Any, attribute: dpsyn.Attribute = TEN_YEARS) -> dpsyn.Table:
    column = attribute.from_units(np.asarray(days, dtype=np.float64))
    return dpsyn.Table(
        pd.DataFrame({attribute.name: column, "paid": np.arange(len(column)) % 3 == 0}), dpsyn.Domain.of([attribute, PAID])
    )


def working_days(n: int) -> dpsyn.Table:
    """No Saturday, no Sunday, nothing in August."""
    days = np.random.default_rng(1).integers(14_610, 18_262, 4 * n).astype(np.float64)
    return of_days(days[(calendar_codes("weekday", days) < 5) & (calendar_codes("month", days) != 7)][:n])


def test_codes_are_those_of_the_calendar() -> None:
    days = np.array([-719_162, -1, 0, 1, 59, 60, 19_782, 2_932_896])
    dates = [datetime.date.fromordinal(int(day) + datetime.date(1970, 1, 1).toordinal()) for day in days]
    assert calendar_codes("weekday", days.astype(float)).tolist() == [date.weekday() for date in dates]
    assert calendar_codes("month", days.astype(float)).tolist() == [date.month - 1 for date in dates]
    assert calendar_codes("day", days.astype(float)).tolist() == [date.day - 1 for date in dates]
    assert calendar_codes("weekday", np.array([np.nan])).tolist() == [7]
    assert calendar_codes("day", np.array([np.nan])).tolist() == [31]
    assert calendar_codes("month", np.array([np.nan])).tolist() == [12]


def test_what_a_date_keeps_is_checked_and_written() -> None:
    assert TEN_YEARS.keep == ("weekday", "month")
    assert dpsyn.Attribute.from_dict(TEN_YEARS.to_dict()) == TEN_YEARS
    assert "keep" not in replace(TEN_YEARS, keep=()).to_dict()
    for kind, keep in (("date", ("year",)), ("date", "weekday"), ("date", 3), ("numeric", ("weekday",))):
        with pytest.raises(DomainError, match=r"day.*(keep|weekday)"):
            dpsyn.Attribute("day", kind, lower=0, upper=100, keep=keep)


def test_columns_are_added_and_none_where_nothing_is_kept() -> None:
    clash = dpsyn.Attribute("day (month)", "truth", (0, 1), public=True)
    domain = dpsyn.Domain.of([replace(TEN_YEARS, missing=True), clash])
    wide = with_calendar(domain)
    assert isinstance(wide, WithCalendar)
    assert wide.names == ("day", "day (month)", "day (weekday)", "day (month)'")
    assert wide.shape == (11, 2, 8, 13)
    assert wide.is_public
    assert not with_calendar(domain.replace(replace(TEN_YEARS, public=False))).is_public
    plain = domain.replace(replace(TEN_YEARS, keep=()))
    assert with_calendar(plain) is plain


@pytest.mark.parametrize("missing", [False, True])
@pytest.mark.parametrize("neighbouring", ["replace_one", "add_remove"])
def test_no_neighbour_moves_more_than_the_ledger_says(missing, neighbouring) -> None:
    """Every day of a small range against every other: tables with the added columns, and the tree."""
    day = dpsyn.Attribute("day", "date", lower=0, upper=45, bins=3, missing=missing, public=True, keep=CALENDAR)
    domain = dpsyn.Domain.of([day, PAID])
    spec = dpsyn.PrivacySpec(1.0, 1e-5, neighbouring)
    mechanism = dpsyn.NoisyReweighting(refinements=0).calibrate(spec, domain, 40)
    values = [*range(46), *([np.nan] if missing else [])]
    rows = of_days(np.repeat(values, 2).astype(np.float64), day)
    encoding = Encoding(mechanism.domain)
    rows = dpsyn.Table(rows.frame.assign(paid=np.arange(rows.n) % 2 == 0), domain)
    codes = encoding.codes(rows)
    assert codes.shape == (rows.n, 5)
    # What is added to a row hangs on no other row.
    assert np.array_equal(codes, np.concatenate([encoding.codes(rows.take(np.array([i]))) for i in range(rows.n)]))
    counted = np.stack([mechanism.exact(CodedRows(row[None], mechanism.domain.shape)) for row in codes])
    parts = mechanism.ledger.parts
    most = np.zeros(len(parts), dtype=int)
    pairs = combinations(range(len(codes)), 2) if neighbouring == "replace_one" else ((i, i) for i in range(len(codes)))
    for first, second in pairs:
        moved = np.abs(counted[first] - counted[second] if neighbouring == "replace_one" else counted[first])
        assert moved.max() <= 1
        most = np.maximum(most, [moved[mechanism.part_of == part].sum() for part in range(len(parts))])
    said = [part.moved for part in parts]
    assert parts[-1].name == "fine histograms"
    assert most[:-1].tolist() == said[:-1]
    # As many as without the calendar: the tree is that of the dates.
    plain = Histograms.of(without_calendar(domain))
    assert plain is not None
    assert said[-1] == mechanism.histograms.moved(neighbouring) == plain.moved(neighbouring) > 0
    assert len(mechanism.statistics.tables) == 10


CONFIGS = {
    "noisy reweighting": dpsyn.NoisyReweighting(reduced_space_size=2000),
    "noisy reweighting, equal width": dpsyn.NoisyReweighting(histogram_share=0.0, reduced_space_size=2000),
    "MWEM": dpsyn.MWEM(rounds=4, rows=50),
    "private sampling": dpsyn.PrivateSampling(degree=1, rows=3, histogram_share=0.1),
}


@pytest.mark.parametrize("name", CONFIGS)
def test_of_the_days_only_noisy_numbers_are_learned(name) -> None:
    """A deaf source of noise: the same rows whatever the days are; what it was handed has the calendar in it."""
    found, heard = [], []
    for table in (of_days(np.full(120, 14_700)), working_days(120)):
        mechanism = CONFIGS[name].calibrate(replace(SPEC, epsilon=60.0), table.domain, table.n)
        noise = Deaf(3)
        noise.exponential_choice = lambda distances, _: len(distances) // 2  # type: ignore[method-assign]
        if name == "private sampling":  # its rows are draws, not made of noisy numbers
            codes = np.zeros((5, 4), dtype=np.int32)
            found.append(mechanism.stage.encoding(noise, table).decode(codes, np.random.default_rng(0)))
        else:
            found.append(mechanism._run(noise, table, no_progress)[0])
        heard.append(noise.handed)
    pd.testing.assert_frame_equal(*found)
    assert list(found[0].columns) == ["day", "paid"]
    if name.startswith("noisy"):
        assert any(not np.array_equal(one[1], other[1]) for one, other in zip(*heard, strict=True))


@pytest.mark.parametrize("name", ["noisy reweighting", "noisy reweighting, equal width", "MWEM"])
def test_weekdays_and_months_are_kept_where_asked_for(name) -> None:
    table = working_days(2500)
    config = CONFIGS[name] if name != "MWEM" else dpsyn.MWEM(rounds=60, histogram_share=0.0)
    spec = replace(SPEC, epsilon=3.0 if name != "MWEM" else 1000.0)
    errors = {}
    for keep in ((), ("weekday", "month")):
        rows_of = dpsyn.Table(table.frame, table.domain.replace(replace(TEN_YEARS, keep=keep)))
        release = config.calibrate(spec, rows_of.domain, table.n)(np.random.default_rng(1), rows_of)
        assert list(release.rows.columns) == ["day", "paid"]
        assert release.rows["day"].between("2010-01-01", "2019-12-31").all()
        days = TEN_YEARS.in_units(release.rows["day"])
        errors[keep] = [(calendar_codes("weekday", days) >= 5).mean(), (calendar_codes("month", days) == 7).mean()]
    assert max(errors["weekday", "month"]) < 0.02
    assert errors[()][0] > 0.2


def test_what_was_drawn_has_the_codes_it_was_drawn_for() -> None:
    wide = with_calendar(working_days(10).domain)
    random = np.random.default_rng(0)
    codes = random.integers(0, wide.shape, (400, 4)).astype(np.int32)
    days = TEN_YEARS.in_units(Encoding(wide).decode(codes, random)["day"])
    assert np.array_equal(calendar_codes("weekday", days), codes[:, 2])
    assert np.array_equal(calendar_codes("month", days), codes[:, 3])
    # Bins are about a year wide: each holds every weekday of every month.
    assert np.array_equal(np.searchsorted(TEN_YEARS.unit_edges, days, side="right") - 1, codes[:, 0])


def test_empty_dates_stay_empty_and_an_empty_part_says_nothing() -> None:
    attribute = replace(TEN_YEARS, missing=True)
    wide = with_calendar(dpsyn.Domain.of([attribute, PAID]))
    codes = np.array([[10, 0, 3, 3], [2, 0, 7, 5], [2, 0, 7, 12]], dtype=np.int32)
    drawn = Encoding(wide).decode(codes, np.random.default_rng(0))["day"]
    assert drawn.isna().tolist() == [True, False, False]
    assert drawn.dt.month[1] == 6


@pytest.mark.parametrize("keep", [("month",), ("weekday", "month")])
def test_months_that_are_drawn_without_regard_to_the_bins_leave_these_as_they_were_measured(keep: tuple[str, ...]) -> None:
    random = np.random.default_rng(0)
    days = np.datetime64("2023-01-01") + random.integers(0, 731, 20_000)
    attribute = dpsyn.Attribute("d", "date", lower="2023-01-01", upper="2024-12-31", bins=24, keep=keep, public=True)
    table = dpsyn.read_table(pd.DataFrame({"d": days}), domain=dpsyn.Domain.of([attribute]))
    release = dpsyn.Independent().calibrate(dpsyn.PrivacySpec(5.0), table.domain, n=table.n)(random, table)
    made = pd.to_datetime(release.rows["d"])
    for frequency in ("Q", "M"):
        was, now = (one.dt.to_period(frequency).value_counts() for one in (pd.Series(days), made))
        assert (was - now).abs().max() < 0.1 * was.mean()
    assert made.value_counts().max() < 200  # 27 a day; it was 791


@pytest.mark.parametrize("keep", [(), ("day",), ("weekday", "day"), ("month", "day"), CALENDAR])
def test_bills_of_the_first_of_a_month_stay_there_where_days_are_kept(keep: tuple[str, ...]) -> None:
    """5,000 of 168 months at ε = 1. Noise on the 31 days adds some rows to the others."""
    random = np.random.default_rng(9)
    months = (np.datetime64("2010-01") + random.integers(0, 168, 5_000)).astype("datetime64[D]")
    day = dpsyn.Attribute("day", "date", lower="2010-01-01", upper="2023-12-31", public=True, keep=keep)
    table = of_days(months.astype(np.float64), day)
    release = dpsyn.NoisyReweighting().calibrate(dpsyn.PrivacySpec(1.0, 1e-5), table.domain, table.n)(random, table)
    first = (release.rows["day"].dt.day == 1).mean()
    assert first > 0.95 if keep else first < 0.1


def test_another_domain_is_refused_and_draws_can_be_repeated() -> None:
    table = working_days(60)
    mechanism = dpsyn.NoisyReweighting().calibrate(SPEC, table.domain, 60)
    with pytest.raises(InputError, match="calibrate again"):
        mechanism(np.random.default_rng(0), table.with_domain(table.domain.replace(replace(TEN_YEARS, keep=()))))
    release = mechanism(np.random.default_rng(0), table)
    again = mechanism.redraw(np.random.default_rng(1), release)
    assert list(again.columns) == ["day", "paid"]
    assert len(again) == 60


def test_where_the_fit_is_over_the_domain_as_it_is_nothing_is_added() -> None:
    table = working_days(60)
    config = dpsyn.NoisyReweighting(reduced_space="public", public=table)
    assert config.calibrate(SPEC, table.domain, 60).domain == table.domain


@pytest.mark.parametrize("name", MECHANISMS)
def test_what_a_mechanism_does_not_keep_it_says_before_the_run_and_after(name: str) -> None:
    table = working_days(60)
    config = as_it_comes(name, table, "paid")
    assert config is not None
    asked = config.fewer_rows(1) or config if name == "private_sampling" else config
    quick = {"dual_query": {"rounds": 5}, "dp_gan": {"steps": 50}}.get(name, {})
    asked = replace(asked, **quick)
    mechanism = asked.calibrate(replace(SPEC, epsilon=20), table.domain, 60)
    said = [sentence for _, sentence in expectations(mechanism) if "weekday, month or day of the month of 'day'" in sentence]
    assert bool(said) is not isinstance(mechanism.domain, WithCalendar)
    silent = asked.calibrate(replace(SPEC, epsilon=20), table.domain.replace(replace(TEN_YEARS, keep=())), 60)
    assert "weekday" not in str(expectations(silent))
    assert set(said) <= set(mechanism(np.random.default_rng(0), table).notes)


def test_statistics_of_the_users_own_keep_no_weekday_and_say_so() -> None:
    table = working_days(60)
    config = dpsyn.NoisyReweighting(reduced_space="public", public=table)
    assert config.not_kept(table.domain)
    with pytest.raises(ParameterError, match="domain"):
        config.not_kept(None)  # type: ignore[arg-type]


def test_what_is_shown_of_a_run_is_shown_with_what_is_added() -> None:
    table = working_days(200)
    mechanism = dpsyn.NoisyReweighting().calibrate(SPEC, table.domain, table.n)
    run = Inside(mechanism, table, 0)
    assert run.tables.sizes == mechanism.domain.shape == (10, 2, 7, 12)
    assert len(run.exact) == mechanism.statistic_count
    assert worst_rows(mechanism)[0].shape == (1, 4)
    loss = LossMeter(dpsyn.PrivateSampling(degree=1), table)
    assert loss.neighbours.rows.shape[1] == 2
