"""The audit: bounds that hold as often as they say, that come close to the truth, and that refute what is false."""

from __future__ import annotations

import math
import re
from dataclasses import replace
from functools import cache
from itertools import product

import numpy as np
import pytest
from scipy import stats

from dpsyn.errors import ParameterError
from dpsyn.privacy.audit import Audit, TradeOff, audit, audit_scores, claimed_trade_off, log_ratio_if_picked, profile_of


def laplace(at: float, scale: float = 1.0):
    """The log-likelihood ratio of Laplace noise around 1 and 0, for outputs around ``at``; rounded, see the test of bits."""

    def run(count: int, generator: np.random.Generator) -> np.ndarray:
        output = at + generator.laplace(0, scale, count)
        return np.round((np.abs(output - 1) - np.abs(output)) / scale, 9)

    return run


def gaussian(at: float, sigma: float):
    return lambda count, generator: -generator.normal(at, sigma, count)


def test_a_bound_by_hand():
    # 90 of 100 against 10 of 100: the limits of Clopper and Pearson at 95 % are those of scipy's exact interval.
    scores = np.repeat([1.0, 0.0], [90, 10]), np.repeat([1.0, 0.0], [10, 90])
    found = audit_scores(scores, scores, confidence=0.95)
    interval = stats.binomtest(90, 100).proportion_ci(0.95, "exact")
    lower, upper = interval.low, 1 - interval.low
    assert found.epsilon == pytest.approx(math.log(lower / upper))
    assert (found.hits, found.misses, found.tested, found.runs) == (90, 10, 100, 200)
    assert not audit_scores(scores, scores, confidence=0.95, claim=found.epsilon).refuted
    with_delta = audit_scores(scores, scores, delta=0.1, confidence=0.95)
    assert with_delta.epsilon == pytest.approx(math.log((lower - 0.1) / upper))
    with_more = audit_scores(scores, scores, delta=0.99, confidence=0.95)
    assert (with_more.epsilon, with_more.largest) == (0.0, 0.0)


@cache
def interval(hits: int, runs: int, confidence: float) -> tuple[float, float]:
    found = stats.binomtest(hits, runs).proportion_ci(confidence, "exact")
    return found.low, found.high


@pytest.mark.parametrize("lengths", [(60, 150, 40, 200), (150, 60, 200, 40), (150, 60, 40, 200)])
@pytest.mark.parametrize("shifts", [(0, 2), (2, 0)])
@pytest.mark.parametrize("flip", [1, -1])
@pytest.mark.parametrize("confidence", [0.5, 0.9])
def test_every_number_of_an_audit_is_that_of_a_search_over_all_half_lines(lengths, shifts, flip, confidence):
    """Of parts of four lengths, whose later scores lie on the cuts between the earlier ones as well."""
    random = np.random.default_rng([*lengths, *shifts, flip + 1])
    choosing = tuple(flip * 2 * (shift + random.poisson(3, size)) for shift, size in zip(shifts, lengths[:2], strict=True))
    testing = tuple(flip * (2 * shift + random.poisson(6, size)) for shift, size in zip(shifts, lengths[2:], strict=True))

    def bound(parts, delta, at, side, cut, on):
        inside = [int(((part >= cut) if side == "above" else (part <= cut)).sum()) for part in parts]
        low = interval(inside[on], len(parts[on]), at)[0] - delta
        return math.log(low / interval(inside[1 - on], len(parts[1 - on]), at)[1]) if low > 0 else -math.inf, inside

    values = np.unique(np.concatenate(choosing))
    sets = list(product(["above", "below"], (values[1:] + values[:-1]) / 2, [0, 1]))

    def best(delta, at):
        return max(((bound(choosing, delta, at, *one)[0], one) for one in sets), key=lambda one: one[0])

    profile = [(0.2, 0.3), (0.4, 0.15), (1.2, 0.1), (0.9, 0.05)]
    at, sure = (1 + confidence) / 2, 1 - (1 - confidence) / 1000
    doubtful = max(profile, key=lambda one: best(one[1], sure)[0] - one[0])
    whole = audit_scores(choosing, testing, delta=0.01, confidence=confidence, claim=0.3, profile=profile)
    alone = audit_scores(choosing, testing, delta=0.01, confidence=confidence, claim=0.3)
    for found in (whole, alone):
        band = TradeOff.of(testing, confidence)
        assert found.trade_off.margin == band.margin
        assert found.trade_off.false_negatives.tolist() == band.false_negatives.tolist()
    for found, (claim, delta), chosen_at, each_at in (
        (alone, (0.3, 0.01), confidence, confidence),
        (whole, (0.3, 0.01), at, at),
        (whole.sharpest, doubtful, sure, at),
    ):
        side, cut, on = best(delta, chosen_at)[1]
        epsilon, inside = bound(testing, delta, each_at, side, cut, on)
        assert (found.side, found.cut, found.hits, found.misses) == (side, cut, inside[on], inside[1 - on])
        assert found.epsilon == pytest.approx(max(epsilon, 0.0), abs=1e-9)
        assert (found.claim, found.delta, found.confidence) == (claim, delta, confidence)
        lengths_on, lengths_off = len(testing[on]), len(testing[1 - on])
        most = (interval(lengths_on, lengths_on, each_at)[0] - delta) / interval(0, lengths_off, each_at)[1]
        assert found.largest == pytest.approx(max(math.log(most), 0.0))
        assert (found.tested, found.runs) == (min(map(len, testing)), len(choosing[0]) + len(testing[0]))
        assert found.refuted == (epsilon > claim or (found is whole and whole.sharpest.refuted))


