"""AIM: what it scores, when it anneals, how large its model grows, and that it spends all and no more."""

from __future__ import annotations

from itertools import combinations, pairwise
from typing import Any

import numpy as np
import pytest

import dpsyn
from dpsyn.errors import DpsynError, ParameterError, TooLargeError
from dpsyn.mechanisms.aim.mechanism import AIMMechanism
from dpsyn.privacy.budget import Budget
from dpsyn.solvers.coded import table_counts
from dpsyn.solvers.junction_tree import model_cells
from tests.conformance.neighbours import Call, Truthful

ASIA = dpsyn.load_sample("asia")
FIVE = ASIA.project(["smoke", "lung", "bronc", "either", "dysp"])


class Chosen(Truthful):
    """Keeps which candidate was chosen."""

    def __init__(self, seed: int) -> None:
        super().__init__(seed)
        self.at: list[int] = []

    def exponential_choice(self, scores: np.ndarray, scale: float) -> int:
        self._noted("choice", scores, scale)
        self.at.append(int(np.argmax(scores)))
        return self.at[-1]


def watched(spec: dpsyn.PrivacySpec, **settings: Any) -> tuple[AIMMechanism, Chosen, dict[str, Any]]:
    mechanism = dpsyn.AIM(rows=5, **settings).calibrate(spec, FIVE.domain, FIVE.n)
    noise = Chosen(0)
    return mechanism, noise, mechanism._run(noise, FIVE, lambda step, share: None)[1]


