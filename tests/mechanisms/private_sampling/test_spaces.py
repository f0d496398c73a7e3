from __future__ import annotations

import math
import re
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import chisquare

from dpsyn.errors import FailureError, ParameterError
from dpsyn.mechanisms.private_sampling import PrivateSampling
from dpsyn.mechanisms.private_sampling import _reduced_space as sizes_module
from dpsyn.mechanisms.private_sampling._reduced_space import (
    SpaceSize,
    default_draws,
    draw_once,
    draw_space,
    failure_threshold,
    norm_comparison,
    safe_draws,
    space_size,
)
from dpsyn.solvers.contingency import all_codes
from dpsyn.solvers.contrasts import ContrastBasis
from tests.conftest import categories
from tests.mechanisms.private_sampling.small_runs import LOOSE, run_of, table_of

# --- spaces -----------------------------------------------------------------------------------------------------------


def test_the_space_follows_the_domain_or_the_settings() -> None:
    bits, mixed = categories(2, 2, 2), categories(2, 3)
    for space in (None, "auto", "cube", "product"):
        mechanism = PrivateSampling(space=space).calibrate(LOOSE, bits, n=10)
        assert mechanism.calibrated()["space"] == "cube"
        assert mechanism.calibrated()["theorem_4_1_epsilon"] is not None
    for space in (None, "auto", "product"):
        mechanism = PrivateSampling(space=space).calibrate(LOOSE, mixed, n=10)
        assert mechanism.calibrated()["space"] == "product"
        assert mechanism.calibrated()["theorem_4_1_epsilon"] is None
    with pytest.raises(ParameterError, match=r"'c1' has 3.*product") as caught:
        PrivateSampling(space="cube").calibrate(LOOSE, mixed, n=10)
    assert caught.value.field == "space"


def test_a_reduced_space_that_would_hold_the_domain_is_the_domain(monkeypatch: pytest.MonkeyPatch) -> None:
    domain = categories(2, 3, 2)
    for m, whole in [(12, True), (5000, True), (11, False)]:
        size = space_size(domain, 1, m)
        assert (size.whole, size.m) == (whole, min(m, 12))
    size = space_size(categories(300, 300), 1, None)
    assert default_draws((300, 300), 2) > 90_000 > size.m
    assert not size.whole
    release = run_of(PrivateSampling(rows=2, reduced_space_size=5000), table_of(np.zeros((4, 3)), domain))
    assert release.settings["reduced_space_size"] == 12
    monkeypatch.setattr(sizes_module, "available_memory", lambda: 1 << 60)
    assert space_size(categories(300, 300), 2, None).whole
    assert (release.diagnostics["multiplicity"] == 1).all()
    assert release.diagnostics["smallest_singular_value"] == pytest.approx(math.sqrt(12))


def test_the_scheduler_is_no_part_of_the_record() -> None:
    table = table_of([[0, 0]] * 6, categories(2, 3))
    release = run_of(PrivateSampling(rows=2, space="product"), table)
    assert "scheduler" not in release.record()["settings"]
    assert "scheduler" not in release.record()["config"]
    assert release.record()["settings"]["space"] == "product"


@pytest.mark.parametrize("sizes", [(2,) * 5, (3, 3, 3), (5, 4), (16, 2), (40,), (3, 1, 2), (2, 7)])
@pytest.mark.parametrize("degree", [1, 2])
def test_norms_compare_as_the_threshold_takes_for_granted(sizes: tuple[int, ...], degree: int) -> None:
    functions = ContrastBasis(sizes, degree).matrix(all_codes(sizes))
    bound = norm_comparison(sizes, degree)
    generator = np.random.default_rng(1)
    worst = 0.0
    for trial in range(300):
        # Projections of a point's indicator are peaked; random combinations are not.
        point = functions[:, generator.integers(functions.shape[1])]
        coefficients = point + generator.normal(0, trial / 300, len(functions)) * (trial > 0)
        values = coefficients @ functions
        worst = max(worst, float(np.sqrt((values**2).mean()) / np.abs(values).mean()))
    assert 1 < worst <= bound


