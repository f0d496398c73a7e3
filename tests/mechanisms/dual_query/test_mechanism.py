"""DualQuery: its queries and their scores, what its choices cost together, and the best row for queries."""

from __future__ import annotations

from itertools import combinations, product

import numpy as np
import pytest
from scipy.stats import chisquare

import dpsyn
from dpsyn.errors import ParameterError
from dpsyn.mechanisms.dual_query import mechanism
from dpsyn.mechanisms.dual_query.best_response import best_response
from dpsyn.mechanisms.dual_query.mechanism import Records, _literals
from tests.conformance.neighbours import Call, Exact

ASIA = dpsyn.load_sample("asia")
PAIRS = list(combinations(range(8), 2))


def exact_run(spec: dpsyn.PrivacySpec, **settings: int) -> tuple[list[Call], np.ndarray]:
    config = dpsyn.DualQuery(rows=50, rounds=5, samples=3, **settings)
    noise = Exact()
    model = config.calibrate(spec, ASIA.domain, ASIA.n)._run(noise, ASIA, lambda step, share: None)[1]["model"]
    return noise.calls, model.found


@pytest.mark.parametrize("neighbouring", ["replace_one", "add_remove"])
def test_a_score_is_how_many_more_rows_should_have_met_a_query_or_its_negation(neighbouring):
    calls, found = exact_run(dpsyn.PrivacySpec(1.0, 1e-5, neighbouring))
    if neighbouring == "add_remove":
        counted, *calls = calls
        assert counted.values.tolist() == [ASIA.n]
    assert [call.kind for call in calls] == ["choice"] * 12  # the first round needs none
    by_hand = []
    for t in range(1, 5):
        scores = []
        for (i, j), a, b in product(PAIRS, (0, 1), (0, 1)):
            count = int(((ASIA.codes[:, i] == a) & (ASIA.codes[:, j] == b)).sum())
            met = int(((found[:t, i] == a) & (found[:t, j] == b)).sum())
            scores.append(t * count - ASIA.n * met)
        by_hand += [scores + [-score for score in scores]] * 3
    assert [call.values.tolist() for call in calls] == by_hand


@pytest.mark.parametrize("neighbouring", ["replace_one", "add_remove"])
@pytest.mark.parametrize("delta", [0.0, 1e-5])
@pytest.mark.parametrize("samples", [3, 5000])
def test_all_choices_cost_the_budget_together(samples, delta, neighbouring):
    made = dpsyn.DualQuery(rounds=7, samples=samples).calibrate(dpsyn.PrivacySpec(0.9, delta, neighbouring), ASIA.domain, 10)
    scale = made.choice_scale
    # Round t has so many choices by scores that move by t.
    cost = sum(samples * (t**2 / (2 * scale**2) if delta else 2 * t / scale) for t in range(1, 7))
    counted = 0.02 if neighbouring == "add_remove" else 0.0
    assert 0.98 * (1 - counted) < cost / made.budget.total <= 1 - counted
    if not delta and not counted:
        # The paper's ε = ηT(T - 1)s/n, where the scale is n/η.
        assert 7 * 6 * samples / scale == pytest.approx(0.9, rel=0.02)
    assert sum(entry["share"] for entry in made.calibrated()["ledger"]) == pytest.approx(1.0)


def test_where_there_is_more_than_enough_the_step_stays_small():
    for epsilon, expected in ((1e6, 2.0), (1e-3, None)):
        calls, _ = exact_run(dpsyn.PrivacySpec(epsilon))
        made = dpsyn.DualQuery(rounds=5, samples=3).calibrate(dpsyn.PrivacySpec(epsilon), ASIA.domain, ASIA.n)
        if expected is None:
            assert {call.scale for call in calls} == {made.choice_scale}
        else:
            assert {call.scale for call in calls} == {ASIA.n / expected}


def test_the_integer_program_finds_the_best_row():
    sizes = (3, 2, 4)
    generator = np.random.default_rng(0)
    literals = _literals(list(combinations(range(3), 2)), sizes)
    assert literals[:2].tolist() == [[0, 3], [0, 4]]
    starts = np.array([0, 3, 5])
    for _ in range(20):
        at = generator.choice(len(literals), 9)
        wanted, weights = generator.random(9) < 0.5, generator.integers(1, 4, 9)

        def value(row, at=at, wanted=wanted, weights=weights):
            has = np.isin(literals[at], starts + np.asarray(row)).all(axis=1)
            return int(weights[has == wanted].sum())

        best = max(value(row) for row in product(*map(range, sizes)))
        assert value(best_response(sizes, literals[at], wanted, weights, generator, 10.0)) == best


