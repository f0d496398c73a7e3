"""What a terminal is told: progress, notes, faults in one line, and exit codes."""

from __future__ import annotations

import errno
import json
import os
import shutil
import signal
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

import click

from dpsyn import escape
from dpsyn.errors import DataError, DpsynError, InputError, quoted
from dpsyn.notation import readable
from dpsyn.places import write_whole

if TYPE_CHECKING:
    from dpsyn.mechanisms.feasibility import Feasibility
    from dpsyn.theory.conditions import Remedy

DONE, NO, USAGE, INPUT, NOTHING, UNFORESEEN, INTERRUPTED = 0, 1, 2, 3, 4, 5, 130
EXIT_CODES = """\b
Exit codes:
  0    done; of verify: the claim holds
  1    the answer is no (verify: it does not hold; feasibility: no theorem applies)
  2    the command line is wrong
  3    a file or a value cannot be used
  4    no such guarantee exists, or nothing came of the run
  5    something that dpsyn did not foresee
  130  interrupted
With --json, what goes wrong is on standard output, too: {"error": …, "exit_code": …}
"""
_REMARKS, _QUIET = "dpsyn.remarks", "dpsyn.quiet"
"""Of the context of a command: what was said already, and whether to say nothing."""
_PARAMETERS = {"p": "yes/no columns (p)", "n": "real rows (n)", "rows": "--rows", "epsilon": "--epsilon", "delta": "--delta"}
_FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
_SECONDS = 2.0
"""Between two lines of progress where there is no terminal."""


class FileName(click.Path):
    """A path that is not empty, which would be the folder one is in."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """The path."""
        return super().convert(value or self.fail("the name of the file is empty", param, ctx), param, ctx)


class OutputName(FileName):
    """The same of what is to be written: a name that leads to standard output, as /dev/stdout does, is ``-``."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """The path."""
        with suppress(OSError, ValueError, AttributeError):  # there is no such file, or no standard output
            there = os.stat(value)
            if os.path.samestat(there, os.fstat(sys.stdout.fileno())) and not os.path.samestat(there, os.stat(os.devnull)):
                value = "-"
        return super().convert(value, param, ctx)


class Commands(click.Group):
    """A group whose every end is an exit code, with one line on standard error where it is not 0.

    Attributes:
        answer: the code of what is being said, see :func:`answered`.
    """

    answer = DONE

    def main(self, *args: Any, **options: Any) -> NoReturn:
        """Run, and leave."""
        words = options.get("args", args[0] if args else None)
        _fault = partial(_end, as_json="--json" in (sys.argv[1:] if words is None else words))
        with suppress(ValueError):  # who is asked to end ends as if interrupted, and leaves nothing half done
            for name in ("SIGTERM", "SIGHUP"):
                asked = getattr(signal, name, None)
                if asked is not None and signal.getsignal(asked) == signal.SIG_DFL:  # nohup has it ignored
                    signal.signal(asked, signal.default_int_handler)
        try:
            code = super().main(*args, **options | {"standalone_mode": False})
        except SystemExit:  # so click ends where nobody reads standard output any more
            _close()
            code = self.answer
        except click.ClickException as fault:
            fault.show()
            code = _fault(fault.format_message(), fault.exit_code, shown=True)
        except (click.Abort, KeyboardInterrupt):
            code = _fault("interrupted", INTERRUPTED)
        except InputError as fault:
            code = _fault(fault, INPUT)
        except DpsynError as fault:
            code = _fault(fault, NOTHING)
        except MemoryError:
            code = _fault(
                "there is too little memory for this: take fewer columns, bins or rows, or a lower degree", NOTHING
            )
        except OSError as fault:
            code = _fault(_of_system(fault), INPUT)
        except Exception as fault:  # noqa: BLE001  # the end of the process: a traceback may quote private values
            from dpsyn.kit.faults import chain, innermost

            if any(isinstance(one, KeyboardInterrupt) for one in chain(fault)):  # while a library was imported
                code = _fault("interrupted", INTERRUPTED)
            else:
                said = "something went wrong that dpsyn did not foresee; report this, it holds no value of your data"
                code = _fault(f"{said}: {innermost(fault)}", UNFORESEEN)
        sys.exit(code if isinstance(code, int) else DONE)


def _end(said: object, code: int, *, as_json: bool, shown: bool = False) -> int:
    """Say why, unless it is ``shown``; the exit code."""
    with suppress(OSError):
        if not shown:
            note(said)
        if as_json:
            say_json({"error": escape.plain(said), "exit_code": code})
    return code


def _of_system(fault: OSError) -> str:
    place = "" if fault.filename is None else f"{quoted(str(fault.filename))}: "
    return f"{place}{fault.strerror or type(fault).__name__}"


def _close() -> None:
    """Whoever read standard output has enough of it, as ``head`` has: nothing more can be said there."""
    with suppress(OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def answered(yes: bool) -> int:
    """The code of a question's answer. It counts, too, where nobody reads to the end what is said of it after this."""
    group = click.get_current_context().find_root().command
    assert isinstance(group, Commands)
    group.answer = DONE if yes else NO
    return group.answer


