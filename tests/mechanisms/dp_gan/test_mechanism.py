"""DP-GAN: what a neighbour moves, that coins pick the rows, σ by another accountant, and that nothing else sees a row."""

from __future__ import annotations

import math
from dataclasses import replace
from itertools import product
from typing import Any

import numpy as np
import pandas as pd
import pytest

import dpsyn
from dpsyn.errors import CalibrationError, ParameterError
from dpsyn.mechanisms.base import no_progress
from dpsyn.mechanisms.claim_formulas import claim_formulas
from dpsyn.mechanisms.dp_gan import mechanism as module
from dpsyn.mechanisms.dp_gan.audit import audit_dp_gan
from dpsyn.mechanisms.dp_gan.expectations import of_run
from dpsyn.mechanisms.dp_gan.mechanism import DPGANMechanism, noisy_sum
from dpsyn.mechanisms.dp_gan.networks import HIDDEN, Columns, Critic, Generator, Learning, Made, parameters
from dpsyn.privacy.mixing.averaging import allowance, floating_noise_assumption, most_picked
from dpsyn.privacy.noise import NoiseSource
from tests.conformance.neighbours import neighbours

VALUES: dict[str, list[Any]] = {"a": ["x", "y", "z"], "b": [0, 1], "c": ["p", "q"]}
DOMAIN = dpsyn.Domain.of(
    [
        dpsyn.Attribute("a", "categorical", ("x", "y", "z"), public=True),
        dpsyn.Attribute("b", "truth", (0, 1), public=True),
        dpsyn.Attribute("c", "categorical", ("p", "q"), public=True),
    ]
)
COLUMNS = Columns((3, 2, 2))
EVERY = np.array(list(product(range(3), range(2), range(2))))
FRAME = pd.DataFrame(list(product(*VALUES.values())), columns=list(VALUES)).iloc[[0, 0, 3, 5, 8, 11]].reset_index(drop=True)
BOTH = ["replace_one", "add_remove"]


def calibrated(neighbouring: Any = "replace_one", n: int = 6, epsilon: float = 1.3, **settings: Any) -> DPGANMechanism:
    spec = dpsyn.PrivacySpec(epsilon, 1e-5, neighbouring)
    return dpsyn.DPGAN(**{"steps": 20, "sampling_rate": 0.3, "rows": 5, **settings}).calibrate(spec, DOMAIN, n)


def critic(size: float = 1.0, seed: int = 0) -> Critic:
    return Critic(size * np.random.default_rng(seed).normal(size=parameters(7)))


def value(one: Critic, row: np.ndarray) -> float:
    """f(x) from its definition."""
    weights, bias, out = one.values[: 7 * HIDDEN].reshape(7, HIDDEN), *one.values[7 * HIDDEN :].reshape(2, HIDDEN)
    before = row @ weights + bias
    return float(out @ np.where(before > 0, before, 0.2 * before))


def test_a_row_is_a_vector_of_length_1_with_its_codes() -> None:
    vectors = COLUMNS.vectors(np.array([[2, 0, 1], [0, 1, 0]])).toarray()
    assert (vectors > 0).astype(int).tolist() == [[0, 0, 1, 1, 0, 0, 1], [1, 0, 0, 0, 1, 1, 0]]
    assert np.linalg.norm(vectors, axis=1) == pytest.approx([1, 1])
    for many in (1, 12, 300):
        wide = Columns((2,) * many).vectors(np.eye(many, dtype=np.int64)).toarray()
        assert np.linalg.norm(wide, axis=1) == pytest.approx(np.ones(many))


def test_the_sum_is_that_of_every_rows_own_gradient_clipped() -> None:
    one, vectors = critic(0.3), COLUMNS.vectors(EVERY)
    gradients = []
    for row in vectors.toarray():
        up = [value(replace(one, values=one.values + 1e-6 * unit), row) for unit in np.eye(parameters(7))]
        gradients.append((np.array(up) - value(one, row)) / 1e-6)
    lengths = np.linalg.norm(gradients, axis=1)
    for norm in (0.5 * lengths.min(), float(np.median(lengths)), 2 * lengths.max()):
        expected = sum(g * min(1, norm / length) for g, length in zip(gradients, lengths, strict=True))
        np.testing.assert_allclose(one.clipped_sum(vectors, norm), expected, atol=1e-5)
        np.testing.assert_allclose(one.clipped_sum(vectors.toarray(), norm), expected, atol=1e-5)


