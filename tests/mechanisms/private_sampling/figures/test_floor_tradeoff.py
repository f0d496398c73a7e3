"""The trade-off in floor: lines, limits, bands and words."""

import math

import pytest

from dpsyn.mechanisms.private_sampling.answers import floor_window
from dpsyn.mechanisms.private_sampling.bounds import sampling_setting
from dpsyn.mechanisms.private_sampling.figures.feasibility import Lines, draw_lines, floor_tradeoff_info
from dpsyn.privacy.spec import PrivacySpec
from dpsyn.statistics import DatasetStatistics
from dpsyn.theory.datasets import ADULT, ASIA, ideal_cube

HUGE = DatasetStatistics(p=10**4, n=10**30, max_frequency=1e-30)


def texts(info: Lines) -> set[str]:
    spec = draw_lines(info).to_dict()
    return {row["text"] for rows in spec["datasets"].values() for row in rows if "text" in row}


def test_lines_are_the_ratio_and_four_times_the_floor() -> None:
    info = floor_tradeoff_info(sampling_setting(ASIA, PrivacySpec(1.0), rows=3))
    privacy, error = info.lines
    assert len(privacy.x) == len(error.x) > 50
    for x, cost, by, promised in zip(privacy.x, privacy.y, privacy.by, error.y, strict=True):
        floor = 10**x
        assert 10**promised == pytest.approx(4 * floor)
        assert 10**cost == pytest.approx(3 * math.log(2 / floor))
        assert by == "bounded ratio"
    assert info.here[:2] == (pytest.approx(math.log10(0.25)), pytest.approx(math.log10(3 * math.log(8))))
    costs = list(privacy.y)
    assert costs == sorted(costs, reverse=True)


def test_a_window_is_shaded_and_said() -> None:
    info = floor_tradeoff_info(sampling_setting(ideal_cube(200), PrivacySpec(10.0), floor=0.1, rows=10**5))
    assert floor_window(sampling_setting(ideal_cube(200), PrivacySpec(10.0), floor=0.1, rows=10**5)).both is not None
    assert "Private, in exact arithmetic, and accurate from floor = 0.0225" in info.subtitle
    assert "private and accurate" in texts(info)
    none = floor_tradeoff_info(sampling_setting(ADULT, PrivacySpec(3.0)))
    assert "1 row is private from floor = 0.09958 on" in none.subtitle
    assert "‖f‖∞" in none.subtitle
    assert {"private"} <= texts(none)
    assert "private and accurate" not in texts(none)


@pytest.mark.parametrize(("ceiling", "limit"), [(2.0, "valid: ≤ 1/2"), (1.3, "valid: ≤ 0.3")])
def test_limits_are_drawn(ceiling: float, limit: str) -> None:
    found = texts(floor_tradeoff_info(sampling_setting(ASIA, PrivacySpec(1.0), ceiling=ceiling, floor=0.2)))
    assert {limit, "promise: < 1/4"} <= found


@pytest.mark.parametrize("epsilon", [1e-3, 1e3])
@pytest.mark.parametrize(("floor", "ceiling"), [(0.001, 2.0), (0.5, 2.0), (0.6, 2.0), (0.25, 1.0), (1e-5, 1e6)])
def test_extremes_draw(epsilon: float, floor: float, ceiling: float) -> None:
    info = floor_tradeoff_info(sampling_setting(HUGE, PrivacySpec(epsilon), floor=floor, ceiling=ceiling, rows=10**6))
    assert info.x_domain[0] < math.log10(floor) < info.x_domain[1]
    assert all(math.isfinite(y) for line in info.lines for y in line.y)
    assert all((line.x == ()) == (ceiling == 1.0) for line in info.lines)
    assert "What floor buys and costs" in draw_lines(info).to_json()
