from __future__ import annotations

import json
import math
import re
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import chisquare

import dpsyn
from dpsyn.data.samples import load_sample
from dpsyn.errors import CalibrationError, SolverError
from dpsyn.mechanisms.noisy_reweighting.families import TableFamily
from dpsyn.mechanisms.private_sampling import (
    DEGENERATE_SOURCE,
    EXACT_ASSUMPTION,
    IGNORES_DATA,
    MOST_ROWS,
    RATIO_SOURCE,
    THEOREM_SOURCE,
    PrivateSampling,
)
from dpsyn.mechanisms.private_sampling import _mechanism as drawing
from dpsyn.mechanisms.private_sampling import _solve as solving
from dpsyn.mechanisms.private_sampling.certificates import bounded_ratio_epsilon, stability_epsilon, whole_cube_geometry
from dpsyn.solvers.contingency import all_codes
from dpsyn.solvers.contrasts import ContrastBasis
from tests.conftest import categories
from tests.mechanisms.private_sampling.small_runs import LOOSE, run_of, table_of

# --- reference runs ---------------------------------------------------------------------------------------------------


def test_asia_on_the_whole_cube() -> None:
    table = load_sample("asia")
    diagnostics = run_of(PrivateSampling(degree=2, floor=0.05, ceiling=100.0, rows=5), table).diagnostics
    assert diagnostics["least_shrinkage"] == pytest.approx(0.1, abs=1e-7)
    assert diagnostics["quadratic_program"].startswith("optimal")
    assert diagnostics["smallest_singular_value"] == 16.0
    basis = ContrastBasis((2,) * 8, 2)
    assert (diagnostics["points"] == all_codes((2,) * 8)).all()
    of_density = basis.matrix(diagnostics["points"]) @ diagnostics["density"]
    shrinkage = diagnostics["shrinkage"]
    wanted = (1 - shrinkage) * basis.means(table.codes) + shrinkage * (np.arange(37) == 0)
    assert np.abs(of_density - wanted).max() <= 1e-8
    tables = TableFamily.all_of_degree((2,) * 8, 2)
    cells = tables.matrix(diagnostics["points"]) @ diagnostics["density"]
    assert cells == pytest.approx((1 - shrinkage) * tables.sums(table.codes) / table.n + shrinkage / 4, abs=1e-8)


@pytest.mark.parametrize(("ceiling", "shrinkage"), [(2.0, 0.75), (4.25, 0.5), (9.0, 0.5)])
def test_car_on_the_whole_domain(ceiling: float, shrinkage: float) -> None:
    table = load_sample("car")
    diagnostics = run_of(PrivateSampling(floor=0.25, ceiling=ceiling, rows=2), table).diagnostics
    assert diagnostics["functions"] == 157
    assert diagnostics["reduced_space_size"] == 6912
    assert diagnostics["least_shrinkage"] == pytest.approx(shrinkage, abs=1e-7)
    assert diagnostics["residual"] <= 1e-8


def test_car_on_a_drawn_space() -> None:
    table = load_sample("car")
    release = run_of(PrivateSampling(rows=3, reduced_space_size=2000), table)
    diagnostics = release.diagnostics
    assert diagnostics["multiplicity"].sum() == 2000
    assert diagnostics["distinct_points"] < 2000
    assert (
        diagnostics["smallest_singular_value"]
        >= diagnostics["failure_threshold"]
        == pytest.approx(math.sqrt(2000) / (2 * 3**2))  # columns of four values: B = 3 each
    )
    assert diagnostics["residual"] <= 1e-8
    assert diagnostics["least_shrinkage"] >= 0.5 - 1e-8
    table.domain.encode(release.rows)


