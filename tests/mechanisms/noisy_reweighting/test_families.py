"""Every family against brute force: sums, matrices, and sensitivities over all pairs of rows of small domains."""

from __future__ import annotations

import builtins
import math
from contextlib import suppress

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dpsyn.domain import Attribute, Domain
from dpsyn.errors import ParameterError
from dpsyn.mechanisms.noisy_reweighting import NoisyReweighting
from dpsyn.mechanisms.noisy_reweighting.families import ConjunctionFamily, Family, TableFamily, WalshFamily
from dpsyn.mechanisms.noisy_reweighting.user_functions import FunctionFamily
from dpsyn.privacy.spec import PrivacySpec
from dpsyn.solvers.contingency import all_codes
from dpsyn.table import Table


def moved(family: Family) -> tuple[int, float, int, float]:
    """Largest L1 and L2 distance between the sums of two one-row tables, and largest norms of one: by brute force."""
    rows = np.array([family.sums(row[None, :]) for row in all_codes(family.sizes)])
    pairs = rows[:, None, :] - rows[None, :, :]
    return (
        int(np.abs(pairs).sum(axis=2).max()),
        math.sqrt((pairs.astype(float) ** 2).sum(axis=2).max()),
        int(np.abs(rows).sum(axis=1).max()),
        math.sqrt((rows.astype(float) ** 2).sum(axis=1).max()),
    )


def claimed(family: Family) -> tuple[float, ...]:
    return (family.l1(), family.l2(), family.l1("add_remove"), family.l2("add_remove"))


SIZES = [(2, 2, 2, 2), (3, 2, 4), (2, 3, 2, 3), (3, 3, 3), (1, 2, 3), (1, 4), (2,), (5,)]
FAMILIES = [
    *[WalshFamily(p, d, constant=constant) for p in (1, 2, 4, 6) for d in (1, 2, 3) for constant in (True, False)],
    *[TableFamily.all_of_degree(sizes, d) for sizes in SIZES for d in (1, 2, 3)],
    TableFamily((3, 2, 4), [(0,), (2, 1), (0, 1, 2)]),
    TableFamily((1, 2, 3), [(0,), (1, 2)]),
    *[ConjunctionFamily(sizes, d, constant=c) for sizes in SIZES for d in (1, 2, 3) for c in (True, False)],
]


@pytest.mark.parametrize("family", FAMILIES, ids=lambda f: f"{f.name}-{f.sizes}-{f.count}")
def test_sensitivities_are_attained_and_never_exceeded(family):
    assert claimed(family) == pytest.approx(moved(family))


@pytest.mark.parametrize("family", FAMILIES, ids=lambda f: f"{f.name}-{f.sizes}-{f.count}")
def test_sums_agree_with_the_matrix_and_groups_cover_all(family):
    codes = np.random.default_rng(1).integers(0, family.sizes, (50, len(family.sizes)), dtype=np.int32)
    matrix = family.matrix(codes)
    assert matrix.shape == (family.count, 50)
    np.testing.assert_array_equal(family.sums(codes), np.asarray(matrix.sum(axis=1)).ravel())
    assert family.sums(codes).dtype == np.int64
    np.testing.assert_array_equal(family.sums(codes[:0]), 0)
    edges = [(group.start, group.stop) for group in family.groups]
    assert [a for a, _ in edges] == [0, *[b for _, b in edges[:-1]]]
    assert edges[-1][1] == family.count
    if family.has_constant:
        assert (np.asarray(matrix[[0]].todense() if hasattr(matrix, "todense") else matrix[0]) == 1).all()


@pytest.mark.parametrize(("p", "degree", "changed"), [(8, 1, 8), (8, 2, 20), (8, 3, 64)])
def test_the_reference_values_of_walsh_functions(p, degree, changed):
    family = WalshFamily(p, degree)
    assert family.l1() == 2 * changed
    assert family.l2() == pytest.approx(2 * math.sqrt(changed))


