"""What the noise of a ledger claims at every δ: the exact profile where all losses lie on one lattice, zCDP's elsewhere."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import numpy.typing as npt

from dpsyn.mechanisms.noisy_reweighting import Ledger, Part
from dpsyn.privacy.audit import Claim
from dpsyn.privacy.discrete_gaussian import Moved, discrete_delta
from dpsyn.privacy.zcdp import zcdp_delta

Floats = npt.NDArray[np.float64]

_SHARES = (0.0, 0.1, 0.2, 0.3, 0.5, 0.7)
_LONGEST = 2**20
_ROUNDING = 1e-12


def profile_of(ledger: Ledger, epsilon: float) -> list[Claim]:
    """(ε', δ(ε')) for several ε' ≤ ε and any neighbour; empty where no exact claim is at hand (continuous noise, steps that
    differ)."""
    steady = all(part.l1 == 0 and part.l2 == 0 and part.weight == round(part.weight) for part in ledger.parts)
    wanted = [epsilon * share for share in _SHARES]
    neighbours = [ledger.parts]
    neighbours += [tuple(replace(p, moved=m) for p, m in zip(ledger.parts, moves, strict=True)) for moves in ledger.others]
    if ledger.kind == "laplace" and steady:
        return _worst([laplace_profile(parts, ledger.base, wanted) for parts in neighbours])
    if ledger.kind != "gaussian":
        return []
    squares = max(sum(part.weight * part.size[1] ** 2 for part in parts) for parts in neighbours)
    claims = [(e, zcdp_delta(squares / (2 * ledger.base**2), e)) for e in wanted]
    if not steady:
        return claims
    moved = [[Moved(part.moved, part.step, round(part.weight)) for part in parts] for parts in neighbours]
    return [(e, min(d, max(discrete_delta(moves, ledger.base, e) for moves in moved))) for e, d in claims]


def _worst(profiles: Sequence[list[Claim]]) -> list[Claim]:
    """For each ε' the largest δ of any neighbour; empty if one of them is out of reach."""
    if not all(profiles):
        return []
    return [max(claims, key=lambda claim: claim[1]) for claims in zip(*profiles, strict=True)]


def laplace_profile(parts: Sequence[Part], base: float, wanted: Sequence[float]) -> list[Claim]:
    """δ(ε') = E[(1 - e^{ε' - loss})₊] of discrete Laplace noise, exact but for rounding, which is added.

    A coordinate that a neighbour moves by v under noise of scale base/w has the loss (|y - v| - |y|)·w/base at y, a whole
    multiple of w/base from -v to v; losses of independent coordinates add up.
    """
    reach = sum(part.moved * part.step * round(part.weight) for part in parts)
    length = 2 * reach + 1
    if length > _LONGEST:
        return []
    law = np.ones(length // 2 + 1, dtype=np.complex128)
    for part in parts:
        if part.moved:
            one = _loss_of_one(part.step, round(part.weight), base, length)
            law = law * np.fft.rfft(one, length) ** part.moved
    masses = np.maximum(np.fft.irfft(law, length), 0.0)
    at = np.arange(length)
    losses = np.where(at > reach, at - length, at) / base
    return [(e, min(1 - 1e-9, float(masses @ -np.expm1(np.minimum(e - losses, 0.0))) + _ROUNDING)) for e in wanted]


def _loss_of_one(step: int, weight: int, base: float, length: int) -> Floats:
    ratio = math.exp(-weight / base)
    masses = np.zeros(length)
    masses[weight * step] += ratio / (1 + ratio)
    for y in range(step + 1):
        masses[weight * (step - 2 * y) % length] += (1 - ratio) / (1 + ratio) * ratio**y
    masses[-weight * step % length] += ratio ** (step + 1) / (1 + ratio)
    return masses