def rounds_of(calls: list[Call]) -> list[tuple[Call, Call]]:
    """Choice and measurement of every round; before are the five single columns."""
    assert [call.kind for call in calls[5:]] == ["choice", calls[0].kind] * ((len(calls) - 5) // 2)
    return list(zip(calls[5::2], calls[6::2], strict=True))


@pytest.mark.parametrize(
    ("expected", "epsilon", "delta"),
    [(None, 1.0, 0.0), (None, 0.05, 1e-5), (-1.0, 1.0, 1e-5), (-1.0, 1.0, 0.0), (1e12, 1.0, 1e-5), (1e12, 1.0, 0.0)],
)
def test_all_of_the_budget_is_spent_and_no_more_however_it_anneals(
    delta: float, epsilon: float, expected: float | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also where the model moves further than noise is expected to move it after every round, or never does."""
    if expected is not None:
        monkeypatch.setattr(Budget, "mean_error", lambda self, scale: expected)
    mechanism, noise, diagnostics = watched(dpsyn.PrivacySpec(epsilon, delta))
    budget, rounds = mechanism.budget, rounds_of(noise.calls)
    # The last round takes what is left, less than two rounds' worth.
    costs = [budget.choice_cost(choice.scale, 4) + budget.noise_cost(measured.scale) for choice, measured in rounds]
    spent = budget.noise_cost(noise.calls[0].scale, 5) + sum(costs)
    assert spent <= budget.total
    assert spent == pytest.approx(budget.total, rel=1e-9)
    assert diagnostics["rounds"] == len(rounds) <= 16 * 5
    shares = [choice.scale / measured.scale for choice, measured in rounds]
    assert shares == pytest.approx([shares[0]] * len(shares))
    scales = [measured.scale for _, measured in rounds]
    steps = {round(a / b, 9) for a, b in pairwise(scales[:-1])}
    if expected is None:
        assert steps <= {1.0, 2.0}
        assert 2.0 in steps or epsilon > 0.1
    else:
        assert steps == {1.0 if expected < 0 else 2.0}
        assert expected > 0 or costs[-2] < costs[-1] <= 2 * costs[-2]


@pytest.mark.parametrize("delta", [0.0, 1e-5])
@pytest.mark.parametrize("still", [1, 60, 70, 72, 74])
def test_no_more_is_spent_at_whatever_time_it_anneals(still: int, delta: float, monkeypatch: pytest.MonkeyPatch) -> None:
    """As many rounds move the model, the others do not."""
    noise = Chosen(0)
    monkeypatch.setattr(Budget, "mean_error", lambda self, scale: 1e12 if len(noise.at) > still else -1.0)
    mechanism = dpsyn.AIM(rows=5).calibrate(dpsyn.PrivacySpec(1.0, delta), FIVE.domain, FIVE.n)
    mechanism._run(noise, FIVE, lambda step, share: None)
    budget, rounds = mechanism.budget, rounds_of(noise.calls)
    assert len(rounds) > still
    costs = [budget.choice_cost(choice.scale, 4) + budget.noise_cost(measured.scale) for choice, measured in rounds]
    assert budget.noise_cost(noise.calls[0].scale, 5) + sum(costs) <= budget.total


def test_the_first_scores_are_the_distances_from_independence_less_what_noise_adds() -> None:
    mechanism, noise, _ = watched(dpsyn.PrivacySpec(1.0, 1e-5))
    codes, (choice, _) = FIVE.codes, rounds_of(noise.calls)[0]
    penalty = mechanism.budget.mean_error(mechanism.first.noise_scale)
    expected = [round(-penalty * 2) for _ in range(5)]
    for i, j in combinations(range(5), 2):
        exact = table_counts(codes, (i, j), (2,) * 5)
        alone = np.outer(np.bincount(codes[:, i]), np.bincount(codes[:, j])).ravel() / len(codes)
        expected.append(2 * int(np.abs(exact - np.rint(alone)).sum()) - round(2 * penalty * 4))
    np.testing.assert_allclose(choice.values, expected, atol=2)
    assert mechanism.budget.moved == 2
    assert choice.scale == pytest.approx(mechanism.budget.choice_scale(0.1 * mechanism.budget.total / 80, 4))


@pytest.mark.parametrize(("share", "halved"), [(1.3, True), (0.6, False)])
def test_scales_are_halved_where_the_model_moves_less_than_noise_would_move_it(share: float, halved: bool) -> None:
    """Two columns that are one: measuring the pair moves 100 rows of 200 that independent columns would have elsewhere."""
    frame = FIVE.frame[["smoke", "lung"]].iloc[:200].copy()
    frame[:] = [["yes", "yes"], ["no", "no"]] * 100
    table = dpsyn.Table(frame, FIVE.domain.project(["smoke", "lung"]))
    moved = 200 / 2
    # E|Laplace noise| on the four cells of the pair is 4·2·32/(0.9·ε), 32 rounds being planned for two columns.
    mechanism = dpsyn.AIM().calibrate(dpsyn.PrivacySpec(4 * 2 * 32 / 0.9 / (2 * share * moved)), table.domain, table.n)
    noise = Chosen(0)
    mechanism._run(noise, table, lambda step, share: None)
    first, second = (measured for _, measured in list(zip(noise.calls[2::2], noise.calls[3::2], strict=True))[:2])
    assert len(first.values) == 4
    assert second.scale == pytest.approx(first.scale / (2 if halved else 1))


def test_what_was_chosen_is_measured() -> None:
    _, noise, _ = watched(dpsyn.PrivacySpec(1.0, 1e-5))
    candidates = [*((j,) for j in range(5)), *combinations(range(5), 2)]
    for (_, measured), at in zip(rounds_of(noise.calls), noise.at, strict=True):
        assert measured.values.tolist() == table_counts(FIVE.codes, candidates[at], (2,) * 5).tolist()


@pytest.mark.parametrize("cells", [10, 16, 20, 1000])
def test_the_model_stays_as_small_as_asked_for_and_grows_with_what_is_spent(cells: int) -> None:
    mechanism, noise, diagnostics = watched(dpsyn.PrivacySpec(1.0, 1e-5), model_cells=cells)
    # A column alone is always measured: 5 columns with 2 codes each have 10 cells.
    assert diagnostics["model_cells"] <= max(cells, 10)
    budget, spent = mechanism.budget, mechanism.budget.noise_cost(noise.calls[0].scale, 5)
    for choice, measured in rounds_of(noise.calls):
        spent += budget.choice_cost(choice.scale, 4) + budget.noise_cost(measured.scale)
        pairs_at_first = [pair for pair in combinations(range(5), 2) if model_cells((2,) * 5, [pair]) <= cells]
        assert 5 <= len(choice.values) <= 5 + len(pairs_at_first)
    first, _ = rounds_of(noise.calls)[0]
    share = (mechanism.budget.noise_cost(noise.calls[0].scale, 5) + mechanism.budget.total / 80) / mechanism.budget.total
    assert len(first.values) == (15 if share * cells >= 10 else 5)


def test_it_beats_columns_that_are_independent_and_a_model_that_is_too_small() -> None:
    def error(config: Any) -> float:
        release = config.calibrate(dpsyn.PrivacySpec(1.0, 1e-5), FIVE.domain, FIVE.n)(np.random.default_rng(1), FIVE)
        made = FIVE.domain.encode(release.rows)
        off = [
            np.abs(table_counts(FIVE.codes, pair, (2,) * 5) - table_counts(made, pair, (2,) * 5)).sum()
            for pair in combinations(range(5), 2)
        ]
        return float(np.mean(off)) / (2 * FIVE.n)

    best, small, none = error(dpsyn.AIM()), error(dpsyn.AIM(model_cells=16)), error(dpsyn.Independent())
    assert best < 0.005
    assert best < small / 2
    assert small < none


def test_what_cannot_be_is_refused() -> None:
    spec = dpsyn.PrivacySpec(1.0, 1e-5)
    wide, wider = (
        dpsyn.Domain.of(dpsyn.Attribute(f"c{j}", "truth", (0, 1), public=True) for j in range(columns))
        for columns in (100, 101)
    )
    assert dpsyn.AIM().calibrate(spec, wide, 100).budget.moved == 2
    with pytest.raises(DpsynError, match="all pairs"):
        dpsyn.AIM().calibrate(spec, wider, 100)
    with pytest.raises(DpsynError, match="memory"):
        dpsyn.AIM(model_cells=10**9).calibrate(spec, wide, 100)
    large = dpsyn.Domain.of(dpsyn.Attribute(name, "numeric", lower=0, upper=1, bins=10**5, public=True) for name in "ab")
    with pytest.raises(DpsynError, match="memory"):
        dpsyn.AIM(histogram_share=0.0).calibrate(spec, large, 100)


@pytest.mark.parametrize("seed", [None, 1])
def test_noise_that_no_whole_number_carries_is_refused(seed: int | None) -> None:
    mechanism = dpsyn.AIM().calibrate(dpsyn.PrivacySpec(1e-100), FIVE.domain, FIVE.n)
    with pytest.raises(ParameterError, match="raise epsilon"):
        mechanism(None if seed is None else np.random.default_rng(seed), FIVE)


def test_a_column_of_very_many_bins_is_refused_before_the_noise() -> None:
    wide = dpsyn.Attribute("x", "numeric", lower=0, upper=1, bins=100_000, public=True)
    narrow = dpsyn.Attribute("y", "truth", (0, 1), public=True)
    with pytest.raises(TooLargeError, match="values of a column = 100000"):
        dpsyn.AIM(histogram_share=0.0).calibrate(dpsyn.PrivacySpec(1.0, 1e-5), dpsyn.Domain.of([wide, narrow]), 100)