@pytest.mark.parametrize("size", [2, 3, 4, 7, 16, 50])
def test_the_norm_comparison_rests_on_the_log_sobolev_constant_of_equal_weights(size: int) -> None:
    # 1/(2 ln B) is the largest α with α·(E f² ln f² - E f² ln E f²) <= Var f; two-valued f come as close as any.
    alpha = 1 / (2 * math.log(norm_comparison((size,), 1)))
    quotients = []
    for peak in np.geomspace(1.01, 100 * size, 4000):
        f = np.ones(size)
        f[0] = peak
        mean = float((f**2).mean())
        entropy = float((f**2 * np.log(f**2)).mean()) - mean * math.log(mean)
        quotients.append(float(f.var()) / entropy)
    generator = np.random.default_rng(size)
    for _ in range(300):
        f = generator.exponential(size=size) ** generator.uniform(0.2, 4) + 1e-9
        mean = float((f**2).mean())
        entropy = float((f**2 * np.log(f**2)).mean()) - mean * math.log(mean)
        quotients.append(float(f.var()) / entropy)
    assert alpha * (1 - 1e-6) <= min(quotients) <= alpha * 1.01


def test_the_norm_comparison_is_the_papers_on_the_cube_and_close_on_one_wide_column() -> None:
    assert norm_comparison((2,) * 9, 3) == pytest.approx(math.e**3)
    assert norm_comparison((4, 2, 9, 1), 2) == pytest.approx(3 * 8 ** (9 / 14))
    # The indicator of one of c values has ‖f‖₂/‖f‖₁ = √c.
    assert math.sqrt(200) <= norm_comparison((200,), 1) <= 1.03 * math.sqrt(200)


def test_a_failing_space_is_drawn_again_and_the_draws_are_counted() -> None:
    domain = categories(*(2,) * 7)
    size = space_size(domain, 2, 40)
    redraws = [draw_space(size, np.random.default_rng(seed)).redraws for seed in range(30)]
    assert 0 < np.mean(redraws) < 15
    table = table_of(np.zeros((5, 7)), domain)
    seed = int(np.argmax(redraws))
    diagnostics = run_of(PrivateSampling(rows=1, reduced_space_size=40), table, seed).diagnostics
    assert diagnostics["redraws"] == redraws[seed] > 0
    assert diagnostics["smallest_singular_value"] >= diagnostics["failure_threshold"]


# --- limits -----------------------------------------------------------------------------------------------------------


def test_failure_is_the_algorithms_own_outcome() -> None:
    domain = categories(*(2,) * 7)
    mechanism = PrivateSampling(reduced_space_size=29, rows=1).calibrate(LOOSE, domain, n=5)
    first, second = table_of(np.zeros((5, 7)), domain), table_of(np.ones((5, 7)), domain)
    outcomes = []
    for table in (first, second):
        failed = []
        for seed in range(10):
            try:
                mechanism(np.random.default_rng(seed), table)
            except FailureError:
                failed.append(seed)
        outcomes.append(failed)
    assert outcomes[0] == outcomes[1]
    assert len(outcomes[0]) > 3


@pytest.mark.parametrize("sizes", [(2,) * 20, (12,) * 5, (200, 200)])
def test_the_default_reduced_space_does_not_fail(sizes: tuple[int, ...]) -> None:
    degree = 1 if max(sizes) > 100 else 2
    size = space_size(categories(*sizes), degree, default_draws(sizes, degree))
    space = draw_space(size, np.random.default_rng(6))
    assert space.redraws == 0
    assert space.smallest_singular_value >= space.threshold


@pytest.mark.parametrize("sizes", [(2,) * 6, (4, 4), (3, 5, 2)])
def test_safe_draws_do_not_fail(sizes: tuple[int, ...]) -> None:
    domain = categories(*sizes)
    basis = ContrastBasis(sizes, 2)
    assert (basis.matrix(all_codes(sizes)) ** 2).sum(axis=0) == pytest.approx(
        np.full(domain.size, ContrastBasis(sizes, 2).dimension)
    )
    size = SpaceSize(sizes, 2, basis.dimension, safe_draws(sizes, 2), whole=False)
    for seed in range(50):
        assert draw_space(size, np.random.default_rng(seed)).redraws == 0


