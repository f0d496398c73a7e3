"""What a folder keeps, and what it does not."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import threading
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from dpsyn.data.samples import load_sample
from dpsyn.errors import ParameterError, WorkspaceError
from dpsyn.evaluation.experiments import CellResult, Experiment, Grid, Workspace, read_archive
from dpsyn.evaluation.experiments.archive import Archive, archive_text
from dpsyn.evaluation.experiments.workspace import _write
from dpsyn.mechanisms.noisy_reweighting import NoisyReweighting
from dpsyn.places import locked
from dpsyn.privacy.spec import PrivacySpec
from tests.evaluation.experiments.fakes import result_of
from tests.evaluation.experiments.test_archive import AWKWARD, kept

GRID = Grid({"a": NoisyReweighting()}, PrivacySpec(1.0), values=(0.5, 1.0), repeats=2)


MEASURED = {
    "when": "2026-01-02T03:04:05+00:00",
    "fingerprint": "f00",
    "rows": 30,
    "target": None,
    "measures": {"error": 0.25},
    "references": {},
}


def planned() -> Experiment:
    return Experiment(1, "my grid", "people", "f00", GRID, "age", (1,), ("random forest",))


def result(at: int, status: str = "done") -> CellResult:
    measures = ({"e": 0.1 + 0.2},) if status == "done" else ()
    return replace(result_of(list(GRID.cells())[at]), status=status, measures=measures)  # type: ignore[arg-type]


def test_runs_survive(tmp_path: Path) -> None:
    generator = np.random.default_rng(0)
    codes = np.column_stack([generator.integers(0, size, 30) for size in AWKWARD.shape]).astype(np.int32)
    rows = AWKWARD.decode(codes, generator)
    made = replace(kept(), domain=AWKWARD, release=replace(kept().release, rows=rows))
    other = replace(kept("private_sampling"), number=2, name="demo", when="2025-01-02T03:04:05+00:00")
    for each in (other, made):
        Workspace(tmp_path).keep(each)
    first, second = Workspace(tmp_path).read().releases
    assert (first.key, second.key) == (made.key, other.key)
    # These rows are of other columns than its settings.
    assert first.release.guarantee == replace(made.release.guarantee, status="stated")
    assert second.release.guarantee == other.release.guarantee
    pd.testing.assert_frame_equal(first.release.rows, rows)
    Workspace(tmp_path).remove(first)
    assert [run.name for run in Workspace(tmp_path).read().releases] == ["demo"]


def test_a_release_is_replaced(tmp_path: Path) -> None:
    made = kept()
    Workspace(tmp_path).keep(made)
    Workspace(tmp_path).keep(replace(made, name="the best"))
    (run,) = Workspace(tmp_path).read().releases
    assert run.name == "the best"
    pd.testing.assert_frame_equal(run.release.rows, made.release.rows)


def test_experiments_survive_with_what_has_been_run(tmp_path: Path) -> None:
    experiment = planned()
    Workspace(tmp_path).keep(experiment)
    for at, status in enumerate(("done", "crashed")):
        assert Workspace(tmp_path).add_result(experiment, result(at, status))
    (found,) = Workspace(tmp_path).read().experiments
    assert found.grid == GRID
    assert found.target == "age"
    assert list(found.results.values()) == [result(0), result(1, "crashed")]
    Workspace(tmp_path).add_result(found, result(1))
    (found,) = Workspace(tmp_path).read().experiments
    assert [r.status for r in found.results.values()] == ["done", "done"]
    Workspace(tmp_path).remove(found)
    assert Workspace(tmp_path).read().experiments == []
    assert list(tmp_path.glob("experiments/*")) == []


def test_every_file_of_a_release_or_an_experiment_is_an_export(tmp_path: Path) -> None:
    Workspace(tmp_path).keep(kept())
    Workspace(tmp_path).keep(planned())
    (release,), (experiment,) = tmp_path.glob("releases/*"), tmp_path.glob("experiments/*/*.json")
    assert [len(found) for found in read_archive(release.read_bytes())] == [1, 0, 0]
    assert [len(found) for found in read_archive(experiment.read_bytes())] == [0, 1, 0]


def test_folders_that_cannot_be(tmp_path: Path) -> None:
    with pytest.raises(ParameterError, match="whole path"):
        Workspace("here")
    for name in ("no/such", 300 * "x", "a\0b", "a\ud800"):
        with pytest.raises(ParameterError, match="can be made"):
            Workspace(f"{tmp_path}/{name}")
    with pytest.raises(ParameterError, match="somebody who has one"):
        Workspace("~nobody.of.this.name/here")
    (tmp_path / "file").touch()
    with pytest.raises(ParameterError, match="can be made"):
        Workspace(tmp_path / "file")


def test_a_result_of_an_experiment_that_is_gone_is_not_kept(tmp_path: Path) -> None:
    workspace, experiment = Workspace(tmp_path), planned()
    workspace.keep(experiment)
    assert workspace.add_result(experiment, result(0))
    workspace.remove(experiment)
    assert not workspace.add_result(experiment, result(0))


def test_a_folder_that_goes_away_is_named(tmp_path: Path) -> None:
    workspace = Workspace(tmp_path / "gone")
    shutil.rmtree(workspace.folder)
    for do in (workspace.read, lambda: workspace.keep(kept()), lambda: workspace.remove(kept())):
        with pytest.raises(WorkspaceError, match="cannot be read or written any more"):
            do()
    with pytest.raises(WorkspaceError, match="cannot be read or written any more"):
        workspace.add_result(planned(), result(0))


@pytest.mark.parametrize("name", ["releases", "experiments"])
def test_a_folder_that_may_not_be_listed_is_not_taken_for_an_empty_one(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    workspace, listed = Workspace(tmp_path), Path.iterdir

    def closed(path: Path) -> Any:
        if path.name == name:
            raise PermissionError(13, "Permission denied", str(path))
        return listed(path)

    monkeypatch.setattr(Path, "iterdir", closed)
    with pytest.raises(WorkspaceError, match="Permission denied"):
        workspace.read()
    with pytest.raises(WorkspaceError, match="Permission denied"):
        _ = workspace.is_empty


def test_an_experiment_that_may_not_be_looked_into_is_set_aside(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    workspace, there, opened = Workspace(tmp_path), Path.exists, Path.open
    workspace.keep(planned())

    def closed(real: Any) -> Any:
        def asked(path: Path, *args: Any, **options: Any) -> Any:
            if path.name == "experiment.json":
                raise PermissionError(13, "Permission denied", str(path))
            return real(path, *args, **options)

        return asked

    monkeypatch.setattr(Path, "exists", closed(there))
    monkeypatch.setattr(Path, "open", closed(opened))
    (said,) = workspace.read().set_aside
    assert said.endswith("experiment.json: it cannot be read (Permission denied)")
    assert not workspace.is_empty


def test_a_file_that_is_too_large_is_set_aside_by_its_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    workspace = Workspace(tmp_path)
    workspace.keep(kept())
    with (tmp_path / "releases" / "large.json").open("wb") as file:
        file.truncate(1 << 43)
    (tmp_path / "releases" / "many.json").write_text("{}")

    def reading(data: bytes) -> Archive:
        if data == b"{}":
            raise MemoryError
        return read_archive(data)

    monkeypatch.setattr("dpsyn.evaluation.experiments.workspace.read_archive", reading)
    found = workspace.read()
    assert len(found.releases) == 1
    large, many = sorted(found.set_aside)
    assert "large.json: large.json holds 8,796 GB, which does not fit into memory" in large
    assert many.endswith("many.json: it does not fit into memory")


def test_an_export_of_several_things_is_set_aside_whole(tmp_path: Path) -> None:
    workspace, texts = Workspace(tmp_path), [archive_text([kept(), kept()], []), archive_text([kept()], [planned()])]
    (tmp_path / "experiments" / "mine").mkdir(parents=True)
    places = [tmp_path / "releases" / "mine.json", tmp_path / "experiments" / "mine" / "experiment.json"]
    for place in places:
        for text in texts:
            place.write_text(text, encoding="utf-8")
            found = workspace.read()
            assert (found.releases, found.experiments) == ([], [])
            (why,) = found.set_aside
            assert "where one" in why
            assert str(place) in why
            place.unlink()
    # Nor is what lies in the other folder overlooked.
    places[0].write_text(archive_text([], [planned()]), encoding="utf-8")
    places[1].write_text(archive_text([kept()], []), encoding="utf-8")
    assert len(workspace.read().set_aside) == 2


def test_what_is_no_file_is_set_aside(tmp_path: Path) -> None:
    workspace = Workspace(tmp_path)
    os.mkfifo(tmp_path / "releases" / "pipe.json")
    (tmp_path / "releases" / "folder.json").mkdir()
    found = workspace.read()
    assert sorted(why.rpartition("/")[2] for why in found.set_aside) == [
        "folder.json: it is no file",
        "pipe.json: it is no file",
    ]


def test_a_file_whose_name_is_no_text_is_set_aside(tmp_path: Path) -> None:
    workspace = Workspace(tmp_path)
    workspace.keep(kept())
    workspace.keep(planned())
    (release,), (experiment,) = tmp_path.glob("releases/*"), tmp_path.glob("experiments/*")
    latin = os.fsdecode(b"r\xe9sum\xe9")
    shutil.copy(release, release.with_name(f"{latin}.json"))
    shutil.copytree(experiment, experiment.with_name(latin))
    found = workspace.read()
    assert (len(found.releases), len(found.experiments)) == (1, 1)
    assert len(found.set_aside) == 2
    assert all("a text that can be the name of a file" in why for why in found.set_aside)


def test_a_result_of_settings_that_json_has_no_word_for_is_kept(tmp_path: Path) -> None:
    config = NoisyReweighting(reduced_space="public", public=load_sample("asia"))
    experiment = replace(planned(), grid=Grid({"a": config}, PrivacySpec(1.0)))
    workspace, made = Workspace(tmp_path), CellResult.of(next(experiment.grid.cells()), "refused", "no")
    workspace.keep(experiment)
    assert workspace.add_result(experiment, made)
    assert made.settings["public"] == "Table"


def test_a_later_version_and_a_broken_file_are_named_and_left_alone(tmp_path: Path) -> None:
    made, other = kept(), kept()
    Workspace(tmp_path).keep(made)
    (path,) = tmp_path.glob("releases/*.json")
    Workspace(tmp_path).keep(other)
    later = json.dumps(json.loads(path.read_text()) | {"version": 99})
    for text, said in ((later, "version 99"), (later[:100], "no JSON file")):
        path.write_text(text)
        found = Workspace(tmp_path).read()
        assert [release.key for release in found.releases] == [other.key]
        (why,) = found.set_aside
        assert said in why
        assert why.startswith(f"{path}: ")
        assert path.read_text() == text


def test_a_write_that_breaks_off_leaves_what_was_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made = kept()
    Workspace(tmp_path).keep(made)

    def full(descriptor: int) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(os, "fsync", full)
        with pytest.raises(WorkspaceError, match="No space left"):
            Workspace(tmp_path).keep(replace(made, name="half written"))
    (tmp_path / "releases" / ".x.part").write_text("of a process that died")
    (back,) = Workspace(tmp_path).read().releases
    assert back.name == "mine"
    assert len(list(tmp_path.glob("releases/*.json"))) == 1


def test_visits_on_one_folder_lose_nothing_of_each_other(tmp_path: Path) -> None:
    experiment = planned()
    Workspace(tmp_path).keep(experiment)
    made = [kept() for _ in range(4)]

    def visit(at: int) -> None:
        workspace = Workspace(tmp_path)
        for _ in range(5):
            workspace.keep(made[at])
            workspace.add_result(experiment, result(at))
            workspace.keep(experiment)
            assert workspace.read().set_aside == []

    visits = [threading.Thread(target=visit, args=(at,)) for at in range(4)]
    for each in visits:
        each.start()
    for each in visits:
        each.join()
    assert {found.key for found in Workspace(tmp_path).read().releases} == {each.key for each in made}
    assert [r.status for r in Workspace(tmp_path).read().experiments[0].results.values()] == ["done"] * 4


def test_releases_that_other_visits_have_made_are_counted(tmp_path: Path) -> None:
    mine, other = kept(), kept()
    workspace = Workspace(tmp_path)
    workspace.keep(mine)
    assert [workspace.more_than(known) for known in ([mine], [], [mine, other])] == [0, 1, 0]
    Workspace(tmp_path).keep(other)
    assert [workspace.more_than(known) for known in ([mine], [], [mine, other])] == [1, 2, 0]


def test_a_change_leaves_what_another_visit_has_changed(tmp_path: Path) -> None:
    workspace, made = Workspace(tmp_path), kept()
    measured = replace(made, measured=MEASURED)
    workspace.keep(made)
    workspace.keep(measured, made)
    workspace.keep(replace(made, name="the best"), made)
    (found,) = workspace.read().releases
    assert found.name == "the best"
    assert found.measured is not None
    assert found.measured["measures"] == MEASURED["measures"]
    workspace.keep(replace(made, measured=None), measured)
    assert workspace.read().releases[0].measured is None

    experiment = planned()
    workspace.keep(experiment)
    workspace.add_result(experiment, result(0))
    stale = replace(experiment, results={(crashed := result(0, "crashed")).key: crashed})
    workspace.keep(replace(stale, name="mine"), stale)
    workspace.keep(replace(stale, references={"best": {"e": 0.5}}), stale)
    (tried,) = workspace.read().experiments
    assert (tried.name, tried.references) == ("mine", {"best": {"e": 0.5}})
    assert list(tried.results.values()) == [result(0)]

    workspace.remove(experiment)
    ran = replace(experiment, results={(done := result(0)).key: done})
    workspace.keep(replace(ran, name="mine"), ran)
    (again,) = workspace.read().experiments
    assert (again.name, list(again.results.values())) == ("mine", [done])

    path = tmp_path / "releases" / f"{made.key}.json"
    for damaged in ("{", "[]", '{"runs": []}', '{"runs": [{}]}', '{"runs": [1]}'):
        path.write_text(damaged)
        workspace.keep(replace(made, name="mine"), made)
        assert [run.name for run in workspace.read().releases] == ["mine"]
    path.unlink()
    workspace.keep(measured, made)
    assert [run.name for run in workspace.read().releases] == [made.name]


SLOWLY = """
import sys, time
from dataclasses import replace
from dpsyn.evaluation.experiments import Workspace, workspace