# --- privacy ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("reduced_space_size", "floor", "ceiling"), [(None, 0.25, 2.0), (5, 0.1, 1.5), (None, 0.02, 6.0)])
def test_loss_over_all_neighbours_stays_below_the_certificate(
    reduced_space_size: int | None, floor: float, ceiling: float
) -> None:
    domain = categories(2, 3)
    codes = np.array([[0, 0], [0, 0], [1, 2]])
    config = PrivateSampling(degree=1, floor=floor, ceiling=ceiling, rows=1, reduced_space_size=reduced_space_size)
    densities = []
    for at in range(3):
        for row in all_codes((2, 3)):
            neighbour = codes.copy()
            neighbour[at] = row
            densities.append(run_of(config, table_of(neighbour, domain), seed=4).diagnostics["density"])
    original = run_of(config, table_of(codes, domain), seed=4).diagnostics["density"]
    losses = np.abs(np.log(original / np.array(densities)))
    assert 0 < losses.max() <= bounded_ratio_epsilon(rows=1, floor=floor, ceiling=ceiling)


def test_loss_stays_below_the_experimental_bound_too() -> None:
    domain = categories(2, 2, 2)
    generator = np.random.default_rng(8)
    codes = generator.integers(0, 2, (400, 3)) * generator.integers(0, 2, (400, 1))
    config = PrivateSampling(floor=0.1, ceiling=4.0, rows=1)
    original = run_of(config, table_of(codes, domain)).diagnostics
    worst = 0.0
    for old in all_codes((2, 2, 2)):
        at = np.flatnonzero((codes == old).all(axis=1))
        for new in all_codes((2, 2, 2)) if len(at) else []:
            neighbour = codes.copy()
            neighbour[at[0]] = new
            density = run_of(config, table_of(neighbour, domain)).diagnostics["density"]
            worst = max(worst, float(np.abs(np.log(density / original["density"])).max()))
    bound = stability_epsilon(rows=1, floor=0.1, ceiling=4.0, n=400, geometry=whole_cube_geometry(3, 2))
    assert original["experimental_stability_epsilon"] == bound
    assert 1e-4 < worst <= bound
    assert worst <= original["theorem_4_1_epsilon"]


@settings(max_examples=20)
@given(
    seed=st.integers(0, 9999),
    rows=st.integers(1, 30),
    floor=st.floats(0.01, 0.49),
    above=st.floats(0.01, 30),
    drawn=st.booleans(),
)
def test_every_probability_lies_in_the_box(seed: int, rows: int, floor: float, above: float, drawn: bool) -> None:
    ceiling = 1 + floor + above
    domain = categories(2, 3, 2)
    table = table_of(np.random.default_rng(seed).integers(0, 2, (rows, 3)), domain)
    config = PrivateSampling(degree=1, floor=floor, ceiling=ceiling, rows=1, reduced_space_size=11 if drawn else None)
    diagnostics = run_of(config, table, seed).diagnostics
    assert len(diagnostics["density"]) < 12 or not drawn
    m = int(diagnostics["multiplicity"].sum())
    for probability, c in zip(diagnostics["density"], diagnostics["multiplicity"], strict=True):
        # A density is a whole number of 2^-62 rounded once to 53 bits.
        slack = 1 + Fraction(1, 2**52)
        assert Fraction(floor) * int(c) / m / slack <= Fraction(probability) <= Fraction(ceiling) * int(c) / m * slack
    assert diagnostics["residual"] <= 1e-8


def test_the_guarantee_counts_the_rows() -> None:
    mechanism = PrivateSampling(rows=4).calibrate(dpsyn.PrivacySpec(10.0), categories(2, 2), n=50)
    assert mechanism.guarantee.epsilon == pytest.approx(4 * math.log(8))
    assert mechanism.guarantee.delta == 0
    assert mechanism.guarantee.source == RATIO_SOURCE
    assert mechanism.guarantee.status == "proven"


