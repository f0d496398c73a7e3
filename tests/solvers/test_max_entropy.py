"""Maximum entropy near noisy statistics: against a conic solver, certificates, and the estimate of the risk."""

from __future__ import annotations

import numpy as np
import pytest

from dpsyn.errors import ParameterError
from dpsyn.mechanisms.noisy_reweighting.families import TableFamily, WalshFamily
from dpsyn.solvers.contingency import all_codes
from dpsyn.solvers.density_spaces import DenseFunctions, PointTables, WholeDomain
from dpsyn.solvers.max_entropy import _missed, _trust, max_entropy, max_entropy_step


def problem(sizes=(2, 3, 4), spread=0.01, seed=0):
    random = np.random.default_rng(seed)
    family = TableFamily.all_of_degree(sizes, 2)
    points = all_codes(sizes)
    true = random.dirichlet(np.full(len(points), 0.3))
    exact = family.matrix(points) @ true
    return family, points, exact, exact + random.normal(0, spread, family.count), np.full(family.count, spread)


def by_cone(matrix, target, spread, weight, base):
    """KL(h ‖ μ) + Σ((A h - y)/s)²/(2λ) by Clarabel's exponential cone."""
    import cvxpy as cp

    h = cp.Variable(matrix.shape[1], nonneg=True)
    misfit = cp.sum_squares((matrix @ h - target) / spread)
    program = cp.Problem(cp.Minimize(cp.sum(cp.rel_entr(h, base)) + misfit / (2 * weight)), [cp.sum(h) == 1])
    program.solve(solver="CLARABEL")
    return program.value, np.asarray(h.value)


@pytest.mark.parametrize("weight", [1.0, 30.0, 1000.0])
def test_one_step_against_a_conic_solver(weight):
    family, points, _, target, spread = problem()
    base = np.random.default_rng(5).dirichlet(np.ones(len(points)))
    matrix = family.matrix(points).toarray()
    fit = max_entropy_step(DenseFunctions(matrix, base), target, spread, weight)
    value, density = by_cone(matrix, target, spread, weight, base)
    mine = float((fit.density * np.log(fit.density / base)).sum()) + family.count * fit.misfit / (2 * weight)
    assert mine <= value + 1e-6 * abs(value) + 1e-9
    np.testing.assert_allclose(fit.density, density, atol=2e-5)
    assert 0 <= fit.gap < 1e-9
    # λ s² θ is the residual of the statistics.
    np.testing.assert_allclose(target - matrix @ fit.density, weight * spread**2 * fit.multipliers, atol=1e-7)


def test_the_gap_bounds_how_far_any_multipliers_are_from_the_optimum():
    family, points, _, target, spread = problem()
    space = DenseFunctions(family.matrix(points))
    best = max_entropy_step(space, target, spread, 20.0)
    rough = max_entropy_step(PointTables(points, family.sizes, family.tables), target, spread, 20.0, iterations=4)

    def primal(fit):
        density = np.asarray(fit.density, dtype=np.float64)
        return float((density * np.log(density * len(points))).sum()) + family.count * fit.misfit / 40

    excess = primal(rough) - primal(best)
    assert 0 < excess <= rough.gap * (1 + 1e-3) + 1e-6
    # It is what the primal is above the dual at these multipliers.
    logs = family.matrix(points).T @ rough.multipliers
    dual = rough.multipliers @ target - np.log(np.exp(logs).mean()) - 10 * ((spread * rough.multipliers) ** 2).sum()
    assert rough.gap == pytest.approx(primal(rough) - dual, rel=1e-3)


def test_newton_and_lbfgs_find_the_same_density():
    family, points, _, target, spread = problem((3, 2, 2, 3))
    newton = max_entropy_step(DenseFunctions(family.matrix(points)), target, spread, 50.0)
    domain = WholeDomain(family.sizes, family.tables, dtype=np.float64)
    lbfgs = max_entropy_step(domain, target, spread, 50.0, iterations=2000, tolerance=1e-15)
    np.testing.assert_allclose(lbfgs.density, newton.density, atol=1e-5)
    assert lbfgs.gap < 1e-6


