"""DP-GAN under audit: the noisy sums that all its steps learn of one row, drawn by the function that draws them in a run."""

from __future__ import annotations

from typing import Any

import numpy as np

from dpsyn.mechanisms.dp_gan.mechanism import DPGANMechanism, noisy_sum
from dpsyn.mechanisms.dp_gan.networks import Floats
from dpsyn.privacy.audit import CONFIDENCE, RUNS, Audit, Scores, audit
from dpsyn.privacy.mixing.averaging import gaussian_noise

_DELTAS = (0.001, 0.01, 0.05, 0.1, 0.2)


class _Line:
    """Gradients along one line, as long as C allows: a row is the multiple of C that its own is."""

    def clipped_sum(self, vectors: Any, norm: float) -> Floats:
        return np.asarray(norm * vectors.sum(axis=0))


def audit_dp_gan(
    mechanism: DPGANMechanism,
    *,
    runs: int = RUNS,
    confidence: float = CONFIDENCE,
    noise_factor: float = 1.0,
    generator: np.random.Generator | None = None,
) -> Audit:
    """Audit the steps of the critic on the worst pair: a row whose gradients are C·u, against one of -C·u, or none.

    The other rows, whose gradients an onlooker may know, are left out. Counts that come before add to the claim alone.

    Args:
        mechanism: calibrated; time goes with its steps.
        runs: on each of the two datasets.
        confidence: of the bound.
        noise_factor: the noise is drawn at this multiple of its scale: 1 audits the mechanism, 1/2 a faulty one.
        generator: None draws on the system's entropy.
    """
    settings, replaced = mechanism.settings, mechanism.spec.neighbouring == "replace_one"
    norm, rate, sigma = settings.clip_norm, settings.sampling_rate, mechanism.noise_scale * noise_factor
    rows = np.ones((1, 1)), -np.ones((1, 1)) if replaced else np.ones((0, 1))

    def density(sums: Floats, place: float) -> Floats:
        """ln of the density of sums over that of noise alone, where the row has a part in a step with probability q."""
        with np.errstate(divide="ignore"):
            stays = np.log1p(-rate)
        return np.asarray(np.logaddexp(stays, np.log(rate) + (place * sums - place**2 / 2) / sigma**2))

    def scored(which: int) -> Scores:
        def run(count: int, random: np.random.Generator) -> Floats:
            add_noise = gaussian_noise(sigma, random)
            drawn = [
                noisy_sum(_Line(), rows[which], rate, norm, add_noise, random)[0] for _ in range(count * settings.steps)
            ]
            sums = np.array(drawn).reshape(count, settings.steps)
            ratio = density(sums, norm) - (density(sums, -norm) if replaced else 0.0)
            return np.asarray(ratio.sum(axis=1)).round(9)

        return run

    claim = mechanism.guarantee
    profile = [(mechanism.epsilon(delta, mechanism.multiplier), delta) for delta in _DELTAS if delta > claim.delta]
    return audit(
        scored(0),
        scored(1),
        generator=generator,
        runs=runs,
        delta=claim.delta,
        confidence=confidence,
        claim=claim.epsilon,
        profile=profile,
    )
