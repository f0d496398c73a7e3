"""The exact accounting of DP-CDA: reference values, closed forms, another implementation, monotonicity, and an attack."""

from __future__ import annotations

import math
from itertools import permutations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import beta, norm

from dpsyn.errors import CalibrationError, ParameterError
from dpsyn.privacy.mixing import exact as mixing
from dpsyn.privacy.mixing import pld
from dpsyn.privacy.mixing.averaging import class_averages
from tests.mechanisms.dp_cda import changes

# An independent computation at delta = 1e-5 and c = 1: dataset, epsilon, l, the published sigma, sigma by exact add/remove,
# same-class and label-change accounting, and the three true epsilons at the published sigma.
REFERENCE = [
    ("MNIST", 10, 1, 0.72725, 0.64652, 0.64892, 0.64898, 6.5769, 6.6512, 6.6533),
    ("MNIST", 10, 2, 0.3881, 0.35082, 0.35302, 0.35309, 6.8496, 7.0007, 7.0047),
    ("MNIST", 10, 4, 0.20912, 0.19255, 0.19462, 0.19465, 7.2528, 7.5556, 7.5632),
    ("MNIST", 10, 8, 0.11419, 0.10732, 0.10933, 0.10939, 7.8302, 8.4272, 8.4468),
    ("MNIST", 10, 16, 0.063362, 0.061226, 0.063223, 0.063343, 8.7626, 9.9168, 9.9821),
    ("MNIST", 10, 32, 0.03611, 0.036287, 0.038457, 0.03874, 10.165, 12.279, 12.497),
    ("MNIST", 10, 64, 0.021687, 0.02308, 0.025553, 0.026341, 11.875, 15.26, 15.938),
    ("MNIST", 10, 128, 0.014558, 0.016668, 0.019087, 0.020889, 13.066, 17.141, 18.93),
    ("MNIST", 10, 256, 0.013114, 0.014083, 0.015898, 0.018966, 11.087, 13.529, 16.747),
    ("MNIST", 10, 512, 0.011905, 0.013245, 0.014328, 0.018429, 11.482, 12.947, 17.624),
    ("adult_bal", 10, 4, 0.21698, 0.17979, 0.18135, 0.18138, 4.6892, 4.8277, 4.8362),
    ("adult_bal", 10, 64, 0.024194, 0.019086, 0.020633, 0.020866, 4.881, 6.4292, 6.7863),
    ("adult_bal", 20, 4, 0.20219, 0.15164, 0.15312, 0.15313, 6.2154, 6.4169, 6.425),
    ("adult_bal", 20, 64, 0.020092, 0.015821, 0.016785, 0.016854, 8.4127, 10.852, 11.177),
    ("adult_min", 10, 4, 0.21698, 0.19888, 0.20189, 0.20197, 6.9375, 7.3807, 7.3966),
    ("adult_min", 10, 64, 0.024194, 0.02549, 0.02897, 0.030308, 11.38, 15.329, 16.289),
    ("adult_min", 20, 4, 0.20219, 0.16872, 0.17134, 0.17133, 9.3269, 9.9308, 9.9454),
    ("adult_min", 20, 64, 0.020092, 0.019889, 0.021935, 0.022322, 19.363, 25.944, 26.907),
    ("digits", 10, 1, 0.8747, 0.81675, 0.82285, 0.82317, 8.143, 8.3284, 8.3395),
    ("digits", 10, 2, 0.4821, 0.46395, 0.47022, 0.47083, 8.9278, 9.2929, 9.3305),
    ("digits", 10, 4, 0.272, 0.27213, 0.27871, 0.28004, 10.007, 10.696, 10.823),
    ("digits", 10, 8, 0.15916, 0.1682, 0.17543, 0.17847, 11.481, 12.68, 13.089),
    ("digits", 10, 16, 0.099545, 0.11386, 0.12158, 0.12924, 13.179, 14.957, 16.164),
    ("digits", 10, 32, 0.077163, 0.088578, 0.095235, 0.11089, 12.427, 14.021, 16.791),
    ("digits", 10, 64, 0.071526, 0.078791, 0.082592, 0.10623, 11.371, 12.186, 16.6),
    ("digits", 10, 128, 0.068569, 0.075454, 0.076471, 0.10562, 11.27, 11.48, 17.244),
    ("digits", 20, 1, 0.81383, 0.64407, 0.64871, 0.64888, 10.107, 10.333, 10.344),
    ("digits", 20, 2, 0.44225, 0.36552, 0.37003, 0.37032, 11.51, 11.961, 12.0),
    ("digits", 20, 4, 0.24427, 0.21259, 0.21706, 0.2176, 13.54, 14.413, 14.542),
    ("digits", 20, 8, 0.13838, 0.12839, 0.13291, 0.13402, 16.437, 18.032, 18.455),
    ("digits", 20, 16, 0.081733, 0.082415, 0.08703, 0.089646, 20.375, 23.003, 24.322),
    ("digits", 20, 32, 0.052612, 0.058593, 0.062911, 0.069002, 24.475, 27.942, 31.656),
    ("digits", 20, 64, 0.04481, 0.047931, 0.050896, 0.062246, 22.13, 24.346, 31.763),
    ("digits", 20, 128, 0.040058, 0.044109, 0.045009, 0.061205, 22.789, 23.484, 35.495),
]
SHAPES = {  # class sizes that are accounted for, rows of each class
    "MNIST": ((6000, 6000), 6000),
    "digits": ((179, 179), 179),
    "adult_bal": ((16280, 16280), 16280),
    "adult_min": ((7841, 7841), 16280),
}
DELTA = 1e-5


