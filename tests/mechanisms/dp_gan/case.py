from __future__ import annotations

import dpsyn
from tests.conformance.case import Case

CASE = Case(
    config=dpsyn.DPGAN(rows=20, steps=30),
    spec=dpsyn.PrivacySpec(epsilon=1.0, delta=1e-5),
    faithful=dpsyn.DPGAN(rows=6000, sampling_rate=0.1),
    faithful_spec=dpsyn.PrivacySpec(epsilon=1e6, delta=1e-5),
    wrong={
        "rows": 0,
        "histogram_share": 1.0,
        "steps": 0,
        "sampling_rate": 0.0,
        "clip_norm": 0.0,
    },
    error=0.06,
)
