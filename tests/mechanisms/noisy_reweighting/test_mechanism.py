"""Noisy reweighting: noise scales, sensitivities by brute force, the empirical guarantee, the fit."""

from __future__ import annotations

import json
import math
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from scipy import stats

import dpsyn
from dpsyn.domain import Attribute, Domain
from dpsyn.errors import CalibrationError, DomainError, ParameterError
from dpsyn.mechanisms.noisy_reweighting._spaces import NoisySums
from dpsyn.mechanisms.noisy_reweighting.families import TableFamily
from dpsyn.mechanisms.noisy_reweighting.user_functions import FunctionFamily
from dpsyn.privacy.discrete_gaussian import continuous_delta
from dpsyn.privacy.noise import NoiseSource
from dpsyn.privacy.zcdp import zcdp_rho
from dpsyn.solvers.coded import CodedRows
from dpsyn.table import Table
from tests.conftest import binary_table, categories, cube, mixed_table


@pytest.mark.parametrize(("p", "degree", "changed"), [(8, 1, 8), (8, 2, 20), (8, 3, 64)])
def test_laplace_scale_is_the_exact_walsh_sensitivity_over_epsilon(p, degree, changed):
    config = dpsyn.NoisyReweighting(degree=degree, allocation="equal")
    mechanism = config.calibrate(dpsyn.PrivacySpec(0.5), cube(p), n=1000)
    assert mechanism.family == "walsh"
    assert mechanism.scale == 2 * changed / 0.5
    assert mechanism.calibrated()["noise_scale_on_averages"] == mechanism.scale / 1000


def test_progress_rises_and_leaves_a_quarter_for_drawing_the_rows():
    table, told = binary_table(6, 400), {}
    mechanism = dpsyn.NoisyReweighting(degree=2).calibrate(dpsyn.PrivacySpec(1.0), table.domain, n=table.n)
    mechanism(np.random.default_rng(0), table, told.__setitem__)
    assert list(told.values()) == sorted(told.values())
    assert told["drawing rows"] == 0.75


def moves(mechanism, neighbouring: str) -> np.ndarray:
    """What every neighbour does to the sums: all pairs of rows of the domain, or all rows."""
    shape = mechanism.domain.shape
    points = np.indices(shape).reshape(len(shape), -1).T.astype(np.int32)
    sums = np.array([mechanism.statistics.sums(point[None, :]) for point in points])
    if neighbouring == "add_remove":
        return sums
    return (sums[:, None, :] - sums[None, :, :]).reshape(-1, sums.shape[1])


FAMILIES = {
    "walsh 1": (cube(4), {"degree": 1}),
    "walsh 2": (cube(5), {"degree": 2}),
    "walsh 3": (cube(4), {"degree": 3}),
    "tables": (categories(2, 4, 3), {"degree": 2}),
    "tables 3": (categories(2, 4, 3, 2), {"degree": 3}),
    "chosen tables": (categories(2, 4, 3), {"tables": (("c0", "c1"), ("c2",))}),
    "conjunctions": (categories(2, 4, 3), {"statistics": "conjunctions"}),
    "conjunctions on bits": (cube(4), {"statistics": "conjunctions"}),
}


@pytest.mark.parametrize("allocation", ["by_size", "equal"])
@pytest.mark.parametrize("neighbouring", ["replace_one", "add_remove"])
@pytest.mark.parametrize("family", FAMILIES)
def test_no_neighbour_costs_more_than_epsilon_and_the_worst_costs_all_of_it(family, neighbouring, allocation):
    """Laplace: Σ |moved|/scale has the largest value ε over all neighbours. Gaussian: Σ (moved/scale)² that at (ε, δ)."""
    domain, settings = FAMILIES[family]
    config = dpsyn.NoisyReweighting(allocation=allocation, **settings)
    pure = config.calibrate(dpsyn.PrivacySpec(0.7, neighbouring=neighbouring), domain, n=50)
    moved = moves(pure, neighbouring)
    assert (np.abs(moved) / pure.scales).sum(axis=1).max() == pytest.approx(0.7)
    approximate = config.calibrate(dpsyn.PrivacySpec(0.7, 1e-6, neighbouring), domain, n=50)
    assert approximate.ledger.kind == "gaussian"
    assert approximate.ledger.argument == "exact"
    mu = math.sqrt(((moved / approximate.scales) ** 2).sum(axis=1).max())
    assert continuous_delta(mu, 0.7) == pytest.approx(1e-6, rel=0.02)


