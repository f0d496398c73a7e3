"""Noisy reweighting under audit: all sums that get noise, on the worst pair of tables; and what it claims at every δ."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from itertools import pairwise
from typing import Unpack

import numpy as np
import numpy.typing as npt

from dpsyn import checks
from dpsyn.domain import Codes
from dpsyn.errors import ParameterError
from dpsyn.mechanisms.audit import Trial, bits
from dpsyn.mechanisms.encoding import HISTOGRAMS
from dpsyn.mechanisms.noisy_reweighting import Ledger, NoisyReweighting, NoisyReweightingMechanism, Part
from dpsyn.mechanisms.noisy_reweighting._ledger import moved_of
from dpsyn.privacy.audit import SHARES, Audit, Claim, Runs, Scores, audit, log_ratio
from dpsyn.privacy.discrete_gaussian import discrete_delta
from dpsyn.privacy.noise import NoiseSource
from dpsyn.privacy.spec import PrivacySpec
from dpsyn.privacy.zcdp import zcdp_delta
from dpsyn.solvers.coded import CodedRows

Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]
Progress = Callable[[str, float], None]

_PAIRS = 200
_ENTRIES = 4_000_000
"""Numbers made at once."""
_LONGEST = 2**20
_ROUNDING = 1e-12
_CERTAIN = 1 - 1e-9
"""A δ from which on a claim says nothing."""


def worst_case(spec: PrivacySpec) -> Trial:
    """Two truth values, and the default settings."""
    return partial(audit_noisy_reweighting, NoisyReweighting().calibrate(spec, bits(2), n=2))


def audit_noisy_reweighting(
    mechanism: NoisyReweightingMechanism,
    *,
    noise_factor: float = 1.0,
    keep_bits: bool = False,
    **how: Unpack[Runs],
) -> Audit:
    """Audit all that gets noise on two tables that differ in one row: replaced by the one farthest from it, or added.

    Args:
        mechanism: calibrated; not one that chooses or merges tables by what the noise said before.
        noise_factor: the noise is drawn at this multiple of its scale: 1 audits the mechanism, 1/2 a faulty one, to see
            that the audit finds the fault.
        keep_bits: whether the score of continuous noise keeps every bit, and so audits floating-point numbers too.
        how: :class:`~dpsyn.privacy.audit.Runs`.

    Raises:
        ParameterError: an argument is out of range.
    """
    why = "what dpsyn.NoisyReweighting(...).calibrate(...) returns"
    checks.instance("mechanism", mechanism, NoisyReweightingMechanism, why)
    noise_factor, keep_bits = checks.scale("noise_factor", noise_factor), checks.flag("keep_bits", keep_bits)
    replaced = mechanism.guarantee.neighbouring == "replace_one"
    part_of = _part_of(mechanism)
    if unheard := [part.name for i, part in enumerate(mechanism.ledger.parts) if i not in part_of]:
        allowed = "a mechanism without tables that are chosen or merged by what the noise said before: they are not audited"
        raise ParameterError("mechanism", f"one with {' and '.join(unheard)}", allowed)
    one, other = (_everything(mechanism, row) for row in worst_rows(mechanism))
    # Numbers that the neighbour does not move have one law on both tables and no part in the score.
    moved = np.flatnonzero(one != other if replaced else one)
    tested = replace(mechanism, scale=mechanism.scale * noise_factor, part_of=part_of[moved])
    one, other = one[moved], other[moved]
    rest = one * (mechanism.n - 1)
    first, second = rest + one, rest + other if replaced else rest
    noise, scales = NoiseSource(how.get("generator")), tested.scales
    how["generator"] = noise.generator

    def scored(sums: Integers) -> Scores:
        def run(count: int, _: np.random.Generator) -> Floats:
            chunk = max(1, _ENTRIES // max(len(sums), 1))
            sizes = [min(chunk, count - start) for start in range(0, count, chunk)]
            outputs = (tested.noisy(noise, np.tile(sums, (size, 1))) for size in sizes)
            scores = np.concatenate([log_ratio(tested.ledger.kind, each, first, second, scales) for each in outputs])
            return scores if keep_bits else scores.round(9)

        return run

    return audit(
        scored(first),
        scored(second),
        delta=mechanism.guarantee.delta,
        claim=mechanism.guarantee.epsilon,
        profile=[(e, d) for e, d in _profile_of(mechanism.ledger, mechanism.guarantee.epsilon) if d < _CERTAIN],
        **how,
    )


def _everything(mechanism: NoisyReweightingMechanism, codes: Codes) -> Integers:
    """All that gets noise, for rows known by their codes; rows in different bins share no part of a fine histogram."""
    exact = mechanism.exact(CodedRows(codes, mechanism.domain.shape))
    return exact if mechanism.histograms is None else np.concatenate([exact, mechanism.histograms.by_codes(codes)])


def _part_of(mechanism: NoisyReweightingMechanism) -> Integers:
    """The part of the ledger that each number of :func:`_everything` belongs to."""
    names = [part.name for part in mechanism.ledger.parts]
    counts = len(_everything(mechanism, np.zeros((1, len(mechanism.domain)), dtype=np.int32))) - len(mechanism.part_of)
    last = names.index(HISTOGRAMS) if counts else 0
    return np.concatenate([mechanism.part_of, np.full(counts, last)])


def worst_rows(mechanism: NoisyReweightingMechanism) -> tuple[Codes, Codes]:
    """Two rows, shape (1, columns), that are as far apart, in units of the noise, as any of those tried.

    Candidates: the first code everywhere against the last one in the first s columns, for every s, which is the worst pair
    for Walsh functions, tables and conjunctions alike; codes 1 against the last ones; and random pairs. An empty cell, which
    no histogram counts, is none of them. Where a row is added only the first of the two counts.
    """
    sizes = np.array([a.size - (a.missing and a.is_binned) for a in mechanism.domain.attributes])
    steps = np.where(np.arange(len(sizes)) < np.arange(len(sizes) + 1)[:, None], sizes - 1, 0)
    random = np.random.default_rng(0).integers(0, sizes, (_PAIRS, len(sizes)))
    pairs = [(steps[0], row) for row in steps[1:]] + [(np.minimum(1, sizes - 1), sizes - 1), *pairwise(random)]
    rows = [(np.asarray(a, dtype=np.int32)[None, :], np.asarray(b, dtype=np.int32)[None, :]) for a, b in pairs]
    rows += [(b, a) for a, b in rows]
    power = 2 if mechanism.ledger.kind == "gaussian" else 1
    added = mechanism.guarantee.neighbouring == "add_remove"

    scales = replace(mechanism, part_of=_part_of(mechanism)).scales

    def apart(pair: tuple[Codes, Codes]) -> float:
        first = _everything(mechanism, pair[0])
        second = np.zeros_like(first) if added else _everything(mechanism, pair[1])
        return float(((np.abs(first - second) / scales) ** power).sum())

    return max(rows, key=apart)


def _profile_of(ledger: Ledger, epsilon: float) -> list[Claim]:
    """(ε', δ(ε')) for several ε' ≤ ε and any neighbour; empty where no exact claim is at hand (continuous noise, steps that
    differ)."""
    steady = all(part.l1 == 0 and part.l2 == 0 and part.weight == round(part.weight) for part in ledger.parts)
    wanted = [epsilon * share for share in SHARES]
    if ledger.kind == "laplace" and steady:
        profiles = [laplace_profile(parts, ledger.base, wanted) for parts in ledger.neighbours]
        # The largest δ of any neighbour; nothing if one of them is out of reach.
        return [max(claims, key=lambda claim: claim[1]) for claims in zip(*profiles, strict=True)] if all(profiles) else []
    if ledger.kind != "gaussian":
        return []
    squares = max(sum(part.weight * part.size[1] ** 2 for part in parts) for parts in ledger.neighbours)
    claims = [(e, zcdp_delta(squares / (2 * ledger.base**2), e)) for e in wanted]
    if not steady:
        return claims
    moved = [moved_of(parts) for parts in ledger.neighbours]
    return [(e, min(d, max(discrete_delta(moves, ledger.base, e) for moves in moved))) for e, d in claims]


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
    return [(e, float(masses @ -np.expm1(np.minimum(e - losses, 0.0))) + _ROUNDING) for e in wanted]


def _loss_of_one(step: int, weight: int, base: float, length: int) -> Floats:
    ratio = math.exp(-weight / base)
    masses = np.zeros(length)
    masses[weight * step] += ratio / (1 + ratio)
    for y in range(step + 1):
        masses[weight * (step - 2 * y) % length] += (1 - ratio) / (1 + ratio) * ratio**y
    masses[-weight * step % length] += ratio ** (step + 1) / (1 + ratio)
    return masses
