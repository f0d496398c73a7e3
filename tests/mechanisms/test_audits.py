"""The mechanisms under audit: never above their claim, and caught when their noise is halved."""

from __future__ import annotations

import math
from collections import Counter

import numpy as np
import pytest

import dpsyn
from dpsyn.domain import Attribute, Domain
from dpsyn.errors import ParameterError
from dpsyn.mechanisms import audit as audits
from dpsyn.mechanisms.audit import CALIBRATED, audit_answers, audit_points, small_tables, trials
from dpsyn.mechanisms.dp_cda import PublishedDPCDA
from dpsyn.mechanisms.dp_cda.audit import _Class, audit_dp_cda, audit_published_dp_cda
from dpsyn.mechanisms.dp_gan.audit import audit_dp_gan
from dpsyn.mechanisms.noisy_reweighting import Part
from dpsyn.mechanisms.noisy_reweighting import audit as audits_of_reweighting
from dpsyn.mechanisms.noisy_reweighting.audit import audit_noisy_reweighting, laplace_profile, worst_rows
from dpsyn.mechanisms.noisy_reweighting.user_functions import FunctionFamily
from dpsyn.mechanisms.points import OnPoints
from dpsyn.mechanisms.private_sampling.audit import audit_private_sampling
from dpsyn.mechanisms.registry import MECHANISMS
from dpsyn.privacy import audit as privacy_audit
from dpsyn.privacy import sensitivity
from dpsyn.privacy.audit import SHARES, log_ratio
from dpsyn.privacy.discrete_gaussian import continuous_delta
from dpsyn.solvers.coded import CodedRows
from tests.conftest import categories, cube

RUNS = 4_000


def reweighting(domain: Domain, noise: str, epsilon: float = 1.0):
    config = dpsyn.NoisyReweighting(degree=2, noise=noise)
    return config.calibrate(dpsyn.PrivacySpec(epsilon, 1e-5 if noise == "gaussian" else 0.0), domain, n=50)


@pytest.mark.parametrize("noise", ["laplace", "gaussian"])
@pytest.mark.parametrize("domain", [cube(2), cube(4), categories(3, 2, 4)], ids=["2 bits", "4 bits", "categories"])
def test_noisy_statistics_stay_below_their_claims(domain, noise):
    found = audit_noisy_reweighting(
        reweighting(domain, noise), runs=RUNS, confidence=0.9999, generator=np.random.default_rng(1)
    )
    assert not found.refuted
    assert found.epsilon <= 1
    assert found.delta == (1e-5 if noise == "gaussian" else 0.0)
    assert found.sharpest is not None


def test_the_profile_of_laplace_noise_by_hand_and_by_convolution():
    # One coordinate moved by 1: losses ±1/base, so δ(ε') = P(y ≤ 0)·(1 - e^{ε' - 1/base}).
    base = 2.0
    at_most_0 = 1 / (1 + math.exp(-1 / base))
    (claim,) = laplace_profile([Part("one", 1, 1)], base, [0.2])
    assert claim == (0.2, pytest.approx(at_most_0 * -math.expm1(0.2 - 1 / base)))
    # Two parts of different weights, against all pairs of outputs.
    parts = [Part("a", 3, 2, 1, 2), Part("b", 1, 1, 2, 1)]
    z = np.arange(-60, 61)

    def law(weight, step):
        mass = np.exp(-np.abs(z) * weight / base)
        return mass / mass.sum(), (np.abs(z - step) - np.abs(z)) * weight / base

    (p, a), (q, b) = law(2, 1), law(1, 2)
    losses = a[:, None, None] + a[None, :, None] + b[None, None, :]
    masses = p[:, None, None] * p[None, :, None] * q[None, None, :]
    for epsilon in (0.0, 0.5, 1.7):
        exact = float((masses * -np.expm1(np.minimum(epsilon - losses, 0))).sum())
        (claim,) = laplace_profile(parts, base, [epsilon])
        assert claim[1] == pytest.approx(exact, abs=1e-9)


def test_of_pure_epsilon_most_is_found():
    found = audit_noisy_reweighting(reweighting(cube(2), "laplace"), generator=np.random.default_rng(1))
    assert 0.85 < found.epsilon <= 1


