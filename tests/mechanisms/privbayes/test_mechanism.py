"""PrivBayes: its network, how large tables may be, what is measured, and rows by the conditional laws."""

from __future__ import annotations

from itertools import combinations
from typing import Any

import numpy as np
import pandas as pd
import pytest

import dpsyn
from dpsyn.errors import ParameterError
from dpsyn.mechanisms.privbayes.mechanism import BayesianNetwork, PrivBayesMechanism, candidates
from dpsyn.mechanisms.privbayes.scores import f_score
from dpsyn.privacy.dependence import r_score
from dpsyn.solvers.coded import table_counts
from dpsyn.table import Table
from tests.conformance.neighbours import Exact

ASIA, CAR = dpsyn.load_sample("asia"), dpsyn.load_sample("car")
CONSTANT = Table(
    pd.DataFrame({"a": [0, 0, 1, 1] * 50, "b": 0, "c": [0, 0, 1, 0] * 50}),
    dpsyn.Domain.of(dpsyn.Attribute(name, "categorical", (0, 1)[: 2 - (name == "b")], public=True) for name in "abc"),
)


def watched(table: Table, spec: dpsyn.PrivacySpec, **settings: Any) -> tuple[PrivBayesMechanism, Exact, BayesianNetwork]:
    mechanism = dpsyn.PrivBayes(**settings).calibrate(spec, table.domain, table.n)
    noise = Exact()
    model = mechanism._run(noise, table, lambda step, share: None)[1]["model"]
    return mechanism, noise, model


@pytest.mark.parametrize(("table", "binary"), [(ASIA, True), (CAR, False), (CONSTANT, False)], ids=["F", "R", "one code"])
@pytest.mark.parametrize("neighbouring", ["replace_one", "add_remove"])
def test_each_choice_is_the_best_useful_one_by_its_score(table: Table, binary: bool, neighbouring: Any) -> None:
    mechanism, noise, model = watched(table, dpsyn.PrivacySpec(1.0, 0.0, neighbouring))
    sizes = table.domain.shape
    choices = [call for call in noise.calls if call.kind == "choice"]
    assert len(choices) == len(sizes) - 1
    limit = mechanism._largest_table(table.n)
    assert limit == pytest.approx(table.n / (4 * mechanism.table_scale(len(sizes))), rel=1e-9)
    placed: list[int] = []
    for at, (column, parents) in enumerate(model.network):
        assert set(parents) <= set(placed)
        assert len(parents) <= 3
        if at:
            joint = table_counts(table.codes, (*parents, column), sizes).reshape(-1, sizes[column])
            score = f_score(joint) if binary else r_score(joint, rows_public=neighbouring == "replace_one")
            assert score == choices[at - 1].values.max()
            if parents:
                assert joint.size <= limit
        placed.append(column)
    assert sorted(placed) == list(range(len(sizes)))


def test_sets_of_parents_are_as_large_as_they_usefully_can_be() -> None:
    mechanism = dpsyn.PrivBayes().calibrate(dpsyn.PrivacySpec(1.0), CAR.domain, CAR.n)
    sizes = CAR.domain.shape  # 4, 4, 4, 3, 3, 3, 4
    placed = [0, 1, 3, 4]
    for limit in (1.0, 12.0, 40.0, 150.0, 1e9):
        found = list(mechanism._useful(6, placed, limit))
        every = [
            p for r in range(4) for p in combinations(placed, r) if 4 * np.prod([sizes[j] for j in p]) <= limit or not p
        ]
        largest = [p for p in every if not any(set(p) < set(q) for q in every)]
        assert sorted(found) == sorted(largest)


def test_tables_inside_others_are_read_off_them_and_the_rest_share_the_budget() -> None:
    mechanism, noise, model = watched(ASIA, dpsyn.PrivacySpec(5.0))
    joint = [{column, *parents} for column, parents in model.network]
    largest = [one for one in joint if not any(one < other for other in joint)]
    measured = [call for call in noise.calls if call.kind == "laplace"]
    assert len(measured) == len(largest) < len(joint)
    assert {call.scale for call in measured} == {mechanism.table_scale(len(largest))}
    spent = sum(2 / call.scale for call in measured)
    assert spent == pytest.approx(0.7 * 5.0)
    # Without noise every law is that of the data.
    for (column, parents), law in zip(model.network, model.laws, strict=True):
        counts = table_counts(ASIA.codes, (*parents, column), (2,) * 8).reshape(-1, 2)
        known = counts.sum(axis=1) > 0
        np.testing.assert_allclose(law[known], counts[known] / counts[known].sum(axis=1, keepdims=True))
        np.testing.assert_allclose(law[~known], 0.5)


def test_where_the_number_of_rows_is_a_secret_it_is_counted_with_noise_first() -> None:
    mechanism, noise, model = watched(ASIA, dpsyn.PrivacySpec(1.0, 0.0, "add_remove"))
    first = noise.calls[0]
    assert first.values.tolist() == [ASIA.n]
    assert 1 / first.scale == pytest.approx(0.02)
    assert model.rows == pytest.approx(ASIA.n)
    assert [round(part, 9) for part in (mechanism.counting, *mechanism.parts)] == [
        0.02,
        round(0.3 * 0.98, 9),
        round(0.7 * 0.98, 9),
    ]


