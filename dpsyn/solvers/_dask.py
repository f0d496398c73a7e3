"""The executor on a Dask cluster: points live on the workers, only sums travel."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from dpsyn.errors import ParameterError
from dpsyn.solvers.executors import one_blas_thread

SECONDS_TO_CONNECT = 10
_LARGE = 1 << 20
"""Bytes from which data is handed to the workers beside the task instead of inside it."""


class DaskExecutor:
    """Workers of a Dask cluster. They need dpsyn installed, in the same version.

    Points drawn from seeds are drawn by the worker that keeps them, and drawn again by another should it die; points that
    were given travel once. Vectors of length m travel with every call that has some: the methods for large m have none.

    Args:
        scheduler: its address, for instance ``"tcp://host:8786"``.

    Raises:
        ParameterError: ``distributed`` is not installed, or nothing answers.
    """

    def __init__(self, scheduler: str) -> None:
        try:
            from distributed import Client
        except ImportError as fault:
            raise ParameterError(
                "scheduler", scheduler, "the package distributed is not installed; pip install 'dpsyn[cluster]'"
            ) from fault
        try:
            self._client = Client(scheduler, timeout=SECONDS_TO_CONNECT, set_as_default=False)
        except (OSError, TimeoutError, ValueError) as fault:
            raise ParameterError(
                "scheduler", scheduler, f"no Dask scheduler answers there within {SECONDS_TO_CONNECT} s ({fault})"
            ) from fault

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


def _kept(shard: Any) -> Any:
    return shard.kept()


def _work(function: Callable[..., Any], shard: Any, *arguments: Any) -> Any:
    with one_blas_thread():
        return function(shard, *arguments)