@pytest.mark.parametrize("first_is_above", [True, False])
@pytest.mark.parametrize("below", [*range(2000, 2012), 1, 3999])
def test_of_thousands_of_scores_the_cut_between_the_two_datasets_is_found(below, first_is_above):
    scores = np.arange(4000.0)
    parts = (scores[:below], scores[below:])[:: -1 if first_is_above else 1]
    found = audit_scores(parts, parts)
    assert (found.cut, found.misses) == (below - 0.5, 0)
    assert found.hits in (below, 4000 - below)
    assert found.epsilon == pytest.approx(found.largest)


@pytest.mark.parametrize("share", [0.5, 0.99, 1 - 1e-12, 1.0, 1 + 1e-12, 1.01, 2.0])
def test_the_verdict_is_the_words_however_near_the_bound_is_to_the_claim(share):
    scores = np.repeat([1.0, 0.0], [90, 10]), np.repeat([1.0, 0.0], [10, 90])
    bound = audit_scores(scores, scores).epsilon
    found = audit_scores(scores, scores, claim=bound * share)
    assert found.refuted == (share < 1)
    assert ("refutes the claim" in str(found), "does not contradict the claim" in str(found)) == (share < 1, share >= 1)
    with_profile = audit_scores(scores, scores, profile=[(bound * 0.7, 0.1)])
    sharpest = with_profile.sharpest.epsilon
    one = audit_scores(scores, scores, claim=9.0, profile=[(sharpest * share, 0.1)])
    assert one.refuted == (share < 1)
    assert ("refutes the claim" in str(one)) == (share < 1)


@pytest.mark.parametrize("epsilon", [0.0, 0.0004, 0.1235, 0.99999, 1.9999, 2.0, 12.34567, 123.4567])
@pytest.mark.parametrize("confidence", [0.9, 0.95, 0.99994, 0.99999, 1 - 1e-9])
def test_no_more_is_said_of_a_bound_than_was_found(epsilon, confidence):
    scores = np.repeat([1.0, 0.0], [90, 10]), np.repeat([1.0, 0.0], [10, 90])
    claim = 0.10041
    found = replace(audit_scores(scores, scores, claim=claim), epsilon=epsilon, confidence=confidence)
    said = re.match(r"ε ≥ (\S+) at δ = 0 with (\S+) confidence .* the claim ε = (\S+)$", str(found))
    bound, sure, claimed = map(float, said.groups())
    assert epsilon - 1e-3 < bound <= epsilon
    assert 0 < sure <= confidence
    assert claim <= claimed < claim * 1.01


def test_it_comes_close_to_the_true_epsilon_and_stays_below():
    found = audit(laplace(0), laplace(1), generator=np.random.default_rng(1), claim=1.0)
    assert 0.85 < found.epsilon <= 1.0
    assert not found.refuted
    assert "does not contradict" in str(found)


