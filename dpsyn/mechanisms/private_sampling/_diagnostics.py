"""What a run tells for teaching. It depends on the private rows and is no part of a release."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np

from dpsyn.domain import Domain
from dpsyn.mechanisms.private_sampling._draws import Drawn
from dpsyn.mechanisms.private_sampling._reduced_space import ReducedSpace
from dpsyn.mechanisms.private_sampling._solve import Matched
from dpsyn.mechanisms.private_sampling.certificates import ReducedSpaceGeometry, measured_geometry
from dpsyn.solvers.contrasts import ContrastBasis, contrasts
from dpsyn.solvers.matching import Floats, MatchingProblem

POINTS_KEPT = 1_000_000
"""Points of S up to which the diagnostics hold all of them, with their probabilities."""
CELLS_TOLD = 20
_GEOMETRY_ENTRIES = 20_000_000
_NONE = 1e-9


def of_space(space: ReducedSpace) -> dict[str, Any]:
    """S and its conditioning; the points themselves where they are few."""
    kept = space.points <= POINTS_KEPT
    return {
        "redraws": space.redraws,
        "distinct_points": space.points,
        "spectrum": space.spectrum,
        "spectrum_threshold": space.threshold**2 / space.m,
        "smallest_singular_value": space.smallest_singular_value,
        "smallest_singular_value_is_exact": space.spectrum is not None,
        "failure_threshold": space.threshold,
        "points": space.codes if kept else None,
        "multiplicity": space.multiplicity if kept else None,
    }


def of_density(drawn: Drawn) -> dict[str, Any]:
    """h*: of every point where they are few, and as a histogram of x = m·h*."""
    return {
        "density": drawn.probabilities,
        "ratio_edges": drawn.edges,
        "ratio_points": drawn.points,
        "ratio_mass": drawn.mass,
        "share_at_floor": drawn.at_floor,
        "share_at_ceiling": drawn.at_ceiling,
    }


def binding_cells(domain: Domain, basis: ContrastBasis, problem: MatchingProblem, matched: Matched) -> list[dict[str, Any]]:
    """Cells of the tables that keep λ from being smaller, the most important first.

    The multipliers y of the linear program make one function Wᵀy = Σ_J g_J, and g_J gives each cell of the table over the
    columns J a number: by how much λ grows, before the factor 1-λ, with the share of the rows that lie in the cell, as far
    as that table alone accounts for it (each g_J has mean zero along every column). Negative: fewer rows than the space
    wants, as in an empty cell.

    Returns:
        For each cell its ``columns`` and their ``values``, ``dual`` and the ``share`` of the rows that lie in it, the latter
        computed from the statistics; at most CELLS_TOLD of them, none where λ = 0.
    """
    if matched.linear is None or float(np.abs(matched.linear.multipliers).max()) < _NONE:
        return []
    found: list[tuple[float, tuple[int, ...], tuple[int, ...], float]] = []
    for columns, (start, stop) in _tables(basis).items():
        shape = tuple(basis.sizes[j] - 1 for j in columns)
        duals = _on_cells(basis.sizes, columns, matched.linear.multipliers[start:stop].reshape(shape))
        for codes, dual in zip(product(*map(range, duals.shape)), duals.ravel(), strict=True):
            found.append((abs(float(dual)), columns, codes, float(dual)))
    found.sort(key=lambda one: (-one[0], one[1], one[2]))
    return [
        {
            "columns": tuple(domain.names[j] for j in columns),
            "values": tuple(domain.attributes[j].labels()[code] for j, code in zip(columns, codes, strict=True)),
            "dual": dual,
            "share": _share(basis, problem.target, columns, codes),
        }
        for size, columns, codes, dual in found[:CELLS_TOLD]
        if size > _NONE
    ]


def _tables(basis: ContrastBasis) -> dict[tuple[int, ...], tuple[int, int]]:
    """Where the functions of each set of columns lie; the constant left out."""
    found: dict[tuple[int, ...], tuple[int, int]] = {}
    for at, columns in enumerate(basis.index):
        if columns:
            found[columns] = (found.get(columns, (at, at))[0], at + 1)
    return found


def _on_cells(sizes: tuple[int, ...], columns: tuple[int, ...], coefficients: Floats) -> Floats:
    """Σ_r y_r Π_j φ_{r_j}(x_j) on the cells of the table over the columns."""
    values = coefficients
    for j in columns:
        values = np.tensordot(values, contrasts(sizes[j])[1:], axes=(0, 0))
    return np.asarray(values)


def _share(basis: ContrastBasis, statistics: Floats, columns: tuple[int, ...], codes: tuple[int, ...]) -> float:
    """Share of the rows in a cell: (1/cells) Σ over subsets of the columns of their functions' means times their values."""
    total = 1.0
    for inner, (start, stop) in _tables(basis).items():
        if set(inner) <= set(columns):
            shape = tuple(basis.sizes[j] - 1 for j in inner)
            values = _on_cells(basis.sizes, inner, statistics[start:stop].reshape(shape))
            total += float(values[tuple(codes[columns.index(j)] for j in inner)])
    return total / float(np.prod([basis.sizes[j] for j in columns]))


def geometry_of(space: ReducedSpace) -> ReducedSpaceGeometry | None:
    """What the experimental stability bound needs of a drawn cube; None where S is too large to look at every point."""
    count, points = space.operator.shape
    if count * points > _GEOMETRY_ENTRIES:
        return None
    sizes = space.operator.sizes
    functions = space.operator.functions.basis.matrix(space.codes)
    return measured_geometry(functions, space.multiplicity, len(sizes), min(space.operator.degree, len(sizes)))
