"""Wide tables on merged codes: what neighbours cost, which codes are merged, and what is released."""

from __future__ import annotations

import functools
from collections.abc import Iterator
from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd
import pytest

import dpsyn
from dpsyn.mechanisms.noisy_reweighting import NoisyReweightingMechanism, _fit, _merging, expectations, merged_tables
from dpsyn.mechanisms.noisy_reweighting._merging import MERGED, MergingMechanism
from dpsyn.mechanisms.noisy_reweighting.families import Family, TableFamily, cells_of
from dpsyn.mechanisms.noisy_reweighting.merged_tables import MergedTables, groups_of, merges, split_pairs
from dpsyn.mechanisms.records import verify
from dpsyn.privacy.discrete_gaussian import Moved, discrete_delta
from dpsyn.privacy.zcdp import zcdp_rho
from dpsyn.solvers.coded import CodedRows
from dpsyn.table import Table
from tests.conformance.neighbours import Deaf, Exact, called, neighbours, spent
from tests.conftest import categories

SIZES = (3, 2, 4)
VALUES: dict[str, list[Any]] = {"a": ["x", "y", "z"], "b": [0, 1], "c": ["k", "l", "m", "n"], "x": [0, 4, 9]}
ATTRIBUTES = (
    dpsyn.Attribute("a", "categorical", ("x", "y", "z"), public=True),
    dpsyn.Attribute("b", "truth", (0, 1), public=True),
    dpsyn.Attribute("c", "categorical", ("k", "l", "m", "n"), public=True),
    dpsyn.Attribute("x", "numeric", lower=0, upper=9, bins=2, integer=True, public=True),
)
ROWS = [("x", 0, "k", 0), ("x", 0, "k", 0), ("y", 1, "l", 4), ("z", 1, "n", 9), ("z", 0, "k", 4)]
DRAWN = {"reduced_space": "marginals", "reduced_space_size": 50}


