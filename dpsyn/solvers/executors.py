"""Where the sums over points are computed: in threads here, or on a Dask cluster. Everything passes this seam.

Work comes in shards: a few consecutive blocks of points. How many there are depends on the number of points alone, and
results are added in the order of the shards, so that a sum does not depend on who computed it.
"""

from __future__ import annotations

import gc
import os
import threading
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from functools import cache
from typing import Any

import numpy as np

from dpsyn import checks
from dpsyn.errors import ParameterError


class ThreadExecutor:
    """Threads of this process, with BLAS limited to one thread in each. Use it in a ``with`` statement, or close it.

    Args:
        threads: how many; None takes one for each processor that this process may use.
    """

    def __init__(self, threads: int | None = None) -> None:
        if threads is not None and threads < 1:
            raise ParameterError("threads", threads, "at least 1")
        self.threads = threads or available_processors()

    def __enter__(self) -> ThreadExecutor:
        return self

    def __exit__(self, *fault: object) -> None:
        self.close()

    def close(self) -> None:
        """Nothing to let go of."""

    def keep(self, shards: Sequence[Any]) -> Sequence[Any]:
        """The shards themselves, their points in memory."""
        return list(self.run(_kept, shards))

    def run(self, function: Callable[..., Any], handles: Sequence[Any], *lists: Sequence[Any]) -> Iterator[Any]:
        """function(shard, list_1[i], list_2[i], …) for every shard i, in order.

        Never more than two results for each thread wait to be taken.
        """
        if len(handles) == 1 or self.threads == 1:
            for arguments in zip(handles, *lists, strict=True):
                with one_blas_thread():
                    result = function(*arguments)
                yield result
            return
        waiting: deque[Future[Any]] = deque()
        with one_blas_thread(), ThreadPoolExecutor(self.threads) as pool:
            try:
                for arguments in zip(handles, *lists, strict=True):
                    if len(waiting) >= 2 * self.threads:
                        yield waiting.popleft().result()
                    waiting.append(pool.submit(function, *arguments))
                while waiting:
                    yield waiting.popleft().result()
            finally:
                for future in waiting:
                    future.cancel()


def _kept(shard: Any) -> Any:
    return shard.kept()


def available_processors() -> int:
    """Processors that this process may run on."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


@contextmanager
def one_blas_thread() -> Iterator[None]:
    """While anybody in this process is inside, BLAS uses one thread a call: the blocks run side by side already."""
    with _limit.lock:
        if _limit.inside == 0:
            _limit.limiter = _controller().limit(limits=1, user_api="blas")
        _limit.inside += 1
    try:
        yield
    finally:
        with _limit.lock:
            _limit.inside -= 1
            if _limit.inside == 0:
                # The limit belongs to the whole process, so the last one out takes it away and not the first.
                _limit.limiter.restore_original_limits()


class _Limit:
    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.inside = 0
        self.limiter: Any = None


_limit = _Limit()


@cache
def _controller() -> Any:
    import scipy.linalg  # noqa: F401  # it has a BLAS of its own, and what is not loaded yet is not limited
    from threadpoolctl import ThreadpoolController

    return ThreadpoolController()


SECONDS_TO_CONNECT = 10
_LARGE = 1 << 20
"""Bytes from which data is handed to the workers of a cluster beside the task instead of inside it."""


def connected(scheduler: str) -> Any:
    """A client of the Dask scheduler at an address, for instance ``"tcp://host:8786"``.

    Raises:
        ParameterError: it is no text, ``distributed`` is not installed, or nothing answers there.
    """
    scheduler = checks.text("scheduler", scheduler, "an address such as 'tcp://127.0.0.1:8786'")
    try:
        from distributed import Client
    except ImportError as fault:
        raise ParameterError(
            "scheduler", scheduler, "the package distributed is not installed; pip install 'dpsyn[cluster]'"
        ) from fault
    try:
        return Client(scheduler, timeout=SECONDS_TO_CONNECT, set_as_default=False)
    except (OSError, TimeoutError, ValueError) as fault:
        why = str(fault)
    # What is left of this client takes distributed's lock when it is collected. Left to chance, that may be inside of the
    # next client, which has the lock: then both wait for ever.
    gc.collect()
    raise ParameterError("scheduler", scheduler, f"no Dask scheduler answers there within {SECONDS_TO_CONNECT} s ({why})")


class DaskExecutor:
    """Workers of a Dask cluster. They need dpsyn installed, in the same version.

    Points drawn from seeds are drawn by the worker that keeps them, and drawn again by another should it die; points that
    were given travel once. Vectors of length m travel with every call that has some: the methods for large m have none.

    Args:
        scheduler: its address, as :func:`connected` takes it.

    Raises:
        ParameterError: as :func:`connected`.
    """

    def __init__(self, scheduler: str) -> None:
        self._client = connected(scheduler)

    def __enter__(self) -> DaskExecutor:
        return self

    def __exit__(self, *fault: object) -> None:
        self.close()

    def close(self) -> None:
        """Let go of the cluster and of what it keeps for this executor."""
        self._client.close()

    def keep(self, shards: Sequence[Any]) -> Sequence[Any]:
        """Futures of the shards, each with its points on one worker."""
        return [
            self._client.submit(_kept, shard, pure=False) if shard.is_light else self._client.scatter(shard, hash=False)
            for shard in shards
        ]

    def run(self, function: Callable[..., Any], handles: Sequence[Any], *lists: Sequence[Any]) -> Iterator[Any]:
        """Results in the order of the shards."""
        beside: dict[int, Any] = {}
        futures = [
            self._client.submit(_work, function, *(self._sent(one, beside) for one in arguments), pure=False)
            for arguments in zip(handles, *lists, strict=True)
        ]
        try:
            for at, future in enumerate(futures):
                yield future.result()
                # What has arrived need not stay on its worker.
                futures[at] = None
        finally:
            self._client.cancel([future for future in futures if future is not None])

    def _sent(self, argument: Any, beside: dict[int, Any]) -> Any:
        """The argument, or a future of it where it is large; the same object is sent once."""
        if isinstance(argument, tuple):
            return [self._sent(one, beside) for one in argument]
        if not isinstance(argument, np.ndarray) or argument.nbytes < _LARGE:
            return argument
        if id(argument) not in beside:
            beside[id(argument)] = self._client.scatter(argument, hash=False)
        return beside[id(argument)]


def _work(function: Callable[..., Any], shard: Any, *arguments: Any) -> Any:
    with one_blas_thread():
        return function(shard, *arguments)


Executor = ThreadExecutor | DaskExecutor
"""Runs a function on every shard and yields the results in order."""


def executor_for(scheduler: str | None) -> Executor:
    """Threads for None; for the address of a Dask scheduler (``"tcp://host:8786"``) its workers.

    Raises:
        ParameterError: the extra ``cluster`` is not installed, or nothing answers at the address.
    """
    return ThreadExecutor() if scheduler is None else DaskExecutor(scheduler)
