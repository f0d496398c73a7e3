"""The data behind the feasibility pictures, and that they draw."""

import json
import math
from dataclasses import replace
from itertools import pairwise, product
from typing import Any

import pytest

from dpsyn.errors import ParameterError
from dpsyn.mechanisms.feasibility import feasibility
from dpsyn.mechanisms.private_sampling import tables
from dpsyn.mechanisms.private_sampling.bounds import PrivateSamplingSetting, sampling_setting
from dpsyn.mechanisms.private_sampling.figures.feasibility import (
    YOURS,
    Case,
    Line,
    Lines,
    draw_lines,
    p_range,
    reduced_space_info,
    rows_bound_info,
)
from dpsyn.mechanisms.private_sampling.theorems import privacy_condition, private_sampling_verdict
from dpsyn.privacy.spec import Neighbouring, PrivacySpec
from dpsyn.statistics import DatasetStatistics
from dpsyn.theory.datasets import ADULT, ASIA, ideal_cube

HUGE = DatasetStatistics(p=10**4, n=10**30, max_frequency=1e-30)


def setting_of(stats: DatasetStatistics, epsilon: float = 1.0, **more: Any) -> PrivateSamplingSetting:
    return sampling_setting(stats, PrivacySpec(epsilon), **more)


def at(series: tuple[Line, ...], label: str, p: int) -> float:
    line = next(s for s in series if s.label == label)
    return line.y[line.x.index(p)]


def test_lines_are_the_bounds_of_the_verdict() -> None:
    info = rows_bound_info(setting_of(ASIA, 1.5, rows=7))
    verdict = feasibility(ASIA, PrivacySpec(1.5), rows=7).private_sampling
    assert at(info.lines, YOURS, 8) == pytest.approx(verdict["theorem_4_1"].log_required / math.log(10))
    ratio = next(line for line in info.lines if line.label == f"bounded ratio, {YOURS}")
    assert ratio.y[0] == ratio.y[-1]
    assert ratio.y[0] == pytest.approx(math.log10(1.5 / math.log(8)))
    assert at(info.lines, "ε = 10", 8) - at(info.lines, "ε = 1", 8) == pytest.approx(1)
    assert info.here[:2] == (8, pytest.approx(math.log10(7)))
    assert "7 asked for, 0 allowed" in info.here[2]
    assert info.subtitle.startswith("By Theorem 4.1, in exact arithmetic; ")


def test_the_ideal_case_is_figure_1_of_the_paper() -> None:
    ceiling = 1.25 + 1e-9
    info = rows_bound_info(setting_of(ideal_cube(46), 10, ceiling=ceiling), case="ideal", points=200)
    assert info.here[0] == 46
    for p in (46, 54, 120):
        assert at(info.lines, "ε = 10", p) == pytest.approx(tables.log_ideal_rows(p, 10, ceiling=ceiling) / math.log(10))
    assert at(info.lines, "ε = 10", 55) < 0 < at(info.lines, "ε = 10", 56)


BITS = DatasetStatistics(p=8, n=10**7, max_frequency=0.2, sizes=(2,) * 8)
CODES = DatasetStatistics(p=8, n=10**7, max_frequency=0.06, sizes=(3, 3, 2))


def allowed(info: Lines) -> float:
    """The number of rows in the words of "you are here"."""
    said = info.here.text.split("asked for, ")[1].split(" allowed")[0].replace("∞", "inf").replace(",", "")
    mantissa, _, power = said.partition(" × 10")
    return float(mantissa) * 10.0 ** int(power.translate(str.maketrans("⁰¹²³⁴⁵⁶⁷⁸⁹", "0123456789")) or 0)


@pytest.mark.parametrize("case", ["yours", "ideal"])
@pytest.mark.parametrize("neighbouring", ["replace_one", "add_remove"])
@pytest.mark.parametrize("stats", [BITS, CODES], ids=["bits", "codes"])
def test_no_more_rows_are_allowed_than_by_the_verdict(
    stats: DatasetStatistics, neighbouring: Neighbouring, case: Case
) -> None:
    boxes = ((0.25, 2.0), (0.45, 1.5), (0.1, 8.0), (0.5, 1.5), (0.25, 1.25), (0.25, 1.1), (0.6, 2.0))
    for (floor, ceiling), m, epsilon, n in product(boxes, (10, None), (0.9, 2.0794, 2079.4), (2000, 10**10)):
        spec = PrivacySpec(epsilon, neighbouring=neighbouring)
        given = {"floor": floor, "ceiling": ceiling, "reduced_space_size": m, "rows": 1000}
        setting = sampling_setting(replace(stats, n=n), spec, **given)
        info = rows_bound_info(setting, case=case, points=3)
        there = sampling_setting(replace(stats, n=2**stats.p if case == "ideal" else n), spec, **given)
        facts = private_sampling_verdict(there).facts
        most = [facts[f"largest_rows_{name}"] for name in ("theorem_4_1", "bounded_ratio")]
        largest = max(math.inf if one is None else one for one in most) if there.is_valid else 0
        assert 0.99 * largest <= allowed(info) <= largest, setting
        assert (allowed(info) >= 1000) == (there.is_valid and privacy_condition(there).holds), setting


def test_rows_are_allowed_by_the_million_and_rounded_down() -> None:
    assert "1.99 × 10⁶ allowed" in rows_bound_info(setting_of(BITS, 1_999_999 * math.log(8) + 1, rows=7)).here.text


