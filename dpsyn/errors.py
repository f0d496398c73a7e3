"""One exception tree. Every message names the field, the value and what is allowed or what to do."""

from __future__ import annotations

_LONGEST = 200
_LONGEST_QUOTED = 500
_LONGEST_MESSAGE = 2_000


def cut(text: str, longest: int) -> str:
    """The text; of a longer one so many characters and an ellipsis."""
    return text if len(text) <= longest else f"{text[:longest]}…"


def quoted(value: object) -> str:
    """A name or a value of the data as a sentence quotes it: as code, but with its backslashes as they are; a very long
    text is cut short."""
    return repr(cut(value, _LONGEST_QUOTED) if isinstance(value, str) else value).replace("\\\\", "\\")


def shown(value: object) -> str:
    """The value as :func:`quoted`, cut short; only its type where it may hold rows, which no message may show, or where
    Python cannot write it, as with a number of 5,000 digits."""
    try:
        text = f"a {type(value).__name__}" if _may_hold_rows(value) else quoted(value)
    except Exception:  # noqa: BLE001  # whatever an object of the caller's raises, the message must come
        return f"a {type(value).__name__}"
    return cut("; ".join(text.splitlines()), _LONGEST)


def _may_hold_rows(value: object) -> bool:
    """Whether it is a table, an array, something with a display of its own, or a list of such."""
    if isinstance(value, list | tuple | set | frozenset):
        return any(map(_may_hold_rows, value))
    return not isinstance(value, type) and (hasattr(value, "_repr_html_") or bool(getattr(value, "shape", ())))


class DpsynError(Exception):
    """Everything that dpsyn raises on purpose. A message that quotes something very long is cut short."""

    def __str__(self) -> str:
        return cut(super().__str__(), _LONGEST_MESSAGE)


class InputError(DpsynError, ValueError):
    """Something handed in from outside cannot be used as it is."""


class DataError(InputError):
    """A file or a table cannot be read.

    ``line`` counts from 1 as a text editor does (the header is line 1); ``column`` is the name in the header.
    """

    def __init__(self, message: str, *, line: int | None = None, column: str | None = None) -> None:
        super().__init__(message)
        self.line = line
        self.column = column


class WorkspaceError(DataError):
    """A workspace that could be opened cannot be read or written any more."""


class DomainError(InputError):
    """A domain is inconsistent, or a value lies outside it."""

    def __init__(self, message: str, *, column: str | None = None) -> None:
        super().__init__(message)
        self.column = column


class ParameterError(InputError):
    """A parameter has a value that it cannot have: ``field``, ``value`` and the ``allowed`` range."""

    def __init__(self, field: str, value: object, allowed: str) -> None:
        super().__init__(f"{field} = {shown(value)} is not possible: {allowed}")
        self.field = field
        self.value = value
        self.allowed = allowed

    def __reduce__(self) -> tuple[type[ParameterError], tuple[str, object, str]]:
        return type(self), (self.field, self.value, self.allowed)


class TooLargeError(ParameterError):
    """What a parameter asks for does not fit in the memory that may be used."""


class CalibrationError(DpsynError):
    """No guarantee of the kind asked for exists with these settings. The message says what would have to change."""


class NotCalibratedError(DpsynError, TypeError):
    """A configuration was called as if it were a mechanism: calibrate it first."""


class FailureError(DpsynError):
    """The mechanism's own published outcome "Failure", decided without looking at the private data."""


class SolverError(DpsynError):
    """An optimisation backend returned nothing that passes our own check of its solution."""
