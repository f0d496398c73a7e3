"""Single cells: numbers that no double is stay what they are."""

from __future__ import annotations

from decimal import Decimal

import numpy as np
import pandas as pd

from dpsyn.cells import floats, in_settings, settled, undecimal


def test_a_decimal_that_is_no_number_is_none() -> None:
    column = pd.Series([Decimal("1.5"), Decimal("NaN"), Decimal("sNaN")], dtype=object)
    np.testing.assert_array_equal(floats(column), [1.5, np.nan, np.nan])


def test_a_class_has_one_name_however_its_whole_number_is_held() -> None:
    for value in (3, 3.0, np.float32(3), np.int64(3), "3"):
        assert in_settings(value) == "3"
    assert [in_settings(value) for value in (2.5, True, "3.0")] == ["2.5", "True", "3.0"]


def test_whole_numbers_stay_exact() -> None:
    for number, kind in ((2**63 - 1, "Int64"), (2**63, "object")):
        found = settled(pd.Series([number, None], dtype=object))
        assert (str(found.dtype), int(found[0])) == (kind, number)
    assert [undecimal(Decimal(number)) for number in (2**53, 2**53 + 1)] == [float(2**53), Decimal(2**53 + 1)]
    assert undecimal(Decimal("0.19")) == 0.19
