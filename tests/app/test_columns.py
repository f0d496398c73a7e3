"""Columns on the pages Data and Domain: what is said of them, and what a link says of their units."""

from __future__ import annotations

import pandas as pd
import pytest

import dpsyn
from dpsyn.app import share
from dpsyn.app.columns import _alike, costly, doubts_on, notes_in_use
from dpsyn.data.editing import edited_domain
from dpsyn.data.read import read_all, read_table
from dpsyn.domain import Attribute, Domain
from dpsyn.kit import visit
from dpsyn.table import Table
from tests.data.test_editing import CSV, edit


def test_stated_bounds_that_are_those_of_the_rows_are_named(monkeypatch):
    full = read_table(CSV, name="people.csv")
    monkeypatch.setattr(visit, "next_number", lambda counter: 1)
    lines = edit(full, "age", source="definition", lower="18", upper="75")
    lines.loc[lines["column"].isin(["born", "score", "ill"]), "source"] = "code book"
    lines.loc[lines["column"] == "score", ["lower", "upper"]] = "0", "10"
    lines.loc[lines["column"] == "born", "upper"] = (
        "2020-12-31"  # of one end that is left as it is the value is somebody's, too
    )
    table = full.with_domain(edited_domain(lines, full, full.domain))
    said = doubts_on(visit.Dataset(table=table, full=full), full.domain.names)
    assert said is not None
    assert said.startswith("Stated bounds of 'age', 'born' are the smallest")
    assert "outside the domain" not in said
    narrow = full.with_domain(edited_domain(edit(full, "age", lower="18", upper="50", unit=4.0), full, full.domain))
    for table_ in (narrow, narrow.with_domain(narrow.domain.confirmed())):
        said_ = doubts_on(visit.Dataset(table=table_, full=full), full.domain.names) or ""
        ages = full.frame["age"].dropna()
        assert f"Column 'age': {(ages > 50).sum()} of {full.n} cells lie outside the domain, 18 to 50, and" in said_
        assert "are no multiples of its unit, 4," in said_
    assert doubts_on(visit.Dataset(table=full, full=full), full.domain.names) is None  # which nobody has stated yet
    assert doubts_on(visit.Dataset(table=table, full=full, sample="asia"), full.domain.names) is None


@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_cells_that_stated_bounds_and_units_move_are_told_of_rows_that_are_counted_in_place(ending, tmp_path, monkeypatch):
    monkeypatch.setattr(visit, "next_number", lambda counter: 1)
    frame, path = pd.DataFrame({"age": [18, 19, 40, 75] * 5, "k": ["a", "b"] * 10}), tmp_path / f"people.{ending}"
    frame.to_parquet(path) if ending == "parquet" else frame.to_csv(path, index=False)
    said = []
    for full in (read_table(path), read_table(path, in_place=True)):
        stated = Attribute("age", "numeric", lower=12, upper=50, unit=4, public=True)
        for table in (full, full.with_domain(full.domain.confirmed()), full.with_domain(full.domain.replace(stated))):
            said.append(doubts_on(visit.Dataset(table=table, full=full), ["age"]))
    assert said[:3] == said[3:]
    assert "5 of 20 cells lie outside the domain, 12 to 50," in said[2]
    assert "10 of 20 cells are no multiples of its unit, 4," in said[2]


def test_of_many_notes_the_first_are_shown(monkeypatch):
    monkeypatch.setattr(visit, "next_number", lambda counter: 1)
    frame = pd.DataFrame(
        {f"c{j}": [f"a {j}", f"A {j}", "x"] for j in range(25)} | {"same": ["u"] * 3, "bin": [1.0, 1.1, 9.0]}
    )
    table = dpsyn.read_table(frame)
    notes = notes_in_use(visit.Dataset(table=table, full=table))
    assert len(notes) == 21
    assert "Column 'same': one value only" in notes[0]
    assert notes[-1] == "And 6 more of this kind."


