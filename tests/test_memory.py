"""How much memory a process may still take."""

from __future__ import annotations

from pathlib import Path

import pytest

from dpsyn import memory as module
from dpsyn.memory import allow, available_memory


def test_available_memory_is_less_than_the_machine_has() -> None:
    found = available_memory()
    assert 1 << 20 < found < 1 << 50


def test_a_container_limit_counts(tmp_path: Path) -> None:
    assert module._control_group(tmp_path) is None
    (tmp_path / "memory.max").write_text("1000\n")
    (tmp_path / "memory.current").write_text("600\n")
    (tmp_path / "memory.stat").write_text("anon 500\ninactive_file 100\n")
    assert module._control_group(tmp_path) == 500
    (tmp_path / "memory.max").write_text("max\n")
    assert module._control_group(tmp_path) is None


def test_what_a_process_is_allowed_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_most", None)
    before = available_memory()
    assert before > 1 << 20
    allow(1 << 20)
    assert available_memory() == 1 << 20
