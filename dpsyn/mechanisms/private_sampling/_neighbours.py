"""Neighbours of a table: which there are, their statistics, and which of them move a density most."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from dpsyn import checks
from dpsyn.domain import Codes
from dpsyn.errors import ParameterError
from dpsyn.mechanisms.private_sampling._solve import Matched
from dpsyn.privacy.spec import Neighbouring
from dpsyn.solvers.contingency import all_codes
from dpsyn.solvers.contrasts import ContrastBasis
from dpsyn.solvers.matching import MatchingProblem
from dpsyn.table import Table

Floats = npt.NDArray[np.float64]
Row = tuple[int, ...]

_MOST_LISTED = 1_000_000
_POOL = 50_000
_POOL_ENTRIES = 10_000_000
_POINTS = 64
_BEST = 8
_AT_RANDOM = 4
_AT_THE_EDGE = 1e-9
_SINGULAR = 1e-10


@dataclass(frozen=True)
class Change:
    """What turns a table into a neighbour.

    Attributes:
        removed: codes of a row that goes, or None.
        added: codes of a row that comes, or None.
    """

    removed: Row | None
    added: Row | None


class Neighbours:
    """The neighbours of a table, by the statistics that they have.

    Args:
        table: X.
        basis: the functions whose means are the statistics.

    Attributes:
        n: number of rows.
        rows: the distinct rows of the table, shape (number of them, number of columns).
        statistics: a = (1/n) Σ w(x_i), shape (C,); ``sparse_statistics`` are those in the basis of indicators.
    """

    def __init__(self, table: Table, basis: ContrastBasis) -> None:
        self.n = table.n
        self.basis = basis
        self.sizes = basis.sizes
        self.rows: Codes = np.unique(table.codes, axis=0)
        self.statistics = basis.means(table.codes)
        self.sparse_statistics = basis.sparse_means(table.codes)
        self._known = {_row(codes) for codes in self.rows}

    def checked(self, change: Change, neighbouring: Neighbouring) -> Change:
        """The change in plain numbers; raises ParameterError unless it makes a neighbour."""
        checks.instance("change", change, Change, "a Change, the rows removed and added")
        removed, added = self._codes("removed", change.removed), self._codes("added", change.added)
        wanted = {"replace_one": ((True, True),), "add_remove": ((True, False), (False, True))}[neighbouring]
        if (removed is not None, added is not None) not in wanted:
            means = "a row removed and a row added" if neighbouring == "replace_one" else "one row removed, or one added"
            raise ParameterError("change", change, f"under {neighbouring} a neighbour has {means}")
        if removed is not None and removed not in self._known:
            raise ParameterError("removed", removed, "codes of a row of the table")
        if removed is not None and added is None and self.n < 2:
            raise ParameterError("removed", removed, "a table needs at least one row that stays")
        return Change(removed, added)

    def _codes(self, field: str, row: Row | None) -> Row | None:
        why = f"codes of a row of the domain, below {self.sizes}"
        codes = (
            None if row is None else tuple(checks.whole(field, code, 0, why=why) for code in checks.items(field, row, why))
        )
        if codes is not None and not (
            len(codes) == len(self.sizes) and all(code < size for code, size in zip(codes, self.sizes, strict=True))
        ):
            raise ParameterError(field, row, why)
        return codes

    def after(self, change: Change) -> tuple[Floats, Floats]:
        """Statistics of the neighbour, and those in the basis of indicators; each of shape (C,)."""
        n = self.n - (change.removed is not None) + (change.added is not None)
        total, sparse = self.n * self.statistics, self.n * self.sparse_statistics
        for row, sign in ((change.removed, -1), (change.added, 1)):
            if row is not None:
                codes = np.array([row], dtype=np.int32)
                total = total + sign * self.basis.matrix(codes)[:, 0]
                sparse = sparse + sign * self.basis.sparse_means(codes)
        return total / n, sparse / n

    def count(self, neighbouring: Neighbouring) -> int:
        """How many different neighbours there are."""
        size = math.prod(self.sizes)
        if neighbouring == "replace_one":
            return len(self.rows) * (size - 1)
        return size + (len(self.rows) if self.n > 1 else 0)

    def all(self, neighbouring: Neighbouring) -> list[Change]:
        """Every different neighbour.

        Raises:
            ParameterError: there are more than _MOST_LISTED.
        """
        if self.count(neighbouring) > _MOST_LISTED:
            raise ParameterError(
                "method", "all", f"{self.count(neighbouring):,} neighbours are too many to try; take 'steered' or 'random'"
            )
        domain = [_row(codes) for codes in all_codes(self.sizes)]
        rows = [_row(codes) for codes in self.rows]
        if neighbouring == "replace_one":
            return [Change(removed, added) for removed in rows for added in domain if removed != added]
        return [Change(None, added) for added in domain] + ([Change(row, None) for row in rows] if self.n > 1 else [])

    def random(self, neighbouring: Neighbouring, tries: int, generator: np.random.Generator) -> list[Change]:
        """Different neighbours at random: rows of the table, each distinct one alike, and uniform rows of the domain."""
        found: dict[Change, None] = {}
        for _ in range(4 * tries):
            removed = _row(self.rows[generator.integers(len(self.rows))])
            added = tuple(int(generator.integers(size)) for size in self.sizes)
            if neighbouring == "add_remove":
                change = Change(None, added) if self.n == 1 or generator.random() < 0.5 else Change(removed, None)
            elif removed == added:
                continue
            else:
                change = Change(removed, added)
            found[change] = None
            if len(found) == tries:
                break
        return list(found)

    def steered(
        self,
        neighbouring: Neighbouring,
        tries: int,
        generator: np.random.Generator,
        problem: MatchingProblem,
        matched: Matched,
    ) -> list[Change]:
        """Neighbours that move ln h* most to first order, and a quarter at random."""
        slopes = log_density_slopes(problem, matched)
        most = max(1, tries - tries // _AT_RANDOM)
        found = dict.fromkeys(self._steepest(neighbouring, slopes, generator)[:most] if slopes.size else [])
        for change in self.random(neighbouring, tries, generator):
            if len(found) >= tries:
                break
            found[change] = None
        return list(found)

    def _steepest(self, neighbouring: Neighbouring, slopes: Floats, generator: np.random.Generator) -> list[Change]:
        pool = self._pool(generator)
        added = slopes.T @ self.basis.matrix(pool)
        removed = slopes.T @ self.basis.matrix(self.rows)
        middle = (slopes.T @ self.statistics)[:, None]
        scored: dict[Change, float] = {}
        if neighbouring == "add_remove":
            for codes, pull, n, coming in ((pool, added, self.n + 1, True), (self.rows, removed, self.n - 1, False)):
                if n > 0:
                    for row, score in zip(codes, np.abs(pull - middle).max(axis=0) / n, strict=True):
                        scored[Change(None, _row(row)) if coming else Change(_row(row), None)] = float(score)
        else:
            for sign in (1, -1):
                for come, go in zip(sign * added, sign * removed, strict=True):
                    for a in _largest(come):
                        for r in _largest(-go):
                            change = Change(_row(self.rows[r]), _row(pool[a]))
                            if change.removed != change.added:
                                scored[change] = max(scored.get(change, 0.0), float(come[a] - go[r]))
        return sorted(scored, key=lambda change: -scored[change])

    def _pool(self, generator: np.random.Generator) -> Codes:
        most = max(1, min(_POOL, _POOL_ENTRIES // self.basis.dimension))
        if math.prod(self.sizes) <= most:
            return all_codes(self.sizes)
        drawn = np.stack([generator.integers(0, size, most, dtype=np.int32) for size in self.sizes], axis=1)
        return np.unique(np.concatenate([drawn, self.rows[:most]]), axis=0)


def log_density_slopes(problem: MatchingProblem, matched: Matched) -> Floats:
    """Derivatives of ln h* in the statistics a, at the points inside the box where they are largest; shape (C, points).

    Inside the box x = 1 + Wᵀv, with W_F diag(p_F) W_Fᵀ dv = d((1-λ) a + λ u) over the points F inside, and
    dλ = (1-λ) y·da with the multipliers y of the linear program.
    """
    if matched.linear is None or matched.quadratic is None:
        return np.zeros((len(problem.target), 0))
    ratio = matched.ratio
    free = np.flatnonzero((ratio > problem.lower + _AT_THE_EDGE) & (ratio < problem.upper - _AT_THE_EDGE))
    functions = problem.functions[:, free]
    values, vectors = np.linalg.eigh((functions * problem.weights[free]) @ functions.T)
    kept = values > _SINGULAR * max(1.0, float(values[-1]))
    answer = (vectors[:, kept] / values[kept]) @ (vectors[:, kept].T @ functions)
    stay = 1.0 - matched.shrinkage
    slopes = stay * (answer - np.outer(matched.linear.multipliers, problem.towards @ answer)) / ratio[free]
    steepest = np.argsort(-(slopes**2).sum(axis=0), kind="stable")[:_POINTS]
    return np.asarray(slopes[:, steepest])


def _largest(values: Floats) -> list[int]:
    count = min(_BEST, len(values))
    return [int(i) for i in np.argpartition(-values, count - 1)[:count]]


def _row(codes: Codes) -> Row:
    return tuple(int(code) for code in codes)
