"""How much memory a process may still take."""

from __future__ import annotations

from pathlib import Path

import pytest

from dpsyn import memory as module
from dpsyn.memory import allow, available_memory, forget_peak, peak_memory


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


@pytest.mark.skipif(not Path("/proc/self/clear_refs").exists(), reason="only Linux tells")
def test_the_peak_is_that_of_what_is_asked_about() -> None:
    forget_peak()
    before = peak_memory()
    big = bytearray(200 << 20)
    big[:: 1 << 12] = b"x" * len(big[:: 1 << 12])
    assert peak_memory() - before > 150 << 20
    del big
    forget_peak()
    assert peak_memory() - before < 50 << 20


def test_a_system_that_tells_nothing_is_asked_in_vain(tmp_path: Path) -> None:
    forget_peak(tmp_path / "nowhere")
    assert peak_memory(tmp_path / "nowhere") == 0
