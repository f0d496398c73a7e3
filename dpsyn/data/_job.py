"""What is asked of a large file, what is found, and the second reading, which counts equal rows."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from dpsyn.attribute import Attribute, Codes
from dpsyn.data._count import RowCounts, count_rows, packed
from dpsyn.data._sources import Source
from dpsyn.data.read import Wide
from dpsyn.domain import Domain

CHANGED = "the file changed while it was read; read it again when nobody writes to it"

Encode = Callable[[Any], Codes]
"""Codes of a batch of one column, an Arrow array."""

Progress = Callable[[str, float], None]


def quiet(step: str, share: float) -> None:
    """Report nothing."""


@dataclass(frozen=True)
class Job:
    """What to read of a file, and how."""

    domain: Domain | None
    columns: Sequence[str] | None
    wide: Wide
    memory_limit: str
    tell: Progress


@dataclass(frozen=True)
class Found:
    """What a file holds."""

    attributes: tuple[Attribute, ...]
    notes: tuple[str, ...]
    counts: RowCounts


@dataclass(frozen=True)
class Plan:
    """One column: where it is, what it is, and how to encode it."""

    position: int
    attribute: Attribute
    encode: Encode


def count(source: Source, plans: Sequence[Plan], job: Job) -> RowCounts:
    """Encode all rows and count equal ones."""
    sizes = [plan.attribute.size for plan in plans]

    def keys() -> Iterator[Sequence[Any]]:
        for share, batch in source.batches([plan.position for plan in plans]):
            job.tell("counting equal rows", 0.5 + share / 2)
            yield packed([plan.encode(array) for plan, array in zip(plans, batch, strict=True)], sizes)

    return count_rows(keys(), job.memory_limit)


def column_of(source: Source, position: int) -> Iterator[Any]:
    """The batches of one column."""
    return (array for _, (array,) in source.batches([position]))


def count_distinct(values: Iterator[Any], job: Job) -> int:
    """Number of different values, given batches of them."""
    return count_rows(([batch] for batch in values), job.memory_limit).distinct