def test_of_a_column_all_is_said_that_holds_of_it_now(monkeypatch):
    monkeypatch.setattr(visit, "next_number", lambda counter: 1)
    lines = (f'"{1_000 + 7 * i:,}",{i % 2},{i % 3}%' for i in range(1_500))
    full, dropped = read_all("\n".join(["money,k,x", *lines]).encode())
    assert dropped == ("money",)

    def said(*names):
        return notes_in_use(visit.Dataset(table=full.project(names), full=full, notes=full.notes))

    why, cure = [note for note in full.notes if "'money'" in note]
    (form,) = [note for note in full.notes if "'x'" in note]
    assert "was left out as an identifier" in why
    assert "remove the thousands separators" in cure
    assert set(said("k", "x")) == {why, cure, form}  # left out by reading: why, and what would help
    assert set(said("money", "k", "x")) == {cure, form}
    assert set(said("k")) == {why, cure}  # left out by hand


@pytest.mark.parametrize("before", [None, 1, 0.01])
@pytest.mark.parametrize("after", [None, 1, 0.5])
def test_a_link_gives_a_unit_back(monkeypatch, before, after):
    def domain(unit):
        return Domain.of([Attribute("x", "numeric", lower=0, upper=9, unit=unit, public=True)])

    table = Table(pd.DataFrame({"x": [1, 2]}), domain(before))
    monkeypatch.setattr(visit, "next_number", lambda counter: 1)
    monkeypatch.setattr(visit, "load_sample", lambda name: table)
    made = visit.bundled("car")
    back, _ = share.restored(share.described(made.changed(table=table.with_domain(domain(after)))))
    assert back is not None
    assert back.table.domain == domain(after)


def test_categories_that_look_alike_are_found():
    assert _alike(["x", "x\u200b", "y", "é", "e\u0301", "A b", "a  B", "ab", "a\u00adb", 3]) == [
        ["x", "x\u200b"],
        ["é", "e\u0301"],
        ["A b", "a  B"],
        ["ab", "a\u00adb"],
    ]


@pytest.mark.parametrize(("rows", "doubted"), [(40, True), (52, False), (18, False)])
def test_a_list_of_values_as_long_as_the_rows_is_doubted_when_it_is_called_public(monkeypatch, rows: int, doubted: bool):
    monkeypatch.setattr(visit, "next_number", lambda counter: 1)
    many = min(rows, 26)
    frame = pd.DataFrame({"name": [f"person {i % many}" for i in range(rows)], "ill": ["yes", "no"] * (rows // 2)})
    table = dpsyn.read_table(frame)
    assert doubts_on(visit.Dataset(table=table, full=table), table.domain.names) is None  # nobody has called it public
    confirmed = table.with_domain(table.domain.confirmed())
    said = doubts_on(visit.Dataset(table=confirmed, full=table), table.domain.names)
    assert (said is not None) is doubted
    assert not doubted or "The list of values of 'name' is as long as half of the rows or longer" in said


def test_a_column_that_takes_most_of_the_cells_is_named_with_what_to_do():
    few = [Attribute(f"c{j}", "categorical", ("a", "b")) for j in range(4)]
    code = Attribute("code", "categorical", tuple(range(60)))
    day = Attribute("day", "date", lower=0, upper=900, bins=60)
    assert "fewer values in the file" in (costly(Domain.of([*few, code])) or "")
    assert "fewer bins" in (costly(Domain.of([*few, day])) or "")
    assert costly(Domain.of([*few, code, day])) is None  # none of the two more than the other
    assert costly(Domain.of(few)) is None
    assert costly(Domain.of([*few[:2], code])) is None  # of three columns, without which there is one table


def test_settings_of_another_file_are_not_taken_over_where_its_columns_have_other_values() -> None:
    ann, carl = (read_table(f"x,c\n1,u{name}\n2,v{name}\n1,u{name}\n".encode()) for name in ("Ann", "Carl"))
    assert visit.Dataset(table=ann, full=ann).tag == visit.Dataset(table=ann, full=ann).tag
    assert visit.Dataset(table=ann, full=ann).tag != visit.Dataset(table=carl, full=carl).tag
