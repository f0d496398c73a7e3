"""The three privacy certificates of private sampling side by side: what each costs, which is smallest, where they cross.

Theorem 4.1 of Boedihardjo, Strohmer and Vershynin (2021a) and the bounded ratio are proven; a release is certified with the
smaller of the two. The stability bound is unpublished: it is compared, and certifies nothing.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from dpsyn.mechanisms.private_sampling.certificates import is_degenerate, stability_epsilon, whole_cube_geometry
from dpsyn.mechanisms.private_sampling.setting import PrivateSamplingSetting
from dpsyn.mechanisms.private_sampling.theorems import LARGEST_WHOLE_CUBE, changed
from dpsyn.theory.logarithms import at_most, exp_of
from dpsyn.theory.thresholds import whole

Certificate = Literal["theorem_4_1", "bounded_ratio", "stability"]
Varied = Literal["n", "rows", "floor", "ceiling", "reduced_space_size"]

PROVEN: tuple[Certificate, ...] = ("theorem_4_1", "bounded_ratio")
CERTIFICATES: tuple[Certificate, ...] = (*PROVEN, "stability")
NAMES: dict[Certificate, str] = {
    "theorem_4_1": "Theorem 4.1",
    "bounded_ratio": "bounded ratio",
    "stability": "stability (experimental)",
}
_GRID = 64
_LARGEST_N = 300 * math.log(10)


@dataclass(frozen=True)
class Crossing:
    """Where two certificates cost the same.

    Attributes:
        first, second: ``first`` is the smaller one below the value, ``second`` above it.
        log_value: natural logarithm of the parameter.
        log_epsilon: ln of the ε that both cost there.
    """

    first: Certificate
    second: Certificate
    log_value: float
    log_epsilon: float


@dataclass(frozen=True)
class CertificateAnswer:
    """The two inverse questions for one certificate.

    Attributes:
        certificate: which.
        applies: False where it says nothing: Theorem 4.1 under add/remove, an unusable box, stability above p = 16.
        log_smallest_epsilon: ln of the smallest ε for the rows asked for; -inf where 0 is enough, inf where none is.
        log_largest_rows: ln of the largest whole k for the ε asked for; -inf where not even one row is, inf where all are.
        certifies: it is the smaller of the two proven ones.
        reason: why it does not apply.
    """

    certificate: Certificate
    applies: bool
    log_smallest_epsilon: float
    log_largest_rows: float
    certifies: bool
    reason: str = ""

    @property
    def name(self) -> str:
        """For a page."""
        return NAMES[self.certificate]

    @property
    def experimental(self) -> bool:
        """Never certify a release with it."""
        return self.certificate not in PROVEN

    @property
    def smallest_epsilon(self) -> float:
        """inf where none is enough."""
        return exp_of(self.log_smallest_epsilon)

    @property
    def largest_rows(self) -> float:
        """0 where not even one row is allowed, inf where any number is."""
        value = exp_of(self.log_largest_rows)
        return round(value) if value < 2.0**53 else value


def why_not(setting: PrivateSamplingSetting, certificate: Certificate) -> str:
    """Why a certificate says nothing about this setting; empty where it applies."""
    if not setting.is_valid:
        return "the box needs 2·floor <= 1 <= ceiling - floor"
    if certificate == "theorem_4_1" and not setting.replace_one:
        return "it is stated for replacing one record"
    if certificate == "stability" and setting.p > LARGEST_WHOLE_CUBE:
        return f"it is worked out for the whole cube and p <= {LARGEST_WHOLE_CUBE} only"
    if certificate == "stability" and not setting.replace_one:
        return "it is worked out for replacing one record"
    return ""


def log_epsilon(setting: PrivateSamplingSetting, certificate: Certificate) -> float:
    """ln of the ε that k rows cost; inf where the certificate says nothing, -inf where the output ignores the data.

    Theorem 4.1: ε = 4√2·k·(Δ/δ)^{3/2} e^{d/2} C^{1/4} m^{3/4}/√n. Bounded ratio: ε = k·ln(Δ/δ). Stability: see
    :func:`stability_epsilon`, on the whole cube.
    """
    if why_not(setting, certificate):
        return math.inf
    if certificate == "theorem_4_1":
        return math.log(setting.epsilon) + setting.log_rows - setting.log_largest_rows_theorem_4_1
    if is_degenerate(setting.floor, setting.ceiling):
        return -math.inf
    if certificate == "bounded_ratio":
        return math.log(math.log(setting.ceiling / setting.floor)) + setting.log_rows
    per_row = stability_epsilon(
        rows=1,
        floor=setting.floor,
        ceiling=setting.ceiling,
        n=round(exp_of(min(setting.log_n, _LARGEST_N))),
        geometry=whole_cube_geometry(setting.p, setting.degree),
    )
    return math.log(per_row) + setting.log_rows


def smallest(setting: PrivateSamplingSetting) -> Certificate:
    """The smaller of the two proven certificates."""
    return min(PROVEN, key=lambda c: log_epsilon(setting, c))


def certificate_answers(setting: PrivateSamplingSetting) -> tuple[CertificateAnswer, ...]:
    """The smallest ε for these rows and the largest k for this ε, by each certificate."""
    best = smallest(setting)
    answers = []
    for certificate in CERTIFICATES:
        cost, reason = log_epsilon(setting, certificate), why_not(setting, certificate)
        bound = setting.log_rows + math.log(setting.epsilon) - cost
        rows = whole(bound, "at_most") if math.isfinite(bound) else bound
        answers.append(
            CertificateAnswer(
                certificate=certificate,
                applies=not reason,
                log_smallest_epsilon=cost,
                log_largest_rows=-math.inf if rows is None else rows,
                certifies=certificate == best and not reason,
                reason=reason,
            )
        )
    return tuple(answers)


def crossings(
    setting: PrivateSamplingSetting,
    vary: Varied,
    low: float,
    high: float,
    certificates: Sequence[Certificate] = CERTIFICATES,
) -> tuple[Crossing, ...]:
    """All values of one parameter between e^low and e^high at which two certificates cost the same, in order.

    Theorem 4.1 and the bounded ratio cross at most once: in n and m one of them is constant, k multiplies both, and in
    t = ln(Δ/δ) the slope of 1.5 t - ln t is positive because t > ln 3 in every box that uses the data.
    """
    found = []
    step = (high - low) / _GRID
    grid = [low + i * step for i in range(_GRID + 1)]
    at_grid = {c: [log_epsilon(changed(setting, vary, x), c) for x in grid] for c in certificates}
    for i, one in enumerate(certificates):
        for other in certificates[i + 1 :]:
            for j in range(_GRID):
                left = at_grid[one][j] - at_grid[other][j]
                right = at_grid[one][j + 1] - at_grid[other][j + 1]
                if math.isfinite(left) and math.isfinite(right) and left * right < 0:
                    root = _root(setting, vary, one, other, grid[j], grid[j + 1])
                    cost = log_epsilon(changed(setting, vary, root), one)
                    first, second = (one, other) if left < 0 else (other, one)
                    found.append(Crossing(first, second, root, cost))
    return tuple(sorted(found, key=lambda c: c.log_value))


def _root(
    setting: PrivateSamplingSetting, vary: Varied, one: Certificate, other: Certificate, low: float, high: float
) -> float:
    from scipy.optimize import brentq

    def difference(x: float) -> float:
        there = changed(setting, vary, x)
        return log_epsilon(there, one) - log_epsilon(there, other)

    return float(brentq(difference, low, high, xtol=1e-13, rtol=1e-14))


def enough(setting: PrivateSamplingSetting) -> bool:
    """Whether the smaller proven certificate is at most the ε asked for."""
    return at_most(log_epsilon(setting, smallest(setting)), math.log(setting.epsilon))
