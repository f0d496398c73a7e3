"""The two networks of DP-GAN, two layers each: a critic of rows, and a generator of rows that have a wanted value.

A row of m codes is the vector of its m ones among all codes of all columns, divided by √m: its length is 1.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from dpsyn.domain import Codes
from dpsyn.solvers.adam import Adam

Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]

HIDDEN = 64
"""Numbers in the middle of the critic."""
_LEAK = 0.2
_BOUND = 0.05
"""The critic's parameters stay between -0.05 and 0.05, which bounds how steep it is (Arjovsky, Chintala, Bottou 2017)."""
_INPUTS, _MIDDLE = 32, 128
"""Random numbers that the generator starts from, and numbers in its middle."""
_TEMPERATURE = 0.5
_SMALLEST_SHARE = 1e-4
_RATE, _MOMENTS = 2e-3, (0.0, 0.9)
"""Of Adam, in both networks: with a memory of gradients the two circle around each other."""
_REMEMBERED = 0.98
"""Rows are drawn by the running mean of the generators, which circle less than each of them."""
_ROWS_AT_ONCE = 4096


@dataclass(frozen=True, eq=False)
class Columns:
    """Where the codes of every column stand among all of them.

    Attributes:
        sizes: number of codes of each column.
    """

    sizes: tuple[int, ...]

    @cached_property
    def starts(self) -> Integers:
        """The place of the first code of every column, shape (m,)."""
        return np.concatenate([[0], np.cumsum(self.sizes)[:-1]]).astype(np.int64)

    @cached_property
    def of(self) -> Integers:
        """The column of every code, shape (codes,)."""
        return np.repeat(np.arange(len(self.sizes)), self.sizes)

    def vectors(self, codes: Codes) -> Any:
        """The vectors of rows, a sparse matrix of shape (n, codes)."""
        from scipy.sparse import csr_matrix

        n, m = codes.shape
        ones, at = np.full(n * m, 1 / math.sqrt(m)), (codes + self.starts).ravel()
        return csr_matrix((ones, at, np.arange(0, n * m + 1, m)), shape=(n, len(self.of)))


@dataclass(frozen=True, eq=False)
class Critic:
    """f(x) = v·a(xW + b), a(t) = t above 0 and t/5 below: high on real rows, low on made ones.

    Attributes:
        values: W, b and v, one after another, shape (parameters,).
    """

    values: Floats

    @classmethod
    def random(cls, codes: int, generator: np.random.Generator) -> Critic:
        """To begin with."""
        return cls(generator.uniform(-_BOUND, _BOUND, parameters(codes)))

    @property
    def _layers(self) -> tuple[Floats, Floats, Floats]:
        return self.values[: -2 * HIDDEN].reshape(-1, HIDDEN), self.values[-2 * HIDDEN : -HIDDEN], self.values[-HIDDEN:]

    def clipped_sum(self, vectors: Any, norm: float) -> Floats:
        """Σ over rows of the gradient g of f(x), shortened to the norm C: g·min(1, C/‖g‖). Shape (parameters,).

        g is (x ⊗ u, u, h) with h = a(xW + b), u = v·a'(xW + b) and ‖x‖ = 1, so ‖g‖² = 2‖u‖² + ‖h‖². What a row adds follows
        from that row and the parameters alone, to the last bit: a(t) is a product, and a sparse product goes row by row.
        Lengths are taken in units of C, as the squares of small numbers are 0.

        Args:
            vectors: of rows, sparse or not, shape (n, codes).
            norm: C.
        """
        weights, bias, out = self._layers
        before = vectors @ weights + bias
        slope = np.where(before > 0, 1.0, _LEAK)
        hidden, pushed = before * slope, out * slope
        lengths = np.sqrt(2 * ((pushed / norm) ** 2).sum(axis=1) + ((hidden / norm) ** 2).sum(axis=1))
        share = 1 / np.maximum(lengths, 1.0)
        pushed *= share[:, None]
        return np.concatenate([(vectors.T @ pushed).ravel(), pushed.sum(axis=0), share @ hidden])

    def slope(self, vectors: Floats) -> Floats:
        """∇f at every row, shape (n, codes)."""
        weights, bias, out = self._layers
        return np.asarray((out * np.where(vectors @ weights + bias > 0, 1.0, _LEAK)) @ weights.T)

    def moved(self, by: Floats) -> Critic:
        """The parameters moved up by so much, and kept in their bounds."""
        return replace(self, values=np.clip(self.values + _RATE * by, -_BOUND, _BOUND))


def parameters(codes: int) -> int:
    """How many numbers a critic has."""
    return (codes + 2) * HIDDEN


@dataclass(frozen=True, eq=False)
class Made:
    """Rows of a generator with what led to them, for its gradient.

    Attributes:
        wanted: code that each row was to have, shape (n,).
        start, middle: random numbers and the middle, shape (n, ·).
        soft: probabilities of the codes of every column, shape (n, codes).
        vectors: of the rows that were drawn by them.
    """

    wanted: Integers
    start: Floats
    middle: Floats
    soft: Floats
    vectors: Floats


