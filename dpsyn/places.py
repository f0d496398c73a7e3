"""Where files are that are no modules (app pages, bundled data, documents); how files are written or locked, and what is
said of one that cannot be read."""

from __future__ import annotations

import os
import stat
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

from dpsyn.errors import DataError, quoted

try:
    import fcntl
except ImportError:  # on Windows
    fcntl = None  # type: ignore[assignment]

_BUNDLE = Path(__file__).parent / "bundle"
HOME = _BUNDLE if _BUNDLE.is_dir() else Path(__file__).parents[1]
"""The folder of ``app.py``: the checkout, or in an installed package the copy that ``setup.py`` puts beside the modules."""


def unreadable(path: Path | str, error: Exception) -> DataError:
    """The refusal of a path that the system does not read."""
    if isinstance(error, IsADirectoryError):
        return DataError(f"{quoted(str(path))} is a folder: name a file")
    return DataError(f"{quoted(str(path))} cannot be read: {getattr(error, 'strerror', None) or str(error)}")


def write_whole(files: Mapping[Path, bytes]) -> None:
    """Write files that belong together: all take their places, or none does. Permissions of what is replaced stay; devices
    and pipes are written as they are.

    Raises:
        OSError: one cannot be written; none was replaced.
    """
    beside: dict[Path, Path] = {}
    regular = {path for path in files if path.is_file() or not path.exists()}
    try:
        for real, data in {Path(os.path.realpath(path)): files[path] for path in files if path in regular}.items():
            with tempfile.NamedTemporaryFile(dir=real.parent, prefix=".", suffix=".part", delete=False) as file:
                beside[real] = Path(file.name)
                file.write(data)
                file.flush()
                os.fsync(file.fileno())
            if real.exists():
                there = real.stat()
                with suppress(OSError, AttributeError):  # who may not give a file away, or on Windows, keeps it
                    os.chown(beside[real], there.st_uid, there.st_gid)
                beside[real].chmod(stat.S_IMODE(there.st_mode))
        for path in files:
            if path not in regular:
                path.write_bytes(files[path])
        if beside:
            _take_places(beside)
    finally:
        for part in beside.values():
            part.unlink(missing_ok=True)


def _take_places(beside: Mapping[Path, Path]) -> None:
    """Put files where others may be. Who is killed meanwhile leaves none beside one of before."""
    (first, part), *others = beside.items()
    aside = {real: other.with_suffix(".old") for real, other in others}
    try:
        for real, old in aside.items():
            with suppress(FileNotFoundError):
                real.replace(old)
        part.replace(first)
        for real, other in others:
            other.replace(real)
    except BaseException:
        for real, whole in aside.items() if part.exists() else others:
            with suppress(FileNotFoundError):
                whole.replace(real)
        raise
    finally:
        for real, old in aside.items():
            if real.exists():
                old.unlink(missing_ok=True)


@contextmanager
def locked(path: Path, *, wait: bool = True) -> Iterator[bool]:
    """Wait until no other process holds the file locked, and hold it; it is made if it is not there. Where it cannot be
    written, or the system or the file system has no locks, nothing is waited for.

    Without ``wait``, of a file or a folder that is there: False, at once, if somebody else holds it.
    """
    free = True
    with ExitStack() as held:
        with suppress(OSError, AttributeError):
            file = os.open(path, os.O_RDWR | os.O_CREAT if wait else os.O_RDONLY, 0o666)
            held.callback(os.close, file)
            try:
                fcntl.flock(file, fcntl.LOCK_EX if wait else fcntl.LOCK_EX | fcntl.LOCK_NB)
                held.callback(fcntl.flock, file, fcntl.LOCK_UN)  # a process that was forked meanwhile has it open too
            except BlockingIOError:
                free = False
        yield free