@pytest.mark.parametrize(
    ("sizes", "comparison", "dimension"), [((2,) * 6, math.e**2, 22), ((3,) * 4, 8.0, 33), ((2, 3), math.e * 8**0.5, 6)]
)
def test_safe_draws_are_the_fewest_that_the_chernoff_bound_allows(
    sizes: tuple[int, ...], comparison: float, dimension: int
) -> None:
    """The least eigenvalue of W Wᵀ/m is below t, the threshold's square, with probability C·(e^{t-1}/t^t)^{m/C} at most."""
    t, m = 1 / (2 * comparison) ** 2, safe_draws(sizes, 2)
    assert failure_threshold(sizes, 2, m) ** 2 / m == pytest.approx(t)
    fails = [dimension * (math.exp(t - 1) / t**t) ** (count / dimension) for count in (m - 1, m)]
    assert fails[1] <= 1e-6 < fails[0]


def test_default_draws_leave_no_cell_of_the_largest_table_empty() -> None:
    sizes = (2, 200, 3)
    dimension = 1 + (1 + 199 + 2) + (199 + 2 + 398)
    draws = default_draws(sizes, 2)
    assert draws == math.ceil(600 * (math.log(dimension) + 7))
    assert dimension * math.exp(-draws / 600) < 1e-3
    assert default_draws((2, 2, 2), 2) == 2000
    assert default_draws((2,) * 60, 2) == 4 * (1 + 60 + 60 * 59 // 2)


@pytest.mark.parametrize(
    ("parameter", "value"),
    [
        ("degree", 0),
        ("degree", 1.5),
        ("degree", True),
        ("rows", 0),
        ("rows", 2.0),
        ("reduced_space_size", 0),
        ("floor", 0.6),
        ("ceiling", 1.0),
        ("space", "sphere"),
        ("scheduler", 8786),
    ],
)
def test_wrong_parameters(parameter: str, value: object) -> None:
    with pytest.raises(ParameterError) as caught:
        PrivateSampling(**{parameter: value})  # type: ignore[arg-type]
    assert caught.value.field == parameter


@pytest.mark.parametrize(
    ("dimension", "m", "measured"),
    [(2139, 8556, 10.3), (2798, 11_192, 14.0), (4417, 17_668, 45.9), (9885, 39_540, 189), (1082, 120_000_000, 621)],
)
def test_rough_times_are_near_what_was_measured(dimension: int, m: int, measured: float) -> None:
    size = sizes_module.SpaceSize((2,), 2, dimension, m, False)
    assert measured / 1.6 < sizes_module.rough_seconds(size) < 1.6 * measured


def test_too_many_functions_say_what_would_fit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sizes_module, "available_memory", lambda: 4_000_000_000)
    domain = categories(*(30,) * 12)
    with pytest.raises(ParameterError, match=r"degree = 1.*") as caught:
        PrivateSampling(degree=2).calibrate(LOOSE, domain, n=10)
    assert caught.value.field == "degree"
    assert "C = 55,855" in str(caught.value)
    assert "4 GB may be used" in str(caught.value)
    columns = int(re.search(r"the (\d+) columns", str(caught.value))[1])
    bins = int(re.search(r"at most (\d+) bins", str(caught.value))[1])
    PrivateSampling(degree=2).calibrate(LOOSE, categories(*(30,) * columns), n=10)
    PrivateSampling(degree=2).calibrate(LOOSE, categories(*(bins,) * 12), n=10)


