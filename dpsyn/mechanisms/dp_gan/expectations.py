"""What to expect of a run of DP-GAN, before it starts."""

from __future__ import annotations

from dpsyn.mechanisms.dp_gan.mechanism import DPGANMechanism

_STEP, _CODE, _ROW, _PICKED, _MADE = 1.5e-3, 5e-5, 8e-9, 1.5e-6, 1e-6
"""By step; by step and code; by step and row, for its coin; by row that is picked; and by row and code that is made."""
_SECRET = 30_000
"""Rows, where their number is a secret."""


def of_run(mechanism: DPGANMechanism) -> list[tuple[str, str]]:
    """How poor it is, as measured (docs/measurements.md)."""
    return [
        (
            "caption",
            "A GAN under noise is poor: at ε = 1 its tables of two columns were off by 0.082 on 24,421 rows of Adult and by "
            "0.017 on 15,000 of ASIA (mean total variation), those of noisy reweighting by 0.010 and 0.0007.",
        )
    ]


def seconds(mechanism: DPGANMechanism) -> float:
    """About how long a run takes, right to a factor of a few."""
    config, codes = mechanism.config, sum(mechanism.domain.shape)
    n = mechanism.public_rows or _SECRET
    step = _STEP + _CODE * codes + n * (_ROW + config.sampling_rate * _PICKED)
    return 0.5 + config.steps * step + _MADE * codes * (config.rows or n)
