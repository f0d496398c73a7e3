"""What is read off the rows is nobody's public knowledge, whatever kind of column it becomes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from pyarrow import parquet

import dpsyn
from dpsyn.display import PRIVATE, PUBLIC

TEXTS: dict[str, list[str]] = {
    "truth words": ["no", "yes", "no"],
    "0 and 1": ["0", "1", "1"],
    "few whole numbers": ["1", "2", "3"],
    "whole numbers": [str(i) for i in range(40)],
    "numbers": [f"{i}.5" for i in range(40)],
    "numbers close together": ["1.0000000000000002", "1.0000000000000004", "1.0000000000000002"],
    "texts": ["a", "b", "a"],
    "dates": ["2024-01-01", "2024-05-05", "2024-12-31"],
    "one date": ["2024-01-01"] * 3,
    "gaps": ["no", "yes", ""],
    "nothing": ["", "", ""],
}
COLUMNS: dict[str, Any] = {
    "truth values": [True, False, True],
    "truth values with gaps": pd.array([True, None, False], "boolean"),
    "0 and 1": [0, 1, 1],
    "few whole numbers": [3, 5, 5],
    "whole numbers": list(range(40)),
    "floats": [i / 3 for i in range(40)],
    "floats close together": [1.0, np.nextafter(1.0, 2.0), 1.0],
    "categories": pd.Categorical(["a", "b", "a"], ["a", "b", "c"]),
    "categories of numbers": pd.Categorical([1, 2, 1]),
    "texts": ["a", "b", "a"],
    "truth words": ["no", "yes", "no"],
    "several types": [1, "a", True],
    "moments": pd.to_datetime(["2024-01-01", "2024-05-05", None]),
    "nothing": [None, None, None],
}


def private(table: Any) -> None:
    assert [a.name for a in table.domain.attributes if a.public] == []
    assert PRIVATE in str(table.domain)
    assert dpsyn.Independent().calibrate(dpsyn.PrivacySpec(1.0), table.domain, table.n).guarantee.status != "proven"


@pytest.mark.parametrize("kind", TEXTS)
def test_of_a_text_file_nothing_is_public(kind: str, tmp_path: Path) -> None:
    path = tmp_path / "some.csv"
    path.write_text("x,y\n" + "".join(f"{cell},{i}\n" for i, cell in enumerate(TEXTS[kind])))
    private(dpsyn.read_table(path))
    private(dpsyn.read_table(path, in_place=True))


@pytest.mark.parametrize("kind", COLUMNS)
def test_of_typed_columns_nothing_is_public(kind: str, tmp_path: Path) -> None:
    frame = pd.DataFrame({"x": COLUMNS[kind]})
    private(dpsyn.read_table(frame))
    if kind != "several types":
        parquet.write_table(pa.Table.from_pandas(frame), tmp_path / "some.parquet")
        private(dpsyn.read_table(tmp_path / "some.parquet"))
        private(dpsyn.read_table(tmp_path / "some.parquet", in_place=True))


@pytest.mark.parametrize("confirmed", range(4))
def test_a_domain_prints_as_public_only_if_all_of_it_is(confirmed: int) -> None:
    domain = dpsyn.read_table(b"a,b,c\n1,x,2024-01-01\n2,y,2024-02-01\n").domain
    for name in domain.names[:confirmed]:
        domain = domain.replace(name, public=True)
    assert (PUBLIC in str(domain), PRIVATE in str(domain)) == (confirmed == 3, confirmed < 3)