def test_conjunctions_on_bits_are_products_and_move_all_but_the_constant():
    family = ConjunctionFamily((2,) * 5, 3)
    assert family.count == 1 + 5 + 10 + 10
    assert family.l1() == family.count - 1
    assert family.l2() == pytest.approx(math.sqrt(family.count - 1))
    codes = all_codes(family.sizes)
    matrix = family.matrix(codes).toarray()
    for row, group in zip(matrix, family.groups, strict=True):
        np.testing.assert_array_equal(row, codes[:, group.columns].prod(axis=1))


def test_cells_of_chosen_tables_are_where_they_are_said_to_be():
    family = TableFamily((3, 2, 4), [(2, 0), (1,)])
    row = np.array([[2, 1, 3]])
    np.testing.assert_array_equal(np.flatnonzero(family.sums(row)), [3 * 3 + 2, 12 + 1])
    np.testing.assert_array_equal(family.cells(row).ravel(), [11, 13])


@pytest.mark.parametrize("tables", [[], [()], [(0, 0)], [(3,)], [(-1,)], [(0, 1), (1, 0)]])
def test_tables_that_cannot_be_are_refused(tables):
    with pytest.raises(ParameterError) as caught:
        TableFamily((2, 2, 2), tables)
    assert caught.value.field == "tables"


def older(codes):
    return codes[:, 0] > 1


def share(codes):
    return (codes[:, 0] - codes[:, 1]) / 7


def test_own_functions_have_the_exact_sensitivity_of_a_small_domain():
    family = FunctionFamily([older, share], (4, 3), low=[0, -1], high=[1, 1])
    assert family.row_by_row
    assert claimed(family) == pytest.approx(moved(family))
    assert family.l1() < 3 / family.unit  # less than the ranges alone would say
    codes = np.random.default_rng(0).integers(0, (4, 3), (200, 2), dtype=np.int32)
    np.testing.assert_allclose(family.sums(codes) * family.unit, [older(codes).sum(), share(codes).sum()], atol=1e-3)
    np.testing.assert_allclose(family.matrix(codes)[1], share(codes), atol=family.unit)
    np.testing.assert_allclose(family.matrix(codes).sum(axis=1), family.sums(codes) * family.unit)


def test_on_a_large_domain_the_declared_range_is_what_counts():
    sizes = (50,) * 6
    family = FunctionFamily(lambda codes: np.stack([codes[:, 0] / 5, codes[:, 1] / 50], axis=1), sizes, low=0, high=1)
    assert not family.row_by_row
    units = round(1 / family.unit)
    assert claimed(family) == (2 * units, math.sqrt(2) * units, 2 * units, math.sqrt(2) * units)
    codes = all_codes((50, 50, 1, 1, 1, 1))
    matrix = family.matrix(codes)
    assert matrix.max() == 1.0  # 49/5 is cut to the range
    np.testing.assert_array_equal(family.sums(codes), np.rint(matrix / family.unit).astype(np.int64).sum(axis=1))


def test_values_that_are_no_numbers_stay_inside_the_range():
    family = FunctionFamily([lambda c: np.where(c[:, 0] == 0, np.nan, np.inf)], (2,), low=-0.5, high=0.25)
    assert family.matrix(np.array([[0], [1]])).tolist() == [[-0.5, 0.25]]


def test_a_function_that_looks_at_other_rows_cannot_break_the_guarantee():
    def centred(codes):
        return codes[:, 0] - codes[:, 0].mean()

    with pytest.raises(ParameterError, match="one row at a time"):
        FunctionFamily([centred], (50,) * 6)
    # On a small domain it is only ever called on the domain: its values are fixed before any data are seen.
    family = FunctionFamily([centred], (3, 2))
    rows = np.array([[2, 0], [2, 1]])
    np.testing.assert_array_equal(family.sums(rows), family.sums(rows[:1]) + family.sums(rows[1:]))


@settings(max_examples=30)
@given(seed=st.integers(0, 10_000), functions=st.integers(1, 4), sizes=st.sampled_from([(2, 2), (3, 2), (4,), (2, 2, 2)]))
def test_random_functions_on_small_domains(seed, functions, sizes):
    values = np.random.default_rng(seed).uniform(-1.2, 1.2, (math.prod(sizes), functions))
    family = FunctionFamily(lambda codes: values[np.ravel_multi_index(tuple(codes.T), sizes)], sizes)
    assert claimed(family) == pytest.approx(moved(family))


