"""Privacy of k draws of private sampling: the published theorem, the ratio bound, and an experimental bound.

Throughout ``floor`` and ``ceiling`` bound m·h, the density relative to uniform on the reduced space (the papers' δ and Δ).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from dpsyn import checks
from dpsyn.errors import ParameterError
from dpsyn.privacy.sensitivity import changed_walsh_functions

_ROUNDING = 1e-15
"""By how much a logarithm is larger than it comes out: rounding in it, or in k times it, cannot hide a loss."""
EXACTLY = "in exact arithmetic"
"""How Theorem 4.1 holds."""
IGNORES_DATA = "The output ignores the data: at this floor and ceiling only the uniform density fits (λ = 1)."


def check_box(floor: float, ceiling: float) -> None:
    """Raise unless 0 < floor, 2·floor ≤ 1 ≤ ceiling - floor: otherwise even λ = 1 is infeasible.

    Rounding is forgiven, but for a ceiling of 1, under which there is no room for draws in whole numbers.
    """
    if not 0 < floor <= 0.5:
        raise ParameterError("floor", floor, "0 < floor <= 1/2, so that the uniform density fits above 2*floor")
    if not (ceiling > 1 and 1 - 1e-12 <= ceiling - floor < math.inf):
        raise ParameterError(
            "ceiling",
            ceiling,
            f"above 1 and at least 1 + floor = {1 + floor:g}, so that the uniform density fits below ceiling - floor",
        )


def is_degenerate(floor: float, ceiling: float) -> bool:
    """Whether the LP's box leaves only the uniform density, so that λ = 1 and the output ignores the data."""
    return floor >= 0.5 or ceiling - floor <= 1 + 1e-12


def loss_of_a_row(floor: float, ceiling: float) -> float:
    """ln(ceiling/floor), never less than it is, which is above 1."""
    return math.log(ceiling / floor) * (1 + _ROUNDING)


def bounded_ratio_epsilon(*, rows: int, floor: float, ceiling: float) -> float:
    """k·ln(ceiling/floor) rounded up, for every n, p, m and every pair of datasets; 0 at the two degenerate ends.

    Proof: each draw's probability lies in [floor/m, ceiling/m] whatever the data, on a reduced space that does not
    depend on the data; k independent draws compose. At the degenerate ends h is uniform for every dataset.
    """
    check_box(floor, ceiling)
    return 0.0 if is_degenerate(floor, ceiling) else rows * loss_of_a_row(floor, ceiling)


def largest_rows(*, epsilon: float, epsilon_per_row: float) -> int | None:
    """The largest k with k·epsilon_per_row <= epsilon, 2^53 at most; None if every k fits (a certificate of 0)."""
    if epsilon_per_row == 0:
        return None
    if epsilon / epsilon_per_row > checks.LARGEST_WHOLE:
        return checks.LARGEST_WHOLE
    rows = math.floor(epsilon / epsilon_per_row)
    while rows > 0 and rows * epsilon_per_row > epsilon:
        rows -= 1
    while (rows + 1) * epsilon_per_row <= epsilon:
        rows += 1
    return rows


SMALLEST_RATIO = 3.0
"""ceiling/floor is above 3 wherever the box is not degenerate: (1 + floor)/floor falls to 3 at floor = 1/2."""


def box_for(*, epsilon: float, rows: int, floor: float, ceiling: float) -> tuple[float, float] | None:
    """A floor and a ceiling near the given ones with rows·ln(ceiling/floor) <= epsilon, not degenerate; None if none exist.

    Lowers the ceiling if that suffices, else raises the floor, else moves both. Rounded to the safe side.
    """
    check_box(floor, ceiling)
    log_ratio = epsilon / rows
    if log_ratio <= math.log(SMALLEST_RATIO):
        return None
    ratio = math.exp(min(log_ratio, 700.0))
    middle = (1 / (ratio - 1) + 0.5) / 2
    # A message shows four digits, and these are to be enough: what was given may have more.
    lows = [_rounded(low, math.ceil) for low in (floor, ceiling / ratio, middle)]
    highs = [_rounded(high, math.floor) for high in (ratio * lows[0], ceiling, ratio * lows[2])]
    for low, high in zip(lows, highs, strict=True):
        fits = 0 < low < 0.5 and high - low > 1 + 1e-9 and rows * loss_of_a_row(low, high) <= epsilon
        if fits and math.isfinite(high):
            return low, high
    return None


def _rounded(value: float, towards: Callable[[float], int]) -> float:
    if not (math.isfinite(value) and value > 0):
        return value
    unit = 10.0 ** (math.floor(math.log10(value)) - 3)
    return value if float(f"{value:.4g}") == value else float(f"{towards(value / unit) * unit:.4g}")


