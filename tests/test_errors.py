"""What a message says of a wrong value: enough to find it, and never rows."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import dpsyn
from dpsyn.errors import DataError, ParameterError, shown
from tests.conftest import mixed_table

TABLE = mixed_table()


@pytest.mark.parametrize(
    "value", [TABLE, TABLE.frame, TABLE.domain, TABLE.codes, TABLE.frame.iloc[:, 0], [1, (TABLE.frame,)]]
)
def test_what_may_hold_rows_is_told_by_its_type_alone(value: object) -> None:
    assert shown(value) == f"a {type(value).__name__}"
    with pytest.raises(ParameterError, match=rf"^stats = a {type(value).__name__} is not possible"):
        dpsyn.feasibility(value, dpsyn.PrivacySpec(1.0))  # type: ignore[arg-type]


@pytest.mark.parametrize("value", [3, "a", None, 1.5, np.float64(2), [1, 2], int, pd.Timestamp("2024-12-31")])
def test_other_values_are_quoted(value: object) -> None:
    assert shown(value) == repr(value)


@pytest.mark.parametrize("epsilon", [0, -1, "1", float("nan")])
def test_what_is_no_epsilon_is_told_in_the_plainest_way(epsilon: object) -> None:
    with pytest.raises(ParameterError, match=r"a finite number > 0$"):
        dpsyn.PrivacySpec(epsilon)  # type: ignore[arg-type]


def test_no_message_ends_with_a_blank() -> None:
    with pytest.raises(dpsyn.errors.DomainError, match=r"a finite number$"):
        dpsyn.Attribute("x", "numeric", lower="a", upper=1.0)  # type: ignore[arg-type]


def test_a_mechanism_that_is_called_with_the_table_alone_tells_the_call() -> None:
    mechanism = dpsyn.Independent().calibrate(dpsyn.PrivacySpec(1.0), TABLE.domain, n=TABLE.n)
    for arguments in ((TABLE,), (None, TABLE.frame)):
        with pytest.raises(ParameterError, match=r"mechanism\(None, table\)$"):
            mechanism(*arguments)


def test_what_quotes_something_very_long_is_cut_short() -> None:
    with pytest.raises(dpsyn.errors.DomainError) as caught:
        dpsyn.read_table(b"a\n" + b"x" * 900_000, domain=dpsyn.Domain.of([dpsyn.Attribute("a", "categorical", ("b",))]))
    assert len(str(caught.value)) < 700
    short = DataError("x" * 2000, line=3)
    assert (str(short), short.line) == ("x" * 2000, 3)
    assert str(DataError("x" * 2001)) == "x" * 2000 + "…"