@pytest.mark.parametrize("noise", ["laplace", "gaussian"])
def test_functions_of_the_users_own_pay_for_the_count_under_add_remove(noise):
    domain = categories(3, 2)
    family = FunctionFamily([lambda c: c[:, 0] / 2, lambda c: c[:, 1] - 0.5], domain.shape)
    spec = dpsyn.PrivacySpec(1.0, 1e-5 if noise == "gaussian" else 0.0, "add_remove")
    mechanism = dpsyn.NoisyReweighting(family=family, noise=noise).calibrate(spec, domain, n=200)
    assert [entry["name"] for entry in mechanism.ledger.entries] == ["functions of the user's own", "number of rows"]
    assert sum(entry["share"] for entry in mechanism.ledger.entries) == pytest.approx(1)
    moved = moves(mechanism, "add_remove")
    count_scale = mechanism._scale_of(1)
    if noise == "laplace":
        assert (np.abs(moved) / mechanism.scales[:-1]).sum(axis=1).max() + 1 / count_scale <= 1 + 1e-9
    else:
        rho = ((moved / mechanism.scales[:-1]) ** 2).sum(axis=1).max() / 2 + 1 / (2 * count_scale**2)
        assert rho <= zcdp_rho(1.0, 1e-5) * (1 + 1e-9)
    codes = np.random.default_rng(0).integers(0, domain.shape, (200, 2), dtype=np.int32)
    table = Table(domain.decode(codes, np.random.default_rng(0)), domain)
    release = mechanism(np.random.default_rng(1), table)
    assert 150 < len(release.rows) < 250


def test_noise_on_the_released_statistics_has_the_calibrated_scale():
    table = binary_table(6, 500)
    config = dpsyn.NoisyReweighting(degree=2, allocation="equal")
    mechanism = config.calibrate(dpsyn.PrivacySpec(1.0), table.domain, n=table.n)
    noise = NoiseSource(np.random.default_rng(2))
    exact = mechanism.statistics.sums(table.codes)
    errors = np.concatenate([mechanism.averages(mechanism.measured(noise, table)) * table.n - exact for _ in range(300)])
    expected = math.sqrt(2) * mechanism.scale
    assert errors.std() == pytest.approx(expected, rel=0.08)
    smooth = errors + noise.generator.uniform(-0.5, 0.5, errors.size)
    assert stats.kstest(smooth, "laplace", args=(0, mechanism.scale)).pvalue > 1e-6


def test_empirical_epsilon_stays_below_the_claim_and_finds_a_scale_30_percent_too_small():
    """Worst pair of records, likelihood-ratio score, Clopper-Pearson at 99.9 %."""
    p, epsilon, runs = 3, 1.0, 40_000
    table, neighbour = binary_table(p, 1), None
    config = dpsyn.NoisyReweighting(degree=2, allocation="equal")
    mechanism = config.calibrate(dpsyn.PrivacySpec(epsilon), cube(p), n=1)
    points = np.indices((2,) * p).reshape(p, -1).T.astype(np.int32)
    sums = {tuple(q): mechanism.statistics.sums(q[None, :]) for q in points}
    first = tuple(points[0])
    second = max(sums, key=lambda q: np.abs(sums[q] - sums[first]).sum())
    table = Table(pd.DataFrame([first], columns=cube(p).names), cube(p))
    neighbour = Table(pd.DataFrame([second], columns=cube(p).names), cube(p))

    def lower_bound(scale: float, seed: int) -> float:
        tested = replace(mechanism, scale=scale)
        noise = NoiseSource(np.random.default_rng(seed))
        a, b = sums[first], sums[second]

        def scores(t: Table) -> np.ndarray:
            y = tested.noisy(noise, np.tile(tested.statistics.sums(t.codes), (runs, 1)))
            return (np.abs(y - b) - np.abs(y - a)).sum(axis=1)

        on, off = scores(table), scores(neighbour)
        cut = np.abs(a - b).sum() * 0.999  # the extreme score, where the likelihood ratio is e^ε
        hits, misses = int((on >= cut).sum()), int((off >= cut).sum())
        low = stats.beta.ppf(0.0005, hits, runs - hits + 1)
        high = stats.beta.ppf(0.9995, misses + 1, runs - misses)
        return float(np.log(low / high))

    assert lower_bound(mechanism.scale, 1) <= epsilon
    assert lower_bound(mechanism.scale / 1.3, 2) > epsilon


