"""Damaged workspaces: what is wrong is set aside with its file's name and left as it is, and the rest opens."""

from __future__ import annotations

import io
import json
import os
import shutil
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyarrow import parquet
from streamlit.testing.v1 import AppTest

from dpsyn.errors import DataError, ParameterError, WorkspaceError
from dpsyn.evaluation import experiments
from dpsyn.evaluation.experiments import Workspace, read_archive
from tests.pages.conftest import finish_job
from tests.robustness.test_archives import OLD, bomb, deep

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def sound(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with three releases and two experiments."""
    folder = tmp_path_factory.mktemp("workspace")
    releases, experiments, set_aside = read_archive(OLD.read_bytes())
    assert set_aside == []
    for thing in (*releases, *experiments):
        Workspace(folder).keep(thing)
    return folder


@pytest.fixture
def folder(sound: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(sound, tmp_path / "kept"))


def a_release(folder: Path) -> Path:
    return min(folder.glob("releases/*.json"), key=lambda path: json.loads(path.read_text())["runs"][0]["label"])


def a_result(folder: Path) -> Path:
    return min(folder.glob("experiments/*/results/*.json"))


def write(content: bytes | str | Callable[[Any], object]) -> Callable[[Path], object]:
    """Put this in place of a file, or change what it says."""

    def change(path: Path) -> None:
        if callable(content):
            data = json.loads(path.read_text())
            content(data)
            path.write_text(json.dumps(data))
        else:
            path.write_bytes(content if isinstance(content, bytes) else content.encode())

    return change


def folder_instead(path: Path) -> None:
    path.unlink()
    path.mkdir()


def ring(path: Path) -> None:
    path.unlink()
    path.symlink_to(path)


RELEASES: dict[str, Callable[[Path], object]] = {
    "empty": write(b""),
    "cut": lambda path: path.write_bytes(path.read_bytes()[:500]),
    "zip": write(bomb()),
    "no text": write(b"\xff\xfe\x00\xd8"),
    "a folder": folder_instead,
    "a ring of links": ring,
    "a later version": write(lambda data: data.update(version=99)),
    "nothing in it": write(lambda data: data.update(runs=[])),
    "a list": write("[]"),
    "seconds": write(lambda data: data["runs"][0]["record"].update(seconds="x")),
    "deep settings": write(lambda data: data["runs"][0]["record"]["record"]["settings"].update(ledger=deep(400))),
    "deep": write("[" * 100_000),
    "10^400": write(lambda data: data["runs"][0]["record"]["record"]["guarantee"].update(epsilon=10**400)),
}


@pytest.mark.parametrize("name", RELEASES)
def test_a_damaged_release_is_set_aside(folder: Path, name: str) -> None:
    path = a_release(folder)
    RELEASES[name](path)
    before = path.read_bytes() if path.is_file() else None
    for _ in range(2):
        found = Workspace(folder).read()
        assert (len(found.releases), len(found.experiments)) == (2, 2)
        (why,) = found.set_aside
        assert why.startswith(f"{path}: ")
        assert len(why) > len(f"{path}: ") + 8
    assert (path.read_bytes() if path.is_file() else None) == before


RESULTS: dict[str, Callable[[Path], object]] = {
    **{name: RELEASES[name] for name in ("empty", "cut", "no text", "a folder", "a ring of links", "a list", "deep")},
    "a number": write("3"),
    "seconds": write(lambda data: data.update(seconds="x")),
    "another's": write(lambda data: data.update(label="nobody")),
    "a name that leads out": write(lambda data: data.update(key="../../../x")),
}


@pytest.mark.parametrize("name", RESULTS)
def test_a_damaged_result_is_set_aside_and_its_cell_can_be_run_again(folder: Path, name: str) -> None:
    path = a_result(folder)
    RESULTS[name](path)
    found = Workspace(folder).read()
    assert (len(found.releases), len(found.experiments)) == (3, 2)
    assert sorted(len(experiment.results) for experiment in found.experiments) == [0, 2]
    (why,) = found.set_aside
    assert why.startswith(f"{path}: ")


def test_what_is_gone_between_two_looks_is_no_fault(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    gone, read = a_release(folder), Path.open

    def vanish(path: Path, *args: Any, **more: Any) -> Any:
        if path == gone:
            raise FileNotFoundError(2, "it is not there", str(path))
        return read(path, *args, **more)

    monkeypatch.setattr(Path, "open", vanish)
    found = Workspace(folder).read()
    assert (len(found.releases), found.set_aside) == (2, [])


def test_what_is_not_theirs_is_left_alone(folder: Path) -> None:
    (folder / "releases" / "notes.txt").write_text("mine")
    (folder / "experiments" / "empty").mkdir()
    (folder / "experiments" / "file").write_text("mine")
    assert Workspace(folder).read().set_aside == []


def parquet_of(values: Any) -> bytes:
    file = io.BytesIO()
    parquet.write_table(pa.table({"x": values}), file)
    return file.getvalue()


SQLITE: dict[str, tuple[str, tuple[Any, ...], tuple[int, int]]] = {
    "no json": ("UPDATE runs SET record = ? WHERE number = 1", ("{",), (2, 2)),
    "a number for a record": ("UPDATE runs SET record = ? WHERE number = 1", (3,), (2, 2)),
    "no record": ("UPDATE runs SET record = ? WHERE number = 1", ("",), (2, 2)),
    "a list for a record": ("UPDATE runs SET record = ? WHERE number = 1", ("[]",), (2, 2)),
    "no parquet": ("UPDATE runs SET rows = ? WHERE number = 1", (b"PAR1 no more",), (2, 2)),
    "text for rows": ("UPDATE runs SET rows = ? WHERE number = 1", ("a,b",), (2, 2)),
    "a moment": ("UPDATE runs SET made = ? WHERE number = 1", (b"\xff\xfe",), (2, 2)),
    "rows of other columns": (
        "UPDATE runs SET rows = (SELECT rows FROM runs WHERE number = 3) WHERE number = 1",
        (),
        (2, 2),
    ),
    "rows of durations": (
        "UPDATE runs SET rows = ? WHERE number = 1",
        (parquet_of(pa.array([1], pa.duration("ns"))),),
        (2, 2),
    ),
    "rows in lists": ("UPDATE runs SET rows = ? WHERE number = 1", (parquet_of([[1]]),), (2, 2)),
    "a grid": ("UPDATE grids SET grid = ? WHERE number = 1", ('{"repeats": 1e400}',), (3, 1)),
    "facts": ("UPDATE grids SET facts = ? WHERE number = 1", ("null",), (3, 1)),
    "a result": ("UPDATE results SET result = ? WHERE rowid = 1", ('{"seconds": "x"}',), (3, 2)),
}


@pytest.mark.parametrize("name", SQLITE)
def test_one_damaged_entry_of_an_earlier_workspace_is_set_aside(tmp_path: Path, name: str) -> None:
    change, values, left = SQLITE[name]
    shutil.copy(OLD.with_name("old_workspace.sqlite"), tmp_path / "dpsyn.sqlite")
    with closing(sqlite3.connect(tmp_path / "dpsyn.sqlite")) as database, database:
        assert database.execute(change, values).rowcount == 1
    workspace = Workspace(tmp_path)
    found = workspace.read()
    assert (len(found.releases), len(found.experiments)) == left
    assert len(found.set_aside) == 1
    assert len(list(tmp_path.glob("dpsyn.sqlite.taken-over-*"))) == 1


@pytest.mark.parametrize("content", [b"", b"SQLite format 3\0" + b"\xff" * 5000, bomb()], ids=["empty", "damaged", "zip"])
def test_an_earlier_workspace_that_is_none_is_named(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "dpsyn.sqlite").write_bytes(content)
    with pytest.raises(DataError, match=r"dpsyn\.sqlite is not a workspace"):
        Workspace(tmp_path).read()
    assert (tmp_path / "dpsyn.sqlite").read_bytes() == content


def test_rows_of_an_earlier_workspace_are_read_whatever_pandas_wrote_of_their_index(tmp_path: Path) -> None:
    shutil.copy(OLD.with_name("old_workspace.sqlite"), tmp_path / "dpsyn.sqlite")
    with closing(sqlite3.connect(tmp_path / "dpsyn.sqlite")) as database, database:
        (rows,) = database.execute("SELECT rows FROM runs WHERE number = 1").fetchone()
        wrong, file = {"pandas": '{"index_columns": ["gone"], "columns": [], "column_indexes": []}'}, io.BytesIO()
        parquet.write_table(parquet.read_table(io.BytesIO(rows)).replace_schema_metadata(wrong), file)
        database.execute("UPDATE runs SET rows = ? WHERE number = 1", (file.getvalue(),))
    found = Workspace(tmp_path).read()
    assert (len(found.releases), found.set_aside) == (3, [])


def test_an_earlier_workspace_of_which_a_table_is_a_question_without_an_end_is_named(tmp_path: Path) -> None:
    counting = "WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c)"
    with closing(sqlite3.connect(tmp_path / "dpsyn.sqlite")) as database, database:
        columns = "x number, '' made, '' dataset, '' label, '' record, 0 rows"
        database.execute(f"CREATE VIEW runs AS {counting} SELECT {columns} FROM c")
    with pytest.raises(DataError, match=r"dpsyn\.sqlite is not a workspace \(runs is no table\)"):
        Workspace(tmp_path).read()


def test_a_folder_in_place_of_an_earlier_workspace_is_named(tmp_path: Path) -> None:
    (tmp_path / "dpsyn.sqlite").mkdir()
    with pytest.raises(DataError, match=r"dpsyn\.sqlite is not a workspace"):
        Workspace(tmp_path).read()


def look(app: AppTest) -> str:
    """Both views of Comparison, and what the page said."""
    said = ""
    for what in ("Experiments", "Releases"):
        app.segmented_control(key="comparison_what").set_value(what).run()
        assert not app.exception, app.exception
        said += " ".join(element.value for kind in (app.warning, app.caption, app.markdown) for element in kind)
    return said.replace("\\", "")


def comparison() -> AppTest:
    app = AppTest.from_file(str(ROOT / "pages" / "_router.py"), default_timeout=120)
    return app.switch_page("comparison.py").run()


def test_poison_is_not_stored_and_comparison_opens_for_every_later_visit(folder: Path) -> None:
    def poison(entry: dict[str, Any], name: str) -> dict[str, Any]:
        entry["made"], entry["label"] = "2020-01-01T00:00:00Z", f"1 · {name}"
        return entry

    first, _, third = json.loads(OLD.read_bytes())["runs"]
    forged = poison(json.loads(json.dumps(first)), "forged")
    forged["record"]["record"]["settings"] |= {"ledger": [{"share": "x"}], "requested": None}
    forged["record"]["measured"] = {
        "when": "2020-01-01T00:00:00Z",
        "fingerprint": "x",
        "rows": 3,
        "target": None,
        "measures": dict.fromkeys(["ε", "δ", "Name", "Status", "Settings", "Predicted", "1-way error, mean"], 0.25),
        "references": {name: {"Name": 0.1} for name in ("ε", "Name", "1-way error, mean")},
    }
    seconds = poison(json.loads(json.dumps(third)), "seconds")
    seconds["record"]["seconds"] = "x"
    tried = json.loads(OLD.read_bytes())["experiments"][0]
    tried["name"], tried["fingerprint"] = "poison", "x"
    tried["results"][0]["key"] = f"../../../{folder.name}-outside"
    file = json.dumps({"format": "dpsyn runs", "version": 1, "runs": [forged, seconds], "experiments": [tried]})

    a_release(folder).write_text(json.dumps({"format": "dpsyn runs", "version": 1, "runs": [seconds]}))
    a_result(folder).write_text("{")
    unnameable = os.fsencode(folder) + b"/releases/r\xe9sum\xe9.json"
    with open(unnameable, "wb"):  # a name that is no Unicode
        pass
    visit = comparison()
    visit.text_input(key="workspace_folder").set_value(str(folder)).run()
    finish_job(visit.button(key="workspace_open").click().run())
    assert not visit.exception
    said = look(visit)
    assert "Set aside, since it cannot be read; all else was read" in said
    assert f"{a_result(folder)}: " in said

    kept = {path for path in folder.parent.rglob("*") if path.is_file()}
    visit.file_uploader(key="runs_import_0").upload("runs.json", file.encode(), "application/json").run()
    finish_job(visit.button(key="runs_read").click().run())
    said = look(visit)
    assert "run 2 (1 · seconds): record.seconds: expected a number, got a text" in said
    assert "can be the name of a file" in said
    assert [m.release.guarantee.status for m in visit.session_state["releases"] if m.name == "forged"] == ["stated"]
    new = {path for path in folder.parent.rglob("*") if path.is_file()} - kept
    assert new
    assert all(path.is_relative_to(folder) and "seconds" not in path.read_text()[:400] for path in new)

    later = comparison()
    later.text_input(key="workspace_folder").set_value(str(folder)).run()
    later.button(key="workspace_open").click().run()
    assert "workspace" not in later.session_state, "claims were computed again while the page waited"
    finish_job(later)
    assert not later.exception
    look(later)
    assert [m.release.guarantee.status for m in later.session_state["releases"] if m.name == "forged"] == ["stated"]


def test_what_is_no_file_is_not_written_to(folder: Path) -> None:
    kept = Workspace(folder)
    (made,) = read_archive(OLD.read_bytes()).releases[:1]
    kept.keep(made)
    path = kept.folder / "releases" / f"{made.key}.json"
    path.unlink()
    os.mkfifo(path)
    with pytest.raises(WorkspaceError, match="something that is no file has the name of one"):
        kept.keep(made)


@pytest.mark.parametrize(
    "call",
    [
        lambda: experiments.archive_text([{}], []),
        lambda: experiments.archive_text([], {}),
        lambda: experiments.Workspace(5),
        lambda: experiments.config_to_dict({}),
        lambda: experiments.experiment_script(None),
        lambda: experiments.results_frame(None),
        lambda: experiments.results_frame([None]),
        lambda: experiments.run_cell(None, None),
        lambda: experiments.references(None),
    ],
)
def test_other_things_are_refused_in_words(call: Callable[[], object], folder: Path) -> None:
    with pytest.raises(ParameterError):
        call()
    with pytest.raises(ParameterError):
        Workspace(folder).keep({})