@pytest.mark.parametrize("off", [-300, 300])
def test_how_large_tables_may_be_follows_from_the_noisy_count_alone(off: int, monkeypatch: pytest.MonkeyPatch) -> None:
    class Off(Exact):
        def discrete_laplace(self, values: np.ndarray, scale: float) -> np.ndarray:
            return super().discrete_laplace(values, scale) + off * (values.shape == (1,))

    asked: list[int] = []
    real = PrivBayesMechanism._largest_table
    monkeypatch.setattr(PrivBayesMechanism, "_largest_table", lambda self, rows: asked.append(rows) or real(self, rows))
    mechanism = dpsyn.PrivBayes().calibrate(dpsyn.PrivacySpec(1.0, 0.0, "add_remove"), CAR.domain, CAR.n)
    mechanism._run(Off(), CAR, lambda step, share: None)
    assert asked == [CAR.n + off]


@pytest.mark.parametrize("delta", [0.0, 1e-5])
@pytest.mark.parametrize(
    ("columns", "neighbouring", "moved"),
    [(ASIA.domain.names, "replace_one", 2), (ASIA.domain.names, "add_remove", 2), (ASIA.domain.names[:2], "replace_one", 2),
     (CAR.domain.names, "replace_one", 6 * 50 + 4), (CAR.domain.names, "add_remove", 4)],
)  # fmt: skip
def test_all_choices_together_cost_their_part(columns: Any, neighbouring: Any, moved: int, delta: float) -> None:
    domain = (ASIA if columns[0] == "asia" else CAR).domain.project(columns)
    mechanism = dpsyn.PrivBayes().calibrate(dpsyn.PrivacySpec(1.0, delta, neighbouring), domain, 50)
    spent = (len(columns) - 1) * mechanism.budget.choice_cost(mechanism.choice_scale, moved)
    assert spent == pytest.approx(mechanism.parts[0])
    assert mechanism.parts[0] == pytest.approx(0.3 * (mechanism.budget.total - mechanism.counting))
    for tables in (1, len(columns)):
        spent = mechanism.budget.noise_cost(mechanism.table_scale(tables), tables)
        assert spent == pytest.approx(mechanism.parts[1])
    assert mechanism.counting + sum(mechanism.parts) == pytest.approx(mechanism.budget.total)


def test_rows_follow_the_laws_of_the_network() -> None:
    laws = [np.array([[0.25, 0.75]]), np.array([[1.0, 0.0, 0.0], [0.2, 0.3, 0.5]]), np.full((6, 2), [0.9, 0.1])]
    model = BayesianNetwork((2, 3, 2), [(0, ()), (1, (0,)), (2, (0, 1))], laws, 100.0)
    codes = model.codes(1000, np.random.default_rng(0))
    assert abs((codes[:, 0] == 1).sum() - 750) <= 1
    counts = np.bincount(codes[codes[:, 0] == 1, 1], minlength=3)
    np.testing.assert_allclose(counts, [150, 225, 375], atol=1.5)
    assert abs((codes[:, 2] == 1).sum() - 100) <= 6


def test_there_are_as_many_candidates_as_are_counted_and_too_many_are_refused() -> None:
    assert candidates(4, 2) == 3 * (1 + 1) + 2 * (1 + 2 + 1) + 1 * (1 + 3 + 3)
    assert dpsyn.PrivBayes(parents=4).calibrate(dpsyn.PrivacySpec(1.0), ASIA.domain, 9).most_parents == 4
    for columns, most in ((15, 3), (30, 2), (70, 1)):
        domain = dpsyn.Domain.of(dpsyn.Attribute(f"c{j}", "truth", (0, 1), public=True) for j in range(columns))
        assert dpsyn.PrivBayes().calibrate(dpsyn.PrivacySpec(1.0), domain, 9).most_parents == most
    wide = dpsyn.Domain.of(dpsyn.Attribute(f"c{j}", "truth", (0, 1), public=True) for j in range(200))
    with pytest.raises(ParameterError, match="pairs of a column and a parent"):
        dpsyn.PrivBayes().calibrate(dpsyn.PrivacySpec(1.0), wide, 9)


def test_columns_that_hang_on_each_other_come_back() -> None:
    random = np.random.default_rng(0)
    a = random.integers(0, 2, 5000)
    b = np.where(random.random(5000) < 0.9, a, 1 - a)
    c = (a ^ b) ^ (random.random(5000) < 0.05)
    frame = pd.DataFrame({"a": a, "b": b, "c": c.astype(int)})
    table = Table(frame, dpsyn.Domain.of(dpsyn.Attribute(name, "truth", (0, 1), public=True) for name in "abc"))
    made = dpsyn.PrivBayes().calibrate(dpsyn.PrivacySpec(2.0), table.domain, 5000)(np.random.default_rng(1), table).rows
    real, drawn = (rows.value_counts(normalize=True) for rows in (frame, made))
    assert real.sub(drawn, fill_value=0).abs().sum() / 2 < 0.03  # of all three columns together
