"""DP-GAN under audit: the noisy sums that all its steps learn of one row, drawn by the function that draws them in a run."""

from __future__ import annotations

from functools import partial
from typing import Any, Unpack

import numpy as np

from dpsyn import checks
from dpsyn.mechanisms.audit import Trial, bits
from dpsyn.mechanisms.dp_gan.mechanism import DPGAN, DPGANMechanism, noisy_sum
from dpsyn.mechanisms.dp_gan.networks import Floats
from dpsyn.privacy.audit import Audit, Runs, Scores, audit, log_ratio_if_picked, profile_of
from dpsyn.privacy.mixing.averaging import gaussian_noise
from dpsyn.privacy.spec import PrivacySpec


def worst_case(spec: PrivacySpec) -> Trial:
    """A few steps with large samples, in which a row shows best."""
    return partial(audit_dp_gan, DPGAN(steps=5, sampling_rate=0.5).calibrate(spec, bits(1), n=1))


class _Line:
    """Gradients along one line, as long as C allows: a row is the multiple of C that its own is."""

    def clipped_sum(self, vectors: Any, norm: float) -> Floats:
        return np.asarray(norm * vectors.sum(axis=0))


def audit_dp_gan(
    mechanism: DPGANMechanism,
    *,
    noise_factor: float = 1.0,
    **how: Unpack[Runs],
) -> Audit:
    """Audit the steps of the critic on the worst pair: a row whose gradients are C·u, against one of -C·u, or none.

    The other rows, whose gradients an onlooker may know, are left out. Counts that come before add to the claim alone.

    Args:
        mechanism: calibrated; time goes with its steps.
        noise_factor: the noise is drawn at this multiple of its scale: 1 audits the mechanism, 1/2 a faulty one.
        how: :class:`~dpsyn.privacy.audit.Runs`.

    Raises:
        ParameterError: an argument is out of range.
    """
    checks.instance("mechanism", mechanism, DPGANMechanism, "what dpsyn.DPGAN(...).calibrate(...) returns")
    noise_factor = checks.scale("noise_factor", noise_factor)
    config, replaced = mechanism.config, mechanism.spec.neighbouring == "replace_one"
    norm, rate, sigma = config.clip_norm, config.sampling_rate, mechanism.noise_scale * noise_factor
    rows = np.ones((1, 1)), -np.ones((1, 1)) if replaced else np.ones((0, 1))

    def scored(which: int) -> Scores:
        def run(count: int, random: np.random.Generator) -> Floats:
            add_noise = gaussian_noise(sigma, random)
            drawn = [noisy_sum(_Line(), rows[which], rate, norm, add_noise, random)[0] for _ in range(count * config.steps)]
            sums = np.array(drawn).reshape(count, config.steps)
            ratio = log_ratio_if_picked(sums, norm, rate, sigma)
            if replaced:
                ratio -= log_ratio_if_picked(sums, -norm, rate, sigma)
            return np.asarray(ratio.sum(axis=1).round(9))

        return run

    claim = mechanism.guarantee
    return audit(
        scored(0),
        scored(1),
        delta=claim.delta,
        claim=claim.epsilon,
        profile=profile_of(lambda delta: mechanism.epsilon(delta, mechanism.multiplier), claim.delta),
        **how,
    )