@pytest.mark.parametrize(
    ("changes", "field"),
    [
        ({"low": 1.0}, "low"),
        ({"high": 1.5}, "low"),
        ({"low": [0.0, 0.0, 0.0]}, "low"),
        ({"high": float("nan")}, "high"),
        ({"unit": 0.0}, "unit"),
        ({"unit": 2.0}, "unit"),
        ({"low": 0.0, "high": 0.3, "unit": 1.0}, "unit"),
        ({"functions": []}, "functions"),
        ({"functions": [lambda c: c]}, "functions"),
        ({"functions": lambda c: c[:, 0]}, "functions"),
        ({"names": ["a"]}, "names"),
    ],
)
def test_wrong_input_names_the_field(changes, field):
    given = {"functions": [older, share], "sizes": (4, 3)} | changes
    with pytest.raises(ParameterError) as caught:
        FunctionFamily(**given)
    assert caught.value.field == field


def fails_where_the_first_code_is_3(codes):
    if (codes[:, 0] == 3).any():
        raise ZeroDivisionError("a kind of row that the function does not know")
    return codes[:, 1] / 50


def leaves_where_the_first_code_is_3(codes):
    if (codes[:, 0] == 3).any():
        raise SystemExit
    return codes[:, 1] / 50


def drops_rare_rows(codes):
    return codes[(codes[:, 0] != 3) | (codes[:, 1] != 7), 1] / 50


@pytest.mark.parametrize(
    ("function", "sizes"),
    [
        (fails_where_the_first_code_is_3, (4, 5)),
        (fails_where_the_first_code_is_3, (50,) * 6),
        (leaves_where_the_first_code_is_3, (50,) * 6),
        (drops_rare_rows, (50,) * 6),  # no row that is tried when the family is made is such a row
    ],
)
def test_a_row_on_which_a_function_fails_counts_as_the_lower_end_and_is_not_told(function, sizes):
    family = FunctionFamily([function, older], sizes, low=-0.5, high=1.0)
    codes = np.random.default_rng(1).integers(0, sizes, (300, len(sizes)), dtype=np.int32)
    codes[:2, :2] = (3, 7 % sizes[1])
    unknown = codes[:, 0] == 3
    if function is drops_rare_rows:
        unknown &= codes[:, 1] == 7
    expected = [np.where(unknown, -0.5, codes[:, 1] / 50).sum(), older(codes).sum()]
    np.testing.assert_allclose(family.sums(codes) * family.unit, expected, atol=300 * family.unit)
    # Replacing a row on which it fails moves the sums by no more than the claimed sensitivity, row by row.
    for row in (0, 1, 2):
        neighbour = codes.copy()
        neighbour[row] = (codes[row] + 1) % 3
        assert np.abs(family.sums(codes) - family.sums(neighbour)).sum() <= family.l1()


def test_whatever_a_function_raises_on_a_row_is_not_told():
    """Not only what arithmetic raises: all kinds of faults that Python has, and one of the user's own."""
    kinds = [kind for kind in vars(builtins).values() if isinstance(kind, type) and issubclass(kind, Exception)]
    raised = [type("Own", (BaseException,), {})(), SystemExit(), GeneratorExit(), Exception("a kind of row")]
    for kind in kinds:
        with suppress(TypeError):  # some are made from more than a text
            raised.append(kind("a kind of row"))
    assert len(raised) > 50

    def function(codes):
        if (codes[:, 0] == 3).any():
            raise raised[at]
        return codes[:, 1] / 50

    at = 0
    family = FunctionFamily([function], (50,) * 6, low=-0.5, high=1.0)
    for at in range(len(raised)):  # noqa: B007  # the function looks at it
        assert family.sums(np.array([[3, 7, 0, 0, 0, 0], [1, 25, 0, 0, 0, 0]])).tolist() == [0]


