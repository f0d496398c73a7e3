"""MWEM by cells against brute force, by the law of its output, and against its theorem; what whole tables add.

That no neighbour costs too much where whole tables are measured is tried with all mechanisms on categories
(tests/conformance/test_neighbours.py).
"""

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
from dpsyn.errors import ParameterError
from dpsyn.mechanisms.mwem.mechanism import Measurement, shares_of
from dpsyn.mechanisms.mwem.theorems import best_rounds, log_error
from dpsyn.privacy.noise import NoiseSource
from dpsyn.solvers.coded import CodedRows
from dpsyn.table import Table
from tests.conformance.neighbours import Exact

DOMAIN = Domain.of(
    (Attribute("a", "categorical", ("x", "y", "z"), public=True), Attribute("b", "truth", ("no", "yes"), public=True))
)
EVERY = list(product(("x", "y", "z"), ("no", "yes")))


def table_of(counts: list[int]) -> Table:
    rows = [row for row, count in zip(EVERY, counts, strict=True) for _ in range(count)]
    return Table(pd.DataFrame(rows, columns=["a", "b"]), DOMAIN)


def mechanism_of(table: Table, epsilon: float = 1.0, delta: float = 0.0, **settings: Any) -> Any:
    config = dpsyn.MWEM(**{"measured": "cells", **settings})
    return config.calibrate(dpsyn.PrivacySpec(epsilon, delta), table.domain, n=table.n)


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
    guessed = np.rint(table.n * mechanism.queries.shares(density)).astype(np.int64)
    mine = mechanism.queries.counts(CodedRows(table.codes, mechanism.domain.shape))
    most = 0
    for gone, come in product(range(6), range(6)):
        if counts[gone] == 0 or gone == come:
            continue
        other = list(counts)
        other[gone] -= 1
        other[come] += 1
        theirs = mechanism.queries.counts(CodedRows(table_of(other).codes, mechanism.domain.shape))
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
    np.testing.assert_array_equal(found[0][1]["model"].weights, found[1][1]["model"].weights)


@pytest.mark.parametrize("measured", ["cells", "tables"])
def test_there_are_as_many_questions_where_nothing_is_off(measured: str) -> None:
    """How many there are must not tell that the weights fit already."""
    asked = []
    for counts in ([2] * 6, [12, 0, 0, 0, 0, 0]):
        noise = Exact()
        table = table_of(counts)
        mechanism_of(table, rounds=3, measured=measured)._run(noise, table, lambda step, share: None)
        asked.append([call.kind for call in noise.calls])
    assert asked[0] == asked[1] == ["choice", "laplace"] * 3


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
        mechanism._model(watched, CodedRows(table.codes, mechanism.domain.shape), lambda step, share: None)
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
    inside = np.array([mechanism.queries.counts(CodedRows(every[[i]], mechanism.domain.shape))[cell] for i in range(6)])
    expected = density * np.exp(inside * (wanted - table.n * (density @ inside)) / (2 * table.n))
    mechanism._reweight(density, measurement(mechanism, cell, wanted), table.n)
    np.testing.assert_allclose(density, expected / expected.sum(), rtol=1e-12)


def measurement(mechanism: Any, cell: int, wanted: float) -> Measurement:
    queries = mechanism.queries
    table = int(np.searchsorted(queries.offsets, cell, side="right")) - 1
    at = cell - int(queries.offsets[table])
    return Measurement(queries.tables[table], slice(at, at + 1), np.array([wanted]))


CONSTANT = Attribute("c", "categorical", ("no",), public=True)


@pytest.mark.parametrize("domain", [DOMAIN, Domain.of((*DOMAIN.attributes, CONSTANT))])
def test_a_density_stays_one_where_noise_drowns_the_counts(domain: Domain) -> None:
    rows = pd.DataFrame([{"a": "x", "b": "no", "c": "no"}] * 2)[list(domain.names)]
    table = Table(rows, domain)
    mechanism = mechanism_of(table, epsilon=1e-3, degree=1, rounds=30)
    for seed in range(5):
        density = mechanism(np.random.default_rng(seed), table).diagnostics["model"].weights
        assert density.min() >= 0
        assert density.sum() == pytest.approx(1)


