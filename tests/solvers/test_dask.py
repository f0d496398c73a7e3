from __future__ import annotations

import gc
import os
import sys
from collections.abc import Iterator

import numpy as np
import pytest

from dpsyn.errors import ParameterError
from dpsyn.solvers.executors import Executor, ThreadExecutor, executor_for
from dpsyn.solvers.operator import BlockOperator

distributed = pytest.importorskip("distributed")


@pytest.fixture(scope="module")
def cluster() -> Iterator[Executor]:
    """Two worker processes on this machine."""
    with (
        distributed.LocalCluster(
            n_workers=2, threads_per_worker=1, processes=True, dashboard_address=":0", worker_dashboard_address=":0"
        ) as workers,
        executor_for(workers.scheduler_address) as executor,
    ):
        yield executor


def _results(operator: BlockOperator) -> list[np.ndarray]:
    generator = np.random.default_rng(5)
    functions, points = operator.shape
    x, y = generator.random(points), generator.normal(size=functions)
    at = generator.integers(0, points, 50)
    return [operator.matvec(x), operator.rmatvec(y), operator.gram(x), operator.gram(), operator.codes(at)]


def test_two_workers_give_what_threads_give_and_draw_the_points_themselves(cluster: Executor) -> None:
    sizes, count = (2,) * 9 + (3, 5), 300_000
    here, there = (
        BlockOperator.uniform(sizes, 2, count, np.random.default_rng(3), executor)
        for executor in (ThreadExecutor(2), cluster)
    )
    for one, other in zip(_results(here), _results(there), strict=True):
        assert other == pytest.approx(one, rel=1e-12, abs=1e-12 * float(np.abs(one).max()))


def test_given_points_with_weights(cluster: Executor) -> None:
    generator = np.random.default_rng(0)
    codes = generator.integers(0, (3, 4, 2), (140_000, 3))
    weights = generator.random(len(codes)) + 0.5
    weights /= weights.sum()
    here, there = (
        BlockOperator.from_codes((3, 4, 2), 2, codes, weights, executor) for executor in (ThreadExecutor(1), cluster)
    )
    for one, other in zip(_results(here), _results(there), strict=True):
        assert other == pytest.approx(one, rel=1e-12, abs=1e-12 * float(np.abs(one).max()))
    some = there.sample(1000, np.random.default_rng(1))
    assert some.shape == (there.shape[0], 1000)
    assert some.weights.sum() == pytest.approx(1)


def test_both_workers_hold_points_and_only_seeds_pass_the_client(cluster: Executor) -> None:
    import cloudpickle

    operator = BlockOperator.uniform((2,) * 16, 1, 600_000, np.random.default_rng(3), cluster)
    operator.gram()
    client = cluster._client  # type: ignore[attr-defined]
    held = client.who_has(list(operator._handles))
    assert len({worker for workers in held.values() for worker in workers}) == 2
    light = BlockOperator.uniform((2,) * 16, 1, 600_000, np.random.default_rng(3), _Seen())
    sent = cloudpickle.dumps(light._handles)
    assert len(sent) < 20_000  # the points take 1.2 MB


class _Seen(ThreadExecutor):
    """Keeps the shards as they would be sent."""

    def keep(self, shards):  # type: ignore[no-untyped-def]
        return shards


def test_an_error_on_a_worker_arrives(cluster: Executor) -> None:
    operator = BlockOperator.uniform((2,) * 4, 1, 100, np.random.default_rng(3), cluster)
    with pytest.raises(ValueError, match="could not convert"):
        operator.matvec(np.array(["a"] * 100))  # type: ignore[arg-type]


def test_no_scheduler_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    def clients() -> int:
        return sum(type(thing) is distributed.Client for thing in gc.get_objects())

    monkeypatch.setattr("dpsyn.solvers.executors.SECONDS_TO_CONNECT", 0.2)
    before = clients()
    for address in ("tcp://127.0.0.1:1", "nowhere", ""):
        with pytest.raises(ParameterError, match="scheduler") as caught:
            executor_for(address)
        assert caught.value.field == "scheduler"
        assert clients() == before, "it would be closed at some time later, perhaps inside of another one"


def test_without_the_extra_the_message_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "distributed", None)
    with pytest.raises(ParameterError, match=r"pip install 'dpsyn\[cluster\]'"):
        executor_for("tcp://127.0.0.1:8786")


def test_points_of_a_worker_that_dies_are_drawn_again() -> None:
    with (
        distributed.LocalCluster(
            n_workers=2, threads_per_worker=1, processes=True, dashboard_address=":0", worker_dashboard_address=":0"
        ) as workers,
        executor_for(workers.scheduler_address) as executor,
    ):
        operator = BlockOperator.uniform((2,) * 16, 1, 600_000, np.random.default_rng(3), executor)
        before = operator.gram()
        client = executor._client  # type: ignore[attr-defined]
        victim = next(iter(client.who_has([operator._handles[0]]).values()))[0]
        client.run(os._exit, 1, workers=[victim], wait=False, on_error="ignore")
        assert (operator.gram() == before).all()