def test_the_last_bits_of_floating_point_laplace_noise_give_it_away():
    """Mironov 2012: sums with 0 and with 1 are rounded differently, and a score that keeps every bit shows it."""

    def bits(at: float):
        def run(count: int, generator: np.random.Generator) -> np.ndarray:
            output = at + generator.laplace(0, 1, count)
            return np.abs(output - 1) - np.abs(output)

        return run

    found = audit(bits(0), bits(1), generator=np.random.default_rng(1), claim=1.0)
    assert found.epsilon > 1.3
    assert found.refuted


def test_noise_halved_is_caught():
    found = audit(laplace(0, 0.5), laplace(1, 0.5), generator=np.random.default_rng(1), claim=1.0)
    assert 1.7 < found.epsilon <= 2.0
    assert found.refuted
    assert "refutes" in str(found)


def test_the_bound_fails_no_more_often_than_it_says():
    """At 80 % confidence: of 400 audits of ε = 1 at most a binomial number, far above 20 % is impossible by chance."""
    generator = np.random.default_rng(5)
    above = sum(audit(laplace(0), laplace(1), runs=300, confidence=0.8, generator=generator).epsilon > 1 for _ in range(400))
    assert above <= stats.binom.ppf(1 - 1e-6, 400, 0.2)
    identical = [
        audit(laplace(0), laplace(0), runs=300, confidence=0.8, generator=generator).epsilon > 0 for _ in range(400)
    ]
    assert sum(identical) <= stats.binom.ppf(1 - 1e-6, 400, 0.2)


def test_the_set_is_chosen_on_other_runs_than_those_that_the_bound_rests_on():
    """What tells the datasets apart only in the later runs finds no set, and a set of the earlier ones has to hold there."""

    def split(early: float, late: float):
        return lambda count, generator: np.repeat([early, late], [30, count - 30])

    how = {"runs": 100, "choosing_share": 0.3, "claim": 0.5, "generator": np.random.default_rng(0)}
    late = audit(split(0, 1), split(0, 0), **how)
    assert (late.epsilon, late.tested, late.refuted) == (0.0, 70, False)
    early = audit(split(1, 0), split(0, 0), **how)
    assert (early.cut, early.hits, early.misses, early.refuted) == (0.5, 0, 0, False)


def test_a_bound_and_the_sharpest_of_a_profile_share_the_error():
    scores = np.repeat([1.0, 0.0], [90, 10]), np.repeat([1.0, 0.0], [10, 90])
    found = audit_scores(scores, scores, confidence=0.95, profile=[(2.0, 0.1)])
    # At 97.5 % each, both hold together at 95 %.
    lower = stats.binomtest(90, 100).proportion_ci(0.975, "exact").low
    assert found.epsilon == pytest.approx(math.log(lower / (1 - lower)))
    assert found.sharpest.epsilon == pytest.approx(math.log((lower - 0.1) / (1 - lower)))
    assert (found.confidence, found.sharpest.confidence, found.refuted) == (0.95, 0.95, False)
    assert audit_scores(scores, scores, confidence=0.95, profile=[(0.1, 0.1)]).refuted


def test_delta_is_allowed_for():
    """Gaussian noise: ε at δ = 0.01 is 1.845 for μ = 1 (analytic Gaussian mechanism); never above, and not far below."""
    sigma, delta = 1.0, 0.01

    def exact(epsilon: float) -> float:
        return stats.norm.cdf(0.5 - epsilon) - math.exp(epsilon) * stats.norm.cdf(-0.5 - epsilon)

    true = next(e for e in np.arange(0, 5, 0.001) if exact(e) <= delta)
    found = audit(gaussian(0, sigma), gaussian(1, sigma), delta=delta, generator=np.random.default_rng(2))
    assert 0.75 * true < found.epsilon <= true
    without = audit(gaussian(0, sigma), gaussian(1, sigma), generator=np.random.default_rng(2))
    assert without.epsilon > found.epsilon