@pytest.mark.parametrize("noise", ["laplace", "gaussian"])
@pytest.mark.parametrize("domain", [cube(2), cube(8), categories(3, 2, 4)], ids=["2 bits", "8 bits", "categories"])
def test_halved_noise_is_caught(domain, noise):
    found = audit_noisy_reweighting(
        reweighting(domain, noise), runs=20_000, noise_factor=0.5, generator=np.random.default_rng(1)
    )
    assert found.refuted
    assert "refutes" in str(found)


def test_the_exact_samplers_can_be_audited():
    # Nothing here is seeded: at this confidence a sound mechanism is refuted, or nothing certified, once in a million runs.
    found = audit_noisy_reweighting(reweighting(cube(2), "laplace"), runs=4000, confidence=1 - 1e-6)
    assert found.epsilon > 0
    assert not found.refuted


@pytest.mark.parametrize("noise", ["laplace", "gaussian"])
@pytest.mark.parametrize(
    "settings",
    [
        {"reduced_space": "marginals", "marginal_share": 0.4, "reduced_space_size": 50},
        {"tables": (("c0", "c1"), ("c2",))},
        {"statistics": "conjunctions"},
        {"family": FunctionFamily([lambda codes: codes[:, 0] > 1, lambda codes: codes[:, 1] / 2], (3, 2, 4))},
    ],
    ids=["marginals", "chosen tables", "conjunctions", "own functions"],
)
@pytest.mark.parametrize("neighbouring", ["replace_one", "add_remove"])
def test_every_part_of_the_ledger_is_audited(neighbouring, settings, noise):
    spec = dpsyn.PrivacySpec(1.0, 1e-5 if noise == "gaussian" else 0.0, neighbouring=neighbouring)
    config = dpsyn.NoisyReweighting(degree=2, noise=noise, **settings)
    mechanism = config.calibrate(spec, categories(3, 2, 4), n=50)
    sound = audit_noisy_reweighting(mechanism, runs=RUNS, confidence=0.9999, generator=np.random.default_rng(1))
    assert not sound.refuted
    faulty = audit_noisy_reweighting(mechanism, runs=20_000, noise_factor=0.4, generator=np.random.default_rng(1))
    assert faulty.refuted


def test_the_published_noise_is_private_but_its_floating_point_numbers_are_not():
    config = dpsyn.NoisyReweighting.as_published(degree=1)
    mechanism = config.calibrate(dpsyn.PrivacySpec(1.0), cube(1), n=1)
    numbers = audit_noisy_reweighting(mechanism, generator=np.random.default_rng(1))
    assert not numbers.refuted
    bits = audit_noisy_reweighting(mechanism, keep_bits=True, generator=np.random.default_rng(1))
    assert bits.refuted


@pytest.mark.parametrize("degree", [1, 2, 3])
def test_the_worst_rows_attain_the_sensitivity(degree):
    config = dpsyn.NoisyReweighting(degree=degree, allocation="equal")
    mechanism = config.calibrate(dpsyn.PrivacySpec(1.0), cube(6), n=10)
    one, other = worst_rows(mechanism)
    moved = np.abs(mechanism.statistics.sums(one) - mechanism.statistics.sums(other)).sum()
    assert moved == sensitivity.walsh_sum_l1(6, degree)
    tables = dpsyn.NoisyReweighting(degree=degree).calibrate(dpsyn.PrivacySpec(1.0), categories(3, 2, 4, 5), n=10)
    one, other = worst_rows(tables)
    assert np.abs(tables.statistics.sums(one) - tables.statistics.sums(other)).sum() == sensitivity.contingency_count_l1(
        4, degree
    )


def mixing(order: int = 2, sizes: object = 20, rows: int = 20, epsilon: float = 2.0, **settings):
    domain = Domain.of(
        [
            Attribute("x", "numeric", lower=0.0, upper=1.0, public=True),
            Attribute("class", "truth", ("no", "yes"), public=True),
        ]
    )
    config = dpsyn.DPCDA(target="class", order_of_mixture=order, rows=rows, class_sizes=sizes, **settings)
    return config.calibrate(dpsyn.PrivacySpec(epsilon, 1e-5), domain, n=100)


