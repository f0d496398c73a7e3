"""What to expect of a run of DP-MERF, before it starts."""

from __future__ import annotations

from dpsyn.mechanisms.dp_merf.mechanism import DPMERFMechanism

_COUNT, _WAVE, _FIT = 1e-7, 3e-8, 1.5e-8
"""By row and column, by row and feature that is summed up, and by point, feature and step that fits it."""
_STEPS, _POINTS = 200, 1000


def seconds(mechanism: DPMERFMechanism) -> float:
    """About how long a run takes, right to a factor of a few."""
    points = _POINTS * mechanism.classes
    rows = mechanism.config.rows or (mechanism.n if mechanism.spec.neighbouring == "replace_one" else points)
    counting = 0.5 + _COUNT * rows * len(mechanism.domain)
    if not any(attribute.is_binned for attribute in mechanism.others.attributes):
        return counting
    return counting + mechanism.config.features * (_WAVE * rows + _FIT * _STEPS * min(rows, points))