@pytest.fixture
def few(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tables of more than eight cells are wide: of a and c alone."""
    monkeypatch.setattr(merged_tables, "WIDE", 8)


def table_of(frame: pd.DataFrame) -> Table:
    return Table(frame, dpsyn.Domain.of(ATTRIBUTES[: len(frame.columns)]))


def mechanism_of(table: Table, spec: dpsyn.PrivacySpec, **settings: Any) -> MergingMechanism:
    found = dpsyn.NoisyReweighting(**settings).calibrate(spec, table.domain, table.n)
    assert isinstance(found, MergingMechanism)
    return found


def groups_in(family: Family) -> np.ndarray:
    assert isinstance(family, MergedTables)
    return np.concatenate(family._of)


@pytest.mark.usefixtures("few")
@pytest.mark.parametrize("neighbouring", ["replace_one", "add_remove"])
@pytest.mark.parametrize(("columns", "delta"), [(3, 1e-12), (4, 0.0), (4, 1e-5)])
def test_no_neighbour_costs_more_than_was_asked_for(
    neighbouring: Any, delta: float, columns: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    names = list(VALUES)[:columns]
    values = {name: VALUES[name] for name in names}
    table = table_of(pd.DataFrame([row[:columns] for row in ROWS], columns=names))
    spec, worst, most = dpsyn.PrivacySpec(1.7, delta, neighbouring), 0, 0.0
    delta_of = functools.cache(discrete_delta)
    for_rows = functools.cache(lambda n: dpsyn.NoisyReweighting(**DRAWN).calibrate(spec, table.domain, n))
    others = [table_of(other) for other in neighbours(table.frame, values, neighbouring)]
    for seed in range(2):
        monkeypatch.setattr(_merging, "_GROUPS", (100.0, 1.6)[seed])  # every code stands alone, or hardly one
        noise = Deaf(seed)
        mechanism = for_rows(table.n)
        assert isinstance(mechanism, MergingMechanism)
        mine = mechanism.measured(noise, table)
        of_scale = {mechanism.ledger.scale(part): part for part in mechanism.ledger.parts}
        assert of_scale[noise.calls[-1].scale].name == MERGED
        for theirs in others:
            heard = Deaf(seed)
            same = for_rows(theirs.n).measured(heard, theirs)
            assert same.statistics.groups == mine.statistics.groups
            assert same.rows == mine.rows
            for name in ("sums", "spreads"):
                np.testing.assert_array_equal(getattr(same, name), getattr(mine, name))
            np.testing.assert_array_equal(np.concatenate(same.marginals or []), np.concatenate(mine.marginals or []))
            np.testing.assert_array_equal(groups_in(same.statistics), groups_in(mine.statistics))
            cost = spent(noise.calls, heard.calls)
            if not delta:
                assert cost.epsilon <= spec.epsilon * (1 + 1e-12)
                continue
            assert cost.step <= 1
            calls = [(of_scale[call.scale], moved) for call, moved in zip(noise.calls, cost.moved, strict=True)]
            moved = [Moved(count, 1, round(part.weight)) for part, count in calls if count]
            if delta < 1e-10:
                assert cost.rho <= zcdp_rho(spec.epsilon, delta) * (1 + 1e-12)
            elif moved:
                assert mechanism.ledger.argument == "exact"
                lost = delta_of(tuple(moved), mechanism.ledger.base, spec.epsilon)
                assert lost <= delta
                most = max(most, lost)
            worst = max(worst, cost.moved[-1])
    if delta == 1e-5 and columns == 3:  # nothing is given away
        assert most > 0.99 * delta
    assert worst == (0 if not delta else 2 if neighbouring == "replace_one" else 1)


@pytest.mark.parametrize("neighbouring", ["replace_one", "add_remove"])
@pytest.mark.parametrize("delta", [0.0, 1e-6])
def test_every_wide_table_is_paid_for(neighbouring: Any, delta: float, monkeypatch: pytest.MonkeyPatch) -> None:
    """Three of 9 cells and three of 6, no code merged: by brute force the worst neighbour costs what was asked for."""
    monkeypatch.setattr(merged_tables, "WIDE", 6)
    sizes, spec = (3, 3, 3, 2), dpsyn.PrivacySpec(0.7, delta, neighbouring)
    domain = categories(*sizes)
    mechanism = dpsyn.NoisyReweighting(**DRAWN).calibrate(spec, domain, 10)
    assert isinstance(mechanism, MergingMechanism)
    assert mechanism.wide == [(0, 1), (0, 2), (1, 2)]
    every = MergedTables(TableFamily(sizes, split_pairs(sizes)[0]), mechanism.wide, [np.arange(size) for size in sizes])
    rows = every.matrix(np.indices(sizes).reshape(4, -1).T.astype(np.int32)).toarray().T
    moved = rows if neighbouring == "add_remove" else np.abs(rows[0] - rows)
    both = {(int(row[:18].sum()), int(row[18:].sum())) for row in moved}
    narrow, wide = mechanism.ledger.parts
    assert (narrow.count, wide.name) == (18, MERGED)
    if not delta:
        scales = [Fraction(mechanism.ledger.scale(narrow)), Fraction(mechanism.wide_scale)]
        costs = [sum(count / scale for count, scale in zip(counts, scales, strict=True)) for counts in both]
        assert Fraction(0.7) * (1 - Fraction(1, 10**12)) <= max(costs) <= Fraction(0.7)
        return
    assert mechanism.ledger.argument == "exact"
    weights = round(narrow.weight), round(wide.weight)
    lost = [
        discrete_delta(
            [Moved(count, 1, weight) for count, weight in zip(counts, weights, strict=True)], mechanism.scale, 0.7
        )
        for counts in both
    ]
    assert 0.99 * delta < max(lost) <= delta


def test_rare_codes_are_merged_in_their_order_until_they_hold_enough() -> None:
    law = np.array([0.4, 0.05, 0.3, 0.06, 0.01, 0.01, 0.12, 0.05])
    assert groups_of(law, 0.1).tolist() == [0, 1, 2, 1, 3, 3, 4, 3]
    assert groups_of(law, 0.0).tolist() == list(range(8))
    assert groups_of(law, 2.0).tolist() == [0] * 8


@pytest.fixture
def merged() -> MergedTables:
    narrow = TableFamily((3, 2, 4), [(0, 1), (1, 2)])
    return MergedTables(narrow, [(0, 2)], [np.array([0, 1, 0]), np.array([0, 1]), np.array([0, 1, 1, 2])])


def all_rows() -> np.ndarray:
    return np.indices((3, 2, 4)).reshape(3, -1).T.astype(np.int32)


def test_cells_of_merged_codes_are_sums_of_cells(merged: MergedTables) -> None:
    codes = all_rows()[np.random.default_rng(0).integers(0, 24, 500)]
    found = merged.sums(codes)
    assert len(found) == merged.count == 6 + 8 + 6
    wide = np.zeros((2, 3), dtype=int)
    for a, _, c in codes:
        wide[[0, 1, 0][a], [0, 1, 1, 2][c]] += 1
    assert found.tolist() == [*merged.narrow.sums(codes), *wide.ravel()]
    assert merged.merged(CodedRows(codes, (3, 2, 4))).tolist() == wide.ravel().tolist()
    np.testing.assert_array_equal(merged.matrix(codes).sum(axis=1), found)
    cells = cells_of(merged)
    assert cells is not None
    assert cells.combination is not None
    np.testing.assert_array_equal(cells.combination @ TableFamily((3, 2, 4), cells.tables).sums(codes), found)
    assert [(g.columns, g.start, g.stop) for g in merged.groups] == [((0, 1), 0, 6), ((1, 2), 6, 14), ((0, 2), 14, 20)]
    per_row = merged.matrix(all_rows()).toarray().T
    assert np.abs(per_row[:, None] - per_row[None]).sum(axis=2).max() == merged.l1("replace_one") == 6
    assert per_row.sum(axis=1).max() == merged.l1("add_remove") == 3


def test_cells_are_spread_inside_their_groups_by_the_columns_alone(merged: MergedTables) -> None:
    law = np.random.default_rng(1).dirichlet(np.ones(24))
    statistics = np.asarray(merged.matrix(all_rows()) @ law)
    found = merged.spread_out(statistics)
    np.testing.assert_allclose(found[:14], statistics[:14])
    cells = cells_of(merged)
    assert cells is not None
    assert cells.combination is not None
    np.testing.assert_allclose(cells.combination @ found, statistics, atol=1e-12)
    table, one = found[14:].reshape(3, 4), law.reshape(3, 2, 4).sum(axis=(1, 2))
    np.testing.assert_allclose(table[0], table[2] * one[0] / one[2])
    # A group of which the density holds nothing is divided equally.
    nothing = np.zeros(merged.count)
    nothing[14:] = 1.0
    assert merged.spread_out(nothing)[14:].reshape(3, 4)[0].tolist() == [0.5, 0.25, 0.25, 0.5]


def wide_table(rows: int = 4_000) -> Table:
    """Two columns of 40 codes, of which three are frequent and equal, and two narrow ones."""
    generator = np.random.default_rng(0)
    law = np.full(40, 0.001)
    law[[0, 5, 9]] = 0.5, 0.3, 0.163
    first = generator.choice(40, rows, p=law / law.sum())
    second = np.where(law[first] > 0.1, first, generator.choice(40, rows, p=law / law.sum()))
    codes = np.stack([first, second, first % 2, generator.integers(0, 30, rows)], axis=1).astype(np.int32)
    sizes = (40, 40, 2, 30)
    domain = categories(*sizes)
    return Table(domain.decode(codes, generator), domain)


def test_codes_are_merged_where_tables_are_wide_and_nothing_else_was_asked_for() -> None:
    assert merges((40, 40, 2, 30))
    assert not merges((40, 30, 2, 30))
    assert not merges((40, 40))  # of which no narrow table says which codes are rare
    domain, spec = wide_table(10).domain, dpsyn.PrivacySpec(1.0, 1e-5)

    def kind(spec: dpsyn.PrivacySpec = spec, **settings: Any) -> type[NoisyReweightingMechanism]:
        found = dpsyn.NoisyReweighting(**settings).calibrate(spec, domain, 10)
        assert ("codes merged by the noisy tables" in found.guarantee.source) is isinstance(found, MergingMechanism)
        return type(found)

    assert kind() is NoisyReweightingMechanism  # on the whole domain
    assert kind(**DRAWN) is MergingMechanism
    assert kind(dpsyn.PrivacySpec(1.0), **DRAWN) is MergingMechanism
    others: list[dict[str, Any]] = [{"allocation": "equal"}, {"marginal_share": 0.1}, {"reduced_space": "uniform"}]
    for other in [*others, {"degree": 1}, {"tables": (("c0", "c1"), ("c2", "c3"))}, {"objective": "max"}]:
        assert kind(**{**DRAWN, **other}) is NoisyReweightingMechanism


@pytest.mark.parametrize(("rows", "more"), [(100, 1), (10_000, None), (1_000_000, 2)])
def test_as_many_points_are_drawn_as_the_noise_on_the_narrow_tables_leaves_worth_it(rows: int, more: float | None) -> None:
    """All have 80 cells; half of the sum of their deviations, over n, is held against 0.12."""
    names = [dpsyn.Attribute(f"c{j}", "categorical", tuple(range(40)), public=True) for j in range(4)]
    domain = dpsyn.Domain.of([*names, dpsyn.Attribute("b", "truth", (0, 1), public=True)])
    mechanism = dpsyn.NoisyReweighting().calibrate(dpsyn.PrivacySpec(1.0, 1e-5), domain, rows)
    assert isinstance(mechanism, MergingMechanism)
    assert [part.count for part in mechanism.ledger.parts] == [4 * 80, 0]
    scale = mechanism.ledger.entries[0]["scale"]
    assert mechanism.reduced_space_size == int(50_000 * (more or 0.12 * 2 * rows / (80 * scale)))


def test_wide_tables_come_last_and_frequent_codes_stand_alone() -> None:
    table, noise = wide_table(), Exact()
    mechanism = mechanism_of(table, dpsyn.PrivacySpec(1.0, 1e-5), **DRAWN)
    assert mechanism.wide == [(0, 1)]
    measured = mechanism.measured(noise, table)
    groups = [group.columns for group in measured.statistics.groups]
    assert groups == [(0, 2), (0, 3), (1, 2), (1, 3), (2, 3), (0, 1)]
    *_, wide = noise.calls
    assert wide.scale == mechanism.wide_scale == mechanism.ledger.entries[-1]["scale"]
    np.testing.assert_array_equal(measured.spreads[-len(wide.values) :], wide.scale)
    assert wide.values.sum() == table.n
    held = np.sort(wide.values.reshape(-1, round(len(wide.values) ** 0.5)).sum(axis=1))[::-1]
    assert held[:3].tolist() == np.sort(np.bincount(table.codes[:, 0], minlength=40))[::-1][:3].tolist()
    assert len(held) == 4
    assert sum(entry["share"] for entry in mechanism.ledger.entries) == pytest.approx(1)
    # As much noise as a table of 225 cells would have.
    shares = {entry["name"]: entry["scale"] for entry in mechanism.ledger.entries}
    assert shares[MERGED] > min(shares.values())


@pytest.mark.parametrize("neighbouring", ["replace_one", "add_remove"])
def test_a_release_is_a_table_like_the_rows_and_its_record_holds(neighbouring: Any) -> None:
    table, spec = wide_table(), dpsyn.PrivacySpec(3.0, 1e-5, neighbouring)
    mechanism = mechanism_of(table, spec, reduced_space="marginals", reduced_space_size=4_000, refinements=8)
    release = mechanism(np.random.default_rng(1), table)
    rows = release.rows
    assert len(rows) == pytest.approx(table.n, abs=0 if neighbouring == "replace_one" else 200)
    for name in ("c0", "c1"):
        shares = rows[name].value_counts(normalize=True)
        assert [shares[code] for code in (0, 5, 9)] == pytest.approx([0.5, 0.3, 0.163], abs=0.03)
    assert (rows["c0"] == rows["c1"]).mean() == pytest.approx(0.96, abs=0.05)
    pd.testing.assert_frame_equal(rows, mechanism(np.random.default_rng(1), table).rows)
    assert "codes merged by the noisy tables" in release.guarantee.source
    assert len(release.diagnostics["noisy_statistics"]) == len(release.diagnostics["fitted_statistics"])
    assert verify(mechanism(None, table).record()).holds
    assert "1 wider table follows with rare codes merged" in expectations.of_run(mechanism)[0][1]
    assert expectations.seconds(mechanism) > 0


def test_rows_are_repaired_to_cells_that_are_spread_inside_their_groups(monkeypatch: pytest.MonkeyPatch) -> None:
    """All rare codes are of one group: their rows of the wide table are a product, whatever few points hold by chance."""
    targets: list[np.ndarray] = []
    repaired = _fit.repaired_rows
    monkeypatch.setattr(_fit, "repaired_rows", lambda *given, **more: targets.append(given[3]) or repaired(*given, **more))
    table = wide_table()
    mechanism = mechanism_of(table, dpsyn.PrivacySpec(1.0, 1e-5), reduced_space="marginals", reduced_space_size=400)
    called(Exact(), mechanism, table)
    (cells,) = targets
    block = np.delete(cells[-1600:].reshape(40, 40), [0, 5, 9], axis=0)
    assert block.sum() > 0.01
    np.testing.assert_allclose(block, np.outer(block.sum(axis=1), block.sum(axis=0)) / block.sum(), atol=1e-12)


def columns_of_numbers() -> Iterator[dpsyn.Attribute]:
    yield dpsyn.Attribute("x", "numeric", lower=0, upper=99, bins=40, integer=True, public=True)
    yield dpsyn.Attribute("y", "categorical", tuple(range(40)), public=True)
    yield dpsyn.Attribute("z", "truth", (0, 1), public=True)


def test_bins_that_histograms_choose_are_merged_too() -> None:
    generator = np.random.default_rng(3)
    x = np.where(generator.random(3_000) < 0.6, 40, generator.integers(0, 100, 3_000))
    frame = pd.DataFrame({"x": x, "y": np.where(x == 40, 7, generator.integers(0, 40, 3_000)), "z": x % 2})
    table = Table(frame, dpsyn.Domain.of(columns_of_numbers()))
    mechanism = mechanism_of(table, dpsyn.PrivacySpec(4.0, 1e-5), reduced_space="marginals", reduced_space_size=3_000)
    rows = mechanism(np.random.default_rng(1), table).rows
    assert (rows["x"] == 40).mean() == pytest.approx((x == 40).mean(), abs=0.05)
    assert ((rows["x"] == 40) & (rows["y"] == 7)).mean() == pytest.approx((x == 40).mean(), abs=0.06)