@pytest.mark.parametrize("sizes", [(3,) * 3_000, (5_000, 5_000, 40)])
def test_what_fits_is_found_in_a_few_steps_however_wide_the_table_is(
    monkeypatch: pytest.MonkeyPatch, sizes: tuple[int, ...]
) -> None:
    monkeypatch.setattr(sizes_module, "available_memory", lambda: 4_000_000_000)
    asked = 0

    def counted(shape: Sequence[int], *further: Any, **more: Any) -> int:
        nonlocal asked
        asked += 1
        return needed(shape, *further, **more)

    needed = sizes_module._bytes_needed
    monkeypatch.setattr(sizes_module, "_bytes_needed", counted)
    with pytest.raises(ParameterError, match="These would fit"):
        sizes_module.space_size(categories(*sizes), 2, None)
    assert asked < 50


@given(sizes=st.lists(st.integers(2, 9), min_size=1, max_size=6), most=st.integers(1, 60))
def test_the_largest_that_fits_is_the_one_that_trying_all_finds(sizes: list[int], most: int) -> None:
    tried = [q for q in range(1, len(sizes)) if sum(sorted(sizes)[:q]) <= most]
    assert sizes_module._largest(1, len(sizes), lambda q: sum(sorted(sizes)[:q]) <= most) == max(tried, default=None)


def test_too_many_points_say_how_many_fit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sizes_module, "available_memory", lambda: 4_000_000_000)
    domain = categories(*(2,) * 54)
    with pytest.raises(ParameterError, match=r"GB.*at most about [\d,]+ points fit") as caught:
        PrivateSampling(reduced_space_size=10**12).calibrate(LOOSE, domain, n=10)
    assert caught.value.field == "reduced_space_size"
    fits = int(re.search(r"about ([\d,]+) points", str(caught.value))[1].replace(",", ""))
    assert fits > 10_000_000
    PrivateSampling(reduced_space_size=fits).calibrate(LOOSE, domain, n=10)
    with pytest.raises(ParameterError, match="may be used"):
        PrivateSampling(reduced_space_size=2 * fits).calibrate(LOOSE, domain, n=10)
    # On a cluster only what does not grow with m has to fit here.
    PrivateSampling(reduced_space_size=10**12, scheduler="tcp://nowhere:1").calibrate(LOOSE, domain, n=10)


def test_a_reduced_space_of_fewer_points_than_functions_is_refused() -> None:
    with pytest.raises(ParameterError, match="cannot be independent") as caught:
        PrivateSampling(reduced_space_size=30).calibrate(LOOSE, categories(*(2,) * 30), n=10)
    assert caught.value.field == "reduced_space_size"


@pytest.mark.parametrize("merged", [True, False])
def test_points_of_a_drawn_space_are_uniform_on_the_domain(monkeypatch: pytest.MonkeyPatch, merged: bool) -> None:
    if not merged:
        monkeypatch.setattr(sizes_module, "_MERGED_UP_TO", 0)
    space = draw_space(SpaceSize((3, 2, 2), 1, 5, 24_000, whole=False), np.random.default_rng(2))
    cells = np.ravel_multi_index(tuple(space.codes.T), (3, 2, 2))
    assert merged == (space.counts is not None) == (len(cells) == 12)
    counts = np.bincount(cells, weights=space.multiplicity, minlength=12)
    assert counts.sum() == space.m == 24_000
    assert space.weights == pytest.approx(space.multiplicity / 24_000)
    assert chisquare(counts).pvalue > 1e-3


def test_a_bound_on_the_smallest_singular_value_passes_no_space_that_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    size = space_size(categories(*(2,) * 7), 2, 40)
    exact = [draw_once(size, np.random.default_rng(seed)) for seed in range(40)]
    monkeypatch.setattr(sizes_module, "_SPECTRUM_WORK", 0)
    bounded = [draw_once(size, np.random.default_rng(seed)) for seed in range(40)]
    assert 5 < sum(space.passes for space in exact) < 35
    for one, other in zip(exact, bounded, strict=True):
        assert one.passes == (one.smallest_singular_value >= one.threshold)
        assert one.passes or not other.passes
        assert not other.passes or other.threshold <= other.smallest_singular_value <= one.smallest_singular_value * (
            1 + 1e-9
        )
    assert sum(space.passes for space in bounded) > 0
