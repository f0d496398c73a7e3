"""Densities h ∝ exp(Σ_t θ_t[z_t]) on a product domain of any size, by the tables over the cliques of a junction tree.

The columns of each table are joined in a graph, the graph is filled up until it is triangulated, and its cliques make a tree
in which those with a column in common hang together (Lauritzen, Spiegelhalter 1988). One pass from the leaves to the root
and one back give the law of every clique; the work is the number of their cells, whatever the domain's. Where the tables are
the edges of a tree, cliques are these edges.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from dpsyn.domain import Codes
from dpsyn.solvers.contingency import Tables, cell_numbers, cell_offsets
from dpsyn.solvers.rounding import drawn_given

Floats = npt.NDArray[np.float64]
Columns = tuple[int, ...]


def cliques_of(sizes: Sequence[int], tables: Tables) -> list[Columns]:
    """The cliques of a triangulated graph in which the columns of every table are joined; ascending columns.

    Columns leave the graph one by one, the one whose clique has the fewest cells first.
    """
    around = [1 << j for j in range(len(sizes))]
    for table in tables:
        joined = sum(1 << j for j in table)
        for j in table:
            around[j] |= joined
    cells = [_cells(sizes, mask) for mask in around]
    left = set(range(len(sizes)))
    found: list[int] = []
    while left:
        gone = min(left, key=lambda j: (cells[j], j))
        left.remove(gone)
        clique = around[gone]
        if not any(clique & other == clique for other in found):
            found.append(clique)
        for j in _members(clique & ~(1 << gone)):
            around[j] = (around[j] | clique) & ~(1 << gone)
            cells[j] = _cells(sizes, around[j])
    return [tuple(_members(mask)) for mask in found]


def model_cells(sizes: Sequence[int], tables: Tables) -> int:
    """Cells of all cliques together: what a :class:`JunctionTree` over these tables keeps."""
    return sum(math.prod(sizes[j] for j in clique) for clique in cliques_of(sizes, tables))


@dataclass(frozen=True)
class _Clique:
    """A clique, and how it hangs on one that comes before it.

    Attributes:
        columns: ascending.
        parent: number of the clique before it; its own number at the root.
        separator: columns that both have.
        shape: of its table.
        rest: axes of the columns that the parent does not have.
        as_separator: its shape, with 1 in place of these.
        in_parent: the parent's shape, with 1 in place of the columns that are not the separator's.
        outside: axes of the parent's other columns.
        cells: where its table stands among all of them.
    """

    columns: Columns
    parent: int
    separator: Columns
    shape: tuple[int, ...]
    rest: tuple[int, ...]
    as_separator: tuple[int, ...]
    in_parent: tuple[int, ...]
    outside: tuple[int, ...]
    cells: slice


@dataclass(frozen=True)
class _Place:
    """Where a table is in the tree: in which clique, with 1 in its shape for the other columns, whose axes they are."""

    clique: int
    shape: tuple[int, ...]
    others: tuple[int, ...]
    cells: slice

    @classmethod
    def of(cls, table: Columns, at: int, clique: _Clique, cells: slice) -> _Place:
        """A table in a clique, and where its cells stand among those of all tables."""
        shape = tuple(size if j in table else 1 for j, size in zip(clique.columns, clique.shape, strict=True))
        return cls(at, shape, tuple(axis for axis, j in enumerate(clique.columns) if j not in table), cells)


class JunctionTree:
    """A space of densities for the solvers: see :class:`~dpsyn.solvers.density_spaces.ListedSpace`.

    Its "density" is the law of every clique, one after the other: shape (points,).

    Args:
        sizes: number of codes of each column.
        tables: sets of columns, each ascending.
        log_base: ln μ up to a constant as a sum over columns: one number for each code of each column; uniform by default.
    """

    def __init__(self, sizes: Sequence[int], tables: Tables, log_base: Sequence[Floats] | None = None) -> None:
        self.sizes, self.tables = tuple(sizes), [tuple(table) for table in tables]
        self._offsets = cell_offsets(self.sizes, self.tables)
        self._cliques = _tree(self.sizes, cliques_of(self.sizes, self.tables))
        self.points = self._cliques[-1].cells.stop
        self._starts = [np.zeros(clique.shape) for clique in self._cliques]
        self._log_mass = sum(math.log(size) for size in self.sizes)
        if log_base is not None:
            self._log_mass = 0.0
            for j, law in enumerate(log_base):
                at = self._smallest((j,))
                self._starts[at] += law.reshape([-1 if i == j else 1 for i in self._cliques[at].columns])
                self._log_mass += float(np.logaddexp.reduce(law))
        self._places = [
            _Place.of(table, at, self._cliques[at], slice(int(a), int(b)))
            for table, a, b in zip(self.tables, self._offsets[:-1], self._offsets[1:], strict=True)
            for at in [self._smallest(table)]
        ]

    @property
    def cliques(self) -> list[Columns]:
        """Their columns, each clique after the one that it hangs on."""
        return [clique.columns for clique in self._cliques]

    def density(self, potential: Floats) -> tuple[Floats, float]:
        """The laws of the cliques under h ∝ μ·exp(Σ_c potential_c·c(z)), and ln Σ μ·exp(…), where Σ μ = 1."""
        given, log_total = self._given(potential)
        laws: list[Floats] = []
        for clique, law in zip(self._cliques, given, strict=True):
            known = laws[clique.parent].sum(axis=clique.outside).reshape(clique.as_separator) if laws else 1.0
            laws.append(law * known)
        return np.concatenate([law.ravel() for law in laws]), log_total - self._log_mass

    def expected(self, density: npt.NDArray[np.floating]) -> Floats:
        """Σ_z h(z) c(z) for every cell c of the tables."""
        laws = [density[clique.cells].reshape(clique.shape) for clique in self._cliques]
        found = np.empty(int(self._offsets[-1]))
        for place in self._places:
            found[place.cells] = laws[place.clique].sum(axis=place.others).ravel()
        return found

    def law(self, density: npt.NDArray[np.floating], columns: Columns) -> Floats:
        """The law of some columns of one clique, ascending, the last one running fastest."""
        clique = self._cliques[self._smallest(columns)]
        others = tuple(axis for axis, j in enumerate(clique.columns) if j not in columns)
        return np.asarray(density[clique.cells].reshape(clique.shape).sum(axis=others).ravel())

    def pairs(self, density: npt.NDArray[np.floating]) -> dict[tuple[int, int], Floats]:
        """The law of every two columns i < j, shape (size of i, size of j): along the tree, where no clique has both."""
        found = {}
        for first in range(len(self.sizes)):
            for second, law in self._beside(density, first):
                if first < second:
                    found[first, second] = law
        return found

    def rows(self, potential: Floats, count: int, generator: np.random.Generator) -> Codes:
        """Rows with little more spread than whole numbers need, clique by clique: shape (count, columns).

        Given what the clique before it has drawn, every cell of a clique gets its share of the rows, rounded up or down.
        """
        given, _ = self._given(potential)
        codes = np.zeros((count, len(self.sizes)), dtype=np.int32)
        for clique, law in zip(self._cliques, given, strict=True):
            behind = [axis for axis in range(len(clique.columns)) if axis not in clique.rest]
            groups = math.prod(clique.shape[axis] for axis in behind)
            by_group = np.transpose(law, (*behind, *clique.rest)).reshape(groups, -1)
            drawn = drawn_given(cell_numbers(codes, clique.separator, self.sizes), by_group, generator)
            sizes = [clique.shape[axis] for axis in clique.rest]
            for axis, code in zip(clique.rest, np.unravel_index(drawn, sizes), strict=True):
                codes[:, clique.columns[axis]] = code
        return codes

    def _given(self, potential: Floats) -> tuple[list[Floats], float]:
        """For every clique its law given the columns that it has in common with its parent, and ln Σ exp(…)."""
        logs = [start.copy() for start in self._starts]
        for place in self._places:
            logs[place.clique] += potential[place.cells].reshape(place.shape)
        log_total = 0.0
        for at in range(len(logs) - 1, -1, -1):
            clique, law = self._cliques[at], logs[at]
            peak = law.max(axis=clique.rest, keepdims=True)
            law -= peak
            np.exp(law, out=law)
            total = law.sum(axis=clique.rest, keepdims=True)
            law /= total
            message = peak + np.log(total)
            if clique.parent == at:
                log_total = float(message.item())
            else:
                logs[clique.parent] += message.reshape(clique.in_parent)
        return logs, log_total

    def _smallest(self, columns: Columns) -> int:
        """The smallest clique that has all of these columns."""
        holding = [at for at, clique in enumerate(self._cliques) if set(columns) <= set(clique.columns)]
        return min(holding, key=lambda at: self._cliques[at].cells.stop - self._cliques[at].cells.start)

    def _beside(self, density: npt.NDArray[np.floating], first: int) -> Iterator[tuple[int, Floats]]:
        """The law of one column together with every other one, from a clique that has it outwards.

        Given what two neighbouring cliques have in common, the column and the further clique are independent.
        """
        einsum: Any = np.einsum
        start = self._smallest((first,))
        waiting: list[tuple[int, int, Columns, Floats]] = [(start, start, (first,), np.diag(self.law(density, (first,))))]
        done: set[int] = {first}
        while waiting:
            at, before, known, joint = waiting.pop()
            mine = self._cliques[at].columns

            def along(asked: Columns, known: Columns = known, joint: Floats = joint) -> Floats:
                """Σ over the known columns of P(first, known)·P(asked | known)."""
                both = tuple(sorted({*known, *asked}))
                table = self.law(density, both).reshape([self.sizes[j] for j in both])
                others = tuple(axis for axis, j in enumerate(both) if j not in known)
                given = table / np.maximum(table.sum(axis=others, keepdims=True), 1e-300)
                sizes, mark = [self.sizes[j] for j in known], {j: axis for axis, j in enumerate(both)}
                ends = [len(both), *(mark[j] for j in known)], list(mark.values()), [len(both), *(mark[j] for j in asked)]
                found = einsum(joint.reshape(-1, *sizes), ends[0], given, ends[1], ends[2], optimize=True)
                return np.asarray(found).reshape(self.sizes[first], -1)

            for j in mine:
                if j not in done:
                    done.add(j)
                    yield j, along((j,))
            for other, clique in enumerate(self._cliques):
                beside = clique.parent == at or self._cliques[at].parent == other
                if other not in (at, before) and beside:
                    common = clique.separator if clique.parent == at else self._cliques[at].separator
                    waiting.append((other, at, common, along(common)))


def _tree(sizes: Sequence[int], cliques: Sequence[Columns]) -> list[_Clique]:
    """The cliques, each hung on the one before it with which it has most columns in common (Prim's algorithm)."""
    left = list(cliques[1:])
    placed: list[Columns] = [cliques[0]]
    hung: list[tuple[int, Columns]] = [(0, ())]
    while left:
        common = {(new, at): len(set(new) & set(old)) for new in left for at, old in enumerate(placed)}
        new, at = max(common, key=lambda pair: common[pair])
        hung.append((at, tuple(j for j in new if j in placed[at])))
        placed.append(new)
        left.remove(new)
    found, start = [], 0
    for columns, (parent, separator) in zip(placed, hung, strict=True):
        shape, before = tuple(sizes[j] for j in columns), placed[parent]
        stop = start + math.prod(shape)
        found.append(
            _Clique(
                columns,
                parent,
                separator,
                shape,
                rest=tuple(axis for axis, j in enumerate(columns) if j not in separator),
                as_separator=tuple(sizes[j] if j in separator else 1 for j in columns),
                in_parent=tuple(sizes[j] if j in separator else 1 for j in before),
                outside=tuple(axis for axis, j in enumerate(before) if j not in separator),
                cells=slice(start, stop),
            )
        )
        start = stop
    return found


def _members(mask: int) -> list[int]:
    found = []
    while mask:
        found.append((mask & -mask).bit_length() - 1)
        mask &= mask - 1
    return found


def _cells(sizes: Sequence[int], mask: int) -> int:
    return math.prod(sizes[j] for j in _members(mask))