def slowly(path, text, write=workspace._write):
    print("changing", flush=True)
    time.sleep(0.3)
    write(path, text)

folder = Workspace(sys.argv[1])
(made,) = folder.read().releases
workspace._write = slowly
folder.keep(replace(made, name="the best"), made)
"""


def check_both_changes(workspace: Workspace) -> None:
    (found,) = workspace.read().releases
    assert found.name == "the best"
    assert found.measured is not None


def test_of_changes_by_two_processes_at_the_same_moment_none_is_lost(tmp_path: Path) -> None:
    workspace, made = Workspace(tmp_path), kept()
    workspace.keep(made)
    with subprocess.Popen([sys.executable, "-c", SLOWLY, str(tmp_path)], stdout=subprocess.PIPE, text=True) as other:
        assert other.stdout is not None
        assert other.stdout.readline() == "changing\n"
        workspace.keep(replace(made, measured=MEASURED), made)
    assert other.returncode == 0
    check_both_changes(workspace)


def test_of_changes_by_two_threads_none_is_lost_where_there_are_no_file_locks(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    workspace, made, changing = Workspace(tmp_path), kept(), threading.Event()
    (tmp_path / "dpsyn.lock").mkdir()  # so that it cannot be opened
    workspace.keep(made)

    def slowly(path: Path, text: str) -> None:
        changing.set()
        time.sleep(0.1)
        _write(path, text)

    monkeypatch.setattr("dpsyn.evaluation.experiments.workspace._write", slowly)
    other = threading.Thread(
        target=Workspace(tmp_path / "releases" / "..").keep, args=(replace(made, name="the best"), made)
    )
    other.start()
    assert changing.wait(20)
    workspace.keep(replace(made, measured=MEASURED), made)
    other.join()
    check_both_changes(workspace)


HOLDING = """
import sys
from pathlib import Path
from dpsyn.places import locked

with locked(Path(sys.argv[1]), wait=False) as free:
    print(free, flush=True)
    sys.stdin.read()
"""


def test_a_lock_that_is_not_waited_for_ends_with_its_process(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def free() -> bool:
        with locked(tmp_path, wait=False) as is_free:
            return is_free

    words = [sys.executable, "-c", HOLDING, str(tmp_path)]
    with subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as other:
        assert other.stdout is not None
        assert other.stdout.readline() == "True\n"
        assert not free()
        other.kill()
        other.wait()
        assert free()
    left: list[int] = []
    with monkeypatch.context() as patch:
        patch.setattr(os, "close", left.append)  # so a process that was forked meanwhile has it open
        with locked(tmp_path, wait=False):
            assert not free()
        assert free()
    assert len(left) == 3
    for file in left:
        os.close(file)
    assert list(tmp_path.iterdir()) == []
