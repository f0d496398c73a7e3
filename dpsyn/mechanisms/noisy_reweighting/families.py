"""Families of statistics Σ_i f(x_i), f in F: one shape for all, with exact sensitivities and exact whole-number sums.

Every family counts in whole numbers, so that exact discrete noise can go on its sums: f takes values that are multiples of
``unit``, and sums are given in that unit. Sensitivities are of these whole numbers; divide by n/``unit`` for averages.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cache, reduce
from itertools import combinations
from typing import Literal

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from dpsyn.domain import Codes
from dpsyn.errors import ParameterError
from dpsyn.privacy.sensitivity import changed_walsh_functions
from dpsyn.privacy.spec import Neighbouring
from dpsyn.solvers.coded import CodedRows, Rows
from dpsyn.solvers.contingency import cell_offsets, check_sizes_and_degree, checked_codes, column_sets, walsh_dimension
from dpsyn.solvers.contrasts import walsh_matrix, walsh_sums

Integers = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]
Matrix = Floats | sp.csr_array
Tables = tuple[tuple[int, ...], ...]


@dataclass(frozen=True)
class Group:
    """Statistics that belong together: the cells of one table, or the functions that use the same columns.

    Attributes:
        columns: positions of the columns that they look at; empty for the constant and where it is not known.
        start, stop: where they lie in the vector of all statistics.
    """

    columns: tuple[int, ...]
    start: int
    stop: int


class Family(ABC):
    """F: functions of one row.

    Attributes:
        name: ``"walsh"``, ``"contingency"``, ``"conjunctions"`` or ``"functions"``.
        sizes: number of codes of each column.
        count: |F|.
        unit: f takes multiples of it: 1 but for functions of the user's own.
        has_constant: f_0 = 1. When one row is replaced it does not move and needs no noise; when one is added it does.
        groups: which statistics belong together, in order, covering all.
        made_of: how they are made of cells, where the family says so itself.
    """

    name: Literal["walsh", "contingency", "conjunctions", "functions"]
    sizes: tuple[int, ...]
    count: int
    unit: float = 1.0
    has_constant: bool = False
    groups: tuple[Group, ...]
    made_of: Cells | None = None

    @abstractmethod
    def sums(self, codes: Codes) -> Integers:
        """Σ_i f(x_i)/unit for every f: exact whole numbers, shape (count,), from codes of shape (n, columns)."""

    def sums_of(self, real: Rows) -> Integers:
        """:meth:`sums` of rows, which an engine may count: then from the cells of tables, whose combinations are whole."""
        cells = None if isinstance(real, CodedRows) else cells_of(self)
        if cells is None:
            return self.sums(real.codes)
        real.expect(cells.tables)
        counts = np.concatenate([real.counts(table) for table in cells.tables])
        return counts if cells.combination is None else np.rint(cells.combination @ counts).astype(np.int64)

    @abstractmethod
    def matrix(self, points: Codes) -> Matrix:
        """A = [f(z_i)], shape (count, m), sparse where most entries are 0."""

    @abstractmethod
    def l1(self, neighbouring: Neighbouring = "replace_one") -> int:
        """L1 sensitivity of :meth:`sums`: exact, attained by some pair of neighbours (or as the family says)."""

    def step(self, neighbouring: Neighbouring) -> int:
        """By how much each sum moves that moves at all."""
        return 1

    def l2(self, neighbouring: Neighbouring = "replace_one") -> float:
        """L2 sensitivity of :meth:`sums`: N sums that move by v each have L1 = N·v and L2² = N·v²."""
        return math.sqrt(self.l1(neighbouring) * self.step(neighbouring))


class ProductFamily(Family):
    """Products of one contrast for each of at most d columns, a group for every set of columns.

    Attributes:
        degree: d.
    """

    degree: int

    @abstractmethod
    def contrast(self, size: int) -> sp.sparray:
        """A column's contrasts against its codes, shape (contrasts, size)."""

    @abstractmethod
    def cells_along(self, sums: Floats, axis: int) -> Floats:
        """Counts of all codes of a column, from the sum over all of them and then those of its contrasts."""

    @abstractmethod
    def cell_variance(self, columns: Sequence[int]) -> float:
        """Of the count of a cell of the table of these columns, where every sum has noise of variance 1."""