def test_a_run_gives_rows_whether_or_not_there_is_a_row_on_which_a_function_fails():
    domain = Domain.of(Attribute(c, "categorical", tuple(range(60)), public=True) for c in "abcd")
    family = FunctionFamily([fails_where_the_first_code_is_3], domain.shape, low=0, high=1)
    assert not family.row_by_row
    config = NoisyReweighting(family=family, rows=5, reduced_space="uniform", reduced_space_size=50)
    mechanism = config.calibrate(PrivacySpec(1.0), domain, n=40)
    for first in (0, 3):
        table = Table(pd.DataFrame({c: [first] * 40 for c in "abcd"}), domain)
        assert len(mechanism(np.random.default_rng(1), table).rows) == 5


def test_a_function_that_fails_on_every_row_is_refused_before_there_are_rows():
    with pytest.raises(ParameterError, match="KeyError") as caught:
        FunctionFamily([lambda codes: {}["x"]], (4, 3))
    assert caught.value.field == "functions"


@pytest.mark.parametrize(("low", "high", "end", "width"), [(-1.0, 0.5, 16, 24), (-0.25, 1.0, 16, 20), (0.25, 0.75, 12, 8)])
def test_functions_on_a_domain_that_is_not_listed_have_the_sensitivities_of_their_ranges(low, high, end, width):
    """In units of 1/16: an added row moves a sum by the larger end of its range, a replaced one by the whole of it."""
    sizes = (2000, 2001, 2)
    family = FunctionFamily(
        [lambda c: c[:, 0] / 1000.0 - 1, lambda c: 1.0 - c[:, 1] / 1000.0], sizes, low=low, high=high, unit=1 / 16
    )
    assert not family.row_by_row
    assert (family.l1("add_remove"), family.l2("add_remove")) == (2 * end, math.sqrt(2 * end**2))
    assert (family.l1(), family.l2()) == (2 * width, math.sqrt(2 * width**2))
    codes = np.array([[0, 0, 0], [1999, 2000, 1], [700, 1300, 0]], dtype=np.int32)
    one_by_one = np.array([family.sums(row[None, :]) for row in codes])
    values = np.column_stack([codes[:, 0] / 1000.0 - 1, 1.0 - codes[:, 1] / 1000.0])
    np.testing.assert_array_equal(one_by_one, np.rint(np.clip(values, low, high) * 16))
    np.testing.assert_array_equal(family.sums(codes), one_by_one.sum(axis=0))
    nothing = FunctionFamily(lambda c: np.full((len(c), 1), np.nan), sizes, low=low, high=high, unit=1 / 16)
    assert nothing.sums(codes).tolist() == [3 * round(low * 16)]


@pytest.mark.parametrize("neighbouring", ["replace_one", "add_remove"])
def test_a_function_that_stands_there_twice_costs_twice(neighbouring) -> None:
    once, twice = (FunctionFamily([lambda codes: codes[:, 0] / 2] * times, (3, 2)) for times in (1, 2))
    assert twice.l1(neighbouring) == 2 * once.l1(neighbouring) > 0
    assert twice.l2(neighbouring) == pytest.approx(math.sqrt(2) * once.l2(neighbouring))


@pytest.mark.parametrize("degree", [1, 2, 3])
@pytest.mark.parametrize("bits", [1, 5, 6, 7, 9])
@pytest.mark.parametrize("wide", [0, 2])
def test_two_rows_that_move_all_conjunctions_that_can_move_are_found_however_many_columns_there_are(wide, bits, degree):
    """Wide columns hold different codes; of the bits some are 1 in both rows, the others in one: 0 or more in the second."""
    family, found = ConjunctionFamily((3,) * wide + (2,) * bits, min(degree, wide + bits)), []
    for both in range(bits + 1):
        for second in {0, 1, (bits - both) // 2, bits - both}:
            first = bits - both - second
            if first < 0:
                continue
            rows = np.ones((2, wide + bits), dtype=np.int32)
            rows[1, :wide] = 2
            rows[0, wide + both : wide + both + second] = 0
            rows[1, wide + both + second :] = 0
            found.append(int(np.abs(family.sums(rows[:1]) - family.sums(rows[1:])).sum()))
    assert family.l1() == max(found)