def test_parts_of_different_scale_have_their_own_noise():
    """Each part's noise is accepted at its scale and would be rejected 30 % off."""
    domain = categories(2, 5, 3)
    codes = np.random.default_rng(0).integers(0, domain.shape, (400, 3), dtype=np.int32)
    for spec, law in ((dpsyn.PrivacySpec(1.0), "laplace"), (dpsyn.PrivacySpec(1.0, 1e-5), "norm")):
        mechanism = dpsyn.NoisyReweighting().calibrate(spec, domain, n=400)
        exact = mechanism.statistics.sums(codes)
        noise = NoiseSource(np.random.default_rng(3))
        errors = mechanism.noisy(noise, np.tile(exact, (800, 1))) - exact
        assert len(set(mechanism.scales)) > 1
        for part in range(len(mechanism.ledger.parts)):
            mine = errors[:, mechanism.part_of == part].ravel()
            smooth = mine + noise.generator.uniform(-0.5, 0.5, mine.size)
            scale = mechanism._scale_of(part)
            assert stats.kstest(smooth, getattr(stats, law)(0, scale).cdf).pvalue > 1e-6
            assert stats.kstest(smooth, getattr(stats, law)(0, 1.3 * scale).cdf).pvalue < 1e-6
            assert stats.kstest(smooth, getattr(stats, law)(0, scale / 1.3).cdf).pvalue < 1e-6


BESIDE = {
    "marginals": {"reduced_space": "marginals", "marginal_share": 0.3, "reduced_space_size": 60},
    "own functions": {"family": FunctionFamily([lambda codes: codes[:, 0] > 1, lambda codes: codes[:, 1] / 2], (3, 2, 4))},
}


@pytest.mark.parametrize("neighbouring", ["replace_one", "add_remove"])
@pytest.mark.parametrize("delta", [0.0, 1e-5])
@pytest.mark.parametrize("beside", BESIDE)
def test_every_number_has_the_noise_that_its_part_pays_for(beside, delta, neighbouring):
    """Marginals of their own and the number of rows too, by the ledger of the record."""
    spec = dpsyn.PrivacySpec(0.3, delta, neighbouring)
    mechanism = dpsyn.NoisyReweighting(**BESIDE[beside]).calibrate(spec, categories(3, 2, 4), n=40)
    entries = mechanism.calibrated()["ledger"]
    codes = np.random.default_rng(0).integers(0, (3, 2, 4), (40, 3), dtype=np.int32)
    exact = mechanism.exact(CodedRows(codes, (3, 2, 4)))
    assert len(exact) == sum(entry["count"] for entry in entries)
    errors = mechanism.noisy(NoiseSource(np.random.default_rng(1)), np.tile(exact, (20_000, 1))) - exact
    scales = np.array([entries[part]["scale"] for part in mechanism.part_of])
    np.testing.assert_allclose(errors.std(axis=0), scales * (1 if delta else math.sqrt(2)), rtol=0.06)


class Deaf(NoiseSource):
    """Answers without a look at what it is handed."""

    def discrete_laplace(self, values, scale):
        return self.generator.integers(5, 30, values.shape)

    def discrete_gaussian(self, values, scale):
        return self.generator.integers(5, 30, values.shape)


@pytest.mark.parametrize("neighbouring", ["replace_one", "add_remove"])
@pytest.mark.parametrize("delta", [0.0, 1e-5])
@pytest.mark.parametrize("beside", BESIDE)
def test_nothing_but_noisy_numbers_is_learned_of_the_records(beside, delta, neighbouring):
    domain = categories(3, 2, 4)
    spec = dpsyn.PrivacySpec(1.0, delta, neighbouring)
    mechanism = dpsyn.NoisyReweighting(**BESIDE[beside]).calibrate(spec, domain, n=40)
    others = 40 if neighbouring == "replace_one" else 60
    tables = [
        Table(domain.decode(np.full((n, 3), code, dtype=np.int32), np.random.default_rng(0)), domain)
        for n, code in ((40, 0), (others, 1))
    ]
    first, second = (mechanism._run(Deaf(np.random.default_rng(5)), table, lambda step, share: None) for table in tables)
    pd.testing.assert_frame_equal(first[0], second[0])