class WalshFamily(ProductFamily):
    """w_J(x) = Π_{j∈J} x_j for |J| ≤ d on p two-valued columns, codes 0, 1 standing for x = -1, 1.

    Replacing a row flips N functions at most (:func:`~dpsyn.privacy.sensitivity.changed_walsh_functions`), each by 2: L1 =
    2N, L2 = 2√N. Adding one moves all of them by 1: L1 = |F|, L2 = √|F|.

    Args:
        columns: p.
        degree: d.
        constant: whether w_∅ = 1 belongs to F.
    """

    name = "walsh"

    def __init__(self, columns: int, degree: int, *, constant: bool = True) -> None:
        check_sizes_and_degree((2,) * columns, degree)
        self.sizes = (2,) * columns
        self.degree = degree
        self.has_constant = constant
        self._skip = 0 if constant else 1
        self.count = walsh_dimension(columns, degree) - self._skip
        sets = column_sets(columns, degree)[self._skip :]
        self.groups = tuple(Group(columns_of, i, i + 1) for i, columns_of in enumerate(sets))

    def sums(self, codes: Codes) -> Integers:
        """Σ_i w_J(x_i)."""
        return walsh_sums(self._signs(codes), self.degree)[self._skip :]

    def matrix(self, points: Codes) -> Floats:
        """Entries ±1, dense."""
        return walsh_matrix(self._signs(points), self.degree)[self._skip :].astype(np.float64)

    def _signs(self, codes: Codes) -> npt.NDArray[np.int8]:
        return (2 * checked_codes(codes, self.sizes) - 1).astype(np.int8)

    def l1(self, neighbouring: Neighbouring = "replace_one") -> int:
        """2N, or |F|."""
        return self.count if neighbouring == "add_remove" else 2 * changed_walsh_functions(len(self.sizes), self.degree)

    def contrast(self, size: int) -> sp.sparray:
        """x = ±1."""
        return sp.coo_array([[-1.0, 1.0]])

    def cells_along(self, sums: Floats, axis: int) -> Floats:
        """(Σ 1 ∓ Σ x)/2."""
        total, signed = np.split(sums, 2, axis)
        return np.concatenate([(total - signed) / 2, (total + signed) / 2], axis)

    def cell_variance(self, columns: Sequence[int]) -> float:
        """A cell is 2^-k times a sum of 2^k functions."""
        return float(0.5 ** len(columns))

    def step(self, neighbouring: Neighbouring) -> int:
        """Replacing a row flips signs."""
        return 2 if neighbouring == "replace_one" else 1