@pytest.mark.parametrize(
    ("setting", "why"),
    [
        (setting_of(CODES), "it is stated for the Boolean cube, and not every column is a bit"),
        (sampling_setting(BITS, PrivacySpec(1.0, neighbouring="add_remove")), "it is stated for replacing one record"),
        (setting_of(BITS, ceiling=1.1), "the box needs 2·floor ≤ 1 ≤ ceiling - floor"),
    ],
)
def test_where_the_theorem_says_nothing_it_has_no_line(setting: PrivateSamplingSetting, why: str) -> None:
    import vl_convert

    info = rows_bound_info(setting)
    assert info.subtitle == f"Theorem 4.1 says nothing here: {why}."
    assert [line.label for line in info.lines] == [f"bounded ratio, {YOURS}"] * setting.is_valid
    drawn = vl_convert.vegalite_to_svg(draw_lines(info).properties(width=380).to_json())
    assert "you are here" in drawn
    assert "e+308" not in drawn  # where a legend without a line moves all of it


def test_a_fixed_m_is_used() -> None:
    free, fixed = rows_bound_info(setting_of(ASIA)), rows_bound_info(setting_of(ASIA, reduced_space_size=256))
    assert at(fixed.lines, "ε = 1", 8) > at(free.lines, "ε = 1", 8) + 3


def test_degenerate_ends_have_no_line_for_the_ratio() -> None:
    info = rows_bound_info(setting_of(ASIA, 1, floor=0.5))
    assert not [s for s in info.lines if s.label.startswith("bounded")]
    assert "∞ allowed" in info.here[2]


def test_the_window_opens_where_the_lines_cross() -> None:
    info = reduced_space_info(setting_of(ADULT))
    low, high, cube = info.lines
    assert "from p = 128 on" in info.subtitle
    for p, below, above, top in zip(low.x, low.y, high.y, cube.y, strict=True):
        assert (below <= above) == (p >= 128)
        assert above == pytest.approx(top / 4)
    assert "from p = 128 on" in reduced_space_info(setting_of(HUGE)).subtitle
    verdict = feasibility(ADULT, PrivacySpec(1.0)).private_sampling
    assert info.here[1] == pytest.approx(verdict["m_lower"].log_required / math.log(10))
    assert reduced_space_info(setting_of(ADULT, 1.0, reduced_space_size=1000)).here[1] == pytest.approx(3)


def test_ranges_hold_the_data_and_stay_short() -> None:
    for p in (1, 8, 139, 140, 999, 10**4):
        values = p_range(p, 1)
        assert p in values
        assert len(values) <= 145
        assert list(values) == sorted(set(values))


@pytest.mark.parametrize("stats", [ASIA, HUGE], ids=["asia", "huge"])
def test_pictures_draw_every_point_with_its_exact_number(stats: DatasetStatistics) -> None:
    rows, window = (
        rows_bound_info(setting_of(stats, 2.5)),
        reduced_space_info(setting_of(stats)),
    )
    for info, chart in ((rows, draw_lines(rows)), (window, draw_lines(window))):
        spec = json.loads(chart.to_json())
        drawn = [point for values in spec["datasets"].values() for point in values if "series" in point]
        assert len(drawn) == sum(len(s.x) for s in info.lines)
        assert all(math.isfinite(point["y"]) for point in drawn)
        mantissa, _, exponent = drawn[0]["value"].partition(" × 10")
        power = int(exponent.translate(str.maketrans("⁻⁰¹²³⁴⁵⁶⁷⁸⁹", "-0123456789")) or 0)
        assert math.log10(float(mantissa)) + power == pytest.approx(drawn[0]["y"], abs=1e-3)
        text = json.dumps(spec, ensure_ascii=False)
        assert info.title in text
        assert info.here[2] in text
        assert "number of bits p" in text


@pytest.mark.parametrize("p", [8, 62, 138])
def test_labels_stay_inside_and_apart(p: int) -> None:
    stats = DatasetStatistics(p=p, n=32561, max_frequency=0.02)
    info = rows_bound_info(setting_of(stats, 1, rows=1000))
    spec = draw_lines(info).to_dict()
    words = [layer["mark"] for layer in spec["layer"][-2:] if layer["mark"]["type"] == "text"]
    assert [mark["align"] for mark in words] == ["right" if p > 100 else "left"]
    low, high = spec["layer"][2]["encoding"]["y"]["scale"]["domain"]
    ruled = next(rows for rows in spec["datasets"].values() if len(rows) == 4 and "y" in rows[0])
    heights = [row["y"] for row in ruled if row["label"]]
    assert len(heights) >= 2
    assert all((b - a) * 260 / (high - low) >= 14 for a, b in pairwise(heights))
    assert {row["text"] for row in ruled} == {"k = 1", "k = 100", "k = 1,000", "k = 10,000"}


def test_tick_labels_are_powers_in_superscript() -> None:
    import vl_convert

    for stats, found in ((replace(ADULT, sizes=None), ("10⁻¹⁰", "10²⁰")), (HUGE, ("10¹⁰⁰⁰",))):
        charts = (
            draw_lines(rows_bound_info(setting_of(stats))),
            draw_lines(reduced_space_info(setting_of(stats))),
        )
        text = "".join(vl_convert.vegalite_to_svg(chart.properties(width=380).to_json()) for chart in charts)
        assert all(label in text for label in found)
        assert "10^" not in text.replace("2^", "")


def test_an_unknown_case_names_its_field() -> None:
    with pytest.raises(ParameterError, match="case"):
        rows_bound_info(setting_of(ASIA), case="other")  # type: ignore[arg-type]
