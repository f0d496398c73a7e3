"""Rows from a density: systematic counts, their mean, and repairs that only ever help."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dpsyn.mechanisms.noisy_reweighting.families import TableFamily
from dpsyn.solvers import rounding
from dpsyn.solvers.contingency import all_codes
from dpsyn.solvers.density_spaces import TableModel
from dpsyn.solvers.rounding import repaired_rows, systematic_counts, systematic_rows

SIZES = (4, 3, 5, 2)
PAIRS = tuple(combinations(range(4), 2))


@settings(max_examples=60)
@given(st.integers(1, 40), st.integers(1, 200), st.integers(0, 10_000))
def test_every_point_gets_its_share_rounded_up_or_down(points, rows, seed):
    random = np.random.default_rng(seed)
    density = random.dirichlet(np.full(points, 0.3))
    counts = systematic_counts(density, rows, random)
    assert counts.sum() == rows
    assert (counts >= np.floor(rows * density - 1e-9)).all()
    assert (counts <= np.ceil(rows * density + 1e-9)).all()
    # Any run of points, too.
    assert np.abs(np.cumsum(counts) - rows * np.cumsum(density)).max() <= 1 + 1e-9


def test_shares_are_right_on_average():
    random = np.random.default_rng(0)
    density = random.dirichlet(np.ones(9))
    mean = np.mean([systematic_counts(density, 5, random) for _ in range(20_000)], axis=0)
    np.testing.assert_allclose(mean, 5 * density, atol=0.02)


def drawn(rows=600, seed=0):
    random = np.random.default_rng(seed)
    points = all_codes(SIZES)
    density = random.dirichlet(np.full(len(points), 0.4))
    family = TableFamily(SIZES, PAIRS)
    return points, density, family, family.matrix(points) @ density, points[systematic_rows(density, rows, random)]


def squared(family, codes, target):
    return float(((family.sums(codes) - len(codes) * target) ** 2).sum())


def test_repairs_bring_the_tables_to_less_than_a_row_a_cell():
    _, _, family, target, codes = drawn()
    repaired = repaired_rows(codes, SIZES, PAIRS, target, np.random.default_rng(1))
    assert repaired.shape == codes.shape
    assert squared(family, repaired, target) < 0.5 * squared(family, codes, target)
    assert np.abs(family.sums(repaired) - len(codes) * target).max() < 3
    # Independent draws miss by far more.
    assert squared(family, repaired, target) < 0.02 * len(codes) * family.count / 10


@pytest.mark.parametrize("seed", range(5))
def test_no_round_makes_it_worse(seed):
    _, _, family, target, codes = drawn(60, seed)
    errors = [squared(family, codes, target)]
    for rounds in (1, 5, 20, 100):
        errors.append(
            squared(family, repaired_rows(codes, SIZES, PAIRS, target, np.random.default_rng(3), rounds=rounds), target)
        )
    assert errors == sorted(errors, reverse=True)


def test_rare_rows_are_not_made():
    _, _, family, target, codes = drawn()
    potential = np.random.default_rng(2).normal(0, 2, family.count)
    model = TableModel(SIZES, PAIRS, potential, [np.zeros(size) for size in SIZES])
    repaired = repaired_rows(codes, SIZES, PAIRS, target, np.random.default_rng(1), model=model)
    assert (repaired != codes).any()
    before = model.log_density(codes)
    assert model.log_density(repaired).min() >= min(before.min(), np.quantile(before, 0.01)) - 1e-4


def test_a_changed_row_is_not_rarer_than_the_rarest_hundredth_however_often_it_changes():
    """Towards tables of which the density's rare rows hold the most, so that a row that may goes there in several steps."""
    points, _, family, _, codes = drawn()
    model = TableModel(SIZES, PAIRS, np.random.default_rng(2).normal(0, 1, family.count), [np.zeros(size) for size in SIZES])
    against = np.exp(-model.log_density(points))
    target = family.matrix(points) @ (against / against.sum())
    rarest = np.quantile(model.log_density(codes), 0.01)
    repaired = repaired_rows(codes, SIZES, PAIRS, target, np.random.default_rng(1), model=model)
    changed = (repaired != codes).any(axis=1)
    assert ((repaired != codes).sum(axis=1) > 1).sum() > 50
    assert model.log_density(repaired[changed]).min() >= rarest - 1e-4


def test_one_row_and_constant_columns():
    codes = np.zeros((1, 2), dtype=np.int32)
    assert repaired_rows(codes, (1, 1), ((0, 1),), np.ones(1), np.random.default_rng(0)).tolist() == [[0, 0]]


def test_tables_that_are_met_exactly_end_it(monkeypatch):
    turns = []
    together = rounding._together
    monkeypatch.setattr(rounding, "_together", lambda *given: turns.append(1) or together(*given))
    codes = np.random.default_rng(0).integers(0, 2, (64, 2)).astype(np.int32)
    target = np.bincount(2 * codes[:, 0] + codes[:, 1], minlength=4) / 64
    assert np.array_equal(repaired_rows(codes, (2, 2), [(0, 1)], target, np.random.default_rng(1)), codes)
    assert len(turns) < 20
