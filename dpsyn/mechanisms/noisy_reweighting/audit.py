"""Noisy reweighting under audit: everything that gets noise, on the worst pair of tables."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np
import numpy.typing as npt

from dpsyn.domain import Codes
from dpsyn.errors import ParameterError
from dpsyn.mechanisms.noisy_reweighting import NoisyReweightingMechanism
from dpsyn.mechanisms.noisy_reweighting._audit_profile import profile_of
from dpsyn.privacy.audit import CONFIDENCE, RUNS, Audit, Scores, audit
from dpsyn.privacy.noise import NoiseSource

Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]
Progress = Callable[[str, float], None]

_PAIRS = 200
_ENTRIES = 4_000_000
"""Numbers made at once."""


def audit_noisy_reweighting(
    mechanism: NoisyReweightingMechanism,
    *,
    runs: int = RUNS,
    confidence: float = CONFIDENCE,
    noise_factor: float = 1.0,
    keep_bits: bool = False,
    generator: np.random.Generator | None = None,
    progress: Progress | None = None,
) -> Audit:
    """Audit all that gets noise on two tables that differ in one row: replaced by the one farthest from it, or added.

    Args:
        mechanism: calibrated.
        runs: on each of the two tables.
        confidence: of the bound.
        noise_factor: the noise is drawn at this multiple of its scale: 1 audits the mechanism, 1/2 a faulty one, to see
            that the audit finds the fault.
        keep_bits: whether the score of continuous noise keeps every bit, and so audits floating-point numbers too.
        generator: None audits OpenDP's exact samplers on the system's entropy, which take their time.
        progress: told the step and the share of the work done.

    Raises:
        ParameterError: an argument is out of range.
    """
    if not noise_factor > 0:
        raise ParameterError("noise_factor", noise_factor, "a number > 0")
    tested = replace(mechanism, scale=mechanism.scale * noise_factor)
    replaced = mechanism.guarantee.neighbouring == "replace_one"
    one, other = worst_rows(mechanism)
    rest = _Sums.of(tested, one).times(mechanism.n - 1)
    first = rest.plus(_Sums.of(tested, one))
    second = rest.plus(_Sums.of(tested, other)) if replaced else rest
    noise = NoiseSource(generator)

    def scored(sums: _Sums) -> Scores:
        def run(count: int, _: np.random.Generator) -> Floats:
            chunk = max(1, _ENTRIES // sums.size)
            parts = [
                _log_ratio(tested, noise, sums, min(chunk, count - start), first, second) for start in range(0, count, chunk)
            ]
            scores = np.concatenate(parts)
            return scores if keep_bits else scores.round(9)

        return run

    return audit(
        scored(first),
        scored(second),
        generator=noise.generator,
        runs=runs,
        delta=mechanism.guarantee.delta,
        confidence=confidence,
        claim=mechanism.guarantee.epsilon,
        profile=profile_of(mechanism.ledger, mechanism.guarantee.epsilon),
        progress=progress,
    )


@dataclass(frozen=True, eq=False)
class _Sums:
    """What gets noise: sums of the statistics, one-way counts that are released on their own, and the number of rows."""

    statistics: Integers
    marginals: Integers
    rows: Integers

    @classmethod
    def of(cls, mechanism: NoisyReweightingMechanism, codes: Codes) -> _Sums:
        none = np.zeros(0, dtype=np.int64)
        return cls(
            mechanism.statistics.sums(codes),
            none if mechanism.marginals is None else mechanism.marginals.sums(codes),
            np.array([len(codes)], dtype=np.int64) if mechanism.count_part else none,
        )

    @property
    def size(self) -> int:
        return len(self.statistics) + len(self.marginals) + len(self.rows)

    def times(self, count: int) -> _Sums:
        return _Sums(self.statistics * count, self.marginals * count, self.rows * count)

    def plus(self, more: _Sums) -> _Sums:
        return _Sums(self.statistics + more.statistics, self.marginals + more.marginals, self.rows + more.rows)


def _log_ratio(
    mechanism: NoisyReweightingMechanism, noise: NoiseSource, sums: _Sums, count: int, first: _Sums, second: _Sums
) -> Floats:
    """ln P(output | first) - ln P(output | second) of ``count`` releases on ``sums``, shape (count,)."""
    noisy = mechanism.noisy_sums(noise, np.tile(sums.statistics, (count, 1)))
    total = mechanism.log_ratio(noisy, first.statistics, second.statistics)
    last = len(mechanism.ledger.parts) - 1
    for values, a, b, part in (
        (sums.marginals, first.marginals, second.marginals, last - int(mechanism.count_part)),
        (sums.rows, first.rows, second.rows, last),
    ):
        if len(values):
            drawn = mechanism._draw(noise, np.tile(values, (count, 1)), part)
            scale = mechanism._scale_of(part)
            if mechanism.ledger.kind == "gaussian":
                total = total + ((drawn - b) ** 2 - (drawn - a) ** 2).sum(axis=1) / (2 * scale**2)
            else:
                total = total + (np.abs(drawn - b) - np.abs(drawn - a)).sum(axis=1) / scale
    return np.asarray(total, dtype=np.float64)


def worst_rows(mechanism: NoisyReweightingMechanism) -> tuple[Codes, Codes]:
    """Two rows, shape (1, columns), whose statistics are as far apart, in units of their noise, as any of those tried.

    Candidates: the first code everywhere against the last one in the first s columns, for every s, which is the worst pair
    for Walsh functions, tables and conjunctions alike; codes 1 against the last ones; and random pairs. Where a row is
    added only the first of the two counts.
    """
    sizes = np.array(mechanism.domain.shape)
    steps = np.where(np.arange(len(sizes)) < np.arange(len(sizes) + 1)[:, None], sizes - 1, 0)
    random = np.random.default_rng(0).integers(0, sizes, (_PAIRS, len(sizes)))
    pairs = [(steps[0], row) for row in steps[1:]] + [(np.minimum(1, sizes - 1), sizes - 1), *pairwise(random)]
    rows = [(np.asarray(a, dtype=np.int32)[None, :], np.asarray(b, dtype=np.int32)[None, :]) for a, b in pairs]
    rows += [(b, a) for a, b in rows]
    power = 2 if mechanism.ledger.kind == "gaussian" else 1
    added = mechanism.guarantee.neighbouring == "add_remove"

    def apart(pair: tuple[Codes, Codes]) -> float:
        first = mechanism.statistics.sums(pair[0])
        second = np.zeros_like(first) if added else mechanism.statistics.sums(pair[1])
        return float(((np.abs(first - second) / mechanism.scales) ** power).sum())

    return max(rows, key=apart)