def three_epsilons(dataset: str, order: int, sigma: float) -> tuple[float, float, float]:
    sizes, rows = SHAPES[dataset]
    shared = {"order_of_mixture": order, "sigma": sigma, "clip_norm": 1.0, "rows": rows, "delta": DELTA, "tolerance": 3e-3}
    return (
        changes.add_remove_epsilon(class_size=sizes[0], **shared),
        changes.replace_same_class_epsilon(class_size=sizes[0], **shared),
        changes.replace_one_epsilon(class_sizes=sizes, **shared),
    )


@pytest.mark.parametrize("row", REFERENCE, ids=lambda row: f"{row[0]}-{row[1]}-l{row[2]}")
def test_true_epsilon_at_the_published_sigma_matches_the_reference(row):
    assert three_epsilons(row[0], row[2], row[3]) == pytest.approx(row[7:], rel=0.01)


@pytest.mark.parametrize("row", REFERENCE, ids=lambda row: f"{row[0]}-{row[1]}-l{row[2]}")
def test_the_reference_sigma_is_the_smallest_within_one_per_cent(row):
    sizes, rows = SHAPES[row[0]]
    shared = {"order_of_mixture": row[2], "clip_norm": 1.0, "rows": rows, "delta": DELTA, "tolerance": 3e-3}
    for sigma, epsilon in (
        (row[4], lambda s: changes.add_remove_epsilon(class_size=sizes[0], sigma=s, **shared)),
        (row[5], lambda s: changes.replace_same_class_epsilon(class_size=sizes[0], sigma=s, **shared)),
        (row[6], lambda s: changes.replace_one_epsilon(class_sizes=sizes, sigma=s, **shared)),
    ):
        assert epsilon(1.01 * sigma) < row[1] < epsilon(0.99 * sigma)


@pytest.mark.parametrize(("dataset", "order"), [("digits", 4), ("digits", 32), ("MNIST", 512), ("adult_min", 64)])
def test_calibration_finds_the_reference_sigma_and_meets_the_target(dataset, order):
    row = next(r for r in REFERENCE if (r[0], r[2], r[1]) == (dataset, order, 10))
    sizes, rows = SHAPES[dataset]
    shared = {"order_of_mixture": order, "clip_norm": 1.0, "rows": rows, "delta": DELTA}
    full = mixing.calibrate_sigma(epsilon=10, class_sizes=sizes, **shared)
    neighbour = mixing.calibrate_sigma(epsilon=10, class_sizes=sizes, neighbouring="add_remove", **shared)
    same_class = mixing.calibrate_sigma(epsilon=10, class_sizes=sizes[:1], **shared)
    assert (neighbour, same_class, full) == pytest.approx(row[4:7], rel=0.01)
    for sigma, tolerance in ((full, 3e-4), (full * (1 - 1e-3), 1e-3)):
        found = changes.replace_one_epsilon(class_sizes=sizes, sigma=sigma, tolerance=tolerance, **shared)
        assert (found <= 10 * (1 + 1e-12)) == (sigma == full)


