"""Walsh functions and product contrasts on many points as a linear operator W, never formed whole."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

from dpsyn.domain import Codes
from dpsyn.errors import ParameterError
from dpsyn.solvers.blocks import Block, DenseBlock, Kernel, Shard, add_up, map_shard, reduce_shard
from dpsyn.solvers.contingency import check_sizes_and_degree, checked_codes
from dpsyn.solvers.contrasts import Floats
from dpsyn.solvers.executors import Executor, ThreadExecutor
from dpsyn.solvers.functions import GramSums, product_functions
from dpsyn.solvers.points import DigitLayout, Digits, DomainPoints, KeptPoints, Points, SeededPoints

SMALLEST_BLOCK = 1 << 16
LARGEST_BLOCK = 1 << 18
MOST_SHARDS = 128
_DENSE_ENTRIES = 1 << 22
"""Of a block of a matrix that is kept."""


class BlockOperator:
    """W = [w_f(z_i)], shape (C, m), and weights p on its m points.

    The functions are products of contrasts of at most ``degree`` columns, in the order of
    :class:`~dpsyn.solvers.contrasts.ContrastBasis`; with two codes in every column they are the Walsh functions.

    Use one of :meth:`from_codes`, :meth:`uniform` and :meth:`whole`.
    """

    def __init__(
        self,
        sizes: Sequence[int],
        degree: int,
        points: Points,
        bounds: tuple[int, ...],
        weights: Floats | None = None,
        executor: Executor | None = None,
    ) -> None:
        self.sizes = tuple(int(size) for size in sizes)
        self.degree = degree
        self.functions = product_functions(self.sizes, degree)
        self.shape = (self.functions.dimension, bounds[-1])
        self._bounds = bounds
        self._weights = weights
        self._executor = executor or ThreadExecutor()
        edges = _shard_edges(len(bounds) - 1)
        self._spans = [(bounds[a], bounds[b]) for a, b in pairwise(edges)]
        shards = []
        for a, b in pairwise(edges):
            low, high = bounds[a], bounds[b]
            own: Floats | float = 1 / bounds[-1] if weights is None else weights[low:high]
            shards.append(Shard(self.functions, points.part(low, high), own, bounds[a : b + 1]))
        self._handles = self._executor.keep(shards)

    @classmethod
    def from_codes(
        cls,
        sizes: Sequence[int],
        degree: int,
        codes: Codes,
        weights: Floats | None = None,
        executor: Executor | None = None,
    ) -> BlockOperator:
        """The operator on given points.

        Args:
            sizes: number of codes of each column.
            degree: d, at least 1.
            codes: the points, shape (m, number of columns); repetitions are allowed. Bits are the codes 0 and 1, which
                stand for -1 and 1.
            weights: p > 0 with sum 1, shape (m,); None for 1/m each.
            executor: where sums are computed; None for threads.

        Raises:
            ParameterError: codes outside the sizes, no points, weights that are not positive or do not sum to 1.
        """
        check_sizes_and_degree(sizes, degree)
        codes = checked_codes(codes, sizes)
        count = len(codes)
        if count == 0:
            raise ParameterError("codes", "no points", "at least one point")
        if weights is not None:
            weights = np.asarray(weights, dtype=np.float64)
            if weights.shape != (count,) or not (weights.min() > 0 and abs(weights.sum() - 1) < 1e-9):
                raise ParameterError("weights", f"shape {weights.shape}", f"{count} positive numbers that sum to 1")
        layout = DigitLayout(sizes)
        return cls(sizes, degree, KeptPoints(layout.encode(codes)), block_bounds(count), weights, executor)

    @classmethod
    def uniform(
        cls,
        sizes: Sequence[int],
        degree: int,
        count: int,
        generator: np.random.Generator,
        executor: Executor | None = None,
    ) -> BlockOperator:
        """The operator on ``count`` independent uniform draws from the product domain, each of weight 1/count.

        The draws come block by block from seeds taken from the generator, so that blocks can be drawn wherever they
        are needed; the same generator gives the same points with every executor.

        Raises:
            ParameterError: fewer than one draw.
        """
        check_sizes_and_degree(sizes, degree)
        if count < 1:
            raise ParameterError("count", count, "at least one point")
        layout = DigitLayout(sizes)
        bounds = block_bounds(count)
        root = np.random.SeedSequence([int(word) for word in generator.integers(0, 1 << 32, 8, dtype=np.uint64)])
        points = SeededPoints(layout, bounds, tuple(root.spawn(len(bounds) - 1)))
        return cls(sizes, degree, points, bounds, None, executor)

    @classmethod
    def whole(cls, sizes: Sequence[int], degree: int, executor: Executor | None = None) -> BlockOperator:
        """The operator on every point of the product domain, in the order of all_codes, each of weight 1/Π sizes."""
        check_sizes_and_degree(sizes, degree)
        count = math.prod(sizes)
        points = DomainPoints(DigitLayout(sizes), 0, count)
        return cls(sizes, degree, points, block_bounds(count), None, executor)

    @property
    def weights(self) -> Floats:
        """p, shape (m,)."""
        count = self.shape[1]
        return np.full(count, 1 / count) if self._weights is None else self._weights

    def reduce(self, kernel: Kernel, *arguments: Any, vectors: Sequence[Floats] = ()) -> tuple[Any, ...]:
        """Σ over blocks, in a fixed order, of kernel(block, *arguments, *parts of the vectors).

        Args:
            kernel: a function at the top level of a module (it may travel); returns a tuple of numbers and arrays, or an
                empty tuple if the block adds nothing.
            arguments: handed to it as they are.
            vectors: of length m; a block gets its own part.
        """
        return add_up(self._run(reduce_shard, kernel, arguments, vectors))

    def map(self, kernel: Callable[..., Any], *arguments: Any, vectors: Sequence[Floats] = ()) -> list[Any]:
        """kernel(block, *arguments, *parts of the vectors) for every block, in order."""
        return [one for part in self._run(map_shard, kernel, arguments, vectors) for one in part]

    def _run(self, work: Callable[..., Any], kernel: Any, arguments: Any, vectors: Sequence[Floats]) -> Any:
        for vector in vectors:
            if vector.shape[:1] != (self.shape[1],):
                raise ParameterError("vectors", f"shape {vector.shape}", f"length m = {self.shape[1]}")
        count = len(self._handles)
        parts = [tuple(vector[low:high] for vector in vectors) for low, high in self._spans]
        return self._executor.run(work, self._handles, [kernel] * count, [arguments] * count, parts)

    def matvec(self, x: Floats) -> Floats:
        """W x, shape (C,), for x of shape (m,)."""
        total: Floats = self.reduce(_apply, vectors=(x,))[0]
        return total

    def rmatvec(self, y: Floats) -> Floats:
        """Wᵀ y, shape (m,), for y of shape (C,)."""
        return np.concatenate(self.map(_adjoint, y))

    def gram(self, scaling: Floats | None = None) -> Floats:
        """W diag(scaling) Wᵀ, shape (C, C), for scaling >= 0 of shape (m,); None for the weights."""
        if scaling is None:
            return self.gram_of(self.reduce(_gram_of_weights))
        return self.gram_of(self.reduce(_gram, vectors=(scaling,)))

    def gram_of(self, sums: Any) -> Floats:
        """The Gram matrix that :meth:`Block.gram_sums` of the blocks add up to, shape (C, C)."""
        return self.functions.gram_of(sums)

    def sample(self, count: int, generator: np.random.Generator) -> BlockOperator:
        """The operator on a uniform choice of the points without repetition, their weights scaled to sum 1, in threads.

        Raises:
            ParameterError: count is not in 1 … m.
        """
        if not 1 <= count <= self.shape[1]:
            raise ParameterError("count", count, f"1 to m = {self.shape[1]}")
        sizes = np.diff(self._bounds)
        # Block by block, so that the memory does not grow with m.
        shares = generator.multivariate_hypergeometric(sizes, count, method="marginals")
        chosen = np.concatenate(
            [
                start + np.sort(generator.choice(size, share, replace=False, shuffle=False))
                for start, size, share in zip(self._bounds[:-1], sizes, shares, strict=True)
            ]
        )
        digits = np.concatenate(self.map(_digits_at, chosen), axis=1)
        weights = None
        if self._weights is not None:
            weights = self._weights[chosen] / self._weights[chosen].sum()
        return BlockOperator(self.sizes, self.degree, KeptPoints(digits), block_bounds(count), weights)

    def codes(self, indices: npt.NDArray[np.integer[Any]]) -> Codes:
        """Points by their numbers, shape (k, number of columns)."""
        indices = np.asarray(indices)
        parts = self.map(_codes_at, np.sort(indices))
        order = np.argsort(indices, kind="stable")
        result = np.empty((len(indices), len(self.sizes)), dtype=np.int32)
        result[order] = np.concatenate(parts)
        return result


@dataclass(frozen=True, eq=False)
class DenseOperator:
    """W kept in memory: for small problems, which are solved again and again.

    Attributes:
        functions: W, shape (C, m).
        weights: p > 0, shape (m,).
    """

    functions: Floats
    weights: Floats

    @property
    def shape(self) -> tuple[int, int]:
        """(C, m)."""
        return self.functions.shape[0], self.functions.shape[1]

    @cached_property
    def blocks(self) -> tuple[DenseBlock, ...]:
        """Slices of at most 2^22 entries."""
        count, points = self.shape
        size = max(1, _DENSE_ENTRIES // count)
        return tuple(
            DenseBlock(self.functions[:, at : at + size], self.weights[at : at + size], at, min(at + size, points))
            for at in range(0, points, size)
        )

    def map(self, kernel: Callable[..., Any], *arguments: Any, vectors: Sequence[Floats] = ()) -> list[Any]:
        """kernel of every block, in order."""
        return [kernel(block, *arguments, *(v[block.start : block.stop] for v in vectors)) for block in self.blocks]

    def reduce(self, kernel: Kernel, *arguments: Any, vectors: Sequence[Floats] = ()) -> tuple[Any, ...]:
        """Sum of the kernel's tuples over the blocks."""
        return add_up(self.map(kernel, *arguments, vectors=vectors))

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


