"""PrivSyn: what it scores, chooses, combines and measures, and rows that come to have their tables."""

from __future__ import annotations

import json
import math
from itertools import combinations
from typing import Any

import numpy as np
import pytest
from scipy.sparse.csgraph import minimum_spanning_tree

import dpsyn
from dpsyn.errors import DpsynError, ParameterError
from dpsyn.mechanisms.base import TABLES_ARE_PUBLIC
from dpsyn.mechanisms.privsyn import gum
from dpsyn.mechanisms.privsyn.gum import TableModel, _update
from dpsyn.mechanisms.records import config_from_dict, config_to_dict, verify
from dpsyn.solvers.coded import CodedRows, table_counts
from dpsyn.solvers.dense_marginals import combined, dense_pairs, tree_pairs
from tests.conformance.neighbours import Call, Exact

ASIA = dpsyn.load_sample("asia")
PAIRS = list(combinations(range(8), 2))


def exact_run(spec: dpsyn.PrivacySpec, **settings: Any) -> tuple[list[Call], dict]:
    mechanism = dpsyn.PrivSyn(rounds=1, rows=50, **settings).calibrate(spec, ASIA.domain, ASIA.n)
    noise = Exact()
    return noise.calls, mechanism._run(noise, ASIA, lambda step, share: None)[1]


@pytest.mark.parametrize(("neighbouring", "unit"), [("replace_one", ASIA.n), ("add_remove", 1)])
def test_scores_are_distances_from_independence_and_all_that_is_measured_is_counted(neighbouring, unit):
    calls, diagnostics = exact_run(dpsyn.PrivacySpec(1.0, 1e-5, neighbouring))
    for j in range(8):
        assert calls[j].values.tolist() == np.bincount(ASIA.codes[:, j], minlength=2).tolist()
    scores = calls[8].values
    for (i, j), score in zip(PAIRS, scores, strict=True):
        joint = table_counts(ASIA.codes, (i, j), (2,) * 8).reshape(2, 2)
        away = np.abs(joint - np.outer(joint.sum(axis=1), joint.sum(axis=0)) / ASIA.n).sum()
        assert score / unit == pytest.approx(away, abs=1 if unit == 1 else 1e-6)
    mechanism = dpsyn.PrivSyn().calibrate(dpsyn.PrivacySpec(1.0, 1e-5, neighbouring), ASIA.domain, ASIA.n)
    assert mechanism._dependence(Exact(), CodedRows(ASIA.codes, ASIA.domain.shape)) == pytest.approx(scores / unit)
    names = ASIA.domain.names
    measured = [tuple(names.index(name) for name in table.split(" – ")) for table in diagnostics["tables"]]
    for columns, call in zip(measured, calls[9:], strict=True):
        assert call.values.tolist() == table_counts(ASIA.codes, columns, (2,) * 8).tolist()
    strong = [pair for pair, score in zip(PAIRS, scores, strict=True) if score / unit > 0.1 * ASIA.n]
    assert strong
    assert all(any(set(pair) <= set(columns) for columns in measured) for pair in strong)


@pytest.mark.parametrize(("delta", "power", "unit"), [(1e-5, 2 / 3, "rho"), (0.0, 1 / 2, "epsilon")])
def test_a_tenth_for_scores_a_tenth_for_columns_and_the_rest_by_cells(delta, power, unit):
    spec = dpsyn.PrivacySpec(1.0, delta)
    mechanism = dpsyn.PrivSyn().calibrate(spec, ASIA.domain, ASIA.n)
    assert [entry["share"] for entry in mechanism.calibrated()["ledger"]] == pytest.approx([0.1, 0.1, 0.8])
    calls, _ = exact_run(spec)
    moved = 6 * ASIA.n + 4
    if unit == "rho":
        costs = [2 / (2 * call.scale**2) for call in calls]
        costs[8] = 28 * moved**2 / (2 * calls[8].scale ** 2)
    else:
        costs = [2 / call.scale for call in calls]
        costs[8] = 28 * moved / calls[8].scale
    total = mechanism.budget.total
    assert sum(costs[:8]) == pytest.approx(0.1 * total)
    assert costs[8] == pytest.approx(0.1 * total)
    weights = [len(call.values) ** power for call in calls[9:]]
    assert costs[9:] == pytest.approx([0.8 * total * weight / sum(weights) for weight in weights])


