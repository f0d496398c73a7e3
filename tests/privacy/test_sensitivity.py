from __future__ import annotations

import math
from itertools import product

import numpy as np
import pytest

from dpsyn.errors import ParameterError
from dpsyn.mechanisms.noisy_reweighting.families import TableFamily
from dpsyn.mechanisms.noisy_reweighting.setting import StatisticsFamily, contingency_family
from dpsyn.privacy.sensitivity import changed_walsh_functions, contingency_count_l1, walsh_sum_l1
from dpsyn.solvers.contingency import all_codes
from dpsyn.solvers.contrasts import walsh_matrix


@pytest.mark.parametrize("p", [1, 2, 4, 5, 6])
@pytest.mark.parametrize("degree", [1, 2, 3, 4])
def test_walsh_against_all_pairs_of_points(p: int, degree: int) -> None:
    values = walsh_matrix(np.array(list(product([-1, 1], repeat=p))), degree).astype(int)
    # Flipping the same bits in both points maps pairs to pairs, so one point may stay fixed; all are tried up to p = 5.
    firsts = range(values.shape[1]) if p <= 5 else [0]
    differences = np.concatenate([np.abs(values - values[:, [i]]) for i in firsts], axis=1)
    assert differences.sum(axis=0).max() == walsh_sum_l1(p, degree)
    family = StatisticsFamily("walsh", p, degree, len(values))
    assert (differences**2).sum(axis=0).max() == pytest.approx(math.exp(2 * family.log_l2))
    assert (differences > 0).sum(axis=0).max() == changed_walsh_functions(p, degree)


def test_reference_values() -> None:
    assert [changed_walsh_functions(8, d) for d in (1, 2, 3)] == [8, 20, 64]
    assert [changed_walsh_functions(p, 2) for p in (25, 62, 119)] == [(p + 1) ** 2 // 4 for p in (25, 62, 119)]


@pytest.mark.parametrize("degree", [1, 2, 3, 5])
def test_tables_against_all_pairs_of_rows(degree: int) -> None:
    sizes = (2, 3, 2, 2)
    cells = TableFamily.all_of_degree(sizes, degree).matrix(all_codes(sizes)).toarray()
    differences = cells[:, :, None] - cells[:, None, :]
    assert np.abs(differences).sum(axis=0).max() == contingency_count_l1(4, degree)
    found = math.exp(2 * contingency_family(sizes, degree).log_l2)
    assert (differences**2).sum(axis=0).max() == pytest.approx(found)


# Attainable one-hot rows only: 62 bits in eight blocks, degree 2 (theory: 752), and 25 bits of seven blocks (168).
@pytest.mark.parametrize(
    ("blocks", "expected"), [((9, 16, 7, 15, 6, 5, 2, 2), 752), ((4, 4, 4, 3, 3, 3, 4), 168)], ids=["adult", "car"]
)
def test_one_hot_rows_move_less(blocks: tuple[int, ...], expected: int) -> None:
    # Changing j blocks flips 2j bits, of p bits in all; a block of two values counts as two bits here.
    p = sum(blocks)
    flips = [2 * j for j in range(1, len(blocks) + 1)]
    most = max(s + s * (p - s) for s in flips)
    assert most == expected
    assert most <= changed_walsh_functions(p, 2)


@pytest.mark.parametrize(("p", "degree", "field"), [(0, 1, "p"), (3, 0, "degree")])
def test_wrong_input_names_the_field(p: int, degree: int, field: str) -> None:
    with pytest.raises(ParameterError) as caught:
        changed_walsh_functions(p, degree)
    assert caught.value.field == field
