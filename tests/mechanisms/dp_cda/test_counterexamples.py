"""The published accountant of DP-CDA, its correction, the z-score attack and Remark 2."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.stats import norm

from dpsyn.errors import CalibrationError, ParameterError
from dpsyn.mechanisms.dp_cda import counterexamples as dp_cda
from dpsyn.mechanisms.dp_cda import counterexamples as published_mixing
from tests.mechanisms.dp_cda.changes import add_remove_epsilon, replace_same_class_epsilon

DELTA = 1e-5
POPULATIONS = {"MNIST": (60_000, 6000, 6000), "digits": (1797, 179, 179), "adult_min": (32_561, 7841, 16_280)}
# An independent computation with sigma_y = sigma_x and orders from 3 on: dataset, epsilon, l, published sigma, and sigma by
# the corrected bound with rate l/N over N rows and with rate l/N_k over T_k rows.
REFERENCE = [
    ("MNIST", 10, 1, 0.72725, 0.96079, 1.07617),
    ("MNIST", 10, 4, 0.20912, 0.26592, 0.30736),
    ("MNIST", 10, 16, 0.063362, 0.075877, 0.093882),
    ("MNIST", 10, 64, 0.021687, 0.023596, 0.043947),
    ("MNIST", 10, 512, 0.0119048, 0.0119065, 0.0364053),
    ("MNIST", 20, 32, 0.032266, 0.039121, 0.049146),
    ("digits", 10, 1, 0.87470, 1.15628, 1.37738),
    ("digits", 10, 4, 0.27200, 0.33896, 0.44716),
    ("digits", 10, 64, 0.071526, 0.072099, 0.213282),
    ("digits", 20, 8, 0.13838, 0.17614, 0.23708),
    ("adult_min", 10, 8, 0.11940, 0.14698, 0.16992),
    ("adult_min", 20, 128, 0.012781, 0.013663, 0.029149),
]


@pytest.mark.parametrize("row", REFERENCE, ids=lambda row: f"{row[0]}-{row[1]}-l{row[2]}")
def test_noise_levels_match_the_reference(row):
    dataset, epsilon, order, published, whole, by_class = row
    n, size, rows = POPULATIONS[dataset]
    found = dp_cda.published_sigma(epsilon=epsilon, order_of_mixture=order, n=n, delta=DELTA)
    assert found == pytest.approx(published, rel=1e-3)
    assert dp_cda.published_epsilon(order_of_mixture=order, sigma=found, n=n, delta=DELTA) <= epsilon
    for sigma, population, count in ((whole, n, n), (by_class, size, rows)):
        low, high = (
            dp_cda.corrected_rdp_epsilon(
                order_of_mixture=order, sigma=sigma * f, population=population, rows=count, delta=DELTA, smallest_order=3
            )
            for f in (1.01, 0.99)
        )
        assert low < epsilon < high


def test_the_printed_factor_turns_negative_at_order_five():
    """B(3) = E[(P/Q - 1)^3] with the printed argument ⌈5/2⌉ = 3 is not the moment of an even power: it can be negative.

    The printed B(l) = Σ_i (-1)^i C(l,i) e^{(i-1)ε(i)} at l = 3 is -(e^{2ε(3)} - 3e^{ε(2)} + 2).
    """
    for unit in (0.01, 0.5, 3.0):
        third = sum((-1) ** i * math.comb(3, i) * math.exp(i * (i - 1) * unit) for i in range(4))
        assert third < 0
        sigma = 3 * math.sqrt(1 / unit) / 4  # of averages of four: 2·2² + 1 = 9
        found = dp_cda.printed_third_moment(order_of_mixture=4, sigma=sigma, clip_norm=2.0)
        assert found == pytest.approx(third, rel=1e-7)
    assert dp_cda.PUBLISHED_ORDERS == (3, 4)


@pytest.mark.parametrize("unit", [1e-4, 0.02, 0.7])
def test_moments_are_those_of_the_likelihood_ratio(unit):
    """B(m) = E_Q[(P/Q - 1)^m] for Gaussians with ε(α) = α·unit, that is a shift of √(2·unit)."""
    shift = math.sqrt(2 * unit)
    moments = published_mixing._log_moments(unit, 8)
    for m in (2, 4, 6, 8):
        exact, _ = quad(
            lambda x, m=m: norm.pdf(x) * np.expm1(shift * x - shift**2 / 2) ** m, -12, 12 + m * shift, limit=400, epsabs=0
        )
        assert moments(m) == pytest.approx(math.log(exact), rel=1e-7)


def test_moments_survive_cancellation():
    """For a tiny shift B(m) tends to (m-1)!!·(2·unit)^{m/2}, far below the terms of the sum."""
    unit = 1e-12
    moments = published_mixing._log_moments(unit, 40)
    double_factorial = math.prod(range(1, 40, 2))
    assert moments(40) == pytest.approx(math.log(double_factorial) + 20 * math.log(2 * unit), abs=1e-6)


def test_published_formula_by_hand_at_order_three():
    """p = 1/10, no label noise, ε(α) = 2α(c/(lσ))² with c = l = σ = 1: ε(2) = 4."""
    p = Fraction(1, 10)
    b2 = math.exp(4) - 1
    inner = 1 + float(p**2) * 3 * min(4 * b2, 2 * math.exp(4)) + 4 * float(p**3) * b2
    by_hand = 10 * math.log(inner) / 2 + math.log(1e5) / 2
    found = dp_cda.published_epsilon(order_of_mixture=1, sigma=1.0, n=10, delta=DELTA, label_sigma=math.inf)
    b4 = sum((-1) ** i * math.comb(4, i) * math.exp(2 * i * (i - 1)) for i in range(5))
    fourth = 1 + float(p**2) * 6 * 2 * math.exp(4) + 4 * (float(p**3) * 4 * b2 + float(p**4) * math.sqrt(b4 * b2))
    assert found == pytest.approx(min(by_hand, 10 * math.log(fourth) / 3 + math.log(1e5) / 3), rel=1e-12)


def test_the_misprint_understates_even_without_classes_and_label_noise():
    """One population, l = 1: the pair "all equal but one record" attains an ε above the printed claim."""
    n, sigma = 1797, 0.809
    claim = dp_cda.published_epsilon(order_of_mixture=1, sigma=sigma, n=n, delta=DELTA, label_sigma=math.inf)
    attained = add_remove_epsilon(
        order_of_mixture=1, sigma=sigma, clip_norm=1.0, class_size=n, rows=n, delta=DELTA, tolerance=1e-4
    )
    assert claim == pytest.approx(5.288, abs=2e-3)
    assert 5.899 < attained < 5.8994
    corrected = dp_cda.corrected_rdp_epsilon(
        order_of_mixture=1, sigma=sigma, population=n, rows=n, delta=DELTA, label_sigma=math.inf
    )
    assert corrected > attained


def test_what_the_example_attains_is_no_more_than_it_attains():
    """An accountant rounds up, and here is said "at least": a ten-thousandth less than on a grid ten times as fine."""
    shared = {"order_of_mixture": 1, "sigma": 0.809, "clip_norm": 1.0, "class_size": 1797, "rows": 1797, "delta": DELTA}
    finer = add_remove_epsilon(tolerance=1e-5, **shared)
    found = dp_cda.refuted_on_one_class()
    assert finer * (1 - 2e-4) < found["example_attained"] < finer * (1 - 1e-4)
    assert found["example_published"] == pytest.approx(5.28828, abs=1e-5)


@pytest.mark.parametrize(("order", "size", "sigma"), [(1, 179, 1.0), (8, 179, 0.3), (4, 6000, 0.4), (64, 6000, 0.05)])
def test_the_corrected_bound_is_never_below_the_exact_one(order, size, sigma):
    shared = {"order_of_mixture": order, "sigma": sigma, "rows": size, "delta": DELTA}
    corrected = dp_cda.corrected_rdp_epsilon(population=size, label_sigma=math.inf, **shared)
    exact = replace_same_class_epsilon(class_size=size, clip_norm=1.0, **shared)
    assert exact < corrected


def test_more_orders_only_tighten_and_label_noise_only_costs():
    shared = {"order_of_mixture": 4, "sigma": 1.0, "population": 6000, "rows": 6000, "delta": DELTA}
    wide, narrow = (dp_cda.corrected_rdp_epsilon(largest_order=order, **shared) for order in (256, 8))
    assert wide < narrow
    assert dp_cda.corrected_rdp_epsilon(label_sigma=math.inf, **shared) < wide


def test_extreme_noise():
    for sigma in (0.0, 1e-9):
        assert dp_cda.published_epsilon(order_of_mixture=4, sigma=sigma, n=60_000, delta=DELTA) == math.inf
        shared = {"order_of_mixture": 4, "sigma": sigma, "population": 6000, "rows": 6000, "delta": DELTA}
        assert dp_cda.corrected_rdp_epsilon(**shared) == math.inf
    assert 1e4 < dp_cda.published_epsilon(order_of_mixture=4, sigma=1e-3, n=60_000, delta=DELTA) < math.inf
    limit = math.log(1 / DELTA) / 3
    assert dp_cda.published_epsilon(order_of_mixture=4, sigma=1e4, n=60_000, delta=DELTA) == pytest.approx(limit, rel=1e-6)
    # What the message says ε stays above is below what can be reached; what it says to take can be.
    with pytest.raises(CalibrationError, match=r"stays above 3\.837 .* Take epsilon above 3\.838"):
        dp_cda.published_sigma(epsilon=3.8, order_of_mixture=4, n=60_000, delta=DELTA)
    assert dp_cda.published_sigma(epsilon=3.83775, order_of_mixture=4, n=60_000, delta=DELTA) > 0


def test_remark_2_is_the_wrong_way_round():
    """At σ = 0.05 and N = 60,000 the exact add/remove ε falls with l (164, 22, 3.75, 2.37 and 2.09 by a coarser grid)."""
    found = dp_cda.remark_2()
    assert tuple(found) == (8, 16, 32, 64, 512)
    assert list(found.values()) == pytest.approx([164, 22, 3.75, 2.37, 2.09], rel=0.01)
    assert list(found.values()) == sorted(found.values(), reverse=True)


def test_z_score_attack_on_digits():
    """At the noise that the paper would use for ε = 10 on the digits (l = 4, σ = 0.272) ε is at least 1795."""
    found = dp_cda.z_score_attack_epsilon(n=1797, features=64, order_of_mixture=4, sigma=0.272, delta=DELTA)
    assert 1795 <= found < 2000
    # Rows of the other classes alone are exactly Gaussian, 2·√(64/1796) apart: a weaker bound.
    from dpsyn.privacy.mixing.pld import gaussian_epsilon

    others = gaussian_epsilon(math.sqrt(9 * 179) * 2 * math.sqrt(64 / 1796) / 0.272, DELTA)
    assert 1780 < others < found


def test_z_score_attack_where_all_records_are_clipped():
    """64 features, 20 records: z-scores of norm 8/√19 and 8·√19, both clipped to 1; J is binomial with 10 trials of 1/5."""
    thresholds = np.linspace(-40, 10, 2001)

    def below(sign):
        """P(X < threshold): the sum of 20 rows has mean ∓(20 - J) and variance 20."""
        shares = (math.comb(10, j) * 0.2**j * 0.8 ** (10 - j) for j in range(11))
        return sum(share * norm.cdf((thresholds + sign * (20 - j)) / math.sqrt(20)) for j, share in enumerate(shares))

    refuted = np.log(np.maximum(below(1) - 1e-3, 1e-300) / below(-1)).max()
    found = dp_cda.z_score_attack_epsilon(n=20, features=64, order_of_mixture=2, sigma=1.0, delta=1e-3, classes=2)
    assert found == pytest.approx(refuted, rel=1e-4)
    assert found == pytest.approx(51.54, abs=0.01)


def test_z_score_attack_holds_in_a_simulation():
    """The two worst datasets are z-scored and mixed for real; the refuted ε is about what counting finds, and not more."""
    from scipy.stats import beta

    from dpsyn.mechanisms.feature_map import clip_to_ball
    from dpsyn.privacy.mixing.averaging import class_averages

    n, features, order, sigma, delta, classes = 40, 3, 2, 6.0, 0.05, 2
    claimed = dp_cda.z_score_attack_epsilon(
        n=n, features=features, order_of_mixture=order, sigma=sigma, delta=delta, classes=classes
    )
    random, runs, size = np.random.default_rng(4), 60_000, n // classes
    sums = []
    for odd in (1.0, -1.0):
        data = np.full((n, features), 7.0)
        data[0] += odd
        scaled, _ = clip_to_ball((data - data.mean(axis=0)) / data.std(axis=0), 1.0)
        projected = np.zeros(runs)
        for k in range(classes):
            members = scaled[k * size : (k + 1) * size].sum(axis=1, keepdims=True) / math.sqrt(features)
            averages = class_averages(members, order, size * runs, random)[:, 0]
            projected += averages.reshape(runs, size).sum(axis=1)
        sums.append(projected + sigma * math.sqrt(n) * random.normal(size=runs))
    low, high = sums
    bounds, estimates = [], []
    for threshold in np.quantile(low, np.linspace(0.1, 0.9, 17)):
        hits, false_hits = int((low < threshold).sum()), int((high < threshold).sum())
        estimates.append(math.log(max(hits / runs - delta, 1e-9) / (false_hits / runs)))
        certain = beta.ppf(1e-4, hits, runs - hits + 1) - delta
        bounds.append(math.log(max(certain, 1e-9) / beta.ppf(1 - 1e-4, false_hits + 1, runs - false_hits)))
    assert max(bounds) <= claimed
    assert claimed == pytest.approx(max(estimates), rel=0.1)


@pytest.mark.parametrize(
    ("field", "change"),
    [
        ("order_of_mixture", {"order_of_mixture": 0}),
        ("sigma", {"sigma": -0.1}),
        ("delta", {"delta": 0.0}),
        ("clip_norm", {"clip_norm": -1.0}),
        ("n", {"n": 3}),
        ("label_sigma", {"label_sigma": -1.0}),
        ("rows", {"rows": 0}),
    ],
)
def test_wrong_arguments_name_the_field(field, change):
    shared = {"order_of_mixture": 4, "sigma": 0.5, "n": 100, "delta": DELTA}
    with pytest.raises(ParameterError) as caught:
        dp_cda.published_epsilon(**(shared | change))
    assert caught.value.field == field


def test_wrong_arguments_of_the_others():
    for change in ({"features": 0}, {"classes": 0}, {"n": 30}):
        arguments = {"n": 100, "features": 3, "order_of_mixture": 4, "sigma": 0.5, "delta": DELTA} | change
        with pytest.raises(ParameterError):
            dp_cda.z_score_attack_epsilon(**arguments)
    with pytest.raises(ParameterError, match="smallest_order"):
        dp_cda.corrected_rdp_epsilon(order_of_mixture=4, sigma=0.5, population=100, rows=10, delta=DELTA, smallest_order=1)


def test_the_digits_attack_refutes_the_claim() -> None:
    found = dp_cda.published_attack(n=1797, features=64, classes=10, order_of_mixture=4, epsilon=10.0, delta=1e-5)
    assert found is not None
    assert found[0] == pytest.approx(0.272, abs=5e-4)
    assert found[1] >= 1795
    # Of 1802 digits ten classes of 180 are mixed, and so many rows are made.
    more = dp_cda.published_attack(n=1802, features=64, classes=10, order_of_mixture=4, epsilon=10.0, delta=1e-5)
    assert more is not None
    least, most = (
        dp_cda.published_epsilon(order_of_mixture=4, sigma=more[0] * by, n=1802, rows=1800, delta=1e-5)
        for by in (1 + 1e-6, 1 - 1e-6)
    )
    assert least < 10 < most


def test_a_claim_that_cannot_be_made_is_not_attacked() -> None:
    assert dp_cda.published_attack(n=1797, features=64, classes=10, order_of_mixture=4, epsilon=1.0, delta=1e-5) is None
