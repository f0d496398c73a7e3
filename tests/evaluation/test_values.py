"""Columns compared by their values: against SciPy, by hand, and in words where one is ruined."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from scipy import stats

import dpsyn
from dpsyn.evaluation import correlations as coefficients
from dpsyn.evaluation.correlations import correlations
from dpsyn.evaluation.report import flat_measures, references
from dpsyn.evaluation.values import _ERRORS, QUANTILES, _apart, value_errors
from dpsyn.notation import percent

GAIN = dpsyn.Attribute("gain", "numeric", lower=0, upper=100, bins=4, missing=True, public=True)
DAY = dpsyn.Attribute("day", "date", lower=0, upper=20_000, bins=5, public=True)
WORD = dpsyn.Attribute("word", "categorical", ("a", "b"), public=True)


def of(attribute: dpsyn.Attribute, *columns: object) -> tuple[dpsyn.Table, ...]:
    domain = dpsyn.Domain.of([attribute, WORD])
    frames = [pd.DataFrame({attribute.name: column}) for column in columns]
    return tuple(dpsyn.Table(frame.assign(word="a"), domain) for frame in frames)


def test_distances_are_those_of_scipy():
    random = np.random.default_rng(0)
    real, other = random.gamma(2, 8, 700).clip(0, 100), random.gamma(3, 8, 300).clip(0, 100)
    (found,) = value_errors(*of(GAIN, real, other))
    assert found.kolmogorov_smirnov == pytest.approx(stats.ks_2samp(real, other).statistic, abs=1e-12)
    assert found.wasserstein == pytest.approx(stats.wasserstein_distance(real, other) / 100, rel=1e-9)
    assert found.mean == pytest.approx(other.mean())
    assert found.real_deviation == pytest.approx(real.std())
    np.testing.assert_allclose(found.real_quantiles, np.quantile(real, QUANTILES))


def test_a_lost_spike_is_told_though_every_bin_of_the_domain_agrees():
    """All in one bin of the domain: neither values nor tables, which take the bins of the real rows, are taken in."""
    real, other = np.zeros(1000), np.linspace(0, 24.9, 1000)
    table, rows = of(GAIN, real, other)
    report = dpsyn.evaluate(table, rows.frame)
    np.testing.assert_array_equal(table.codes[:, 0], rows.codes[:, 0])
    assert report.marginals[1].max == pytest.approx(0.999)
    (found,) = report.values
    assert found.warning().startswith(
        "0 makes up 100\N{NO-BREAK SPACE}% of the real values and 0.1\N{NO-BREAK SPACE}% of the synthetic ones"
    )
    assert found.kolmogorov_smirnov == pytest.approx(0.999)
    assert report.to_dict()["release"]["values"][0]["column"] == "gain"
    assert value_errors(table, table)[0].warning() == ""


def test_what_most_rows_have_does_not_hide_how_the_others_are():
    others = np.linspace(10, 90, 200)
    real = np.append(np.zeros(1800), others)
    (kept,) = value_errors(*of(GAIN, real, real))
    assert kept.rest is not None
    assert (kept.rest.real_rows, kept.rest.mean, kept.warning()) == (200, pytest.approx(50), "")
    # Of all rows the mean is off by a twelfth of the deviation, and the share up to any value by less than a twentieth.
    (far,) = value_errors(*of(GAIN, real, np.append(np.zeros(1800), 50 + (others - 50) / 4 - 15)))
    assert far.kolmogorov_smirnov < 0.1
    assert far.warning().startswith("apart from 0, the mean is 50, and 35 synthetic")
    assert far.to_dict()["rest"]["real_mean"] == pytest.approx(50)
    for here, there in ((29, 29), (30, 29), (29, 30), (30, 30)):  # either side needs 30
        (few,) = value_errors(*of(GAIN, np.append(np.zeros(900), others[:here]), np.append(np.zeros(900), others[:there])))
        assert (few.rest is None) == (min(here, there) < 30)


def test_a_shifted_mean_and_a_shifted_law_are_told():
    real = np.linspace(20, 40, 500)
    (shifted,) = value_errors(*of(GAIN, real, real + 3))
    assert shifted.warning() == "the mean is 30, and 33 synthetic"
    (wider,) = value_errors(*of(GAIN, real, 30 + 2.5 * (real - 30)))
    assert wider.warning() == "the deviation is 5.785, and 14.46 synthetic"
    corners = np.repeat([24.23, 35.77], 250)
    (law,) = value_errors(*of(GAIN, real, corners + random_small(500)))
    assert "up to some value" in law.warning()
    assert law.warning(law) == ""  # other real rows are as far


def test_of_common_values_the_one_that_is_further_off_than_in_other_real_rows_is_named():
    rest = np.linspace(10, 90, 400)
    (found,) = value_errors(*of(GAIN, *([0.0] * zeros + [1.0] * (600 - zeros) + [*rest] for zeros in (400, 100))))
    zero, one = found.spikes[:2]
    assert [(spike.value, spike.real, spike.share) for spike in (zero, one)] == [(0, 0.4, 0.1), (1, 0.2, 0.5)]
    assert found.warning(replace(found, spikes=(one,))).startswith(f"0 makes up {percent(0.4)} of the real values")
    assert found.warning(replace(found, spikes=(zero,))).startswith(f"1 makes up {percent(0.2)} of the real values")
    assert found.warning(found) == ""


def test_chance_hardly_moves_the_deviation_of_two_numbers_that_are_as_frequent():
    """Their fourth moment is the square of their second one; that of 200 rows of a normal law may move by 0.42."""
    real, other = np.repeat([49, 51], 100), np.repeat([48.3, 51.7], 100)
    (found,) = value_errors(*of(GAIN, real, other))
    assert (found.real_kurtosis, found.kurtosis) == pytest.approx((1, 1))
    assert "the deviation is 1, and 1.7 synthetic" in found.warning()
    assert "deviation" not in replace(found, kurtosis=3.0).warning()


def random_small(rows: int) -> np.ndarray:
    return np.random.default_rng(1).normal(0, 0.5, rows)


@pytest.mark.parametrize("rows", [20, 60, 400, 5_000])
def test_two_samples_of_one_source_are_not_called_ruined(rows):
    random = np.random.default_rng(rows)
    pairs = [(random.normal(50, 10, rows).clip(0, 100), random.normal(50, 10, rows).clip(0, 100)) for _ in range(60)]
    pairs += [(random.integers(0, 5, rows), random.integers(0, 5, rows)) for _ in range(60)]
    ruined = sum(bool(value_errors(*of(GAIN, real, other))[0].warning()) for real, other in pairs)
    assert ruined <= 2


SUM = dpsyn.Attribute("sum", "numeric", lower=0, upper=1e9, bins=4, missing=True, public=True)
TAILS = {
    "lognormal": lambda random, rows: np.exp(1.5 * random.normal(size=rows)),
    "Pareto": lambda random, rows: random.pareto(1.5, rows),
    "rare": lambda random, rows: np.where(random.random(rows) < 0.0015, 5000.0, 0.0),
    "hardly known": lambda random, rows: np.where(random.random(rows) < 0.001, random.uniform(0, 9, rows), math.nan),
}


@pytest.mark.parametrize("rows", [1_500, 6_000])
@pytest.mark.parametrize("law", TAILS)
def test_two_samples_with_long_tails_or_few_values_are_not_called_ruined(law: str, rows: int):
    random = np.random.default_rng(rows)
    for _ in range(25):
        for real, other in ((rows, rows), (300, rows), (rows, 300)):
            (found,) = value_errors(*of(SUM, TAILS[law](random, real), TAILS[law](random, other)))
            assert found.warning() == ""
            assert found.few == (law == "hardly known")


@pytest.mark.parametrize("rows", [1_500, 6_000])
@pytest.mark.parametrize("law", [*TAILS, "pareto"])
def test_the_total_of_other_real_rows_is_hardly_ever_said_to_be_off(law: str, rows: int):
    random, off = np.random.default_rng(rows), 0
    laws = {**TAILS, "pareto": lambda random, rows: 1 + random.pareto(1.1, rows)}  # which has no deviation
    for _ in range(60):
        real, other, fresh = of(SUM, *(laws[law](random, size) for size in (rows, rows, rows // 3)))
        off += value_errors(real, other)[0].total_off(value_errors(real, fresh)[0])
    assert off <= 3


def test_a_total_that_a_long_tail_makes_half_as_large_again_is_told():
    random = np.random.default_rng(8)
    real, fresh, other = np.exp(1.5 * random.normal(size=(3, 6_000)))
    other[random.random(6_000) < 0.006] = real.max()
    found, beside = (value_errors(*of(SUM, real, each))[0] for each in (other, fresh))
    assert found.mean > 1.4 * found.real_mean
    assert found.total_off(beside)
    assert not replace(found, mean=1.2 * found.real_mean).total_off(beside)
    assert not replace(found, mean=1.2 * found.real_mean).total_off()
    assert replace(found, mean=0.5 * found.real_mean).total_off(beside)
    assert not found.total_off(replace(beside, mean=found.mean))
    assert not found.total_off(replace(beside, deviation=20 * found.real_deviation))
    for without in ({"is_date": True}, {"rows": 20}, {"real_quantiles": (-1.0, 0.0, 1.0, 2.0, 3.0)}, {"real_kurtosis": 2e3}):
        assert not replace(found, **without).total_off(beside)


def test_a_changed_law_with_long_tails_is_told():
    random = np.random.default_rng(5)
    real, other = np.exp(1.5 * random.normal(size=6_000)), np.exp(1.5 * random.normal(size=6_000))
    wide = np.where(random.random(6_000) < 0.01, 1e4, other)
    for changed in (3 * other, other.clip(0, 1.5), wide):
        assert value_errors(*of(SUM, real, changed))[0].warning()
    # A single cell, which another sample may have as well; and moments that real rows differ by as much in.
    other[0] = 1e6
    assert value_errors(*of(SUM, real, other))[0].warning() == ""
    (found,) = value_errors(*of(SUM, real, wide))
    assert "the deviation is" in found.warning()
    assert found.warning(replace(found, kolmogorov_smirnov=0.0)) == ""
    assert found.warning(replace(found, rows=20)) == found.warning()  # too few to be a measure


def test_empty_cells_that_are_lost_or_made_up_ruin_a_column():
    values = np.random.default_rng(1).uniform(0, 100, 2_000)
    some, many = (np.where(np.arange(2_000) % 100 < share, math.nan, values) for share in (31, 95))
    for other, ruined in ((some[::-1], False), (values, True), (many, True)):
        (found,) = value_errors(*of(GAIN, some, other))
        assert found.real_empty == pytest.approx(0.31)
        assert bool(found.warning()) is ruined
    assert found.warning().startswith(f"{percent(0.31)} of the real cells are empty, and {percent(0.95)} synthetic")


def test_empty_cells_do_not_count_and_a_column_of_them_is_no_error():
    (some,) = value_errors(*of(GAIN, [1.0, None, 3.0], [None, 1.0, 3.0]))
    assert (some.mean, some.kolmogorov_smirnov) == (2.0, 0.0)
    (none,) = value_errors(*of(GAIN, np.arange(12.0), np.full(12, math.nan)))
    assert none.kolmogorov_smirnov == 1
    assert none.to_dict()["mean"] is None
    (both,) = value_errors(*of(GAIN, [math.nan], [math.nan]))
    assert math.isnan(both.wasserstein)
    assert both.warning() == ""
    assert none.warning() == "12 cells have a value, 0 synthetic ones"
    (none,) = value_errors(*of(GAIN, [1.0, 2.0], [math.nan, math.nan]))  # every second pair of samples of a half
    assert none.warning() == ""


def test_dates_are_written_as_dates():
    days = pd.to_datetime(["2001-02-03"] * 90 + ["2003-01-01"] * 10)
    other = pd.to_datetime(["2001-02-04"] * 100)
    (found,) = value_errors(*of(DAY, days, other))
    assert found.warning().startswith(
        "2001-02-04 makes up 0\N{NO-BREAK SPACE}% of the real values and 100\N{NO-BREAK SPACE}% of the synthetic ones"
    )
    assert found.written(found.spikes[0].value) == "2001-02-03"


def three(rows: int, seed: int, *, follows: float = 1.0, missing: float = 0.0) -> dpsyn.Table:
    """``b`` follows ``a`` to the power of 9, ``day`` follows nothing."""
    random = np.random.default_rng(seed)
    a = random.uniform(-1, 1, rows)
    b = (follows * a + 0.2 * random.normal(size=rows)) ** 9
    days = pd.to_datetime("1970-01-01") + pd.to_timedelta(random.integers(0, 20_000, rows), unit="D")
    frame = pd.DataFrame({"a": a, "word": "a", "b": b, "day": days}).mask(
        random.random((rows, 4)) < [missing, 0, missing, 0]
    )
    numbers = [dpsyn.Attribute(name, "numeric", lower=-1e3, upper=1e3, missing=True, public=True) for name in "ab"]
    return dpsyn.Table(frame, dpsyn.Domain.of([numbers[0], WORD, numbers[1], DAY]))


def test_correlations_are_those_of_scipy():
    real, other = three(500, 1), three(300, 2, follows=0.0)
    found = correlations(real, other)
    for name, coefficient in (("correlation", stats.pearsonr), ("rank correlation", stats.spearmanr)):
        assert list(found[name].real.columns) == ["a", "b", "day"]
        for table, matrix in ((real, found[name].real), (other, found[name].rows)):
            numbers = [table.domain[c].numbers(table.frame[c]) for c in matrix.columns]
            expected = [[coefficient(x, y).statistic for y in numbers] for x in numbers]
            np.testing.assert_allclose(matrix, expected, atol=1e-12)
        apart = (found[name].real - found[name].rows).abs().to_numpy()[np.triu_indices(3, 1)]
        assert found[name].largest == pytest.approx(apart.max())
        assert found[name].mean == pytest.approx(apart.mean())
        assert found[name].worst == ("a", "b")
    assert found["rank correlation"].largest > 0.8


def season(rows: int, seed: int, *, follows: float = 1.0) -> dpsyn.Table:
    """``a`` hangs on the day of the year alone, by no line."""
    random = np.random.default_rng(seed)
    day = random.integers(0, 4 * 365, rows)
    a = -follows * np.cos(2 * np.pi * day / 365) + 0.3 * random.normal(size=rows)
    days = pd.to_datetime("1970-01-01") + pd.to_timedelta(day, unit="D")
    frame = pd.DataFrame({"a": a, "word": "a", "b": random.normal(size=rows), "day": days})
    return dpsyn.Table(frame, three(10, 0).domain)


def test_the_correlation_ratio_finds_a_season_that_no_line_shows():
    real, other = season(4_000, 1), season(3_000, 2, follows=0.2)
    found = correlations(real, other)
    assert max(found[name].largest for name in ("correlation", "rank correlation")) < 0.2
    ratio = found["correlation ratio"]
    assert ratio.worst == ("a", "day")
    day = (real.frame["day"] - pd.Timestamp(0)).dt.days.to_numpy()
    edges, times = np.unique(np.quantile(day, np.arange(28) / 27, method="nearest"), return_counts=True)
    assert (times == 1).all()
    parts = pd.Series(np.searchsorted(edges, day))
    a = real.frame["a"]
    left = ((a - a.groupby(parts).transform("mean")) ** 2).sum() / (len(a) - parts.nunique())
    assert ratio.real.loc["day", "a"] == pytest.approx(math.sqrt(1 - left / a.var()))
    assert ratio.real.loc["day", "a"] == ratio.real.loc["a", "day"] > 0.85
    assert ratio.rows.loc["day", "a"] < 0.5
    assert ratio.real.loc["b", "a"] < 0.15  # nothing but chance
    assert np.diag(ratio.real).tolist() == [1, 1, 1]


@pytest.mark.parametrize("mirrored", [False, True])
def test_the_correlation_ratio_sees_common_values_at_either_end(mirrored: bool):
    random = np.random.default_rng(0)
    a = np.where(random.random(5_000) < 0.02, 0.0, 1.0)
    frame = pd.DataFrame({"a": 1 - a if mirrored else a, "word": "a", "b": 7 * a, "day": pd.Timestamp(0)})
    table = dpsyn.Table(frame, three(10, 0).domain)
    assert correlations(table, table)["correlation ratio"].real.loc["a", "b"] == pytest.approx(1)


def test_a_common_value_is_a_part_of_its_own():
    """In the middle of others that lie just below and above it: they do not share its mean."""
    random = np.random.default_rng(0)
    a = np.where(random.random(5_000) < 0.3, 0.0, random.normal(size=5_000))
    frame = pd.DataFrame({"a": a, "word": "a", "b": 1.0 * (a == 0), "day": pd.Timestamp(0)})
    table = dpsyn.Table(frame, three(10, 0).domain)
    assert correlations(table, table)["correlation ratio"].real.loc["a", "b"] == pytest.approx(1)


@pytest.mark.parametrize(("shared", "told"), [(60, False), (200, True)])
def test_a_correlation_ratio_needs_four_rows_a_part(shared: int, told: bool):
    """Columns of 2,000 values are cut into 22 parts, whichever rows they have in common."""
    random = np.random.default_rng(3)
    a = random.normal(size=4_000 - shared)
    b = a + 0.1 * random.normal(size=len(a))
    frame = pd.DataFrame({"a": a, "word": "a", "b": b, "day": pd.Timestamp(0)})
    frame.loc[2_000:, "a"], frame.loc[: 1_999 - shared, "b"] = np.nan, np.nan
    table = dpsyn.Table(frame, three(10, 0).domain)
    found = correlations(table, table)["correlation ratio"].real.loc["a", "b"]
    assert (found > 0.9) if told else np.isnan(found)


@pytest.mark.parametrize("known", [50, 200, 2_000])
def test_the_correlation_ratio_of_unrelated_columns_is_small_or_unknown(known: int):
    random = np.random.default_rng(1)
    frame = pd.DataFrame(random.normal(size=(10_000, 2)), columns=["a", "b"])
    frame.iloc[known:] = np.nan
    frame = frame.assign(word="a", day=pd.Timestamp(0))
    table = dpsyn.Table(frame, three(10, 0).domain)
    found = correlations(table, table)["correlation ratio"].real.loc["a", "b"]
    assert np.isnan(found) or found < 4 / math.sqrt(known)


def test_the_correlation_ratio_of_empty_and_constant_columns():
    table = three(400, 3, missing=0.3)
    shared = table.frame[["a", "b"]].dropna()
    found = correlations(table, table)["correlation ratio"]
    assert found.real.loc["a", "b"] > 0.6
    assert len(shared) < 250
    constant = dpsyn.Table(table.frame.assign(b=0.1), table.domain)
    found = correlations(table, constant)["correlation ratio"]
    assert np.isnan(found.rows.loc["a", "b"])
    empty = dpsyn.Table(table.frame.assign(b=np.nan), table.domain)
    assert np.isnan(correlations(empty, table)["correlation ratio"].real.loc["a", "b"])


@pytest.mark.parametrize(("shared", "both"), [(60, False), (400, True)])
def test_the_correlation_ratio_of_rows_in_common_is_the_larger_of_both_ways_or_the_one_that_is_known(
    shared: int, both: bool
):
    """By its definition; the rows that two columns have in common are not about the middle of either."""
    random = np.random.default_rng(7)
    b = random.integers(0, 2, 4_000 - shared).astype(float)
    a = b + random.normal(size=len(b))
    a[2_000 - shared : 2_000] += 0.5
    frame = pd.DataFrame({"a": a, "word": "a", "b": b, "day": pd.Timestamp(0)})
    frame.loc[2_000:, "a"], frame.loc[: 1_999 - shared, "b"] = np.nan, np.nan
    table = dpsyn.Table(frame, three(10, 0).domain)
    pair = frame[["a", "b"]].dropna()
    assert len(pair) == shared

    def explained(column: str, parts: np.ndarray) -> float:
        left = ((pair[column] - pair[column].groupby(parts).transform("mean")) ** 2).sum() / (shared - len(set(parts)))
        return 1 - left / pair[column].var()

    edges = np.quantile(frame["a"].dropna(), np.arange(23) / 22, method="nearest")
    ways = [explained("a", pair["b"].to_numpy()), *[explained("b", np.searchsorted(edges, pair["a"]))] * both]
    found = correlations(table, table)["correlation ratio"].real
    assert found.loc["a", "b"] == found.loc["b", "a"] == pytest.approx(math.sqrt(max(ways)))


def test_rows_for_correlation_ratios_are_drawn_wherever_they_stand(monkeypatch):
    """The first half of the rows knows no season."""
    frames = [season(2_000, seed, follows=follows).frame for seed, follows in ((1, 0.0), (2, 1.0))]
    table = dpsyn.Table(pd.concat(frames, ignore_index=True), three(10, 0).domain)
    of_all = correlations(table, table)["correlation ratio"].real.loc["day", "a"]
    monkeypatch.setattr(coefficients, "MOST_IN_RATIOS", 1_000)
    assert correlations(table, table)["correlation ratio"].real.loc["day", "a"] == pytest.approx(of_all, abs=0.1)


def test_rows_count_in_which_both_cells_are_there():
    table = three(400, 3, missing=0.3)
    matrix = correlations(table, table)["correlation"].real
    assert matrix.loc["a", "b"] == pytest.approx(table.frame["a"].corr(table.frame["b"]))
    ranks = table.frame[["a", "b"]].rank()
    assert correlations(table, table)["rank correlation"].rows.loc["a", "b"] == pytest.approx(ranks["a"].corr(ranks["b"]))


def test_a_constant_column_correlates_with_nothing():
    real, other = three(400, 1), three(400, 1)
    constant = dpsyn.Table(other.frame.assign(b=0.1), other.domain)
    found = correlations(real, constant)["correlation"]
    assert np.isnan(found.rows.loc["a", "b"])
    assert found.worst == ("a", "b")
    assert found.largest == pytest.approx(found.real.loc["a", "b"])
    assert found.to_dict()["rows"][0][1] is None
    nothing = correlations(constant.project(["a", "b"]), constant.project(["a", "b"]))["correlation"]
    assert math.isnan(nothing.largest)
    assert math.isnan(nothing.mean)
    assert nothing.worst == ()
    # Constant in the rows that the pair shares, though not as a whole.
    for shared in (190, 195, 200):
        first = np.arange(400) < shared
        apart = real.frame.assign(a=real.frame["a"].where(first), b=real.frame["b"].mask(first, 0.1))
        assert np.isnan(correlations(dpsyn.Table(apart, real.domain), real)["correlation"].real.loc["a", "b"])


def test_correlations_of_very_large_numbers_and_of_very_many_columns(monkeypatch):
    table = three(200, 1)
    wide = dpsyn.Attribute("b", "numeric", lower=-8e307, upper=8e307, missing=True)
    large = dpsyn.Table(table.frame.assign(b=table.frame["b"] * 1e300), dpsyn.Domain.of([table.domain["a"], wide]))
    expected = correlations(table, table)["correlation"].real.loc["a", "b"]
    assert correlations(large, large)["correlation"].real.loc["a", "b"] == pytest.approx(expected)
    monkeypatch.setattr(coefficients, "MOST_CORRELATED", 2)
    assert list(correlations(table, table)["correlation"].real.columns) == ["a", "day"]
    assert correlations(table.project(["a", "word"]), table.project(["a", "word"])) == {}


def test_correlations_are_in_the_report_beside_those_of_held_out_rows():
    real, held, other = three(500, 1), three(500, 2), three(500, 3, follows=0.0)
    report = dpsyn.evaluate(real, other.frame, holdout=held)
    found = report.release.correlations["rank correlation"]
    measures, floor = flat_measures(report), references(report)
    assert measures["rank correlation, largest difference"] == found.largest > 0.8
    assert measures["correlation, mean difference"] == report.release.correlations["correlation"].mean
    assert floor["rank correlation, largest difference"]["fresh real rows, 500"] < 0.2
    kept = report.to_dict()["release"]["correlations"]["rank correlation"]
    assert (kept["columns"], kept["worst"]) == (["a", "b", "day"], ["a", "b"])
    assert kept["largest"] == found.largest


@pytest.mark.parametrize(
    ("lost", "where"),
    [
        (lambda x: x[x != 110], (110, 110)),
        (lambda x: x[x >= np.quantile(x, 0.012)], (-np.inf, None)),
        (lambda x: x[x <= np.quantile(x, 0.988)], (None, np.inf)),
        (lambda x: x, None),
    ],
)
def test_common_values_and_ends_that_are_gone_are_found(lost, where) -> None:
    def sample(seed):
        random = np.random.default_rng(seed)
        return np.where(random.random(8_000) < 0.045, 110.0, random.normal(100, 20, 8_000).round(2))

    table = dpsyn.read_table(pd.DataFrame({"x": np.append(sample(0), [-50, 300])}))
    (found,) = value_errors(table, dpsyn.Table(pd.DataFrame({"x": lost(sample(1))}), table.domain))
    if where is None:
        assert found.off == ()
    else:
        ((low, high, real, rows),) = found.off
        assert all(wanted in (None, place) for wanted, place in zip(where, (low, high), strict=True))
        assert real > 75
        assert rows < 0.1 * real
        assert found.to_dict()["off"] == [[v if np.isfinite(v) else None for v in (low, high, real, rows)]]


@pytest.mark.parametrize(("value", "low"), [(0.0, 0.0), (-49.0, -np.inf), (299.0, np.inf)])
def test_values_where_no_real_one_is_are_found(value: float, low: float) -> None:
    random = np.random.default_rng(0)
    table = dpsyn.read_table(pd.DataFrame({"x": np.append(random.normal(100, 20, 5_000).round(2), [-50, 300])}))
    made = random.normal(100, 20, 5_000).round(2)
    made[:100] = value
    (found,) = value_errors(table, dpsyn.Table(pd.DataFrame({"x": made}), table.domain))
    assert low in [end for low, high, *_ in found.off for end in (low, high)]
    assert all(real <= 1 and rows >= 50 for *_, real, rows in found.off)


def test_of_values_that_are_off_those_of_the_largest_share_come_first() -> None:
    rest = np.random.default_rng(2).normal(100, 20, 20_000).round(2)
    real, other = np.append(rest[:120], [110.5] * 80), np.append(rest[:14_000], [90.5] * 6_000)
    for one, two in ((real, other), (other, real)):
        table = dpsyn.read_table(pd.DataFrame({"x": np.append(one, [-50, 300])}))
        (found,) = value_errors(table, dpsyn.Table(pd.DataFrame({"x": two}), table.domain))
        assert [low for low, high, *_ in found.off if low == high] == [110.5, 90.5]
        shares = [max(here / found.real_rows, there / found.rows) for *_, here, there in found.off]
        assert shares == sorted(shares, reverse=True)


@pytest.mark.parametrize(("one", "other"), [((5, 40), (300, 4_000)), ((90, 100), (1_000, 9_000)), ((3, 7), (5, 7))])
def test_chance_brings_two_shares_as_far_apart_as_pearsons_test_says(one: tuple[int, int], other: tuple[int, int]) -> None:
    apart, allowed = _apart(one[0] / one[1], other[0] / other[1], one[1], other[1])
    squares = stats.chi2_contingency([[hits, rows - hits] for hits, rows in (one, other)], correction=False).statistic
    assert apart / allowed * _ERRORS == pytest.approx(math.sqrt(squares))


@pytest.mark.parametrize(("columns", "rows"), [(40, 130), (20, 1_000)])
def test_fresh_columns_of_two_numbers_are_not_called_ruined(columns: int, rows: int) -> None:
    for seed in range(6):
        random = np.random.default_rng(seed)
        real, other = (pd.DataFrame({f"x{j}": random.integers(0, 2, rows) * 5 for j in range(columns)}) for _ in range(2))
        table = dpsyn.read_table(pd.concat([real, pd.DataFrame({f"x{j}": [1.5] for j in range(columns)})]))
        assert not [e.column for e in value_errors(table, dpsyn.Table(other, table.domain)) if e.warning()]


def test_cells_outside_the_domain_ruin_a_column_unless_the_real_ones_lie_there_too() -> None:
    random = np.random.default_rng(0)
    spend = np.maximum(random.normal(0, 100, 4000), 0)
    domain = dpsyn.Domain.of([dpsyn.Attribute("spend", "numeric", lower=0, upper=500, bins=10)])
    below, real = (
        np.where(spend > 0, spend, -random.exponential(100, 4000)),
        dpsyn.Table(pd.DataFrame({"spend": spend}), domain),
    )
    (errors,) = value_errors(real, dpsyn.Table(pd.DataFrame({"spend": below}), domain))
    assert errors.outside == np.mean(below < 0)
    assert errors.real_outside == 0
    assert "of the synthetic cells lie outside the domain, and 0" in errors.warning()
    (errors,) = value_errors(
        dpsyn.Table(pd.DataFrame({"spend": below}), domain), dpsyn.Table(pd.DataFrame({"spend": below}), domain)
    )
    assert not errors.warning()


TWO_YEARS = pd.date_range("2018-01-01", "2019-12-29")
"""104 weeks from a Monday on."""


def dates(real, other):
    return value_errors(*of(DAY, pd.Series(real), pd.Series(other)))[0]


def test_weekdays_and_months_that_are_lost_are_told_of_dates():
    """Monday to Friday of two years beside every day of them; then every day beside those of three months."""
    working = TWO_YEARS[TWO_YEARS.day_of_week < 5]
    errors = dates(working, TWO_YEARS)
    named = {name: (real, share) for name, real, share in errors.calendar}
    assert named["Sunday"] == (0.0, pytest.approx(1 / 7))
    assert named["Monday"] == (0.2, pytest.approx(1 / 7))
    assert named["May"] == (pytest.approx(46 / 520), pytest.approx(62 / 728))
    said = f"Saturdays make up {percent(0.0, 3)} of the real values and {percent(1 / 7, 3)} of the synthetic ones"
    assert errors.warning() == f"{said} (the domain can ask mechanisms on categories to keep weekdays)"
    assert replace(errors, keep=("month", "weekday")).warning() == said
    assert errors.to_dict()["calendar"][6][0] == "Sunday"
    assert errors.warning(errors) == ""  # where fresh rows are off by as much
    errors = dates(TWO_YEARS, TWO_YEARS[TWO_YEARS.month % 4 == 0])
    assert "days in" in errors.warning()
    assert errors.warning().endswith(" of the synthetic ones (the domain can ask mechanisms on categories to keep months)")
    assert value_errors(*of(replace(DAY, keep=("month",)), TWO_YEARS.to_series(), TWO_YEARS.to_series()))[0].keep == (
        "month",
    )
    assert dates(TWO_YEARS, TWO_YEARS).warning() == ""
    assert value_errors(*of(GAIN, [1.0], [2.0]))[0].calendar == ()


def test_shares_of_weekdays_are_those_of_rows_and_not_of_days():
    """Every day of two years, each Monday five times."""
    errors = dates(np.repeat(TWO_YEARS, np.where(TWO_YEARS.day_of_week == 0, 5, 1)), TWO_YEARS)
    assert errors.calendar[0] == ("Monday", pytest.approx(5 / 11), pytest.approx(1 / 7))
    assert errors.warning().startswith(f"Mondays make up {percent(5 / 11, 3)} of the real values")
    assert [dates(TWO_YEARS[:rows], TWO_YEARS).calendar[0][1] for rows in (0, 1)] == [0.0, 1.0]


@pytest.mark.parametrize(("day", "of"), [(0, "1"), (14, "15"), (30, "31")])
def test_days_of_the_month_that_are_lost_are_told_of_dates(day, of):
    """Every other day in 45 years: no single one is common."""
    months = np.arange("1970-01", "2015-01", dtype="datetime64[M]")
    real = months.astype("datetime64[D]") + day if day < 30 else (months + 1).astype("datetime64[D]") - 1
    every = np.arange("1970-01-01", "2015-01-01", dtype="datetime64[D]")
    errors = dates(real, every)
    shares = [np.mean(pd.DatetimeIndex(side).day == int(of)) for side in (real, every)]
    assert {name: both for name, *both in errors.calendar}[of] == pytest.approx(shares)
    here, there = (percent(share, 3) for share in shares)
    said = f"day {of} of the month makes up {here} of the real values and {there} of the synthetic ones"
    assert errors.warning() == f"{said} (the domain can ask mechanisms on categories to keep days of the month)"
    assert replace(errors, keep=("day",)).warning() == said
    assert dates(real, real).warning() == ""


def numbers(real, other, unit, upper=1_000_000):
    attribute = dpsyn.Attribute("x", "numeric", lower=-upper, upper=upper, unit=unit, public=True)
    return value_errors(*of(attribute, real, other))[0]


EVERY = np.arange(4_000.0)


@pytest.mark.parametrize(
    ("unit", "real", "ending", "share", "other"),
    [
        (0.01, np.repeat(EVERY[:400] + 0.99, 10), ".99", 1.0, 0.01),
        (0.01, -np.repeat(EVERY[:400] + 0.99, 10), ".99", 1.0, 0.01),
        (5, np.append(np.repeat(EVERY[1:400] * 100, 10), 12345), "00", 3990 / 3991, 0.05),
        (1, 2 * EVERY, "an even digit", 1.0, 0.5),
        (0.01, EVERY / 50, "an even digit", 1.0, 0.5),
        (1, 2 * EVERY + 1, "an odd digit", 1.0, 0.5),
        (1, np.append(5 * EVERY, 5 * EVERY // 10 * 10), "0", 0.75, 0.1),
        (0.25, EVERY, ".00", 1.0, 0.25),
        (100, 1_000 * EVERY[:400], "000", 1.0, 0.1),
    ],
)
def test_last_digits_that_are_lost_are_told_of_numbers(unit, real, ending, share, other):
    """Beside all multiples of the unit as often."""
    every = np.arange(4_000) * unit
    errors = numbers(real, every, unit)
    assert {name: both for name, *both in errors.endings}[ending] == pytest.approx([share, other])
    said = f"Values of 'x' that end in {ending} make up {percent(share, 3)} of the real values and {percent(other, 3)}"
    assert errors.ending_off() == f"{said} of the synthetic ones"
    assert "end in" not in errors.warning()
    assert all(max(both) > 0.05 for _, *both in errors.endings)
    assert numbers(real, real, unit).ending_off() == ""
    assert errors.ending_off(errors) == ""  # where fresh rows are off by as much


def test_last_digits_are_not_looked_at_of_few_multiples_or_of_any_numbers():
    """From 20 multiples in the middle on, where they come again four times there."""
    parity = {3}
    for wide, ones, fives in (
        (19, set(), set()),
        (20, parity, {1}),
        (39, parity, {1}),
        (40, parity | {1}, {1}),
        (79, parity | {1}, {1}),
        (80, parity | {1}, {1, 2}),
        (399, parity | {1}, {1, 2}),
        (400, parity | {1, 2}, {1, 2}),
    ):
        real = np.repeat([6, 6 + wide // 4 * 2, 6 + wide], [4, 32, 4])
        for unit, lengths in ((1, ones), (5, fives)):
            assert {min(len(name), 3) for name, *_ in numbers(unit * real, unit * real, unit).endings} == lengths
    assert numbers(EVERY, 2 * EVERY, None).endings == ()
    assert numbers([], EVERY, 1).endings == ()


def test_heaped_ages_and_even_blood_pressures_that_are_lost_are_told():
    """Both in a middle of 60 units; 300 even numbers are too few for single digits."""
    random = np.random.default_rng(0)
    age, pressure = random.integers(18, 91, 4_000), random.normal(90, 18, 300).round()
    heaped = np.where(random.random(4_000) < 0.35, 5 * random.integers(4, 18, 4_000), age)
    assert "'x' that end in 0 make up" in numbers(heaped, age, 1).ending_off()
    even = np.where(random.random(300) < 0.97, pressure // 2 * 2, pressure)
    assert "'x' that end in an even digit make up 9" in numbers(even, pressure, 1).ending_off()


def test_tens_that_all_end_in_an_even_digit_are_told_by_their_digits():
    errors = numbers(20 * EVERY[:40], 10 * EVERY[:80], 10)
    assert not [name for name, *_ in errors.endings if "digit" in name]


@pytest.mark.parametrize("rows", [20, 200, 2000])
def test_last_digits_of_two_samples_of_one_law_are_not_told(rows):
    random = np.random.default_rng(0)
    laws = [
        lambda: random.integers(1, 400, rows) + 0.99,
        lambda: np.where(random.random(rows) < 0.4, random.integers(1, 400, rows) * 100, random.integers(0, 40_000, rows)),
        lambda: random.integers(1, 400, rows) + random.choice([0.99, 0.95, 0.5, 0.0], rows, p=[0.5, 0.2, 0.2, 0.1]),
        lambda: random.lognormal(5, 1.5, rows).round(2),
        lambda: random.normal(90, 15, rows).round() / 100,
        lambda: 2 * random.normal(45, 8, rows).round() / 100,
        lambda: np.where(random.random(rows) < 0.4, 5 * random.integers(4, 18, rows), random.integers(18, 91, rows)) / 100,
        lambda: np.floor(random.exponential(10, rows)) / 100,
        lambda: 7 * random.integers(0, 9, rows) / 100,
    ]
    for law in laws:
        for _ in range(10):
            errors = numbers(law(), law(), 0.01)
            assert errors.warning() == errors.ending_off() == ""


@pytest.mark.parametrize("rows", [20, 200, 2000])
def test_weekdays_of_two_samples_of_one_law_are_not_told(rows):
    random = np.random.default_rng(0)
    for _ in range(100):
        assert dates(random.choice(TWO_YEARS, rows), random.choice(TWO_YEARS, rows)).warning() == ""


@pytest.mark.parametrize("in_place", [False, True])
def test_real_values_between_two_units_are_measured_as_the_multiples_they_are_taken_for(in_place, tmp_path):
    """Rows that are the real ones, rounded to the unit, are without fault; the shares of common values are those of both."""
    random = np.random.default_rng(0)
    pay = pd.Series(np.where(random.random(4000) < 0.3, 0, np.round(random.lognormal(9, 0.8, 4000))), name="pay")
    domain = dpsyn.Domain.of([dpsyn.Attribute("pay", "numeric", lower=0, upper=200_000, unit=500, bins=10, public=True)])
    real = dpsyn.Table(pay.to_frame(), domain)
    if in_place:
        pay.to_frame().to_parquet(tmp_path / "pay.parquet")
        real = dpsyn.read_table(tmp_path / "pay.parquet", domain=domain, in_place=True)
    rows = (pay / 500).round().clip(0, 400) * 500
    (errors,) = value_errors(real, dpsyn.Table(rows.to_frame(), domain))
    assert errors.off == ()
    assert errors.kolmogorov_smirnov == errors.wasserstein == 0
    assert all(spike.real == spike.share for spike in errors.spikes)
    assert errors.real_quantiles == errors.quantiles