def test_where_no_pair_is_worth_its_noise_all_is_spent_on_columns():
    for table in (ASIA, dpsyn.Table(ASIA.frame[["asia"]], ASIA.domain.project(["asia"]))):
        mechanism = dpsyn.PrivSyn(rows=50).calibrate(dpsyn.PrivacySpec(1e-4), table.domain, ASIA.n)
        noise = Exact()
        diagnostics = mechanism._run(noise, table, lambda step, share: None)[1]
        assert diagnostics["tables"] == list(table.domain.names)
        counted = [call for call in noise.calls if len(call.values) == 2]
        scores = 0.1 if len(table.domain) > 1 else 0.0
        assert sum(2 / call.scale for call in counted) == pytest.approx((1 - scores) * mechanism.budget.total)


def error(chosen, dependence, cells, rho):
    """Of the paper: Σ c·√(1/(πρ_i)) over pairs that are taken, with ρ_i by cells^2/3, and φ over the others."""
    together = sum(cells[i] ** (2 / 3) for i in chosen)
    noise = sum(cells[i] / math.sqrt(math.pi * rho * cells[i] ** (2 / 3) / together) for i in chosen)
    return noise + sum(phi for i, phi in enumerate(dependence) if i not in chosen)


def test_dense_marg_is_greedy_in_the_error_of_the_paper():
    random = np.random.default_rng(3)
    for rho in (1e-4, 0.01, 1.0):
        pairs = list(combinations(range(5), 2))
        dependence, cells = random.uniform(0, 900, 10), random.integers(4, 90, 10).astype(float)
        # √(2/π)·σ with σ² = 1/(2ρ).
        found = dense_pairs(pairs, dependence, cells, 2 / 3, math.sqrt(1 / (math.pi * rho)))
        taken: list[int] = []
        while len(taken) < 10:
            best = min((i for i in range(10) if i not in taken), key=lambda i: error([*taken, i], dependence, cells, rho))
            if error([*taken, best], dependence, cells, rho) >= error(taken, dependence, cells, rho):
                break
            taken.append(best)
        assert found == [pairs[i] for i in taken]
    assert dense_pairs([(0, 1)], np.array([5.0]), np.array([4.0]), 0.5, 2.0) == []


def test_privbayes_grows_a_tree_by_the_largest_dependence():
    pairs = list(combinations(range(4), 2))  # 01 02 03 12 13 23
    assert tree_pairs(pairs, np.array([1.0, 9.0, 2.0, 8.0, 3.0, 7.0])) == [(0, 2), (1, 2), (2, 3)]
    assert tree_pairs(pairs, np.array([-5.0, -1.0, -2.0, -3.0, -4.0, -6.0])) == [(0, 2), (0, 3), (1, 2)]
    assert tree_pairs([(0, 1)], np.array([0.0])) == [(0, 1)]
    random = np.random.default_rng(1)
    pairs = list(combinations(range(7), 2))
    for weights in random.normal(size=(20, len(pairs))):
        square = np.zeros((7, 7))
        square[tuple(np.array(pairs).T)] = 10 - weights  # positive: a zero would be no edge
        tree = minimum_spanning_tree(square).tocoo()
        found = tree_pairs(pairs, weights)
        assert set(found) == set(zip(tree.row.tolist(), tree.col.tolist(), strict=True))


def test_a_network_is_chosen_by_the_noisy_scores_and_by_nothing_else():
    spec = dpsyn.PrivacySpec(1.0, 1e-5)
    calls, diagnostics = exact_run(spec, selection="privbayes")
    dense, _ = exact_run(spec)
    assert calls[8].values.tolist() == dense[8].values.tolist()
    assert calls[8].scale == dense[8].scale
    names = ASIA.domain.names
    tree = [tuple(names[j] for j in pair) for pair in tree_pairs(PAIRS, calls[8].values)]
    assert diagnostics["tables"] == [" – ".join(pair) for pair in tree]
    assert len(tree) == 7


