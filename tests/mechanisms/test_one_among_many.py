"""One row that is far out among many thousands is clipped, counted and summed like any other: no number of rows, and nothing
else that there is to know of the others, changes what is done with it."""

from __future__ import annotations

from itertools import pairwise, product
from typing import Any

import numpy as np
import pandas as pd
import pytest

from dpsyn.attribute import Attribute
from dpsyn.domain import Domain
from dpsyn.mechanisms.dp_gan.networks import Columns, Critic, parameters
from dpsyn.mechanisms.feature_map import clip_in_place
from dpsyn.mechanisms.privbayes.scores import F_MOVED, f_score
from dpsyn.privacy.histograms import _counted
from dpsyn.privacy.trees import Histogram
from dpsyn.table import Table


@pytest.mark.parametrize("far", [1, 3])
@pytest.mark.parametrize("columns", [1, 4])
def test_a_record_beyond_the_ball_is_clipped_wherever_it_is(columns: int, far: int) -> None:
    random = np.random.default_rng(0)
    points = random.uniform(-0.4, 0.4, (50_000, columns))
    where = random.choice(len(points), far, replace=False)
    points[where] *= 1e4
    before = points.copy()
    assert clip_in_place(points, 1.0) == far / len(points)
    rest = np.delete(np.arange(len(points)), where)
    np.testing.assert_array_equal(points[rest], before[rest])
    expected = before[where] / np.linalg.norm(before[where], axis=1, keepdims=True)
    np.testing.assert_allclose(points[where], expected, rtol=1e-12)


@pytest.mark.parametrize("n", [1_200, 6_000, 25_000])
@pytest.mark.parametrize("part", [0.5, 1.01, 1.5, 100.0])
def test_a_gradient_counts_alike_among_few_and_many(n: int, part: float) -> None:
    """``part`` of the longest gradient is the clip norm: with the last ones no row is clipped."""
    columns, random = Columns((3, 2, 2)), np.random.default_rng(n)
    critic = Critic(random.normal(size=parameters(7)))
    every = np.array(list(product(range(3), range(2), range(2))))
    alone = [critic.clipped_sum(columns.vectors(row[None]), 1e9) for row in every]
    norm = part * max(float(np.linalg.norm(one)) for one in alone)
    alone = [critic.clipped_sum(columns.vectors(row[None]), norm) for row in every]
    # All rows but one are alike: the last one is the only one of its kind.
    kinds = np.append(random.integers(0, 5, n), 11)
    sums = critic.clipped_sum(columns.vectors(every[kinds]), norm)
    counts = np.bincount(kinds, minlength=12)
    np.testing.assert_allclose(sums, counts @ np.array(alone), rtol=0, atol=n**2 * 2.0**-53 * norm)
    less = critic.clipped_sum(columns.vectors(every[kinds[:-1]]), norm)
    assert np.linalg.norm(sums - less) <= norm * (1 + 1e-6)
    np.testing.assert_allclose(sums - less, alone[11], rtol=0, atol=1e-7 * norm)


UNITS: dict[str, dict[str, Any]] = {"real": {}, "whole": {"integer": True}}


@pytest.mark.parametrize("n", [1_500, 20_000, 120_000])
@pytest.mark.parametrize("unit", UNITS)
def test_the_ends_of_a_column_are_the_given_ones_however_many_numbers_are_elsewhere(unit: str, n: int) -> None:
    attribute = Attribute("x", "numeric", lower=0, upper=1000, bins=10, missing=True, public=True, **UNITS[unit])
    values = np.random.default_rng(1).integers(200, 300, n).astype(np.float64)
    for at, (value, expected) in enumerate([(1000, 1000), (1e6, 1000), (999, 999), (-1e6, 0), (0, 0), (1, 1)]):
        for many in (1, n // 3):
            column = values.copy()
            column[at * 7 : at * 7 + many] = value
            column[-5:] = np.nan
            wanted = column.clip(0, 1000)
            assert wanted[at * 7] == expected
            frame = pd.DataFrame({"x": column})
            np.testing.assert_array_equal(attribute.numbers(frame["x"]), wanted)
            np.testing.assert_array_equal(attribute.in_units(frame["x"]), wanted)
            tree = Histogram(attribute, 0, 3)
            edges = np.linspace(*tree.ends, 11)[None]
            counted = _counted(tree, Table(frame, Domain.of([attribute])))(edges)
            present, ends = wanted[:-5], edges[0]
            by_hand = [((a <= present) & ((present < b) | (b == ends[-1]))).sum() for a, b in pairwise(ends)]
            assert counted.ravel().tolist() == by_hand


@pytest.mark.parametrize("rows", [4_999, 5_003, 20_001, 10**6 + 1])
def test_a_score_of_many_rows_is_that_of_each_of_them(rows: int) -> None:
    """By the definition: the least, over all ways to say which cells of the parents have code 0, of two shortfalls."""
    random = np.random.default_rng(rows)
    for shares in (np.ones(6) / 6, np.array([0.7, 0.1, 0.1, 0.05, 0.04, 0.01])):
        joint = random.multinomial(rows - 1, shares).reshape(3, 2).astype(np.int64)
        before = None
        for cell in (None, *product(range(3), range(2))):
            table = joint.copy()
            if cell is not None:
                table[cell] += 1
            n = int(table.sum())
            ways = []
            for zeros in product((True, False), repeat=3):
                a = sum(int(table[k, 0]) for k in range(3) if zeros[k])
                b = sum(int(table[k, 1]) for k in range(3) if not zeros[k])
                ways.append(max(n - 2 * a, 0) + max(n - 2 * b, 0))
            assert f_score(table) == -min(ways)
            before = f_score(table) if before is None else before
            assert abs(f_score(table) - before) <= F_MOVED
