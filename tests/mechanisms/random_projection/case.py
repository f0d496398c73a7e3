from __future__ import annotations

import dpsyn
from tests.conformance.case import Case

CASE = Case(
    config=dpsyn.RandomProjection(rows=20),
    spec=dpsyn.PrivacySpec(epsilon=5.0, delta=1e-5),
    faithful=dpsyn.RandomProjection(dimension=100),  # all that there are
    faithful_spec=dpsyn.PrivacySpec(epsilon=1e6, delta=1e-5),
    wrong={"rows": 0, "dimension": 0},
)