@pytest.mark.parametrize("size", [1e-170, 1e-90, 0.05, 1.0])
@pytest.mark.parametrize("norm", [1e-100, 0.5, 1e100])
def test_no_row_moves_the_sum_by_more_than_the_clip_norm(size: float, norm: float) -> None:
    one, longest = critic(size), 0.0
    whole = one.clipped_sum(COLUMNS.vectors(EVERY), norm)
    for left_out in range(len(EVERY)):
        rest = np.delete(EVERY, left_out, axis=0)
        alone = one.clipped_sum(COLUMNS.vectors(EVERY[[left_out]]), norm)
        for moved in (whole - one.clipped_sum(COLUMNS.vectors(rest), norm), alone):
            # Units of the norm: squares of small numbers are 0. Sums of twelve rows err by 12²·2^-53.
            assert np.linalg.norm(moved / norm) <= 1 + 1e-13
        longest = max(longest, float(np.linalg.norm(alone / norm)))
    assert longest > 1 - 1e-13 or size < norm


def test_what_a_row_adds_does_not_depend_on_the_others() -> None:
    one, random = critic(0.05), np.random.default_rng(1)
    codes = EVERY[random.integers(0, 12, 500)]
    alone = {tuple(row): one.clipped_sum(COLUMNS.vectors(row[None]), 0.1) for row in EVERY}
    # The first and the last of many: with one of them left out nothing else changes but the order of the sum.
    whole = one.clipped_sum(COLUMNS.vectors(codes), 0.1)
    for at in (0, 250, 499):
        rest = one.clipped_sum(COLUMNS.vectors(np.delete(codes, at, axis=0)), 0.1)
        np.testing.assert_allclose(whole - rest, alone[tuple(codes[at])], rtol=0, atol=500**2 * 2.0**-53 * 0.1)


class Counting:
    """In the place of a critic: how often each row was picked."""

    def __init__(self) -> None:
        self.sizes: list[int] = []

    def clipped_sum(self, vectors: Any, norm: float) -> np.ndarray:
        self.sizes.append(vectors.shape[0])
        return np.asarray(vectors.sum(axis=0)) * norm


def test_every_row_is_picked_by_a_coin_of_its_own() -> None:
    rows, rate, turns = np.eye(6), 0.3, 8000
    random, counting = np.random.default_rng(2), Counting()
    picked = np.array([noisy_sum(counting, rows, rate, 1.0, lambda sums: sums, random) for _ in range(turns)])
    assert set(np.unique(picked)) == {0.0, 1.0}
    spread = math.sqrt(rate * (1 - rate) / turns)
    assert np.abs(picked.mean(axis=0) - rate).max() < 4.5 * spread
    correlations = np.corrcoef(picked.T)[np.triu_indices(6, 1)]
    assert np.abs(correlations).max() < 4.5 / math.sqrt(turns)
    # The number of rows is binomial, and none at all is one of them.
    assert np.var(counting.sizes) == pytest.approx(6 * rate * (1 - rate), rel=0.1)
    assert counting.sizes.count(0) == pytest.approx(turns * 0.7**6, rel=0.15)
    all_of_them = noisy_sum(Counting(), rows, 1.0, 2.0, lambda sums: sums, random)
    assert all_of_them.tolist() == [2.0] * 6


def test_noise_goes_on_the_sum_of_none_too() -> None:
    seen: list[np.ndarray] = []

    def add_noise(sums: np.ndarray) -> np.ndarray:
        seen.append(sums.copy())
        return sums + 7.0

    nobody = COLUMNS.vectors(EVERY[:0])
    found = noisy_sum(critic(), nobody, 0.5, 1.0, add_noise, np.random.default_rng(0))
    assert found.tolist() == [7.0] * parameters(7)
    assert seen[0].tolist() == [0.0] * parameters(7)


