"""A Jupyter notebook as the JSON that its format 4.5 asks for: cells of Markdown and of Python, without outputs."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Words:
    """A cell of Markdown. What comes from data in it has gone through ``escape.markdown``."""

    text: str


@dataclass(frozen=True)
class Code:
    """A cell of Python."""

    text: str


def notebook(cells: Sequence[Words | Code]) -> bytes:
    """The file, UTF-8, as Jupyter itself would write it."""
    written: list[dict[str, Any]] = []
    for number, cell in enumerate(cells, start=1):
        shared: dict[str, Any] = {
            "id": f"cell-{number}",
            "metadata": {},
            "source": cell.text.strip("\n").splitlines(keepends=True),
        }
        if isinstance(cell, Words):
            written.append({"cell_type": "markdown", **shared})
        else:
            written.append({"cell_type": "code", "execution_count": None, "outputs": [], **shared})
    kernel = {"display_name": "Python 3", "language": "python", "name": "python3"}
    metadata = {"kernelspec": kernel, "language_info": {"name": "python"}}
    found = {"cells": written, "metadata": metadata, "nbformat": 4, "nbformat_minor": 5}
    return (json.dumps(found, indent=1, sort_keys=True, ensure_ascii=False) + "\n").encode()