def test_splitting_the_budget_with_marginals_adds_up():
    domain = Domain.of(Attribute(f"c{j}", "categorical", tuple("abc"), public=True) for j in range(5))
    spec = dpsyn.PrivacySpec(2.0)
    config = dpsyn.NoisyReweighting(reduced_space="marginals", marginal_share=0.25, reduced_space_size=90)
    split = config.calibrate(spec, domain, n=100)
    # L1 of the one-way counts is 2·5, of the two-way counts 2·10.
    assert 10 / split.marginal_scale + 20 / split.scales[0] == pytest.approx(2.0)
    assert split.ledger.entries[-1]["share"] == pytest.approx(0.25, abs=0.02)
    whole = dpsyn.NoisyReweighting().calibrate(spec, domain, n=100)
    assert whole.marginal_scale == 0
    assert whole.scale == 10.0
    unused = replace(config, reduced_space_size=None).calibrate(spec, domain, n=100)
    assert (unused.scale, unused.marginal_scale) == (10.0, 0.0)  # all of the domain is taken: no marginals are released
    free = dpsyn.NoisyReweighting(reduced_space="marginals", reduced_space_size=90).calibrate(spec, domain, n=100)
    assert (free.scale, free.marginal_scale) == (10.0, 0.0)  # the noisy tables say the marginals already


def test_gaussian_budget_with_marginals_is_accounted_exactly():
    domain = Domain.of(Attribute(f"c{j}", "categorical", tuple("abc"), public=True) for j in range(5))
    config = dpsyn.NoisyReweighting(reduced_space="marginals", marginal_share=0.25, noise="gaussian", reduced_space_size=90)
    split = config.calibrate(dpsyn.PrivacySpec(2.0, 1e-6), domain, n=100)
    mu = math.sqrt(10 / split.marginal_scale**2 + 20 / split.scales[0] ** 2)
    assert continuous_delta(mu, 2.0) == pytest.approx(1e-6, rel=0.02)
    assert split.guarantee.delta == 1e-6
    # zCDP would ask for more noise.
    assert mu**2 / 2 > zcdp_rho(2.0, 1e-6)
    with pytest.raises(CalibrationError, match="delta"):
        config.calibrate(dpsyn.PrivacySpec(2.0), domain, n=100)


def test_the_ledger_is_in_the_record_and_adds_up():
    table = mixed_table(500)
    mechanism = dpsyn.NoisyReweighting().calibrate(dpsyn.PrivacySpec(1.0), table.domain, n=table.n)
    release = mechanism(np.random.default_rng(0), table)
    ledger = json.loads(json.dumps(release.record()))["settings"]["ledger"]
    assert sum(entry["share"] for entry in ledger) == pytest.approx(1)
    assert sum(entry["epsilon"] for entry in ledger) == pytest.approx(1.0)
    assert sum(e["count"] for e in ledger) == mechanism.statistic_count


def test_under_add_remove_nothing_depends_on_the_number_of_rows():
    domain = categories(2, 4, 3)
    spec = dpsyn.PrivacySpec(1.0, 1e-5, "add_remove")
    small = dpsyn.NoisyReweighting().calibrate(spec, domain, n=50)
    large = dpsyn.NoisyReweighting().calibrate(spec, domain, n=5000)
    assert small.calibrated() == large.calibrated()
    assert "rows" not in small.calibrated()
    # Half of what replacing a row moves: √2 less noise.
    replaced = dpsyn.NoisyReweighting().calibrate(dpsyn.PrivacySpec(1.0, 1e-5), domain, n=50)
    assert replaced.scale == pytest.approx(math.sqrt(2) * small.scale, rel=1e-3)
    codes = np.random.default_rng(0).integers(0, domain.shape, (5000, 3), dtype=np.int32)
    table = Table(domain.decode(codes, np.random.default_rng(0)), domain)
    counts = {len(large(np.random.default_rng(seed), table).rows) for seed in range(4)}
    assert len(counts) > 1  # n is estimated, not told
    assert all(4900 < count < 5100 for count in counts)
    assert "n" not in large(np.random.default_rng(0), table).settings


