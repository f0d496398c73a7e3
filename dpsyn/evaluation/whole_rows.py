"""Whole rows beside the real ones: can a tree tell them apart, and how many are copies.

The copies are here to warn of them: neither how many rows equal a real one nor how far the closest real row is says anything
about privacy. Real rows with a fifth of their cells changed (:func:`nearly_copies`) look better by both, and hide nobody.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from dpsyn.domain import Codes
from dpsyn.table import Table

Floats = npt.NDArray[np.float64]
Marks = npt.NDArray[np.uint64]

_LEAVES, _FEWEST_IN_A_LEAF, _SHUFFLES = 64, 20, 3
_MOST_ROWS, _FEWEST_ROWS, _CELLS = 10_000, 200, 2_000_000
"""Of either side that a tree sees; so many cells, where there are very many columns."""
_LOOKED_UP, _COMPARED = 500, 2e8
"""Rows whose closest real row is looked for, and cells that this may compare."""
_CHANGED = 2_000
_ODD = np.uint64(0x9E3779B97F4A7C15)


@dataclass(frozen=True)
class Propensity:
    """How well a tree tells some rows from the real ones (Snoke, Raab, Nowok, Dibben, Slavković 2018).

    Attributes:
        error: pMSE, mean of (p - c)² over all rows, where p is the tree's share of the others among rows like this one and
            c among all; 0 if it sees no difference, c(1 - c) if it tells all of them apart.
        by_chance: the same, on average, of labels that are shuffled: what rows of one source have.
        leaves: of the tree.
    """

    error: float
    by_chance: float
    leaves: int = _LEAVES

    @property
    def ratio(self) -> float:
        """``error`` in parts of ``by_chance``: 1 for a fresh sample, less for a copy, more where there is a difference.

        NaN where a tree finds nothing by chance: of so few rows, or so much alike, it can make no leaves."""
        return self.error / self.by_chance if self.by_chance else math.nan

    @property
    def chance(self) -> float:
        """About the probability of such a ratio in rows of one source: of as many leaves, less one, the errors are as χ²
        variables, and those of the shuffles, too."""
        from scipy.stats import f

        free = max(self.leaves - 1, 1)
        return float(f.sf(self.ratio, free, _SHUFFLES * free)) if self.by_chance else 1.0

    def to_dict(self) -> dict[str, Any]:
        """Plain data, fit for JSON."""
        return asdict(self) | {"ratio": None if math.isnan(self.ratio) else self.ratio}


def propensity(real: Codes, other: Codes, seed: int) -> Propensity:
    """pMSE of a classification tree of at most 64 leaves, and its mean over three shuffles of the labels.

    A tree finds dependences of any order. Its null expectation has no formula, so it comes from shuffles, as Snoke et al. do
    for trees. They divide it by two, for a model that was fitted to the real rows; here 1 is a fresh sample.

    Args:
        real: codes, shape (n, q).
        other: codes over the same domain, shape (k, q).
        seed: of the shuffles, and of the choice of rows where there are more than 10,000 (fewer, of very many columns).
    """
    generator = np.random.default_rng(seed)
    most = max(_FEWEST_ROWS, min(_MOST_ROWS, _CELLS // real.shape[1]))
    sides = [side if len(side) <= most else side[_at_random(len(side), most, seed)] for side in (real, other)]
    rows = np.concatenate(sides).astype(np.float32)
    of_others = np.repeat([0, 1], [len(side) for side in sides])
    error, leaves = _tree_error(rows, of_others, seed)
    chance = [_tree_error(rows, generator.permutation(of_others), seed)[0] for _ in range(_SHUFFLES)]
    return Propensity(error, float(np.mean(chance)), leaves)


def _at_random(rows: int, count: int, seed: int) -> npt.NDArray[np.int64]:
    # Of tables of as many rows the same ones: a copy stays a copy.
    return np.sort(np.random.default_rng(seed).choice(rows, size=count, replace=False))


def _tree_error(rows: npt.NDArray[np.float32], labels: npt.NDArray[np.int64], seed: int) -> tuple[float, int]:
    from sklearn.tree import DecisionTreeClassifier

    tree = DecisionTreeClassifier(
        max_leaf_nodes=_LEAVES, min_samples_leaf=min(_FEWEST_IN_A_LEAF, len(rows)), random_state=seed % 2**32
    )
    share = tree.fit(rows, labels).predict_proba(rows)[:, 1]
    return float(np.mean((share - labels.mean()) ** 2)), int(tree.get_n_leaves())


@dataclass(frozen=True)
class Copies:
    """Misleading measures of privacy, to be seen beside those of rows that hide nobody.

    Attributes:
        equal: share of the rows that equal a real row in every cell.
        distance: to the closest real row: the number of columns in which the two differ (numbers in bins), mean over at most
            500 rows.
    """

    equal: float
    distance: float

    def to_dict(self) -> dict[str, Any]:
        """Plain data, fit for JSON."""
        return asdict(self)


def copies(table: Table, rows: Table, real: Codes, other: Codes) -> Copies:
    """How many of some rows are copies of real ones, and how close the others are.

    Args:
        table: the real rows.
        rows: the others, over the same domain.
        real: the codes of the real rows, shape (n, q).
        other: the codes of the others, shape (k, q).
    """
    return Copies(_equal(_marks(table), _marks(rows)), _distance(real, other))


def nearly_copies(table: Table, real: Codes, seed: int) -> tuple[int, Copies]:
    """The same of some of the real rows, in each of which a fifth of the cells are those of another row: how many, and this.

    Args:
        table: the real rows.
        real: their codes, shape (n, q).
        seed: of the cells and the other rows.
    """
    generator, q = np.random.default_rng(seed), real.shape[1]
    own = np.linspace(0, table.n - 1, min(table.n, max(1, min(_CHANGED, _CELLS // q)))).astype(int)
    donors = (own + generator.integers(1, max(table.n, 2), size=len(own))) % table.n
    cells = max(1, round(q / 5))
    # Of the columns in which the two differ: the largest keys.
    keys = generator.random((len(own), q)) * (real[own] != real[donors])
    changed = (keys > 0) & (keys >= np.partition(keys, -cells, axis=1)[:, [-cells]])
    source = np.where(changed, donors[:, None], own[:, None])
    marks = _mark(values[source[:, j]] for j, values in enumerate(_columns(table)))
    return cells, Copies(_equal(_marks(table), marks), _distance(real, real[source, np.arange(q)]))


def _columns(table: Table) -> Iterable[npt.NDArray[Any]]:
    """What tells values apart: codes of categories, numbers as they are."""
    for j, attribute in enumerate(table.domain.attributes):
        yield attribute.numbers(table.different(attribute.name)) + 0.0 if attribute.is_binned else table.codes[:, j]


def _marks(table: Table) -> Marks:
    return _mark(_columns(table))


def _mark(columns: Iterable[npt.NDArray[Any]]) -> Marks:
    """64 bits a row, equal where all cells are; rows that differ have the same ones once in 10¹⁹ pairs."""
    found: Any = np.uint64(0)
    for values in columns:
        found = (found ^ pd.util.hash_array(values)) * _ODD
    return np.asarray(found, dtype=np.uint64)


def _equal(real: Marks, other: Marks) -> float:
    return float(np.isin(other, real).mean())


def _distance(real: Codes, other: Codes) -> float:
    count = min(len(other), max(1, min(_LOOKED_UP, int(_COMPARED / real.size))))
    looked_up = other[np.linspace(0, len(other) - 1, count).astype(int)]
    columns = np.ascontiguousarray(real.T)
    far = []
    for row in looked_up:
        differs = np.zeros(len(real), dtype=np.uint16)
        for j, values in enumerate(columns):
            differs += values != row[j]
        far.append(int(differs.min()))
    return float(np.mean(far))
