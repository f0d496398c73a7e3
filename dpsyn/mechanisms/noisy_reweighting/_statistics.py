"""The statistics of a configuration, how they weigh in the budget, and how they are made of cells of tables."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations, product

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from dpsyn.mechanisms.noisy_reweighting._ledger import LEVELS, NoiseKind, Part
from dpsyn.mechanisms.noisy_reweighting.families import ConjunctionFamily, Family, TableFamily, WalshFamily
from dpsyn.privacy.spec import Neighbouring
from dpsyn.solvers.contingency import cell_offsets

Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]
Tables = tuple[tuple[int, ...], ...]

_GAUSSIAN_POWER = 1 / 3
_LAPLACE_POWER = 1 / 4
"""Weights of tables grow with these powers of their number of cells."""
_ORDER_LEVELS = 4
_COLUMNS_BY_ORDER = 40
_ORDERS_WEIGHED = 5
"""Degrees up to which orders get weights of their own: all of them are tried, 4 for each order."""


@dataclass(frozen=True, eq=False)
class Cells:
    """Statistics as combinations of the cells of tables.

    Attributes:
        tables: sets of columns.
        combination: shape (F, cells); None where statistics are the cells.
    """

    tables: Tables
    combination: sp.csr_array | None


@dataclass(frozen=True, eq=False)
class Parts:
    """The statistics as parts of the budget.

    Attributes:
        parts: with what the worst neighbour moves of each.
        part_of: the part of each statistic, shape (F,).
        others: how many numbers of every part other neighbours move.
    """

    parts: tuple[Part, ...]
    part_of: Integers
    others: tuple[tuple[int, ...], ...] = ()


def parts_of(family: Family, neighbouring: Neighbouring, kind: NoiseKind, *, by_size: bool) -> Parts:
    """The statistics as parts of the budget.

    The total variation of a table of c cells is about c times the noise on a cell, so larger tables get more of the budget:
    a weight, in whole numbers, that grows with ∛c (Gaussian noise) or ∜c (Laplace noise). Walsh functions of lower order
    take part in more tables and get more, too, up to degree 5 and 40 columns. Other families are one part.
    """
    if by_size and isinstance(family, TableFamily):
        return _tables_by_size(family, neighbouring, kind)
    few = len(family.sizes) <= _COLUMNS_BY_ORDER
    if by_size and few and isinstance(family, WalshFamily) and 1 < family.degree <= _ORDERS_WEIGHED:
        return _walsh_by_order(family, neighbouring, kind)
    return Parts((_one_part(family, neighbouring),), np.zeros(family.count, dtype=np.int64))


def _tables_by_size(family: TableFamily, neighbouring: Neighbouring, kind: NoiseKind) -> Parts:
    cells = np.array([group.stop - group.start for group in family.groups])
    grown = cells ** (_GAUSSIAN_POWER if kind == "gaussian" else _LAPLACE_POWER)
    weights = np.maximum(np.rint(LEVELS * grown / grown.max()).astype(np.int64), 1)
    weights //= math.gcd(*weights.tolist())
    parts, at = [], np.empty(len(cells), dtype=np.int64)
    for number, weight in enumerate(np.unique(weights)):
        mine = weights == weight
        at[mine] = number
        # A table of a single cell does not move when a row is replaced.
        moved = int(mine.sum()) if neighbouring == "add_remove" else 2 * int((cells[mine] > 1).sum())
        low, high = int(cells[mine].min()), int(cells[mine].max())
        width = f"{low}" if low == high else f"{low} to {high}"
        tables = f"{int(mine.sum())} table{'s' if mine.sum() > 1 else ''} of {width} cell{'s' if high > 1 else ''}"
        parts.append(Part(tables, int(cells[mine].sum()), moved, 1, int(weight)))
    return Parts(tuple(parts), np.repeat(at, cells))


def _walsh_by_order(family: WalshFamily, neighbouring: Neighbouring, kind: NoiseKind) -> Parts:
    """Weights w_j of order j = 1 … d that minimise the noise variance of a d-way table, Σ_j C(d, j)·variance_j.

    Replacing a row changes s coordinates and with them Σ_{i odd} C(s, i) C(p-s, j-i) functions of order j; no s is the worst
    for every order. Adding a row moves every function.
    """
    p, degree = len(family.sizes), min(family.degree, len(family.sizes))
    orders = range(1, degree + 1)
    added = neighbouring == "add_remove"
    moves = (
        [[math.comb(p, j) for j in orders]]
        if added
        else [
            [sum(math.comb(s, i) * math.comb(p - s, j - i) for i in range(1, j + 1, 2)) for j in orders]
            for s in range(1, p + 1)
        ]
    )

    def cost(weights: tuple[int, ...], move: list[int]) -> int:
        return sum(w * m for w, m in zip(weights, move, strict=True))

    def noise(weights: tuple[int, ...]) -> float:
        size = max(cost(weights, move) for move in moves)
        if kind == "gaussian":
            return size * sum(math.comb(degree, j) / w for j, w in zip(orders, weights, strict=True))
        return size**2 * sum(math.comb(degree, j) / w**2 for j, w in zip(orders, weights, strict=True))

    # Ties go to equal weights, which come first among multiples of each other.
    best = min(product(range(1, _ORDER_LEVELS + 1), repeat=degree), key=lambda weights: (noise(weights), weights))
    worst = max(moves, key=lambda move: cost(best, move))
    step = 1 if added else 2
    counts = [math.comb(p, j) for j in orders]
    # The constant, where it has noise, goes with the functions of order 1.
    extra = int(family.has_constant)
    names = [f"Walsh functions of order {j}" for j in orders]
    parts = tuple(
        Part(name, count + (extra if j == 1 else 0), moved + (extra if j == 1 and added else 0), step, weight)
        for name, count, moved, weight, j in zip(names, counts, worst, best, orders, strict=True)
    )
    part_of = np.array([max(len(group.columns), 1) - 1 for group in family.groups], dtype=np.int64)
    undominated = [m for m in moves if m != worst and not any(_covers(o, m) for o in moves if o != m)]
    return Parts(parts, part_of, tuple(tuple(move) for move in undominated))


def _covers(large: list[int], small: list[int]) -> bool:
    return all(a >= b for a, b in zip(large, small, strict=True))


def _one_part(family: Family, neighbouring: Neighbouring) -> Part:
    names = {
        "walsh": "Walsh functions",
        "contingency": "contingency tables",
        "conjunctions": "conjunctions",
        "functions": "functions of the user's own",
    }
    name, l1, l2 = names[family.name], family.l1(neighbouring), family.l2(neighbouring)
    # Where every function that moves does so by the same step v, L1 = N·v and L2² = N·v².
    if family.name == "functions":
        return Part(name, family.count, 0, 1, 1, float(l1), l2)
    step = 2 if isinstance(family, WalshFamily) and neighbouring == "replace_one" else 1
    return Part(name, family.count, l1 // step, step)


def cells_of(family: Family) -> Cells | None:
    """How the statistics are made of cells; None for functions of the user's own."""
    if isinstance(family, TableFamily):
        return Cells(family.tables, None)
    if not isinstance(family, WalshFamily | ConjunctionFamily):
        return None
    sizes = family.sizes
    tables = tuple(combinations(range(len(sizes)), min(family.degree, len(sizes))))
    offsets = cell_offsets(sizes, tables)
    home: dict[tuple[int, ...], int] = {}
    for number, table in enumerate(tables):
        for width in range(len(table) + 1):
            for inside in combinations(table, width):
                home.setdefault(inside, number)
    rows: list[int] = []
    columns: list[int] = []
    entries: list[float] = []
    walsh = isinstance(family, WalshFamily)
    for group in family.groups:
        at = home[group.columns]
        table = tables[at]
        for cell, codes in enumerate(product(*(range(sizes[j]) for j in table))):
            inside_codes = [codes[table.index(j)] for j in group.columns]
            if walsh:
                row, entry = group.start, float(math.prod(2 * code - 1 for code in inside_codes))
            elif all(inside_codes):
                row, entry = group.start, 1.0
                number = 0
                for j, code in zip(group.columns, inside_codes, strict=True):
                    number = number * (sizes[j] - 1) + code - 1
                row += number
            else:
                continue
            rows.append(row)
            columns.append(int(offsets[at]) + cell)
            entries.append(entry)
    shape = (family.count, int(offsets[-1]))
    return Cells(tables, sp.coo_array((entries, (rows, columns)), shape=shape).tocsr())


