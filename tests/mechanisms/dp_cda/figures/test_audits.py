from __future__ import annotations

import json
from dataclasses import replace

from dpsyn.mechanisms.dp_cda.figures.audits import audits_info, draw_audits
from dpsyn.privacy.audit import Audit

CALM = Audit(1.2, 1e-5, 0.99, 2000, 4.0, "above", 0.1, "first", 500, 100, 1000, 5.2)


def test_bounds_stand_beside_the_claim() -> None:
    sharp = replace(CALM, epsilon=2.0, claim=1.5, delta=0.1)
    found = {
        "ours": replace(CALM, sharpest=replace(CALM, epsilon=0.5, claim=0.9, delta=0.1)),
        "halved": replace(CALM, epsilon=3.456, sharpest=sharp),
        "published": replace(CALM, epsilon=5.1),
    }
    info = audits_info(found)
    assert [line.refuted for line in info.lines] == [False, True, True]
    assert [line.elsewhere for line in info.lines] == [None, 0.1, None]
    assert (info.claim, info.largest) == (4.0, 5.2)
    text = json.dumps(draw_audits(info).to_dict(), ensure_ascii=False)
    assert "ε ≥ 3.45; refuted at δ = 0.1" in text
    assert "500 against 100 of 1,000 runs" in text
    assert "the claim is refuted" in text


def test_nothing_refuted_has_one_colour() -> None:
    text = json.dumps(draw_audits(audits_info({"ours": CALM})).to_dict(), ensure_ascii=False)
    assert "the claim stands" in text
    assert "the claim is refuted" not in text
