"""The picture of audits: what is drawn is what they found."""

from __future__ import annotations

import numpy as np
import pytest

from dpsyn.kit.trade_off import draw_trade_off
from dpsyn.privacy.audit import audit, claimed_trade_off


def _gaussian(at: float, sigma: float):
    return lambda count, generator: -generator.normal(at, sigma, count)


def test_every_audit_has_its_curve_and_band_above_what_the_claim_forbids() -> None:
    found = {
        name: audit(_gaussian(0, s), _gaussian(1, s), generator=np.random.default_rng(1), runs=2_000, claim=1.0)
        for name, s in (("sound", 3.0), ("halved", 0.5))
    }
    chart = draw_trade_off(found)
    forbidden, _, band, _, curves = (layer.data for layer in chart.layer)
    assert list(curves["series"].unique()) == ["sound", "halved"]
    assert ((band["low"] <= band["y"] + 1e-9) & (band["y"] <= band["high"] + 1e-9)).all()
    worst = {name: (group["high"].to_numpy() - forbidden["y"].to_numpy()).min() for name, group in curves.groupby("series")}
    assert worst["halved"] < 0 <= worst["sound"]
    assert forbidden["y"].iloc[0] == pytest.approx(1)
    chart.to_dict()


def test_grey_is_what_all_claims_of_an_accounting_forbid_together() -> None:
    profile = ((0.5, 0.1), (0.2, 0.3))
    run = _gaussian(0, 3.0)
    one = audit(run, run, generator=np.random.default_rng(1), runs=2_000, claim=1.0, profile=profile)
    forbidden = draw_trade_off({"one": one}).layer[0].data
    each = [claimed_trade_off([claim], forbidden["x"].to_numpy()) for claim in ((1.0, 0.0), *profile)]
    assert forbidden["y"].to_numpy() == pytest.approx(np.max(each, axis=0))
    for alone in each:
        assert (forbidden["y"] > alone + 0.01).any()