def noisy_table(family: Family, sums: Floats, rows: float, columns: Sequence[int]) -> tuple[Floats, float] | None:
    """Counts of one table as the noisy statistics give them, and by how much noise adds up in a cell (as a variance factor).

    Args:
        family: the statistics.
        sums: noisy sums, shape (F,).
        rows: n, or its noisy estimate; stands for the sum of the constant where the family has none.
        columns: in ascending order.

    Returns:
        Counts of shape (cells,), or None where the statistics do not determine the table.
    """
    shape = [family.sizes[j] for j in columns]
    position = {group.columns: group for group in family.groups}

    def group_sums(inside: tuple[int, ...]) -> Floats | None:
        if not inside and () not in position:
            return np.array([float(rows)])
        group = position.get(inside)
        return None if group is None else sums[group.start : group.stop]

    if isinstance(family, WalshFamily):
        counts = np.zeros(shape)
        signs = np.array([-1.0, 1.0])
        for width in range(len(columns) + 1):
            for inside in combinations(columns, width):
                found = group_sums(inside)
                if found is None:
                    return None
                term = found[0] * np.ones(shape)
                for axis, j in enumerate(columns):
                    if j in inside:
                        term = term * signs.reshape([-1 if a == axis else 1 for a in range(len(columns))])
                counts += term / 2 ** len(columns)
        return counts.ravel(), 1 / 2 ** len(columns)
    if isinstance(family, ConjunctionFamily):
        return _from_conjunctions(family, group_sums, tuple(columns))
    return None


