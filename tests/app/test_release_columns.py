"""How columns of a release are shown follows from public bounds alone."""

import pytest

from dpsyn.app.releases import as_shown
from dpsyn.attribute import Attribute


@pytest.mark.parametrize(
    ("lower", "upper", "form"),
    [(0, 250_000, "%.0f"), (-50, 50, "%.2f"), (0, 1, "%.4f"), (1e6, 1e6 + 0.02, "%.6f"), (0, 1e-9, "%.6g")],
)
def test_numbers_are_shown_to_five_digits_of_the_width(lower: float, upper: float, form: str) -> None:
    column = as_shown(Attribute("x", "numeric", lower=float(lower), upper=float(upper)))
    assert column["type_config"]["format"] == form


@pytest.mark.parametrize(("unit", "form"), [(0.01, "%.2f"), (0.5, "%.1f"), (3e-05, "%.5f")])
def test_numbers_of_a_unit_are_shown_with_its_decimals(unit: float, form: str) -> None:
    assert as_shown(Attribute("x", "numeric", lower=0, upper=9, unit=unit))["type_config"]["format"] == form


def test_whole_numbers_and_categories_stay_as_they_are() -> None:
    assert as_shown(Attribute("x", "numeric", lower=0.0, upper=9.0, integer=True)) is None
    assert as_shown(Attribute("x", "numeric", lower=0.0, upper=9_000.0, unit=1_000)) is None
    assert as_shown(Attribute("x", "categorical", categories=("a", "b"))) is None
    assert as_shown(Attribute("x", "date", lower=0.0, upper=9.0))["type_config"]["type"] == "date"