def test_theorem_4_1_certifies_only_where_it_is_the_smaller_one() -> None:
    spec, cube = dpsyn.PrivacySpec(2.0), categories(*(2,) * 8)
    mechanism = PrivateSampling(rows=1).calibrate(spec, cube, n=10**9)
    assert mechanism.guarantee.source == THEOREM_SOURCE
    assert mechanism.guarantee.status == "real_arithmetic"  # the theorem is about exact optima
    assert EXACT_ASSUMPTION in mechanism.guarantee.assumptions
    assert mechanism.guarantee.epsilon == pytest.approx(mechanism.calibrated()["theorem_4_1_epsilon"])
    assert mechanism.guarantee.epsilon == pytest.approx(388 * math.sqrt(2e4 / 1e9), rel=2e-3)
    several = PrivateSampling(rows=5).calibrate(dpsyn.PrivacySpec(9.0), cube, n=10**9)
    assert several.guarantee.source == THEOREM_SOURCE
    assert several.guarantee.epsilon == several.certificates()["theorem_4_1"] == 5 * mechanism.guarantee.epsilon
    assert several.certificates()["bounded_ratio"] == pytest.approx(5 * math.log(8))
    for other, domain in [
        (replace(spec, neighbouring="add_remove"), cube),  # stated for replacing a row
        (spec, categories(*(2,) * 7, 3)),  # stated for the cube
    ]:
        with pytest.raises(CalibrationError):
            PrivateSampling(rows=1).calibrate(other, domain, n=10**9)


def test_the_ratio_holds_for_adding_and_removing_rows() -> None:
    mechanism = PrivateSampling(rows=2).calibrate(dpsyn.PrivacySpec(5.0, neighbouring="add_remove"), categories(2, 2), n=9)
    assert mechanism.guarantee.neighbouring == "add_remove"
    assert mechanism.guarantee.epsilon == pytest.approx(2 * math.log(8))
    assert mechanism.calibrated()["experimental_stability_epsilon"] is None


def test_what_is_needed_for_one_row_is_enough() -> None:
    with pytest.raises(CalibrationError) as caught:
        PrivateSampling(rows=1).calibrate(dpsyn.PrivacySpec(1.0), categories(2, 2), n=50)
    needed = float(re.search(r"one row needs ε ≥ ([\d.]+)\.", str(caught.value))[1])
    assert PrivateSampling(rows=1).calibrate(dpsyn.PrivacySpec(needed), categories(2, 2), n=50).guarantee.epsilon <= needed


@pytest.mark.parametrize(("floor", "ceiling"), [(0.5, 2.0), (0.25, 1.25)])
def test_degenerate_ends_ignore_the_data_and_say_so(floor: float, ceiling: float) -> None:
    domain = categories(2, 3)
    config = PrivateSampling(floor=floor, ceiling=ceiling, rows=40)
    spec = dpsyn.PrivacySpec(1e-3)
    first = run_of(config, table_of([[0, 0]] * 6, domain), 1, spec)
    second = run_of(config, table_of([[1, 2]] * 6, domain), 1, spec)
    pd.testing.assert_frame_equal(first.rows, second.rows)
    assert first.guarantee.epsilon == 0
    assert first.guarantee.source == DEGENERATE_SOURCE
    assert IGNORES_DATA in first.guarantee.assumptions
    assert first.diagnostics["note"] == IGNORES_DATA
    assert first.diagnostics["shrinkage"] == 1.0
    assert first.diagnostics["density"] == pytest.approx(np.full(6, 1 / 6), abs=1e-15)


@pytest.mark.parametrize(
    "fault",
    [SolverError, ValueError, np.linalg.LinAlgError, ZeroDivisionError, RuntimeError, IndexError, OSError, AssertionError],
)
def test_a_failing_solver_gives_uniform_rows_and_no_exception(
    monkeypatch: pytest.MonkeyPatch, fault: type[Exception]
) -> None:
    def fail(*arguments: object, **named: object) -> None:
        raise fault("no answer")

    table = table_of([[0, 0]] * 6, categories(2, 3))
    for name in ("closest_to_uniform", "least_shrinkage"):
        monkeypatch.setattr(solving, name, fail)
        diagnostics = run_of(PrivateSampling(rows=3), table).diagnostics
        assert diagnostics["shrinkage"] == 1.0
        assert diagnostics["density"] == pytest.approx(np.full(6, 1 / 6), abs=1e-15)
        assert "no answer" in diagnostics["quadratic_program"] + diagnostics["linear_program"]


