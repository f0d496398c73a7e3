"""ε starts at 1 wherever a mechanism runs at 1; where it does not, the slider says why."""

from __future__ import annotations

import numpy as np
import pytest

import dpsyn
from dpsyn.errors import DpsynError


@pytest.mark.parametrize(
    ("mechanism", "key", "value"),
    [("private_sampling", "epsilon", 3.16), ("noisy_reweighting", "epsilon", 1.0), ("dp_cda", "epsilon", 3.16)],
)
def test_epsilon_starts_at_one_or_says_why(open_page, mechanism, key, value):
    app = open_page("generator")
    app.segmented_control(key="mechanism").set_value(mechanism).run()
    slider = app.select_slider(key=key)
    assert slider.value == value
    assert ("starts at 3.16 and not at 1" in slider.help) == (value != 1)


def test_the_reasons_are_true():
    asia, digits = dpsyn.load_sample("asia"), dpsyn.load_sample("digits")
    with pytest.raises(DpsynError, match=r"2\.08|2\.079"):
        dpsyn.PrivateSampling().calibrate(dpsyn.PrivacySpec(1.0), asia.domain, n=asia.n)
    mixing = dpsyn.DPCDA(target="digit", order_of_mixture=8).calibrate(
        dpsyn.PrivacySpec(1.0, 1e-5), digits.domain, n=digits.n
    )
    assert 275 <= mixing.calibrated()["count_margin"] <= 325
    with pytest.raises(DpsynError, match="no class"):
        mixing(np.random.default_rng(0), digits)
