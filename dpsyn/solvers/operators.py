"""What the solvers need of a matrix W whose columns are points: blocks of points, and sums over them.

:class:`dpsyn.solvers.operator.BlockOperator` makes the columns on demand from codes or bits, in threads or on a cluster;
:class:`DenseOperator` keeps a small W as it is. The solvers see no difference.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from dpsyn.errors import ParameterError

Floats = npt.NDArray[np.float64]
AnyFloats = npt.NDArray[Any]

_BLOCK_ENTRIES = 1 << 22


class PointBlock(Protocol):
    """The columns start … stop - 1 of W, W_b of shape (C, b), and the weights of their points."""

    @property
    def start(self) -> int: ...
    @property
    def stop(self) -> int: ...
    @property
    def weights(self) -> Floats:
        """p > 0 of the points of the block, shape (b,)."""

    def apply(self, x: Floats, dtype: Any = np.float64) -> Floats:
        """W_b x, shape (C,)."""

    def adjoint(self, y: Floats, dtype: Any = np.float64) -> AnyFloats:
        """W_bᵀ y, shape (b,)."""

    def gram(self, scaling: Floats, dtype: Any = np.float64) -> AnyFloats:
        """W_b diag(scaling) W_bᵀ, shape (C, C), for scaling >= 0."""

    def matrix(self, dtype: Any = np.float64) -> AnyFloats:
        """W_b itself, shape (C, b)."""

    def columns(self, at: npt.NDArray[np.intp]) -> Floats:
        """W_b[:, at]."""


class PointOperator(Protocol):
    """W of shape (C, m) with weights p of the points, Σ p = 1."""

    @property
    def shape(self) -> tuple[int, int]: ...
    @property
    def weights(self) -> Floats:
        """p, shape (m,)."""

    def reduce(self, kernel: Callable[..., tuple[Any, ...]], *arguments: Any, vectors: Sequence[Floats] = ()) -> Any:
        """Sum over the blocks, in a fixed order, of the tuples kernel(block, \\*arguments, \\*parts of the vectors)."""

    def map(self, kernel: Callable[..., Any], *arguments: Any, vectors: Sequence[Floats] = ()) -> list[Any]:
        """kernel(block, \\*arguments, \\*parts of the vectors) of every block, in order."""

    def matvec(self, x: Floats) -> Floats:
        """W x, shape (C,)."""

    def rmatvec(self, y: Floats) -> Floats:
        """Wᵀ y, shape (m,)."""

    def sample(self, count: int, generator: np.random.Generator) -> PointOperator:
        """W on points taken at random, with their weights scaled to sum 1."""


@dataclass(frozen=True, eq=False)
class DenseBlock:
    """A slice of the columns of a matrix."""

    functions: Floats
    weights: Floats
    start: int
    stop: int

    def apply(self, x: Floats, dtype: Any = np.float64) -> Floats:
        """W_b x."""
        return np.asarray(self.functions @ x, dtype=np.float64)

    def adjoint(self, y: Floats, dtype: Any = np.float64) -> AnyFloats:
        """W_bᵀ y."""
        return np.asarray(y @ self.functions)

    def gram(self, scaling: Floats, dtype: Any = np.float64) -> AnyFloats:
        """W_b diag(scaling) W_bᵀ."""
        used = np.flatnonzero(scaling)
        part = self.functions if len(used) == len(scaling) else self.functions[:, used]
        scaled = np.asarray(part * np.sqrt(scaling[used]), dtype=dtype)
        return np.asarray(scaled @ scaled.T)

    def matrix(self, dtype: Any = np.float64) -> AnyFloats:
        """W_b."""
        return np.asarray(self.functions, dtype=dtype)

    def columns(self, at: npt.NDArray[np.intp]) -> Floats:
        """Some columns of W_b."""
        return self.functions[:, at]


@dataclass(frozen=True, eq=False)
class DenseOperator:
    """W kept in memory: for small problems, which are solved again and again.

    Attributes:
        functions: W, shape (C, m).
        weights: p > 0 with Σ p = 1, shape (m,).

    Raises:
        ParameterError: shapes that do not fit, or weights that are no distribution.
    """

    functions: Floats
    weights: Floats

    def __post_init__(self) -> None:
        self._check()

    def _check(self) -> None:
        if self.functions.ndim != 2 or self.weights.shape != (self.functions.shape[1],):
            raise ParameterError("functions", f"shape {self.functions.shape}", f"shape (C, {self.weights.size})")
        if not (self.weights.min() > 0 and abs(self.weights.sum() - 1) < 1e-9):
            raise ParameterError("weights", f"sum {self.weights.sum()}", "positive numbers that sum to 1")

    @property
    def shape(self) -> tuple[int, int]:
        """(C, m)."""
        return self.functions.shape[0], self.functions.shape[1]

    @cached_property
    def blocks(self) -> tuple[DenseBlock, ...]:
        """Slices of at most 2^22 entries."""
        count, points = self.shape
        size = max(1, _BLOCK_ENTRIES // count)
        return tuple(
            DenseBlock(self.functions[:, at : at + size], self.weights[at : at + size], at, min(at + size, points))
            for at in range(0, points, size)
        )

    def map(self, kernel: Callable[..., Any], *arguments: Any, vectors: Sequence[Floats] = ()) -> list[Any]:
        """kernel of every block, in order."""
        return [kernel(block, *arguments, *(v[block.start : block.stop] for v in vectors)) for block in self.blocks]

    def reduce(self, kernel: Callable[..., tuple[Any, ...]], *arguments: Any, vectors: Sequence[Floats] = ()) -> Any:
        """Sum of the kernel's tuples over the blocks."""
        parts = self.map(kernel, *arguments, vectors=vectors)
        return tuple(sum(part[1:], start=part[0]) for part in zip(*parts, strict=True))

    def matvec(self, x: Floats) -> Floats:
        """W x."""
        return np.asarray(self.functions @ x, dtype=np.float64)

    def rmatvec(self, y: Floats) -> Floats:
        """Wᵀ y."""
        return np.asarray(y @ self.functions, dtype=np.float64)

    def sample(self, count: int, generator: np.random.Generator) -> DenseOperator:
        """Some of the columns, without repetition."""
        at = np.sort(generator.choice(self.shape[1], min(count, self.shape[1]), replace=False))
        return DenseOperator(np.ascontiguousarray(self.functions[:, at]), self.weights[at] / self.weights[at].sum())


class Restriction(DenseOperator):
    """Some of the points of another operator, with the weights that they have there."""

    def _check(self) -> None:
        pass