@pytest.mark.parametrize("pair", ["same_class", "label_change"])
@pytest.mark.parametrize("variant", ["fixed_size", "poisson"])
@pytest.mark.parametrize("order", [1, 4, 20])
def test_mixed_rows_stay_below_their_claims(order, variant, pair):
    mechanism = mixing(order, {"no": 20, "yes": 50}, variant=variant, epsilon=5.0)
    found = audit_dp_cda(mechanism, pair=pair, runs=RUNS, confidence=0.9999, generator=np.random.default_rng(1))
    assert 0 < found.epsilon <= 5
    assert not found.refuted


@pytest.mark.parametrize("pair", ["same_class", "label_change"])
@pytest.mark.parametrize("variant", ["fixed_size", "poisson"])
def test_mixed_rows_with_halved_noise_are_caught(variant, pair):
    mechanism = mixing(4, 50, rows=40, epsilon=5.0, variant=variant)
    found = audit_dp_cda(mechanism, pair=pair, runs=6_000, noise_factor=0.5, generator=np.random.default_rng(1))
    assert found.refuted


def test_the_same_generator_finds_the_same():
    found = [audit_dp_cda(mixing(), runs=2_000, generator=np.random.default_rng(1)) for _ in range(2)]
    assert (found[0].epsilon, found[0].hits, found[0].misses) == (found[1].epsilon, found[1].hits, found[1].misses)


def published(columns: int, epsilon: float = 5.0):
    numbers = [Attribute(f"x{j}", "numeric", lower=0.0, upper=1.0, public=True) for j in range(columns)]
    domain = Domain.of([*numbers, Attribute("class", "truth", ("no", "yes"), public=True)])
    config = PublishedDPCDA(target="class", order_of_mixture=4, rows=100)
    return config.calibrate(dpsyn.PrivacySpec(epsilon, 1e-5), domain, n=200)


def test_the_z_score_breaks_the_algorithm_as_published():
    found = audit_published_dp_cda(published(16), runs=2_000, generator=np.random.default_rng(1))
    assert found.refuted
    # Nothing is left of privacy: every run tells the two datasets apart.
    assert found.epsilon == found.largest > 5
    assert (found.hits, found.misses) == (1000, 0)


def test_ours_at_the_same_numbers_is_not_broken():
    numbers = [Attribute(f"x{j}", "numeric", lower=0.0, upper=1.0, public=True) for j in range(16)]
    domain = Domain.of([*numbers, Attribute("class", "truth", ("no", "yes"), public=True)])
    config = dpsyn.DPCDA(target="class", order_of_mixture=4, rows=100, class_sizes=100)
    mechanism = config.calibrate(dpsyn.PrivacySpec(5.0, 1e-5), domain, n=200)
    found = audit_dp_cda(mechanism, runs=RUNS, confidence=0.9999, generator=np.random.default_rng(1))
    assert not found.refuted


@pytest.mark.parametrize("delta", [0.0, 1e-5])
def test_a_budget_so_large_that_other_claims_of_it_say_nothing_is_audited(delta):
    mechanism = dpsyn.NoisyReweighting().calibrate(dpsyn.PrivacySpec(300.0, delta), cube(2), n=2)
    assert not audit_noisy_reweighting(mechanism, runs=2_000, generator=np.random.default_rng(1)).refuted


@pytest.mark.parametrize(("sizes", "part"), [((3,) * 26, "scores of 325 pairs"), ((70,) * 6 + (10,) * 2, "merged")])
def test_noise_that_hangs_on_earlier_noise_is_not_said_to_be_audited(sizes, part):
    named = [Attribute(f"c{j}", "categorical", tuple(range(size)), public=True) for j, size in enumerate(sizes)]
    domain = Domain.of(named)
    mechanism = dpsyn.NoisyReweighting().calibrate(dpsyn.PrivacySpec(4.0), domain, 1000)
    with pytest.raises(ParameterError, match=part) as caught:
        audit_noisy_reweighting(mechanism, noise_factor=0.1)
    assert caught.value.field == "mechanism"


SPEC = dpsyn.PrivacySpec(2.0, 1e-5)


