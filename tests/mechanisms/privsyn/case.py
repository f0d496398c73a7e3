from __future__ import annotations

import dpsyn
from tests.conformance.case import Case

CASE = Case(
    config=dpsyn.PrivSyn(rows=20, rounds=10),
    spec=dpsyn.PrivacySpec(epsilon=1.0, delta=1e-5),
    faithful=dpsyn.PrivSyn(rows=20_000, rounds=30),
    faithful_spec=dpsyn.PrivacySpec(epsilon=1e6, delta=1e-5),
    wrong={"rows": 0, "histogram_share": 1.0, "table_cells": 0, "rounds": 0, "selection": "manual"},
)
