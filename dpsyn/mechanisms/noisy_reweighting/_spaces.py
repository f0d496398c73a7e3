"""The reduced space Ω*: how large it may be, and draws from public or privately estimated measures."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import chain, combinations

import numpy as np
import numpy.typing as npt

from dpsyn.domain import Codes
from dpsyn.mechanisms.noisy_reweighting.families import Family, Group, ProductFamily, TableFamily
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
_A_LOOK_UP = 75.0
"""Multiplications of a product of matrices that take as long as a look-up."""


def halves_fit(sizes: Sequence[int]) -> bool:
    """Whether the one-hot codes of the two halves of the domain stay small (a single very wide column does not)."""
    return sum(points * width for points, width in _halves(sizes)) <= _HALVES_AT_MOST


def halves_are_quicker(sizes: Sequence[int], tables: int) -> bool:
    """Whether a step on the halves takes no longer than one on all points as a list (with a column of thousands it does)."""
    first, second = _halves(sizes)
    products = first[0] * first[1] * (first[1] + second[0]) + second[0] * second[1] ** 2
    return products <= _A_LOOK_UP * math.prod(sizes) * tables


def _halves(sizes: Sequence[int]) -> list[tuple[int, int]]:
    """Points and codes of each half of a domain."""
    cut = min(range(len(sizes) + 1), key=lambda k: math.prod(sizes[:k]) + math.prod(sizes[k:]))
    return [(math.prod(half), sum(half)) for half in (sizes[:cut], sizes[cut:])]


def all_points(sizes: Sequence[int]) -> Codes:
    """Every row of the domain in lexicographic order."""
    return np.ascontiguousarray(np.indices(tuple(sizes), dtype=np.int32).reshape(len(sizes), -1).T)


def points_at(numbers: npt.NDArray[np.int64], sizes: Sequence[int]) -> Codes:
    """The rows with these numbers in lexicographic order."""
    return np.stack(np.unravel_index(numbers, tuple(sizes)), axis=1).astype(np.int32)


@dataclass(frozen=True, eq=False)
class NoisySums:
    """The noisy statistics, and what they say of tables.

    Attributes:
        family: the statistics.
        sums: noisy Σ f/unit, shape (F,).
        spreads: standard deviation of their noise, half a count at least: counts are whole, below it nothing is to be
            weighed. Shape (F,).
        rows: n, or its noisy estimate; stands for the sum of the constant where the family has none.
    """

    family: Family
    sums: Floats
    spreads: Floats
    rows: float

    @cached_property
    def _group_of(self) -> dict[tuple[int, ...], Group]:
        return {group.columns: group for group in self.family.groups}

    def marginals(self) -> list[Floats]:
        """One-way shares of every column, all positive.

        Tables of several columns are summed over the others, and averaged by their noise. A column of which the statistics
        say nothing is uniform.
        """
        found: list[Floats] = []
        for j, size in enumerate(self.family.sizes):
            total, precision = np.zeros(size), 0.0
            if isinstance(self.family, TableFamily):
                for group in self.family.groups:
                    if j in group.columns:
                        weight = 1 / (self.spreads[group.start] ** 2 * (group.stop - group.start) / size)
                        total, precision = total + weight * self._summed(group, (j,)), precision + weight
            elif isinstance(self.family, ProductFamily) and (made := self._table(self.family, (j,))) is not None:
                variance = self.family.cell_variance((j,))
                total, precision = made / self.spreads[0] ** 2 / variance, 1 / self.spreads[0] ** 2 / variance
            # A cell that may hold rows must stay possible: no share below a fifth of its noise.
            counts = np.maximum(total / precision, 0.2 * (1 / math.sqrt(precision))) if precision else np.ones(size)
            found.append(counts / counts.sum())
        return found

    def agreeing(self, known: Mapping[int, tuple[Floats, Floats]]) -> NoisySums:
        """The same, tables shifted so that their one-way counts are the best that all of them and ``known`` say together.

        The shift is shared equally by the cells of a code, as in PriView (Qardaji, Yang, Li 2014). Other statistics stay.

        Args:
            known: counts of the codes of a column, and their variances, by the position of the column.
        """
        if not isinstance(self.family, TableFamily):
            return self
        found = self
        for j, (counts, variances) in known.items():
            mine = [group for group in self.family.groups if j in group.columns]
            if not mine:
                continue
            cells = np.array([(group.stop - group.start) / self.family.sizes[j] for group in mine])
            precisions = 1 / (np.array([self.spreads[group.start] ** 2 for group in mine]) * cells)
            tables = np.array([found._summed(group, (j,)) for group in mine]).reshape(len(mine), -1)
            best = (precisions @ tables + counts / variances) / (precisions.sum() + 1 / variances)
            sums = found.sums.copy()
            for group, table, each in zip(mine, tables, cells, strict=True):
                shape = [self.family.sizes[column] for column in group.columns]
                shift = ((best - table) / each).reshape([-1 if column == j else 1 for column in group.columns])
                sums[group.start : group.stop] += np.broadcast_to(shift, shape).ravel()
            found = replace(found, sums=sums)
        return found

    def pair(self, i: int, j: int) -> tuple[Floats, float] | None:
        """Counts of the table of two columns, i < j, shape (c_i, c_j), and the spread of a cell; None where not known, or
        where a column has one code and so nothing to do with the other."""
        if 1 in (self.family.sizes[i], self.family.sizes[j]):
            return None
        if isinstance(self.family, ProductFamily):
            made = self._table(self.family, (i, j))
            variance = self.family.cell_variance((i, j))
            return None if made is None else (made, float(self.spreads[-1] * math.sqrt(variance)))
        holding = [group for group in self.family.groups if i in group.columns and j in group.columns]
        if not holding:
            return None
        group = min(holding, key=lambda g: g.stop - g.start)
        summed = (group.stop - group.start) / (self.family.sizes[i] * self.family.sizes[j])
        return self._summed(group, (i, j)), float(self.spreads[group.start] * math.sqrt(summed))

    def _table(self, family: ProductFamily, columns: tuple[int, ...]) -> Floats | None:
        """Counts of the table of some columns, in ascending order, shape as their sizes; None where not determined."""
        # Along each column first the sum over all of its codes, then those of its contrasts.
        counts = np.zeros([family.sizes[j] for j in columns])
        for inside in chain.from_iterable(combinations(columns, width) for width in range(len(columns) + 1)):
            here = tuple(slice(1, None) if j in inside else slice(1) for j in columns)
            group = self._group_of.get(inside)
            if group is not None:
                counts[here] = self.sums[group.start : group.stop].reshape(counts[here].shape)
            elif not inside:
                counts[here] = self.rows
            elif counts[here].size:
                return None
        for axis in range(len(columns)):
            counts = family.cells_along(counts, axis)
        return counts

    def _summed(self, group: Group, columns: tuple[int, ...]) -> Floats:
        """Counts of some columns of a table, summed over its others; shape as the sizes of the columns."""
        counts = self.sums[group.start : group.stop].reshape([self.family.sizes[j] for j in group.columns])
        kept = [j for j in group.columns if j in columns]
        counts = counts.sum(axis=tuple(axis for axis, j in enumerate(group.columns) if j not in columns))
        return np.transpose(counts, [kept.index(j) for j in columns])


def noisy_rows(family: Family, sums: Floats, spreads: Floats) -> float | None:
    """n as the noisy statistics give it: totals of the tables averaged by their noise, or the constant. None if neither."""
    if isinstance(family, TableFamily):
        totals = np.array([sums[g.start : g.stop].sum() for g in family.groups])
        weights = np.array([1 / (spreads[g.start] ** 2 * (g.stop - g.start)) for g in family.groups])
        return float((weights * totals).sum() / weights.sum())
    return float(sums[0]) if family.has_constant else None


def draws_from_product(marginals: Sequence[Floats], count: int, generator: np.random.Generator) -> Codes:
    """Independent draws from a product of one-way laws, shape (count, columns)."""
    columns = [generator.choice(len(law), count, p=law / law.sum()) for law in marginals]
    return np.stack(columns, axis=1).astype(np.int32)


def draws_from_tree(
    noisy: NoisySums, marginals: Sequence[Floats], count: int, generator: np.random.Generator
) -> tuple[Codes, Bonds]:
    """Draws, and the potentials of their law against the product, from a tree of two-way tables (Chow and Liu 1968) with the
    largest mutual information above that of noise.

    Edges come from the noisy statistics: a table's mutual information less what noise of its size would show on its own.
    Columns that no edge reaches are independent.
    """
    edges = []
    for i, j in combinations(range(len(noisy.family.sizes)), 2):
        found = noisy.pair(i, j)
        if found is None:
            continue
        counts, spread = found
        joint = np.maximum(counts, 0.0)
        if joint.sum() <= 0:
            continue
        joint = joint / joint.sum()
        product = np.outer(marginals[i], marginals[j])
        # χ²/2 stands for mutual information: the part that noise adds to it is known.
        excess = float((((counts / noisy.rows - product) ** 2 - (spread / noisy.rows) ** 2) / product).sum())
        edges.append((excess / 2, i, j, joint))
    edges.sort(key=lambda edge: -edge[0])
    group = list(range(len(noisy.family.sizes)))
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