@pytest.mark.parametrize("flip", [1, -1])
@pytest.mark.parametrize("swap", [False, True])
def test_either_side_and_either_dataset_may_be_the_likelier(flip, swap):
    a, b = (laplace(1), laplace(0)) if swap else (laplace(0), laplace(1))
    found = audit(
        lambda count, generator: flip * np.exp(a(count, generator)),
        lambda count, generator: flip * np.exp(b(count, generator)),
        generator=np.random.default_rng(3),
    )
    assert 0.8 < found.epsilon <= 1


def test_without_any_privacy_the_bound_is_the_largest_there_is():
    found = audit(
        lambda count, generator: np.ones(count), lambda count, generator: np.zeros(count), runs=2000, confidence=0.99
    )
    assert found.epsilon == pytest.approx(found.largest)
    # No miss in 1000 runs: the upper limit is 1 - 0.005^(1/1000).
    assert found.largest == pytest.approx(math.log(0.005 ** (1 / 1000) / (1 - 0.005 ** (1 / 1000))))


def test_the_system_s_entropy_makes_runs_differ():
    found: list[Audit] = [audit(laplace(0), laplace(1), runs=500) for _ in range(2)]
    assert found[0].cut != found[1].cut


def test_progress_and_runs_in_chunks():
    sizes: list[int] = []
    told: list[float] = []

    def run(count: int, generator: np.random.Generator) -> np.ndarray:
        sizes.append(count)
        return generator.random(count)

    audit(run, run, runs=12_000, progress=lambda step, share: told.append(share))
    assert sum(sizes) == 24_000
    assert told == sorted(told)
    assert told[-1] < 1


WRONG_PROFILES = [1.0, None, [1.0], [(1.0,)], ["ab"], [(math.nan, 0.0)], [(-1.0, 0.0)], [(1.0, 1.0)], [(1.0, "0")]]


@pytest.mark.parametrize(
    ("changes", "field"),
    [
        ({"runs": 5}, "runs"),
        ({"runs": 20.5}, "runs"),
        ({"delta": 1.0}, "delta"),
        ({"confidence": 1.0}, "confidence"),
        ({"confidance": 0.9}, "confidance"),
        ({"choosing_share": 0.0}, "choosing_share"),
        ({"first": lambda count, generator: np.ones(3)}, "scores"),
        ({"first": lambda count, generator: np.full(count, np.nan)}, "scores"),
        *(({"profile": wrong}, "profile") for wrong in WRONG_PROFILES),
    ],
)
def test_wrong_input_names_the_field(changes, field):
    with pytest.raises(ParameterError) as caught:
        audit(**({"first": laplace(0), "second": laplace(1), "runs": 100} | changes))
    assert caught.value.field == field


@pytest.mark.parametrize(
    ("field", "wrong"),
    [
        *((field, value) for field in ("delta", "confidence", "claim") for value in ("1", math.nan, -1.0, math.inf)),
        *(("profile", value) for value in WRONG_PROFILES),
        *(("choosing", value) for value in (None, ([1.0], []), ([1.0], ["a"]), ([1.0],), ([[1.0]], [1.0]), (1.0, 2.0))),
        ("testing", ([1.0], [math.nan])),
    ],
)
def test_scores_at_hand_are_checked_as_runs_are(field, wrong):
    given = {"choosing": ([1.0, 2.0], [0.0, 1.0]), "testing": ([1.0, 2.0], [0.0, 1.0])}
    assert not audit_scores(**given, claim=1.0, profile=[[0.5, 0.1]]).refuted
    with pytest.raises(ParameterError) as caught:
        audit_scores(**(given | {field: wrong}))
    assert caught.value.field == field


def test_other_claims_are_those_at_larger_deltas_and_a_picked_record_mixes_two_densities():
    assert profile_of(lambda delta: 1 / delta, 0.05) == [(10.0, 0.1), (5.0, 0.2)]
    values, (noise, moved) = np.array([-1.0, 0.5, 4.0]), (stats.norm(0, 1.5), stats.norm(2, 1.5))
    expected = np.log((0.7 * noise.pdf(values) + 0.3 * moved.pdf(values)) / noise.pdf(values))
    assert log_ratio_if_picked(values, 2.0, 0.3, 1.5) == pytest.approx(expected)


