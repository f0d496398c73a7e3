from __future__ import annotations

import dpsyn
from tests.conformance.case import Case

HUGE = 1e6
CASE = Case(
    config=dpsyn.PrivateSampling(degree=2, floor=0.05, ceiling=4.0, rows=20),
    spec=dpsyn.PrivacySpec(epsilon=100.0),
    faithful=dpsyn.PrivateSampling(degree=2, floor=0.002, ceiling=60.0, rows=20_000, histogram_share=0.1),
    faithful_spec=dpsyn.PrivacySpec(epsilon=HUGE),
    wrong={"degree": 0, "floor": 0.6, "ceiling": 1.0, "rows": 0, "reduced_space_size": 0, "space": "cube"},
)
