"""Scores of dependence are exact however many rows there are."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

import dpsyn
from dpsyn.domain import Attribute, Domain
from dpsyn.errors import ParameterError
from dpsyn.mechanisms.base import Config
from dpsyn.privacy.dependence import r_moved, r_score
from dpsyn.privacy.spec import PrivacySpec


def exact(joint: np.ndarray, *, rows_public: bool) -> int:
    """The same in whole numbers of any length."""
    cells = [[int(count) for count in line] for line in joint]
    rows = sum(map(sum, cells))
    parents, codes = [sum(line) for line in cells], [sum(line) for line in zip(*cells, strict=True)]
    far = sum(
        abs(rows * cells[i][j] - parents[i] * codes[j]) for i, j in itertools.product(range(len(parents)), range(len(codes)))
    )
    return far if rows_public else far // rows


@pytest.mark.parametrize("rows", [2**31 - 1, 2**31, 3_100_000_000, 2**40, 2**51])
def test_scores_of_very_many_rows_do_not_wrap_around(rows: int) -> None:
    for part in (rows // 3, rows // 2, 1_239_102_925):
        joint = np.diag(np.array([part, rows - part, 0], dtype=np.int64))
        if rows < 2**31:
            assert r_score(joint, rows_public=True) == exact(joint, rows_public=True)
        score = r_score(joint, rows_public=False)
        assert score == exact(joint, rows_public=False)
        more = joint.copy()
        more[2, 1] += 1
        assert abs(r_score(more, rows_public=False) - score) <= r_moved(None)
        np.array([score], dtype=np.int64)  # what noise is put on


@pytest.mark.parametrize("rows", [1, 2, 10**3, 10**6 + 1, 10**8, 2**31 - 1])
def test_a_replaced_row_moves_a_score_in_proportion_to_the_rows_however_many(rows: int) -> None:
    moved = r_score(np.diag([rows - 1, 1]), rows_public=True) - r_score(np.diag([rows, 0]), rows_public=True)
    assert 4 * rows - 4 == moved <= r_moved(rows) == 6 * rows + 4


@pytest.mark.parametrize("config", [dpsyn.PrivSyn(rows=10), dpsyn.PrivBayes(rows=10)])
def test_a_public_number_of_rows_whose_scores_do_not_fit_is_refused(config: Config) -> None:
    domain = Domain.of(Attribute(name, "categorical", ("a", "b", "c"), public=True) for name in "xy")
    config.calibrate(PrivacySpec(1.0, 1e-5), domain, n=2**31 - 1)
    config.calibrate(PrivacySpec(1.0, 1e-5, "add_remove"), domain, n=2**40)
    with pytest.raises(ParameterError, match="add_remove"):
        config.calibrate(PrivacySpec(1.0, 1e-5), domain, n=2**31)
