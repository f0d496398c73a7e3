"""Noise: the right distribution is accepted, one with a scale 30 % off is rejected, in both modes."""

import inspect
import math
from itertools import combinations_with_replacement

import numpy as np
import pytest
from opendp import measurements
from scipy import stats

from dpsyn.errors import ParameterError
from dpsyn.privacy import noise as noise_module
from dpsyn.privacy.mixing.averaging import gaussian_noise
from dpsyn.privacy.noise import NoiseSource, happens, uniform_below

COUNT = 20_000


def source(seeded: bool) -> NoiseSource:
    return NoiseSource(np.random.default_rng(11) if seeded else None)


def laplace_pmf(z: np.ndarray, scale: float) -> np.ndarray:
    r = math.exp(-1 / scale)
    return (1 - r) / (1 + r) * r ** np.abs(z)


def gaussian_pmf(z: np.ndarray, scale: float) -> np.ndarray:
    every = np.arange(-2000, 2001)
    return np.exp(-(z**2) / (2 * scale**2)) / np.exp(-(every**2) / (2 * scale**2)).sum()


def chi_square_p(noise: np.ndarray, pmf, scale: float, width: int) -> float:
    """p-value of the counts of -width … width and the two tails against the pmf."""
    inner = np.arange(-width, width + 1)
    expected = pmf(inner, scale)
    tail = (1 - expected.sum()) / 2
    observed = np.array([(noise < -width).sum(), *[(noise == z).sum() for z in inner], (noise > width).sum()])
    wanted = np.array([tail, *expected, tail]) * len(noise)
    statistic = ((observed - wanted) ** 2 / wanted).sum()
    return float(stats.chi2.sf(statistic, len(wanted) - 1))


@pytest.mark.parametrize("seeded", [True, False])
@pytest.mark.parametrize(("name", "pmf"), [("discrete_laplace", laplace_pmf), ("discrete_gaussian", gaussian_pmf)])
def test_integer_noise_has_the_stated_scale(name, pmf, seeded):
    noise = getattr(source(seeded), name)(np.zeros(COUNT, dtype=np.int64), 3.0)
    assert noise.dtype == np.int64
    assert chi_square_p(noise, pmf, 3.0, 8) > 1e-6
    assert chi_square_p(noise, pmf, 3.0 * 1.3, 8) < 1e-12
    assert chi_square_p(noise, pmf, 3.0 / 1.3, 8) < 1e-12


@pytest.mark.parametrize("seeded", [True, False])
def test_gaussian_noise_has_the_stated_scale(seeded):
    noise = source(seeded).gaussian(np.zeros(COUNT), 0.25)
    assert stats.kstest(noise, stats.norm(0, 0.25).cdf).pvalue > 1e-6
    assert stats.kstest(noise, stats.norm(0, 0.25 * 1.3).cdf).pvalue < 1e-12
    assert stats.kstest(noise, stats.norm(0, 0.25 / 1.3).cdf).pvalue < 1e-12


@pytest.mark.parametrize("name", ["discrete_laplace", "discrete_gaussian"])
@pytest.mark.parametrize("seeded", [True, False])
def test_noise_is_added_to_each_value(name, seeded):
    values = np.arange(6, dtype=np.int64).reshape(2, 3) * 10**6
    noisy = getattr(source(seeded), name)(values, 1.0)
    assert noisy.shape == values.shape
    assert np.abs(noisy - values).max() < 60


def test_same_generator_same_noise_and_system_entropy_differs():
    zeros = np.zeros(50, dtype=np.int64)
    assert (source(True).discrete_laplace(zeros, 50.0) == source(True).discrete_laplace(zeros, 50.0)).all()
    assert (source(False).discrete_laplace(zeros, 50.0) != source(False).discrete_laplace(zeros, 50.0)).any()
    assert source(True).seeded
    assert not source(False).seeded


def answers(made: NoiseSource, name: str, scale: int, shape: tuple[int, ...]) -> np.ndarray:
    """What is drawn for equal numbers or scores, as one vector."""
    count, scores = math.prod(shape), np.zeros(50, dtype=np.int64)
    if name == "exponential_choice":
        return np.array([made.exponential_choice(scores, scale) for _ in range(count)])
    if name == "exponential_choices":
        return made.exponential_choices(scores, scale, count)
    if name == "gaussian_noise":
        add = vars(made).setdefault(f"add {scale}", gaussian_noise(scale, made.generator, on_grid=not made.seeded))
        return add(np.zeros(shape)).ravel()
    return getattr(made, name)(np.zeros(shape, dtype=np.int64), scale).ravel()