def test_answers_are_the_shares_of_the_cells() -> None:
    table = table_of([5, 1, 3, 2, 0, 4])
    for degree in (1, 2):
        mechanism = mechanism_of(table, degree=degree, rounds=1)
        density = np.array([5, 1, 3, 2, 0, 4]) / 15
        np.testing.assert_allclose(
            15 * mechanism.queries.shares(density),
            mechanism.queries.counts(CodedRows(table.codes, mechanism.domain.shape)),
            atol=1e-12,
        )


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
    wide = Domain.of(Attribute(f"b{j}", "truth", ("no", "yes"), public=True) for j in range(23))
    with pytest.raises(ParameterError, match="possible rows = 8388608"):
        dpsyn.MWEM().calibrate(dpsyn.PrivacySpec(1.0), wide, n=100)
    half = Domain.of(wide.attributes[:21])
    assert dpsyn.MWEM().calibrate(dpsyn.PrivacySpec(1.0), half, n=100).rounds == 42
    with pytest.raises(ParameterError, match="adds noise"):
        dpsyn.MWEM(start_share=0.1).calibrate(dpsyn.PrivacySpec(1.0), half, n=100)
    assert dpsyn.MWEM(degree=3).calibrate(dpsyn.PrivacySpec(1.0), DOMAIN, n=table.n).queries.tables == [(0, 1)]


def test_rows_are_drawn_again_from_the_same_density() -> None:
    table = dpsyn.load_sample("asia")
    mechanism = mechanism_of(table, rounds=5)
    release = mechanism(np.random.default_rng(1), table)
    again = mechanism.redraw(np.random.default_rng(2), release)
    assert again is not None
    assert not again.equals(release.rows)
    for rows in (release.rows, again):
        counts = np.bincount(np.ravel_multi_index(table.domain.encode(rows).T, table.domain.shape), minlength=256)
        assert np.abs(counts - table.n * release.diagnostics["model"].weights).max() < 1 + 1e-9


def test_the_scales_cost_no_more_than_epsilon_to_the_last_bit() -> None:
    table = table_of([5, 1, 3, 2, 0, 4])
    for epsilon in (0.1, 1 / 3, 0.7, 1.7, 9.9):
        for rounds in (1, 3, 7, 49):
            mechanism = mechanism_of(table, epsilon=epsilon, rounds=rounds)
            spent = rounds * (2 / Fraction(mechanism.choice_scale) + 1 / Fraction(mechanism.noise_scale))
            assert Fraction(epsilon) * (1 - Fraction(3, 10**12)) < spent <= Fraction(epsilon)
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
        return mechanism._run(Deaf(np.random.default_rng(5)), table, lambda step, share: None)[1]["model"].weights

    after = [density(rounds, "last") for rounds in (1, 2, 3)]
    assert np.abs(after[1] - after[2]).max() > 1e-3
    np.testing.assert_allclose(density(3, "average"), np.mean(after, axis=0), rtol=1e-12)


def test_rounds_are_those_at_which_the_bound_is_smallest() -> None:
    one = Domain.of((CONSTANT,))
    largest = Domain.of(Attribute(f"b{j}", "truth", ("no", "yes"), public=True) for j in range(22))
    for domain, degree, points, cells in ((DOMAIN, 2, 6, 6), (DOMAIN, 1, 6, 5), (one, 1, 2, 2), (largest, 1, 2**22, 44)):
        for n, epsilon in ((50, 0.5), (2000, 1.0), (10**6, 3.0), (10**9, 3.0)):
            mechanism = dpsyn.MWEM(degree=degree, measured="cells").calibrate(dpsyn.PrivacySpec(epsilon), domain, n)
            assert mechanism.rounds == best_rounds(n * epsilon, math.log(points), math.log(cells), most=200)


def test_the_best_number_of_rounds_is_that_for_what_histograms_leave_and_with_delta_that_for_epsilon() -> None:
    domain = Domain.of([*DOMAIN.attributes, Attribute("x", "numeric", lower=0.0, upper=1.0, bins=2, public=True)])
    config = dpsyn.MWEM(measured="cells", histogram_share=0.5)
    for delta, left in ((0.0, 0.5), (1e-5, 1.0)):
        found = config.calibrate(dpsyn.PrivacySpec(1.0, delta), domain, 3000).rounds
        assert found == best_rounds(left * 3000, math.log(12), math.log(6 + 6 + 4), most=200)


