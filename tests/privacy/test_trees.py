"""Trees over one column: as many levels as its range has digits, and parts that are all where they can be."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from dpsyn.domain import Attribute, Domain
from dpsyn.privacy.histograms import Histograms
from dpsyn.privacy.trees import BRANCHES, Histogram, Level
from tests.privacy.test_histograms import AGES, table_of, tree


def all_split(column: Histogram) -> list[Level]:
    """The tree in which every part is counted, and stands out of the noise."""
    return column.grown(lambda edges: np.full((len(edges), BRANCHES), 50), lambda counts: counts, 1.0)


@pytest.mark.parametrize("width", [11, 37, 100, 101, 480])
def test_the_finest_parts_are_all_that_a_tree_can_come_to(width: int) -> None:
    whole = Attribute("x", "numeric", lower=-3, upper=width - 4, bins=5, integer=True)
    for attribute in (whole, Attribute("x", "numeric", lower=0, upper=width, bins=5)):
        column = replace(tree(attribute), levels=min(tree(attribute).levels, 3))
        edges = np.unique(np.concatenate([level.edges.ravel() for level in all_split(column)]))
        np.testing.assert_array_equal(column.finest(len(edges) - 1), edges)
        assert column.finest(len(edges) - 2) is None


def test_no_part_without_room_is_split() -> None:
    """Between 10¹⁵ and the next number there are seven others."""
    attribute = Attribute("x", "numeric", lower=1e15, upper=1e15 + 1, bins=2)
    levels = all_split(tree(attribute))
    assert len(levels) == 4
    for level in levels:
        row, at = np.divmod(level.split, BRANCHES)
        assert (level.edges[row, at] < level.edges[row, at + 1]).all()
    assert np.isfinite(tree(attribute).parts(levels, None, 1.0).rows).all()


@pytest.mark.parametrize(("width", "levels"), [(6, 1), (10, 1), (11, 2), (100, 2), (101, 3), (10**8, 8), (10**12, 8)])
def test_there_is_a_level_for_every_digit_and_no_more_than_eight(width: int, levels: int) -> None:
    assert tree(Attribute("x", "numeric", lower=1, upper=width, bins=5, integer=True)).levels == levels


def test_a_public_number_of_rows_is_that_of_the_values_where_none_is_missing() -> None:
    """Every count is 40 too large: the parts add up to the rows all the same, but where some rows have no value."""
    values = pd.array([30] * 700 + [None] * 300, dtype="Int64")
    for missing, rows in ((False, 700), (True, 1000)):
        attribute = replace(AGES, missing=missing)
        found = Histograms.of(Domain.of([attribute]))
        assert found is not None
        table = table_of(attribute, values[: rows if missing else 700])
        encoding = found.learn(table, lambda counts: counts + 40, 40.0, rows)
        total = float(encoding.bins[0].parts.rows.sum())
        assert total == pytest.approx(700) if not missing else 740 < total < 1300 and total != pytest.approx(1000)