def test_steps_in_stages_undo_the_shrinkage():
    """Without noise the stages come near y itself, which one step at the same λ does not."""
    family, points, exact, _, spread = problem(spread=0.003)
    space = DenseFunctions(family.matrix(points))
    one = max_entropy_step(space, exact, spread, 4.0 * family.count)
    several = max_entropy(space, exact, spread, np.random.default_rng(0))
    assert several.misfit < 0.2 * one.misfit
    assert len(several.stages) > 1


@pytest.mark.parametrize("grouped", [False, True])
def test_the_estimate_of_the_risk_is_right_on_average(grouped):
    estimates, truths = [], []
    for seed in range(12):
        family, points, exact, target, spread = problem((3, 4, 2, 3), seed=seed)
        groups = family.offsets[:-1] if grouped else None
        space = DenseFunctions(family.matrix(points))
        fit = max_entropy(space, target, spread, np.random.default_rng(seed), groups=groups)
        chosen = next(stage for stage in fit.stages if stage.misfit == fit.misfit)
        estimates.append(chosen.risk)
        truths.append(float((((fit.statistics - exact) / spread) ** 2).sum()))
    assert np.mean(estimates) == pytest.approx(np.mean(truths), rel=0.3)
    # The noisy statistics themselves have the risk F.
    assert np.mean(truths) < 0.6 * family.count


def test_for_a_strong_table_the_weak_ones_need_not_follow_their_noise():
    """Two of five columns are equal, the others independent: what those tables hold is noise."""
    sizes, risks = (5, 5, 4, 4, 4), {}
    family, points = TableFamily.all_of_degree(sizes, 2), all_codes(sizes)
    space, spread = DenseFunctions(family.matrix(points)), np.full(family.count, 0.01)
    exact = family.matrix(points) @ ((points[:, 0] == points[:, 1]) / (5 * 4**3))
    for groups in (None, family.offsets[:-1]):
        off = []
        for seed in range(2):
            random = np.random.default_rng(seed)
            fit = max_entropy(space, exact + random.normal(0, spread), spread, random, groups=groups)
            off.append(((fit.statistics - exact) / spread) ** 2)
        risks[groups is not None] = np.mean(off, axis=0)
    assert risks[True].sum() < risks[False].sum()
    assert risks[True][25:].sum() < 0.85 * risks[False][25:].sum()


def test_small_first_steps_do_not_end_it(monkeypatch):
    """λ so large that the first stages gain next to nothing, and statistics that are far from the base measure."""
    monkeypatch.setattr("dpsyn.solvers.max_entropy._EVEN_FIRST_WEIGHT", 1e6)
    family, points, exact, target, spread = problem(spread=0.02)
    space = DenseFunctions(family.matrix(points))
    fit = max_entropy(space, target, spread, np.random.default_rng(0), stages=40)
    first, second = fit.stages[:2]
    assert first.misfit > 3
    assert first.risk - second.risk < 0.003 * family.count
    assert fit.misfit < 1.2
    assert (((fit.statistics - exact) / spread) ** 2).mean() < 0.7


def test_statistics_that_matter_little_are_followed_little():
    family, points, exact, _, spread = problem()
    spread = np.where(np.arange(family.count) < 6, 1e-4, 0.1)
    fit = max_entropy_step(DenseFunctions(family.matrix(points)), exact, spread, 1.0)
    assert np.abs(fit.statistics - exact)[:6].max() < 1e-3
    assert fit.misfit == pytest.approx((((family.matrix(points) @ fit.density - exact) / spread) ** 2).mean())


