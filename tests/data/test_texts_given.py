"""Texts of typed sources under a given domain: they are read as those of a text file, and what is decided is told."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

import dpsyn
from dpsyn.data.large import file_statistics
from dpsyn.domain import Attribute, Domain

Read = Callable[[pd.DataFrame, Domain, Path], Any]


def of_frame(frame: pd.DataFrame, domain: Domain, folder: Path) -> Any:
    return dpsyn.read_table(frame, domain=domain)


def of_parquet(frame: pd.DataFrame, domain: Domain, folder: Path) -> Any:
    frame.to_parquet(folder / "t.parquet")
    return dpsyn.read_table(folder / "t.parquet", domain=domain)


def in_place(frame: pd.DataFrame, domain: Domain, folder: Path) -> Any:
    frame.to_parquet(folder / "t.parquet")
    return dpsyn.read_table(folder / "t.parquet", domain=domain, in_place=True)


def of_duckdb(frame: pd.DataFrame, domain: Domain, folder: Path) -> Any:
    import duckdb

    connection = duckdb.connect()
    connection.register("t", frame)
    return dpsyn.read_table(connection.table("t"), domain=domain)


def statistics(frame: pd.DataFrame, domain: Domain, folder: Path) -> Any:
    frame.to_parquet(folder / "t.parquet")
    return file_statistics(folder / "t.parquet", domain=domain)


TABLES = [of_frame, of_parquet, in_place, of_duckdb]
every_way = pytest.mark.parametrize("read", [*TABLES, statistics])


@every_way
@pytest.mark.parametrize(
    ("days", "said"),
    [
        (["28.07.2020", "04.03.2020", "01.12.2021"], "its dates come back written as 2024-12-31"),
        (["13/04/2020", "01/02/2020", "05/06/2021"], "its dates come back written as 2024-12-31"),
        (["4 Mar 2020", "28 Jul 2020", "1 Dec 2021"], "its dates come back written as 2024-12-31"),
        (["03/04/2020", "01/02/2020", "05/06/2021"], "could be month/day or day/month and were read as month/day"),
    ],
)
def test_a_domain_that_was_inferred_reads_dates_that_are_texts(
    read: Read, days: list[str], said: str, tmp_path: Path
) -> None:
    frame = pd.DataFrame({"day": [*days, None] * 50, "y": [0.5, 1.5] * 100})
    inferred = dpsyn.read_table(frame)
    found = read(frame, inferred.domain.confirmed(), tmp_path)
    assert found.domain["day"].kind == "date"
    assert any(said in note for note in found.notes)
    if read is not statistics:
        codes = found.codes if read in (of_frame, of_parquet) else found.drawn.codes
        assert sorted(codes.tolist()) == sorted(inferred.codes.tolist())


def test_which_number_is_the_month_is_decided_for_the_whole_file(tmp_path: Path) -> None:
    """The first batches could be either; the last row alone tells."""
    frame = pd.DataFrame({"day": ["03/04/2020", "05/06/2020"] * 100_000 + ["13/04/2020"], "y": [0, 1] * 100_000 + [0]})
    domain = dpsyn.read_table(frame).domain.confirmed()
    assert domain["day"].upper == pd.Timestamp("2020-06-05").timestamp() / 86_400
    frame.to_parquet(tmp_path / "t.parquet", row_group_size=1_000)
    found = file_statistics(tmp_path / "t.parquet", domain=domain)
    assert not any("lie outside" in note for note in found.notes)
    assert found.statistics == dpsyn.read_table(tmp_path / "t.parquet", domain=domain).statistics()


@pytest.mark.parametrize("read", TABLES)
@pytest.mark.parametrize("categories", [("1", 1, "2"), (1, "1", "2"), ("1.5", 1.5, "2")])
def test_a_text_that_is_a_category_is_that_one_though_a_number_is_written_so(
    read: Read, categories: tuple[Any, ...], tmp_path: Path
) -> None:
    one = next(category for category in categories if isinstance(category, str))
    frame = pd.DataFrame({"x": [one, "2"] * 20, "y": [0, 1] * 20})
    domain = Domain.of([Attribute("x", "categorical", categories), Attribute("y", "truth", (0, 1))]).confirmed()
    found = read(frame, domain, tmp_path)
    assert set(found.drawn.codes[:, 0]) == {categories.index(one), 2}
    assert found.notes == ()


@every_way
@pytest.mark.parametrize(("text", "number"), [("01", 1), ("1e0", 1), ("01.5", 1.5)])
def test_texts_that_look_like_codes_and_are_taken_for_numbers_are_told(
    read: Read, text: str, number: float, tmp_path: Path
) -> None:
    frame = pd.DataFrame({"x": [str(number), text, "2"] * 20})
    domain = Domain.of([Attribute("x", "categorical", (number, 2))]).confirmed()
    assert read(frame, domain, tmp_path).notes == (f"Column 'x': '{text}' was read as the category {number}.",)
    plain = pd.DataFrame({"x": [str(number), "2"] * 20})
    assert read(plain, domain, tmp_path).notes == ()
    long = Domain.of([Attribute("x", "categorical", (10**20, 2))]).confirmed()
    assert read(pd.DataFrame({"x": [str(10**20), "2"] * 20}), long, tmp_path).notes == ()


@pytest.mark.parametrize("sure", [False, True])
def test_points_that_may_separate_thousands_are_told_under_a_given_domain(sure: bool, tmp_path: Path) -> None:
    path, cells = tmp_path / "t.csv", [f"{n}.000" for n in range(100, 150)] + ["99.5"] * sure
    path.write_text("income;rate\n" + "".join(f"{cell};1,5\n" for cell in cells))
    income = Attribute("income", "numeric", lower=0, upper=200_000)
    domain = Domain.of([income, Attribute("rate", "numeric", lower=0, upper=9)]).confirmed()
    for found in (
        dpsyn.read_table(path, domain=domain),
        dpsyn.read_table(path, domain=domain, in_place=True),
        file_statistics(path, domain=domain),
    ):
        assert any("if the point separates thousands, take it out" in note for note in found.notes) == (not sure)
