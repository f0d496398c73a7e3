from __future__ import annotations

import math
from decimal import Context, Decimal
from itertools import product
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

import dpsyn
from dpsyn.errors import ParameterError
from dpsyn.mechanisms.private_sampling.certificates import (
    ReducedSpaceGeometry,
    bounded_ratio_epsilon,
    box_for,
    check_box,
    is_degenerate,
    largest_rows,
    measured_geometry,
    stability_epsilon,
    theorem_4_1_log_epsilon,
    whole_cube_geometry,
)
from dpsyn.solvers.contingency import walsh_dimension
from dpsyn.solvers.contrasts import walsh_matrix


def _theorem(n: float, p: int = 8, m: float = 256, floor: float = 0.25, ceiling: float = 2.0, degree: int = 2) -> float:
    return math.exp(
        theorem_4_1_log_epsilon(
            log_rows=0,
            floor=floor,
            ceiling=ceiling,
            degree=degree,
            log_dimension=math.log(walsh_dimension(p, degree)),
            log_m=math.log(m),
            log_n=math.log(n),
        )
    )


@pytest.mark.parametrize(("n", "expected"), [(2e4, 388), (1e6, 54.9), (1e8, 5.49)])
def test_theorem_4_1_on_eight_bits(n: float, expected: float) -> None:
    assert _theorem(n) == pytest.approx(expected, rel=2e-3)


def test_theorem_4_1_written_out() -> None:
    expected = 4 * math.sqrt(2) * (2 / 0.25) ** 1.5 * math.exp(1) * 37**0.25 * 256**0.75 / math.sqrt(20_000)
    assert _theorem(20_000) == pytest.approx(expected, rel=1e-12)


def test_the_ratio_beats_theorem_4_1_below_seven_hundred_million_rows() -> None:
    ratio = bounded_ratio_epsilon(rows=1, floor=0.25, ceiling=2.0)
    assert ratio == pytest.approx(2.0794415, abs=1e-7)
    assert _theorem(6.97e8) > ratio > _theorem(6.99e8)


# Upper bound on k·m^{3/4} at ε = 1 with the exact C(p, <=2), ceiling = 2^p times the largest frequency, floor 1/4.
@pytest.mark.parametrize(
    ("p", "n", "frequency", "expected"),
    [
        (8, 20_000, 0.2904, 7.27e-4),
        (119, 8124, 1 / 8124, 1.08e-49),
        (25, 1728, 1 / 1728, 2.94e-8),
        (62, 32_561, 577 / 32_561, 9.44e-27),
    ],
)
def test_four_published_datasets(p: int, n: int, frequency: float, expected: float) -> None:
    assert 1 / _theorem(n, p=p, m=1.0, ceiling=2.0**p * frequency) == pytest.approx(expected, rel=5e-3)


@pytest.mark.parametrize(("n", "expected"), [(20_000, 3.07), (1_000_000, 1.37), (100_000_000, 0.257)])
def test_experimental_bound_on_the_whole_cube(n: int, expected: float) -> None:
    value = stability_epsilon(rows=1, floor=0.25, ceiling=2.0, n=n, geometry=whole_cube_geometry(8, 2))
    assert value == pytest.approx(expected, rel=3e-3)


@pytest.mark.parametrize(("floor", "ceiling"), [(0.5, 1.5), (0.5, 20.0), (0.25, 1.25), (0.1, 1.1 + 1e-13)])
def test_the_experimental_bound_of_a_box_that_holds_the_uniform_density_alone_is_0(floor: float, ceiling: float) -> None:
    assert stability_epsilon(rows=1, floor=floor, ceiling=ceiling, n=400, geometry=whole_cube_geometry(3, 2)) == 0.0


