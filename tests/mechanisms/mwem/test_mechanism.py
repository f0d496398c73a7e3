"""MWEM against brute force, by the law of its output, and against its theorem."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import product
from typing import Any

import numpy as np
import pandas as pd
import pytest

import dpsyn
from dpsyn.domain import Attribute, Domain
from dpsyn.errors import CalibrationError, ParameterError
from dpsyn.mechanisms.mwem.theorems import best_rounds, log_error
from dpsyn.privacy.noise import NoiseSource
from dpsyn.table import Table

DOMAIN = Domain.of(
    (Attribute("a", "categorical", ("x", "y", "z"), public=True), Attribute("b", "truth", ("no", "yes"), public=True))
)
EVERY = list(product(("x", "y", "z"), ("no", "yes")))


def table_of(counts: list[int]) -> Table:
    rows = [row for row, count in zip(EVERY, counts, strict=True) for _ in range(count)]
    return Table(pd.DataFrame(rows, columns=["a", "b"]), DOMAIN)


def mechanism_of(table: Table, epsilon: float = 1.0, **settings: Any) -> Any:
    return dpsyn.MWEM(**settings).calibrate(dpsyn.PrivacySpec(epsilon), table.domain, n=table.n)


class Watched(NoiseSource):
    """Keeps what is handed to the noise: these are the only places where records are looked at."""

    def __init__(self) -> None:
        super().__init__(np.random.default_rng(3))
        self.chosen: list[tuple[np.ndarray, float]] = []
        self.measured: list[tuple[np.ndarray, float]] = []

    def exponential_choice(self, scores: np.ndarray, scale: float) -> int:
        self.chosen.append((scores.copy(), scale))
        return super().exponential_choice(scores, scale)

    def discrete_laplace(self, values: np.ndarray, scale: float) -> np.ndarray:
        self.measured.append((values.copy(), scale))
        return super().discrete_laplace(values, scale)


@pytest.mark.parametrize("degree", [1, 2])
def test_a_neighbour_moves_what_the_noise_hides_by_one_and_the_scales_pay_for_it(degree: int) -> None:
    """All that a record enters is a choice by whole scores and a whole count; both move by at most 1, by brute force."""
    counts = [5, 0, 3, 2, 0, 4]
    table = table_of(counts)
    mechanism = mechanism_of(table, epsilon=1.7, degree=degree, rounds=4)
    watched = Watched()
    mechanism._run(watched, table, lambda step, share: None)
    assert len(watched.chosen) == len(watched.measured) == 4
    assert all(scores.dtype == np.int64 and values.dtype == np.int64 for (scores, _), (values, _) in
               zip(watched.chosen, watched.measured, strict=True))  # fmt: skip
    density = np.random.default_rng(0).dirichlet(np.ones(6))
    guessed = np.rint(table.n * mechanism.answers(density)).astype(np.int64)
    mine = mechanism.queries.counts(table.codes)
    most = 0
    for gone, come in product(range(6), range(6)):
        if counts[gone] == 0 or gone == come:
            continue
        other = list(counts)
        other[gone] -= 1
        other[come] += 1
        theirs = mechanism.queries.counts(table_of(other).codes)
        assert np.abs(mine - theirs).max() == 1
        most = max(most, int(np.abs(np.abs(guessed - mine) - np.abs(guessed - theirs)).max()))
    assert most == 1
    spent = sum(2 / scale for _, scale in watched.chosen) + sum(1 / scale for _, scale in watched.measured)
    assert spent <= 1.7
    assert spent == pytest.approx(1.7, rel=1e-9)
    assert mechanism.guarantee.epsilon == 1.7
    assert "The number of rows n is public." in mechanism.guarantee.assumptions


class Deaf(NoiseSource):
    """Answers without a look at what it is handed."""

    def exponential_choice(self, scores: np.ndarray, scale: float) -> int:
        return int(self.generator.integers(len(scores)))

    def discrete_laplace(self, values: np.ndarray, scale: float) -> np.ndarray:
        return self.generator.integers(0, 12, values.shape)


@pytest.mark.parametrize("output", ["last", "average"])
def test_nothing_but_choices_and_counts_is_learned_of_the_records(output: str) -> None:
    mechanism = mechanism_of(table_of([12, 0, 0, 0, 0, 0]), rounds=4, output=output)
    found = [
        mechanism._run(Deaf(np.random.default_rng(5)), table_of(counts), lambda step, share: None)
        for counts in ([12, 0, 0, 0, 0, 0], [0, 1, 2, 0, 0, 9])
    ]
    pd.testing.assert_frame_equal(found[0][0], found[1][0])
    np.testing.assert_array_equal(found[0][1]["density"], found[1][1]["density"])


def test_the_first_round_follows_its_law_and_no_other() -> None:
    """One round from uniform weights: which cell is chosen, against probabilities that are worked out here."""
    table = table_of([30, 0, 0, 0, 0, 0])
    mechanism = mechanism_of(table, epsilon=0.6, degree=2, rounds=1)
    scores = np.abs(np.rint(30 / 6) - np.array([30, 0, 0, 0, 0, 0]))
    weights = np.exp(0.6 / 2 * scores / 2)
    seen = np.zeros(6)
    runs = 1200
    for seed in range(runs):
        watched = Watched()
        watched.generator = np.random.default_rng(seed)
        mechanism._run(watched, table, lambda step, share: None)
        ((values, _),) = watched.measured
        seen[0] += values[0] == 30
    share = weights[0] / weights.sum()
    deviation = math.sqrt(share * (1 - share) / runs)
    assert abs(seen[0] / runs - share) < 4 * deviation
    for wrong in (1.3, 1 / 1.3):
        off = np.exp(wrong * 0.6 / 2 * scores / 2)
        assert abs(seen[0] / runs - off[0] / off.sum()) > 4 * deviation


def test_reweighting_is_the_papers_formula() -> None:
    table = table_of([5, 1, 3, 2, 0, 4])
    mechanism = mechanism_of(table, rounds=1)
    density = np.random.default_rng(1).dirichlet(np.ones(6))
    wanted, cell = 9.0, 3
    every = np.array(list(product(range(3), range(2))))
    inside = np.array([mechanism.queries.counts(every[[i]])[cell] for i in range(6)])
    expected = density * np.exp(inside * (wanted - table.n * (density @ inside)) / (2 * table.n))
    mechanism._reweight(density, cell, wanted)
    np.testing.assert_allclose(density, expected / expected.sum(), rtol=1e-12)


CONSTANT = Attribute("c", "categorical", ("no",), public=True)


@pytest.mark.parametrize("domain", [DOMAIN, Domain.of((*DOMAIN.attributes, CONSTANT))])
def test_a_density_stays_one_where_noise_drowns_the_counts(domain: Domain) -> None:
    rows = pd.DataFrame([{"a": "x", "b": "no", "c": "no"}] * 2)[list(domain.names)]
    table = Table(rows, domain)
    mechanism = mechanism_of(table, epsilon=1e-3, degree=1, rounds=30)
    for seed in range(5):
        density = mechanism(np.random.default_rng(seed), table).diagnostics["density"]
        assert density.min() >= 0
        assert density.sum() == pytest.approx(1)


def test_answers_are_the_shares_of_the_cells() -> None:
    table = table_of([5, 1, 3, 2, 0, 4])
    for degree in (1, 2):
        mechanism = mechanism_of(table, degree=degree, rounds=1)
        density = np.array([5, 1, 3, 2, 0, 4]) / 15
        np.testing.assert_allclose(15 * mechanism.answers(density), mechanism.queries.counts(table.codes), atol=1e-12)


@pytest.mark.parametrize("output", ["last", "average"])
def test_the_bound_of_the_theorem_is_kept(output: str) -> None:
    """It is loose: with so much data every cell of every run lies far inside."""
    table = dpsyn.load_sample("asia")
    mechanism = mechanism_of(table, epsilon=5.0, rounds=10, replays=0, output=output)
    bound = math.exp(log_error(5.0 * table.n, 10, math.log(256), math.log(112)))
    found = [mechanism(np.random.default_rng(seed), table).diagnostics["largest_error"] for seed in range(3)]
    assert max(found) < bound < 2
    assert max(found) > bound / 50


def test_more_rounds_and_more_epsilon_help() -> None:
    table = dpsyn.load_sample("asia")

    def error(**settings: Any) -> float:
        mechanism = mechanism_of(table, **settings)
        runs = [mechanism(np.random.default_rng(seed), table).diagnostics["largest_error"] for seed in range(3)]
        return float(np.mean(runs))

    assert error(epsilon=1.0, rounds=30) < error(epsilon=1.0, rounds=3) / 2
    assert error(epsilon=1.0, rounds=30) < error(epsilon=0.03, rounds=30) / 2


@pytest.mark.parametrize("product_", [30.0, 1e3, 1e5, 1e9])
def test_the_best_number_of_rounds_is_the_best_of_all(product_: float) -> None:
    found = best_rounds(product_, math.log(256), math.log(112), most=2000)
    errors = [log_error(product_, rounds, math.log(256), math.log(112)) for rounds in range(1, 2001)]
    assert errors[found - 1] == min(errors)


def test_what_it_cannot_do_is_refused_with_a_reason() -> None:
    table = table_of([5, 1, 3, 2, 0, 4])
    with pytest.raises(CalibrationError, match="replace_one"):
        dpsyn.MWEM().calibrate(dpsyn.PrivacySpec(1.0, neighbouring="add_remove"), DOMAIN, n=table.n)
    wide = Domain.of(Attribute(f"b{j}", "truth", ("no", "yes"), public=True) for j in range(23))
    with pytest.raises(ParameterError, match="8,388,608"):
        dpsyn.MWEM().calibrate(dpsyn.PrivacySpec(1.0), wide, n=100)
    with pytest.raises(ParameterError, match="degree"):
        dpsyn.MWEM(degree=3).calibrate(dpsyn.PrivacySpec(1.0), DOMAIN, n=table.n)


def test_rows_are_drawn_again_from_the_same_density() -> None:
    table = dpsyn.load_sample("asia")
    mechanism = mechanism_of(table, rounds=5)
    release = mechanism(np.random.default_rng(1), table)
    again = mechanism.redraw(np.random.default_rng(2), release)
    assert again is not None
    assert not again.equals(release.rows)
    for rows in (release.rows, again):
        counts = np.bincount(np.ravel_multi_index(table.domain.encode(rows).T, table.domain.shape), minlength=256)
        assert np.abs(counts - table.n * release.diagnostics["density"]).max() < 1 + 1e-9


def test_the_scales_cost_no_more_than_epsilon_to_the_last_bit() -> None:
    table = table_of([5, 1, 3, 2, 0, 4])
    for epsilon in (0.1, 1 / 3, 0.7, 1.7, 9.9):
        for rounds in (1, 3, 7, 49):
            mechanism = mechanism_of(table, epsilon=epsilon, rounds=rounds)
            spent = rounds * (2 / Fraction(mechanism.choice_scale) + 1 / Fraction(mechanism.noise_scale))
            assert Fraction(epsilon) * (1 - Fraction(2, 10**12)) < spent <= Fraction(epsilon)
            assert 2 / mechanism.choice_scale == pytest.approx(1 / mechanism.noise_scale)


def test_the_first_choice_is_by_the_distance_from_equal_weights() -> None:
    table = table_of([5, 1, 3, 2, 0, 4])
    watched = Watched()
    mechanism_of(table, degree=1, rounds=2)._run(watched, table, lambda step, share: None)
    np.testing.assert_array_equal(watched.chosen[0][0], np.abs(np.array([5, 5, 5, 8, 8]) - [6, 5, 4, 8, 7]))


def test_the_average_is_that_of_the_densities_after_every_round() -> None:
    table = table_of([5, 1, 3, 2, 0, 4])

    def density(rounds: int, output: str) -> np.ndarray:
        mechanism = mechanism_of(table, rounds=rounds, output=output)
        return mechanism._run(Deaf(np.random.default_rng(5)), table, lambda step, share: None)[1]["density"]

    after = [density(rounds, "last") for rounds in (1, 2, 3)]
    assert np.abs(after[1] - after[2]).max() > 1e-3
    np.testing.assert_allclose(density(3, "average"), np.mean(after, axis=0), rtol=1e-12)


def test_rounds_are_those_at_which_the_bound_is_smallest() -> None:
    one = Domain.of((CONSTANT,))
    largest = Domain.of(Attribute(f"b{j}", "truth", ("no", "yes"), public=True) for j in range(22))
    for domain, degree, points, cells in ((DOMAIN, 2, 6, 6), (DOMAIN, 1, 6, 5), (one, 1, 2, 2), (largest, 1, 2**22, 44)):
        for n, epsilon in ((50, 0.5), (10**6, 3.0), (10**9, 3.0)):
            mechanism = dpsyn.MWEM(degree=degree).calibrate(dpsyn.PrivacySpec(epsilon), domain, n)
            assert mechanism.rounds == best_rounds(n * epsilon, math.log(points), math.log(cells), most=200)


@pytest.mark.parametrize("replays", [0, 2])
def test_the_cell_that_was_chosen_is_measured_alone_and_every_answer_is_used_in_its_turn(replays: int) -> None:
    counts = [5, 1, 3, 2, 0, 4]
    table = table_of(counts)
    log: list[tuple[int, float]] = []

    class Logged(NoiseSource):
        def exponential_choice(self, scores: np.ndarray, scale: float) -> int:
            log.append(((2 * len(log) + 3) % 6, 0.0))
            return log[-1][0]

        def discrete_laplace(self, values: np.ndarray, scale: float) -> np.ndarray:
            assert values.tolist() == [counts[log[-1][0]]]
            log[-1] = log[-1][0], float(values[0] + 2)
            return values + 2

    mechanism = mechanism_of(table, rounds=3, replays=replays)
    found = mechanism._run(Logged(np.random.default_rng(1)), table, lambda step, share: None)[1]["density"]
    expected = np.full(6, 1 / 6)
    for at in range(3):
        for cell, wanted in [log[at]] + log[: at + 1] * replays:
            mechanism._reweight(expected, cell, wanted)
    np.testing.assert_array_equal(found, expected)