def test_a_group_that_is_missed_is_followed_by_the_square_up_to_four_times_its_noise():
    """Of 1,000 statistics each, missed by r times their noise: r² where r is 1, 2 or 3, and 4·r for 8 and 20."""
    by, count = np.array([1.0, 2.0, 3.0, 8.0, 20.0]), 1000
    spread = np.full(5 * count, 0.01)
    target = 0.5 + spread * np.repeat(by, count) * np.resize([1, -1], 5 * count)
    space = DenseFunctions(np.tile([0.0, 1.0], (5 * count, 1)))
    found = _trust(space, np.zeros(5 * count), target, spread, np.arange(0, 5 * count, count))
    assert found[::count] == pytest.approx([1, 4, 9, 32, 80], rel=0.01)
    assert (found.reshape(5, count) == found[::count, None]).all()


def test_groups_that_are_missed_clearly_whatever_is_beside_them():
    """Noise alone misses two by 1.6 ± 1 at most and forty by 32 ± 4.5, so 5.6 and 49.9 are the most that is not clear; one
    of forty draws of Laplace noise is beyond 7.49 with a probability of 40·exp(-√2·7.49) = 0.001."""
    for large in (2, 10_000):
        loud = [*np.full(39, 0.8), 7.4, *np.full(39, 0.8), 7.6]
        off = np.concatenate([np.full(large, 0.8), [2.9, 2.8, 2.8, 2.7], np.full(40, 1.26), np.full(40, 1.24), loud])
        groups = large + np.array([-large, 0, 2, 4, 44, 84, 124])
        missed = _missed(0.3 - 0.01 * off, np.full(len(off), 0.3), np.full(len(off), 0.01), groups)
        assert missed.tolist() == [large, large + 1, *range(large + 4, large + 44), *range(large + 124, large + 164)]
        # All of them on their own would be the same fit again, without end.
        assert _missed(0.3 - 0.1 * off, np.full(len(off), 0.3), np.full(len(off), 0.01), groups) is None


def test_where_a_fit_starts_counts_among_its_degrees_of_freedom():
    """Multipliers of 5·y to start with, and a λ that leaves them as they are: the statistics move by 5 Var(f) with y."""
    family, points, _, target, spread = problem()
    matrix = family.matrix(points).toarray()
    asked = []

    def start(noisy):
        asked.append(noisy)
        return 5 * noisy

    fit = max_entropy(
        DenseFunctions(matrix), target, 1e4 * spread, np.random.default_rng(0), stages=1, start=start, groups=np.array([0])
    )
    (first, beside), signs = asked, np.sign(asked[1] - asked[0])
    np.testing.assert_array_equal(first, target)
    np.testing.assert_allclose(np.abs(beside - first), 0.2 * 1e4 * spread)
    found = []
    for noisy in asked:
        density = np.exp(matrix.T @ (5 * noisy))
        found.append(matrix @ density / density.sum())
    np.testing.assert_allclose(fit.multipliers, 5 * target, rtol=1e-3)
    assert fit.stages[0].degrees_of_freedom == pytest.approx(
        float((signs * (found[1] - found[0]) / (0.2 * 1e4 * spread)).sum()), rel=1e-3
    )


def test_what_is_fitted_on_its_own_is_taken_only_where_it_lowers_the_risk(monkeypatch):
    """Of one group that is noise alone it only follows the noise; of another that was missed it does not."""
    family, points, exact, _, spread = problem((3, 4, 2, 3), spread=0.02)
    groups, space = family.offsets[:-1], DenseFunctions(family.matrix(points))
    lowered = []
    for seed in range(6):
        target = exact + np.random.default_rng(seed).normal(0, spread)
        fits = []
        for at in (None, np.arange(groups[1], groups[2])):
            monkeypatch.setattr("dpsyn.solvers.max_entropy._missed", lambda *_, at=at: at)
            fits.append(max_entropy(space, target, spread, np.random.default_rng(9), groups=groups, stages=6))
        (without, beside), risk = fits, min(stage.risk for stage in fits[0].stages)
        lowered.append(len(beside.stages) > len(without.stages))
        assert not lowered[-1] or beside.stages[-1].risk < risk
        assert lowered[-1] or np.array_equal(beside.density, without.density)
    assert not all(lowered)