@pytest.mark.parametrize("smallest", [0.2, 3.0, 40.0])
@pytest.mark.parametrize(("p", "degree", "n"), [(4, 1, 20), (8, 2, 20_000), (10, 3, 10**6)])
@pytest.mark.parametrize(("floor", "ceiling", "rows"), [(0.25, 2.0, 1), (0.01, 7.0, 3), (0.4, 1.5, 1)])
def test_experimental_bound_written_out(
    smallest: float, p: int, degree: int, n: int, floor: float, ceiling: float, rows: int
) -> None:
    """As docs/guarantees.md has it, on a space of which every part of the sum shows."""
    m, response = 300, 0.07
    changed = max(  # Walsh functions of degree d or less that flip where s of p signs do
        sum(math.comb(s, j) * math.comb(p - s, i) for j in range(1, degree + 1, 2) for i in range(degree - j + 1))
        for s in range(p + 1)
    )
    radius, room = math.sqrt((ceiling - 1) / m), min(1 - 2 * floor, ceiling - floor - 1)
    kappa = m * 2 / n * response
    moved, tau = 2 * math.sqrt(changed) / (n * smallest), kappa / room
    excess = tau * max(1 - floor, ceiling - 1) + kappa
    eta = moved + tau * radius + excess / (excess + floor) * min(2 * radius, math.sqrt(2 * ceiling / m))
    expected = rows * math.log(1 + m / floor * math.sqrt(2 * eta * radius))
    geometry = ReducedSpaceGeometry(p, degree, m, smallest, response)
    found = stability_epsilon(rows=rows, floor=floor, ceiling=ceiling, n=n, geometry=geometry)
    assert found == pytest.approx(expected, rel=1e-12)


def test_experimental_bound_where_the_box_has_no_interior() -> None:
    geometry = whole_cube_geometry(4, 2)
    assert stability_epsilon(rows=3, floor=0.5, ceiling=2.0, n=10, geometry=geometry) == 0
    assert stability_epsilon(rows=3, floor=0.25, ceiling=1.25, n=10, geometry=geometry) == 0


@pytest.mark.parametrize("degree", [1, 2, 3])
def test_measured_geometry_of_the_whole_cube(degree: int) -> None:
    functions = walsh_matrix(np.array(list(product([-1, 1], repeat=5))), degree).astype(float)
    measured = measured_geometry(functions, np.ones(32, dtype=np.int64), 5, degree)
    exact = whole_cube_geometry(5, degree)
    assert measured.m == exact.m
    assert measured.smallest_singular_value == pytest.approx(exact.smallest_singular_value)
    assert measured.largest_response == pytest.approx(exact.largest_response)


def test_measured_geometry_of_repeated_points_is_that_of_the_points_written_out() -> None:
    generator = np.random.default_rng(1)
    points = generator.choice([-1, 1], (40, 4))
    distinct, counts = np.unique(points, axis=0, return_counts=True)
    merged = measured_geometry(walsh_matrix(distinct, 2).astype(float), counts.astype(np.int64), 4, 2)
    spread = walsh_matrix(points, 2).astype(float)
    assert merged.m == 40
    assert merged.smallest_singular_value == pytest.approx(np.linalg.svd(spread)[1].min())
    response = np.sort(np.abs(np.linalg.pinv(spread)), axis=1)  # shape (m, C); N(4, 2) = 6
    assert merged.largest_response == pytest.approx(response[:, -6:].sum(axis=1).max())


def test_measured_geometry_needs_independent_functions() -> None:
    with pytest.raises(ParameterError) as caught:
        measured_geometry(np.ones((2, 2)), np.array([1, 1]), 1, 1)
    assert caught.value.field == "functions"


@pytest.mark.parametrize(
    ("floor", "ceiling", "field"),
    [
        (0.0, 2.0, "floor"),
        (-0.1, 2.0, "floor"),
        (0.51, 3.0, "floor"),
        (math.nan, 2.0, "floor"),
        (0.25, 1.2, "ceiling"),
        (0.25, math.inf, "ceiling"),
        (0.25, math.nan, "ceiling"),
        (1e-100, 1.0, "ceiling"),
        (1e-13, 1.0, "ceiling"),
    ],
)
def test_boxes_that_are_not_possible(floor: float, ceiling: float, field: str) -> None:
    for ask in (
        check_box,
        lambda floor, ceiling: dpsyn.PrivateSampling(floor=floor, ceiling=ceiling),
        lambda floor, ceiling: bounded_ratio_epsilon(rows=1, floor=floor, ceiling=ceiling),
        lambda floor, ceiling: stability_epsilon(
            rows=1, floor=floor, ceiling=ceiling, n=9, geometry=whole_cube_geometry(4, 2)
        ),
        lambda floor, ceiling: theorem_4_1_log_epsilon(
            log_rows=0.0, floor=floor, ceiling=ceiling, degree=2, log_dimension=1.0, log_m=1.0, log_n=1.0
        ),
    ):
        with pytest.raises(ParameterError) as caught:
            ask(floor, ceiling)
        assert caught.value.field == field