def note(said: object) -> None:
    """A line on standard error."""
    click.echo(f"dpsyn: {escape.plain(said)}", err=True)


def hush(context: click.Context, _: click.Parameter, quiet: bool) -> bool:
    """What --quiet does besides: no :func:`remark` is made."""
    context.meta[_QUIET] = quiet
    return quiet


def remark(said: object) -> None:
    """What reading a table had to decide: a line on standard error, once, and none where the command is to be quiet."""
    meta = click.get_current_context().meta
    made = meta.setdefault(_REMARKS, set())
    if not meta.get(_QUIET) and str(said) not in made:
        made.add(str(said))
        note(said)


def say(text: str = "") -> None:
    """Lines on standard output, without control characters of the data's."""
    for line in text.splitlines() or [""]:
        indent = len(line) - len(line.lstrip(" "))
        click.echo(" " * indent + escape.plain(line))


def say_json(data: Any) -> None:
    """For machines: JSON on standard output. What is not finite is null."""
    click.echo(escape.json(json.dumps(_finite(data), indent=1, ensure_ascii=False, allow_nan=False, default=str)))


def _finite(data: Any) -> Any:
    if isinstance(data, dict):
        return {str(name): _finite(value) for name, value in data.items()}
    if isinstance(data, list | tuple):
        return [_finite(value) for value in data]
    if hasattr(data, "item") and not isinstance(data, str | bytes):
        data = data.item()
    return None if isinstance(data, float) and not abs(data) < float("inf") else data


def wrapped(text: str, indent: str = "  ") -> None:
    """A sentence, indented, on as many lines as it takes."""
    say(click.wrap_text(text, min(shutil.get_terminal_size().columns, 100), indent, indent or "  "))


def say_verdicts(found: Feasibility, *, verbose: bool) -> None:
    """What the theorems promise in plain words, and what stands in the way; ``verbose``: every condition that fails."""
    from dpsyn.theory.conditions import MARKS

    stats, spec = found.stats, found.spec
    delta = f", δ = {spec.delta:g}" if spec.delta else ""
    say(
        readable(
            f"{stats.name}: {stats.n:,} rows, as wide as {stats.p:,} yes/no columns (p), at ε = {spec.epsilon:g}{delta}"
        )
    )
    for verdict in found:
        say()
        head, missed = verdict.headline, verdict.missed
        bad = head is not None and head.level == "bad"
        wrapped(readable(f"✗ {verdict.title}: {head.sentence}") if head is not None and bad else verdict.line, "")
        if verbose:
            wrapped(readable(verdict.summary))
            for condition in missed:
                wrapped(readable(f"✗ {condition.label} ({condition.source}): {condition.fix}"))
        elif missed:
            of = (
                f"{len(missed)} of {len(verdict.conditions)} conditions fail, furthest"
                if missed[1:]
                else "One condition fails,"
            )
            usable = [r for r in missed[0].remedies if r.log_value is not None and not r.caveat]
            takes = verdict.change or min(usable, key=lambda remedy: remedy.orders, default=None)
            alone = " for this one" if missed[1:] and takes is not verdict.change else ""
            said = "no single change that was tried helps" if takes is None else f"would need {_in_words(takes)}{alone}"
            wrapped(readable(f'{of} "{missed[0].label}": {said}.'))
    say(f"\n{'; '.join(MARKS.values())}")
    if not verbose and any(verdict.missed for verdict in found):
        say("Every condition that fails, with its numbers: -v")


def _in_words(remedy: Remedy) -> str:
    return str(replace(remedy, parameter=_PARAMETERS.get(remedy.parameter, f"--set {remedy.parameter}")))


class Progress:
    """Told of steps and shares as mechanisms tell of them: a bar with the time left on a terminal, plain lines elsewhere."""

    def __init__(self, label: str, *, quiet: bool) -> None:
        self._label, self._quiet = escape.plain(label), quiet
        self._bar: Any = None
        self._said, self._at = "", -_SECONDS
        if not quiet and sys.stderr.isatty():
            self._bar = click.progressbar(
                length=1000,
                label=self._label,
                file=sys.stderr,
                item_show_func=lambda step: step,
                show_percent=True,
                width=24,
            )

    def __enter__(self) -> Progress:
        if self._bar is not None:
            self._bar.__enter__()
        return self

    def __exit__(self, *fault: object) -> None:
        if self._bar is not None:
            self._bar.__exit__(*fault)

    def __call__(self, step: str, share: float) -> None:
        """The step that begins, and the share of the work that is done."""
        step = escape.plain(step)
        if self._bar is not None:
            self._bar.update(max(0, round(1000 * share) - self._bar.pos), step)
        elif not self._quiet and step != self._said and (share >= 1 or time.monotonic() - self._at >= _SECONDS):
            click.echo(f"{self._label}: {step} ({share:.0%})", err=True)
            self._said, self._at = step, time.monotonic()


