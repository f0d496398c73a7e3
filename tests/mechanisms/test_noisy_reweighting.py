"""Noisy reweighting: noise scales, sensitivities by brute force, the empirical guarantee, the fit."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from scipy import stats

import dpsyn
from dpsyn.data.table import Table
from dpsyn.domain import Attribute, Domain
from dpsyn.errors import CalibrationError, ParameterError
from dpsyn.privacy.noise import NoiseSource


def cube(p: int) -> Domain:
    return Domain.of(Attribute(f"b{j}", "truth", (0, 1), public=True) for j in range(p))


def binary_table(p: int, n: int, seed: int = 0) -> Table:
    codes = (np.random.default_rng(seed).random((n, p)) < 0.3).astype(int)
    return Table(pd.DataFrame(codes, columns=[f"b{j}" for j in range(p)]), cube(p))


@pytest.mark.parametrize(("p", "degree", "changed"), [(8, 1, 8), (8, 2, 20), (8, 3, 64)])
def test_laplace_scale_is_the_exact_walsh_sensitivity_over_epsilon(p, degree, changed):
    mechanism = dpsyn.NoisyReweighting(degree=degree).calibrate(dpsyn.PrivacySpec(0.5), cube(p), n=1000)
    assert mechanism.family == "walsh"
    assert mechanism.scale == 2 * changed / 0.5
    assert mechanism.calibrated()["noise_scale_on_averages"] == mechanism.scale / 1000


@pytest.mark.parametrize("statistics", ["walsh", "contingency"])
@pytest.mark.parametrize("degree", [1, 2, 3])
def test_no_neighbour_moves_the_sums_by_more_than_the_sensitivity(statistics, degree):
    """All pairs of records on a small domain, in L1 and in L2: the bound is attained, so it is not too large either."""
    p = 4
    config = dpsyn.NoisyReweighting(degree=degree, statistics=statistics)
    laplace = config.calibrate(dpsyn.PrivacySpec(1.0), cube(p), n=1)
    points = np.indices((2,) * p).reshape(p, -1).T.astype(np.int32)
    sums = np.array([laplace._sums(point[None, :]) for point in points])
    moved = sums[:, None, :] - sums[None, :, :]
    assert np.abs(moved).sum(axis=2).max() == laplace.scale  # ε = 1
    gaussian = dpsyn.NoisyReweighting(degree=degree, statistics=statistics, noise="gaussian")
    mechanism = gaussian.calibrate(dpsyn.PrivacySpec(1.0, 1e-5), cube(p), n=1)
    l2 = np.sqrt((moved.astype(float) ** 2).sum(axis=2)).max()
    from dpsyn.privacy.zcdp import zcdp_rho

    assert mechanism.scale == pytest.approx(l2 / math.sqrt(2 * zcdp_rho(1.0, 1e-5)))


def test_noise_on_the_released_statistics_has_the_calibrated_scale():
    table = binary_table(6, 500)
    mechanism = dpsyn.NoisyReweighting(degree=2).calibrate(dpsyn.PrivacySpec(1.0), table.domain, n=table.n)
    noise = NoiseSource(np.random.default_rng(2))
    exact = mechanism._sums(table.codes)
    errors = np.concatenate([mechanism.noisy_statistics(noise, table) * table.n - exact for _ in range(300)])
    expected = math.sqrt(2) * mechanism.scale
    assert errors.std() == pytest.approx(expected, rel=0.08)
    smooth = errors + noise.generator.uniform(-0.5, 0.5, errors.size)
    assert stats.kstest(smooth, "laplace", args=(0, mechanism.scale)).pvalue > 1e-6


def test_empirical_epsilon_stays_below_the_claim_and_finds_a_scale_30_percent_too_small():
    """Worst pair of records, likelihood-ratio score, Clopper-Pearson at 99.9 %."""
    p, epsilon, runs = 3, 1.0, 40_000
    table, neighbour = binary_table(p, 1), None
    mechanism = dpsyn.NoisyReweighting(degree=2).calibrate(dpsyn.PrivacySpec(epsilon), cube(p), n=1)
    points = np.indices((2,) * p).reshape(p, -1).T.astype(np.int32)
    sums = {tuple(q): mechanism._sums(q[None, :]) for q in points}
    first = tuple(points[0])
    second = max(sums, key=lambda q: np.abs(sums[q] - sums[first]).sum())
    table = Table(pd.DataFrame([first], columns=cube(p).names), cube(p))
    neighbour = Table(pd.DataFrame([second], columns=cube(p).names), cube(p))

    def lower_bound(scale: float, seed: int) -> float:
        tested = replace(mechanism, scale=scale)
        noise = NoiseSource(np.random.default_rng(seed))
        a, b = sums[first], sums[second]

        def scores(t: Table) -> np.ndarray:
            y = np.array([tested.noisy_statistics(noise, t) for _ in range(runs)])
            return (np.abs(y - b) - np.abs(y - a)).sum(axis=1)

        on, off = scores(table), scores(neighbour)
        cut = np.abs(a - b).sum() * 0.999  # the extreme score, where the likelihood ratio is e^ε
        hits, misses = int((on >= cut).sum()), int((off >= cut).sum())
        low = stats.beta.ppf(0.0005, hits, runs - hits + 1)
        high = stats.beta.ppf(0.9995, misses + 1, runs - misses)
        return float(np.log(low / high))

    assert lower_bound(mechanism.scale, 1) <= epsilon
    assert lower_bound(mechanism.scale / 1.3, 2) > epsilon


def test_splitting_the_budget_with_marginals_adds_up():
    domain = Domain.of(Attribute(f"c{j}", "categorical", tuple("abc"), public=True) for j in range(5))
    spec = dpsyn.PrivacySpec(2.0)
    config = dpsyn.NoisyReweighting(reduced_space="marginals", marginal_share=0.25, reduced_space_size=90)
    split = config.calibrate(spec, domain, n=100)
    # L1 of the one-way counts is 2·5, of the two-way counts 2·10.
    assert 10 / split.marginal_scale + 20 / split.scale == pytest.approx(2.0)
    whole = dpsyn.NoisyReweighting().calibrate(spec, domain, n=100)
    assert whole.marginal_scale == 0
    assert whole.scale == 10.0
    unused = replace(config, reduced_space_size=None).calibrate(spec, domain, n=100)
    assert (unused.scale, unused.marginal_scale) == (10.0, 0.0)  # all of the domain is taken: no marginals are released


def test_gaussian_budget_adds_up_in_zcdp():
    from dpsyn.privacy.zcdp import zcdp_rho

    domain = Domain.of(Attribute(f"c{j}", "categorical", tuple("abc"), public=True) for j in range(5))
    config = dpsyn.NoisyReweighting(reduced_space="marginals", marginal_share=0.25, noise="gaussian", reduced_space_size=90)
    split = config.calibrate(dpsyn.PrivacySpec(2.0, 1e-6), domain, n=100)
    assert 10 / (2 * split.marginal_scale**2) + 20 / (2 * split.scale**2) == pytest.approx(zcdp_rho(2.0, 1e-6))
    assert split.guarantee.delta == 1e-6


def test_the_density_fits_the_noisy_statistics_best():
    table = binary_table(6, 2000)
    mechanism = dpsyn.NoisyReweighting(degree=2).calibrate(dpsyn.PrivacySpec(1.0), table.domain, n=table.n)
    release = mechanism(np.random.default_rng(4), table)
    d = release.diagnostics
    assert d["density"].min() >= 0
    assert d["density"].sum() == pytest.approx(1)
    matrix = mechanism._matrix(d["points"])
    assert np.abs(matrix @ d["density"] - d["noisy_statistics"]).max() == pytest.approx(
        d["largest_deviation_from_noisy_statistics"], abs=1e-7
    )
    assert abs(d["duality_gap"]) < 1e-6
    # The true density is feasible and misses by the largest noise, so the best one misses by no more.
    assert d["largest_deviation_from_noisy_statistics"] <= d["largest_noise"] + 1e-9


@pytest.mark.parametrize("space", ["uniform", "marginals"])
def test_a_drawn_reduced_space_gives_rows_of_the_domain(space):
    domain = Domain.of(Attribute(f"c{j}", "categorical", tuple("abcdef"), public=True) for j in range(7))
    codes = np.random.default_rng(1).integers(0, 6, (300, 7), dtype=np.int32)
    table = Table(domain.decode(codes, np.random.default_rng(0)), domain)
    config = dpsyn.NoisyReweighting(degree=1, reduced_space=space, reduced_space_size=200, rows=50)
    release = config.calibrate(dpsyn.PrivacySpec(1.0), domain, n=300)(np.random.default_rng(2), table)
    assert release.diagnostics["points"].shape[0] <= 200
    assert len(release.rows) == 50
    domain.encode(release.rows)


def test_private_marginals_as_measure_make_the_reduced_space_fit_better():
    domain = Domain.of(Attribute(f"c{j}", "categorical", tuple("abcdefgh"), public=True) for j in range(6))
    codes = np.random.default_rng(1).geometric(0.6, (20_000, 6)).clip(1, 8).astype(np.int32) - 1
    table = Table(domain.decode(codes, np.random.default_rng(0)), domain)
    deviations = {}
    for space in ("uniform", "marginals"):
        config = dpsyn.NoisyReweighting(degree=2, reduced_space=space, reduced_space_size=400)
        release = config.calibrate(dpsyn.PrivacySpec(10.0), domain, n=table.n)(np.random.default_rng(2), table)
        deviations[space] = release.diagnostics["largest_deviation_from_noisy_statistics"]
    assert deviations["marginals"] < 0.5 * deviations["uniform"]


def test_what_cannot_be_calibrated_says_why():
    domain = cube(4)
    with pytest.raises(CalibrationError, match="replace_one"):
        dpsyn.NoisyReweighting().calibrate(dpsyn.PrivacySpec(1.0, neighbouring="add_remove"), domain, n=10)
    with pytest.raises(CalibrationError, match="delta"):
        dpsyn.NoisyReweighting(noise="gaussian").calibrate(dpsyn.PrivacySpec(1.0), domain, n=10)
    wide = Domain.of([Attribute("c", "categorical", ("a", "b", "c"), public=True)])
    with pytest.raises(ParameterError, match="'c' has 3 values"):
        dpsyn.NoisyReweighting(statistics="walsh").calibrate(dpsyn.PrivacySpec(1.0), wide, n=10)
    with pytest.raises(ParameterError, match="too many"):
        dpsyn.NoisyReweighting(degree=3).calibrate(dpsyn.PrivacySpec(1.0), cube(300), n=10)
