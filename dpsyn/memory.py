"""How much memory this process may still take."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path
from typing import IO

import psutil

from dpsyn.errors import DataError
from dpsyn.notation import gigabytes

_PART = 1 << 26
_most: int | None = None


def allow(most: int) -> None:
    """From now on this process may take ``most`` bytes, where the machine has as many."""
    global _most  # noqa: PLW0603  # one process, one limit
    _most = most


def available_memory() -> int:
    """Bytes that this process may still take without swapping: of the machine, of its container, and of what :func:`allow`
    allows it."""
    known: list[int | None] = [psutil.virtual_memory().available, _control_group(), _most]
    return min(found for found in known if found is not None)


def within_memory(stream: IO[bytes], title: str) -> bytes:
    """All that a stream holds, which may be a device or a pipe that never ends.

    Raises:
        DataError: it is more than this process may take.
    """
    most, parts, size = available_memory(), [], 0
    with suppress(OSError, AttributeError):  # what is no file has no size
        whole = os.fstat(stream.fileno()).st_size
        if 2 * whole > most:
            raise DataError(f"{title} holds {gigabytes(whole)}, which does not fit into memory: take fewer rows")
    while part := stream.read(_PART):
        parts.append(part)
        size += len(part)
        if 2 * size > most:
            raise DataError(f"{title} holds more than {gigabytes(size)}, which does not fit into memory: take fewer rows")
    return b"".join(parts)


def forget_peak(process: Path = Path("/proc/self")) -> None:
    """:func:`peak_memory` counts from now on, where the system can do that."""
    with suppress(OSError):
        (process / "clear_refs").write_text("5", encoding="ascii")


def peak_memory(process: Path = Path("/proc/self")) -> int:
    """The most bytes that this process has had at a time; 0 where the system does not tell."""
    with suppress(OSError):
        for line in (process / "status").read_text(encoding="ascii", errors="replace").splitlines():
            if line.startswith("VmHWM:"):
                return 1024 * int(line.split()[1])
    return 0


def _control_group(folder: Path = Path("/sys/fs/cgroup")) -> int | None:
    """What a container may still take: its limit less what it uses, files that can be dropped not counted."""
    try:
        most = (folder / "memory.max").read_text(encoding="ascii").strip()
        used = int((folder / "memory.current").read_text(encoding="ascii"))
        lines = (folder / "memory.stat").read_text(encoding="ascii").splitlines()
    except (OSError, ValueError):
        return None
    if not most.isdigit():
        return None
    droppable = next((int(line.split()[1]) for line in lines if line.startswith("inactive_file ")), 0)
    return max(0, int(most) - used + droppable)
