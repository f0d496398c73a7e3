from __future__ import annotations

import numpy as np
import pytest

from dpsyn.data.samples import load_sample
from dpsyn.errors import ParameterError
from dpsyn.mechanisms.dp_cda.figures import rows as figures
from dpsyn.mechanisms.dp_cda.inside import Inside, Records


class Stated(Inside):
    """With a σ of one's own."""

    stated: float = 0.0

    @property
    def sigma(self) -> float:  # type: ignore[override]
        return self.stated


def stated(records: Records, order: int, sigma: float, epsilon: float = 10.0) -> Inside:
    found = Stated(records, epsilon, 1e-5, order, 1000)
    object.__setattr__(found, "stated", sigma)
    return found


def test_real_images_are_the_records_and_mixed_ones_their_means(digits: Records) -> None:
    info = figures.stages_info(stated(digits, 1, 0.0, 10.0), 8, 3)
    assert info.images.shape == (3, 10, 8, 8)
    assert (info.lower, info.upper) == (0.0, 16.0)
    assert info.columns == tuple(map(str, range(10)))
    frame = load_sample("digits").frame
    for k in range(10):
        rows = frame[frame["digit"] == k].drop(columns="digit").to_numpy()
        assert (rows == info.images[0, k].ravel()).all(axis=1).any()
    assert (info.images[0] == info.images[1]).all()
    assert (info.images[1] == info.images[2]).all()


def test_a_class_of_fewer_than_l_images_is_left_out(digits: Records) -> None:
    sizes = digits.sizes
    most, least = max(range(10), key=lambda k: sizes[k]), min(range(10), key=lambda k: sizes[k])
    info = figures.stages_info(stated(digits, sizes[most], 0.5), 8, 3, classes=[least, most])
    assert sizes[least] < sizes[most]
    assert info.columns == (str(most),)


def test_released_images_stay_on_the_grey_scale(digits: Records) -> None:
    info = figures.stages_info(stated(digits, 8, 0.5, 1.0), 8, 3, classes=[4, 1])
    assert info.columns == ("4", "1")
    assert info.images.min() >= 0
    assert info.images.max() <= 16
    assert (info.images[1] != info.images[2]).any()


def test_figure_one_has_places_for_every_l_and_epsilon(digits: Records) -> None:
    sigmas = {(None, 1): 0.0, (None, 500): 0.0, (10.0, 1): 0.9, (10.0, 500): None}
    info = figures.orders_info(stated(digits, 1, 0.0), 8, 3, 2, sigmas)
    assert (info.rows, info.columns) == (("no noise", "ε = 10"), ("l = 1", "l = 500"))
    assert np.isnan(info.images[:, 1]).all()
    assert np.isfinite(info.images[:, 0]).all()
    with pytest.raises(ParameterError, match="at least one"):
        figures.orders_info(stated(digits, 1, 0.0), 8, 3, 2, {})


def test_the_mosaic_keeps_every_image_in_its_place(digits: Records) -> None:
    info = figures.stages_info(stated(digits, 4, 0.1, 10.0), 8, 3)
    whole = figures.mosaic(info)
    assert whole.shape == (3 * 9 - 1, 10 * 9 - 1)
    assert (whole[9:17, 18:26] == info.images[1, 2]).all()
    assert np.isnan(whole[8]).all()
    figure = figures.draw_images(info)
    assert list(figure.layout.xaxis.ticktext) == list(info.columns)
    assert figure.layout.yaxis.autorange == "reversed"


def test_points_are_seen_along_the_axes_of_largest_variance(car: Records) -> None:
    info = figures.points_info(stated(car, 2, 0.1, 5.0), 1)
    centred = car.points - car.points.mean(axis=0)
    variances = np.linalg.svd(centred, compute_uv=False) ** 2
    assert info.explained == pytest.approx(variances[:2].sum() / variances.sum(), rel=1e-9)
    assert info.classes == ("unacc", "acc", "good", "vgood")
    assert [len(stage) for stage in info.points] == [4, 4, 4]
    assert len(figures.draw_points(info).data) == 12


def test_points_along_two_columns_of_numbers() -> None:
    records = Records(load_sample("breast_cancer"), "diagnosis")
    names = list(records.features.single)
    assert len(names) == 30
    info = figures.points_info(stated(records, 3, 0.0), 1, (names[4], names[0]), [0])
    assert info.axes == (names[4], names[0])
    members = records.points[records.labels == 0][:, [4, 0]]
    assert all((np.abs(members - point).max(axis=1) < 1e-12).any() for point in info.points[0][0])
    with pytest.raises(ParameterError, match="two of the columns"):
        figures.points_info(stated(records, 3, 0.0), 1, ("diagnosis", names[0]))


def test_one_column_alone_is_a_line_of_points() -> None:
    records = Records(load_sample("asia").project(["smoke", "dysp"]), "dysp")
    info = figures.points_info(stated(records, 4, 0.1, 5.0), 1)
    assert info.explained == pytest.approx(1.0)
    assert (info.points[0][0][:, 1] == 0).all()
    figures.draw_points(info)


def test_points_that_coincide_are_drawn_apart_and_others_where_they_are(car: Records) -> None:
    info = figures.points_info(stated(car, 2, 0.1, 5.0), 1)
    for trace, true in zip(figures.draw_points(info).data, [found for stage in info.points for found in stage], strict=True):
        drawn = np.column_stack([trace.x, trace.y])
        assert len(np.unique(drawn, axis=0)) == len(drawn)
        if len(np.unique(true.round(9), axis=0)) == len(true):
            assert (drawn == true).all()
        assert np.abs(drawn - true).max() < 0.1 * np.ptp(info.points[2][0])


def test_nothing_to_project_is_said(car: Records) -> None:
    with pytest.raises(ParameterError, match="at least one class"):
        figures.points_info(stated(car, 5000, 0.1, 5.0), 1)


@pytest.mark.parametrize("shape", [(3, 20), (40, 20), (12, 30), (1, 8), (9, 8)])
@pytest.mark.parametrize("few", [0, 1], ids=["iterated", "by the products of few rows"])
def test_two_axes_alone_are_those_of_the_whole_spectrum(monkeypatch, shape, few):
    points = np.random.default_rng(1).normal(size=shape) * np.arange(1, shape[1] + 1)
    whole = figures._principal(points)
    monkeypatch.setattr(figures, "_WHOLE_SPECTRUM", (shape[1] - 1) * few)
    found = figures._principal(points)
    assert found.T @ found == pytest.approx(np.eye(2))
    if shape[0] > 2:
        assert found == pytest.approx(whole, abs=1e-6)
    assert figures._principal(np.zeros(shape)).tolist() == np.eye(shape[1], 2).tolist()


def test_of_many_coordinates_fewer_points_are_drawn(car, monkeypatch):
    inside = stated(car, 2, 0.1, 5.0)
    monkeypatch.setattr(figures, "_MOST_DRAWN", 7 * 4 * inside.records.dimension)
    info = figures.points_info(inside, 1, classes=[0, 1, 2, 3])
    assert [len(points) for points in info.points[0]] == [7] * 4


def test_rows_on_one_line_have_one_axis():
    found = figures._principal(np.outer([1.0, 2, 4, 7], np.arange(600.0)))
    assert found[:, 0] == pytest.approx(np.arange(600) / np.linalg.norm(np.arange(600)))
    assert (found[:, 1] == 0).all()