def test_among_equals_a_row_is_drawn_and_without_time_any_row_is_an_answer():
    generator = np.random.default_rng(0)
    literals, wanted, weights = np.array([[0, 4]]), np.array([True]), np.array([1])
    rows = {tuple(best_response((4, 2, 3), literals, wanted, weights, generator, 10.0).tolist()) for _ in range(40)}
    assert rows == {(0, 0, 0), (0, 0, 1), (0, 0, 2)}
    hurried = best_response((4, 2, 3), literals, wanted, weights, generator, 1e-9)
    assert ((hurried >= 0) & (hurried < (4, 2, 3))).all()


def test_rows_are_the_answers_each_as_often_as_the_others():
    release = dpsyn.DualQuery(rows=90, rounds=30, samples=20).calibrate(dpsyn.PrivacySpec(5.0), ASIA.domain, ASIA.n)(
        np.random.default_rng(0), ASIA
    )
    found = release.diagnostics["model"].found
    assert sorted(map(tuple, ASIA.domain.encode(release.rows))) == sorted(map(tuple, np.repeat(found, 3, axis=0)))


def test_the_first_queries_are_drawn_evenly_and_a_negation_is_to_be_avoided(monkeypatch):
    asked = []
    monkeypatch.setattr(mechanism, "best_response", lambda *given: asked.append(given) or np.zeros(8, dtype=np.int32))
    config = dpsyn.DualQuery(rows=5, rounds=4, samples=4000)
    noise = Exact()
    config.calibrate(dpsyn.PrivacySpec(1.0), ASIA.domain, ASIA.n)._run(noise, ASIA, lambda step, share: None)
    every = _literals(PAIRS, (2,) * 8).tolist()
    _, literals, wanted, weights, *_ = asked[0]
    assert [*zip(literals.tolist(), wanted.tolist(), strict=True)] == [(one, up) for up in (True, False) for one in every]
    assert weights.sum() == 4000
    assert weights.max() < 4000 / 224 * 3
    for call, (_, literals, wanted, weights, *_) in zip(noise.calls[::4000], asked[1:], strict=True):
        at = int(np.argmax(call.values))
        assert (literals.tolist(), wanted.tolist(), weights.tolist()) == ([every[at % 112]], [at < 112], [4000])


@pytest.mark.parametrize("epsilon", [1.0, 1e-8, 1e-13])
@pytest.mark.parametrize(("counted", "taken"), [(-5, 1), (0, 1), (700, 700), (10**15, 10**12)])
def test_a_noisy_number_of_rows_is_one_that_there_can_be(counted, taken, epsilon):
    class Told(Exact):
        def discrete_laplace(self, values, scale):
            return np.full_like(values, counted)

    noise = Told()
    config = dpsyn.DualQuery(rows=5, rounds=2, samples=1)
    made = config.calibrate(dpsyn.PrivacySpec(epsilon, 0.0, "add_remove"), ASIA.domain, ASIA.n)
    _, diagnostics = made._run(noise, ASIA, lambda step, share: None)
    assert diagnostics["model"].rows == taken
    (call,) = noise.calls
    # Whole, as exact choices need it.
    assert call.scale == max(made.choice_scale, -(-taken // 2))
    assert {type(call.scale), type(made.choice_scale)} == {int}
    assert diagnostics["step"] == pytest.approx(taken / call.scale)


def test_too_many_queries_are_refused():
    for columns, codes, allowed in ((2, 1000, True), (3, 200, True), (2, 1001, False)):
        names = tuple(range(codes))
        wide = dpsyn.Domain.of(dpsyn.Attribute(f"c{j}", "categorical", names, public=True) for j in range(columns))
        if allowed:
            assert dpsyn.DualQuery().calibrate(dpsyn.PrivacySpec(1.0), wide, 100).choice_scale > 0
            continue
        with pytest.raises(ParameterError, match="tables of two columns"):
            dpsyn.DualQuery().calibrate(dpsyn.PrivacySpec(1.0), wide, 100)


def test_which_rows_come_once_more_than_others_is_drawn_evenly():
    """Any two of four are as likely as any other two."""
    records, random = Records(np.arange(4, dtype=np.int32)[:, None], 6.0), np.random.default_rng(0)
    counts = np.array([np.bincount(records.codes(6, random)[:, 0], minlength=4) for _ in range(400)])
    assert np.sort(counts).tolist() == [[1, 1, 2, 2]] * 400
    pairs = np.bincount((counts == 2) @ [1, 2, 4, 8], minlength=16)
    assert chisquare(pairs[[3, 5, 6, 9, 10, 12]]).pvalue > 1e-4
