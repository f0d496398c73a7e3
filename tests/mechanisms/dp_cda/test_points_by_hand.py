"""Rows as points, and points in the ball, against the formulas row by row: over more numbers than are handled at a time."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd
import pytest

from dpsyn.domain import Attribute, Domain
from dpsyn.mechanisms.feature_map import FeatureMap, Standard, clip_in_place, clip_to_ball, simplex
from dpsyn.table import Table

DOMAIN = Domain.of(
    [
        Attribute("t", "truth", ("no", "yes"), public=True),
        Attribute("w", "numeric", lower=20.0, upper=120.0, missing=True, public=True),
        Attribute("c", "categorical", ("S", "M", "L"), missing=True, public=True),
        Attribute("k", "numeric", lower=-3, upper=7, integer=True, public=True),
        Attribute("v", "numeric", lower=0.0, upper=0.5, public=True),
        Attribute("d", "date", lower=100, upper=300, public=True),
    ]
)


def rows(n: int) -> pd.DataFrame:
    random = np.random.default_rng(3)
    return pd.DataFrame(
        {
            "t": np.where(random.random(n) < 0.3, "yes", "no"),
            "w": np.where(random.random(n) < 0.2, np.nan, random.uniform(20, 120, n)),
            "c": np.array(["S", "M", "L", None], dtype=object)[random.integers(0, 4, n)],
            "k": random.integers(-3, 8, n),
            "v": random.uniform(0, 0.5, n),
            "d": pd.Timestamp("1970-01-01") + pd.to_timedelta(random.integers(100, 301, n), unit="D"),
        }
    )


def test_numbers_outside_their_bounds_are_clipped_however_many_columns_there_are() -> None:
    domain = Domain.of([Attribute(f"x{j}", "numeric", lower=0.0, upper=1.0, public=True) for j in range(80)])
    frame = pd.DataFrame({name: [-1.0, 0.5, 3.0] for name in domain.names})
    points = FeatureMap(domain).encode(Table(frame, domain), None)
    np.testing.assert_allclose(points * math.sqrt(80), np.repeat([[-1.0], [0.0], [1.0]], 80, axis=1), atol=1e-13)


@pytest.mark.parametrize("standard", [None, Standard(np.array([0.1, -0.2, 0.3, 0.0]), np.array([0.5, 2.0, 0.1, 1.0]))])
def test_points_are_those_of_the_formula(standard: Standard | None) -> None:
    frame = rows(20_000)
    features = FeatureMap(DOMAIN)
    points = features.encode(Table(frame, DOMAIN), standard)
    assert points.size > 2**17  # more than one piece
    corners = simplex(4)
    np.testing.assert_allclose(np.linalg.norm(corners, axis=1), 1, rtol=1e-14)
    days = (frame["d"] - pd.Timestamp("1970-01-01")).dt.days
    numbers = [(frame["w"] - 70) / 50, (frame["k"] - 2) / 5, (frame["v"] - 0.25) / 0.25, (days - 200) / 100]
    columns = [np.nan_to_num(one.to_numpy(float), nan=0.0) for one in numbers]
    if standard is not None:
        columns = [(one - c) / s for one, c, s in zip(columns, standard.centre, standard.spread, strict=True)]
    code = frame["c"].map({"S": 0, "M": 1, "L": 2}).fillna(3).astype(int)
    sign = np.where(frame["t"] == "yes", 1.0, -1.0)
    expected = np.column_stack([sign, columns[0], corners[code], *columns[1:]]) / math.sqrt(6)
    np.testing.assert_allclose(points, expected, atol=1e-13)
    assert features.length == math.sqrt(6)
    assert features.dimension == 8
    assert features.number_coordinates.tolist() == [1, 5, 6, 7]
    if standard is None:
        assert np.linalg.norm(points, axis=1).max() <= 1 + 1e-12


def test_a_point_of_extremes_has_length_one_and_two_of_them_are_a_diameter_apart() -> None:
    frame = rows(2)
    frame["t"], frame["c"] = ["no", "yes"], ["S", "M"]
    frame["w"], frame["k"], frame["v"] = [20.0, 120.0], [-3, 7], [0.0, 0.5]
    frame["d"] = pd.Timestamp("1970-01-01") + pd.to_timedelta([100, 300], unit="D")
    points = FeatureMap(DOMAIN).encode(Table(frame, DOMAIN))
    np.testing.assert_allclose(np.linalg.norm(points, axis=1), 1, rtol=1e-12)


def test_columns_of_many_categories_and_of_one() -> None:
    """150 vertices are not remembered, a column of one value has no coordinate and takes no length from the others."""
    names = tuple(f"{code:03}" for code in range(150))
    many = Attribute("m", "categorical", names, public=True)
    one = Attribute("o", "categorical", ("same",), public=True)
    frame = pd.DataFrame({"m": names * 2, "o": "same", "t": ["no"] * 150 + ["yes"] * 150})
    domain = Domain.of([many, one, DOMAIN["t"]])
    features = FeatureMap(domain)
    points = features.encode(Table(frame, domain))
    sign = np.repeat([-1.0, 1.0], 150)
    np.testing.assert_allclose(points, np.column_stack([np.tile(simplex(150).T, 2).T, sign]) / math.sqrt(2), atol=1e-13)
    corners = simplex(150) @ simplex(150).T
    np.testing.assert_allclose(corners, np.where(np.eye(150) == 1, 1.0, -1 / 149), atol=1e-13)
    apart = math.sqrt((2 * 150 / 149 + 4) / 2)
    assert features.diameter == pytest.approx(apart, rel=1e-14)
    assert np.linalg.norm(points - points[0], axis=1).max() == pytest.approx(apart, rel=1e-13)
    assert FeatureMap(Domain.of([one, DOMAIN["v"]])).length == 1.0
    nothing = FeatureMap(Domain.of([one]))
    assert (nothing.length, nothing.diameter) == (1.0, 1.0)
    assert nothing.encode(Table(frame[["o"]], nothing.domain)).shape == (300, 0)


@pytest.mark.parametrize(("kind", "empty"), [("float64", None), ("Int64", None), ("object", None), ("object", pd.NA)])
def test_numbers_find_their_coordinates_however_a_column_is_stored(kind: str, empty: object) -> None:
    first = Attribute("a", "numeric", lower=0, upper=8, public=True)
    sizes = Attribute("c", "categorical", ("S", "M", "L"), public=True)
    last = Attribute("b", "numeric", lower=-4, upper=0, missing=True, public=True)
    domain = Domain.of([first, sizes, last])
    for beside in ("int64", kind):
        a, b = pd.Series([0, 2, 8], dtype=beside), pd.Series([-3, empty, 0], dtype=kind)
        frame = pd.DataFrame({"a": a, "c": ["S", "M", "L"], "b": b})
        points = FeatureMap(domain).encode(Table(frame, domain)) * math.sqrt(3)
        expected = np.column_stack([[-1.0, -0.5, 1.0], simplex(3), [-0.5, 0.0, 1.0]])
        np.testing.assert_allclose(points, expected, atol=1e-14)


def test_a_long_column_is_mapped_piece_by_piece() -> None:
    domain = Domain.of([DOMAIN["v"]])
    values = np.random.default_rng(1).uniform(0, 0.5, 2**17 + 5)
    points = FeatureMap(domain).encode(Table(pd.DataFrame({"v": values}), domain))
    np.testing.assert_allclose(points[:, 0], values * 4 - 1, atol=1e-14)


def test_cells_far_outside_narrow_bounds_are_at_the_bound_without_a_word(recwarn: pytest.WarningsRecorder) -> None:
    narrow = Domain.of([Attribute("v", "numeric", lower=0.0, upper=1e-300, public=True)])
    table = Table(pd.DataFrame({"v": [0.0, 1e300, -1e300, 5e-301]}), narrow)
    np.testing.assert_allclose(FeatureMap(narrow).encode(table)[:, 0], [-1.0, 1.0, -1.0, 0.0], atol=1e-12)
    assert not recwarn.list


@pytest.mark.parametrize("radius", [0.3, 1.0, 4.0])
def test_every_record_is_clipped_to_the_ball(radius: float) -> None:
    points = np.random.default_rng(1).standard_normal((3000, 100)) * np.random.default_rng(2).uniform(0, 0.2, (3000, 1))
    points[7] = 0.0
    lengths = np.linalg.norm(points, axis=1)
    expected = points / np.maximum(lengths / radius, 1)[:, None]
    clipped, share = clip_to_ball(points, radius)
    np.testing.assert_allclose(clipped, expected, rtol=1e-13)
    assert share == (lengths > radius).mean()
    assert clip_in_place(points, radius) == share
    np.testing.assert_array_equal(points, clipped)
    assert clip_in_place(np.zeros((0, 3)), radius) == 0.0
    # What lies on the sphere is not shortened.
    assert clip_in_place(np.array([[radius, 0.0], [9 * radius, 0.0]]), radius) == 0.5


@pytest.mark.parametrize("radius", [1e-100, 0.3, 1.0, 4.0])
def test_a_record_is_clipped_however_little_it_lies_beyond_the_ball(radius: float) -> None:
    """Alone, and beside others that are inside; up to the rounding of a length."""
    directions = np.random.default_rng(3).standard_normal((16, 7))
    directions /= np.linalg.norm(directions, axis=1, keepdims=True)
    beyond = directions * radius * (1 + 10.0 ** -np.arange(16.0))[:, None]
    for points in (*beyond[:, None], beyond, np.concatenate([beyond / 3, beyond])):
        clipped, _ = clip_to_ball(points, radius)
        assert np.linalg.norm(clipped / radius, axis=1).max() <= 1 + 1e-15
        np.testing.assert_allclose(np.linalg.norm(clipped[-1:] / radius, axis=1), 1.0, rtol=1e-14)


def test_numbers_of_a_unit_come_back_as_its_multiples() -> None:
    halves = Attribute("h", "numeric", lower=0, upper=9, unit=0.5, public=True)
    rows = FeatureMap(Domain.of([halves, DOMAIN["v"]])).decode(
        np.array([[-1.0, 0.0], [0.013, 0.0], [0.9, 0.0]]) / math.sqrt(2), np.random.default_rng(0)
    )
    assert rows["h"].tolist() == [0.0, 4.5, 8.5]


@pytest.mark.parametrize("integer", [False, True])
def test_numbers_side_by_side_come_out_as_each_would_alone(integer: bool) -> None:
    """Also beyond the bounds, where bounds are no whole numbers, and over more numbers than are handled at a time."""
    columns = [
        Attribute(f"x{j}", "numeric", lower=lower, upper=upper, integer=integer, public=True)
        for j, (lower, upper) in enumerate([(0.5, 9.5), (-7.25, -1.0), (2.0, 40.75)])
    ]
    points = np.random.default_rng(5).normal(0, 1.2, (50_000, 3))
    together = FeatureMap(Domain.of(columns)).decode(points / math.sqrt(3), np.random.default_rng(0))
    for j, attribute in enumerate(columns):
        low, high = float(attribute.lower or 0), float(attribute.upper or 0)
        alone = attribute.from_numbers((low + high) / 2 + np.clip(points[:, j], -1, 1) * (high - low) / 2)
        assert together[attribute.name].dtype == alone.dtype
        np.testing.assert_allclose(together[attribute.name], alone, rtol=1e-12)
        assert together[attribute.name].between(low, high).all()
