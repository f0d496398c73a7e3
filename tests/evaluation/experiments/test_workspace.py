"""What a folder keeps, and what it does not."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import pandas as pd
import pytest

from dpsyn.errors import DataError, ParameterError, WorkspaceError
from dpsyn.evaluation.experiments import CellResult, Grid, Workspace
from dpsyn.mechanisms.noisy_reweighting import NoisyReweighting
from dpsyn.privacy.spec import PrivacySpec

ROWS = pd.DataFrame({"name": ["a", None, "ü"], "age": [1, 2, 3], "dose": [0.5, 1.5, float("nan")]})


def test_runs_survive(tmp_path: Path) -> None:
    number = Workspace(tmp_path).add_run("people", "1 · demo", {"guarantee": {"epsilon": 1.0}}, ROWS)
    other = Workspace(tmp_path).add_run("people", "2 · demo", {}, ROWS.head(1))
    first, second = Workspace(tmp_path).runs()
    assert (first.number, second.number) == (number, other)
    assert first.record == {"guarantee": {"epsilon": 1.0}}
    pd.testing.assert_frame_equal(first.rows, ROWS)
    Workspace(tmp_path).remove_run(number)
    assert [run.label for run in Workspace(tmp_path).runs()] == ["2 · demo"]


def test_a_record_is_replaced_and_a_release_that_is_gone_stays_gone(tmp_path: Path) -> None:
    number = Workspace(tmp_path).add_run("people", "1 · demo", {"seed": 3}, ROWS)
    Workspace(tmp_path).set_record(number, {"seed": 3, "measured": {"rows": 5}})
    Workspace(tmp_path).set_record(number + 1, {"seed": 4})
    (run,) = Workspace(tmp_path).runs()
    assert run.record == {"seed": 3, "measured": {"rows": 5}}
    pd.testing.assert_frame_equal(run.rows, ROWS)


def test_experiments_survive_with_what_has_been_run(tmp_path: Path) -> None:
    grid = Grid({"a": NoisyReweighting()}, PrivacySpec(1.0), values=(0.5, 1.0), repeats=2)
    number = Workspace(tmp_path).add_grid("people", "f00", "my grid", grid, {"target": "age"})
    cells = list(grid.cells())
    for cell, status in zip(cells[:2], ("done", "crashed"), strict=True):
        result = CellResult(
            cell.key, cell.label, "noisy_reweighting", cell.value, cell.repeat, status, measures=({"e": 0.25},)
        )  # type: ignore[arg-type]
        Workspace(tmp_path).add_result(number, result)
    (found,) = Workspace(tmp_path).grids()
    assert found.grid == grid
    assert found.facts == {"target": "age"}
    assert [r.status for r in found.results] == ["done", "crashed"]
    better = CellResult(cells[1].key, "a", "noisy_reweighting", 1.0, 0, "done")
    Workspace(tmp_path).add_result(number, better)
    (found,) = Workspace(tmp_path).grids()
    assert sorted(r.status for r in found.results) == ["done", "done"]
    Workspace(tmp_path).remove_grid(number)
    assert Workspace(tmp_path).grids() == []
    with sqlite3.connect(tmp_path / "dpsyn.sqlite") as database:
        assert database.execute("SELECT COUNT(*) FROM results").fetchone() == (0,)
    database.close()


def test_folders_that_cannot_be(tmp_path: Path) -> None:
    with pytest.raises(ParameterError, match="whole path"):
        Workspace("here")
    with pytest.raises(ParameterError, match="can be made"):
        Workspace(tmp_path / "no" / "such")
    (tmp_path / "dpsyn.sqlite").write_bytes(b"something else altogether" * 100)
    with pytest.raises(DataError, match="not a workspace"):
        Workspace(tmp_path)


def test_a_result_of_an_experiment_that_is_gone_is_not_kept(tmp_path: Path) -> None:
    workspace = Workspace(tmp_path)
    number = workspace.add_grid(
        "car", "mark", "ε", Grid({"a": NoisyReweighting()}, PrivacySpec(1.0, 1e-6), values=(1.0,)), {}
    )
    result = CellResult("key", "a", "noisy_reweighting", 1.0, 0, "done")
    assert workspace.add_result(number, result)
    workspace.remove_grid(number)
    assert not workspace.add_result(number, result)


def test_a_folder_that_goes_away_is_named(tmp_path: Path) -> None:
    workspace = Workspace(tmp_path / "gone")
    workspace.path.unlink()
    workspace.folder.rmdir()
    with pytest.raises(WorkspaceError, match="cannot be read or written any more"):
        workspace.runs()


def test_a_later_version_is_left_alone(tmp_path: Path) -> None:
    Workspace(tmp_path)
    with sqlite3.connect(tmp_path / "dpsyn.sqlite") as database:
        database.execute("PRAGMA user_version = 99")
    database.close()
    with pytest.raises(DataError, match="later dpsyn"):
        Workspace(tmp_path)
