from __future__ import annotations

import dpsyn
from tests.conformance.case import Case

CASE = Case(
    config=dpsyn.Independent(rows=20),
    spec=dpsyn.PrivacySpec(epsilon=1.0, delta=1e-5),
    faithful=dpsyn.Independent(rows=20_000),
    faithful_spec=dpsyn.PrivacySpec(epsilon=1e6, delta=1e-5),
    wrong={"rows": 0, "histogram_share": 1.0, "degree": 0},
    keeps_dependence=False,
)