def test_named_tables_get_what_scores_cost_and_the_claim_says_that_they_are_public():
    spec = dpsyn.PrivacySpec(1.0, 1e-5)
    config = dpsyn.PrivSyn(rounds=1, rows=50, selection=(("smoke", "asia", "lung"), ["xray"], ("lung", "asia", "smoke")))
    mechanism = config.calibrate(spec, ASIA.domain, ASIA.n)
    assert mechanism.guarantee.assumptions[-1] == TABLES_ARE_PUBLIC
    assert TABLES_ARE_PUBLIC not in dpsyn.PrivSyn().calibrate(spec, ASIA.domain, ASIA.n).guarantee.assumptions
    assert [entry["share"] for entry in mechanism.calibrated()["ledger"]] == pytest.approx([0.1, 0.9])
    noise = Exact()
    diagnostics = mechanism._run(noise, ASIA, lambda step, share: None)[1]
    assert diagnostics["tables"] == ["asia – smoke – lung", "xray"]
    columns = [tuple(ASIA.domain.index(name) for name in table) for table in (("asia", "smoke", "lung"), ("xray",))]
    assert [call.values.tolist() for call in noise.calls[8:]] == [
        table_counts(ASIA.codes, c, (2,) * 8).tolist() for c in columns
    ]
    cost = sum(2 / (2 * call.scale**2) for call in noise.calls)
    assert cost == pytest.approx(mechanism.budget.total)


def test_a_selection_is_kept_and_earlier_records_have_none():
    for config in (dpsyn.PrivSyn(selection="privbayes"), dpsyn.PrivSyn(selection=(("smoke", "lung"),))):
        assert config_from_dict(json.loads(json.dumps(config_to_dict(config)))) == config
    earlier = {name: value for name, value in config_to_dict(dpsyn.PrivSyn()).items() if name != "selection"}
    assert config_from_dict(earlier) == dpsyn.PrivSyn()
    release = dpsyn.PrivSyn(rows=9, rounds=1, selection=(("smoke", "lung"),)).calibrate(
        dpsyn.PrivacySpec(1.0), ASIA.domain, ASIA.n
    )(np.random.default_rng(0), ASIA)
    assert not verify(json.loads(json.dumps(release.record(), default=str)), ASIA.domain).contradiction


@pytest.mark.parametrize("selection", ["manual", (), ((),), (("smoke", "smoke"),), 3, ((1,),)])
def test_selections_that_cannot_be_name_the_field(selection):
    with pytest.raises(ParameterError) as caught:
        dpsyn.PrivSyn(selection=selection)
    assert caught.value.field == "selection"


def test_named_columns_must_exist_and_their_tables_fit_into_memory():
    spec = dpsyn.PrivacySpec(1.0)
    with pytest.raises(DpsynError, match="nobody"):
        dpsyn.PrivSyn(selection=(("smoke", "nobody"),)).calibrate(spec, ASIA.domain, ASIA.n)
    large = dpsyn.Domain.of(dpsyn.Attribute(c, "numeric", lower=0, upper=1, bins=2_000, public=True) for c in "abcd")
    with pytest.raises(DpsynError, match="selection"):
        dpsyn.PrivSyn(histogram_share=0.0, selection=(tuple("abcd"),)).calibrate(spec, large, 100)


def test_cliques_become_one_table_the_largest_first():
    triangle = [(0, 1), (0, 2), (1, 2)]
    assert combined([*triangle, (2, 3)], (2,) * 4, 8) == [(0, 1, 2), (2, 3)]
    assert combined([*triangle, (2, 3)], (2,) * 4, 7) == [*triangle, (2, 3)]
    four = list(combinations(range(4), 2))
    assert combined(four, (2,) * 4, 16) == [(0, 1, 2, 3)]
    # (0, 1, 3) has two columns in common with the first one; after it the others have three.
    assert combined(four, (2,) * 4, 15) == [(0, 1, 2), (0, 1, 3), (2, 3)]
    assert combined([*triangle, (1, 3), (2, 3)], (2,) * 4, 8) == [(0, 1, 2), (1, 2, 3)]