def test_one_row_has_a_closed_form():
    """δ(ε) of (1-p)Q + pP against Q is p·δ_Gauss(ln(1 + (e^ε - 1)/p)): exact for T = 1."""
    rate, shift, delta = 0.2, 1.7, 1e-3

    def excess(epsilon: float) -> float:
        inner = math.log1p(math.expm1(epsilon) / rate)
        hockey = norm.cdf(shift / 2 - inner / shift) - math.exp(inner) * norm.cdf(-shift / 2 - inner / shift)
        return rate * hockey - delta

    from scipy.optimize import brentq

    exact = brentq(excess, 0, 20)
    found = changes.add_remove_epsilon(
        order_of_mixture=2, sigma=1 / shift, clip_norm=1.0, class_size=10, rows=1, delta=delta, tolerance=1e-5
    )
    assert exact <= found <= exact * 1.001


def test_without_sampling_it_is_the_gaussian_mechanism():
    shared = {"order_of_mixture": 7, "sigma": 0.5, "clip_norm": 2.0, "class_size": 7, "rows": 9, "delta": 1e-6}
    exact = pld.gaussian_epsilon(math.sqrt(9) * (4 / 7) / 0.5, 1e-6)
    assert changes.add_remove_epsilon(**shared) == pytest.approx(exact, rel=1e-9)
    assert changes.replace_same_class_epsilon(**shared) == pytest.approx(exact, rel=1e-9)


@pytest.mark.parametrize(("shift", "delta", "epsilon"), [(1.0, 1e-5, 4.37717), (1e-3, 1e-5, 0.0019387), (0.1, 0.5, 0.0)])
def test_gaussian_epsilon(shift, delta, epsilon):
    """Against Balle and Wang's formula, evaluated directly."""
    found = pld.gaussian_epsilon(shift, delta)
    assert found == pytest.approx(epsilon, rel=2e-4)
    if found:
        back = norm.cdf(shift / 2 - found / shift) - math.exp(found) * norm.cdf(-shift / 2 - found / shift)
        assert back == pytest.approx(delta, rel=1e-5)


@pytest.mark.parametrize(("rate", "multiplier", "rows"), [(0.02, 0.6, 179), (0.3, 3.0, 50), (5e-3, 0.7, 300)])
def test_both_directions_agree_with_another_discretisation(rate, multiplier, rows):
    """dp_accounting's own Poisson-subsampled Gaussian (slow and fine) has the same remove and add distributions."""
    from dp_accounting.pld.privacy_loss_distribution import from_gaussian_mechanism

    theirs = from_gaussian_mechanism(multiplier, sampling_prob=rate, value_discretization_interval=5e-4).self_compose(rows)
    ours = [pld.composed_epsilon([(pair, rate, rows)], multiplier, DELTA, 1e-4) for pair in ("remove", "add")]
    assert max(ours) == pytest.approx(theirs.get_epsilon_for_delta(DELTA), rel=5e-3)
    assert ours[1] == pytest.approx(theirs._pmf_add.get_epsilon_for_delta(DELTA), rel=5e-3)


