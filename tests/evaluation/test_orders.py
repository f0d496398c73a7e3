"""Orders and rules of two columns: kept by real rows, and broken by other rows, with no alarm where chance does it."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import dpsyn
from dpsyn.data import counted as counted_module
from dpsyn.data.counted import CountedTable
from dpsyn.evaluation.conclusions import conclusions
from dpsyn.evaluation.orders import MOST_ORDERED, Order, Rule, lost_orders, orders_and_rules
from dpsyn.notation import percent

STAYS = dpsyn.Domain.of(
    [
        dpsyn.Attribute(name, "date", lower="2024-01-01", upper="2025-12-31", missing=True, public=True)
        for name in ("admitted", "discharged")
    ]
    + [dpsyn.Attribute("ward", "categorical", ("a", "b"), public=True)]
)
ORDER = Order("admitted", "discharged", True, 1_000, 1_000, 420, 0.5)
RULE = Rule("birth", "age", False, 1_000, 1_000, 700, 0.99, 0, (2025.0,), True)


def orders(real: dpsyn.Table, other: dpsyn.Table) -> tuple[Order, ...]:
    return orders_and_rules(real, other)[0]


def rules(real: dpsyn.Table, other: dpsyn.Table) -> tuple[Rule, ...]:
    return orders_and_rules(real, other)[1]


def stays(n: int, seed: int = 0) -> pd.DataFrame:
    random = np.random.default_rng(seed)
    admitted = random.integers(0, 600, n)
    begin, stay = pd.Timestamp("2024-01-01"), random.geometric(0.3, n) - 1
    days = {"admitted": admitted, "discharged": admitted + stay}
    dates = {name: begin + pd.to_timedelta(found, "D") for name, found in days.items()}
    return pd.DataFrame(dates | {"ward": random.choice(["a", "b"], n)})


def shuffled(frame: pd.DataFrame, seed: int = 1) -> pd.DataFrame:
    random = np.random.default_rng(seed)
    return frame.apply(random.permutation)


def numbers(columns: dict[str, object], unit: float | None = None) -> dpsyn.Table:
    """All in [0, 100]; the first one decides about nothing."""
    named = [dpsyn.Attribute(n, "numeric", lower=0, upper=100, unit=unit, missing=True, public=True) for n in columns]
    return dpsyn.Table(pd.DataFrame(columns), dpsyn.Domain.of(named))


def numbers_of(report: dpsyn.Report) -> tuple[str, str]:
    return next((found.grade, found.sentence) for found in conclusions(report) if found.about == "numbers")


def test_stays_that_end_before_they_begin_are_told():
    real, holdout = (dpsyn.Table(stays(n, seed), STAYS) for n, seed in ((2_000, 0), (500, 1)))
    made = shuffled(real.frame)
    report = dpsyn.evaluate(real, made, holdout=holdout)
    broken = int((made["admitted"] > made["discharged"]).sum())
    grade, said = numbers_of(report)
    assert grade == "with care"
    percents = f"{100 * broken / 2000:.2g}\N{NO-BREAK SPACE}%"
    assert said.endswith(f" In {percents} of the rows 'admitted' is after 'discharged', in none of 2,000 real ones.")
    (order,) = report.to_dict()["release"]["orders"]
    assert order["share"] == broken / 2000
    (order,) = report.release.orders
    assert (order.columns, order.real_rows, order.rows, order.broken) == (("admitted", "discharged"), 2_000, 2_000, broken)
    (fresh,) = report.noise_floor.orders
    assert (fresh.rows, fresh.broken) == (500, 0)
    grade, said = numbers_of(dpsyn.evaluate(real, stays(2_000, 2), holdout=holdout))
    assert (grade, "discharged', in none" in said) == ("no fault seen", False)
    also = replace(report.noise_floor, orders=(replace(fresh, broken=100),))
    assert "in none" not in numbers_of(replace(report, noise_floor=also))[1]


def test_orders_of_rows_that_an_engine_counts_are_those_of_the_rows_that_it_drew(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(counted_module, "MOST_DRAWN", 1_000)
    (folder := tmp_path / "stays").mkdir()
    stays(3_000).to_parquet(folder / "0.parquet")
    table = dpsyn.read_table(folder)
    assert isinstance(table, CountedTable)
    report = dpsyn.evaluate(table, shuffled(stays(3_000)), degrees=(1,))
    (order,), (fresh,) = report.release.orders, report.noise_floor.orders
    assert (order.columns, order.real_rows, order.rows, fresh.rows) == (("admitted", "discharged"), 750, 3_000, 250)
    assert order.broken > 1_000 > fresh.broken == 0
    assert "is after 'discharged', in none of 750 real ones." in numbers_of(report)[1]
    assert any("orders of columns, copies" in note for note in report.notes)


def test_a_poor_finding_on_numbers_stays_poor():
    real = dpsyn.Table(stays(2_000), STAYS)
    made = real.frame.assign(admitted=pd.Timestamp("2025-12-31"), discharged=pd.Timestamp("2024-01-01"))
    grade, said = numbers_of(dpsyn.evaluate(real, made))
    assert grade == "poor"
    assert " In 100\N{NO-BREAK SPACE}% of the rows 'admitted' is after 'discharged'" in said


def test_of_rows_too_few_for_anything_else_a_lost_order_alone_is_told():
    real = dpsyn.Table(stays(110), STAYS)
    report = dpsyn.evaluate(real, shuffled(real.frame))
    (found,) = [found for found in conclusions(report) if found.about == "numbers"]
    assert (found.grade, found.figure) == ("with care", "a rule is lost")
    assert found.sentence.startswith("In ")
    assert found.sentence.endswith("in none of 110 real ones.")


def test_what_shuffled_columns_would_break_is_what_all_pairs_of_their_cells_do():
    random = np.random.default_rng(0)
    low = np.append(random.integers(0, 40, 150).astype(float), np.nan)
    high = low + random.integers(0, 30, 151)
    high[:9] = np.nan
    table = numbers({"low": low, "high": high}, 1.0)
    (found,) = orders(table, table)
    ours, theirs = low[:-1], high[9:-1]
    assert found.columns == ("low", "high")
    assert found.shuffled == pytest.approx((ours[:, None] > theirs[None, :]).mean(), abs=1e-12)
    assert (found.real_rows, found.rows, found.broken) == (141, 141, 0)
    assert not found.is_date


@pytest.mark.parametrize(("above", "kept"), [(10, True), (9, False)])
def test_an_order_counts_where_columns_overlap_in_a_hundredth_of_shuffled_rows(above: int, kept: bool):
    """So many of 100 first ones are above a tenth of the second ones, and below those of their row."""
    first, second = np.full(100, 10.0), np.full(100, 50.0)
    second[:10] = 20.0
    first[90 : 90 + above] = 30.0
    table = numbers({"first": first, "second": second})
    assert [order.columns for order in orders(table, table)] == [("first", "second")] * kept


@pytest.mark.parametrize(("n", "kept"), [(100, True), (99, False)])
def test_so_few_rows_make_no_order(n: int, kept: bool):
    low = np.linspace(0, 50, n)
    table = numbers({"low": np.append(low, np.nan), "high": np.append(low + 1, 2.0)})
    assert bool(orders(table, table)) == kept


def test_a_single_row_that_breaks_an_order_ends_it_wherever_it_stands():
    low = np.linspace(0, 50, 3_000)
    for at in (0, 2_999):
        high = low + 1
        high[at] = low[at] - 0.001 if at else 0.0
        low[at] = max(low[at], 0.001)
        table = numbers({"low": low, "high": high})
        assert orders(table, table) == ()


def test_cells_are_compared_as_mechanisms_take_them():
    """Beyond the bounds they are the nearer end, and between two units the nearest multiple."""
    low = np.linspace(0, 100, 200)
    made = numbers({"low": low + 0.4, "high": low.round() - 0.4}, 1.0)
    real = numbers({"low": low.round(), "high": low.round()}, 1.0)
    outside = numbers({"low": low + 200, "high": low.round() * 0 + 150}, 1.0)
    assert [order.broken for order in orders(real, outside)] == [0, 0]
    units = (np.rint(low + 0.4).clip(0, 100) > np.rint(low.round() - 0.4).clip(0, 100)).sum()
    assert orders(real, made)[0].broken == units < (low + 0.4 > low.round() - 0.4).sum()


def test_real_cells_beyond_the_bounds_or_between_two_multiples_are_compared_as_they_are_or_not_at_all():
    """150 and 120 are both taken for 100, and 10.4 and 10.3 for 10: neither is an order."""
    random = np.random.default_rng(0)
    a = random.integers(0, 60, 300)
    b, first = a + random.integers(0, 40, 300), np.arange(300) < 30
    beyond = {"a": np.where(first, 150.0, a), "b": np.where(first, 120.0, b)}
    (order,) = [found for found in orders(numbers(beyond, 1.0), numbers(beyond, 1.0)) if found.first == "a"]
    assert order.real_rows == 270
    between = {"a": np.append(a, 10.4), "b": np.append(b, 10.3)}
    assert [found.first for found in orders(numbers(between, 1.0), numbers(between, 1.0))] == []


def test_equal_columns_have_an_order_both_ways_and_dates_none_with_numbers():
    same = np.linspace(0, 90, 150)
    table = numbers({"a": same, "b": same})
    made = numbers({"a": same, "b": same + 1})
    assert {order.columns: order.broken for order in orders(table, made)} == {("a", "b"): 0, ("b", "a"): 150}
    days = dpsyn.Attribute("day", "date", lower=0, upper=100, public=True)
    domain = dpsyn.Domain.of([days, table.domain["a"]])
    mixed = dpsyn.Table(pd.DataFrame({"day": pd.to_datetime(np.zeros(150), unit="D"), "a": same}), domain)
    assert orders(mixed, mixed) == ()


def test_the_worst_is_named_and_the_others_counted():
    worse = replace(ORDER, first="begun", broken=500, is_date=False)
    more = replace(ORDER, first="x"), replace(ORDER, first="discharged", second="x", broken=100)
    both = replace(more[0], first="discharged", second="x")
    said = "In 50\N{NO-BREAK SPACE}% of the rows 'begun' is larger than 'discharged', in none of 1,000 real ones"
    assert lost_orders([ORDER, worse], (), 1_000) == f"{said}; such a rule is lost in 1 more pair of columns."
    assert lost_orders([ORDER, worse, *more, both], (), 1_000) == f"{said}; such a rule is lost in 2 more pairs of columns."
    assert "of the rows that have both 'admitted' is after" in lost_orders([ORDER], (), 1_001)
    assert lost_orders([replace(ORDER, broken=0)], (), 1_000) == lost_orders([], (), 1_000) == ""


def test_an_order_is_lost_beyond_chance_beyond_a_hundredth_and_far_beyond_fresh_rows():
    large = replace(ORDER, real_rows=100_000, rows=100_000)
    assert not replace(large, broken=1_000).is_lost(0.0)
    assert replace(large, broken=1_001).is_lost(0.0)
    # Of 100 and 100 rows 20 broken ones are all on one side with probability 2⁻²⁰, less than 10⁻⁶.
    few = replace(ORDER, real_rows=100, rows=100)
    assert not replace(few, broken=19).is_lost(0.0)
    assert replace(few, broken=20).is_lost(0.0)
    assert not ORDER.is_lost(0.084)
    assert ORDER.is_lost(0.083)
    assert lost_orders([ORDER], [replace(ORDER, rows=100, broken=9)], 1_000) == ""
    assert lost_orders([ORDER], [replace(ORDER, rows=100, broken=8)], 1_000)
    assert lost_orders([ORDER], [replace(ORDER, first="x", rows=100, broken=9)], 1_000)


def seen_without_an_alarm(find: Any, draw: Any, n: int, k: int, times: int) -> int:
    """How many orders or rules of ``n`` real rows were found, none of which is lost among ``k`` rows of the same law."""
    seen = 0
    for _ in range(times):
        real, fresh, other = draw(n), draw(n // 3), draw(k)
        found = find(real, other)
        seen += len(found)
        assert lost_orders(found, find(real, fresh), k) == lost_orders(found, (), k) == ""
    return seen


@pytest.mark.parametrize(("n", "k"), [(100, 100), (100, 20_000), (150, 1_000), (300, 300)])
def test_rows_of_the_same_law_break_no_order(n: int, k: int):
    """Ten columns that are ordered but in a few rows, which chance may keep from among the real ones."""
    random = np.random.default_rng(n + k)

    def draw(rows: int) -> dpsyn.Table:
        rare = np.cumsum(random.exponential(4, (rows, 10)), axis=1)
        swapped = random.random(rows) < 4 / n
        rare[swapped] = random.permuted(rare[swapped], axis=1)
        return numbers({f"c{j}": rare[:, j] for j in range(10)})

    assert seen_without_an_alarm(orders, draw, n, k, times=30) > 100


def test_columns_that_have_nothing_to_do_with_each_other_are_quiet():
    """What seldom overlaps has no order, and what overlaps is broken by real rows."""
    random = np.random.default_rng(0)
    places = np.linspace(20, 60, 12)
    real, other = (numbers({f"c{j}": random.normal(place, 5, n) for j, place in enumerate(places)}) for n in (300, 5_000))
    assert lost_orders(orders(real, other), (), 5_000) == ""


def test_the_first_columns_are_looked_at_and_of_very_many_no_more():
    columns = {f"c{j}": np.linspace(j / 100, 90, 120) for j in range(MOST_ORDERED + 2)}
    table = numbers(columns)
    found = orders(table, table)
    assert {name for order in found for name in order.columns} == set(list(columns)[:MOST_ORDERED])
    wide = dpsyn.evaluate(table, table.frame, degrees=[1])
    assert f"orders those of the first {MOST_ORDERED} of each kind" in " ".join(wide.notes)


def people(n: int, seed: int = 0, kept: float = 1.0) -> dict[str, object]:
    """Year of birth and age in 2025, kept together by so many."""
    random = np.random.default_rng(seed)
    birth = random.integers(30, 80, n)
    return {"birth": birth, "age": np.where(random.random(n) < kept, 100 - birth, random.integers(20, 71, n))}


def test_ages_that_contradict_years_of_birth_are_told():
    real, holdout = numbers(people(2_000), 1.0), numbers(people(500, 1), 1.0)
    made = shuffled(real.frame)
    report = dpsyn.evaluate(real, made, holdout=holdout)
    kept = int((made["birth"] + made["age"] == 100).sum())
    grade, said = numbers_of(report)
    assert grade == "with care"
    told = f" In all 2,000 real rows 'birth' + 'age' is 100, in {percent(kept / 2000, 3)} of the synthetic ones."
    assert said.endswith(told)
    (rule,) = report.to_dict()["release"]["rules"]
    assert (rule["values"], rule["is_sum"], rule["broken"], rule["share"]) == ((100.0,), True, 2000 - kept, 1 - kept / 2000)
    (fresh,) = report.noise_floor.rules
    assert (fresh.rows, fresh.broken) == (500, 0)
    grade, said = numbers_of(dpsyn.evaluate(real, numbers(people(2_000, 2), 1.0).frame, holdout=holdout))
    assert (grade, "real rows" in said) == ("no fault seen", False)
    also = replace(report.noise_floor, rules=(replace(fresh, broken=400),))
    assert "real rows" not in numbers_of(replace(report, noise_floor=also))[1]


@pytest.mark.parametrize(
    ("apart", "said"),
    [
        (lambda a: a, "'b' equals 'a'"),
        (lambda a: a + 3, "'b' - 'a' is 3"),
        (lambda a: a - 3, "'a' - 'b' is 3"),
        (lambda a: 70 - a, "'a' + 'b' is 70"),
        (lambda a: 70 - a + np.arange(len(a)) % 2, "'a' + 'b' is 70 or 71"),
        (lambda a: a - np.arange(len(a)) % 2, "'a' - 'b' is 0 or 1"),
    ],
)
@pytest.mark.parametrize("unit", [1.0, 0.01])
def test_what_one_value_or_two_multiples_next_to_each_other_have_of_differences_and_sums_is_a_rule(apart, said, unit):
    random = np.random.default_rng(0)
    a = random.integers(5, 60, 400)
    cells = {"a": a * unit, "b": apart(a) * unit}
    real, made = numbers(cells, unit), numbers({"a": cells["a"], "b": random.permutation(cells["b"])}, unit)
    (rule,) = rules(real, made)
    assert (rule.real_rows, rule.real_broken) == (400, 0)
    if unit == 1:
        assert f"In all 400 real rows {said}, in " in lost_orders([rule], (), 400)
    assert (rule.rows, rules(real, real)[0].broken) == (400, 0)
    assert rule.broken > 300


def test_numbers_of_any_size_and_dates_have_rules_of_one_value():
    random = np.random.default_rng(0)
    a = random.random(300) * 40
    (rule,) = rules(numbers({"a": a, "b": a + 0.1}), numbers({"a": a, "b": a + 0.2}))
    assert (rule.values, rule.broken) == ((0.1,), 300)
    assert rules(numbers({"a": a, "b": a + random.random(300)}), numbers({"a": a, "b": a})) == ()
    begin = pd.Timestamp("2024-01-01") + pd.to_timedelta(random.integers(0, 600, 300), "D")
    real = dpsyn.Table(pd.DataFrame({"admitted": begin, "discharged": begin + pd.Timedelta(30, "D"), "ward": "a"}), STAYS)
    (rule,) = rules(real, dpsyn.Table(shuffled(real.frame), STAYS))
    assert "real rows 'discharged' - 'admitted' is 30 days, in " in lost_orders([rule], (), 300)


@pytest.mark.parametrize(("most", "known"), [(1.7e308, True), (1e-290, True), (1e-315, False)])
@pytest.mark.filterwarnings("error")
def test_the_largest_and_the_smallest_numbers_may_have_rules(most: float, known: bool):
    part, bounds = np.random.default_rng(0).random(300), {"a": (0, most), "b": (0, most), "c": (-most, 0)}
    named = [dpsyn.Attribute(name, "numeric", lower=of[0], upper=of[1], public=True) for name, of in bounds.items()]
    real = dpsyn.Table(pd.DataFrame({"a": part, "b": part, "c": -part}) * most, dpsyn.Domain.of(named))
    found = [(rule.columns, rule.values, rule.is_sum) for rule in rules(real, real)]
    assert found == [(("a", "b"), (0.0,), False), (("a", "c"), (0.0,), True)] * known


def test_a_rule_that_most_real_rows_keep_is_told_with_their_share():
    real = numbers(people(2_000, kept=0.7) | {"note": np.where(np.arange(2_000) % 9, 50.0, np.nan)}, 1.0)
    made = shuffled(real.frame)
    (rule,) = rules(real, dpsyn.Table(made, real.domain))
    kept = (real.frame["birth"] + real.frame["age"] == 100).sum()
    assert (rule.columns, rule.real_rows - rule.real_broken) == (("birth", "age"), kept)
    said = f"In {kept:,} of 2,000 real rows 'birth' + 'age' is 100, in {percent(1 - rule.share, 3)} of the synthetic ones."
    assert lost_orders([rule], (), 2_000) == said
    assert "of 2,000 real rows that have both, 'birth'" in lost_orders([rule], (), 2_001)
    assert rules(numbers(people(2_000, kept=0.45), 1.0), real) == ()


def test_bounds_however_wide_make_no_rule():
    part = np.random.default_rng(0).lognormal(3, 2, 2_000)
    named = [dpsyn.Attribute(name, "numeric", lower=0, upper=1e10, public=True) for name in "ab"]
    real = dpsyn.Table(pd.DataFrame({"a": part, "b": 1.1 * part}), dpsyn.Domain.of(named))
    assert rules(real, real) == ()


def test_columns_of_mostly_one_value_have_no_rule():
    """Nor have two that are mostly 0, in the same rows or not."""
    random = np.random.default_rng(0)
    some = random.integers(0, 90, (2, 1_000))
    for share in (0.6, 0.9, 0.97):
        none = [random.random(1_000) < share for _ in range(2)]
        for first in none:
            cells = {"a": np.where(first, 0, some[0]), "b": np.where(none[1], 0, some[1])}
            assert rules(numbers(cells, 1.0), numbers(cells, 1.0)) == ()
    constant = {"a": np.full(1_000, 7), "b": np.where(random.random(1_000) < 0.995, 3, some[1])}
    assert rules(numbers(constant, 1.0), numbers(constant, 1.0)) == ()


@pytest.mark.parametrize(("n", "kept"), [(100, True), (99, False)])
def test_so_few_rows_make_no_rule(n: int, kept: bool):
    low = np.arange(float(n)) % 50
    table = numbers({"low": np.append(low, np.nan), "high": np.append(low + 1, 2.0)}, 1.0)
    assert bool(rules(table, table)) == kept


def test_rows_that_are_sorted_and_seldom_filled_show_their_rules():
    """Of 20,000 rows every hundredth has both, and the last ones break the rule."""
    low = np.sort(np.random.default_rng(0).integers(0, 60, 20_000)).astype(float)
    high = np.where(np.arange(20_000) % 20, np.nan, low + 5)
    high[-400:] = low[-400:] + 30
    made = numbers({"low": low, "high": np.where(np.isnan(high), np.nan, 70.0)}, 1.0)
    (rule,) = rules(numbers({"low": low, "high": high}, 1.0), made)
    assert (rule.values, rule.real_rows, rule.real_broken, rule.rows) == ((5.0,), 1_380, 400, 1_380)


def test_of_columns_that_are_all_the_same_each_has_the_rule_with_the_first():
    same = np.arange(300.0) % 70
    table = numbers(dict.fromkeys("abcd", same), 1.0)
    assert [rule.columns for rule in rules(table, table)] == [("a", "b"), ("a", "c"), ("a", "d")]


def test_a_rule_is_lost_beyond_chance_and_a_fifth_beyond_the_real_rows_that_break_it():
    large = replace(RULE, real_rows=100_000, rows=100_000, real_broken=30_000)
    assert not replace(large, broken=36_000).is_lost(0.3)
    assert replace(large, broken=36_001).is_lost(0.3)
    assert not replace(large, broken=31_001, real_broken=0).is_lost(0.07)
    assert replace(large, broken=40_000).is_lost(0.319)
    assert not replace(large, broken=40_000).is_lost(0.321)
    few = replace(RULE, real_rows=100, rows=100, real_broken=30)
    assert not replace(few, broken=55).is_lost(0.3)
    assert replace(few, broken=90).is_lost(0.3)


def test_what_all_real_rows_keep_is_told_before_what_most_do_and_a_pair_counts_once():
    most = replace(RULE, broken=990, real_broken=300)
    same = replace(most, first="admitted", second="discharged")
    assert lost_orders([most, ORDER], (), 1_000).startswith("In 42\N{NO-BREAK SPACE}% of the rows 'admitted' is after")
    assert lost_orders([ORDER, RULE], (), 1_000).startswith(
        "In all 1,000 real rows 'birth' + 'age' is 2025, in 30\N{NO-BREAK SPACE}%"
    )
    assert "more pair" not in lost_orders([same, ORDER], (), 1_000)
    assert "such a rule is lost in 1 more pair of columns." in lost_orders([most, same, ORDER], (), 1_000)
    # Fresh rows that break an order say nothing of the rule of the same columns.
    assert lost_orders([same], [replace(ORDER, broken=900)], 1_000)


@pytest.mark.parametrize(("n", "k"), [(100, 100), (100, 20_000), (1_000, 1_000), (20_000, 300)])
def test_rows_of_the_same_law_lose_no_rule(n: int, k: int):
    """Which hold in half of the rows to all of them, so that chance decides whether they are rules; and small numbers."""
    random = np.random.default_rng(n + k)
    kept = np.append(np.linspace(0.45, 0.7, 6), [0.9, 0.97, 1 - 2 / n, 1.0])

    def draw(rows: int) -> dpsyn.Table:
        one, noise = random.integers(0, 40, rows), random.integers(0, 60, (10, rows))
        same = random.random((10, rows)) < kept[:, None]
        alike = {f"c{j}": np.where(same[j], 50 - one if j % 2 else one + j, noise[j]) for j in range(10)}
        return numbers({"one": one, **alike, "few": one // 15, "coin": (one // 15 + (random.random(rows) < 0.3)) % 3}, 1.0)

    assert seen_without_an_alarm(rules, draw, n, k, times=10) > 50
