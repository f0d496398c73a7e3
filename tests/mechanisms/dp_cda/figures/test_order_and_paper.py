from __future__ import annotations

import json
import math
from dataclasses import replace

import numpy as np
import pytest

from dpsyn.errors import ParameterError
from dpsyn.mechanisms.dp_cda.accounting.plan import plan_order_of_mixture
from dpsyn.mechanisms.dp_cda.counterexamples import published_epsilon
from dpsyn.mechanisms.dp_cda.figures.accounting import ROUGH, Sizes, needed_sigma
from dpsyn.mechanisms.dp_cda.figures.accuracy import AccuracyInfo, AccuracyLine, best_line, draw_accuracy
from dpsyn.mechanisms.dp_cda.figures.order import draw_needed, draw_order, order_info
from dpsyn.mechanisms.dp_cda.figures.published import PAPER, draw_published, published_info
from dpsyn.mechanisms.dp_cda.figures.records import Records
from dpsyn.mechanisms.dp_cda.figures.z_score import attack_info, draw_flip, flip_info
from dpsyn.mechanisms.dp_cda.mixing_noise import MixingFacts

SIZES = Sizes((178, 182, 177, 183, 181, 182, 181, 179, 174, 180), 179, 1e-5)
FACTS = MixingFacts(n=1797, classes=10, smallest_class=174, rows=1790, delta=1e-5)


def test_signal_and_noise_against_the_order_of_mixture(digits: Records) -> None:
    info = order_info(digits, SIZES, epsilon=10.0, here=6, orders=(1, 4, 8, 64, 512))
    assert [point.order_of_mixture for point in info.points] == [1, 4, 6, 8, 64]
    assert info.best == 8
    four = info.points[1]
    sigma = four.sigma
    for point in info.points:
        exact = needed_sigma(SIZES, "exact", point.order_of_mixture, 10.0, ROUGH)
        assert point.sigma == pytest.approx(exact, rel=0.04)
    signal = digits.signal(4, 1.0)
    assert four.total == pytest.approx(signal.to_noise(sigma))  # type: ignore[arg-type]
    plan = plan_order_of_mixture(10.0, 1e-5, 1.0, SIZES.counts, SIZES.rows, dimension=64, orders=(1, 4, 8, 64))
    assert plan.best.order_of_mixture == info.best
    for point, planned in zip([p for p in info.points if p.order_of_mixture != 6], plan.orders, strict=True):
        assert point.planned == pytest.approx(planned.signal_to_noise, rel=0.06)
        assert point.within < point.planned
    text = json.dumps(draw_order(info).to_dict(), ensure_ascii=False, allow_nan=False)
    assert "best l = 8" in text
    rows = max(draw_needed(info).to_dict()["datasets"].values(), key=len)
    assert len(rows) == 5 + 3
    assert {row["accountant"] for row in rows} == {"exact", "published but wrong"}


def test_an_order_that_no_class_allows_leaves_the_picture_empty(digits: Records) -> None:
    info = order_info(digits, SIZES, epsilon=10.0, here=1000, orders=(512,))
    assert info.points == ()
    assert info.best is None
    assert draw_order(info).to_dict()["title"]["text"] == info.title
    assert draw_needed(info).to_dict()["title"]["text"] == "Noise needed for ε = 10"


def test_poisson_sums_need_half_the_noise_and_the_paper_says_nothing_of_them(digits: Records) -> None:
    fixed = order_info(digits, SIZES, epsilon=10.0, here=4, orders=(4,)).points[0]
    poisson = order_info(digits, replace(SIZES, variant="poisson"), epsilon=10.0, here=4, orders=(4,)).points[0]
    assert poisson.sigma == pytest.approx(fixed.sigma / 2, rel=0.05)
    assert poisson.published is None
    assert poisson.between == pytest.approx(4 * fixed.between, rel=0.1)


