"""Damaged workspaces: what is wrong is set aside with its file's name and left as it is, and the rest opens."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from streamlit.testing.v1 import AppTest

from dpsyn.errors import ParameterError, WorkspaceError
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
