from __future__ import annotations

import dpsyn
from tests.conformance.case import Case

CASE = Case(
    config=dpsyn.DualQuery(rows=20, rounds=20, samples=10),
    spec=dpsyn.PrivacySpec(epsilon=1.0, delta=1e-5),
    faithful=dpsyn.DualQuery(rows=20_000, rounds=150, samples=150),
    faithful_spec=dpsyn.PrivacySpec(epsilon=1e6, delta=1e-5),
    wrong={"rows": 0, "histogram_share": 1.0, "rounds": 1, "samples": 0, "time_limit": 0.0},
)
