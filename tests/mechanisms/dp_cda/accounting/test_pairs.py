"""The dominating pairs of one mixed row by brute force: all small datasets and neighbours, densities on a grid."""

from __future__ import annotations

import math
from itertools import combinations, combinations_with_replacement, product

import numpy as np
import pytest

from dpsyn.privacy.mixing import pld

SIGMA = 0.9
EPSILONS = np.array([-1.5, -0.4, 0.0, 0.2, 0.7, 1.5, 3.0])
LINE = np.linspace(-8, 8, 6401)


def density(centres: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """A mixture of N(centre, σ²) on the line."""
    shapes = np.exp(-((LINE[None, :] - centres[:, None]) ** 2) / (2 * SIGMA**2))
    return weights @ shapes / math.sqrt(2 * math.pi) / SIGMA * (LINE[1] - LINE[0])


def fixed_size(records: tuple[float, ...], order: int) -> np.ndarray:
    averages = np.array([sum(subset) / order for subset in combinations(records, order)])
    return density(averages, np.full(len(averages), 1 / len(averages)))


def poisson(records: tuple[float, ...], order: int, rate: float) -> np.ndarray:
    centres, weights = [], []
    for coins in product((0, 1), repeat=len(records)):
        centres.append(sum(c * x for c, x in zip(coins, records, strict=True)) / order)
        weights.append(math.prod(rate if c else 1 - rate for c in coins))
    return density(np.array(centres), np.array(weights))


def excess(first: np.ndarray, second: np.ndarray) -> np.ndarray:
    """δ(ε) = ∫ max(first - e^ε second, 0)."""
    return np.array([np.maximum(first - math.exp(e) * second, 0).sum() for e in EPSILONS])


def allowed(parts: list[tuple[str, float, int]], multiplier: float) -> np.ndarray:
    """δ(ε) of the composed pairs on a fine grid, which is never too small."""
    step = 2e-3
    losses = [pld.discretised(pair, rate, 1 / multiplier, step) for pair, rate, _ in parts]
    lower, masses, infinity = pld.compose(losses, [rows for _, _, rows in parts], 1e-13)
    at = (lower + np.arange(len(masses))) * step
    return np.array([infinity + (masses * np.maximum(-np.expm1(e - at), 0)).sum() for e in EPSILONS])


@pytest.mark.parametrize(("size", "order"), [(2, 1), (3, 1), (3, 2), (3, 3), (4, 2)])
def test_without_replacement_every_pair_of_neighbours_is_dominated(size, order):
    """All datasets of numbers -1, 0, 1; one record more or fewer, and one replaced."""
    multiplier = SIGMA * order / 2
    add, remove, replace = (allowed([(pair, order / size, 1)], multiplier) for pair in ("add", "remove", "replace"))
    attained = np.zeros(len(EPSILONS))
    for records in combinations_with_replacement((-1.0, 0.0, 1.0), size):
        law = fixed_size(records, order)
        for at in range(size):
            rest = records[:at] + records[at + 1 :]
            if len(rest) >= order:
                without = fixed_size(rest, order)
                assert (excess(law, without) <= remove + 1e-6).all()
                assert (excess(without, law) <= add + 1e-6).all()
                # Moving to or from a class without rows looks like this, and is paid for as a replacement.
                assert (np.maximum(excess(law, without), excess(without, law)) <= replace + 1e-6).all()
                attained = np.maximum(attained, excess(law, without))
            for other in (-1.0, 0.0, 1.0):
                assert (excess(law, fixed_size((*rest, other), order)) <= replace + 1e-6).all()
    if order < size:
        np.testing.assert_allclose(attained, remove, atol=1e-4)  # attained: all others at -1, one at 1


@pytest.mark.parametrize(("size", "order", "rate"), [(2, 1, 0.4), (3, 2, 0.5), (4, 2, 0.15)])
def test_poisson_sums_every_pair_of_neighbours_is_dominated(size, order, rate):
    multiplier = SIGMA * order
    add, remove, swap = (allowed([(pair, rate, 1)], multiplier) for pair in ("add", "remove", "swap"))
    attained = np.zeros((2, len(EPSILONS)))
    for records in combinations_with_replacement((-1.0, -0.5, 0.0, 1.0), size):
        law = poisson(records, order, rate)
        for at in range(size):
            rest = records[:at] + records[at + 1 :]
            without = poisson(rest, order, rate)
            assert (excess(law, without) <= remove + 1e-6).all()
            assert (excess(without, law) <= add + 1e-6).all()
            assert (np.maximum(excess(law, without), excess(without, law)) <= swap + 1e-6).all()
            attained[0] = np.maximum(attained[0], excess(law, without))
            for other in (-1.0, 0.3, 1.0):
                replaced = excess(law, poisson((*rest, other), order, rate))
                assert (replaced <= swap + 1e-6).all()
                attained[1] = np.maximum(attained[1], replaced)
    np.testing.assert_allclose(attained, [remove, swap], atol=1e-4)  # zeros beside one record; the same beside its opposite


@pytest.mark.parametrize("variant", ["fixed_size", "poisson"])
def test_a_change_of_label_is_dominated_by_one_class_losing_and_one_gaining(variant):
    """One row of each of two classes: the output is a point of the plane, the law a product."""
    order, first, second = 1, (-1.0, -1.0), (1.0, -1.0, 0.0)
    records = [(a, b) for a in product(first, (1.0,)) for b in (second, (1.0, 1.0, 1.0), (-1.0, -1.0, -1.0))]
    for (a, b), moved in product(records, (-1.0, 0.4, 1.0)):
        if variant == "fixed_size":
            multiplier = SIGMA * order / 2
            laws = [
                fixed_size((*a, moved), order),
                fixed_size(b, order),
                fixed_size(a, order),
                fixed_size((*b, moved), order),
            ]
            lost, gained = order / (len(a) + 1), order / (len(b) + 1)
        else:
            multiplier, (lost, gained) = SIGMA * order, (0.4, 0.25)
            laws = [poisson(r, order, p) for r, p in (((*a, moved), lost), (b, gained), (a, lost), ((*b, moved), gained))]
        before, after = (np.outer(laws[i][::16] * 16, laws[i + 1][::16] * 16) for i in (0, 2))
        there = allowed([("remove", lost, 1), ("add", gained, 1)], multiplier)
        back = allowed([("add", lost, 1), ("remove", gained, 1)], multiplier)
        assert (excess(before, after) <= there + 1e-5).all()
        assert (excess(after, before) <= back + 1e-5).all()


def test_poisson_replacement_in_the_plane_is_worst_for_opposite_records():
    """(1-p)N(0) + pN(v) against (1-p)N(0) + pN(w) for v, w of length at most 1 at any angle."""
    rate, line = 0.3, np.linspace(-6, 6, 241)
    x, y = np.meshgrid(line, line)
    cell = (line[1] - line[0]) ** 2 / (2 * math.pi * SIGMA**2)

    def normal(length: float, angle: float) -> np.ndarray:
        a, b = length * math.cos(angle), length * math.sin(angle)
        return np.exp(-((x - a) ** 2 + (y - b) ** 2) / (2 * SIGMA**2)) * cell

    worst = allowed([("swap", rate, 1)], SIGMA)
    centre, last = normal(0, 0), None
    for angle in np.linspace(0, math.pi, 9):
        for first, second in ((1.0, 1.0), (1.0, 0.4), (0.2, 1.0)):
            found = excess((1 - rate) * centre + rate * normal(first, 0), (1 - rate) * centre + rate * normal(second, angle))
            assert (found <= worst + 5e-5).all()
            if (first, second) == (1.0, 1.0):
                assert last is None or (found >= last - 5e-5).all()  # it grows with the angle
                last = found
    np.testing.assert_allclose(last, worst, atol=1e-4)