@pytest.mark.parametrize("pair", ["remove", "add", "replace", "swap"])
@pytest.mark.parametrize(("rate", "shift", "step"), [(0.1, 2.0, 0.05), (0.5, 0.3, 0.02), (0.01, 6.0, 0.5), (1.0, 1.0, 0.1)])
def test_the_discretised_distribution_never_understates(pair, rate, shift, step):
    """δ(ε) of the grid is at least the true one everywhere and equal to it at grid points."""

    def true_delta(epsilon: np.ndarray) -> np.ndarray:
        x = np.linspace(-40, 40 + shift, 400_001)
        q = norm.pdf(x)
        a, b = (1 - rate) * q + rate * norm.pdf(x, shift), q
        if pair == "add":
            a, b = b, a
        if pair == "swap":
            b = (1 - rate) * q + rate * norm.pdf(x, -shift)
        values = np.array([np.maximum(a - math.exp(e) * b, 0).sum() * (x[1] - x[0]) for e in np.abs(epsilon)])
        if pair == "replace":  # symmetric: δ(-ε) = 1 - e^{-ε} + e^{-ε}·δ(ε)
            return np.where(epsilon >= 0, values, 1 - np.exp(epsilon) + np.exp(epsilon) * values)
        negative = np.array([np.maximum(a - math.exp(e) * b, 0).sum() * (x[1] - x[0]) for e in epsilon])
        return np.where(epsilon >= 0, values, negative)

    lower, masses, infinity = pld.discretised(pair, rate, shift, step)
    losses = (lower + np.arange(len(masses))) * step
    assert masses.min() >= 0
    assert masses.sum() + infinity == pytest.approx(1, abs=1e-12)
    epsilons = np.concatenate([step * np.arange(-6, 30), step * (np.arange(-6, 30) + 0.37)])
    found = np.array([infinity + (masses * np.maximum(-np.expm1(e - losses), 0)).sum() for e in epsilons])
    expected = true_delta(epsilons)
    assert (found >= expected - 3e-9).all()  # the integral above is off by a little
    at_grid = slice(0, 36)
    assert found[at_grid] == pytest.approx(expected[at_grid], abs=1e-7)


@pytest.mark.parametrize(("rate", "multiplier", "rows"), [(0.02, 0.6, 179), (0.3, 3.0, 50), (1.0, 5.0, 10)])
def test_poisson_replacement_agrees_with_another_discretisation(rate, multiplier, rows):
    """dp_accounting's Poisson-subsampled Gaussian under replacement has the same pair of distributions."""
    from dp_accounting import NeighboringRelation
    from dp_accounting.pld.privacy_loss_distribution import from_gaussian_mechanism

    theirs = from_gaussian_mechanism(
        multiplier,
        sampling_prob=rate,
        value_discretization_interval=5e-4,
        neighboring_relation=NeighboringRelation.REPLACE_ONE,
    ).self_compose(rows)
    ours = pld.composed_epsilon([("swap", rate, rows)], multiplier, DELTA, 1e-4)
    assert ours == pytest.approx(theirs.get_epsilon_for_delta(DELTA), rel=1e-3)


@pytest.mark.parametrize(
    ("parts", "shift", "step"),
    [
        ([("remove", 0.01, 300)], 2.0, 0.05),
        ([("remove", 0.01, 300), ("add", 0.02, 200)], 2.0, 0.02),
        ([("swap", 0.05, 50), ("remove", 1.0, 1)], 1.0, 0.01),
        ([("replace", 0.01, 6000)], 0.9, 0.02),
    ],
)
def test_composition_and_conversion_agree_with_dp_accounting(parts, shift, step):
    """The same discretised losses, composed and turned into ε by dp_accounting's arithmetic."""
    from dp_accounting.pld.pld_pmf import DensePLDPmf

    losses = [pld.discretised(pair, rate, shift, step) for pair, rate, _ in parts]
    theirs = None
    for (lower, masses, infinity), (_, _, rows) in zip(losses, parts, strict=True):
        many = DensePLDPmf(step, lower, masses, infinity, True).self_compose(rows, 1e-15)
        theirs = many if theirs is None else theirs.compose(many)
    composed = pld.compose(losses, [rows for _, _, rows in parts], 1e-12)
    assert composed is not None
    for delta in (0.3, 1e-2, 1e-5, 1e-7):
        ours = pld.epsilon_of_losses(*composed, step, delta)
        assert ours == pytest.approx(theirs.get_epsilon_for_delta(delta), rel=1e-5, abs=1e-9)
        assert ours >= theirs.get_epsilon_for_delta(delta) * (1 - 1e-7)


