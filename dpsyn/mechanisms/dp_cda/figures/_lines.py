"""The lines behind :mod:`feasibility`, computed without drawing."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from dpsyn.errors import ParameterError
from dpsyn.kit.theme import SERIES
from dpsyn.mechanisms.dp_cda.mixing_noise import (
    ACCOUNTANTS,
    PICTURE_TOLERANCE,
    Accountant,
    MixingFacts,
    epsilon_at,
    first_guess,
    sigma_for,
)
from dpsyn.notation import short
from dpsyn.privacy.spec import rounded_down

LABELS: dict[Accountant, str] = {"published": "published", "rdp": "corrected Rényi", "exact": "exact"}
ORDERS = (4, 16, 64)
POWERS_OF_TWO = tuple(2**i for i in range(10))
_SHOWN = (1e-2, 1e5)
"""ε outside of this is left out: the axis would be mostly empty."""
MOST_ORDERS = len(SERIES)


@dataclass(frozen=True)
class EpsilonLine:
    """ε against σ, which ascends, for one l by one accountant."""

    accountant: Accountant
    order_of_mixture: int
    sigma: tuple[float, ...]
    epsilon: tuple[float, ...]


@dataclass(frozen=True)
class EpsilonAgainstSigmaInfo:
    """Figure 3 of Saha, Tonoy, Imtiaz (2024) for data of the user's size.

    Attributes:
        title, subtitle: what is shown, what is fixed.
        lines: one for each l and accountant.
        orders: the l that are drawn.
        impossible: the l that are larger than the smallest class, which have no line.
        here: (σ, ε) of the user, if given.
    """

    title: str
    subtitle: str
    lines: tuple[EpsilonLine, ...]
    orders: tuple[int, ...]
    impossible: tuple[int, ...]
    here: tuple[float, float] | None


@dataclass(frozen=True)
class SigmaLine:
    """σ needed against l by one accountant; None where there is none."""

    accountant: Accountant
    orders: tuple[int, ...]
    sigma: tuple[float | None, ...]


@dataclass(frozen=True)
class SigmaNeededInfo:
    """The σ that an ε needs, against l.

    Attributes:
        title, subtitle: what is shown, what is fixed.
        lines: one for each accountant.
        impossible: the l that are larger than the smallest class.
        notes: why lines have gaps, in sentences.
        here: (l, σ) of the user, if given.
    """

    title: str
    subtitle: str
    lines: tuple[SigmaLine, ...]
    impossible: tuple[int, ...]
    notes: tuple[str, ...]
    here: tuple[int, float] | None


def epsilon_against_sigma_info(
    *,
    n: int,
    classes: int,
    smallest_class: int,
    rows: int,
    delta: float,
    clip_norm: float = 1.0,
    orders: Sequence[int] = ORDERS,
    accountants: Sequence[Accountant] = ACCOUNTANTS,
    points: int = 17,
    here: tuple[float, float] | None = None,
    tolerance: float = PICTURE_TOLERANCE,
) -> EpsilonAgainstSigmaInfo:
    """ε of T rows at δ against σ, under replace-one, for several l.

    Each l has its own σ, spaced evenly in the logarithm, from where ε is about 100 to where it is about 1/4; ``here``
    widens it. Classes or samples so large that exact accounting is slow (:data:`mixing_noise.QUICK`) have a third as many.

    Args:
        n: N, all records.
        classes: K.
        smallest_class: lower bound on every N_k.
        rows: T, rows in all.
        delta: privacy δ, in (0, 1).
        clip_norm: c.
        orders: the l, five at most.
        accountants: which to draw.
        points: σ for each line.
        here: the user's (σ, ε).
        tolerance: relative excess of ε that the exact accountant may show; it never shows too little.

    Raises:
        ParameterError: an argument is out of range.
    """
    _check(accountants, orders, points, here)
    if len(set(orders)) > MOST_ORDERS:
        raise ParameterError("orders", tuple(orders), f"at most {MOST_ORDERS} values, to be told apart by colour")
    facts = MixingFacts(n, classes, smallest_class, rows, delta, clip_norm)
    points = points if facts.is_quick else max(2, points // 3)
    possible = tuple(sorted({order for order in orders if order <= smallest_class}))
    lines = [
        _epsilon_line(facts, accountant, order, _sigmas(facts, order, points, here), tolerance)
        for order in possible
        for accountant in accountants
    ]
    return EpsilonAgainstSigmaInfo(
        title="Privacy ε against noise σ",
        subtitle=_describe(facts),
        lines=tuple(line for line in lines if line.sigma),
        orders=possible,
        impossible=tuple(sorted(set(orders) - set(possible))),
        here=here,
    )


def sigma_needed_info(
    *,
    epsilon: float,
    n: int,
    classes: int,
    smallest_class: int,
    rows: int,
    delta: float,
    clip_norm: float = 1.0,
    orders: Sequence[int] | None = None,
    accountants: Sequence[Accountant] = ACCOUNTANTS,
    here: tuple[int, float] | None = None,
    tolerance: float = PICTURE_TOLERANCE,
) -> SigmaNeededInfo:
    """The σ that (ε, δ) needs against l, under replace-one.

    The exact σ meets ε and is at most a few per cent too large (``tolerance`` concerns ε). Other arguments and errors as in
    :func:`epsilon_against_sigma_info`; ``epsilon`` is the target, ``here`` the user's (l, σ), and ``orders`` are by default
    the powers of two from 1 to 512, or every other where exact accounting is slow.
    """
    facts = MixingFacts(n, classes, smallest_class, rows, delta, clip_norm)
    if orders is None:
        orders = POWERS_OF_TWO[:: 1 if facts.is_quick else 2]
    _check(accountants, orders, 2, here)
    ordered = tuple(sorted(set(orders)))
    impossible = tuple(order for order in ordered if order > smallest_class)
    lines = tuple(
        SigmaLine(accountant, ordered, tuple(sigma_for(facts, accountant, order, epsilon, tolerance) for order in ordered))
        for accountant in accountants
    )
    notes = []
    if impossible:
        notes.append(f"No row can average more than the {smallest_class:,} records that the smallest class has.")
    for line in lines:
        if all(sigma is None for sigma in line.sigma) and len(impossible) < len(ordered):
            last = {"published": 4, "rdp": 256}.get(line.accountant, 2)
            limit = f"ln(1/δ)/{last - 1} ≈ {rounded_down(math.log(1 / delta) / (last - 1), 4)}"
            notes.append(f"{LABELS[line.accountant].capitalize()}: ε stays above {limit} however large σ is.")
    return SigmaNeededInfo(
        title=f"Noise σ needed for ε = {short(epsilon)}",
        subtitle=_describe(facts),
        lines=lines,
        impossible=impossible,
        notes=tuple(notes),
        here=here,
    )


def _check(accountants: Sequence[str], orders: Sequence[int], points: int, here: tuple[float, float] | None) -> None:
    if not accountants or any(name not in ACCOUNTANTS for name in accountants):
        raise ParameterError("accountants", tuple(accountants), f"some of {', '.join(ACCOUNTANTS)}")
    if not orders or min(orders) < 1:
        raise ParameterError("orders", tuple(orders), "whole numbers from 1 on")
    if points < 2:
        raise ParameterError("points", points, "at least 2")
    if here is not None and not all(math.isfinite(value) and value > 0 for value in here):
        raise ParameterError("here", here, "two finite numbers > 0")


def _describe(facts: MixingFacts) -> str:
    return f"N = {facts.n:,}, T = {facts.rows:,}, smallest class {facts.smallest_class:,}, δ = {short(facts.delta)}"


def _sigmas(facts: MixingFacts, order: int, points: int, here: tuple[float, float] | None) -> tuple[float, ...]:
    low, high = first_guess(facts, order, 1000.0), first_guess(facts, order, 0.25)
    if here is not None and low / 3 < here[0] < high * 3:
        low, high = min(low, here[0]), max(high, here[0])
    return tuple(float(value) for value in np.geomspace(low, high, points))


def _epsilon_line(
    facts: MixingFacts, accountant: Accountant, order: int, sigmas: tuple[float, ...], tolerance: float
) -> EpsilonLine:
    found = [(sigma, epsilon_at(facts, accountant, order, sigma, tolerance)) for sigma in sigmas]
    kept = [(sigma, epsilon) for sigma, epsilon in found if _SHOWN[0] <= epsilon <= _SHOWN[1]]
    return EpsilonLine(accountant, order, tuple(s for s, _ in kept), tuple(e for _, e in kept))
