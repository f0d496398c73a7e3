"""What a mechanism hands to its noise, on a table and on its neighbours, while the noise answers alike."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import product
from typing import Any
from zlib import crc32

import numpy as np
import pandas as pd
import pytest

import dpsyn
from dpsyn.data.counted import AnyTable
from dpsyn.mechanisms import base
from dpsyn.mechanisms.base import Mechanism, Progress, Release, no_progress
from dpsyn.mechanisms.dual_query import mechanism as dual_query
from dpsyn.privacy.noise import NoiseSource
from dpsyn.solvers import graphical_model


@dataclass(frozen=True)
class Call:
    """One question to the noise: ``"laplace"``, ``"gaussian"`` or ``"choice"``, what was handed over, and the scale."""

    kind: str
    values: np.ndarray
    scale: float


class Deaf(NoiseSource):
    """Answers by its seed alone, with ``many`` whole numbers from ``least`` on, and keeps what it is handed."""

    def __init__(self, seed: int = 0, least: int = 0, many: int = 12) -> None:
        super().__init__(np.random.default_rng(seed))
        self.answers = np.random.default_rng(seed + 1)
        self.least, self.many = least, many
        self.calls: list[Call] = []

    def _counts(self, shape: tuple[int, ...]) -> np.ndarray:
        return self.least + self.answers.integers(0, self.many, shape)

    def _noted(self, kind: str, values: np.ndarray, scale: float) -> None:
        assert values.dtype == np.int64
        self.calls.append(Call(kind, values.copy(), scale))

    def discrete_laplace(self, values: np.ndarray, scale: float) -> np.ndarray:
        self._noted("laplace", values, scale)
        return self._counts(values.shape)

    def discrete_gaussian(self, values: np.ndarray, scale: float) -> np.ndarray:
        self._noted("gaussian", values, scale)
        return self._counts(values.shape)

    def exponential_choice(self, scores: np.ndarray, scale: float) -> int:
        self._noted("choice", scores, scale)
        return int(self.answers.integers(len(scores)))

    def exponential_choices(self, scores: np.ndarray, scale: int, count: int) -> np.ndarray:
        return np.array([self.exponential_choice(scores, scale) for _ in range(count)])


class Truthful(Deaf):
    """Answers without noise, and chooses by its seed alone."""

    def discrete_laplace(self, values: np.ndarray, scale: float) -> np.ndarray:
        self._noted("laplace", values, scale)
        return values

    def discrete_gaussian(self, values: np.ndarray, scale: float) -> np.ndarray:
        self._noted("gaussian", values, scale)
        return values


class Exact(Truthful):
    """Answers without noise, and chooses the highest score."""

    def exponential_choice(self, scores: np.ndarray, scale: float) -> int:
        self._noted("choice", scores, scale)
        return int(np.argmax(scores))


class Repeating(Deaf):
    """Answers with the true numbers of another table, whatever it is handed, and chooses by its seed alone."""

    def __init__(self, known: list[Call], seed: int = 0) -> None:
        super().__init__(seed)
        self.known = iter([call.values for call in known if call.kind != "choice"])

    def _counts(self, shape: tuple[int, ...]) -> np.ndarray:
        values = next(self.known)
        assert values.shape == shape
        return values


def run(mechanism: Mechanism, table: dpsyn.Table, seed: int = 0) -> tuple[list[Call], pd.DataFrame]:
    """What is handed over, and the rows."""
    return asked(Deaf(seed), mechanism, table)


def asked(noise: Deaf, mechanism: Mechanism, table: dpsyn.Table) -> tuple[list[Call], pd.DataFrame]:
    """What this noise is handed, and the rows."""
    return noise.calls, called(noise, mechanism, table).rows


def called(noise: NoiseSource, mechanism: Mechanism, table: AnyTable, progress: Progress = no_progress) -> Release:
    """What a call gives out that draws on this noise."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(base, "NoiseSource", lambda _: noise)
        return mechanism(noise.generator, table, progress)