@pytest.mark.parametrize(
    ("field", "call"),
    [
        ("mechanism", lambda: audit_dp_gan(mixing())),
        ("noise_factor", lambda: audit_dp_gan(dpsyn.DPGAN(steps=2).calibrate(SPEC, cube(1), n=9), noise_factor="1")),
        ("spec", lambda: audit_private_sampling(1.0)),
        ("noise_factor", lambda: audit_private_sampling(SPEC, noise_factor=0.0)),
        ("config", lambda: audit_answers("mst", SPEC)),
        ("spec", lambda: audit_answers(dpsyn.MST(), None)),
        ("columns", lambda: audit_answers(dpsyn.MST(), SPEC, columns=2.5)),
        ("rows", lambda: audit_answers(dpsyn.MST(), SPEC, rows=0)),
        ("noise_factor", lambda: audit_answers(dpsyn.MST(), SPEC, noise_factor=np.nan)),
        ("config", lambda: audit_points(dpsyn.MST(), SPEC)),
        ("n", lambda: audit_points(dpsyn.LocalPerturbation(), SPEC, n=None)),
        ("picked", lambda: audit_points(dpsyn.LocalPerturbation(), SPEC, picked=2)),
        ("noise_factor", lambda: audit_points(dpsyn.LocalPerturbation(), SPEC, noise_factor=-1)),
    ],
)
def test_wrong_arguments_are_refused_by_name(field, call):
    with pytest.raises(ParameterError) as caught:
        call()
    assert caught.value.field == field


def test_wrong_input_names_the_field():
    with pytest.raises(ParameterError) as caught:
        audit_noisy_reweighting(reweighting(cube(2), "laplace"), noise_factor=0.0)
    assert caught.value.field == "noise_factor"
    with pytest.raises(ParameterError) as caught:
        audit_dp_cda(mixing(), noise_factor=0.0)
    assert caught.value.field == "noise_factor"
    with pytest.raises(ParameterError) as caught:
        audit_dp_cda(mixing(), pair="other")
    assert caught.value.field == "pair"
    domain = mixing().domain
    estimated = dpsyn.DPCDA(target="class", rows=4).calibrate(dpsyn.PrivacySpec(20.0, 1e-5), domain, n=100)
    with pytest.raises(ParameterError) as caught:
        audit_dp_cda(estimated)
    assert caught.value.field == "class_sizes"


@pytest.mark.parametrize("neighbouring", ["replace_one", "add_remove"])
@pytest.mark.parametrize("name", sorted(MECHANISMS))
def test_a_profile_comes_to_the_claim_where_it_meets_it(name, neighbouring, monkeypatch):
    """At the claim's own ε, and at the least δ above its own, what is claimed besides is the claim: nothing is left out."""
    monkeypatch.setattr(audits, "SHARES", (1.0,))
    monkeypatch.setattr(audits_of_reweighting, "SHARES", (1.0,))
    monkeypatch.setattr(privacy_audit, "_DELTAS", (1.0001e-5,))
    spec = dpsyn.PrivacySpec(3.0, 1e-5, neighbouring)
    found = trials(name, spec)[CALIBRATED](runs=10, generator=np.random.default_rng(0))
    assert len(found.profile) == (found.delta > 0)
    for claimed, delta in found.profile:
        assert claimed == pytest.approx(found.claim, rel=1e-3)
        assert delta == pytest.approx(found.delta, rel=2e-2)


def is_one_row_apart(first, second, neighbouring):
    one, other = (Counter(map(tuple, table.frame.to_numpy().tolist())) for table in (first, second))
    moved = sorted([(one - other).total(), (other - one).total()])
    return moved == ([1, 1] if neighbouring == "replace_one" else [0, 1])


@pytest.mark.parametrize("neighbouring", ["replace_one", "add_remove"])
def test_the_two_tables_of_an_audit_are_neighbours(neighbouring, monkeypatch):
    spec, tables = dpsyn.PrivacySpec(1.0, 1e-5, neighbouring), []
    for columns, rows in ((1, 1), (2, 2), (3, 7)):
        assert is_one_row_apart(*small_tables(columns, rows, spec), neighbouring)
    run = OnPoints._run
    monkeypatch.setattr(
        OnPoints, "_run", lambda self, noise, table, told: tables.append(table) or run(self, noise, table, told)
    )
    for n in (1, 2, 9):
        audit_points(dpsyn.LocalPerturbation(rows=1), spec, n=n, runs=10, generator=np.random.default_rng(0))
        assert is_one_row_apart(tables[0], tables[-1], neighbouring)
        assert tables[-1].n == n  # what it is calibrated to
        tables.clear()