class TableFamily(Family):
    """The cells of contingency tables over chosen sets of columns, table by table, the last column running fastest.

    Replacing a row moves one count down and one up in every table of more than one cell (K of them): L1 = 2K, L2 = √(2K).
    Adding one moves one count of every table: L1 = the number of tables, L2 its root.

    Args:
        sizes: number of codes of each column.
        tables: sets of columns, by position; they may overlap and differ in size, but no set may come twice.

    Raises:
        ParameterError: a table is empty, names a column that is not there or one twice, or comes twice.
    """

    name = "contingency"

    def __init__(self, sizes: Sequence[int], tables: Iterable[Sequence[int]]) -> None:
        check_sizes_and_degree(sizes, 1)
        self.sizes = tuple(int(size) for size in sizes)
        self.tables = tuple(tuple(int(j) for j in table) for table in tables)
        possible = f"sets of column numbers from 0 to {len(self.sizes) - 1}"
        if not self.tables:
            raise ParameterError("tables", self.tables, "at least one set of columns")
        for table in self.tables:
            if not table or len(set(table)) < len(table) or min(table) < 0 or max(table) >= len(self.sizes):
                raise ParameterError("tables", table, possible)
        if len({frozenset(table) for table in self.tables}) < len(self.tables):
            raise ParameterError("tables", "a set of columns that comes twice", possible + ", each once")
        cells = [math.prod(self.sizes[j] for j in table) for table in self.tables]
        self.offsets: Integers = np.concatenate([[0], np.cumsum(cells, dtype=np.int64)]).astype(np.int64)
        self.count = int(self.offsets[-1])
        bounds = zip(self.offsets[:-1], self.offsets[1:], strict=True)
        self.groups = tuple(Group(t, int(a), int(b)) for t, (a, b) in zip(self.tables, bounds, strict=True))
        self._varied = sum(size > 1 for size in cells)

    @classmethod
    def all_of_degree(cls, sizes: Sequence[int], degree: int) -> TableFamily:
        """All tables over exactly min(degree, columns) columns."""
        check_sizes_and_degree(sizes, degree)
        return cls(sizes, combinations(range(len(sizes)), min(degree, len(sizes))))

    def cells(self, codes: Codes) -> Integers:
        """Which statistic each row adds to, table by table: positions in the vector of all, shape (tables, n)."""
        codes = checked_codes(codes, self.sizes)
        return np.stack([self._cells(codes, at) + self.offsets[at] for at in range(len(self.tables))])

    def _cells(self, codes: Codes, at: int) -> Integers:
        cell = np.zeros(len(codes), dtype=np.int64)
        for j in self.tables[at]:
            cell *= self.sizes[j]
            cell += codes[:, j]
        return cell

    def sums(self, codes: Codes) -> Integers:
        """The counts of all cells."""
        codes = checked_codes(codes, self.sizes)
        counts = np.empty(self.count, dtype=np.int64)
        for at, group in enumerate(self.groups):
            counts[group.start : group.stop] = np.bincount(self._cells(codes, at), minlength=group.stop - group.start)
        return counts

    def matrix(self, points: Codes) -> sp.csr_array:
        """Zeros and ones, sparse: every point has one 1 in each table."""
        rows = self.cells(points).T
        starts = np.arange(len(rows) + 1, dtype=np.int64) * len(self.tables)
        by_point = sp.csc_array((np.ones(rows.size), np.ascontiguousarray(rows).ravel(), starts), (self.count, len(rows)))
        return by_point.tocsr()

    def l1(self, neighbouring: Neighbouring = "replace_one") -> int:
        """2K, or the number of tables."""
        return len(self.tables) if neighbouring == "add_remove" else 2 * self._varied


