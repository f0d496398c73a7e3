from __future__ import annotations

import decimal
import pickle
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

import dpsyn
from dpsyn.data.read import read_table
from dpsyn.domain import Attribute, Domain
from dpsyn.errors import DomainError, InputError, ParameterError
from dpsyn.table import Table, notes_over

DOMAIN = Domain.of([Attribute("a", "categorical", ("x", "y")), Attribute("n", "numeric", lower=0, upper=10, bins=5)])


def table(rows: int = 10) -> Table:
    return Table(pd.DataFrame({"n": np.arange(rows) % 10, "a": ["x", "y"] * (rows // 2), "other": 1}), DOMAIN)


def test_columns_take_the_order_of_the_domain() -> None:
    assert table().frame.columns.tolist() == ["a", "n"]
    assert table().codes[:4].tolist() == [[0, 0], [1, 0], [0, 1], [1, 1]]


def test_a_value_outside_the_domain_is_found_at_once() -> None:
    with pytest.raises(DomainError, match="row 1 has 'z'"):
        Table(pd.DataFrame({"a": ["z"], "n": [1]}), DOMAIN)


def test_what_was_checked_once_stays_as_it_is() -> None:
    whole = table()
    for made in (
        whole,
        pickle.loads(pickle.dumps(whole)),
        whole.take(np.arange(10)),
        whole.project(["a", "n"]),
        whole.with_domain(DOMAIN.confirmed()),
    ):
        rows, cells = made.frame, made.different("n")
        rows.loc[0, "n"], rows["a"], cells[:] = 99, "z", -1
        assert made.frame["n"].tolist() == list(range(10))
        assert set(made.frame["a"]) == {"x", "y"}
        with pytest.raises(ValueError, match="read-only"):
            made.codes[0, 0] = 1
    assert pickle.loads(pickle.dumps(whole)).frame.equals(whole.frame)
    with pytest.raises(TypeError, match="frame"):
        Table(domain=DOMAIN)  # type: ignore[call-arg]


def test_the_mark_of_rows_changes_with_a_number_inside_its_bin() -> None:
    frame = table().frame
    moved = Table(frame.assign(n=frame["n"].where(frame["n"] != 2, 2.5)), DOMAIN)
    assert (moved.codes == table().codes).all()
    assert moved.mark != table().mark == Table(frame, DOMAIN).mark


def test_project_take_and_another_domain() -> None:
    assert table().project(["n"]).domain.names == ("n",)
    assert table().take(np.array([3, 1])).frame["n"].tolist() == [3, 1]
    finer = DOMAIN.replace(Attribute("n", "numeric", lower=0, upper=10, bins=10))
    assert table().with_domain(finer).codes[:, 1].tolist() == list(range(10))


def test_codes_of_a_part_are_those_of_its_own_cells() -> None:
    whole = table()
    renamed = Attribute("a", "categorical", ("y", "x"))
    confirmed = whole.domain.confirmed()
    finer = Attribute("n", "numeric", lower=0, upper=10, bins=10)
    parts = [
        whole.project(["n", "a"]),
        whole.take(np.array([4, 1, 1])),
        whole.with_domain(confirmed),
        whole.with_domain(Domain.of([finer, confirmed["a"]])),
        whole.with_domain(DOMAIN.replace(renamed)),
        whole.take(np.array([2, 3])).with_domain(Domain.of([finer])),
    ]
    for part in parts:
        assert part.codes.tolist() == part.domain.encode(part.frame).tolist()
        assert part.codes.flags.f_contiguous
        assert part.frame.columns.tolist() == list(part.domain.names)
        assert part.frame.index.tolist() == list(range(part.n))
    assert parts[2].domain.is_public


def test_only_columns_that_changed_are_encoded_again(monkeypatch: pytest.MonkeyPatch) -> None:
    whole, seen = table(), []
    monkeypatch.setattr(Attribute, "encode", lambda attribute, column: seen.append(attribute.name) or [0] * len(column))
    whole.take(np.array([0])).project(["a"]).with_domain(DOMAIN.confirmed().project(["a"]))
    assert seen == []
    whole.with_domain(DOMAIN.replace(Attribute("n", "numeric", lower=0, upper=9, bins=5)))
    assert seen == ["n"]


def test_a_value_outside_another_domain_is_found() -> None:
    with pytest.raises(DomainError, match="row 2 has 'y'"):
        table().with_domain(DOMAIN.replace(Attribute("a", "categorical", ("x",))))


def test_a_split_shares_every_row_out_once() -> None:
    learn, test = table().split(0.3, np.random.default_rng(0))
    assert (learn.n, test.n) == (7, 3)
    assert sorted([*learn.frame["n"], *test.frame["n"]]) == list(range(10))
    for share in (0.01, 0.99):
        assert [part.n for part in table(2).split(share, np.random.default_rng(0))] == [1, 1]


@pytest.mark.parametrize("row", [0, 13, 99])
def test_a_row_that_is_replaced_is_replaced_in_one_part_alone(row: int) -> None:
    frame = pd.DataFrame({"x": np.arange(100)})
    table = read_table(frame)
    other = Table(frame.assign(x=np.where(frame.index == row, 99 - row, frame["x"])), table.domain)
    pairs = zip(*(each.split(0.25, np.random.default_rng(3)) for each in (table, other)), strict=True)
    assert sorted(int((one.frame != two.frame).sum().sum()) for one, two in pairs) == [0, 1]


@pytest.mark.parametrize("held_out", [0.0, 1.0, -0.5, float("nan")])
def test_an_impossible_split_is_refused(held_out: float) -> None:
    with pytest.raises(ParameterError, match="held_out"):
        table().split(held_out, np.random.default_rng(0))


def test_the_smallest_class_counts_values_that_no_row_has() -> None:
    assert table().take(np.array([0, 1, 2])).smallest_class("a") == 1
    assert table().take(np.array([0, 2])).smallest_class("a") == 0
    with pytest.raises(DomainError, match="no column 'b'"):
        table().smallest_class("b")


@pytest.mark.parametrize(
    ("call", "part"),
    [
        (lambda table: table.with_domain(Domain.of([Attribute("salary", "truth", (0, 1))])), "no column 'salary'"),
        (lambda table: table.with_domain("age"), "domain = 'age'"),
        (lambda table: table.project("age"), "names = 'age'"),
        (lambda table: table.project(["salary"]), "no column 'salary'"),
        (lambda table: table.different("salary"), "no column 'salary'"),
        (lambda table: table.ends("salary"), "no column 'salary'"),
        (lambda table: table.take([table.n]), "rows = "),
        (lambda table: table.take([-table.n - 1]), "rows = "),
        (lambda table: table.take([0.5]), "rows = "),
        (lambda table: table.take([[0], [0, 1]]), "rows = "),
        (lambda table: table.take([]).statistics(), "n = 0"),
        (lambda table: table.smallest_class(["age"]), r"no column \['age'\]"),
        (lambda table: table.split(np.timedelta64(1, "D"), np.random.default_rng(0)), "held_out = "),
        (lambda table: table.split(0.5, 7), "generator = 7"),
        (lambda table: table.statistics(two_valued_as_bit="no"), "two_valued_as_bit = 'no'"),
        (lambda table: Table(table.frame.to_dict(), table.domain), "frame = "),
        (lambda table: Table(pd.concat([table.frame, table.frame], axis=1), table.domain), "two columns 'smokes'"),
        (lambda table: Table(table.frame, table.domain, None), "name = None"),
    ],
)
def test_what_a_table_cannot_do_is_said_by_name(mixed: Table, call: Callable[[Table], object], part: str) -> None:
    with pytest.raises(InputError, match=part):
        call(mixed)


def test_rows_are_taken_by_position_or_by_a_mask(mixed: Table) -> None:
    mask = np.arange(mixed.n) < 3
    assert mixed.take(mask).frame.equals(mixed.take(np.arange(3)).frame)
    assert mixed.take([-1]).frame.equals(mixed.take([mixed.n - 1]).frame)


def test_a_table_says_what_reading_it_had_to_decide():
    ids = [f"u{i}" for i in range(50)]
    table = read_table(pd.DataFrame({"id": ids, "sick": [True, False] * 25, "seen": pd.Timestamp("2024-01-01 08:00")}))
    assert table.domain.names == ("sick", "seen")
    assert len(table.notes) == 2
    assert "Column 'id' was left out as an identifier" in " ".join(repr(table).split())
    assert "times of day are dropped" in repr(table)
    part = table.split(0.5, np.random.default_rng(0))[0]
    confirmed = part.with_domain(part.domain.confirmed())
    assert confirmed.notes == part.notes == table.notes
    fitted = read_table(pd.DataFrame({"id": ids, "sick": True}), domain=table.domain.project(["sick"]))
    assert fitted.notes == ("Not in the domain, and left out: 'id'.",)


def test_what_is_said_of_reading_is_kept_and_only_frames_have_codes() -> None:
    given = Table(table().frame, DOMAIN, notes=["one", "two"])  # type: ignore[arg-type]
    assert given.notes == ("one", "two")
    with pytest.raises(ParameterError) as caught:
        DOMAIN.encode([("x", 3)])  # type: ignore[arg-type]
    assert caught.value.field == "frame"


@pytest.mark.parametrize(
    "take",
    [
        lambda names: table().project(names),
        DOMAIN.project,
        lambda names: read_table(table().frame, columns=names),
        lambda names: dpsyn.NoisyReweighting(tables=[names]),
        lambda names: dpsyn.PrivSyn(selection=[names]),
    ],
)
def test_sets_are_no_lists(take: Callable[[object], object]) -> None:
    """Their order is another one in every process, and with it that of columns and tables, and a release with a seed."""
    take(["n", "a"])
    for names in ({"n", "a"}, frozenset(["n", "a"])):
        with pytest.raises(ParameterError):
            take(names)


@pytest.mark.parametrize(
    ("cells", "codes"),
    [
        (pa.array([decimal.Decimal("1.5"), None]), [0, 5]),
        (pa.array([1, None]), [0, 5]),
        (pa.array(["9", None], pa.string_view()), [4, 5]),
        (pa.array([[1], None]), None),
        (pa.array([{"x": 1}, None]), None),
        (pa.array([b"1", None]), None),
    ],
)
def test_columns_of_arrow_are_what_their_cells_are_or_refused(cells: pa.Array, codes: list[int] | None) -> None:
    frame = pd.DataFrame({"n": pd.Series(pd.arrays.ArrowExtensionArray(pa.chunked_array([cells])))})
    domain = Domain.of([Attribute("n", "numeric", lower=0, upper=10, bins=5, missing=True)])
    if codes is None:
        with pytest.raises(DomainError, match="'n'"):
            Table(frame, domain)
    else:
        assert Table(frame, domain).codes[:, 0].tolist() == codes


@pytest.mark.parametrize(
    "change",
    [{"unit": 0.3}, {"unit": 0.25}, {"integer": True}, {"lower": -1}, {"upper": 2}, {"bins": 4}, {"missing": True}],
)
def test_another_domain_counts_rows_as_a_new_table_does(change: dict[str, Any]) -> None:
    frame = pd.DataFrame({"x": np.linspace(0, 1, 101), "k": [0, 1] * 50 + [1]})
    attributes = [Attribute("x", "numeric", lower=0, upper=1, bins=3), Attribute("k", "truth", (0, 1))]
    domain = Domain.of(attributes)
    for before, after in ((domain, domain.replace("x", **change)), (domain.replace("x", **change), domain)):
        np.testing.assert_array_equal(Table(frame, before).with_domain(after).codes, Table(frame, after).codes)


def test_a_table_that_is_being_made_has_no_frame_yet() -> None:
    assert not hasattr(object.__new__(Table), "frame")


def test_columns_of_one_value_are_told_by_the_domain_or_by_several_rows() -> None:
    """Brute force over the cells: one bin of several numbers is no single value, and a cell that is empty is one."""
    frame = pd.DataFrame(
        {
            "alone": ["a"] * 3,
            "same": ["x"] * 3,
            "other": ["x", "x", "y"],
            "number": [1.0] * 3,
            "bin": [1.0, 1.5, 1.0],
            "empty": pd.Series([None] * 3, dtype=object),
            "some": pd.Series(["x", None, "x"], dtype=object),
            "gap": [1.0, np.nan, 1.0],
        }
    )
    letters = {"kind": "categorical", "categories": ("x", "y")}
    numbers = {"kind": "numeric", "lower": 0, "upper": 8, "bins": 4}
    table = Table(
        frame,
        Domain.of(
            [
                Attribute("alone", "categorical", categories=("a",)),
                *(Attribute(name, **letters) for name in ("same", "other")),
                *(Attribute(name, **numbers) for name in ("number", "bin")),
                *(Attribute(name, missing=True, **letters) for name in ("empty", "some")),
                Attribute("gap", missing=True, **numbers),
            ]
        ),
    )
    assert table.single_valued == [name for name in frame if len(set(frame[name].astype(str))) == 1]
    assert table.single_valued == ["alone", "same", "number", "empty"]
    assert table.take(np.array([0, 2])).single_valued == ["alone", "same", "number", "bin", "empty", "some", "gap"]
    assert table.take(np.array([1])).single_valued == ["alone"]  # of one row nothing can be told
    assert table.take(np.array([], dtype=np.int64)).single_valued == ["alone"]


@pytest.mark.parametrize("in_place", [False, True])
def test_cells_that_another_domain_moves_are_told_once_and_of_the_last_one_alone(in_place: bool, tmp_path: Path) -> None:
    frame = pd.DataFrame({"v": [1, 2, 500, 700] * 10, "w": [0.5, 1.5, 2.5, 3.5] * 10, "g": list("abab") * 10})
    frame.to_parquet(tmp_path / "x.parquet")
    table = dpsyn.read_table(tmp_path / "x.parquet", in_place=in_place)
    v, w = Attribute("v", "numeric", lower=0, upper=10, unit=1), Attribute("w", "numeric", lower=0, upper=4, unit=1)
    small = table.with_domain(Domain.of([v, w, table.domain["g"]]))
    assert small.notes == (
        "Column 'v': 20 of 40 cells lie outside the domain, 0 to 10, and are taken as its nearer end.",
        "Column 'w': 40 of 40 cells are no multiples of its unit, 1, and are taken as the nearest one.",
    )
    read = dpsyn.read_table(tmp_path / "x.parquet", in_place=in_place, domain=small.domain)
    assert read.notes == small.notes
    assert small.with_domain(small.domain.confirmed()).notes == small.notes
    wider = small.domain.replace(replace(v, upper=600))
    assert small.with_domain(wider).notes[1] == (
        "Column 'v': 10 of 40 cells lie outside the domain, 0 to 600, and are taken as its nearer end."
    )
    assert small.with_domain(wider).notes[0] == small.notes[1]
    assert small.with_domain(table.domain).notes == table.notes == ()


def test_of_a_column_that_changes_only_what_was_said_of_its_cells_is_said_anew() -> None:
    far, odd = "3 cells are beyond the bounds and are taken as its nearer end.", "its texts were read as numbers."
    notes = [f"Column 'x': {far}", f"Column 'x': {odd}", f"Column 'y': {far}"]
    assert notes_over(notes, ["x"], lambda name: [f"Column {name!r}: new.", notes[1]]) == (*notes[1:], "Column 'x': new.")