def test_the_reduced_space_is_drawn_once_whatever_the_data_and_the_solvers_say(monkeypatch: pytest.MonkeyPatch) -> None:
    domain, drawn, made = categories(2, 3, 2), [], []
    draw, solvers = drawing.draw_space, ("closest_to_uniform", "least_shrinkage")

    def watched(*arguments: Any) -> Any:
        drawn.append(draw(*arguments))
        return drawn[-1]

    def fail(*arguments: object, **named: object) -> None:
        raise SolverError("no answer")

    monkeypatch.setattr(drawing, "draw_space", watched)
    corner, spread = np.zeros((6, 3)), np.random.default_rng(1).integers(0, (2, 3, 2), (6, 3))
    for failing in (set(), {solvers[0]}, {solvers[1]}, set(solvers)):
        for codes in (corner, spread):
            with monkeypatch.context() as patch:
                for name in failing:
                    patch.setattr(solving, name, fail)
                made.append(
                    run_of(PrivateSampling(rows=3, degree=1, reduced_space_size=8), table_of(codes, domain)).diagnostics
                )
    assert len(drawn) == len(made) == 8
    assert {found["shrinkage"] == 1.0 for found in made} == {True, False}
    for space, found in zip(drawn, made, strict=True):
        np.testing.assert_array_equal(found["points"], drawn[0].codes)
        np.testing.assert_array_equal(space.codes, drawn[0].codes)


def test_what_the_listener_raises_is_no_fault_of_a_solver() -> None:
    class Cancelled(RuntimeError):
        pass

    def listen(step: str, share: float) -> None:
        if step == "quadratic program":
            raise Cancelled

    table = table_of([[0, 0]] * 6, categories(2, 3))
    mechanism = PrivateSampling(rows=3).calibrate(LOOSE, table.domain, n=table.n)
    with pytest.raises(Cancelled):
        mechanism(np.random.default_rng(0), table, listen)


# --- rows -------------------------------------------------------------------------------------------------------------


def test_draws_follow_the_density() -> None:
    table = table_of([[0, 0], [0, 1], [1, 2], [0, 0]], categories(2, 3))
    release = run_of(PrivateSampling(floor=0.1, ceiling=4.0, rows=60_000), table, 3)
    drawn = np.ravel_multi_index(table.domain.encode(release.rows).T, (2, 3))
    observed = np.bincount(drawn, minlength=6)
    expected = release.diagnostics["density"]
    assert chisquare(observed, expected * 60_000).pvalue > 1e-3
    tilted = expected * np.array([1.3, 1, 1, 1, 1, 1])
    assert chisquare(observed, tilted / tilted.sum() * 60_000).pvalue < 1e-6


def test_rows_none_takes_as_many_as_the_guarantee_allows() -> None:
    domain = categories(2, 2)
    for epsilon, rows in [(3.0, 1), (bounded_ratio_epsilon(rows=3, floor=0.25, ceiling=2.0), 3), (20.0, 9), (1e6, 50)]:
        mechanism = PrivateSampling().calibrate(dpsyn.PrivacySpec(epsilon), domain, n=50)
        assert mechanism.calibrated()["rows"] == rows
        assert mechanism.guarantee.epsilon <= epsilon
    everything = PrivateSampling().calibrate(dpsyn.PrivacySpec(1e7, neighbouring="add_remove"), domain, n=50)
    assert everything.calibrated()["rows"] == MOST_ROWS  # must not tell n


def test_too_many_rows_say_what_would_fit() -> None:
    with pytest.raises(
        CalibrationError, match=r"^3 rows at .* cost ε = 6\.239, .* At most 2 would fit; one row needs ε ≥ 2\.08"
    ) as caught:
        PrivateSampling(rows=3).calibrate(dpsyn.PrivacySpec(5.0), categories(2, 2), n=50)
    advice = str(caught.value).split("floor = ")[-1].replace(" and ceiling = ", " ").split()
    better = PrivateSampling(rows=3, floor=float(advice[0]), ceiling=float(advice[1]))
    assert better.calibrate(dpsyn.PrivacySpec(5.0), categories(2, 2), n=50).guarantee.epsilon <= 5.0
    with pytest.raises(
        CalibrationError, match=r"No floor and ceiling allow 1 at ε = 1: a row costs more than ln 3 = 1\.099"
    ):
        PrivateSampling().calibrate(dpsyn.PrivacySpec(1.0), categories(2, 2), n=50)