def test_epsilon_of_losses_by_hand():
    """Losses 0 (½), 1 (¼), 2 (1/8) and ∞ (1/8): δ(ε) = 1/8 + 1/8·(1 - e^{ε-2}) + 1/4·(1 - e^{ε-1}) below 1."""
    masses = np.array([0.5, 0.25, 0.125])
    for epsilon in (0.1, 0.7, 1.0, 1.3, 1.9):
        delta = 0.125 + 0.125 * (1 - math.exp(epsilon - 2)) + 0.25 * max(0.0, 1 - math.exp(epsilon - 1))
        assert pld.epsilon_of_losses(0, masses, 0.125, 1.0, delta) == pytest.approx(epsilon, rel=1e-9)
    assert pld.epsilon_of_losses(0, masses, 0.125, 1.0, 0.125) == math.inf
    assert pld.epsilon_of_losses(0, masses, 0.125, 1.0, 0.6) == 0.0
    assert pld.epsilon_of_losses(-5, np.ones(3) / 3, 0.0, 1.0, 0.1) == 0.0


def test_full_replace_one_is_the_largest_over_all_pairs_of_classes():
    sizes, shared = (40, 35, 90, 300, 37), {"order_of_mixture": 6, "sigma": 0.3, "clip_norm": 1.0, "delta": 1e-4}
    every = [changes.replace_same_class_epsilon(class_size=size, rows=30, **shared) for size in sizes]
    every += [
        changes.label_change_epsilon(class_size_from=a, class_size_to=b, rows_from=30, rows_to=30, **shared)
        for a, b in permutations(sizes, 2)
    ]
    assert changes.replace_one_epsilon(class_sizes=sizes, rows=30, **shared) == pytest.approx(max(every), rel=2e-3)
    assert changes.replace_one_epsilon(class_sizes=sizes[:1], rows=30, **shared) == pytest.approx(every[0], rel=1e-9)


@settings(max_examples=8)
@given(
    order=st.integers(1, 12),
    size=st.integers(12, 500),
    rows=st.integers(1, 200),
    multiplier=st.floats(0.2, 5),
    growth=st.integers(1, 300),
)
def test_epsilon_falls_with_class_size_and_noise_and_grows_with_rows(order, size, rows, multiplier, growth):
    def epsilon(size: int, multiplier: float, rows: int) -> float:
        return changes.replace_one_epsilon(
            order_of_mixture=order,
            sigma=2 * multiplier / order,
            clip_norm=1.0,
            class_sizes=(size, size + 5),
            rows=rows,
            delta=1e-5,
        )

    here = epsilon(size, multiplier, rows)
    slack = 1 + 2e-2  # the grids differ
    assert epsilon(size + growth, multiplier, rows) <= here * slack
    assert epsilon(size, multiplier * 1.3, rows) <= here * slack
    assert here <= epsilon(size, multiplier, rows + growth) * slack


@pytest.mark.parametrize("sigma", [0.0, 1e-160, 1e-9, 1e-3, 1e3, 1e9])
def test_extreme_noise(sigma):
    found = changes.replace_one_epsilon(
        order_of_mixture=3, sigma=sigma, clip_norm=1.0, class_sizes=(50, 60), rows=100, delta=1e-5
    )
    if sigma < 1e-150:
        assert found == math.inf
    elif sigma < 1:
        assert 1e4 < found < math.inf
    else:
        assert 0 <= found < 1e-2


@pytest.mark.parametrize("epsilon", [1e-3, 1.0, 1e4, 1e9])
def test_calibration_over_many_orders_of_magnitude(epsilon):
    shared = {"order_of_mixture": 3, "clip_norm": 1.0, "class_sizes": (50, 60), "rows": 10, "delta": 1e-5}
    sigma = mixing.calibrate_sigma(epsilon=epsilon, **shared)
    assert changes.replace_one_epsilon(sigma=sigma, tolerance=3e-4, **shared) <= epsilon * (1 + 1e-9)
    assert changes.replace_one_epsilon(sigma=0.98 * sigma, tolerance=3e-4, **shared) > epsilon


def test_clip_norm_only_scales():
    shared = {"order_of_mixture": 3, "class_sizes": (50, 60), "rows": 10, "delta": 1e-5}
    one = changes.replace_one_epsilon(sigma=0.5, clip_norm=1.0, **shared)
    assert changes.replace_one_epsilon(sigma=1.25, clip_norm=2.5, **shared) == pytest.approx(one, rel=1e-9)


