from __future__ import annotations

import dpsyn
from tests.conformance.case import Case

CASE = Case(
    config=dpsyn.LocalPerturbation(rows=20),
    spec=dpsyn.PrivacySpec(epsilon=5.0, delta=1e-5),
    faithful=dpsyn.LocalPerturbation(),
    faithful_spec=dpsyn.PrivacySpec(epsilon=1e6, delta=1e-5),
    wrong={"rows": 0},
)