def test_what_is_fitted_on_its_own_may_have_spaces_made_anew(monkeypatch):
    """44 × 44 cells of noise, and by shares ± 0.1 two columns of which one value has nearly all."""
    monkeypatch.setattr("dpsyn.solvers.max_entropy._MORE_THAN_NOISE", 2.0)
    sizes, tables, starts = (44, 44, 2, 2), ((0, 1), (2,), (0,), (3,)), np.array([0, 1936, 1938, 1982])
    points, random, spread = all_codes(sizes), np.random.default_rng(0), np.full(1984, 0.1)
    noise = 0.07 * random.choice([-1, 1], 1936)
    target = np.concatenate([1 / 1936 + noise, [0.95, 0.05], np.full(44, 1 / 44), [0.91, 0.09]])

    space, fits = PointTables(points, sizes, tables), []

    def anew(_, multipliers, density):
        return PointTables(points, sizes, tables, space.density(multipliers)[0])

    for renew in (None, anew):
        told, random = [], np.random.default_rng(1)
        how = {"renew": renew, "groups": starts, "even": True, "iterations": 9}
        fits.append(
            max_entropy(
                space, target, spread, random, **how, stages=6, progress=lambda _, share, told=told: told.append(share)
            )
        )
        assert told == sorted(told)
        assert len(told) > len(fits[-1].stages)
        first, *_, last = fits[-1].stages
        assert last.misfit == fits[-1].misfit < first.misfit
        assert last.degrees_of_freedom > first.degrees_of_freedom
        assert last.risk == pytest.approx(1984 * (last.misfit - 1) + 2 * last.degrees_of_freedom)
        assert len(max_entropy(space, target, spread, random, **how, stages=1).stages) == 1
    for fit in fits:
        np.testing.assert_allclose(fit.statistics[[1936, 1982]], [0.95, 0.91], atol=0.1)
        np.testing.assert_allclose(space.expected(space.density(fit.multipliers)[0]), fit.statistics, atol=1e-4)
    np.testing.assert_allclose(fits[0].statistics, fits[1].statistics, atol=1e-3)


def test_a_space_that_is_made_anew_around_the_density_changes_nothing():
    """Nor does the fit beside it, by which the degrees of freedom are counted."""
    family, points, _, target, spread = problem((3, 4, 2, 3), spread=0.05)
    matrix = family.matrix(points)
    kept, renewed = (
        max_entropy(DenseFunctions(matrix), target, spread, np.random.default_rng(3), stages=5, renew=renew)
        for renew in (None, lambda space, multipliers, density: DenseFunctions(matrix, np.asarray(density, dtype=float)))
    )
    assert len(kept.stages) == len(renewed.stages) > 2
    for mine, other in zip(kept.stages, renewed.stages, strict=True):
        assert (other.weight, other.misfit) == pytest.approx((mine.weight, mine.misfit), rel=1e-4)
        assert other.degrees_of_freedom == pytest.approx(mine.degrees_of_freedom, rel=1e-3)
    np.testing.assert_allclose(renewed.density, kept.density, atol=1e-5)


def test_deterministic_columns_do_not_stop_it():
    family = WalshFamily(4, 2, constant=False)
    points = all_codes((2,) * 4)
    target = family.matrix(np.repeat([[1, 1, 0, 1]], 5, axis=0).astype(np.int32)).mean(axis=1)
    fit = max_entropy(DenseFunctions(family.matrix(points)), target, np.full(family.count, 1e-4), np.random.default_rng(0))
    assert fit.density.max() > 0.999
    assert np.isfinite(fit.multipliers).all()


@pytest.mark.parametrize(
    ("target", "spread", "weight"), [([np.nan, 0], [1, 1], 1.0), ([0, 0], [1, 0], 1.0), ([0, 0], [1, 1], 0.0)]
)
def test_wrong_numbers_are_refused(target, spread, weight):
    space = DenseFunctions(np.eye(2))
    with pytest.raises(ParameterError):
        max_entropy_step(space, np.array(target, dtype=float), np.array(spread, dtype=float), weight)
