from __future__ import annotations

import dpsyn
from tests.conformance.case import Case

CASE = Case(
    config=dpsyn.DPMERF(target="smokes", rows=20),
    spec=dpsyn.PrivacySpec(epsilon=1.0, delta=1e-5),
    faithful=dpsyn.DPMERF(features=300, rows=2000),
    faithful_spec=dpsyn.PrivacySpec(epsilon=1e6, delta=1e-5),
    wrong={"target": "", "features": 1, "rows": 0},
    keeps_dependence=False,
    error=0.1,
)
