"""Noisy reweighting under audit: the noisy statistics."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from itertools import pairwise

import numpy as np
import numpy.typing as npt

from dpsyn.domain import Codes
from dpsyn.errors import ParameterError
from dpsyn.mechanisms.noisy_reweighting import NoisyReweightingMechanism
from dpsyn.privacy.audit import CONFIDENCE, RUNS, Audit, Claim, Scores, audit
from dpsyn.privacy.noise import NoiseSource
from dpsyn.privacy.zcdp import zcdp_delta, zcdp_rho

Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]
Progress = Callable[[str, float], None]

_PAIRS = 200
_SHARES = (0.0, 0.1, 0.2, 0.3, 0.5, 0.7)
_ENTRIES = 4_000_000
"""Numbers made at once."""


def audit_noisy_reweighting(
    mechanism: NoisyReweightingMechanism,
    *,
    runs: int = RUNS,
    confidence: float = CONFIDENCE,
    noise_factor: float = 1.0,
    generator: np.random.Generator | None = None,
    progress: Progress | None = None,
) -> Audit:
    """Audit the noisy statistics on two tables that differ in one row, the two rows being as far apart as any.

    Args:
        mechanism: calibrated.
        runs: on each of the two tables.
        confidence: of the bound.
        noise_factor: the noise is drawn at this multiple of its scale: 1 audits the mechanism, 1/2 a faulty one, to see
            that the audit finds the fault.
        generator: None audits OpenDP's exact samplers on the system's entropy, which take their time.
        progress: told the step and the share of the work done.

    Raises:
        ParameterError: an argument is out of range.
    """
    if not noise_factor > 0:
        raise ParameterError("noise_factor", noise_factor, "a number > 0")
    tested = replace(mechanism, scale=mechanism.scale * noise_factor)
    one, other = worst_rows(mechanism)
    rest = tested._sums(np.repeat(one, mechanism.n - 1, axis=0))
    first, second = rest + tested._sums(one), rest + tested._sums(other)
    noise = NoiseSource(generator)

    def scored(sums: Integers) -> Scores:
        def run(count: int, _: np.random.Generator) -> Floats:
            chunk = max(1, _ENTRIES // len(sums))
            return np.concatenate(
                [
                    log_ratio(tested.noisy_sums(noise, np.tile(sums, (min(chunk, count - start), 1))))
                    for start in range(0, count, chunk)
                ]
            )

        return run

    def log_ratio(outputs: Integers) -> Floats:
        """ln P(output | first) - ln P(output | second); whole numbers until the last step."""
        if mechanism.config.noise == "laplace":
            return np.asarray((np.abs(outputs - second) - np.abs(outputs - first)).sum(axis=1) / tested.scale)
        return np.asarray(((outputs - second) ** 2 - (outputs - first) ** 2).sum(axis=1) / (2 * tested.scale**2))

    return audit(
        scored(first),
        scored(second),
        generator=noise.generator,
        runs=runs,
        delta=mechanism.guarantee.delta,
        confidence=confidence,
        claim=mechanism.guarantee.epsilon,
        profile=_zcdp_profile(mechanism),
        progress=progress,
    )


def _zcdp_profile(mechanism: NoisyReweightingMechanism) -> list[Claim]:
    """(ε, δ) for several ε, as the ρ behind a Gaussian guarantee claims them; none for pure ε."""
    if mechanism.guarantee.delta == 0:
        return []
    rho = zcdp_rho(mechanism.guarantee.epsilon, mechanism.guarantee.delta)
    return [(e, zcdp_delta(rho, e)) for e in (mechanism.guarantee.epsilon * share for share in _SHARES)]


def worst_rows(mechanism: NoisyReweightingMechanism) -> tuple[Codes, Codes]:
    """Two rows, shape (1, columns), whose statistics are as far apart as any of the candidates tried.

    Candidates: the first code everywhere against the last one in the first s columns, for every s, which is the worst pair
    for Walsh functions, tables and conjunctions alike; and random pairs.
    """
    sizes = np.array(mechanism.domain.shape)
    steps = np.where(np.arange(len(sizes)) < np.arange(len(sizes) + 1)[:, None], sizes - 1, 0)
    random = np.random.default_rng(0).integers(0, sizes, (_PAIRS, len(sizes)))
    pairs = [(steps[0], row) for row in steps[1:]] + [(np.minimum(1, sizes - 1), sizes - 1), *pairwise(random)]
    rows = [(np.asarray(a, dtype=np.int32)[None, :], np.asarray(b, dtype=np.int32)[None, :]) for a, b in pairs]
    laplace = mechanism.config.noise == "laplace"

    def apart(pair: tuple[Codes, Codes]) -> float:
        moved = np.abs(mechanism._sums(pair[0]) - mechanism._sums(pair[1])).astype(np.float64)
        return float(moved.sum() if laplace else (moved**2).sum())

    return max(rows, key=apart)