def test_what_claims_allow_by_hand():
    alpha = np.array([0.0, 0.1, 0.5, 1.0])
    assert claimed_trade_off([(0.0, 0.0)], alpha) == pytest.approx(1 - alpha)
    assert claimed_trade_off([(math.log(2), 0.0)], alpha) == pytest.approx([1, 0.8, 0.25, 0])
    assert claimed_trade_off([(math.log(2), 0.2)], alpha) == pytest.approx([0.8, 0.6, 0.15, 0])
    both = claimed_trade_off([(math.log(2), 0.2), (math.log(4), 0.0)], alpha)
    assert both == pytest.approx([1, 0.6, 0.15, 0])
    assert claimed_trade_off([(1e4, 0.0)], alpha) == pytest.approx([1, 0, 0, 0])
    assert claimed_trade_off([], alpha).tolist() == [0, 0, 0, 0]


def test_what_tests_attain_by_hand():
    first, second = np.array([3.0, 2.0, 2.0, 1.0]), np.array([2.0, 1.0, 0.0, 0.0])
    found = TradeOff.of((first, second), 0.95)
    at = dict(zip(found.false_positives.tolist(), found.false_negatives.tolist(), strict=False))
    assert at == {0.0: 0.75, 0.25: 0.25, 0.5: 0.0, 1.0: 0.0}
    assert found.margin == pytest.approx(math.sqrt(math.log(80) / 8))
    # 1/4 + 1/4; ε = ln 4 allows 1/5 + 1/5, and with ε = ln 2 at δ = 0.2 it is 4/15 + 4/15.
    for profile, allowed in (((), 1 - 2 / 5), (((math.log(2), 0.2),), 1 - 8 / 15)):
        whole = audit_scores((first, second), (first, second), claim=math.log(4), profile=profile)
        assert whole.advantages == pytest.approx((1 / 2, allowed), abs=1e-4)
    low, high = TradeOff(np.array([0.0, 1.0]), np.array([1.0, 0.0]), 0.1).band(np.array([0.0, 0.5, 1.0]))
    assert low == pytest.approx([0.8, 0.3, 0.0])
    assert high == pytest.approx([1.0, 0.7, 0.2])


@pytest.mark.parametrize("lengths", [(100, 10_000), (10_000, 100), (300, 400)])
def test_what_tests_attain_is_as_sure_as_the_fewer_scores_are(lengths: tuple[int, int]):
    scores = tuple(np.random.default_rng(0).random(length) for length in lengths)
    sure = math.sqrt(math.log(80) / (2 * min(lengths)))
    assert TradeOff.of(scores, 0.95).margin == pytest.approx(sure)
    found = audit_scores(scores, scores, confidence=0.95)
    assert found.trade_off.margin >= sure
    assert found.epsilon <= found.largest


def test_the_attained_curve_of_laplace_noise_is_what_the_claim_allows():
    found = audit(laplace(0), laplace(1), generator=np.random.default_rng(1), claim=1.0, runs=40_000)
    alpha = np.linspace(0, 1, 51)
    low, high = found.trade_off.band(alpha)
    allowed = claimed_trade_off(found.claims, alpha)
    # Laplace noise attains ε-differential privacy at both ends, and is better between.
    assert (allowed <= high).all()
    assert low[2] < allowed[2] < high[2]
    exact = np.where(
        alpha < 0.5 / math.e,
        1 - math.e * alpha,
        np.where(alpha < 0.5, math.exp(-1) / 4 / np.maximum(alpha, 1e-9), (1 - alpha) / math.e),
    )
    assert (low <= exact + 1e-12).all()
    assert (exact <= high + 1e-12).all()


def test_halved_noise_leaves_the_claimed_curve_and_the_band_holds_as_often_as_it_says():
    found = audit(laplace(0, 0.5), laplace(1, 0.5), generator=np.random.default_rng(1), claim=1.0)
    alpha = np.linspace(0, 1, 51)
    assert (found.trade_off.band(alpha)[1] < claimed_trade_off(found.claims, alpha)).any()
    missed = 0
    generator = np.random.default_rng(2)
    for _ in range(200):
        curve = TradeOff.of((generator.random(100), generator.random(100)), 0.8)
        low, high = curve.band(alpha)
        missed += bool((low > 1 - alpha).any() or (high < 1 - alpha).any())
    assert missed / 200 < 0.2