@pytest.mark.parametrize(("floor", "ceiling"), [(0.5, 1.5), (0.5, 100.0), (0.25, 1.25), (0.1, 1.1)])
def test_degenerate_ends_cost_nothing(floor: float, ceiling: float) -> None:
    assert is_degenerate(floor, ceiling)
    assert bounded_ratio_epsilon(rows=1000, floor=floor, ceiling=ceiling) == 0


@pytest.mark.parametrize("rows", [1, 3, 7, 1000])
def test_the_stated_epsilon_is_no_less_than_the_logarithm_itself(rows: int) -> None:
    """Half of the doubles that a logarithm comes out as are below it."""
    random = np.random.default_rng(rows)
    boxes = [
        (0.01, 2.0),
        (0.02, 1.5),
        (0.125, 2.0),
        *zip(random.uniform(1e-3, 0.4, 500), random.uniform(1.5, 9, 500), strict=True),
    ]
    for floor, ceiling in boxes:
        exact = rows * (Decimal(ceiling) / Decimal(floor)).ln(Context(prec=40))
        stated = bounded_ratio_epsilon(rows=rows, floor=floor, ceiling=ceiling)
        assert exact <= Decimal(stated) <= exact * Decimal(1 + 2e-15)
        assert (
            largest_rows(epsilon=stated, epsilon_per_row=bounded_ratio_epsilon(rows=1, floor=floor, ceiling=ceiling)) == rows
        )


# The quotient's floor is one too few, and one too many.
@example(epsilon=1119909.7648756818, per_row=1.4035240878873405)
@example(epsilon=246658.38976120827, per_row=1.7506912369844156)
@given(epsilon=st.floats(1e-3, 1e3), per_row=st.floats(1e-2, 50))
def test_largest_rows_is_the_largest(epsilon: float, per_row: float) -> None:
    rows = largest_rows(epsilon=epsilon, epsilon_per_row=per_row)
    assert rows is not None
    assert rows * per_row <= epsilon < (rows + 1) * per_row


def test_largest_rows_at_an_exact_multiple_and_at_no_cost() -> None:
    assert largest_rows(epsilon=3 * math.log(8), epsilon_per_row=math.log(8)) == 3
    assert largest_rows(epsilon=1.0, epsilon_per_row=0.0) is None
    assert largest_rows(epsilon=1e10, epsilon_per_row=1e7) == 1000
    assert largest_rows(epsilon=1.0, epsilon_per_row=2.0) == 0
    assert largest_rows(epsilon=1.0, epsilon_per_row=1e-300) == 2**53


@given(
    epsilon=st.floats(0.05, 100),
    rows=st.integers(1, 20),
    floor=st.floats(0.01, 0.49),
    above=st.floats(0.01, 20),
)
def test_suggested_boxes_fit_and_none_is_missing(epsilon: float, rows: int, floor: float, above: float) -> None:
    box = box_for(epsilon=epsilon, rows=rows, floor=floor, ceiling=1 + floor + above)
    if box is None:
        # Only a sliver above ln 3 is given up on, where rounding to four digits leaves no box.
        assert epsilon / rows < math.log(3) + 5e-3
    else:
        check_box(*box)
        assert not is_degenerate(*box)
        assert bounded_ratio_epsilon(rows=rows, floor=box[0], ceiling=box[1]) <= epsilon
        printed = float(f"{box[0]:.4g}"), float(f"{box[1]:.4g}")
        assert printed == box


@pytest.mark.parametrize(
    ("ratio", "floor", "ceiling", "expected"),
    [
        (math.exp(2), 0.3, 5.0, (0.3, 2.216)),  # 0.3 · 7.38906 = 2.21672
        (math.exp(2), 0.1, 2.0, (0.2707, 2.0)),  # a ceiling of 0.739 is none; 2/7.38906 = 0.27067
        (3.213, 0.4, 1.9, (0.476, 1.529)),  # neither 1.285, which is below 1 + 0.4, nor a floor of 0.591
        (3.0, 0.4, 1.9, None),
    ],
)
@pytest.mark.parametrize("rows", [1, 7])
def test_a_suggested_box_by_hand(ratio: float, floor: float, ceiling: float, expected: Any, rows: int) -> None:
    """The ceiling goes down if that is enough, else the floor up, else both move; four digits, to the safe side."""
    assert box_for(epsilon=rows * math.log(ratio), rows=rows, floor=floor, ceiling=ceiling) == expected