@pytest.mark.parametrize("n", [1, 6, 49, 50, 51, 200, 1000, 20_000])
def test_a_step_is_what_the_noise_made_of_its_sum_however_many_rows_there_are_and_are_picked(n: int) -> None:
    for rate in (1e-300, 0.5 / n, 2.0 / n, 0.5, 1.0):
        for seed in range(4):
            counting, handed = Counting(), list[np.ndarray]()
            answer = np.array([-7.0 - seed])

            def add_noise(sums: np.ndarray, handed: Any = handed, answer: Any = answer) -> np.ndarray:
                handed.append(sums.copy())
                return answer

            found = noisy_sum(counting, np.ones((n, 1)), rate, 1.0, add_noise, np.random.default_rng(seed))
            assert found is answer
            ((picked,),) = handed
            assert counting.sizes == [picked]
            assert 0 <= picked <= n * (rate >= 0.5 / n)


@pytest.mark.parametrize("neighbouring", BOTH)
def test_all_that_a_run_learns_of_a_neighbour_is_what_the_noise_is_for(
    neighbouring: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Noise that answers alike: the sums of a step differ by C (2C) at most and by nothing where the row is not picked; the
    counts by √(2m) (√m); everything else is the same."""
    coins = np.random.default_rng(5).random((8, 7)) < 0.3

    def one_run(frame: pd.DataFrame) -> tuple[list[np.ndarray], np.ndarray, pd.DataFrame, DPGANMechanism]:
        sums: list[np.ndarray] = []
        counts: list[np.ndarray] = []

        class Deaf(NoiseSource):
            def gaussian(self, values: np.ndarray, scale: float) -> np.ndarray:
                counts.append(values)
                assert scale == made.count_scale
                return np.random.default_rng(1).uniform(0, 9, values.shape)

        def same_coins(one: Any, vectors: Any, rate: float, norm: float, add_noise: Any, random: Any) -> np.ndarray:
            assert (rate, norm) == (0.3, 0.02)
            picked = np.flatnonzero(coins[len(sums)][: vectors.shape[0]])
            sums.append(one.clipped_sum(vectors[picked], norm))
            return np.random.default_rng(len(sums)).normal(size=sums[-1].shape)

        monkeypatch.setattr(module, "noisy_sum", same_coins)
        made = calibrated(neighbouring, len(frame), steps=8, clip_norm=0.02)
        rows, _ = made._run(Deaf(np.random.default_rng(3)), dpsyn.Table(frame, DOMAIN), no_progress)
        (exact,) = counts
        return sums, exact, rows, made

    sums, counts, rows, mine = one_run(FRAME)
    assert len(sums) == 8
    furthest = most = 0.0
    for found in neighbours(FRAME, VALUES, neighbouring):
        other = found
        if len(other) < len(FRAME) and not other.equals(FRAME.iloc[:-1]):
            continue  # the coins of the rows that stay must stay, too
        if len(other) == len(FRAME):  # the new row where the old one was
            at = next(i for i in range(len(FRAME)) if FRAME.drop(index=i).reset_index(drop=True).equals(other.iloc[:-1]))
            order = [*range(at), len(FRAME) - 1, *range(at, len(FRAME) - 1)]
            other = other.iloc[order].reset_index(drop=True)
        else:
            at = min(len(other), len(FRAME))
        theirs, counted, same, their = one_run(other)
        pd.testing.assert_frame_equal(rows, same)
        assert (their.noise_scale, their.count_scale) == (mine.noise_scale, mine.count_scale)
        for coin, a, b in zip(coins, sums, theirs, strict=True):
            moved = float(np.linalg.norm(a - b)) / 0.02
            assert moved <= (1e-12 if not coin[at] else 2 if neighbouring == "replace_one" else 1 + 1e-12)
            furthest = max(furthest, moved)
        most = max(most, float(((counted - counts) ** 2).sum()))
    assert most == (6 if neighbouring == "replace_one" else 3)
    assert furthest > (0.5 if neighbouring == "replace_one" else 1 - 1e-9)
    squared = mine.count_multiplier * math.sqrt(most)
    assert mine.count_scale == pytest.approx(squared, rel=1e-8)
    assert mine.count_scale > squared


@pytest.mark.parametrize("neighbouring", BOTH)
@pytest.mark.parametrize("rows", [1, 2, 30])
@pytest.mark.parametrize("rate", [0.01, 0.3])
def test_every_step_picks_by_the_rate_that_sigma_is_calibrated_for(
    neighbouring: Any, rows: int, rate: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    handed: list[tuple[Any, ...]] = []

    def watched(one: Any, vectors: Any, rate: float, norm: float, add_noise: Any, random: Any) -> np.ndarray:
        handed.append((vectors.toarray().tolist(), rate, norm))
        return np.zeros(parameters(7))

    monkeypatch.setattr(module, "noisy_sum", watched)
    few = dpsyn.Table(FRAME.head(rows), DOMAIN)
    mechanism = calibrated(neighbouring, n=rows, steps=3, sampling_rate=rate, clip_norm=0.7)
    mechanism._run(NoiseSource(np.random.default_rng(0)), few, no_progress)
    assert handed == [(COLUMNS.vectors(few.codes).toarray().tolist(), rate, 0.7)] * 3


@pytest.mark.parametrize("neighbouring", BOTH)
@pytest.mark.parametrize(("steps", "rate"), [(200, 0.02), (40, 0.3), (3, 1.0)])
def test_sigma_by_another_accountant(neighbouring: Any, steps: int, rate: float) -> None:
    """dp_accounting's Gaussian under Poisson sampling, composed with the counts: of the same pairs, by another grid."""
    from dp_accounting import NeighboringRelation
    from dp_accounting.pld.privacy_loss_distribution import from_gaussian_mechanism

    relation = NeighboringRelation[{"replace_one": "REPLACE_ONE", "add_remove": "ADD_OR_REMOVE_ONE"}[neighbouring]]
    mechanism = calibrated(neighbouring, steps=steps, sampling_rate=rate, clip_norm=0.7)
    moved = math.sqrt(6 if neighbouring == "replace_one" else 3)
    counts = from_gaussian_mechanism(mechanism.count_scale / moved, value_discretization_interval=5e-4)

    def epsilon(scale: float) -> float:
        step = from_gaussian_mechanism(
            scale / 0.7, sampling_prob=rate, neighboring_relation=relation, value_discretization_interval=5e-4
        )
        return float(step.self_compose(steps).compose(counts).get_epsilon_for_delta(1e-5))

    assert 0.97 * 1.3 < epsilon(mechanism.noise_scale) <= 1.3 * 1.003
    assert epsilon(mechanism.noise_scale / 2) > 1.3 * 1.3
    assert mechanism.epsilon(1e-5, mechanism.multiplier) <= 1.3
    assert mechanism.epsilon(1e-5, mechanism.multiplier) > 1.3 * 0.995
    # The counts alone have a tenth of it.
    assert counts.get_epsilon_for_delta(1e-5) == pytest.approx(0.13, rel=0.01)


@pytest.mark.parametrize("neighbouring", BOTH)
def test_the_noise_of_the_counts_covers_their_grid_also_where_it_is_wide(neighbouring: Any) -> None:
    mechanism = calibrated(neighbouring, epsilon=0.001)
    z, moved = mechanism.count_multiplier, 6 if neighbouring == "replace_one" else 3
    assert z > 2**11
    # On the grid of step 2^-40·σ either of two counts is off by half a step; that the scale rounds, too, takes the rest.
    furthest = math.sqrt(moved) * (1 + mechanism.count_scale * 2.0**-40)
    assert furthest * z * (1 + 2.0**-40) <= mechanism.count_scale < math.sqrt(moved) * z * (1 + 1e-6)


@pytest.mark.parametrize("neighbouring", BOTH)
def test_the_noise_of_the_counts_is_for_every_column_that_is_counted(neighbouring: Any) -> None:
    """A date that keeps its weekday and its month is counted as three."""
    day = dpsyn.Attribute("day", "date", lower=18_000, upper=18_400, bins=4, public=True, keep=("weekday", "month"))
    domain = dpsyn.Domain.of([day, dpsyn.Attribute("b", "truth", (0, 1), public=True)])
    spec = dpsyn.PrivacySpec(1.3, 1e-5, neighbouring)
    mechanism = dpsyn.DPGAN(steps=1, histogram_share=0.0).calibrate(spec, domain, 30)
    moved = 8 if neighbouring == "replace_one" else 4
    assert mechanism.count_scale == pytest.approx(math.sqrt(moved) * mechanism.count_multiplier, rel=1e-6)


def test_sigma_covers_what_floating_point_does_to_sums() -> None:
    mechanism = calibrated(clip_norm=0.7)
    more = allowance(mechanism.multiplier, 2**20, parameters(7))
    assert mechanism.noise_scale == pytest.approx(0.7 * mechanism.multiplier * more, rel=1e-14)
    assert more > 1 + 2.0**-13
    assert calibrated(epsilon=1e20, sampling_rate=1e-6, clip_norm=3.0).noise_scale == 3 * 2.0**-20


def test_floating_point_changes_as_many_numbers_as_sums_of_a_public_number_of_rows_can_make_it() -> None:
    """qn rows of length C are expected, and the mean over d numbers is 1/√d of that at most."""
    numbers, d = 20 * parameters(7), parameters(7)
    for n, delta, status in ((6, 1e-7, "proven"), (10**7, 1e-7, "real_arithmetic"), (10**7, 1e-4, "proven")):
        spec = dpsyn.PrivacySpec(1.3, delta)
        mechanism = dpsyn.DPGAN(steps=20, sampling_rate=0.3, rows=5, clip_norm=0.7).calibrate(spec, DOMAIN, n)
        average = 0.3 * n * 0.7 / mechanism.noise_scale / math.sqrt(d)
        assert mechanism.largest_sum == pytest.approx(average)
        assert floating_noise_assumption(numbers, mechanism.largest_sum, delta, "Fewer steps make it smaller.") in (
            mechanism.guarantee.assumptions
        )
        assert (numbers * (2.0**-42 + 2.0**-45 * average) > delta) is (status == "real_arithmetic")
        assert mechanism.guarantee.status == status
    secret = calibrated("add_remove")
    assert secret.largest_sum is None
    floating = floating_noise_assumption(numbers, None, 1e-5, "Fewer steps make it smaller.")
    assert {floating, module.FEW_PICKED} <= set(secret.guarantee.assumptions)


def test_gradients_of_all_rows_are_no_longer_than_the_sum_that_floating_point_is_held_to() -> None:
    one, vectors = critic(), COLUMNS.vectors(np.tile(EVERY[:1], (50, 1)))
    mechanism = calibrated(n=50, sampling_rate=1.0)
    total = one.clipped_sum(vectors, mechanism.config.clip_norm)
    assert mechanism.largest_sum is not None
    assert 0.2 * mechanism.largest_sum < np.abs(total).mean() / mechanism.noise_scale <= mechanism.largest_sum


def test_sigma_allows_for_sums_of_all_rows_that_a_step_can_pick() -> None:
    for n, rate, summed in ((10**6, 1.0, 2**20), (10**7, 1.0, 10**7), (10**9, 0.01, most_picked(1e7))):
        mechanism = calibrated(n=n, sampling_rate=rate)
        more = allowance(mechanism.multiplier, summed, parameters(7))
        assert mechanism.noise_scale == pytest.approx(0.5 * mechanism.multiplier * more, rel=1e-14)
    assert calibrated("add_remove", n=10**9).noise_scale == calibrated("add_remove").noise_scale


@pytest.mark.parametrize("seeded", [True, False])
def test_every_number_gets_noise_of_the_stated_scale(seeded: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    kept: list[np.ndarray] = []

    def watched(one: Any, vectors: Any, rate: float, norm: float, add_noise: Any, random: Any) -> np.ndarray:
        kept.append(add_noise(np.zeros(parameters(7))))
        return kept[-1]

    monkeypatch.setattr(module, "noisy_sum", watched)
    mechanism = calibrated()
    mechanism._run(NoiseSource(np.random.default_rng(0) if seeded else None), dpsyn.Table(FRAME, DOMAIN), no_progress)
    found = np.array(kept)
    assert found.shape == (20, parameters(7))
    assert found.std() == pytest.approx(mechanism.noise_scale, rel=0.03)
    assert abs(np.corrcoef(found[0], found[1])[0, 1]) < 0.2
    steps = found / 2.0 ** np.floor(np.log2(mechanism.noise_scale / 64))
    # Without a seed low bits are kept back.
    assert (steps == np.rint(steps)).all() is np.bool_(not seeded)


def test_a_mean_is_the_noisy_sum_over_an_expected_number_of_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    """n where it is public, else what the noisy counts say; never how many rows a step has picked."""
    given: list[np.ndarray] = []

    def one_sum(*_: Any) -> np.ndarray:
        return np.full(parameters(7), 12.0)

    def noted(self: Learning, real: np.ndarray, count: int, norm: float, random: Any) -> None:
        assert (count, norm) == (300, 0.5)
        given.append(real)

    monkeypatch.setattr(module, "noisy_sum", one_sum)
    monkeypatch.setattr(Learning, "step", noted)
    for neighbouring, answer, rows in (("replace_one", 4.0, 6), ("add_remove", 4.0, 28 / 3), ("add_remove", -4.0, 1.0)):

        class Deaf(NoiseSource):
            def gaussian(self, values: np.ndarray, scale: float, answer: float = answer) -> np.ndarray:
                return np.full(values.shape, answer)

        given.clear()
        made = calibrated(neighbouring, rows=None)
        released, diagnostics = made._run(Deaf(np.random.default_rng(0)), dpsyn.Table(FRAME, DOMAIN), no_progress)
        assert given[0] == pytest.approx(12 / (0.3 * rows))
        assert len(released) == max(1, round(rows))
        exact = [3, 1, 2, 4, 2, 3, 3]
        assert diagnostics["mean_error_of_counts"] == pytest.approx(np.abs(np.array(exact) - answer).mean())


def test_nothing_is_said_of_a_secret_number_of_rows() -> None:
    found = [calibrated("add_remove", n, rows=None).facts() for n in (1, 6, 10**6)]
    assert found[0] == found[1] == found[2]
    assert "n" not in found[0]
    assert "rows" not in {k for k, v in found[0].items() if v is not None}
    asia = dpsyn.load_sample("asia")
    spec = dpsyn.PrivacySpec(1.0, 1e-5, "add_remove")
    made = dpsyn.DPGAN(steps=3).calibrate(spec, asia.domain, asia.n)(np.random.default_rng(0), asia)
    assert len(made.rows) != asia.n
    assert len(made.rows) == pytest.approx(asia.n, abs=300)


def test_what_is_claimed() -> None:
    for neighbouring in BOTH:
        claim = calibrated(neighbouring).guarantee
        assert (claim.epsilon, claim.delta, claim.neighbouring, claim.status) == (1.3, 1e-5, neighbouring, "proven")
        assert ("The number of rows n is public." in claim.assumptions) is (neighbouring == "replace_one")
        assert any(f"{20 * parameters(7):,} numbers" in one and "Fewer steps" in one for one in claim.assumptions)
        assert (module.FEW_PICKED in claim.assumptions) is (neighbouring == "add_remove")
    # More numbers than floating point can be trusted with at this δ.
    few = dpsyn.DPGAN(steps=20).calibrate(dpsyn.PrivacySpec(1.0, 1e-9), DOMAIN, 6)
    assert few.guarantee.status == "real_arithmetic"
    with pytest.raises(CalibrationError, match="delta > 0"):
        dpsyn.DPGAN().calibrate(dpsyn.PrivacySpec(1.0), DOMAIN, 6)
    many = dpsyn.Domain.of([dpsyn.Attribute("k", "categorical", tuple(range(1_000_000)), public=True)])
    with pytest.raises(ParameterError, match="memory"):
        dpsyn.DPGAN().calibrate(dpsyn.PrivacySpec(1.0, 1e-5), many, 10)


@pytest.mark.parametrize("epsilon", [1e-14, 1e-3, 1e80])
def test_noise_that_drowns_all_rows_and_none_are_survived(epsilon: float) -> None:
    mechanism = calibrated(epsilon=epsilon, steps=3)
    assert len(mechanism(np.random.default_rng(0), dpsyn.Table(FRAME, DOMAIN)).rows) == 5
    alone = dpsyn.Domain.of([dpsyn.Attribute("only", "categorical", ("x",), public=True)])
    table = dpsyn.Table(pd.DataFrame({"only": ["x", "x"]}), alone)
    made = dpsyn.DPGAN(steps=3).calibrate(dpsyn.PrivacySpec(epsilon, 1e-5), alone, 2)(None, table)
    assert made.rows["only"].tolist() == ["x", "x"]


def test_histograms_come_out_of_the_same_budget() -> None:
    domain = dpsyn.Domain.of([*DOMAIN.attributes, dpsyn.Attribute("x", "numeric", lower=0, upper=9, bins=3, public=True)])
    mechanism = dpsyn.DPGAN().calibrate(dpsyn.PrivacySpec(2.0, 1e-5), domain, 50)
    facts = mechanism.calibrated()
    counts, steps = facts["ledger"]
    before = facts["epsilon_for_histograms"]
    assert before == pytest.approx(0.2)
    assert before + steps["epsilon"] <= 2.0
    assert mechanism.epsilon(1e-5, mechanism.multiplier) <= steps["epsilon"]
    assert before / 2 + counts["share"] + steps["share"] == pytest.approx(1)
    assert (counts["scale"], steps["scale"]) == (mechanism.count_scale, mechanism.noise_scale)
    assert "histograms" in mechanism.guarantee.source


@pytest.mark.parametrize("neighbouring", BOTH)
def test_the_claim_is_shown(neighbouring: Any) -> None:
    mechanism = calibrated(neighbouring)
    step, counts, claim = claim_formulas("dp_gan", mechanism.guarantee, mechanism.facts())
    assert "0.3" in step.filled
    assert ("-0.5" in step.filled) is (neighbouring == "replace_one")
    m = len(mechanism.domain)
    assert rf"\sqrt{{{2 * m if neighbouring == 'replace_one' else m}}}" in counts.filled
    assert claim.filled.startswith(r"\delta\left(1.3;")
    assert "20" in claim.filled
    assert of_run(mechanism)[0][0] == "caption"


@pytest.mark.parametrize("neighbouring", BOTH)
def test_halved_noise_is_refuted_and_its_own_is_not(neighbouring: Any) -> None:
    mechanism = calibrated(neighbouring, steps=5, sampling_rate=0.5, epsilon=2.0)
    for factor, refuted in ((1.0, False), (0.5, True)):
        found = audit_dp_gan(
            mechanism, runs=4000, confidence=0.9999, noise_factor=factor, generator=np.random.default_rng(1)
        )
        assert found.refuted is refuted
        assert 0.1 < found.epsilon <= 2.0


def test_the_generators_gradient_is_that_of_its_soft_rows() -> None:
    generator = Generator.by_counts(COLUMNS, np.array([5.0, 0, 5, 3, 7, 9, 1]), np.random.default_rng(0))
    slope = np.random.default_rng(1).normal(size=(9, 7))

    def gain(one: Generator) -> tuple[Made, float]:
        made = one.made(9, np.random.default_rng(2))
        return made, float((slope * made.soft).sum() / (9 * math.sqrt(3)))

    made, here = gain(generator)
    for j, gradient in enumerate(generator.gradients(made, slope)):
        for at in np.argsort(-np.abs(gradient), axis=None)[:3]:
            layers = [layer.copy() for layer in generator.layers]
            layers[j].ravel()[at] += 1e-6
            there = gain(replace(generator, layers=tuple(layers)))[1]
            assert (there - here) / 1e-6 == pytest.approx(gradient.ravel()[at], rel=1e-3, abs=1e-7)


def test_made_rows_have_the_wanted_value_and_values_are_wanted_as_the_counts_say() -> None:
    counts = np.array([6.0, 0, 4, -3, -1, 9, 1])
    generator = Generator.by_counts(COLUMNS, counts, np.random.default_rng(0))
    made = generator.made(9000, np.random.default_rng(1))
    assert (made.vectors[np.arange(9000), made.wanted] > 0).all()
    assert ((made.vectors > 0).sum(axis=1) == 3).all()
    # A column in three; no positive count is no knowledge.
    expected = np.array([0.6, 0, 0.4, 0.5, 0.5, 0.9, 0.1]) / 3
    np.testing.assert_allclose(np.bincount(made.wanted, minlength=7) / 9000, expected, atol=0.02)
    codes = generator.codes(5000, np.random.default_rng(2))
    assert codes.shape == (5000, 3)
    assert (codes.max(axis=0) < [3, 2, 2]).all()


def test_it_learns_what_belongs_together() -> None:
    random = np.random.default_rng(0)
    a = random.integers(0, 3, 3000)
    frame = pd.DataFrame({"a": np.array(["x", "y", "z"])[a], "b": (a == 1).astype(int), "c": np.where(a == 2, "p", "q")})
    mechanism = dpsyn.DPGAN(steps=500, sampling_rate=0.05).calibrate(dpsyn.PrivacySpec(1e5, 1e-5), DOMAIN, 3000)
    rows = mechanism(np.random.default_rng(0), dpsyn.Table(frame, DOMAIN)).rows
    assert ((rows["a"] == "y") == (rows["b"] == 1)).mean() > 0.9
    assert ((rows["a"] == "z") == (rows["c"] == "p")).mean() > 0.9
    assert rows["a"].value_counts(normalize=True).min() > 0.25
