"""Cells of all tables over at most d columns, and the dual solution written as weights on them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations, product
from typing import Any

import numpy as np
import scipy.sparse as sp

from dpsyn.errors import SolverError
from dpsyn.mechanisms.private_sampling.figures.instance import Instance
from dpsyn.solvers.contingency import column_sets
from dpsyn.solvers.contrasts import contrasts
from dpsyn.solvers.matching import Floats

_AGAINST = 4.0


@dataclass(frozen=True)
class Cell:
    """One cell of one table: its columns, their codes, its share of the rows and of S."""

    columns: tuple[int, ...]
    codes: tuple[int, ...]
    data: float
    uniform: float


def all_cells(instance: Instance) -> list[Cell]:
    """The cells of all tables over 1 … d columns with at least two codes each, smaller tables first."""
    space = instance.space
    varied = [j for j, size in enumerate(space.sizes) if size > 1]
    found = []
    for count in range(1, min(space.degree, len(varied)) + 1):
        for columns in combinations(varied, count):
            shape = tuple(space.sizes[j] for j in columns)
            data = _shares(instance.codes[:, columns], shape)
            uniform = _shares(space.points[:, columns], shape, space.weights)
            found += [
                Cell(columns, codes, float(q), float(p))
                for codes, q, p in zip(product(*map(range, shape)), data, uniform, strict=True)
            ]
    return found


def _shares(codes: np.ndarray, shape: tuple[int, ...], weights: Floats | None = None) -> Floats:
    at = np.ravel_multi_index(tuple(codes.T), shape)
    total = np.bincount(at, weights, minlength=int(np.prod(shape)))
    return np.asarray(total / total.sum())


def cell_weights(instance: Instance, cells: Sequence[Cell], multipliers: Floats) -> Floats:
    """β with Σ_c β_c 1_c(x) = w(x)·y up to a constant, of least Σ |J_c|·|β_c|; shape (number of cells,).

    Weights against the data, positive on a cell that the rows visit less than S or negative on one that they visit more,
    count several times as much: they appear only where the tables' overlap asks for them.

    Raises:
        SolverError: the linear program that finds them was not solved.
    """
    from scipy.optimize import linprog

    matrix = _indicators(instance, cells)[1:]
    cost = np.array([len(cell.columns) for cell in cells], dtype=float)
    fewer = np.array([cell.data < cell.uniform for cell in cells])
    costs = np.concatenate([np.where(fewer, _AGAINST, 1.0) * cost, np.where(fewer, 1.0, _AGAINST) * cost])
    equalities: Any = sp.hstack([matrix, -matrix]).tocsc()
    found = linprog(costs, A_eq=equalities, b_eq=multipliers[1:], bounds=(0, None), method="highs")
    if found.x is None:
        raise SolverError(f"the dual solution could not be written on the cells: {found.message}")
    return np.asarray(found.x[: len(cells)] - found.x[len(cells) :])


def _indicators(instance: Instance, cells: Sequence[Cell]) -> sp.csr_array:
    """The coefficients of every cell's indicator in the contrasts, shape (C, cells).

    The coefficient on a function f of some of the cell's columns is the mean of 1_c·f under the uniform measure: f's value
    on the cell, divided by the number of cells of its table. Functions of other columns have mean 0 on the cell.
    """
    sizes = instance.space.sizes
    varied = [j for j, size in enumerate(sizes) if size > 1]
    tables = [contrasts(size)[1:] for size in sizes]
    starts: dict[tuple[int, ...], int] = {}
    start = 0
    for chosen in column_sets(len(varied), instance.space.degree):
        columns = tuple(varied[i] for i in chosen)
        starts[columns] = start
        start += int(np.prod([sizes[j] - 1 for j in columns], dtype=np.int64))
    rows, places, values = [], [], []
    for at, cell in enumerate(cells):
        code = dict(zip(cell.columns, cell.codes, strict=True))
        share = 1 / float(np.prod([sizes[j] for j in cell.columns]))
        for count in range(len(cell.columns) + 1):
            for columns in combinations(cell.columns, count):
                block = np.array([share])
                for j in columns:
                    block = np.outer(block, tables[j][:, code[j]]).ravel()
                rows.append(starts[columns] + np.arange(len(block)))
                places.append(np.full(len(block), at))
                values.append(block)
    entries = (np.concatenate(values), (np.concatenate(rows), np.concatenate(places)))
    return sp.coo_array(entries, shape=(start, len(cells))).tocsr()
