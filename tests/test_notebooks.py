"""The notebooks of docs/ run from top to bottom, hold no results, and show what their words say."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import dpsyn
from dpsyn.evaluation.report import Report
from dpsyn.kit.notebook import Code, Words, notebook
from tests.notebook import read, run

FOLDER = Path(__file__).parents[1] / "docs" / "notebooks"
README = (Path(__file__).parents[1] / "README.md").read_text(encoding="utf-8")


def shown_by(name: str, folder: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[list[Any], dict[str, Any]]:
    return run((FOLDER / name).read_bytes(), folder, monkeypatch)


@pytest.mark.parametrize("path", sorted(FOLDER.glob("*.ipynb")), ids=lambda path: path.name)
def test_it_is_kept_as_it_was_written(path: Path) -> None:
    cells = [("".join(cell["source"]), cell["cell_type"]) for cell in read(path.read_bytes())["cells"]]
    assert notebook([Words(text) if kind == "markdown" else Code(text) for text, kind in cells]) == path.read_bytes()
    assert f"docs/notebooks/{path.name}" in README


def test_the_lesson(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    _, names = shown_by("lesson.ipynb", tmp_path, monkeypatch)
    ratio, _, promised = capsys.readouterr().out.partition("largest ratio ")[2].split()[0:3]
    assert float(ratio) == pytest.approx(2.718281828459045**0.5)
    assert promised == "e^ε"
    little, much = names["reports"].values()
    assert much.marginals[2].mean < little.marginals[2].mean


def test_the_analysis(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    shown, names = shown_by("analysis.ipynb", tmp_path, monkeypatch)
    said = capsys.readouterr().out.splitlines()
    assert [line.split(":")[0] for line in said if line.startswith(("HOLDS", "REFUTED"))] == ["HOLDS", "REFUTED"]
    assert isinstance(names["report"], Report)
    assert names["release"].guarantee.status == "proven"
    titles = [figure.layout.title.text for figure in shown if hasattr(figure, "layout")]
    assert [title.split()[0] for title in titles] == ["Error", "Values", titles[2].split()[0], "Predicting"]
    rows = dpsyn.read_table(tmp_path / "synthetic.csv", domain=names["domain"])
    assert rows.n == names["train"].n


def test_the_experiment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shown, names = shown_by("experiment.ipynb", tmp_path, monkeypatch)
    first, *_, last = (one for one in shown if isinstance(one, list))
    assert (len(first), len(last)) == (18, 24)
    kept = {result.key: result for result in first}
    assert sum(kept.get(result.key) == result for result in last) == 18  # nothing was run twice: seconds differ
    assert "0.3" in (tmp_path / "experiment.csv").read_text(encoding="utf-8")
    assert names["points"]