class ConjunctionFamily(ProductFamily):
    """Monotone conjunctions of at most d literals: f(x) = 1 if x_j = r_j for every j in J, else 0; r_j = 1 … c_j - 1.

    On two-valued columns these are the monotone conjunctions Π_{j∈J} x_j with x in {0, 1}. In general they are the cells
    of all ≤d-way tables that avoid the first code of every column, from which all other cells follow.

    Exact sensitivities. Let g(k) = Σ_{j=1..d} C(k, j), a = number of columns with three codes or more, b = with two. If two
    rows hold different codes ≥ 1 in the a columns, both 1 in s of the others, and 1 and 0 in t and u of them, g(a+s+t) +
    g(a+s+u) - 2g(s) functions differ by 1, the largest over s + t + u = b is N, no other pair does worse: L1 = N, L2 = √N
    when a row is replaced. g is convex, so t = 0 is the largest at every s. For a = 0 this is |F| - 1. Adding a row moves
    1 + g(a+b) functions (g(a+b) without the constant).

    Args:
        sizes: number of codes of each column.
        degree: d.
        constant: whether f = 1, the empty conjunction, belongs to F.
    """

    name = "conjunctions"

    def __init__(self, sizes: Sequence[int], degree: int, *, constant: bool = True) -> None:
        check_sizes_and_degree(sizes, degree)
        self.sizes = tuple(int(size) for size in sizes)
        self.degree = degree
        self.has_constant = constant
        varied = [j for j, size in enumerate(self.sizes) if size > 1]
        groups, start = [], 0
        for chosen in column_sets(len(varied), degree):
            columns = tuple(varied[i] for i in chosen)
            if columns or constant:
                stop = start + math.prod(self.sizes[j] - 1 for j in columns)
                groups.append(Group(columns, start, stop))
                start = stop
        if not start:
            raise ParameterError("sizes", self.sizes, "a column with at least two codes, or the constant")
        self.count, self.groups = start, tuple(groups)

    def _inside(self, codes: Codes, group: Group) -> tuple[Integers, Integers]:
        """Rows on which some function of the group is 1, and which function that is."""
        rows = np.flatnonzero((codes[:, group.columns] > 0).all(axis=1)).astype(np.int64)
        at = np.zeros(len(rows), dtype=np.int64)
        for j in group.columns:
            at = at * (self.sizes[j] - 1) + codes[rows, j] - 1
        return rows, at

    def sums(self, codes: Codes) -> Integers:
        """In how many rows each conjunction holds."""
        codes = checked_codes(codes, self.sizes)
        return np.concatenate(
            [np.bincount(self._inside(codes, group)[1], minlength=group.stop - group.start) for group in self.groups]
        )

    def matrix(self, points: Codes) -> sp.csr_array:
        """Zeros and ones, sparse."""
        points = checked_codes(points, self.sizes)
        found = [self._inside(points, group) for group in self.groups]
        at = np.concatenate([cell + group.start for (_, cell), group in zip(found, self.groups, strict=True)])
        point = np.concatenate([rows for rows, _ in found])
        return sp.coo_array((np.ones(len(at)), (at, point)), shape=(self.count, len(points))).tocsr()

    def contrast(self, size: int) -> sp.sparray:
        """Whether the code is r, for r from 1 on."""
        return sp.eye_array(size - 1, size, k=1, format="coo")

    def cells_along(self, sums: Floats, axis: int) -> Floats:
        """The first code has what the others leave."""
        total, others = np.split(sums, [1], axis)
        return np.concatenate([total - others.sum(axis, keepdims=True), others], axis)

    def cell_variance(self, columns: Sequence[int]) -> float:
        """At most so many conjunctions add up in a cell."""
        return float(math.prod(self.sizes[j] for j in columns))

    def l1(self, neighbouring: Neighbouring = "replace_one") -> int:
        """N, or how many conjunctions a single row can satisfy."""
        wide, narrow = sum(size > 2 for size in self.sizes), sum(size == 2 for size in self.sizes)

        def below(columns: int) -> int:
            return sum(math.comb(columns, j) for j in range(1, self.degree + 1))

        if neighbouring == "add_remove":
            return int(self.has_constant) + below(wide + narrow)
        return max(below(wide + s) + below(wide + narrow) - 2 * below(s) for s in range(narrow + 1))


@dataclass(frozen=True, eq=False)
class Cells:
    """Statistics as combinations of the cells of tables.

    Attributes:
        tables: sets of columns.
        combination: shape (F, cells); None where statistics are the cells.
    """

    tables: Tables
    combination: sp.csr_array | None


def cells_of(family: Family) -> Cells | None:
    """How the statistics are made of cells; None for functions of the user's own."""
    if isinstance(family, TableFamily):
        return Cells(family.tables, None)
    if not isinstance(family, ProductFamily):
        return family.made_of
    sizes = family.sizes
    tables = tuple(combinations(range(len(sizes)), min(family.degree, len(sizes))))
    offsets = cell_offsets(sizes, tables)
    home: dict[tuple[int, ...], int] = {}
    for number, table in enumerate(tables):
        for width in range(len(table) + 1):
            for inside in combinations(table, width):
                home.setdefault(inside, number)

    @cache
    def block(axes: tuple[tuple[int, bool], ...]) -> sp.coo_array:
        """A group against the cells of its table: its columns' sizes, and whether the group looks at them."""
        factors = (family.contrast(size) if used else np.ones((1, size)) for size, used in axes)
        return reduce(lambda left, right: sp.kron(left, right, "coo"), factors, sp.coo_array([[1.0]]))

    found = []
    for group in family.groups:
        at = home[group.columns]
        cells = block(tuple((sizes[j], j in group.columns) for j in tables[at]))
        found.append((group.start + cells.row, offsets[at] + cells.col, cells.data))
    rows, columns, entries = (np.concatenate(each) for each in zip(*found, strict=True))
    combination = sp.coo_array((entries, (rows, columns)), shape=(family.count, int(offsets[-1]))).tocsr()
    return Cells(tables, combination)
