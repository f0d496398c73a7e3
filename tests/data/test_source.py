"""Where rows come from: what cannot be is refused as it is made."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import pytest

from dpsyn.data.samples import load_sample
from dpsyn.data.source import DataSource
from dpsyn.errors import ParameterError

SOURCE = DataSource("asia", load_sample("asia").domain, True, 0.25, 0)


@pytest.mark.parametrize(
    ("field", "wrong"),
    [
        *(("name", wrong) for wrong in (None, 1)),
        *(("domain", wrong) for wrong in (None, {}, "asia")),
        *(("sample", wrong) for wrong in (None, 1, "yes")),
        *(("held_out", wrong) for wrong in (None, 0.0, 1.0, math.nan, "0.2")),
        *(("split_seed", wrong) for wrong in (None, -1, 0.5, "0")),
    ],
)
def test_a_source_of_something_else_is_refused(field: str, wrong: Any) -> None:
    assert DataSource.from_dict(SOURCE.to_dict()) == SOURCE
    with pytest.raises(ParameterError) as caught:
        replace(SOURCE, **{field: wrong})
    assert caught.value.field == field
