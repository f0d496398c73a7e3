from __future__ import annotations

from dataclasses import replace

import pytest

from dpsyn.attribute import Attribute
from dpsyn.data.images import image_side, label_column, pixel_range
from dpsyn.data.samples import load_sample
from dpsyn.domain import Domain


def pixels(count: int, **options: float) -> list[Attribute]:
    shared = {"lower": 0, "upper": 255} | options
    return [Attribute(f"p{i}", "numeric", **shared) for i in range(count)]  # type: ignore[arg-type]


CLASS = Attribute("label", "categorical", tuple(range(10)))


def test_digits_are_images_and_measurements_are_not() -> None:
    assert image_side(load_sample("digits").domain, "digit") == 8
    assert image_side(load_sample("digits").domain) is None
    for name, target in (("breast_cancer", "diagnosis"), ("asia", "dysp"), ("car", "class")):
        assert image_side(load_sample(name).domain, target) is None


@pytest.mark.parametrize(("count", "side"), [(784, 28), (16, 4), (9, None), (15, None), (17, None)])
def test_the_number_of_pixels_must_be_a_square_and_not_tiny(count: int, side: int | None) -> None:
    assert image_side(Domain.of([*pixels(count), CLASS]), "label") == side


def test_pixels_that_never_change_or_are_on_or_off_are_pixels_still() -> None:
    columns = pixels(16)
    columns[0] = Attribute("p0", "categorical", (0,))
    columns[3] = Attribute("p3", "truth", (0, 1))
    columns[5] = replace(columns[5], upper=17)
    assert image_side(Domain.of([*columns, CLASS]), "label") == 4


def test_bounds_read_off_the_images_may_differ_a_little() -> None:
    columns = [Attribute(f"p{i}", "numeric", lower=0, upper=190 + 5 * (i % 14)) for i in range(16)]
    assert image_side(Domain.of([*columns, CLASS]), "label") == 4


@pytest.mark.parametrize(
    "odd",
    [
        Attribute("p0", "categorical", ("a", "b")),
        Attribute("p0", "categorical", (0, 300)),
        Attribute("p0", "numeric", lower=-1, upper=255),
        Attribute("p0", "numeric", lower=0, upper=255, missing=True),
        Attribute("p0", "date", lower=0, upper=255),
    ],
)
def test_one_column_that_is_no_pixel_spoils_it(odd: Attribute) -> None:
    assert image_side(Domain.of([odd, *pixels(16)[1:], CLASS]), "label") is None


def test_measurements_in_different_units_are_no_image() -> None:
    columns = [Attribute(f"p{i}", "numeric", lower=0, upper=10 * (i + 1)) for i in range(16)]
    assert image_side(Domain.of([*columns, CLASS]), "label") is None


def test_the_range_of_a_pixel() -> None:
    assert pixel_range(Attribute("x", "numeric", lower=-1, upper=4)) == (-1.0, 4.0)
    assert pixel_range(Attribute("x", "categorical", (3, 1.5))) == (1.5, 3.0)
    assert pixel_range(Attribute("x", "categorical", ("a",))) is None


def test_the_label_is_the_column_with_a_name_of_its_own() -> None:
    flat = [Attribute(f"p_{i}", "categorical", (0, 7)) for i in range(3)]
    domain = Domain.of([CLASS, *flat, *pixels(16)[3:]])
    assert label_column(domain, ["label", "p_0", "p_1", "p_2"]) == "label"
    assert label_column(domain, ["p_0", "p_1"]) is None
    assert label_column(load_sample("digits").domain, ["digit"]) == "digit"
    assert label_column(load_sample("asia").domain, ["asia", "dysp"]) is None