def test_accuracy_has_its_ceiling_and_floor() -> None:
    info = AccuracyInfo(
        title="Accuracy against l",
        subtitle="",
        lines=(AccuracyLine(10.0, (1, 4), (0.3, 0.6), (0.02, 0.0)), AccuracyLine(None, (1, 4), (0.9, 0.8), (0.01, 0.02))),
        ceiling=0.95,
        floor=0.1,
    )
    spec = json.dumps(draw_accuracy(info).to_dict(), ensure_ascii=False)
    assert "trained on real rows, 95.0 %" in spec
    assert "most frequent class, 10.0 %" in spec
    assert "no noise (ε = ∞)" in spec
    assert "60.0 ± 0.0 % at l = 4" in best_line(info)
    assert "90.0 ± 1.0 % at l = 1" in best_line(info)


def test_the_published_curve_is_too_low_at_the_papers_sizes() -> None:
    info = published_info(PAPER, orders=(64,), points=15)
    (gap,) = info.gaps
    assert gap.worst is not None
    sigma, published, attained = gap.worst
    at = gap.sigma.index(sigma)
    exact = gap.exact[at]
    assert exact / published == max(e / p for e, p in zip(gap.exact, gap.published, strict=True)) > 1.3
    assert 0.96 * exact < attained < exact
    assert published == published_epsilon(order_of_mixture=64, sigma=sigma, n=60_000, delta=1e-5, rows=60_000)
    assert "too small in the shaded parts" in info.verdict
    assert f"{sigma:.3g}" in info.verdict
    spec = draw_published(info).to_dict()
    shaded = [rows for rows in spec["datasets"].values() if "low" in rows[0]]
    assert all(row["high"] >= row["low"] for row in shaded[0])
    assert any(row["high"] > row["low"] for row in shaded[0])
    assert math.log10(exact) == pytest.approx(
        max(row["high"] for row in shaded[0] if 10 ** row["x"] == pytest.approx(sigma))
    )


def test_a_difference_that_the_grid_could_make_is_not_called_too_small() -> None:
    info = published_info(PAPER, orders=(4,), points=15)
    assert info.gaps[0].worst is None
    assert "no two datasets are known" in info.verdict


def test_one_class_has_no_pair_that_refutes() -> None:
    facts = MixingFacts(n=6000, classes=1, smallest_class=6000, rows=6000, delta=1e-5)
    (gap,) = published_info(facts, orders=(256,), points=7).gaps
    assert gap.worst is None


def test_an_order_that_no_class_allows_has_no_curve() -> None:
    info = published_info(FACTS, orders=(512,), points=5)
    assert info.gaps == ()
    assert draw_published(info).to_dict()["title"]["text"] == info.title
    assert "no two datasets are known" in info.verdict


def test_a_z_score_turns_the_sign_of_every_record() -> None:
    info = flip_info(records=9, value=3.0, step=1e-3)
    assert info.first[:-1] == info.second[:-1]
    assert np.array(info.first_scored) == pytest.approx(-np.array(info.second_scored), rel=1e-6)
    assert info.first_scored[0] == pytest.approx(-1 / math.sqrt(8))
    assert info.second_scored[-1] == pytest.approx(-math.sqrt(8))
    for scored in (False, True):
        rows = max(draw_flip(info, scored=scored).to_dict()["datasets"].values(), key=len)
        assert len(rows) == 18
    with pytest.raises(ParameterError, match="at least 3"):
        flip_info(records=2)
    with pytest.raises(ParameterError, match="> 0"):
        flip_info(step=0.0)


def test_the_digits_attack_refutes_the_claim() -> None:
    found = attack_info(n=1797, features=64, classes=10, order_of_mixture=4, epsilon=10.0, delta=1e-5)
    assert found.sigma == pytest.approx(0.272, abs=5e-4)
    assert found.refuted is not None
    assert found.refuted >= 1795


def test_a_claim_that_cannot_be_made_is_not_attacked() -> None:
    found = attack_info(n=1797, features=64, classes=10, order_of_mixture=4, epsilon=1.0, delta=1e-5)
    assert found.sigma is None
    assert found.refuted is None