@pytest.mark.parametrize(
    ("field", "change"),
    [
        ("order_of_mixture", {"order_of_mixture": 0}),
        ("noise_scale", {"sigma": -1.0}),
        ("noise_scale", {"sigma": math.nan}),
        ("clip", {"clip_norm": 0.0}),
        ("class_counts", {"class_sizes": (3, 60)}),
        ("class_counts", {"class_sizes": ()}),
        ("rows_per_class", {"rows": 0}),
        ("delta", {"delta": 0.0}),
        ("delta", {"delta": 1.0}),
    ],
)
def test_wrong_arguments_name_the_field(field, change):
    shared = {"order_of_mixture": 4, "sigma": 1.0, "clip_norm": 1.0, "class_sizes": (50, 60), "rows": 10, "delta": 1e-5}
    with pytest.raises(ParameterError) as caught:
        changes.replace_one_epsilon(**(shared | change))
    assert caught.value.field == field


def test_wrong_targets_name_the_field():
    shared = {"order_of_mixture": 4, "clip_norm": 1.0, "class_sizes": (50, 60), "rows": 10, "delta": 1e-5}
    for change in ({"epsilon": 0.0}, {"epsilon": math.inf}, {"epsilon": 1.0, "neighbouring": "swap"}):
        with pytest.raises(ParameterError):
            mixing.calibrate_sigma(**(shared | change))
    with pytest.raises(CalibrationError):
        mixing.calibrate_sigma(epsilon=1e-300, **(shared | {"delta": 1e-300}))


def lower_bound_on_epsilon(sigma: float, seed: int, order: int, size: int, rows: int, delta: float) -> float:
    """Clopper-Pearson lower bound (99.9 %) on ε between the worst pair: all others at -1, one record at 1 or at -1.

    Half of the runs chooses the threshold on the likelihood ratio, the other half is counted.
    """
    random, runs = np.random.default_rng(seed), 120_000
    scores = []
    for target in (1.0, -1.0):
        members = np.full((size, 1), -1.0)
        members[0] = target
        averages = class_averages(members, order, rows * runs, random)[:, 0] + sigma * random.normal(size=rows * runs)
        shift = 2 / order / sigma
        ratio = np.log1p(order / size * np.expm1(shift * (averages + 1) / sigma - shift**2 / 2))
        scores.append(ratio.reshape(runs, rows).sum(axis=1))
    with_record, without = scores
    half = runs // 2
    candidates = np.quantile(with_record[:half], np.linspace(0.02, 0.98, 97))
    gains = [
        np.log(max((with_record[:half] > t).mean() - delta, 1e-12) / max((without[:half] > t).mean(), 20 / half))
        for t in candidates
    ]
    threshold = candidates[int(np.argmax(gains))]
    hits = int((with_record[half:] > threshold).sum())
    false_hits = int((without[half:] > threshold).sum())
    low = beta.ppf(0.0005, hits, half - hits + 1)
    high = beta.ppf(0.9995, false_hits + 1, half - false_hits)
    return float(np.log((low - delta) / high))


def test_an_attack_on_the_worst_pair_stays_below_the_claim_and_sees_noise_that_is_30_per_cent_too_small():
    order, size, rows, delta = 2, 4, 4, 0.02
    sigma = mixing.calibrate_sigma(
        epsilon=1.5,
        delta=delta,
        order_of_mixture=order,
        clip_norm=1.0,
        class_sizes=(size,),
        rows=rows,
        neighbouring="add_remove",
    )
    honest = lower_bound_on_epsilon(sigma, 1, order, size, rows, delta)
    assert 1.0 < honest < 1.5  # close to the claim: the accounting is exact on this pair
    assert lower_bound_on_epsilon(0.7 * sigma, 2, order, size, rows, delta) > 1.9


@pytest.mark.parametrize("epsilon", [75.0, 750.0])
def test_a_very_large_epsilon_is_calibrated_without_overflow(epsilon: float) -> None:
    shared = {"order_of_mixture": 4, "clip_norm": 1.0, "class_sizes": [500, 500], "rows": 2, "delta": 1e-5}
    sigma = mixing.calibrate_sigma(epsilon=epsilon, **shared)
    assert 0 < sigma < 0.2
    assert changes.replace_one_epsilon(sigma=sigma, **shared) <= epsilon * 1.005
