from __future__ import annotations

import math

import numpy as np
import pytest

from dpsyn.mechanisms.dp_cda.figures.paper import draw_flip, two_datasets


def test_a_z_score_turns_the_sign_of_every_record() -> None:
    first, second = two_datasets(scored=False).values()
    assert first[:-1] == second[:-1]
    scored, turned = two_datasets(scored=True).values()
    assert np.array(scored) == pytest.approx(-np.array(turned), rel=1e-6)
    assert scored[0] == pytest.approx(-1 / math.sqrt(11))
    assert turned[-1] == pytest.approx(-math.sqrt(11))
    for z_scored in (False, True):
        rows = max(draw_flip(scored=z_scored).to_dict()["datasets"].values(), key=len)
        assert len(rows) == 24
