from __future__ import annotations

import dpsyn
from tests.conformance.case import Case

HUGE = 1e6
CASE = Case(
    config=dpsyn.NoisyReweighting(degree=2, rows=20),
    spec=dpsyn.PrivacySpec(epsilon=1.0),
    faithful=dpsyn.NoisyReweighting(degree=2, rows=20_000),
    faithful_spec=dpsyn.PrivacySpec(epsilon=HUGE),
    wrong={
        "degree": 0,
        "statistics": "fourier",
        "noise": "cauchy",
        "rows": 0,
        "reduced_space_size": 0,
        "reduced_space": "cube",
        "marginal_share": 1.0,
    },
)