@pytest.mark.parametrize("share", [0.0, 0.1, 0.3])
@pytest.mark.parametrize(("epsilon", "rows"), [(1.8, 1), (2.0, 1), (5.0, 3)])
def test_the_box_that_a_refusal_names_is_enough_beside_histograms_too(share: float, epsilon: float, rows: int) -> None:
    number = dpsyn.Attribute("x", "numeric", lower=0, upper=100, bins=4, public=True)
    domain = dpsyn.Domain.of([number, *categories(2).attributes])
    config, spec = PrivateSampling(rows=rows, histogram_share=share), dpsyn.PrivacySpec(epsilon)
    with pytest.raises(CalibrationError) as caught:
        config.calibrate(spec, domain, n=1000)
    found = re.search(r"floor = (\S+) and ceiling = (\S+) would allow", str(caught.value))
    assert found is not None
    floor, ceiling = map(float, found.groups())
    assert replace(config, floor=floor, ceiling=ceiling).calibrate(spec, domain, n=1000).guarantee.epsilon <= epsilon


def test_diagnostics_of_a_drawn_space_have_its_experimental_certificate() -> None:
    table = table_of(np.random.default_rng(1).integers(0, 2, (20_000, 4)), categories(2, 2, 2, 2))
    config = PrivateSampling(degree=1, rows=1, reduced_space_size=12, floor=0.2, ceiling=4.0)
    mechanism = config.calibrate(LOOSE, table.domain, n=table.n)
    assert mechanism.calibrated()["experimental_stability_epsilon"] is None
    found = mechanism(np.random.default_rng(0), table).diagnostics
    space = drawing.draw_space(mechanism.size, np.random.default_rng(0), None)
    assert (space.codes == found["points"]).all()
    assert found["experimental_stability_epsilon"] == mechanism.certificates(space)["stability"]
    assert 0 < found["experimental_stability_epsilon"] < math.inf


@pytest.mark.parametrize(
    ("floor", "ceiling"),
    [(0.25, 1.25 + 1e-9), (0.25, 1.25 + 1e-6), (0.4999999, 2.0), (0.5 - 1e-11, 1.6), (1e-12, 1e12), (1e-6, 256.0)],
)
@pytest.mark.parametrize("rows", [1, 500])
def test_extreme_boxes_are_solved(floor: float, ceiling: float, rows: int) -> None:
    codes = np.zeros((rows, 6)) if rows == 1 else np.random.default_rng(0).integers(0, 2, (rows, 6))
    table = table_of(codes, categories(2, 2, 2, 2, 2, 3))
    diagnostics = run_of(PrivateSampling(floor=floor, ceiling=ceiling, rows=1), table).diagnostics
    assert diagnostics["linear_program"].startswith("optimal")
    assert diagnostics["quadratic_program"].startswith("optimal")
    assert diagnostics["residual"] <= 1e-8


@pytest.mark.parametrize("sizes", [(3,), (1, 2), (1,), (2, 1, 4)])
def test_narrow_tables(sizes: tuple[int, ...]) -> None:
    table = table_of(np.zeros((5, len(sizes))), categories(*sizes))
    release = run_of(PrivateSampling(degree=3, rows=7), table)
    assert len(release.rows) == 7
    assert release.diagnostics["residual"] <= 1e-8


def test_calibrated_is_plain_data() -> None:
    mechanism = PrivateSampling(rows=1).calibrate(dpsyn.PrivacySpec(3.0), categories(*(2,) * 8), n=20_000)
    values = json.loads(json.dumps(mechanism.calibrated()))
    assert values["theorem_4_1_epsilon"] == pytest.approx(388, rel=2e-3)
    assert values["bounded_ratio_epsilon"] == pytest.approx(math.log(8))
    assert values["experimental_stability_epsilon"] == pytest.approx(3.07, rel=3e-3)