@dataclass(frozen=True, eq=False)
class Generator:
    """Rows from random numbers and one wanted value: of a column drawn evenly, by the noisy counts (Xu et al. 2019 draw
    it by the rows). The other columns are drawn by softmax, whose gradient is that of Gumbel-softmax.

    Attributes:
        columns: of the rows.
        reached: cumulative probability of every wanted code, shape (codes,).
        layers: weights of the random numbers, of the wanted code, and bias; weights of the middle, and bias.
    """

    columns: Columns
    reached: Floats
    layers: tuple[Floats, ...]

    @classmethod
    def by_counts(cls, columns: Columns, counts: Floats, generator: np.random.Generator) -> Generator:
        """One whose columns are independent at first, each by its noisy counts. ``counts`` has shape (codes,)."""
        shares = np.maximum(counts, 0.0)
        totals = np.add.reduceat(shares, columns.starts)[columns.of]
        law = np.where(totals > 0, shares / np.where(totals > 0, totals, 1.0), 1 / np.array(columns.sizes)[columns.of])
        codes, spread = len(columns.of), 1 / math.sqrt(_INPUTS + 1)
        first = (generator.normal(0.0, spread, (_INPUTS, _MIDDLE)), generator.normal(0.0, spread, (codes, _MIDDLE)))
        last = generator.normal(0.0, 1 / math.sqrt(_MIDDLE), (_MIDDLE, codes))
        layers = (*first, np.zeros(_MIDDLE), last, np.log(np.maximum(law, _SMALLEST_SHARE)))
        return cls(columns, np.cumsum(law) / len(columns.sizes), layers)

    def made(self, count: int, generator: np.random.Generator) -> Made:
        """So many rows."""
        numbers, codes, bias, out, last = self.layers
        starts, of = self.columns.starts, self.columns.of
        wanted = np.searchsorted(self.reached, generator.random(count) * self.reached[-1], side="right")
        start = generator.standard_normal((count, _INPUTS))
        middle = np.maximum(start @ numbers + codes[wanted] + bias, 0.0)
        drawn = middle @ out + last + generator.gumbel(size=(count, len(of)))
        drawn[of == of[wanted][:, None]] = -math.inf
        drawn[np.arange(count), wanted] = 0.0
        highest = np.maximum.reduceat(drawn, starts, axis=1)[:, of]
        soft = np.exp((drawn - highest) / _TEMPERATURE)
        soft /= np.add.reduceat(soft, starts, axis=1)[:, of]
        return Made(wanted, start, middle, soft, (drawn == highest) / math.sqrt(len(starts)))

    def gradients(self, made: Made, slope: Floats) -> Iterator[Floats]:
        """Mean over the rows of the gradient of f, by :attr:`layers`; ``slope`` is ∇f at the rows."""
        starts, of, count = self.columns.starts, self.columns.of, len(slope)
        # A wanted value has probability 1 in its column, so that nothing flows through it.
        off = slope - np.add.reduceat(made.soft * slope, starts, axis=1)[:, of]
        drawn = made.soft * off / (_TEMPERATURE * count * math.sqrt(len(starts)))
        middle = (drawn @ self.layers[3].T) * (made.middle > 0)
        codes = np.zeros_like(self.layers[1])
        np.add.at(codes, made.wanted, middle)
        yield from (made.start.T @ middle, codes, middle.sum(axis=0), made.middle.T @ drawn, drawn.sum(axis=0))

    def codes(self, count: int, generator: np.random.Generator) -> Codes:
        """Codes of so many rows, shape (count, columns)."""
        found = np.empty((count, len(self.columns.sizes)), dtype=np.int32)
        for start in range(0, count, _ROWS_AT_ONCE):
            vectors = self.made(min(_ROWS_AT_ONCE, count - start), generator).vectors
            for j, (first, size) in enumerate(zip(self.columns.starts, self.columns.sizes, strict=True)):
                found[start : start + len(vectors), j] = vectors[:, first : first + size].argmax(axis=1)
        return found


class Learning:
    """A critic and a generator that learn from each other.

    Attributes:
        critic: as it is now.
        mean: the running mean of the generators.
    """

    def __init__(self, critic: Critic, generator: Generator) -> None:
        self.critic, self.mean = critic, generator
        self._generator = generator
        self._uphill = Adam(*_MOMENTS)
        self._layers: Sequence[Adam] = [Adam(*_MOMENTS) for _ in generator.layers]

    def step(self, real: Floats, count: int, norm: float, generator: np.random.Generator) -> None:
        """The critic learns to tell real rows from made ones, the generator to be taken for real by it.

        Args:
            real: noisy mean of the critic's clipped gradients at real rows, shape (parameters,).
            count: rows that are made.
            norm: C, for the gradients at these, too.
            generator: of the draws.
        """
        made = self._generator.made(count, generator)
        by = self._uphill.direction(real - self.critic.clipped_sum(made.vectors, norm) / count)
        self.critic = self.critic.moved(by)
        gradients = self._generator.gradients(made, self.critic.slope(made.vectors))
        layers = tuple(
            layer + _RATE * adam.direction(gradient)
            for layer, adam, gradient in zip(self._generator.layers, self._layers, gradients, strict=True)
        )
        self._generator = replace(self._generator, layers=layers)
        kept = zip(self.mean.layers, layers, strict=True)
        self.mean = replace(self.mean, layers=tuple(_REMEMBERED * old + (1 - _REMEMBERED) * new for old, new in kept))
