"""Where rows come from and how they are split, as plain data."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, TypedDict

from dpsyn.domain import Attribute, Domain
from dpsyn.errors import DataError
from dpsyn.schema import checked


class Columns(TypedDict):
    """What :meth:`Domain.to_dict` writes."""

    columns: list[Attribute]


class _Source(TypedDict):
    """What :meth:`DataSource.to_dict` writes."""

    name: str
    domain: Columns
    sample: bool
    held_out: float
    split_seed: int


@dataclass(frozen=True)
class DataSource:
    """What a script has to know of the data. No row is in it; a domain that nobody confirmed may tell of the rows.

    Attributes:
        name: path of the data, or the name of a bundled sample.
        domain: of the data, without the columns that are left out.
        sample: ``name`` is that of a bundled sample.
        held_out: share of the rows kept for testing.
        split_seed: decides which rows.
    """

    name: str
    domain: Domain
    sample: bool
    held_out: float
    split_seed: int

    def to_dict(self) -> dict[str, Any]:
        """Plain data, fit for JSON."""
        return {
            "name": self.name,
            "domain": self.domain.to_dict(),
            "sample": self.sample,
            "held_out": self.held_out,
            "split_seed": self.split_seed,
        }

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> DataSource:
        """What :meth:`to_dict` wrote down.

        Raises:
            InputError: something in it is not of that form.
        """
        found = checked(_Source, data)
        if not 0 < found["held_out"] < 1:
            raise DataError(f"the held-out share must be between 0 and 1, not {found['held_out']!r}")
        if found["split_seed"] < 0:
            raise DataError(f"split_seed must be at least 0, not {found['split_seed']!r}")
        domain = Domain.from_dict(data["domain"])
        return cls(found["name"], domain, found["sample"], found["held_out"], found["split_seed"])