@pytest.mark.parametrize("measured", ["tables", "cells"])
def test_tables_that_were_measured_are_handed_over_and_single_cells_are_not(measured: str) -> None:
    table = table_of([5, 1, 3, 2, 0, 4])
    mechanism = mechanism_of(table, measured=measured, rounds=1)
    noisy = mechanism._run(Exact(), table, lambda step, share: None)[1]["noisy_tables"]
    found = {columns: counts.tolist() for columns, counts in noisy.counts.items()}
    assert found == ({(0, 1): [5, 1, 3, 2, 0, 4]} if measured == "tables" else {})
    assert list(noisy.variances.values()) == pytest.approx([2 * mechanism.noise_scale**2] * len(found))


def test_rounds_that_would_replay_without_an_end_are_refused() -> None:
    table = table_of([5, 1, 3, 2, 0, 4])
    with pytest.raises(ParameterError, match=r"replays = 1,?000 .*500,500,000"):
        mechanism_of(table, rounds=1_000, replays=1_000)
    assert mechanism_of(table, rounds=200, replays=20).rounds == 200
    with pytest.raises(ParameterError, match="rounds"):
        dpsyn.MWEM(rounds=10_001)


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
    found = mechanism._run(Logged(np.random.default_rng(1)), table, lambda step, share: None)[1]["model"].weights
    expected = np.full(6, 1 / 6)
    for at in range(3):
        for cell, wanted in [log[at]] + log[: at + 1] * replays:
            mechanism._reweight(expected, measurement(mechanism, cell, wanted), table.n)
    np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("delta", [0.0, 1e-5])
def test_the_table_that_is_furthest_off_is_measured_as_a_whole(delta: float) -> None:
    table = table_of([12, 0, 0, 0, 0, 3])
    mechanism = mechanism_of(table, delta=delta, measured="tables", degree=1, rounds=2)
    noise = Exact()
    mechanism._run(noise, table, lambda step, share: None)
    first, counts, *_ = noise.calls
    # Equal weights: 5 rows of each of three codes, 7.5 of two; there are 12, 0, 3 and 12, 3.
    assert first.values.tolist() == [7 + 5 + 2, 4 + 5]
    assert counts.values.tolist() == [12, 0, 3]
    assert [call.kind for call in noise.calls] == ["choice", "gaussian" if delta else "laplace"] * 2
    assert {call.scale for call in noise.calls} == {mechanism.choice_scale, mechanism.noise_scale}


def test_steps_of_a_table_come_near_and_overstep_nothing() -> None:
    table = table_of([12, 0, 0, 0, 0, 3])
    mechanism = mechanism_of(table, measured="tables", rounds=1)
    density, wanted = np.full(6, 1 / 6), np.array([9.0, 1.0, 0.0, 2.0, 0.5, 2.5])
    whole = Measurement((0, 1), slice(0, 6), wanted)
    stepped = density * np.exp((wanted / 15 - density) / 0.6)  # 0.6 is the largest share
    mechanism._reweight(density, whole, table.n)
    np.testing.assert_allclose(density, stepped / stepped.sum(), rtol=1e-12)
    for _ in range(300):
        mechanism._reweight(density, whole, table.n)
    np.testing.assert_allclose(density, wanted / 15, atol=2e-3)


def test_shares_of_any_table_are_the_sums_over_all_other_columns() -> None:
    sizes = (3, 1, 4, 2)
    box = np.random.default_rng(0).dirichlet(np.ones(24)).reshape(sizes)
    for columns in ((), (0,), (2,), (0, 3), (1, 2), (0, 2, 3), (0, 1, 2, 3)):
        expected = box.sum(axis=tuple(j for j in range(4) if j not in columns)).ravel()
        np.testing.assert_allclose(shares_of(box.ravel(), columns, sizes), expected, rtol=1e-12)


