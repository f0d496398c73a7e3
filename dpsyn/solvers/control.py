"""What a caller may do while a program is being solved: watch, stop it, and limit its memory."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from typing import Protocol

from dpsyn.errors import CancelledError
from dpsyn.solvers.executors import one_blas_thread
from dpsyn.solvers.memory import require_memory

SolverProgress = Callable[[str, float, Mapping[str, float]], None]
"""Called with what is being done, the share of the work done so far in [0, 1], and numbers: ``"iteration"``,
``"residual"``, ``"gap"`` as far as they are known. What it raises ends the solver and reaches the caller."""

NEAR_ENTRIES = 1 << 25
"""Entries of W that a restricted problem may keep."""
_SMALL, _SMALL_ENTRIES = 300, 4_000_000
_VECTORS = 26
"""Vectors of length m that the interior-point method holds."""


class Stop(Protocol):
    """Says whether to stop: a ``threading.Event`` does."""

    def is_set(self) -> bool: ...


@dataclass(eq=False)
class Control:
    """One run of a solver: its clock, its listener, its stop sign.

    Attributes:
        progress: the listener, or None.
        cancel: is asked between steps; None never stops.
    """

    progress: SolverProgress | None = None
    cancel: Stop | None = None
    started: float = field(default_factory=time.perf_counter)
    iterations: int = 0

    @property
    def seconds(self) -> float:
        """Since the start."""
        return time.perf_counter() - self.started

    def tell(self, step: str, share: float, **numbers: float) -> None:
        """Report, and stop if asked to.

        Raises:
            CancelledError: the stop sign is set.
        """
        if self.cancel is not None and self.cancel.is_set():
            raise CancelledError(f"stopped on request during: {step}")
        if self.progress is not None:
            self.progress(step, min(max(share, 0.0), 1.0), {"iteration": self.iterations, **numbers})


def solver_bytes(functions: int, points: int, *, dense: bool) -> int:
    """Memory of the solvers beyond that of the operator, at most: both programs, one after the other.

    The dual methods hold a few C x C matrices and some columns of W; the density itself has m numbers. The interior-point
    method (``dense``: W is small) holds vectors of length m too. What the operator takes, with its Gram matrices, is
    :func:`dpsyn.solvers.memory.estimate_memory`.
    """
    matrices = 5 * 8 * functions**2
    near = 3 * 8 * min(NEAR_ENTRIES, functions * points)
    return matrices + near + 8 * points * (_VECTORS if dense else 2)


def require_solver_memory(functions: int, points: int, *, dense: bool, limit: int | None) -> None:
    """Refuse before the start what does not fit; a matter of C and m, not of the data.

    Raises:
        ParameterError: more is needed than ``limit`` bytes, or than the machine has left.
    """
    needed = solver_bytes(functions, points, dense=dense)
    require_memory("reduced_space_size", points, needed, limit, f"The programs have C = {functions:,} functions")


def few_threads(functions: int, points: int) -> AbstractContextManager[object]:
    """One BLAS thread while a small problem is solved: on its small matrices several would mostly wait for each other."""
    return one_blas_thread() if functions <= _SMALL or functions * points <= _SMALL_ENTRIES else nullcontext()
