from __future__ import annotations

import dpsyn
from tests.conformance.case import Case

CASE = Case(
    config=dpsyn.DPMix(rows=20),
    spec=dpsyn.PrivacySpec(epsilon=5.0, delta=1e-5),
    faithful=dpsyn.DPMix(rows=6000, order_of_mixture=1),
    faithful_spec=dpsyn.PrivacySpec(epsilon=1e6, delta=1e-5),
    wrong={"rows": 0, "order_of_mixture": 0, "size": 0},
)