@pytest.mark.parametrize("factor", [0.01, 0.5, 3.0])
@pytest.mark.parametrize(("n", "picked"), [(1, 1), (5, 1), (5, 2)])
@pytest.mark.parametrize("neighbouring", ["replace_one", "add_remove"])
def test_points_with_a_part_of_the_noise_are_scored_by_it_and_judged_by_all_of_it(
    neighbouring, n, picked, factor, monkeypatch
):
    config, spec = dpsyn.LocalPerturbation(rows=1), dpsyn.PrivacySpec(2.0, 1e-5, neighbouring)
    numbers = Domain.of([Attribute("x", "numeric", lower=-1.0, upper=1.0, public=True)])
    mechanism, asked = config.calibrate(spec, numbers, n), []
    monkeypatch.setattr(audits, "log_ratio_if_picked", lambda values, *how: asked.append((values, *how)) or values)
    monkeypatch.setattr(audits, "audit", lambda *runs, **how: (runs, how))
    runs, how = audit_points(config, spec, n=n, picked=picked, noise_factor=factor)
    for run in runs:
        run(100, np.random.default_rng(0))
    scale, more = mechanism.noise_scale * factor, neighbouring == "add_remove"
    for _, shift, rate, noise_scale in asked:
        assert (shift, rate, noise_scale) == (mechanism.sensitivity, picked / (n + more), scale)
    # The second table has no record at the other end: its points are noise alone.
    assert asked[1][0].std() == pytest.approx(scale, rel=0.3)
    assert asked[1][0].mean() == pytest.approx(0.0, abs=scale / 2)
    assert factor > 0.01 or asked[0][0].mean() > scale
    claims = [
        (share * 2.0, continuous_delta(mechanism.sensitivity / mechanism.noise_scale, share * 2.0)) for share in SHARES
    ]
    assert (how["profile"], how["claim"], how["delta"]) == (claims, 2.0, 1e-5)


@pytest.mark.parametrize("kind", ["laplace", "gaussian"])
def test_the_score_of_noisy_sums_is_the_logarithm_of_the_ratio_of_their_densities(kind):
    first, second, scales = np.array([3, 10]), np.array([4, 7]), np.array([1.5, 4.0])
    outputs = np.array([[3.0, 9.0], [-2.0, 20.0]])

    def log_density(centre):
        apart = np.abs(outputs - centre) / scales
        return -(apart**2 / 2 if kind == "gaussian" else apart).sum(axis=1)

    assert log_ratio(kind, outputs, first, second, scales) == pytest.approx(log_density(first) - log_density(second))


@pytest.mark.parametrize("noise", ["laplace", "gaussian"])
@pytest.mark.parametrize("p", [7, 10])
def test_no_pair_of_rows_is_further_apart_than_the_worst_rows(noise, p):
    mechanism = reweighting(cube(p), noise)
    power = 2 if noise == "gaussian" else 1

    def apart(*rows):
        one, other = (mechanism.exact(CodedRows(codes, mechanism.domain.shape)) for codes in rows)
        return ((np.abs(one - other) / mechanism.scales) ** power).sum()

    # Of Walsh functions only the number of coordinates that change counts.
    pairs = [(np.zeros((1, p), np.int32), (np.arange(p) < s)[None].astype(np.int32)) for s in range(1, p + 1)]
    assert apart(*worst_rows(mechanism)) == pytest.approx(max(apart(*pair) for pair in pairs), rel=1e-12)
    if noise == "laplace":
        assert apart(*worst_rows(mechanism)) == pytest.approx(mechanism.guarantee.epsilon, rel=1e-9)


@pytest.mark.parametrize("places", [(1.0, -1.0), (1.0, None), (None, 1.0)])
def test_the_score_of_noisy_averages_is_the_logarithm_of_the_ratio_of_their_densities(places):
    rate, base, order, sigma = 0.3, -1.0, 4, 0.5
    averages = np.array([[-1.2, 0.4], [0.0, -0.9]])

    def density(place):
        at = [
            np.exp(-((averages - centre) ** 2) / (2 * sigma**2))
            for centre in (base, base + ((place or base) - base) / order)
        ]
        return (at[0] if place is None else (1 - rate) * at[0] + rate * at[1]).prod(axis=1)

    one = _Class((np.zeros((0, 1)), np.zeros((0, 1))), places, base, 2, rate)
    expected = np.log(density(places[0]) / density(places[1]))
    assert one.log_ratio(averages, order, sigma) == pytest.approx(expected)
