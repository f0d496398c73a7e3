from __future__ import annotations

import numpy as np
import pytest

from dpsyn.data.samples import load_sample
from dpsyn.errors import ParameterError
from dpsyn.evaluation.order_of_mixture import OrderScores, accuracy_by_order
from dpsyn.table import Table


@pytest.fixture(scope="module")
def digits() -> tuple[Table, Table]:
    return load_sample("digits").split(0.3, np.random.default_rng(0))


@pytest.fixture(scope="module")
def found(digits: tuple[Table, Table]) -> OrderScores:
    return accuracy_by_order(
        *digits, "digit", epsilons=(None, 20.0), delta=1e-5, orders=(1, 16, 500), rows=500, draws=2, seed=3
    )


def test_mixing_lies_between_floor_and_ceiling_and_noise_costs(found: OrderScores) -> None:
    summary = found.summary().set_index(["epsilon", "order_of_mixture"])["accuracy"]
    ceiling = found.real.scores[0].accuracy
    assert ceiling is not None
    assert ceiling > 0.9
    assert 0.8 < summary[None, 1] <= ceiling + 0.02
    assert found.real.majority_accuracy < 0.2
    # A single record with all of its noise is nearly useless; sixteen of them are not.
    assert summary[20.0, 1] < summary[20.0, 16] < summary[None, 16] + 0.05
    assert summary[20.0, 16] > 2 * found.real.majority_accuracy


def test_an_order_above_every_class_has_no_number_and_a_reason(found: OrderScores) -> None:
    lost = [score for score in found.scores if score.order_of_mixture == 500]
    assert len(lost) == 4
    assert all(score.accuracy is None and score.note for score in lost)
    assert 500 not in set(found.summary()["order_of_mixture"])
    assert set(found.summary()["draws"]) == {2}


def test_the_same_seed_gives_the_same_numbers(digits: tuple[Table, Table]) -> None:
    settings = {"epsilons": (10.0,), "delta": 1e-5, "orders": (8,), "rows": 200, "draws": 2}
    first, again = (accuracy_by_order(*digits, "digit", seed=5, **settings) for _ in range(2))  # type: ignore[arg-type]
    assert first.scores == again.scores
    assert first.scores[0].accuracy != first.scores[1].accuracy


def test_a_rare_class_is_estimated_away() -> None:
    table = load_sample("car").take(np.r_[0:1700])
    train, test = table.split(0.3, np.random.default_rng(1))
    found = accuracy_by_order(train, test, "class", epsilons=(10.0,), delta=1e-5, orders=(64,), rows=400, draws=1)
    assert not found.public_sizes
    assert found.scores[0].accuracy is not None
    assert "no training row of" in found.scores[0].note


def test_progress_ends_with_everything_done(digits: tuple[Table, Table]) -> None:
    told: list[tuple[str, float]] = []
    accuracy_by_order(
        *digits, "digit", epsilons=(None,), delta=1e-5, orders=(2, 4), rows=100, draws=1,
        progress=lambda step, share: told.append((step, share)),
    )  # fmt: skip
    assert [share for _, share in told] == sorted(share for _, share in told)
    assert told[-1] == ("done", 1.0)


@pytest.mark.parametrize(
    ("field", "change"), [("orders", {"orders": ()}), ("epsilons", {"epsilons": ()}), ("draws", {"draws": 0})]
)
def test_wrong_arguments_name_the_field(digits: tuple[Table, Table], field: str, change: dict[str, object]) -> None:
    settings = {"epsilons": (1.0,), "delta": 1e-5, "orders": (2,), "rows": 100, "draws": 1} | change
    with pytest.raises(ParameterError) as caught:
        accuracy_by_order(*digits, "digit", **settings)  # type: ignore[arg-type]
    assert caught.value.field == field