@contextmanager
def written(
    *paths: Path | None, force: bool, read: Sequence[str | Path | None]
) -> Iterator[Callable[[Mapping[Path, bytes]], None]]:
    """Makes sure before long work that files can be written, and hands out what writes them; if the work fails, those that
    were made here go. What somebody else has put in their place meanwhile stays, but for ``force``.

    Args:
        paths: to write.
        force: write over what is there, but for what is ``read``: private rows are nowhere else, perhaps.
        read: files that the command reads, ``-`` for standard input, and folders, into which nothing is written that would
            be read.

    Raises:
        UsageError: two are one file.
        DataError: one is there already, is a part of what is read, or cannot be written.
    """
    made: dict[Path, tuple[int, ...] | None] = {}
    places: list[Path] = []

    def write(files: Mapping[Path, bytes]) -> None:
        for path, own in made.items():
            if not force and _mark(path) not in (None, own):
                raise DataError(
                    f"{quoted(str(path))} was made by somebody else meanwhile, and nothing was written: take another name, "
                    "or --force to write over it"
                )
        try:
            write_whole(files)
            made.update({path: _mark(path) for path in made})
        except KeyboardInterrupt:
            made.update({path: _mark(path) for path in made if path.is_file() and path.read_bytes() == files.get(path)})
            raise

    files = [path for path in paths if path]
    inputs = [Path(os.path.realpath(one)) for one in read if one]
    marks = set(map(_which, _all_read(inputs))) - {None} if files else set()
    if "-" in read:
        with suppress(OSError, ValueError, AttributeError):  # there is none
            marks.add(_which(sys.stdin.fileno()))
    try:
        for path in files:
            if str(path) == "-":
                raise DataError("- is standard output, and this goes into a file: give it a name")
            real = Path(os.path.realpath(path))
            if real in inputs or _which(real) in marks:
                raise DataError(f"{quoted(str(path))} is what is read here: take another name to write")
            inside = not marks.isdisjoint(map(_which, (*real.parents, *Path(os.path.abspath(path)).parents)))
            if inside and _is_data(path.name):
                raise DataError(f"{quoted(str(path))} would be read here as part of the folder: take another place to write")
            if real in places:
                raise click.UsageError(f"{quoted(str(path))} is to be written twice: take two files")
            places.append(real)
            there = path.exists()
            if there and not force:
                raise DataError(f"{quoted(str(path))} is there already: take another name, or --force to write over it")
            opened = _opened(path, real)
            if not there:
                made[path] = opened
        yield write
    except BaseException as fault:
        for path, own in made.items():
            if own is not None and own == _mark(path):
                Path(os.path.realpath(path)).unlink(missing_ok=True)
        if isinstance(fault, OSError) and fault.filename is None and fault.errno in _FULL:
            names = ", ".join(quoted(str(path)) for path in filter(None, paths)) or "standard output"
            raise DataError(f"{names} cannot be written: {fault.strerror}") from fault
        raise


def _opened(path: Path, real: Path) -> tuple[int, ...] | None:
    """The :func:`_mark` of a file that can be written, new and empty where there was none; None for a pipe.

    Raises:
        DataError: it cannot.
    """
    there = path.is_file()
    try:
        if path.is_fifo():
            # Whoever reads it would go as soon as it was opened and closed again.
            if not os.access(path, os.W_OK):
                raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))
            return None
        with path.open("ab") as file:
            opened = os.fstat(file.fileno())
        if there:
            tempfile.TemporaryFile(dir=real.parent).close()
    except OSError as fault:
        raise DataError(f"{quoted(str(path))} cannot be written: {fault.strerror}") from fault
    return opened.st_dev, opened.st_ino, 0


def _is_data(name: str) -> bool:
    from dpsyn.data.in_place import is_data

    return is_data(name)


def _all_read(inputs: Sequence[Path]) -> Iterator[Path]:
    """What is read, and the files of folders and where they lie, to which links may lead from there."""
    yield from inputs
    for folder in filter(os.path.isdir, inputs):
        from dpsyn.data.in_place import files_in

        with suppress(DataError):  # which is said when it is read
            for file in map(Path, files_in(folder)[0]):
                yield from (file, file.parent)


def _which(path: Path | int) -> tuple[int, ...] | None:
    """Which file or folder lies there, whatever its names are, or is open under a number."""
    found = _mark(path)
    return None if found is None else found[:2]


def _mark(path: Path | int) -> tuple[int, ...] | None:
    """Which file lies there, and how large it is; None for none."""
    with suppress(OSError):
        found = os.stat(path)
        return found.st_dev, found.st_ino, found.st_size
    return None
