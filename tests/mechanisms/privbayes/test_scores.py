"""The scores of PrivBayes: against their definitions, and by how much all neighbours of small tables move them."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

from dpsyn.mechanisms.privbayes.scores import F_MOVED, f_score
from dpsyn.privacy.dependence import r_moved, r_score


def tables(shape, rows):
    """All tables of so many rows."""
    cells = int(np.prod(shape))

    def shared(left, places):
        if places == 1:
            yield (left,)
            return
        for first in range(left + 1):
            for rest in shared(left - first, places - 1):
                yield (first, *rest)

    for counts in shared(rows, cells):
        yield np.array(counts, dtype=np.int64).reshape(shape)


def moved(table, *, add):
    """Every table that a neighbour makes of it."""
    cells = list(np.ndindex(table.shape))
    for gone, come in product([None] if add else cells, cells):
        if gone is not None and table[gone] == 0:
            continue
        other = table.copy()
        if gone is not None:
            other[gone] -= 1
        other[come] += 1
        yield other


@pytest.mark.parametrize(("shape", "rows"), [((2, 2), 9), ((2, 3), 6), ((4, 2), 5)])
def test_no_neighbour_moves_r_by_more_than_the_proof_says(shape, rows):
    for add in (False, True):
        most = 0
        for n in range(1, rows):
            bound = r_moved(None if add else n)
            for table in tables(shape, n):
                mine = r_score(table, rows_public=not add)
                found = max(abs(mine - r_score(other, rows_public=not add)) for other in moved(table, add=add))
                assert found <= bound
                most = max(most, found / bound)
        assert most >= 0.4


@pytest.mark.parametrize(("shape", "rows"), [((2, 2), 9), ((4, 2), 5)])
def test_no_neighbour_moves_f_by_more_than_two_and_some_do(shape, rows):
    for add in (False, True):
        most = 0
        for n in range(1, rows):
            for table in tables(shape, n):
                mine = f_score(table)
                most = max(most, *(abs(mine - f_score(other)) for other in moved(table, add=add)))
        assert most == F_MOVED


def test_what_is_paid_for_is_what_is_proven():
    assert [r_moved(n) for n in (1, 10, 1000)] == [10, 64, 6004]
    assert r_moved(None) == 4


def test_r_is_half_the_distance_from_independence():
    random = np.random.default_rng(0)
    for _ in range(20):
        table = random.integers(0, 9, (3, 4))
        n = table.sum()
        share = table / n
        distance = np.abs(share - np.outer(share.sum(axis=1), share.sum(axis=0))).sum() / 2
        assert r_score(table, rows_public=True) == pytest.approx(2 * n**2 * distance)
        assert r_score(table, rows_public=False) == int(2 * n * distance + 1e-9)
    assert r_score(np.zeros((2, 2), dtype=np.int64), rows_public=False) == 0


def test_f_is_minus_the_distance_from_the_nearest_table_that_tells_all():
    """By linear programming over tables in which each cell of the parents has one code, and each code half of the rows."""
    from scipy.optimize import linprog

    random = np.random.default_rng(1)
    for _ in range(5):
        table = random.integers(0, 9, (3, 2))
        share, nearest = table / table.sum(), np.inf
        for codes in product((0, 1), repeat=3):
            if len(set(codes)) == 1:
                continue
            # Variables: the three cells that may be filled, and bounds on the distance in all six.
            allowed = [2 * at + code for at, code in enumerate(codes)]
            half = [[float(code == which) for code in codes] + [0.0] * 6 for which in (0, 1)]
            above, limits = [], []
            for cell in range(6):
                row = [float(cell == other) for other in allowed]
                for sign in (1, -1):
                    above.append([sign * x for x in row] + [-float(cell == other) for other in range(6)])
                    limits.append(sign * share.ravel()[cell])
            found = linprog([0] * 3 + [1] * 6, above, limits, half, [0.5, 0.5])
            nearest = min(nearest, found.fun)
        assert f_score(table) == pytest.approx(-nearest * table.sum(), abs=1e-6)


def test_a_column_that_the_parents_say_has_the_highest_f():
    assert f_score(np.array([[5, 0], [0, 5]])) == 0
    assert f_score(np.array([[5, 5], [0, 0]])) == -10
    assert f_score(np.array([[1, 0], [0, 9]])) == f_score(np.array([[9, 0], [0, 1]])) == -8
