"""Walsh functions on the cube: signs and averages by brute force, matched up to d columns, drawn with both densities."""

from __future__ import annotations

from dataclasses import replace
from math import prod

import numpy as np
import pytest

from dpsyn.errors import ParameterError
from dpsyn.mechanisms.private_sampling.figures import hypercube
from dpsyn.mechanisms.private_sampling.figures.hypercube import SIGNS, WalshInfo, draw_averages, draw_walsh, walsh_info
from dpsyn.mechanisms.private_sampling.small_run import SmallRun
from dpsyn.table import Table
from tests.mechanisms.private_sampling.figures.conftest import bits_table, run_of

BOX = (0.25, 2.0)


def found(p: int, chosen: tuple[str, ...], degree: int = 2) -> tuple[Table, SmallRun, WalshInfo]:
    table = bits_table(p)
    run = run_of(table, degree)
    return table, run, walsh_info(run, chosen, *BOX)


@pytest.mark.parametrize(
    ("p", "chosen"),
    [
        (1, ()),
        (2, ("b1",)),
        (3, ("b0", "b2")),
        (3, ("b0", "b1", "b2")),
        (4, ("b3",)),
        (4, ("b1", "b3")),
        (4, ("b0", "b1", "b2", "b3")),
    ],
)
def test_signs_are_products_of_the_columns_of_j(p: int, chosen: tuple[str, ...]) -> None:
    info = found(p, chosen)[2]
    for corner, sign in zip(info.cube.corners, info.signs, strict=True):
        assert sign == prod(1 if corner.bits[int(name[1])] else -1 for name in chosen)


@pytest.mark.parametrize(("p", "degree"), [(3, 2), (4, 2), (4, 3)])
def test_averages_are_those_of_the_rows_and_of_the_density(p: int, degree: int) -> None:
    table, run, info = found(p, ("b0", "b1"), degree)
    assert len({average.columns for average in info.averages}) == 2**p
    density = run.matched(*BOX)
    assert 0.05 < info.shrinkage < 0.95
    missed = []
    for average in info.averages:
        of_rows = [prod(1 if row[int(name[1])] else -1 for name in average.columns) for row in table.codes]
        assert average.data == pytest.approx(np.mean(of_rows), abs=1e-12)
        at_points = [prod(1 if point[int(name[1])] else -1 for name in average.columns) for point in run.space.codes]
        assert average.density == pytest.approx(np.dot(at_points, density.ratio) / 2**p, abs=1e-12)
        assert average.matched == (len(average.columns) <= degree)
        if average.columns and average.matched:
            assert average.density == pytest.approx((1 - info.shrinkage) * average.data, abs=1e-7)
        elif average.columns:
            missed.append(abs(average.density - (1 - info.shrinkage) * average.data))
    assert max(missed) > 1e-4


def test_beyond_d_columns_nothing_is_left_where_the_box_does_not_bind() -> None:
    run, wide = run_of(bits_table(4)), (0.25, 3.0)
    density = run.matched(*wide)
    assert density.ratio.min() > wide[0] + 1e-3
    assert density.ratio.max() < wide[1] - 1e-3
    averages = walsh_info(run, (), *wide).averages
    assert max(abs(average.density) for average in averages if not average.matched) < 1e-7
    assert max(abs(average.data) for average in averages if not average.matched) > 0.01


def test_the_order_of_j_does_not_matter_and_other_columns_are_refused() -> None:
    run = run_of(bits_table(3))
    assert walsh_info(run, ["b2", "b0"], *BOX) == walsh_info(run, ["b0", "b2"], *BOX)
    with pytest.raises(ParameterError, match="columns of the cube: b0, b1, b2"):
        walsh_info(run, ["b7"], *BOX)


@pytest.mark.parametrize("chosen", [(), ("b1",), ("b0", "b2")])
def test_areas_of_the_two_colours_differ_by_the_average(chosen: tuple[str, ...]) -> None:
    info = found(3, chosen)[2]
    figure = draw_walsh(info)
    *discs, rings = (trace for trace in figure.data if trace.mode == "markers")
    area = {name: 0.0 for name, _ in SIGNS.values()}
    for trace in discs:
        area[trace.name] = float((np.array(trace.marker.size) ** 2).sum())
    plus, minus = area.values()
    assert (plus - minus) / (plus + minus) == pytest.approx(info.here.density, abs=1e-9)
    whole = (np.array(rings.marker.size) ** 2).sum()
    assert (np.array(rings.marker.size) ** 2) @ np.array(info.signs) / whole == pytest.approx(info.here.data, abs=1e-9)
    words = next(trace.text for trace in figure.data if trace.mode == "text")
    assert [word[0] for word in words] == ["+" if sign > 0 else "−" for sign in info.signs]


def test_a_column_may_be_called_as_what_every_object_of_javascript_has() -> None:
    averages = [replace(found(1, ())[2].averages[0], columns=(name,)) for name in ("__proto__", "a")]
    assert hypercube._labels(averages) == ["__proto__\N{ZERO WIDTH SPACE}", "a"]


@pytest.mark.parametrize("p", [1, 4])
def test_every_function_has_its_line_with_both_averages(p: int) -> None:
    info = found(p, ("b0",))[2]
    text = draw_averages(info).to_json()
    assert text.count('"function":') >= 2 * 2**p
    for average in info.averages:
        for number in (average.data, average.density):
            assert f"{number:+.4f}".replace("-", "−") in text


def test_a_single_column_is_told_by_its_labels() -> None:
    assert "share of b1 = yes minus the share of b1 = no" in found(3, ("b1",))[2].meaning