def test_a_noisy_start_begins_at_the_counts_of_all_possible_rows() -> None:
    counts = [5, 0, 3, 2, 0, 4]
    mechanism = mechanism_of(table_of(counts), start_share=0.25, rounds=1)
    noise = Exact()
    start = mechanism._start(noise, CodedRows(table_of(counts).codes, mechanism.domain.shape), 14)
    (call,) = noise.calls
    assert call.values.tolist() == counts
    assert call.scale == pytest.approx(2 / 0.25)
    np.testing.assert_allclose(start, np.array(counts) / 14, atol=1e-3)
    assert start.sum() == pytest.approx(1, abs=1e-12)
    assert start.min() > 0
    assert mechanism.choice_scale == pytest.approx(4 / 0.75)


def test_a_secret_number_of_rows_is_counted_first() -> None:
    table = table_of([5, 0, 3, 2, 0, 4])
    mechanism = dpsyn.MWEM(rounds=1).calibrate(dpsyn.PrivacySpec(1.0, 0.0, "add_remove"), DOMAIN, table.n)
    noise = Exact()
    rows, _ = mechanism._run(noise, table, lambda step, share: None)
    assert (noise.calls[0].kind, noise.calls[0].values.tolist()) == ("laplace", [14])
    assert noise.calls[0].scale == pytest.approx(50)
    assert noise.calls[1].values.tolist() == [np.abs(np.array([5, 0, 3, 2, 0, 4]) - 2).sum()]
    assert len(rows) == 14


def test_whole_tables_beat_cells() -> None:
    table = dpsyn.load_sample("asia").take(np.arange(5000))

    def error(measured: str) -> float:
        return float(mechanism_of(table, measured=measured)(np.random.default_rng(1), table).diagnostics["mean_error"])

    assert error("tables") < 0.8 * error("cells")


def test_what_was_measured_is_kept_with_its_place() -> None:
    table = table_of([5, 1, 3, 2, 0, 4])
    mechanism = mechanism_of(table, degree=1, rounds=1)
    real = mechanism.queries.counts(CodedRows(table.codes, mechanism.domain.shape))
    found = mechanism._measured(Exact(), np.array([0, 0, 0, 0, 7]), real)
    assert (found.table, found.cells, found.counts.tolist()) == ((1,), slice(1, 2), [7.0])
    found = mechanism_of(table, measured="tables", degree=1)._measured(Exact(), np.array([3, 3, 3, 5, 7]), real)
    assert (found.table, found.cells, found.counts.tolist()) == ((1,), slice(0, 2), [8.0, 7.0])


def test_where_n_is_a_secret_the_scales_do_not_follow_from_it() -> None:
    spec = dpsyn.PrivacySpec(1.0, 0.0, "add_remove")
    made = [dpsyn.MWEM(measured="cells", start_share=0.5).calibrate(spec, DOMAIN, n) for n in (6, 10**9)]
    for one in made:
        assert one.rounds == 4
        assert one.starting == pytest.approx(0.49)
        assert one.part == pytest.approx(0.49 / 8)


def test_errors_are_shares_of_the_rows() -> None:
    table = table_of([12, 0, 0, 0, 0, 3])
    found = mechanism_of(table, rounds=3)._run(Exact(), table, lambda step, share: None)[1]
    off = np.abs(found["model"].weights - np.array([12, 0, 0, 0, 0, 3]) / 15)
    assert found["largest_error"] == pytest.approx(off.max())
    assert found["mean_error"] == pytest.approx(off.mean())
    assert found["largest_error_by_round"][0] == 10 / 15
    assert len(found["largest_error_by_round"]) == 3


@pytest.mark.parametrize(("released", "rows"), [(-7, 1), (1, 1), (5, 5), (2**53, 2**53), (2**61, 2**53)])
def test_rows_by_a_noisy_count_leave_room_for_sums_in_64_bits(
    released: int, rows: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    table = dpsyn.load_sample("asia").project(["smoke", "lung"])
    mechanism = dpsyn.MWEM().calibrate(dpsyn.PrivacySpec(1.0, 0.0, "add_remove"), table.domain, table.n)
    monkeypatch.setattr(type(mechanism.budget), "released", lambda *_: np.array([released]))
    assert mechanism.counted(NoiseSource(None), table) == rows