def _from_conjunctions(
    family: ConjunctionFamily, group_sums: object, columns: tuple[int, ...]
) -> tuple[Floats, float] | None:
    """Cells with a first code follow from the totals over the column less the other cells."""
    assert callable(group_sums)
    sizes = family.sizes
    known: dict[tuple[int, ...], Floats] = {}
    for width in range(len(columns) + 1):
        for inside in combinations(columns, width):
            if any(sizes[j] == 1 for j in inside):
                found: Floats | None = np.zeros([sizes[j] - 1 for j in inside])
            else:
                found = group_sums(inside)
            if found is None:
                return None
            known[inside] = np.asarray(found).reshape([sizes[j] - 1 for j in inside])

    def table(free: tuple[int, ...], done: tuple[int, ...]) -> Floats:
        """Axes ``done`` with all their codes, then axes ``free`` with the codes from 1 on, in the order of columns."""
        if not done:
            return known[free]
        j, rest = done[-1], done[:-1]
        axes = tuple(sorted((*free, j)))
        with_j = table(axes, rest)
        without = table(free, rest)
        order = tuple(sorted((*free, *done)))
        axis = order.index(j)
        first = without - with_j.sum(axis=axis)
        return np.concatenate([np.expand_dims(first, axis), with_j], axis=axis)

    counts = table((), columns)
    return counts.ravel(), float(math.prod(sizes[j] for j in columns))


def noisy_marginals(family: Family, sums: Floats, spreads: Floats, rows: float) -> tuple[list[Floats], list[float]]:
    """One-way shares of every column as the noisy statistics give them, all positive, and the spread of each of their cells.

    Tables of several columns are summed over the others, and averaged by their noise. A column of which the statistics say
    nothing is uniform (spread infinite).
    """
    found: list[Floats] = []
    errors: list[float] = []
    for j, size in enumerate(family.sizes):
        total, precision = np.zeros(size), 0.0
        if isinstance(family, TableFamily):
            for group in family.groups:
                if j not in group.columns:
                    continue
                shape = [family.sizes[i] for i in group.columns]
                others = tuple(axis for axis, i in enumerate(group.columns) if i != j)
                counts = sums[group.start : group.stop].reshape(shape).sum(axis=others)
                weight = 1 / (spreads[group.start] ** 2 * (group.stop - group.start) / size)
                total, precision = total + weight * counts, precision + weight
        else:
            made = noisy_table(family, sums, rows, (j,))
            if made is not None:
                total, precision = made[0] / spreads[0] ** 2 / made[1], 1 / spreads[0] ** 2 / made[1]
        if not precision:
            found.append(np.full(size, 1 / size))
            errors.append(math.inf)
            continue
        spread = 1 / math.sqrt(precision)
        # A cell that may hold rows must stay possible: no share below a fifth of its noise.
        counts = np.maximum(total / precision, 0.2 * spread)
        found.append(counts / counts.sum())
        errors.append(spread / rows)
    return found, errors


def noisy_rows(family: Family, sums: Floats, spreads: Floats) -> float | None:
    """n as the noisy statistics give it: totals of the tables averaged by their noise, or the constant. None if neither."""
    if isinstance(family, TableFamily):
        totals = np.array([sums[g.start : g.stop].sum() for g in family.groups])
        weights = np.array([1 / (spreads[g.start] ** 2 * (g.stop - g.start)) for g in family.groups])
        return float((weights * totals).sum() / weights.sum())
    return float(sums[0]) if family.has_constant else None
