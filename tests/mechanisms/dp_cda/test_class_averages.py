"""Subsets of a class: drawn without replacement, or by coins."""

from __future__ import annotations

from collections import Counter
from itertools import combinations, product

import numpy as np
import pytest
from scipy.stats import binom, chi2

from dpsyn.privacy.mixing import averaging
from dpsyn.privacy.mixing.averaging import (
    _distinct_flat,
    averages_in_blocks,
    class_averages,
    distinct_draws,
    noisy_averages,
    poisson_averages,
)


@pytest.mark.parametrize(("size", "order"), [(5, 1), (5, 3), (6, 6), (7, 5), (9, 2)])
def test_subsets_are_distinct_and_equally_likely(size, order):
    rows = 20_000
    drawn = distinct_draws(rows, order, size, np.random.default_rng(size + order))
    assert (np.diff(drawn, axis=1) > 0).all()
    assert drawn.min() >= 0
    assert drawn.max() < size
    subsets = list(combinations(range(size), order))
    seen = Counter(map(tuple, drawn.tolist()))
    expected = rows / len(subsets)
    statistic = sum((seen[subset] - expected) ** 2 / expected for subset in subsets)
    assert statistic <= chi2.ppf(0.9999, max(len(subsets) - 1, 1))


@pytest.mark.parametrize("order", [1, 2, 9, 99, 100, 101, 317, 1000, 5000])
@pytest.mark.parametrize("size", [2, 3, 9, 30])
def test_subsets_are_distinct_however_large_they_are(size, order):
    """``size`` times as many elements as are drawn: in the first half of them lies half of each subset."""
    rows = max(2, 30_000 // order)
    sets = [np.arange(0, rows * order + 1, order)]
    drawn = distinct_draws(rows, order, size * order, np.random.default_rng(order))
    counts = np.random.default_rng(size).integers(0, 2 * order + 1, rows)
    sets.append(np.concatenate([[0], np.cumsum(counts)]))
    flat = _distinct_flat(counts, size * order, np.random.default_rng(order + 1))
    for starts, found in zip(sets, (drawn.ravel(), flat), strict=True):
        assert len(found) == starts[-1]
        owner = np.repeat(np.arange(rows), np.diff(starts))
        assert len(np.unique(owner * size * order + found)) == len(found)
        low = (found < size * order // 2).mean()
        assert abs(low - (size * order // 2) / (size * order)) < 6 * 0.5 / np.sqrt(len(found))


@pytest.mark.parametrize(("size", "order"), [(100, 3), (100, 40), (100, 60), (100, 97)])
def test_averages_of_every_kind_of_draw_hold_each_record_with_probability_l_over_n(size, order):
    """Sparse sums, dense products, and complements."""
    rows = 4000
    averages = class_averages(np.eye(size), order, rows, np.random.default_rng(order))
    taken = np.rint(averages * order)
    assert (taken.sum(axis=1) == order).all()
    assert set(np.unique(taken)) <= {0.0, 1.0}
    share, rate = taken.mean(axis=0), order / size
    assert np.abs(share - rate).max() < 5 * np.sqrt(rate * (1 - rate) / rows)


def test_pairs_of_three_are_equally_likely_where_repeats_are_drawn_again():
    pairs = _distinct_flat(np.full(9000, 2), 3, np.random.default_rng(1)).reshape(-1, 2)
    shares = np.bincount(pairs.sum(axis=1), minlength=4)[1:] / 9000
    assert np.abs(shares - 1 / 3).max() < 5 * np.sqrt(2 / 9 / 9000)


def test_a_few_subsets_are_distinct_too():
    """Three of four, and one of four, so few that often no neighbours are equal at first."""
    random = np.random.default_rng(4)
    drawn = np.array([_distinct_flat(np.array([3, 1]), 4, random) for _ in range(4000)])
    assert all(len(set(row[:3].tolist())) == 3 for row in drawn)
    lost = np.bincount(6 - drawn[:, :3].sum(axis=1), minlength=4)
    for seen in (lost, np.bincount(drawn[:, 3], minlength=4)):
        assert ((seen - 1000) ** 2 / 1000).sum() < chi2.ppf(0.9999, 3)


def test_coins_have_the_probability_that_is_asked_for():
    rows = noisy_averages(np.ones((3, 1)), 2, 50, 1e-9, np.random.default_rng(1), variant="poisson", rate=1.0)
    np.testing.assert_allclose(rows, 1.5, atol=1e-7)
    for size, order, average in ((1, 1, 1.0), (2, 2, 1.0), (3, 5, 0.6), (0, 4, 0.0)):  # without a rate l/N_k, 1 at most
        rows = noisy_averages(np.ones((size, 1)), order, 50, 1e-9, np.random.default_rng(1), variant="poisson")
        np.testing.assert_allclose(rows, np.full((50, 1), average), atol=1e-7)
    for size in (5_000, 200_000):  # which is a secret, however large
        rows = noisy_averages(np.ones((size, 1)), 9, 50, 1e-9, np.random.default_rng(1), variant="poisson", rate=0.02)
        assert rows.mean() == pytest.approx(0.02 * size / 9, rel=0.05)


@pytest.mark.parametrize("rate", [0.04, 0.1, 0.3, 0.9])
def test_poisson_sums_toss_independent_coins(rate):
    size, rows = 60, 6000
    taken = np.rint(poisson_averages(np.eye(size), 4, rate, rows, np.random.default_rng(7)) * 4)
    assert set(np.unique(taken)) <= {0.0, 1.0}
    assert np.abs(taken.mean(axis=0) - rate).max() < 5 * np.sqrt(rate * (1 - rate) / rows)
    correlations = np.corrcoef(taken.T)[np.triu_indices(size, 1)]
    assert np.abs(correlations).max() < 5.5 / np.sqrt(rows)
    counts = np.bincount(taken.sum(axis=1).astype(int), minlength=size + 1)
    expected = binom.pmf(np.arange(size + 1), size, rate) * rows
    kept = expected >= 10
    statistic = ((counts[kept] - expected[kept]) ** 2 / expected[kept]).sum()
    assert statistic < chi2.ppf(0.9999, kept.sum())


def test_every_small_subset_of_coins_is_as_likely_as_it_should_be():
    size, rate, rows = 40, 0.02, 60_000
    taken = np.rint(poisson_averages(np.eye(size)[:, :3], 1, rate, rows, np.random.default_rng(1))).astype(int)
    seen = Counter(map(tuple, taken.tolist()))
    for coins in [(0, 0, 0), (1, 0, 0), (0, 0, 1), (1, 1, 0)]:
        probability = rate ** sum(coins) * (1 - rate) ** (3 - sum(coins))
        assert abs(seen[coins] - rows * probability) < 5 * np.sqrt(rows * probability) + 1


@pytest.mark.parametrize(
    ("size", "rate", "rows"),
    [(1, 0.12, 200_000), (2, 0.12, 200_000), (9, 0.12, 100_000), (60, 0.1, 60_000), (400, 0.12, 20_000), (5000, 0.12, 7000)],
)
def test_how_many_coins_show_is_binomial_however_many_there_are(size, rate, rows):
    taken = np.rint(poisson_averages(np.ones((size, 1)), 1, rate, rows, np.random.default_rng(size))).astype(int).ravel()
    mean, variance = size * rate, size * rate * (1 - rate)
    assert taken.max() <= size
    assert abs(taken.mean() - mean) < 6 * np.sqrt(variance / rows)
    fourth = variance * (1 + 3 * (size - 2) * rate * (1 - rate))
    assert abs(((taken - mean) ** 2).mean() - variance) < 6 * np.sqrt((fourth - variance**2) / rows)


@pytest.mark.parametrize("variant", ["fixed_size", "poisson"])
@pytest.mark.parametrize("size", [0, 1, 5, 300])
@pytest.mark.parametrize("order", [1, 2, 200])
def test_every_block_is_what_the_noise_made_of_it_however_few_rows_it_has(order, size, variant, monkeypatch):
    """Blocks of one row, of two, and a last one that is shorter: each goes through the noise once."""
    members = np.random.default_rng(0).uniform(0.5, 1, (size, 2))
    for most, rows in product((2, 4, 1 << 18), (1, 2, 3, 7, 50)):
        monkeypatch.setattr(averaging, "_BLOCK", most)
        handed, made = [], []

        def add_noise(averages, handed=handed, made=made):
            handed.append(averages)
            made.append(np.full(averages.shape, -7.0 - len(made)))
            return made[-1]

        random = np.random.default_rng(1)
        found = list(averages_in_blocks(members, order, rows, add_noise, random, variant=variant, rate=0.3))
        assert len(found) == len(made) == -(-rows // min(rows, max(1, most // 2)))
        assert [start for start, _ in found] == np.cumsum([0, *[len(one) for one in handed]])[:-1].tolist()
        assert sum(len(one) for one in handed) == rows
        for (_, block), one in zip(found, made, strict=True):
            np.testing.assert_array_equal(block, one)


def test_an_empty_class_gives_zero_sums():
    assert (poisson_averages(np.zeros((0, 2)), 4, 0.1, 5, np.random.default_rng(0)) == 0).all()
    assert (class_averages(np.zeros((0, 2)), 3, 4, np.random.default_rng(0)) == 0).all()


def test_large_classes_take_time_for_what_is_drawn_only():
    """A million records, four of them a row: nothing of the size of rows times records is made."""
    members = np.arange(1_000_000, dtype=np.float64)[:, None]
    for averages in (
        class_averages(members, 4, 5000, np.random.default_rng(0)),
        poisson_averages(members, 4, 4e-6, 5000, np.random.default_rng(0)),
    ):
        assert averages.shape == (5000, 1)
        assert averages.mean() == pytest.approx(500_000, rel=0.05)


def test_rows_that_do_not_fit_into_memory_at_once_are_all_drawn_afresh():
    """Two thousand records, four thousand rows: more than are multiplied at a time."""
    size, rows = 2000, 4100
    members = np.random.default_rng(1).uniform(0, 1, (size, 1))
    for averages, mean, deviation in (
        (class_averages(members, 1990, rows, np.random.default_rng(2)), 1, np.sqrt(10 * (1 - 10 / size)) / 1990),
        (poisson_averages(members, 1800, 0.9, rows, np.random.default_rng(3)), 1, np.sqrt(size * 0.9 * 0.1) / 1800),
    ):
        scale = members.std() if deviation < 2e-3 else np.sqrt((members**2).mean())
        for part in (averages[:2000], averages[2000:4000], averages[4000:]):
            assert abs(part.mean() - mean * members.mean()) < 5 * deviation * scale / np.sqrt(len(part))
            assert part.std() == pytest.approx(deviation * scale, rel=5 / np.sqrt(2 * len(part)))
        assert len(np.unique(averages)) > 0.99 * rows


@pytest.mark.parametrize("size", [50, 3_000, 40_000])
@pytest.mark.parametrize("share", [0.01, 0.3, 0.9])
@pytest.mark.parametrize("variant", ["fixed_size", "poisson"])
def test_rows_of_a_block_are_drawn_independently_however_large_a_class_is(variant, share, size):
    """By the variance of averages of numbers -1 and 1, from row to row."""
    rows, order = 60, max(1, round(share * size))
    members = np.random.default_rng(0).choice([-1.0, 1.0], (size, 4))
    blocks = averages_in_blocks(
        members, order, rows, lambda averages: averages, np.random.default_rng(1), variant=variant, rate=share
    )
    found = np.concatenate([block for _, block in blocks])
    each = share * size * (1 - share) if variant == "poisson" else order * (1 - order / size) * members.var()
    assert 0.5 < (found.var(axis=0).mean() * order**2) / each < 1.7