def test_whatever_a_source_draws_is_asked_whether_it_is_used_twice():
    public = {name for name, made in vars(NoiseSource).items() if inspect.isfunction(made) and not name.startswith("_")}
    assert {*DRAWS} == public | {"gaussian_noise"}


def ranks(values: np.ndarray) -> np.ndarray:
    return stats.zscore(stats.rankdata(values))


DRAWS = (
    "discrete_laplace",
    "discrete_gaussian",
    "gaussian",
    "exponential_choice",
    "exponential_choices",
    "gaussian_noise",
)


@pytest.mark.parametrize("seeded", [True, False])
@pytest.mark.parametrize("name", DRAWS)
def test_no_noise_is_used_twice(name, seeded):
    """Neither it nor its size, at any shift, forwards or backwards, of any shape or scale, in one run or in two."""
    made, n = source(seeded), 500
    asked = [(9, (n,)), (9, (n,)), (9, (n // 2, 2)), (4, (n,)), (9, (n + 60,))]
    found = [answers(made, name, *one)[:n] for one in asked]
    found.append(answers(NoiseSource(np.random.default_rng(12) if seeded else None), name, 9, (n,)))
    for read in (ranks, lambda one: ranks(np.abs(one - np.median(one)))):
        for i, j in combinations_with_replacement(range(len(found)), 2):
            one, other = read(found[i]), read(found[j])
            forwards, backwards = np.correlate(one, other, "full"), np.convolve(one, other)
            forwards[n - 1] *= i != j
            assert np.abs(forwards).max() < 7 * math.sqrt(n)
            assert i == j or np.abs(backwards).max() < 7 * math.sqrt(n)


@pytest.mark.parametrize("draw", [lambda: uniform_below(1000, 2000), lambda: happens(np.full(2000, 2), 3)])
def test_no_exact_draw_is_used_twice(draw):
    one, other = stats.zscore(draw().astype(float)), stats.zscore(draw().astype(float))
    assert np.abs(np.correlate(one, other, "full")).max() < 7 * math.sqrt(2000)
    assert np.abs(np.correlate(one, one, "full")[2000:]).max() < 7 * math.sqrt(2000)


def test_without_a_generator_the_key_is_of_the_systems_entropy(monkeypatch):
    keys = iter([7, 2**100 + 3])
    monkeypatch.setattr(noise_module.secrets, "randbits", lambda bits: next(keys) if bits == 128 else 0)
    for key in (7, 2**100 + 3):
        drawn = NoiseSource(None).generator.integers(0, 2**62, 8)
        assert drawn.tolist() == np.random.Generator(np.random.Philox(key=key)).integers(0, 2**62, 8).tolist()


@pytest.mark.parametrize("scale", [1e-170, 1e-320, 1e-20])
def test_noise_without_room_for_a_step_is_drawn_and_ends(scale: float) -> None:
    values = np.array([1, 2, 3])
    for name in ("discrete_laplace", "discrete_gaussian"):
        assert (getattr(NoiseSource(np.random.default_rng(0)), name)(values, scale) == values).all()


def test_draws_that_few_pass_are_made_in_several_rounds():
    # At this scale 0.46 of the candidates pass: the first round, of twice as many as are missing, is too few.
    noise = NoiseSource(np.random.default_rng(0)).discrete_gaussian(np.zeros(5_000, dtype=np.int64), 0.1)
    assert noise.shape == (5_000,)
    assert not noise.any()


def test_the_allowance_for_the_grid_covers_its_rounding_and_no_more_than_nobody_notices():
    half_a_step, coordinates = noise_module._GRID / 2, 2**18
    # In scales of the noise, √d times half a step; a sensitivity is at least some hundredth of the scale.
    assert math.sqrt(coordinates) * half_a_step <= noise_module.GAUSSIAN_ROUNDING < 1e-8


@pytest.mark.parametrize("scale", [0.0, -1.0, math.nan, math.inf])
@pytest.mark.parametrize("name", ["discrete_laplace", "discrete_gaussian", "gaussian", "exponential_choice"])
@pytest.mark.parametrize("seeded", [True, False])
def test_impossible_scale_is_named(name, scale, seeded):
    with pytest.raises(ParameterError, match="scale"):
        getattr(source(seeded), name)(np.zeros(2, dtype=np.int64), scale)


@pytest.mark.parametrize("seeded", [True, False])
@pytest.mark.parametrize("name", ["discrete_laplace", "discrete_gaussian"])
def test_noise_that_64_bits_cannot_carry_is_refused(name, seeded):
    draw = getattr(source(seeded), name)
    assert len(draw(np.zeros(3, dtype=np.int64), 2.0**62)) == 3
    for scale in (math.nextafter(2.0**62, math.inf), 1e100):
        with pytest.raises(ParameterError, match=r"at most 4\.61e\+18.*raise epsilon"):
            draw(np.zeros(3, dtype=np.int64), scale)


@pytest.mark.parametrize("seeded", [True, False])
@pytest.mark.parametrize("name", ["discrete_laplace", "discrete_gaussian", "gaussian"])
def test_noise_is_as_wide_as_its_scale_however_large_that_is(name, seeded):
    """By the middle of 200 sizes, which is about 0.68 of a scale: half or twice of it is not seen in 10^9 runs."""
    kind = np.float64 if name == "gaussian" else np.int64
    for power in range(4, 62, 3):
        noise = getattr(source(seeded), name)(np.zeros(200, dtype=kind), 2.0**power)
        assert 0.34 < np.median(np.abs(noise)) / 2.0**power < 1.4


@pytest.mark.parametrize("seeded", [True, False])
@pytest.mark.parametrize("many", [False, True])
def test_a_score_that_is_a_scale_higher_is_e_times_as_likely_however_large_that_is(many, seeded):
    made = source(seeded)
    for power in (0, 25, 50):
        scores = np.array([0, 2**power])
        draw = (
            made.exponential_choices
            if many
            else lambda scores, scale, count: [made.exponential_choice(scores, scale) for _ in range(count)]
        )
        assert 0.55 < np.mean(draw(scores, 2**power, 400)) < 0.9  # e/(1 + e), within six standard deviations


SCALES = (
    1e-9,
    1e-3,
    0.05,
    0.1,
    0.2,
    0.3,
    1.0,
    3.0,
    4.0,
    4.5,
    8.0,
    100.0,
    12_345.0,
    2.0**20,
    2.0**39,
    2.0**40,
    2.0**45,
    2.0**50,
)


@pytest.mark.parametrize(
    ("maker", "name"),
    [("make_laplace", "discrete_laplace"), ("make_gaussian", "discrete_gaussian"), ("make_noisy_max", "exponential_choice")],
)
def test_the_exact_samplers_get_the_scale_that_is_asked_for(maker, name, monkeypatch):
    got, make = [], getattr(measurements, maker)
    monkeypatch.setattr(measurements, maker, lambda *args, scale: got.append(scale) or make(*args, scale=scale))
    for scale in SCALES:
        getattr(NoiseSource(None), name)(np.arange(3), scale)
    assert got == list(SCALES)


def test_noise_on_the_grid_gets_the_grids_own_scale_whatever_the_scale_is(monkeypatch):
    """The steps are held to rounding below; the noise is that of 2^40 steps, always."""
    got = []
    monkeypatch.setattr(NoiseSource, "discrete_gaussian", lambda self, steps, scale: got.append(scale) or steps)
    for scale in SCALES:
        NoiseSource(None).gaussian(np.zeros(2), scale)
    assert got == [2.0**40] * len(SCALES)


def test_many_choices_toss_coins_of_the_gaps_and_the_scale_that_is_asked_for(monkeypatch):
    got = []

    def tossed(gaps, scale):
        got.append((set(gaps.tolist()), scale))
        return np.ones(len(gaps), dtype=bool)

    monkeypatch.setattr("dpsyn.privacy.noise.happens", tossed)
    whole = [int(scale) for scale in SCALES if scale >= 1]
    for scale in whole:
        NoiseSource(None).exponential_choices(np.array([7, 10, 4]), scale, 5)
    assert got == [({3, 0, 6}, scale) for scale in whole]


@pytest.mark.parametrize("shape", [(1,), (1, 1), (2,), (3, 2)])
def test_without_a_generator_all_noise_is_exact(shape):
    made = source(False)
    made.generator = None
    zeros = np.zeros(shape, dtype=np.int64)
    for draw in (made.discrete_laplace, made.discrete_gaussian, made.gaussian):
        assert draw(zeros, 1e6).shape == shape
    assert made.exponential_choice(zeros.ravel(), 1.0) < zeros.size
    assert (made.exponential_choices(zeros.ravel(), 1, 3) < zeros.size).all()


@pytest.mark.parametrize("seeded", [True, False])
def test_scores_that_64_bits_cannot_carry_are_taken_for_the_furthest_that_they_can(seeded):
    made, far = source(seeded), 10**30
    assert made.exponential_choice(np.array([-far, 0, -far], dtype=object), 1.0) == 1
    assert made.exponential_choice(np.array([0, far, 5], dtype=object), 1.0) == 1
    if not seeded:
        even = [made.exponential_choice(np.array([far, 2**62], dtype=object), 1.0) for _ in range(60)]
        assert set(even) == {0, 1}
        assert {made.exponential_choice(np.array([far, 2**62 - 99], dtype=object), 1.0) for _ in range(20)} == {0}
        assert {made.exponential_choice(np.array([-far, 99 - 2**62], dtype=object), 1.0) for _ in range(20)} == {1}


def test_values_beyond_the_grid_are_clipped_to_it_in_order():
    """2^22 standard deviations away a 64-bit grid ends; a bare cast would turn large values into large negative ones."""
    scale = 1e-3
    edge = 2.0**22 * scale
    noisy = source(False).gaussian(np.array([-1e30, -2 * edge, 0.0, 0.5 * edge, 2 * edge, 1e30]), scale)
    np.testing.assert_allclose(noisy, [-edge, -edge, 0.0, 0.5 * edge, edge, edge], atol=10 * scale)


def test_a_scale_whose_grid_is_not_exact_is_refused():
    with pytest.raises(ParameterError, match="scale"):
        source(False).gaussian(np.zeros(2), 1e-300)


def test_values_go_to_the_nearest_step_of_the_grid(monkeypatch):
    monkeypatch.setattr(NoiseSource, "discrete_gaussian", lambda self, steps, scale: steps)
    step = 3.0 * 2.0**-40
    np.testing.assert_array_equal(
        source(False).gaussian(np.array([0.4, 0.6, -0.6, 7.8]) * step, 3.0), np.array([0, 1, -1, 8]) * step
    )
    # Two rounded values are a step further apart at most: the allowance is for a thousand of them.
    assert noise_module.GAUSSIAN_ROUNDING >= 1000 * 2.0**-40


def test_however_many_numbers_there_are_all_get_exact_noise_of_any_scale(monkeypatch):
    monkeypatch.setattr(noise_module, "_through", lambda measurement, values: values + 1)
    for draw in (source(False).discrete_laplace, source(False).discrete_gaussian):
        for count in (1, 2_001, 2_000_001):
            assert (draw(np.zeros(count, dtype=np.int64), 3.0) == 1).all()
        for scale in SCALES:
            assert (draw(np.zeros(7, dtype=np.int64), scale) == 1).all()


@pytest.mark.parametrize("seeded", [True, False])
@pytest.mark.parametrize(
    ("name", "pmf", "scale"), [("discrete_laplace", laplace_pmf, 0.2), ("discrete_gaussian", gaussian_pmf, 0.3)]
)
def test_noise_far_below_1_is_seldom_but_there(name, pmf, scale, seeded):
    """Of numbers in a row, most come out as they are; the share that moves is that of the law."""
    moved = int((getattr(source(seeded), name)(np.arange(COUNT), scale) != np.arange(COUNT)).sum())
    of = [stats.binomtest(moved, COUNT, 1 - float(pmf(np.array(0), by * scale))).pvalue for by in (1, 1.3, 1 / 1.3)]
    assert of[0] > 1e-6
    assert max(of[1:]) < 1e-9


@pytest.mark.parametrize("seeded", [True, False])
def test_however_many_scores_there_are_the_best_is_not_always_chosen(seeded):
    made = source(seeded)
    for count in (2_001, 100_001):
        scores = np.zeros(count, dtype=np.int64)
        scores[7] = 1
        once = [made.exponential_choice(scores, 9.0) for _ in range(5)]
        for chosen in (once, made.exponential_choices(scores, 9, 5).tolist()):
            assert len(set(chosen)) > 2  # which fails once in a million runs or less
            assert max(chosen) < count


@pytest.mark.parametrize("seeded", [True, False])
@pytest.mark.parametrize("count", [200, 400, 1_001, 12_000])
def test_among_many_scores_worse_ones_are_chosen_by_their_law_wherever_they_stand(count, seeded):
    made, draws = source(seeded), 80
    scores = np.random.default_rng(0).permutation(np.arange(count) % 2)
    once = np.array([made.exponential_choice(scores, 1.0) for _ in range(draws)])
    for chosen in (once, made.exponential_choices(scores, 1, draws)):
        assert stats.binomtest(int(scores[chosen].sum()), draws, math.e / (1 + math.e)).pvalue > 1e-6
        assert stats.binomtest(int((chosen < count / 2).sum()), draws, 0.5).pvalue > 1e-6


def test_a_seed_is_not_a_generator():
    with pytest.raises(ParameterError, match="generator"):
        NoiseSource(7)


@pytest.mark.parametrize("generator", [None, np.random.default_rng(3)])
def test_the_exponential_mechanism_chooses_by_its_law(generator):
    scores, scale, runs = np.array([0, 1, 3]), 2.0, 8_000
    made = NoiseSource(generator)
    chosen = np.bincount([made.exponential_choice(scores, scale) for _ in range(runs)], minlength=3)

    def p_value(scale: float) -> float:
        weights = np.exp(scores / scale)
        return float(stats.chisquare(chosen, runs * weights / weights.sum()).pvalue)

    assert p_value(scale) > 1e-4
    assert p_value(1.3 * scale) < 1e-9
    assert p_value(scale / 1.3) < 1e-9


@pytest.mark.parametrize("generator", [None, np.random.default_rng(5)])
@pytest.mark.parametrize("score", [-7, 0, 2**40])
def test_among_equal_scores_each_is_chosen_as_often(generator, score):
    for count in (2, 5):
        scores, made = np.full(count, score), NoiseSource(generator)
        for chosen in (
            [made.exponential_choice(scores, 1.5) for _ in range(600)],
            made.exponential_choices(scores, 2, 600),
        ):
            assert stats.chisquare(np.bincount(chosen, minlength=count)).pvalue > 1e-6
        # Nor does it hang on the others of equal score where one is far behind.
        behind = np.bincount([made.exponential_choice(np.append(scores, score - 99), 1.5) for _ in range(600)])
        assert stats.chisquare(behind[:count]).pvalue > 1e-6


def test_the_exponential_mechanism_survives_scores_far_apart():
    for made in (NoiseSource(None), NoiseSource(np.random.default_rng(1))):
        assert made.exponential_choice(np.array([0, 10**15, 5]), 0.5) == 1


@pytest.mark.parametrize("generator", [None, np.random.default_rng(3)])
def test_many_choices_have_the_law_of_one(generator):
    scores, scale, runs = np.array([0, 1, 3, -40, 9]), 4, 40_000
    chosen = np.bincount(NoiseSource(generator).exponential_choices(scores, scale, runs), minlength=5)
    assert chosen.sum() == runs

    def p_value(scale: float) -> float:
        weights = np.exp(scores / scale)
        seen = [chosen[0], chosen[1], chosen[2], chosen[4]]
        expected = np.delete(weights, 3) / np.delete(weights, 3).sum() * sum(seen)
        return float(stats.chisquare(seen, expected).pvalue)

    assert p_value(scale) > 1e-4
    assert p_value(1.3 * scale) < 1e-9
    assert p_value(scale / 1.3) < 1e-9
    assert chosen[3] <= 5


def test_many_choices_survive_scores_far_apart_and_scales_beyond_64_bits():
    for made in (NoiseSource(None), NoiseSource(np.random.default_rng(1))):
        assert made.exponential_choices(np.array([0, 10**15, 5]), 1, 50).tolist() == [1] * 50
        even = np.bincount(made.exponential_choices(np.array([0, 10**15]), 10**30, 4000), minlength=2)
        assert abs(even[0] - 2000) < 200


@pytest.mark.parametrize(("numerator", "denominator"), [(0, 5), (1, 5), (5, 5), (12, 5), (2**52 // 3, 2**52)])
def test_a_coin_shows_true_as_often_as_its_law_says(numerator, denominator):
    shown = happens(np.full(40_000, numerator), denominator).mean()
    law = math.exp(-numerator / denominator)
    assert shown == pytest.approx(law, abs=5 * math.sqrt(law * (1 - law) / 40_000))


@pytest.mark.parametrize("denominator", [1, 3, 2**40])
def test_a_coin_falls_as_often_as_its_denominator_goes_in_and_once_for_the_rest(denominator, monkeypatch):
    """Too rare to be counted: e^-13 and less. Here all coins of e^-1 show True, and what they are tossed for is kept."""
    tossed = []
    monkeypatch.setattr(
        noise_module, "_happens_once", lambda some, of: tossed.append((some, of)) or np.ones(len(some), bool)
    )
    whole = np.array([0, 1, 2, 11, 12, 13, 40, 41, 500, 1200])
    numerators = whole * denominator + np.arange(10) % denominator
    assert happens(numerators, denominator).all()
    assert {of for _, of in tossed} == {denominator}
    assert tossed[-1][0].tolist() == (numerators % denominator).tolist()
    assert [len(some) for some, _ in tossed[:-1]] == [(whole > turn).sum() for turn in range(1200)]
    assert all((some == denominator).all() for some, _ in tossed[:-1])


@pytest.mark.parametrize("limit", [1, 2, 3, 7, 8])
def test_whole_numbers_below_a_limit_are_even(limit):
    drawn = np.bincount(uniform_below(limit, 40_000), minlength=limit)
    assert len(drawn) == limit
    assert limit == 1 or stats.chisquare(drawn).pvalue > 1e-4
    assert uniform_below(2**62, 100).max() > 2**58


def test_whole_numbers_below_a_limit_are_made_of_the_systems_bits_alone(monkeypatch):
    bits = np.array([7, 2, 5, 0, 6, 1], dtype=np.uint64)
    monkeypatch.setattr(noise_module.secrets, "token_bytes", lambda size: (bits << 61 | 3).tobytes()[:size])
    assert uniform_below(7, 6).tolist() == [2, 5, 0, 6, 1, 2]


def test_a_seed_repeats_many_choices_and_without_one_no_generator_is_asked():
    scores = np.array([0, 1, 2])
    first, second = (NoiseSource(np.random.default_rng(3)).exponential_choices(scores, 2, 50) for _ in range(2))
    np.testing.assert_array_equal(first, second)
    made = NoiseSource(None)
    made.generator = None
    assert len(made.exponential_choices(scores, 2, 50)) == 50
    for scale in (0, -1, math.inf):
        with pytest.raises(ParameterError, match="scale"):
            made.exponential_choices(scores, scale, 5)


WHOLE, SOME = np.array([1, 2]), np.array([0.5, 2.0])


@pytest.mark.parametrize("seeded", [True, False])
@pytest.mark.parametrize(
    ("name", "wrong"),
    [
        *(
            (name, wrong)
            for name in ("discrete_laplace", "discrete_gaussian")
            for wrong in ([1, 2], 1, None, SOME, WHOLE > 1)
        ),
        *(("gaussian", wrong) for wrong in ([1.0], np.array([1.0, math.nan]), np.array([math.inf]), WHOLE.astype(object))),
        *(
            (name, wrong)
            for name in ("exponential_choice", "exponential_choices")
            for wrong in ([1, 2], SOME, WHOLE > 1, WHOLE[:0], WHOLE[:, None], np.array([1, None]), np.array(1))
        ),
    ],
)
def test_noise_is_added_to_arrays_of_numbers_alone(name, wrong, seeded):
    made, further = source(seeded), [3] * (name == "exponential_choices")
    assert np.all(np.isfinite(getattr(made, name)(WHOLE, 2, *further)))
    with pytest.raises(ParameterError) as caught:
        getattr(made, name)(wrong, 2, *further)
    assert caught.value.field == ("scores" if "choice" in name else "values")
    for scale in ("1", None, True, 10**400):
        with pytest.raises(ParameterError, match="scale = "):
            getattr(made, name)(WHOLE, scale, *further)


@pytest.mark.parametrize(
    ("field", "scale", "count"), [("scale", 1.5, 3), ("scale", 2.0, 3), ("count", 2, 1.5), ("count", 2, -1)]
)
def test_many_choices_take_whole_numbers(field, scale, count):
    assert len(source(False).exponential_choices(WHOLE, 1, 0)) == 0
    with pytest.raises(ParameterError, match=f"{field} = "):
        source(False).exponential_choices(WHOLE, scale, count)


def test_a_refusal_shows_none_of_the_numbers() -> None:
    source = NoiseSource(np.random.default_rng(0))
    for refused in (
        lambda: source.gaussian(np.array([41.0, np.nan]), 1.0),
        lambda: source.discrete_laplace(np.array([41.0, 2.0]), 1.0),
        lambda: source.exponential_choice(np.array([41.0, 2.0]), 1.0),
    ):
        with pytest.raises(ParameterError, match="2 of type float64") as caught:
            refused()
        assert "41" not in str(caught.value)
