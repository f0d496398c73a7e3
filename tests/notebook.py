"""Notebooks without a kernel: their cells one after the other in this process, and what the last line of each shows."""

from __future__ import annotations

import ast
import json
from pathlib import Path
from typing import Any

import nbformat
import pytest


def read(text: bytes | str) -> Any:
    """A notebook of the newest format, without a result in it."""
    found = json.loads(text)
    nbformat.validate(found)
    assert found["nbformat"] == 4
    for cell in found["cells"]:
        assert not cell.get("outputs"), "a notebook is kept without results"
        assert cell.get("execution_count") is None
    return found


def run(text: bytes | str, folder: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[list[Any], dict[str, Any]]:
    """Run from top to bottom in a folder: what every cell of code shows, and all names at the end."""
    monkeypatch.chdir(folder)
    names: dict[str, Any] = {"__name__": "__main__"}
    shown = []
    for number, cell in enumerate(read(text)["cells"]):
        if cell["cell_type"] == "code":
            shown.append(_run("".join(cell["source"]), f"<cell {number}>", names))
    return shown, names


def _run(source: str, name: str, names: dict[str, Any]) -> Any:
    tree = ast.parse(source, name)
    last = tree.body.pop() if tree.body and isinstance(tree.body[-1], ast.Expr) else None
    exec(compile(tree, name, "exec"), names)
    return None if last is None else eval(compile(ast.Expression(last.value), name, "eval"), names)
