"""Noisy reweighting as published: Theorem 2.2's noise, the vertex of the linear program, independent draws."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from scipy import stats

import dpsyn
from dpsyn.errors import CalibrationError, ParameterError
from dpsyn.mechanisms.noisy_reweighting.user_functions import FunctionFamily
from dpsyn.privacy.noise import NoiseSource
from dpsyn.solvers.chebyshev import fit_density
from tests.conftest import binary_table, cube, mixed_table


def is_laplace(noise: np.ndarray, scale: float) -> bool:
    """Kolmogorov and Smirnov's test, and the mean of |noise| (which is the scale) within 5 standard errors."""
    error = abs(np.abs(noise).mean() / scale - 1) * math.sqrt(noise.size)
    return error < 5 and stats.kstest(noise, "laplace", args=(0, scale)).pvalue > 1e-6


@pytest.mark.parametrize(("degree", "count"), [(1, 7), (2, 22), (3, 42)])
@pytest.mark.parametrize("epsilon", [0.5, 3.0])
def test_theorem_2_2(degree, count, epsilon):
    """σ = 2|F|/(nε) on averages, the constant included; a scale that is 5 % off is found."""
    table = binary_table(6, 2000)
    config = dpsyn.NoisyReweighting.as_published(degree=degree)
    mechanism = config.calibrate(dpsyn.PrivacySpec(epsilon, 1e-5), table.domain, n=table.n)
    assert mechanism.statistic_count == count
    sigma = 2 * count / (2000 * epsilon)
    assert mechanism.calibrated()["noise_scale_on_averages"] == pytest.approx(sigma)
    assert (mechanism.guarantee.epsilon, mechanism.guarantee.delta) == (epsilon, 0.0)
    assert "Theorem 2.2" in mechanism.guarantee.source
    assert any("floating point" in text for text in mechanism.guarantee.assumptions)
    exact = mechanism.statistics.sums(table.codes) / table.n
    noise = NoiseSource(np.random.default_rng(0))
    runs = 200_000 // count
    errors = np.array([mechanism.averages(mechanism.measured(noise, table)) - exact for _ in range(runs // 10)])
    sums = np.tile(mechanism.statistics.sums(table.codes), (runs, 1))
    many = (mechanism.noisy(noise, sums) - sums) / table.n
    assert is_laplace(errors.ravel(), sigma)
    assert is_laplace(many.ravel(), sigma)
    assert not is_laplace(many.ravel(), 1.05 * sigma)
    assert not is_laplace(many.ravel(), sigma / 1.05)
    # Every function has noise of its own, of the same scale.
    np.testing.assert_allclose(np.abs(many).mean(axis=0), sigma, rtol=5 * math.sqrt(1 / runs))
    assert np.abs(np.corrcoef(many.T) - np.eye(count)).max() < 6 / math.sqrt(runs)


@pytest.mark.parametrize("public", [True, False])
def test_noise_in_floating_point_is_never_called_proven(public):
    table = binary_table(6, 2000)
    first = replace(table.domain.attributes[0], public=public)
    table = table.with_domain(table.domain.replace(first))
    published = dpsyn.NoisyReweighting(noise="as_published").calibrate(dpsyn.PrivacySpec(1.0), table.domain, n=table.n)
    assert published.guarantee.status == "real_arithmetic"
    assert any("floating point is not safe" in assumption for assumption in published.guarantee.assumptions)
    assert any("nobody confirmed" in assumption for assumption in published.guarantee.assumptions) is not public
    assert published(None, table).guarantee.status == "real_arithmetic"
    discrete = dpsyn.NoisyReweighting().calibrate(dpsyn.PrivacySpec(1.0), table.domain, n=table.n)
    assert discrete.guarantee.status == ("proven" if public else "unconfirmed_domain")


@pytest.mark.parametrize("system", [True, False])
def test_a_release_has_that_noise(system):
    table = binary_table(6, 2000)
    mechanism = dpsyn.NoisyReweighting.as_published().calibrate(dpsyn.PrivacySpec(1.0), table.domain, n=table.n)
    exact = mechanism.statistics.sums(table.codes) / table.n
    generator = None if system else np.random.default_rng(1)
    noisy = [mechanism(generator, table).diagnostics["noisy_statistics"] - exact for _ in range(12)]
    # 264 numbers: standard error of the mean 6 %.
    assert np.abs(noisy).mean() == pytest.approx(22 * 2 / 2000, rel=0.35)


def test_the_density_is_a_vertex_of_the_linear_program():
    table = binary_table(6, 2000)
    config = dpsyn.NoisyReweighting.as_published(degree=2)
    mechanism = config.calibrate(dpsyn.PrivacySpec(1.0), table.domain, n=table.n)
    release = mechanism(np.random.default_rng(4), table)
    d = release.diagnostics
    matrix = mechanism.statistics.matrix(d["points"])
    deviation = d["largest_deviation_from_noisy_statistics"]
    assert np.abs(matrix @ d["density"] - d["noisy_statistics"]).max() == pytest.approx(deviation, abs=1e-7)
    assert abs(d["duality_gap"]) < 1e-6
    assert len(release.rows) == 2000
    # The noisy constant leaves many optima: an interior one sits on every point, a vertex on |F| + 1 at most.
    assert d["support"] <= mechanism.statistic_count + 1 < len(d["points"])
    centre = fit_density(matrix, d["noisy_statistics"])
    assert centre.deviation == pytest.approx(deviation, abs=1e-6)
    assert (centre.density > 1e-6).sum() == len(d["points"]) == 64
    # A vertex: no optimal density lies on both sides of it, since the equations that bind determine its masses.
    carried = d["density"] > 0
    binding = np.abs(np.abs(matrix @ d["density"] - d["noisy_statistics"]) - deviation) < 1e-9
    signs = np.sign(matrix @ d["density"] - d["noisy_statistics"])[binding]
    system = np.vstack([np.hstack([matrix[binding][:, carried], -signs[:, None]]), [*np.ones(carried.sum()), 0.0]])
    assert np.linalg.matrix_rank(system) == carried.sum() + 1


def test_on_categories_the_statistics_are_cells_and_the_density_a_vertex_too():
    table = mixed_table(500)
    mechanism = dpsyn.NoisyReweighting.as_published(degree=1).calibrate(dpsyn.PrivacySpec(1.0), table.domain, n=table.n)
    release = mechanism(np.random.default_rng(4), table)
    assert mechanism.scale == pytest.approx(2 * mechanism.statistic_count)
    assert release.diagnostics["support"] <= mechanism.statistic_count + 1 < mechanism.reduced_space_size
    table.domain.encode(release.rows)


OWN = [
    lambda codes: 2.0 * codes[:, 0] - 1,
    lambda codes: 0.5 * codes[:, 1],
    lambda codes: np.where(codes[:, 2] == codes[:, 0], 1.0, -0.3),
]


@pytest.mark.parametrize("unit", [1.0, 0.25, 1 / 49, 0.3, 2.0**-20])
def test_functions_of_ones_own_get_the_papers_noise_in_any_unit(unit):
    """Σ_f |f(x) - f(y)|/n over σ is ε at most for every pair of rows, by the values of the functions alone."""
    domain, n, epsilon = cube(3), 1000, 0.8
    config = dpsyn.NoisyReweighting(family=FunctionFamily(OWN, domain.shape, unit=unit), noise="as_published")
    mechanism = config.calibrate(dpsyn.PrivacySpec(epsilon), domain, n=n)
    sigma = mechanism.calibrated()["noise_scale_on_averages"]
    assert sigma == pytest.approx(2 * len(OWN) / (n * epsilon))
    rows = np.indices(domain.shape).reshape(3, -1).T.astype(np.int32)
    values = np.stack([np.rint(function(rows) / unit) * unit for function in OWN], axis=1)
    moved = np.abs(values[:, None] - values[None]).sum(axis=2).max()
    assert 0.3 * epsilon < moved / n / sigma <= epsilon
    table = binary_table(3, n)
    exact = values[np.ravel_multi_index(tuple(table.codes.T), domain.shape)].mean(axis=0)
    noise = NoiseSource(np.random.default_rng(0))
    assert is_laplace(
        np.array([mechanism.averages(mechanism.measured(noise, table)) - exact for _ in range(2000)]).ravel(), sigma
    )


def test_functions_that_leave_the_range_of_the_theorem_are_refused():
    domain = cube(2)
    signs = [lambda codes, j=j: 2.0 * codes[:, j] - 1 for j in range(2)]
    family = FunctionFamily(signs, domain.shape, unit=0.6)  # 1 is rounded to 1.2
    with pytest.raises(ParameterError, match="a unit that divides 1"):
        dpsyn.NoisyReweighting(family=family, noise="as_published").calibrate(dpsyn.PrivacySpec(1.0), domain, n=100)
    dpsyn.NoisyReweighting(family=family, noise="laplace").calibrate(dpsyn.PrivacySpec(1.0), domain, n=100)


def test_what_is_not_the_papers_is_refused():
    config = dpsyn.NoisyReweighting.as_published(degree=2)
    with pytest.raises(CalibrationError, match="replace_one"):
        config.calibrate(dpsyn.PrivacySpec(1.0, neighbouring="add_remove"), cube(6), n=10)
    with pytest.raises(ParameterError, match="objective='max'"):
        dpsyn.NoisyReweighting(vertex=True)


def test_its_noise_can_be_had_alone_but_pays_for_the_statistics_only():
    table = mixed_table(500)
    spec = dpsyn.PrivacySpec(1.0)
    config = dpsyn.NoisyReweighting(degree=1, noise="as_published")
    mechanism = config.calibrate(spec, table.domain, n=table.n)
    assert set(mechanism.scales) == {2 * mechanism.statistic_count}
    assert len(mechanism(np.random.default_rng(0), table).rows) == 500
    for settings in (
        {"marginal_share": 0.2, "reduced_space_size": 50, "reduced_space": "marginals"},
        {"tables": (table.domain.names[:1],), "reduced_space_size": 50},
    ):
        with pytest.raises(ParameterError, match="spends all of epsilon"):
            dpsyn.NoisyReweighting(noise="as_published", **settings).calibrate(spec, table.domain, n=table.n)
