"""The reduced space Ω*: how large it may be, and draws from public or privately estimated measures."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import combinations

import numpy as np
import numpy.typing as npt

from dpsyn.domain import Codes
from dpsyn.mechanisms.noisy_reweighting.families import ConjunctionFamily, Family, TableFamily, WalshFamily
from dpsyn.solvers.contingency import cell_offsets

Floats = npt.NDArray[np.float64]
Bonds = list[tuple[tuple[int, int], Floats]]
"""Pairs of columns, and ln of the law of the second given the first over its marginal, shape (c_i, c_j)."""

WHOLE_AT_MOST = 4_000_000
"""Points of a whole domain on which one- and two-way tables are fitted without listing the points."""
LISTED_AT_MOST = 8_192
"""Points of a whole domain that are listed for the linear program."""
LOOK_UPS_AT_MOST = 40_000_000
"""Points times tables of a space that is listed: 8 bytes and about 5 nanoseconds each and every step."""
_HALVES_AT_MOST = 40_000_000


def halves_fit(sizes: Sequence[int]) -> bool:
    """Whether the one-hot codes of the two halves of the domain stay small (a single very wide column does not)."""
    cut = min(range(len(sizes) + 1), key=lambda k: math.prod(sizes[:k]) + math.prod(sizes[k:]))
    return sum(math.prod(half) * sum(half) for half in (sizes[:cut], sizes[cut:])) <= _HALVES_AT_MOST


def all_points(sizes: Sequence[int]) -> Codes:
    """Every row of the domain in lexicographic order."""
    return np.ascontiguousarray(np.indices(tuple(sizes), dtype=np.int32).reshape(len(sizes), -1).T)


def points_at(numbers: npt.NDArray[np.int64], sizes: Sequence[int]) -> Codes:
    """The rows with these numbers in lexicographic order."""
    return np.stack(np.unravel_index(numbers, tuple(sizes)), axis=1).astype(np.int32)


def draws_from_product(marginals: Sequence[Floats], count: int, generator: np.random.Generator) -> Codes:
    """Independent draws from a product of one-way laws, shape (count, columns)."""
    columns = [generator.choice(len(law), count, p=law / law.sum()) for law in marginals]
    return np.stack(columns, axis=1).astype(np.int32)


def draws_from_tree(
    family: Family, sums: Floats, spreads: Floats, rows: float, marginals: Sequence[Floats], count: int,
    generator: np.random.Generator,
) -> tuple[Codes, Bonds]:  # fmt: skip
    """Draws, and the potentials of their law against the product, from a tree of two-way tables (Chow and Liu 1968) with the
    largest mutual information above that of noise.

    Edges come from the noisy statistics: a table's mutual information less what noise of its size would show on its own.
    Columns that no edge reaches are independent.
    """
    edges = []
    for i, j in combinations(range(len(family.sizes)), 2):
        found = _pair(family, sums, spreads, rows, i, j)
        if found is None:
            continue
        counts, spread = found
        joint = np.maximum(counts, 0.0)
        if joint.sum() <= 0:
            continue
        joint = joint / joint.sum()
        product = np.outer(marginals[i], marginals[j])
        # χ²/2 stands for mutual information: the part that noise adds to it is known.
        excess = float((((counts / rows - product) ** 2 - (spread / rows) ** 2) / product).sum())
        edges.append((excess / 2, i, j, joint))
    edges.sort(key=lambda edge: -edge[0])
    group = list(range(len(family.sizes)))
    tree: dict[int, list[tuple[int, Floats]]] = {j: [] for j in group}
    for worth, i, j, joint in edges:
        if worth > 0 and group[i] != group[j]:
            tree[i].append((j, joint))
            tree[j].append((i, joint.T))
            old, new = group[j], group[i]
            group = [new if g == old else g for g in group]
    bonds: Bonds = []
    codes = np.full((count, len(group)), -1, dtype=np.int32)
    for root in range(len(group)):
        if codes[0, root] >= 0:
            continue
        codes[:, root] = generator.choice(len(marginals[root]), count, p=marginals[root] / marginals[root].sum())
        waiting = [root]
        while waiting:
            parent = waiting.pop()
            for child, joint in tree[parent]:
                if codes[0, child] >= 0:
                    continue
                mixed = 0.9 * joint + 0.1 * np.outer(joint.sum(axis=1), marginals[child]) + 1e-12
                law = mixed / mixed.sum(axis=1, keepdims=True)
                bonds.append(((parent, child), np.log(law) - np.log(marginals[child])))
                reached = np.cumsum(law, axis=1)
                drawn = generator.random(count) * reached[codes[:, parent], -1]
                steps = (reached[codes[:, parent]] <= drawn[:, None]).sum(axis=1)
                codes[:, child] = np.minimum(steps, len(marginals[child]) - 1)
                waiting.append(child)
    return codes, bonds


def bonds_on_cells(bonds: Bonds, sizes: Sequence[int], tables: Sequence[tuple[int, ...]]) -> Floats:
    """The bonds as a potential on the cells of tables; every bond goes to the first table that holds both its columns."""
    offsets = cell_offsets(sizes, tables)
    potential = np.zeros(int(offsets[-1]))
    for (i, j), bond in bonds:
        at = next(number for number, table in enumerate(tables) if i in table and j in table)
        table = tables[at]
        oriented = bond if table.index(i) < table.index(j) else bond.T
        shape = [sizes[c] if c in (i, j) else 1 for c in table]
        block = potential[offsets[at] : offsets[at + 1]].reshape([sizes[c] for c in table])
        block += oriented.reshape(shape)
    return potential


def _pair(family: Family, sums: Floats, spreads: Floats, rows: float, i: int, j: int) -> tuple[Floats, float] | None:
    """Noisy counts of the table of two columns, shape (c_i, c_j), and the spread of a cell."""
    shape = (family.sizes[i], family.sizes[j])
    if not isinstance(family, TableFamily):
        made = noisy_table(family, sums, rows, (i, j))
        return None if made is None else (made[0].reshape(shape), float(spreads[-1] * math.sqrt(made[1])))
    holding = [g for g in family.groups if i in g.columns and j in g.columns]
    if not holding:
        return None
    group = min(holding, key=lambda g: g.stop - g.start)
    counts = sums[group.start : group.stop].reshape([family.sizes[c] for c in group.columns])
    axes = tuple(axis for axis, c in enumerate(group.columns) if c not in (i, j))
    counts = counts.sum(axis=axes)
    if group.columns.index(i) > group.columns.index(j):
        counts = counts.T
    summed = (group.stop - group.start) / math.prod(shape)
    return counts, float(spreads[group.start] * math.sqrt(summed))


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
