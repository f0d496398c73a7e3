from __future__ import annotations

import json
from dataclasses import replace

import pytest

from dpsyn.mechanisms.dp_cda.accounting.plan import plan_order_of_mixture
from dpsyn.mechanisms.dp_cda.figures.order import best_order, draw_order, order_points
from dpsyn.mechanisms.dp_cda.inside import Inside, Records


@pytest.fixture(scope="module")
def ten(digits: Records) -> Inside:
    return Inside(digits, epsilon=10.0, delta=1e-5, order_of_mixture=6, rows=1790)


def test_signal_and_noise_against_the_order_of_mixture(ten: Inside) -> None:
    orders = (1, 4, 8, 64, 512)
    points = order_points(ten, orders)
    assert [point.order_of_mixture for point in points] == [1, 4, 6, 8, 64]
    assert best_order(points) == 8
    for point in points:
        exact = ten.at(point.order_of_mixture).sigma
        assert exact * (1 - 1e-3) <= point.plan.noise_scale <= exact * 1.04
    four = points[1]
    assert four.between + four.within == pytest.approx(ten.signal(4).to_noise(four.plan.noise_scale))
    plan = plan_order_of_mixture(10.0, 1e-5, 1.0, ten.sizes.counts, ten.sizes.rows, dimension=64, orders=(1, 4, 8, 64))
    assert plan.best.order_of_mixture == best_order(points)
    for point, planned in zip([p for p in points if p.order_of_mixture != 6], plan.orders, strict=True):
        assert point.plan.signal_to_noise == pytest.approx(planned.signal_to_noise, rel=0.06)
        assert point.within < point.plan.signal_to_noise
    text = json.dumps(draw_order(points, ten).to_dict(), ensure_ascii=False, allow_nan=False)
    assert "most variety: l = 8" in text
    assert "your l = 6" in text
    assert "your l" not in json.dumps(draw_order(points, ten, used=False).to_dict(), ensure_ascii=False)


def test_an_order_that_no_class_allows_leaves_the_picture_empty(ten: Inside) -> None:
    inside = ten.at(1000)
    points = order_points(inside, (512,))
    assert points == ()
    assert best_order(points) is None
    assert draw_order(points, inside).to_dict()["title"]["text"] == "Signal over noise against l"


def test_poisson_sums_need_half_the_noise(ten: Inside) -> None:
    (fixed,) = order_points(ten.at(4), (4,))
    (poisson,) = order_points(replace(ten.at(4), variant="poisson"), (4,))
    assert poisson.plan.noise_scale == pytest.approx(fixed.plan.noise_scale / 2, rel=0.05)
    assert poisson.between == pytest.approx(4 * fixed.between, rel=0.1)