def theorem_4_1_log_epsilon(
    *, log_rows: float, floor: float, ceiling: float, degree: int, log_dimension: float, log_m: float, log_n: float
) -> float:
    """ln of the ε of k rows by Theorem 4.1, :func:`theorem_4_1_log_cost`; for a box that the algorithm can use."""
    check_box(floor, ceiling)
    return log_rows + theorem_4_1_log_cost(
        log_ratio=math.log(ceiling / floor), degree=degree, log_dimension=log_dimension, log_m=log_m, log_n=log_n
    )


def theorem_4_1_log_cost(*, log_ratio: float, degree: int, log_dimension: float, log_m: float, log_n: float) -> float:
    """ln of ε = 4√2 · (ceiling/floor)^{3/2} · e^{d/2} · C^{1/4} · m^{3/4} / √n of one row: Theorem 4.1.

    All logarithms are natural, so that nothing overflows; C = C(p, ≤d). Stated for the Boolean cube and replace-one.
    """
    return math.log(4 * math.sqrt(2)) + 1.5 * log_ratio + degree / 2 + log_dimension / 4 + 0.75 * log_m - log_n / 2


def claims_theorem_4_1(*, theorem: float, ratio: float, rows: float | None, epsilon: float) -> bool:
    """Whether a release claims Theorem 4.1 and not the bounded ratio.

    The theorem holds in exact arithmetic only, the ratio without an if: where it is enough it is claimed, else the smaller.

    Args:
        theorem: ε of one row by it.
        ratio: ε of one row by the other.
        rows: that are asked for; None for as many as the smaller one allows.
        epsilon: that is asked for.
    """
    enough = rows is not None and rows * ratio <= epsilon
    return theorem < ratio and not enough


@dataclass(frozen=True)
class ReducedSpaceGeometry:
    """What the experimental bound needs to know of a reduced space: public, it depends on S only.

    Attributes:
        p, degree: of the cube and of the Walsh functions.
        m: number of points of S.
        smallest_singular_value: of W, shape (C, m).
        largest_response: max over rows of Wᵀ(W Wᵀ)^{-1} of the sum of its N(p, d) largest absolute entries: times 2/n
            it bounds how far one replaced record moves a coordinate of the least-norm solution. At most √N times the
            row's Euclidean norm, and equal to N/m on the whole cube.
    """

    p: int
    degree: int
    m: int
    smallest_singular_value: float
    largest_response: float


def whole_cube_geometry(p: int, degree: int) -> ReducedSpaceGeometry:
    """S = {-1, 1}^p: W Wᵀ = m·I, so σ_min = √m and every entry of Wᵀ/m is ±1/m."""
    m = 2**p
    return ReducedSpaceGeometry(p, degree, m, math.sqrt(m), changed_walsh_functions(p, degree) / m)


def measured_geometry(
    functions: npt.NDArray[np.float64], multiplicity: npt.NDArray[np.int64], p: int, degree: int
) -> ReducedSpaceGeometry:
    """The geometry of a reduced space of s distinct points, the i-th drawn multiplicity_i times.

    Args:
        functions: Walsh functions on the distinct points, shape (C, s), of full row rank.
        multiplicity: shape (s,), with sum m.
        p: bits of the cube.
        degree: of the Walsh functions.
    """
    gram = (functions * multiplicity) @ functions.T
    smallest = float(np.linalg.eigvalsh(gram)[0])
    if smallest <= 0:
        raise ParameterError("functions", f"shape {functions.shape}", "linearly independent rows")
    response = np.abs(np.linalg.solve(gram, functions))
    changed = min(changed_walsh_functions(p, degree), len(response))
    largest = np.partition(response, len(response) - changed, axis=0)[len(response) - changed :].sum(axis=0)
    return ReducedSpaceGeometry(p, degree, int(multiplicity.sum()), math.sqrt(smallest), float(largest.max()))


def stability_epsilon(*, rows: int, floor: float, ceiling: float, n: int, geometry: ReducedSpaceGeometry) -> float:
    """Experimental and unpublished: never certify a release with it.

    ε = k·ln(1 + (m/floor)·√(2 η R)), from how far the LP and the QP can move when one record changes: docs/guarantees.md.
    0 where the box leaves only the uniform density.
    """
    check_box(floor, ceiling)
    if is_degenerate(floor, ceiling):
        return 0.0
    m = geometry.m
    room = min(1 - 2 * floor, ceiling - floor - 1)
    moved = 2 * math.sqrt(changed_walsh_functions(geometry.p, geometry.degree)) / n
    radius = math.sqrt((ceiling - 1) / m)
    shift = moved / geometry.smallest_singular_value
    kappa = m * 2 / n * geometry.largest_response
    tau = kappa / room
    excess = tau * max(1 - floor, ceiling - 1) + kappa
    share = excess / (excess + floor)
    eta = shift + tau * radius + share * min(2 * radius, math.sqrt(2 * ceiling / m))
    return rows * math.log1p(m / floor * math.sqrt(2 * eta * radius))
