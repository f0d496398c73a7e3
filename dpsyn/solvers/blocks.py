"""Blocks of points: the unit of memory, and shards of blocks: the unit of work."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

from dpsyn.domain import Codes
from dpsyn.solvers.contrasts import Floats
from dpsyn.solvers.functions import GramSums, ProductFunctions
from dpsyn.solvers.points import Digits, KeptPoints, Points

Kernel = Callable[..., tuple[Any, ...]]


class Block:
    """Some consecutive points, with the values of the functions made on demand.

    Attributes:
        start, stop: numbers of the first point and of the one after the last.
        weights: p_i > 0, shape (b,); over all blocks they sum to 1.
    """

    def __init__(self, functions: ProductFunctions, digits: Digits, start: int, weights: Floats) -> None:
        self._functions = functions
        self._digits = digits
        self.start = start
        self.stop = start + digits.shape[1]
        self.weights = weights

    def apply(self, x: Floats, dtype: npt.DTypeLike = np.float64) -> Floats:
        """W_b x, shape (C,), for x of shape (b,); float32 adds the block's terms in single precision."""
        return self._functions.apply(self._digits, np.asarray(x, dtype=dtype))

    def adjoint(self, y: Floats, dtype: npt.DTypeLike = np.float64) -> npt.NDArray[Any]:
        """W_bᵀ y, shape (b,), for y of shape (C,); the result has the dtype."""
        return self._functions.adjoint(self._digits, y, dtype)

    def gram(self, scaling: Floats, dtype: npt.DTypeLike = np.float64) -> Floats:
        """W_b diag(scaling) W_bᵀ, shape (C, C), for scaling >= 0 of shape (b,)."""
        return self._functions.gram(self._digits, scaling, dtype)

    def gram_sums(self, scaling: Floats, dtype: npt.DTypeLike = np.float64) -> GramSums:
        """What :meth:`gram` follows from, in a form that is smaller to add up; see BlockOperator.gram_of."""
        return self._functions.gram_sums(self._digits, scaling, dtype)

    def matrix(self, dtype: npt.DTypeLike = np.float64) -> npt.NDArray[Any]:
        """W_b, shape (C, b)."""
        return self._functions.matrix(self._digits).astype(dtype, copy=False)

    def columns(self, at: npt.NDArray[np.integer[Any]]) -> Floats:
        """W_b of some of the points, shape (C, k)."""
        return self._functions.matrix(self._digits[:, at])

    def head(self, count: int) -> Block:
        """The block of its first points, ``count`` of them or all."""
        return Block(self._functions, self._digits[:, :count], self.start, self.weights[:count])

    def digits(self, at: npt.NDArray[np.integer[Any]]) -> Digits:
        """Some of the points as they are packed, shape (number of digits, k)."""
        return self._digits[:, at]

    def codes(self, at: npt.NDArray[np.integer[Any]] | slice = slice(None)) -> Codes:
        """The points, or some of them, shape (k, number of columns)."""
        return self._functions.layout.decode(self._digits[:, at])


@dataclass(frozen=True, eq=False)
class DenseBlock:
    """A slice of the columns of a matrix W, with the methods of :class:`Block` that the solvers call."""

    functions: Floats
    weights: Floats
    start: int
    stop: int

    def apply(self, x: Floats, dtype: npt.DTypeLike = np.float64) -> Floats:
        """W_b x."""
        return np.asarray(self.functions @ x, dtype=np.float64)

    def adjoint(self, y: Floats, dtype: npt.DTypeLike = np.float64) -> npt.NDArray[Any]:
        """W_bᵀ y."""
        return np.asarray(y @ self.functions)

    def gram(self, scaling: Floats, dtype: npt.DTypeLike = np.float64) -> npt.NDArray[Any]:
        """W_b diag(scaling) W_bᵀ."""
        used = np.flatnonzero(scaling)
        part = self.functions if len(used) == len(scaling) else self.functions[:, used]
        scaled = np.asarray(part * np.sqrt(scaling[used]), dtype=dtype)
        return np.asarray(scaled @ scaled.T)

    def matrix(self, dtype: npt.DTypeLike = np.float64) -> npt.NDArray[Any]:
        """W_b."""
        return np.asarray(self.functions, dtype=dtype)

    def columns(self, at: npt.NDArray[np.integer[Any]]) -> Floats:
        """Some columns of W_b."""
        return self.functions[:, at]


PointBlock = Block | DenseBlock
"""The columns start … stop - 1 of W, W_b of shape (C, b), and the weights of their points."""


@dataclass(frozen=True, eq=False)
class Shard:
    """A few consecutive blocks: the unit of work of an executor.

    Attributes:
        functions: what is evaluated.
        points: where the points come from.
        weights: of its points, or one number for all.
        bounds: where its blocks begin and end.
    """

    functions: ProductFunctions
    points: Points
    weights: Floats | float
    bounds: tuple[int, ...]

    @property
    def is_light(self) -> bool:
        """Whether its points are still to be made: then it is a few numbers long."""
        return not isinstance(self.points, KeptPoints)

    def kept(self) -> Shard:
        """The same with its points in memory."""
        if not self.is_light:
            return self
        layout, first = self.functions.layout, self.bounds[0]
        digits = np.empty((len(layout.groups), self.bounds[-1] - first), dtype=layout.dtype)
        for start, stop in pairwise(self.bounds):
            digits[:, start - first : stop - first] = self.points.block(start, stop)
        return replace(self, points=KeptPoints(digits, first))

    def blocks(self) -> Iterator[Block]:
        """The blocks, in order."""
        for start, stop in pairwise(self.bounds):
            weights = self.weights
            if isinstance(weights, float):
                weights = np.full(stop - start, weights)
            else:
                weights = weights[start - self.bounds[0] : stop - self.bounds[0]]
            yield Block(self.functions, self.points.block(start, stop), start, weights)


def add_up(parts: Iterable[tuple[Any, ...]]) -> tuple[Any, ...]:
    """The sum of the tuples, entry by entry and one after the other; empty tuples are passed over."""
    total: list[Any] = []
    for part in parts:
        if not total:
            # A copy, because arrays are added to in place and a kernel may have returned what it was given.
            total = [np.array(one, dtype=float) if isinstance(one, np.ndarray) else one for one in part]
            continue
        for at, one in enumerate(part):
            total[at] += one
    return tuple(total)


def reduce_shard(shard: Shard, kernel: Kernel, arguments: tuple[Any, ...], vectors: tuple[Floats, ...]) -> tuple[Any, ...]:
    """The sum of a kernel over the blocks of a shard."""
    return add_up(_each(shard, kernel, arguments, vectors))


def map_shard(shard: Shard, kernel: Any, arguments: tuple[Any, ...], vectors: tuple[Floats, ...]) -> list[Any]:
    """A kernel of every block of a shard."""
    return list(_each(shard, kernel, arguments, vectors))


def _each(shard: Shard, kernel: Any, arguments: tuple[Any, ...], vectors: tuple[Floats, ...]) -> Iterator[Any]:
    first = shard.bounds[0]
    for block in shard.blocks():
        yield kernel(block, *arguments, *(v[block.start - first : block.stop - first] for v in vectors))