PointOperator = BlockOperator | DenseOperator
"""W of shape (C, m) with weights p of the points: sums over blocks of points, however their columns come about."""


def block_bounds(count: int) -> tuple[int, ...]:
    """Where the blocks of m points begin and end: a function of m alone."""
    return (*range(0, count, _block_size(count)), count)


def _block_size(count: int) -> int:
    return min(max(-(-count // 2), SMALLEST_BLOCK), LARGEST_BLOCK)


def largest_block(count: int) -> int:
    """The points of the largest block of m points, of which there may be too many to list their blocks."""
    return min(count, _block_size(count))


def _shard_edges(blocks: int) -> list[int]:
    shards = min(blocks, MOST_SHARDS)
    return [blocks * i // shards for i in range(shards + 1)]


def _apply(block: Block, x: Floats) -> tuple[Floats]:
    return (block.apply(x),)


def _adjoint(block: Block, y: Floats) -> Floats:
    return block.adjoint(y)


def _gram(block: Block, scaling: Floats) -> GramSums:
    return block.gram_sums(scaling)


def _gram_of_weights(block: Block) -> GramSums:
    return block.gram_sums(block.weights)


def _codes_at(block: Block, indices: npt.NDArray[np.integer[Any]]) -> Codes:
    return block.codes(_inside(block, indices))


def _digits_at(block: Block, indices: npt.NDArray[np.integer[Any]]) -> Digits:
    return block.digits(_inside(block, indices))


def _inside(block: Block, indices: npt.NDArray[np.integer[Any]]) -> npt.NDArray[np.int64]:
    """Which of the ascending indices lie in the block, counted from its start."""
    low, high = np.searchsorted(indices, (block.start, block.stop))
    return np.asarray(indices[low:high] - block.start, dtype=np.int64)
