"""Files as nobody wants them: each is read as what it says, or refused with words that help."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest

from dpsyn.attribute import Attribute
from dpsyn.data.large import file_statistics
from dpsyn.data.read import read_table
from dpsyn.domain import Domain
from tests.robustness.awkward import Case, check
from tests.robustness.awkward_cells import CELLS
from tests.robustness.awkward_frames import FRAMES
from tests.robustness.awkward_parquet import PARQUETS
from tests.robustness.awkward_texts import TEXTS

CASES = [*TEXTS, *CELLS, *PARQUETS, *FRAMES]


@pytest.mark.parametrize("case", CASES, ids=str)
def test_the_truth_or_a_refusal(case: Case, tmp_path: Path) -> None:
    check(case, tmp_path)


def test_there_are_many_kinds() -> None:
    assert len({case.name for case in CASES}) == len(CASES) >= 150


DAYS = [f"{day:%Y%m%d}" for day in pd.date_range("1980-01-01", periods=12_000)]
WHOLES = [str(i) for i in range(12_000)]


@pytest.mark.parametrize(
    ("cells", "says"),
    [
        (DAYS, "look like days"),
        ([*DAYS, "20080230"], ""),
        (WHOLES, ""),
        ([*WHOLES, "10999.5", "11E3"], "'11E3' was read as the number 11000"),
        ([f"{i % 999 + 1}.{i // 999 + 100}" for i in range(12_000)], "if the point separates thousands"),
        ([*(f"{i % 999 + 1}.{i // 999 + 100}" for i in range(12_000)), "1.5"], ""),
    ],
)
def test_one_cell_at_the_end_of_a_long_column_decides_what_is_said(cells: list[str], says: str, tmp_path: Path) -> None:
    path = tmp_path / "long.csv"
    path.write_text("\n".join(["a;b", *(f"{cell};{i % 2}" for i, cell in enumerate(cells))]))
    whole, streamed = read_table(path, columns=["a"]).notes, file_statistics(path, columns=["a"]).notes
    assert whole == streamed
    others = ("looks like an identifier", "closing zeros")
    assert [says in note for note in whole if not any(other in note for other in others)] == [True] * bool(says)


@pytest.mark.parametrize(
    ("first", "last", "told"), [("0.21", "11500.50", True), ("0.21", "11500.52", False), ("0.20", "11500.5", False)]
)
def test_one_cell_at_the_end_of_a_long_column_decides_whether_closing_zeros_are_told(
    first: str, last: str, told: bool, tmp_path: Path
) -> None:
    path = tmp_path / "long.csv"
    path.write_text("\n".join(["a", *[first, *(f"{i}.2{i % 9 + 1}" for i in range(1, 12_000)), last] * 2]))
    domain = Domain.of([Attribute("a", "numeric", lower=0, upper=30_000)])
    for known in (None, domain):
        whole, streamed = read_table(path, domain=known).notes, file_statistics(path, domain=known).notes
        assert whole == streamed
        assert any("closing zeros: 11500.5 for '11500.50'" in note for note in whole) == told
        assert any("closing zeros" in note for note in whole) == told


def test_days_in_digits_of_a_long_parquet_file_are_told(tmp_path: Path) -> None:
    path = tmp_path / "long.parquet"
    for more, told in (([], True), ([20080230], False)):
        pd.DataFrame({"a": [*map(int, DAYS), *more]}).to_parquet(path)
        whole, streamed = read_table(path).notes, file_statistics(path).notes
        assert whole == streamed
        assert any("look like days" in note for note in whole) == told


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("a b\n1 x\n2 y\n", "If spaces separate"),
        ("a:b:c\n1:x:2\n", "If colons separate"),
        ("a^b\n1^x\n", "If circumflexes separate"),
        ("name\nJohn Smith\n", ""),
        ("full name\nJohn\n", ""),
        ("a b,c\n1 x,2\n", ""),
    ],
)
def test_a_file_that_another_character_cuts_is_told(text: str, says: str) -> None:
    notes = read_table(text.encode()).notes
    assert [says in note for note in notes] == [True] * bool(says)