@pytest.mark.parametrize("rows", [None, 5])
def test_rows_that_noise_makes_out_are_to_fit_into_memory(rows, monkeypatch):
    table = binary_table(3, 50)
    mechanism = dpsyn.NoisyReweighting(rows=rows).calibrate(
        dpsyn.PrivacySpec(1.0, neighbouring="add_remove"), table.domain, table.n
    )
    monkeypatch.setattr(type(mechanism), "_rows", lambda self, sums, counted: 1e13)
    if rows is not None:
        assert len(mechanism(None, table).rows) == rows
        return
    with pytest.raises(ParameterError, match=r"rows = 10000000000000 .* 480000.00 GB of memory"):
        mechanism(None, table)


def test_the_density_fits_the_noisy_statistics_best():
    table = binary_table(6, 2000)
    mechanism = dpsyn.NoisyReweighting(degree=2, objective="max").calibrate(dpsyn.PrivacySpec(1.0), table.domain, n=table.n)
    release = mechanism(np.random.default_rng(4), table)
    d = release.diagnostics
    assert d["density"].min() >= 0
    assert d["density"].sum() == pytest.approx(1)
    assert abs(d["duality_gap"]) < 1e-6
    # The true density is feasible and misses by the largest noise, so the best one misses by no more.
    assert d["largest_deviation_from_noisy_statistics"] <= d["largest_noise"] + 1e-9


@pytest.mark.parametrize("objective", ["max", "least_squares", "max_entropy"])
@pytest.mark.parametrize("space", ["uniform", "marginals", "tree"])
def test_a_drawn_reduced_space_gives_rows_of_the_domain(space, objective):
    domain = Domain.of(Attribute(f"c{j}", "categorical", tuple("abcdef"), public=True) for j in range(7))
    codes = np.random.default_rng(1).integers(0, 6, (300, 7), dtype=np.int32)
    table = Table(domain.decode(codes, np.random.default_rng(0)), domain)
    degree = 2 if space == "tree" else 1
    config = dpsyn.NoisyReweighting(
        degree=degree, reduced_space=space, reduced_space_size=200, rows=50, objective=objective, refinements=2
    )
    release = config.calibrate(dpsyn.PrivacySpec(1.0), domain, n=300)(np.random.default_rng(2), table)
    assert release.diagnostics["points"].shape[0] <= 200
    assert len(release.rows) == 50
    domain.encode(release.rows)


@pytest.mark.parametrize("rounding", ["low_variance", "independent"])
@pytest.mark.parametrize("family", FAMILIES)
def test_every_family_releases_rows_near_the_data(family, rounding):
    domain, settings = FAMILIES[family]
    random = np.random.default_rng(0)
    first = random.integers(0, domain.shape[0], 4000)
    codes = np.stack([np.where(random.random(4000) < 0.8, first % size, 0) for size in domain.shape], axis=1).astype(
        np.int32
    )
    table = Table(domain.decode(codes, random), domain)
    config = dpsyn.NoisyReweighting(rounding=rounding, **settings)
    release = config.calibrate(dpsyn.PrivacySpec(20.0, 1e-5), domain, n=4000)(random, table)
    mine = TableFamily.all_of_degree(domain.shape, 1)
    error = np.abs(mine.sums(domain.encode(release.rows)) - mine.sums(codes)).max()
    assert error < (150 if rounding == "independent" else 60)
    assert len(release.rows) == 4000


def test_user_functions_are_matched():
    domain = categories(4, 3, 5)
    random = np.random.default_rng(0)
    codes = np.stack([random.binomial(size - 1, 0.3, 3000) for size in domain.shape], axis=1).astype(np.int32)
    table = Table(domain.decode(codes, random), domain)
    family = FunctionFamily([lambda c: c[:, 0] / 3, lambda c: (c[:, 1] > 0) & (c[:, 2] > 1)], domain.shape, low=0.0)
    mechanism = dpsyn.NoisyReweighting(family=family).calibrate(dpsyn.PrivacySpec(10.0, 1e-5), domain, n=3000)
    release = mechanism(random, table)
    made = domain.encode(release.rows)
    np.testing.assert_allclose(family.sums(made) / 3000, family.sums(codes) / 3000, atol=0.02 / family.unit)
    assert json.loads(json.dumps(release.record()))["settings"]["family"] == "functions"


