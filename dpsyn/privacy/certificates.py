"""Privacy of k draws of private sampling: the published theorem, the ratio bound, and an experimental bound.

Throughout ``floor`` and ``ceiling`` bound m·h, the density relative to uniform on the reduced space (the papers' δ and Δ).
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from dpsyn.errors import ParameterError
from dpsyn.privacy.sensitivity import changed_walsh_functions


def check_box(floor: float, ceiling: float) -> None:
    """Raise unless 0 < floor, 2·floor ≤ 1 ≤ ceiling - floor: otherwise even λ = 1 is infeasible."""
    if not (math.isfinite(floor) and 0 < floor <= 0.5):
        raise ParameterError("floor", floor, "0 < floor <= 1/2, so that the uniform density fits above 2*floor")
    if not (math.isfinite(ceiling) and ceiling - floor >= 1 - 1e-12):
        raise ParameterError(
            "ceiling", ceiling, f"at least 1 + floor = {1 + floor:g}, so that the uniform density fits below ceiling - floor"
        )


def is_degenerate(floor: float, ceiling: float) -> bool:
    """Whether the LP's box leaves only the uniform density, so that λ = 1 and the output ignores the data."""
    return floor >= 0.5 or ceiling - floor <= 1 + 1e-12


def bounded_ratio_epsilon(*, rows: int, floor: float, ceiling: float) -> float:
    """k·ln(ceiling/floor), for every n, p, m and every pair of datasets; 0 at the two degenerate ends.

    Proof: each draw's probability lies in [floor/m, ceiling/m] whatever the data, on a reduced space that does not
    depend on the data; k independent draws compose. At the degenerate ends h is uniform for every dataset.
    """
    check_box(floor, ceiling)
    return 0.0 if is_degenerate(floor, ceiling) else rows * math.log(ceiling / floor)


def theorem_4_1_log_epsilon(
    *, log_rows: float, floor: float, ceiling: float, degree: int, log_dimension: float, log_m: float, log_n: float
) -> float:
    """ln of ε = 4√2 · k · (ceiling/floor)^{3/2} · e^{d/2} · C^{1/4} · m^{3/4} / √n (Boedihardjo et al. 2021a, Theorem 4.1).

    All logarithms are natural, so that nothing overflows; C = C(p, ≤d). Stated for the Boolean cube and replace-one.
    """
    check_box(floor, ceiling)
    return (
        math.log(4 * math.sqrt(2))
        + log_rows
        + 1.5 * math.log(ceiling / floor)
        + degree / 2
        + log_dimension / 4
        + 0.75 * log_m
        - log_n / 2
    )


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


def stability_epsilon(*, rows: int, floor: float, ceiling: float, n: int, geometry: ReducedSpaceGeometry) -> float:
    """Experimental and unpublished: never certify a release with it.

    ε = k·ln(1 + (m/floor)·√(2 η R)), from how far the LP and the QP can move when one record changes (theory section 1).
    Infinite where the box has no interior.
    """
    check_box(floor, ceiling)
    m = geometry.m
    room = min(1 - 2 * floor, ceiling - floor - 1)
    if room <= 0:
        return 0.0 if is_degenerate(floor, ceiling) else math.inf
    moved = 2 * math.sqrt(changed_walsh_functions(geometry.p, geometry.degree)) / n
    radius = math.sqrt((ceiling - 1) / m)
    shift = moved / geometry.smallest_singular_value
    kappa = m * 2 / n * geometry.largest_response
    tau = kappa / room
    excess = tau * max(1 - floor, ceiling - 1) + kappa
    share = excess / (excess + floor)
    eta = shift + tau * radius + share * min(2 * radius, math.sqrt(2 * ceiling / m))
    return rows * math.log1p(m / floor * math.sqrt(2 * eta * radius))
