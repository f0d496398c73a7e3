"""Tables of two columns of many codes: the wide ones with rare codes merged."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from dpsyn.domain import Codes
from dpsyn.mechanisms.noisy_reweighting.families import Cells, Family, Floats, Group, Integers, TableFamily
from dpsyn.privacy.spec import Neighbouring
from dpsyn.solvers.coded import CodedRows, Rows
from dpsyn.solvers.noisy_tables import Columns

WIDE = 1_200
"""Cells that a table of two columns has at most without being wide."""


def split_pairs(sizes: Sequence[int]) -> tuple[list[Columns], list[Columns]]:
    """Pairs of columns: those of narrow tables and those of wide ones."""
    narrow: list[Columns] = []
    wide: list[Columns] = []
    for i, j in combinations(range(len(sizes)), 2):
        (wide if sizes[i] * sizes[j] > WIDE else narrow).append((i, j))
    return narrow, wide


def groups_of(law: Floats, share: float) -> Integers:
    """A group for every code, shape (codes,), numbered in the order of their first codes.

    Codes of at least ``share`` have groups of their own; rarer ones are merged in their order until they hold as much
    together.
    """
    groups, following = np.empty(len(law), dtype=np.int64), 0
    filling, held = -1, 0.0
    for code, mass in enumerate(law):
        if mass >= share or filling < 0:
            groups[code], following = following, following + 1
            if mass < share:
                filling, held = int(groups[code]), float(mass)
            continue
        groups[code], held = filling, held + mass
        if held >= share:
            filling = -1
    return groups


class MergedTables(Family):
    """The cells of narrow tables, then those of wide tables over groups of codes.

    Args:
        narrow: as they are; every column is in one of them.
        wide: pairs of columns.
        groups: of the codes of every column.
    """

    name = "contingency"
    made_of: Cells

    def __init__(self, narrow: TableFamily, wide: Sequence[Columns], groups: Sequence[Integers]) -> None:
        self.narrow, self.wide, self._of = narrow, list(wide), groups
        self.sizes = narrow.sizes
        self._members = [_members(each) for each in groups]
        found, start = list(narrow.groups), narrow.count
        for i, j in self.wide:
            stop = start + self._members[i].shape[0] * self._members[j].shape[0]
            found.append(Group((i, j), start, stop))
            start = stop
        self.groups, self.count = tuple(found), start
        blocks = [sp.kron(self._members[i], self._members[j], "csr") for i, j in self.wide]
        self._combination = sp.csr_array(sp.block_diag([sp.eye_array(narrow.count), *blocks], "csr"))
        self.made_of = Cells((*narrow.tables, *self.wide), self._combination)

    def merged(self, real: Rows) -> Integers:
        """Counts of the wide tables alone: exact whole numbers."""
        found = []
        for i, j in self.wide:
            counts = real.counts((i, j)).reshape(self.sizes[i], self.sizes[j])
            by_row = np.add.reduceat(counts[np.argsort(self._of[i])], _starts(self._of[i]))
            both = np.add.reduceat(by_row[:, np.argsort(self._of[j])], _starts(self._of[j]), axis=1)
            found.append(both.ravel())
        return np.concatenate(found)

    def sums_of(self, real: Rows) -> Integers:
        """See :class:`~dpsyn.mechanisms.noisy_reweighting.families.Family`."""
        return np.concatenate([self.narrow.sums_of(real), self.merged(real)])

    def sums(self, codes: Codes) -> Integers:
        """The counts of all cells."""
        return self.sums_of(CodedRows(codes, self.sizes))

    def matrix(self, points: Codes) -> sp.csr_array:
        """Zeros and ones, sparse."""
        cells = TableFamily(self.sizes, self.made_of.tables).matrix(points)
        return sp.csr_array(self._combination @ cells)

    def l1(self, neighbouring: Neighbouring = "replace_one") -> int:
        """As of tables whose codes are not merged: no neighbour moves more."""
        return (1 if neighbouring == "add_remove" else 2) * len(self.groups)

    def spread_out(self, statistics: Floats) -> Floats:
        """Shares of all cells of all tables from those of the statistics under a density: inside a group of a wide table by
        the two columns alone, as maximum entropy has it, without what a density on few points holds by chance."""
        found, inside = [statistics[: self.narrow.count]], self._inside(statistics)
        for group in self.groups[len(self.narrow.groups) :]:
            i, j = group.columns
            mass = statistics[group.start : group.stop].reshape(self._members[i].shape[0], -1)
            found.append((mass[self._of[i]][:, self._of[j]] * np.outer(inside[i], inside[j])).ravel())
        return np.concatenate(found)

    def _inside(self, statistics: Floats) -> list[Floats]:
        """Of every code, its share of its group, by the first narrow table that has the column."""
        found = []
        for column, of in enumerate(self._of):
            group = next(group for group in self.narrow.groups if column in group.columns)
            table = statistics[group.start : group.stop].reshape([self.sizes[j] for j in group.columns])
            law = np.maximum(table.sum(axis=1 - group.columns.index(column)), 0.0)
            total = np.bincount(of, law)[of]
            alike = 1 / np.bincount(of)[of]
            found.append(np.where(total > 0, law / np.where(total > 0, total, 1.0), alike))
        return found


def _members(groups: Integers) -> sp.csr_array:
    """Zeros and ones, shape (groups, codes)."""
    return sp.coo_array((np.ones(len(groups)), (groups, np.arange(len(groups))))).tocsr()


def _starts(groups: Integers) -> npt.NDArray[np.int64]:
    """Where each group begins among the codes, put in order of their groups."""
    return np.searchsorted(np.sort(groups), np.arange(int(groups.max()) + 1)).astype(np.int64)


def merges(sizes: Sequence[int]) -> bool:
    """Whether there are wide tables, and of every column a narrow one that says which of its codes are rare."""
    narrow, wide = split_pairs(sizes)
    return bool(wide) and {j for pair in narrow for j in pair} == set(range(len(sizes)))
