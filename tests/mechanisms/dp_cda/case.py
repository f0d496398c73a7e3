from __future__ import annotations

import dpsyn
from tests.conformance.case import Case

HUGE = 1e6
CASE = Case(
    config=dpsyn.DPCDA(target="smokes", order_of_mixture=4, rows=20),
    spec=dpsyn.PrivacySpec(epsilon=5.0, delta=1e-5),
    faithful=dpsyn.DPCDA(target="smokes", order_of_mixture=1, rows=4000),
    faithful_spec=dpsyn.PrivacySpec(epsilon=HUGE, delta=1e-5),
    wrong={"target": "", "order_of_mixture": 0, "rows": 0, "count_share": 0.0, "clip_norm": 0.0},
)