def test_public_rows_are_reweighted():
    domain = categories(4, 3, 5)
    random = np.random.default_rng(0)
    codes = np.stack([random.binomial(size - 1, 0.5, 3000) for size in domain.shape], axis=1).astype(np.int32)
    known = np.unique(random.integers(0, domain.shape, (30, 3), dtype=np.int32), axis=0)
    table = Table(domain.decode(codes, random), domain)
    public = Table(domain.decode(known, random), domain, "public")
    config = dpsyn.NoisyReweighting(reduced_space="public", public=public)
    release = config.calibrate(dpsyn.PrivacySpec(10.0, 1e-5), domain, n=3000)(random, table)
    assert len(release.diagnostics["points"]) == len(known)
    assert json.loads(json.dumps(release.record()))["settings"]["public"] == f"public, {len(known)} rows"
    assert any("reduced space were public" in text for text in release.guarantee.assumptions)
    few = replace(config, reduced_space_size=7).calibrate(dpsyn.PrivacySpec(10.0, 1e-5), domain, n=3000)
    assert few.reduced_space_size == 7
    with pytest.raises(ParameterError, match="public"):
        dpsyn.NoisyReweighting(reduced_space="public")
    with pytest.raises(ParameterError, match="at least 1 row"):
        dpsyn.NoisyReweighting(reduced_space="public", public=public.take(np.array([], dtype=int)))


@pytest.mark.parametrize("order", [("a", "b", "c"), ("c", "b", "a"), ("b", "c", "a")])
@pytest.mark.parametrize("present", ["a", "b", "c"])
def test_public_rows_are_those_of_their_values_in_whatever_order_their_table_lists_them(order, present):
    def domain(values):
        return dpsyn.Domain.of(
            [
                dpsyn.Attribute("x", "categorical", values, public=True),
                dpsyn.Attribute("y", "numeric", lower=0.0, upper=1.0, bins=2, public=True),
            ]
        )

    random = np.random.default_rng(0)
    public = Table(pd.DataFrame({"x": [present] * 40, "y": random.random(40)}), domain(order), "public")
    rows = Table(pd.DataFrame({"x": random.choice(list("abc"), 600), "y": random.random(600)}), domain(("a", "b", "c")))
    config = dpsyn.NoisyReweighting(reduced_space="public", public=public, histogram_share=0.0)
    mechanism = config.calibrate(dpsyn.PrivacySpec(1.0, 1e-6), rows.domain, rows.n)
    assert mechanism.plan.public.tolist() == public.with_domain(rows.domain).codes.tolist()
    assert set(mechanism(random, rows).rows["x"]) == {present}


def test_too_many_public_rows_are_refused_with_an_estimate():
    domain = categories(*[2, 3] * 20)
    codes = np.random.default_rng(0).integers(0, domain.shape, (3000, 40), dtype=np.int32)
    rows = domain.decode(codes, np.random.default_rng(0))
    public = Table(pd.concat([rows] * 80), domain, "public")
    config = dpsyn.NoisyReweighting(reduced_space="public", public=public)
    with pytest.raises(ParameterError, match=r"240,000 points in 780 tables .* GB"):
        config.calibrate(dpsyn.PrivacySpec(1.0), domain, n=10)
    fitting = replace(config, reduced_space_size=1000).calibrate(dpsyn.PrivacySpec(1.0), domain, n=10)
    assert fitting.reduced_space_size == 1000


def test_low_variance_rounding_is_closer_to_the_density_than_independent_draws():
    table = mixed_table(2000)
    errors = {}
    for rounding in ("low_variance", "independent"):
        config = dpsyn.NoisyReweighting(rounding=rounding)
        mechanism = config.calibrate(dpsyn.PrivacySpec(1.0, 1e-5), table.domain, n=table.n)
        release = mechanism(np.random.default_rng(5), table)
        made = release.diagnostics["fit"].encoding.codes(dpsyn.Table(release.rows, table.domain))
        shares = mechanism.statistics.sums(made) / 2000
        errors[rounding] = np.abs(shares - release.diagnostics["fitted_statistics"]).sum()
    assert errors["low_variance"] < 0.2 * errors["independent"]


