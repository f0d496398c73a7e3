"""Where rows come from and how they are split, as plain data."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, TypedDict

from dpsyn import checks
from dpsyn.domain import Attribute, Domain
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

    Raises:
        ParameterError: a field has a value that it cannot have.
    """

    name: str
    domain: Domain
    sample: bool
    held_out: float
    split_seed: int

    def __post_init__(self) -> None:
        checks.instance("name", self.name, str, "a path, or the name of a bundled sample")
        checks.instance("domain", self.domain, Domain, "a dpsyn.Domain, such as table.domain")
        plain = {
            "sample": checks.flag("sample", self.sample),
            "held_out": checks.number("held_out", self.held_out, above=0.0, below=1.0),
            "split_seed": checks.whole("split_seed", self.split_seed, 0),
        }
        for field, value in plain.items():
            object.__setattr__(self, field, value)

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
        domain = Domain.from_dict(data["domain"])
        return cls(found["name"], domain, found["sample"], found["held_out"], found["split_seed"])