def test_an_update_moves_rows_from_full_cells_to_empty_ones():
    generator = np.random.default_rng(0)
    codes = np.repeat(np.array([[0, 0, 7], [1, 1, 8]], dtype=np.int32), [80, 20], axis=0)
    wanted = np.array([50.0, 0.0, 10.0, 40.0])
    _update(codes, (0, 1), (2, 2, 9), wanted, 1.0, generator)
    assert table_counts(codes, (0, 1), (2, 2)).tolist() == [50, 0, 10, 40]
    # Into a cell without rows they keep what is not in the table; into another one some are copies.
    assert set(codes[(codes[:, 0] == 1) & (codes[:, 1] == 0), 2]) == {7}
    third = codes[(codes[:, 0] == 1) & (codes[:, 1] == 1), 2]
    assert 20 < (third == 8).sum() < 40
    _update(codes, (0, 1), (2, 2, 9), np.array([100.0, 0.0, 0.0, 0.0]), 0.1, generator)
    assert table_counts(codes, (0, 1), (2, 2)).tolist()[0] == 55


def test_what_an_update_moves_by_hand():
    generator = np.random.default_rng(0)
    codes = np.repeat(np.array([[0], [1]], dtype=np.int32), [80, 20], axis=0)
    _update(codes, (0,), (2,), np.array([50.0, 50.0]), 0.5, generator)
    assert np.bincount(codes[:, 0]).tolist() == [70, 30]  # min(30, 0.5 · 20), and not half of what is lacking
    codes = np.repeat(np.array([[0], [1]], dtype=np.int32), [60, 40], axis=0)
    _update(codes, (0,), (3,), np.array([50.0, 10.0, 40.0]), 0.5, generator)
    assert np.bincount(codes[:, 0]).tolist() == [50, 30, 20]  # min(10, 60β) and min(30, 40β) are 20 together at β = 1/4


def test_any_rows_of_a_cell_leave_it():
    """40 of 80: of the first 40 a hypergeometric number with mean 20 and deviation 2.2."""
    codes = np.zeros((80, 1), dtype=np.int32)
    _update(codes, (0,), (2,), np.array([40.0, 40.0]), 1.0, np.random.default_rng(0))
    assert codes.sum() == 40
    assert 10 < codes[:40].sum() < 30


def test_a_step_of_the_update_is_the_papers(monkeypatch):
    steps = []
    monkeypatch.setattr(gum, "_update", lambda codes, table, sizes, wanted, step, generator: steps.append(step))
    tables = {(0,): np.ones(2), (1,): np.ones(2), (0, 1): np.full(4, 0.5)}
    TableModel((2, 2), tables, 2.0, 45).codes(10, np.random.default_rng(0))
    assert steps == pytest.approx([1.0] * 20 + [0.84] * 20 + [0.84**2] * 5)


def test_rows_come_to_have_all_tables_that_agree():
    random = np.random.default_rng(5)
    sizes = (3, 4, 2)
    codes = np.stack([random.integers(0, size, 3000) for size in sizes], axis=1).astype(np.int32)
    codes[:, 1] = np.where(random.random(3000) < 0.7, codes[:, 0], codes[:, 1])
    tables = [(0,), (1,), (2,), (0, 1), (1, 2)]
    counts = {columns: table_counts(codes, columns, sizes).astype(float) for columns in tables}
    made = TableModel(sizes, counts, 3000.0, 60).codes(6000, random)
    assert made.shape == (6000, 3)
    for columns in tables:
        assert np.abs(table_counts(made, columns, sizes) - 2 * counts[columns]).sum() < 0.01 * 6000


def test_what_cannot_be_is_refused():
    spec = dpsyn.PrivacySpec(1.0, 1e-5)
    for columns, allowed in ((100, True), (101, False)):
        wide = dpsyn.Domain.of(dpsyn.Attribute(f"c{j}", "truth", (0, 1), public=True) for j in range(columns))
        if allowed:
            assert len(dpsyn.PrivSyn().calibrate(spec, wide, 100).pairs) == 4950
            continue
        with pytest.raises(DpsynError, match="all pairs"):
            dpsyn.PrivSyn().calibrate(spec, wide, 100)
    for columns, bins in (("abc", 2_000), ("ab", 10**5)):  # all tables of two columns count, and no larger ones
        large = dpsyn.Domain.of(dpsyn.Attribute(c, "numeric", lower=0, upper=1, bins=bins, public=True) for c in columns)
        if bins == 2_000:
            assert len(dpsyn.PrivSyn(histogram_share=0.0).calibrate(spec, large, 100).pairs) == 3
            continue
        with pytest.raises(DpsynError, match="memory"):
            dpsyn.PrivSyn(histogram_share=0.0).calibrate(spec, large, 100)