def test_private_marginals_as_measure_make_the_reduced_space_fit_better():
    domain = Domain.of(Attribute(f"c{j}", "categorical", tuple("abcdefgh"), public=True) for j in range(6))
    codes = np.random.default_rng(1).geometric(0.6, (20_000, 6)).clip(1, 8).astype(np.int32) - 1
    table = Table(domain.decode(codes, np.random.default_rng(0)), domain)
    deviations = {}
    for space in ("uniform", "marginals"):
        config = dpsyn.NoisyReweighting(degree=2, reduced_space=space, reduced_space_size=400, objective="max")
        release = config.calibrate(dpsyn.PrivacySpec(10.0), domain, n=table.n)(np.random.default_rng(2), table)
        deviations[space] = release.diagnostics["largest_deviation_from_noisy_statistics"]
    assert deviations["marginals"] < 0.5 * deviations["uniform"]


def test_what_cannot_be_calibrated_says_why():
    with pytest.raises(CalibrationError, match="delta"):
        dpsyn.NoisyReweighting(noise="gaussian").calibrate(dpsyn.PrivacySpec(1.0), cube(4), n=10)
    wide = Domain.of([Attribute("c", "categorical", ("a", "b", "c"), public=True)])
    with pytest.raises(ParameterError, match="'c' has 3 values"):
        dpsyn.NoisyReweighting(statistics="walsh").calibrate(dpsyn.PrivacySpec(1.0), wide, n=10)
    with pytest.raises(ParameterError, match="too many"):
        dpsyn.NoisyReweighting(degree=3).calibrate(dpsyn.PrivacySpec(1.0), cube(300), n=10)
    with pytest.raises(ParameterError, match=r"GB and .* minutes"):
        dpsyn.NoisyReweighting(allocation="equal").calibrate(dpsyn.PrivacySpec(1.0), categories(*[4] * 300), n=10)
    with pytest.raises(DomainError, match="no column 'x'"):
        dpsyn.NoisyReweighting(tables=(("x",),)).calibrate(dpsyn.PrivacySpec(1.0), cube(3), n=10)
    with pytest.raises(ParameterError, match="whole"):
        dpsyn.NoisyReweighting(reduced_space="whole").calibrate(dpsyn.PrivacySpec(1.0), categories(*[9] * 9), n=10)


@pytest.mark.parametrize("sizes", [(1,), (2,), (1, 1), (1, 3, 1), (300, 2)])
@pytest.mark.parametrize("n", [1, 40])
def test_odd_domains_and_single_rows(sizes, n):
    domain = categories(*sizes)
    codes = np.random.default_rng(0).integers(0, sizes, (n, len(sizes)), dtype=np.int32)
    table = Table(domain.decode(codes, np.random.default_rng(0)), domain)
    for delta in (0.0, 1e-5):
        release = dpsyn.NoisyReweighting().calibrate(dpsyn.PrivacySpec(1.0, delta), domain, n=n)(
            np.random.default_rng(1), table
        )
        assert len(release.rows) == n
        domain.encode(release.rows)


def test_rows_can_be_drawn_again():
    table = mixed_table(500)
    mechanism = dpsyn.NoisyReweighting().calibrate(dpsyn.PrivacySpec(1.0), table.domain, n=table.n)
    release = mechanism(np.random.default_rng(0), table)
    again = mechanism.redraw(np.random.default_rng(1), release)
    assert len(again) == 500
    assert not again.equals(release.rows)
    table.domain.encode(again)


@pytest.mark.parametrize(("statistics", "degree"), [("conjunctions", 1), ("conjunctions", 2), ("contingency", 2)])
def test_a_column_of_one_category_hangs_on_no_other(statistics, degree):
    """Of conjunctions of one column its table with any other is known, and nothing that is measured holds both."""
    sizes = {"country": ("FR",), "town": tuple("abcd"), "sex": ("f", "m")}
    domain = Domain.of(Attribute(name, "categorical", values, public=True) for name, values in sizes.items())
    mechanism = dpsyn.NoisyReweighting(degree=degree, statistics=statistics).calibrate(dpsyn.PrivacySpec(1.0), domain, n=8)
    family = mechanism.statistics
    noisy = NoisySums(family, np.ones(family.count), np.ones(family.count), 8.0)
    assert noisy.pair(0, 1) is None
    assert noisy.pair(0, 2) is None
    assert (noisy.pair(1, 2) is None) == (degree == 1)
