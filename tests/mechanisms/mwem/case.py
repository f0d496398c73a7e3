from __future__ import annotations

import dpsyn
from tests.conformance.case import Case

CASE = Case(
    config=dpsyn.MWEM(degree=2, rows=20, rounds=5),
    spec=dpsyn.PrivacySpec(epsilon=1.0),
    faithful=dpsyn.MWEM(degree=2, rows=20_000, rounds=20),
    faithful_spec=dpsyn.PrivacySpec(epsilon=1e6),
    wrong={"degree": 0, "rounds": 0, "rows": 0, "replays": -1, "output": "first", "measured": "rows", "start_share": 1.0},
)
