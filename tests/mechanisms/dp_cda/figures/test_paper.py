from __future__ import annotations

import json
import math
from dataclasses import replace

import numpy as np
import pytest

from dpsyn.mechanisms.dp_cda.figures.paper import draw_audits, draw_flip, two_datasets
from dpsyn.privacy.audit import Audit

CALM = Audit(1.2, 1e-5, 0.99, 2000, 4.0, "above", 0.1, "first", 500, 100, 1000, 5.2)


def test_bounds_stand_beside_the_claim() -> None:
    sharp = replace(CALM, epsilon=2.0, claim=1.5, delta=0.1)
    found = {
        "ours": replace(CALM, sharpest=replace(CALM, epsilon=0.5, claim=0.9, delta=0.1)),
        "halved": replace(CALM, epsilon=3.456, sharpest=sharp),
        "published": replace(CALM, epsilon=5.1),
    }
    spec = draw_audits(found).to_dict()
    rows = max(spec["datasets"].values(), key=len)
    assert [row["kind"] for row in rows] == ["the claim stands", "the claim is refuted", "the claim is refuted"]
    assert ["refuted at" in row["text"] for row in rows] == [False, True, False]
    assert {row["value"] for rows in spec["datasets"].values() for row in rows} >= {4.0, 5.2}
    text = json.dumps(spec, ensure_ascii=False)
    assert "ε ≥ 3.45; refuted at δ = 0.1" in text
    assert "500 against 100 of 1,000 runs" in text
    assert "the claim is refuted" in text


def test_nothing_refuted_has_one_colour() -> None:
    text = json.dumps(draw_audits({"ours": CALM}).to_dict(), ensure_ascii=False)
    assert "the claim stands" in text
    assert "the claim is refuted" not in text


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
