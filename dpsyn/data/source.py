"""Where rows come from and how they are split, as plain data."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from dpsyn.domain import Domain
from dpsyn.errors import DataError


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
            DataError: something in it is not of that form.
        """
        kinds = {"name": str, "sample": bool, "held_out": int | float, "split_seed": int}
        for name, kind in kinds.items():
            if not isinstance(data[name], kind):
                raise DataError(f"of its data, {name!r} cannot be read")
        if not 0 < data["held_out"] < 1:
            raise DataError(f"the held-out share must be between 0 and 1, not {data['held_out']!r}")
        return cls(**{name: data[name] for name in kinds}, domain=Domain.from_dict(data["domain"]))