def assert_same(one: pd.DataFrame, other: pd.DataFrame) -> None:
    """What differs is told by the slower of two comparisons."""
    if not one.equals(other):
        pd.testing.assert_frame_equal(one, other, check_exact=True)
        raise AssertionError("not equal")


def alike(mine: list[Call], theirs: list[Call]) -> bool:
    """Whether the questions are alike but for what is handed over."""
    return [(a.kind, a.values.shape, a.scale) for a in mine] == [(b.kind, b.values.shape, b.scale) for b in theirs]


def neighbours(frame: pd.DataFrame, values: dict[str, list[Any]], neighbouring: str) -> Iterator[pd.DataFrame]:
    """Tables in which every other row is replaced by a row of these values, or one of them is added, or any one removed."""
    for row in product(*values.values()):
        new = pd.DataFrame([dict(zip(values, row, strict=True))])
        if neighbouring == "add_remove":
            yield pd.concat([frame, new], ignore_index=True)
        else:
            for at in range(1, len(frame), 2):
                yield pd.concat([frame.drop(index=at), new], ignore_index=True)
    if neighbouring == "add_remove":
        for at in range(len(frame)):
            yield frame.drop(index=at).reset_index(drop=True)


@dataclass
class Spent:
    """What one neighbour costs at most: ε of Laplace noise and choices, ρ of Gaussian noise and choices, counts it moves.

    ``step`` is how far it moves a number that gets Gaussian noise.
    """

    epsilon: float = 0.0
    laplace: float = 0.0
    rho: float = 0.0
    moved: list[int] = field(default_factory=list)
    step: int = 0


def spent(mine: list[Call], theirs: list[Call]) -> Spent:
    """What the answers to two tables tell apart at most. The questions must be alike but for what is handed over.

    A choice by scores that move by Δ_i loses at most r = (max Δ - min Δ)/scale, and r²/8 in ρ (bounded range).
    """
    assert alike(mine, theirs)
    found = Spent()
    for a, b in zip(mine, theirs, strict=True):
        apart = (a.values - b.values).ravel()
        if a.kind == "choice":
            loss = float(np.ptp(apart)) / a.scale
            found.epsilon += loss
            found.rho += loss**2 / 8
        elif a.kind == "laplace":
            found.epsilon += float(np.abs(apart).sum()) / a.scale
            found.laplace += float(np.abs(apart).sum()) / a.scale
        else:
            found.step = max(found.step, int(np.abs(apart).max()))
            found.rho += float((apart**2).sum()) / (2 * a.scale**2)
            found.moved.append(int(np.abs(apart).sum()))
    return found


def remember_fits(monkeypatch: Any) -> None:
    """Fits of equal numbers are made once: on neighbours they are equal, if fits see noisy numbers alone.

    The best row for some queries is any row, the same one for the same queries.
    """

    def remembered(make: Any) -> Any:
        known: dict[tuple[Any, ...], Any] = {}

        def fit(space: Any, target: Any, spread: Any, *_: Any, center: Any = None, **more: Any) -> Any:
            key = (tuple(space.tables), target.tobytes(), spread.tobytes(), None if center is None else center.tobytes())
            if key not in known:
                if center is None:  # the generator is left as it is, as by a fit that is remembered
                    known[key] = make(space, target, spread, np.random.default_rng(0), stages=2, iterations=20)
                else:
                    known[key] = make(space, target, spread, *_, center=center, iterations=5)
            return known[key]

        return fit

    def any_row(sizes: Any, *queries: Any) -> Any:
        *arrays, random, _ = queries
        known = b"".join(np.asarray(one).tobytes() for one in arrays)
        return np.random.default_rng([crc32(known), *random.bytes(4)]).integers(sizes)

    monkeypatch.setattr(dual_query, "best_response", any_row)
    for name in ("max_entropy", "max_entropy_step"):
        monkeypatch.setattr(graphical_model, name, remembered(getattr(graphical_model, name)))
