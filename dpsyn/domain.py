"""Public categories and bounds of every column, and the map between rows and integer codes.

Everything in a :class:`Domain` is treated as public knowledge by the mechanisms. What was inferred from the private
data is marked ``public=False`` until somebody confirms it; the guarantees of a release hold only for a public domain.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd

from dpsyn import checks
from dpsyn.attribute import CALENDAR, KINDS, Attribute, Codes, Kind
from dpsyn.display import PRIVATE, PUBLIC, Shown
from dpsyn.errors import DomainError, ParameterError, quoted, shown
from dpsyn.notation import counted

__all__ = ["CALENDAR", "KINDS", "Attribute", "Codes", "Domain", "Kind"]

_NAMED = 5
"""Categories that are shown of a column."""


NOT_YET_TRUE = "NOT YET TRUE"
"""What the assumption begins with that nobody has confirmed a domain."""


@dataclass(frozen=True, repr=False)
class Domain(Shown):
    """The public description of a table: one :class:`Attribute` per column, in column order."""

    attributes: tuple[Attribute, ...]
    _index: dict[str, int] = field(init=False, repr=False, compare=False, hash=False)

    def __post_init__(self) -> None:
        listed = checks.items("attributes", self.attributes, "a list of attributes")
        for attribute in listed:
            checks.instance("attributes", attribute, Attribute, "attributes only")
        object.__setattr__(self, "attributes", tuple(listed))
        names = [a.name for a in self.attributes]
        if not names:
            raise DomainError("a domain needs at least one column")
        if len(set(names)) != len(names):
            twice = next(name for name in names if names.count(name) > 1)
            raise DomainError(f"two columns are called {quoted(twice)}; names must differ", column=twice)
        object.__setattr__(self, "_index", {name: i for i, name in enumerate(names)})

    @classmethod
    def of(cls, attributes: Iterable[Attribute]) -> Domain:
        """A domain from any iterable of attributes.

        Raises:
            DomainError: there is none, or two have one name.
            ParameterError: they are no attributes.
        """
        try:
            listed = tuple(checks.instance("attributes", a, Attribute, "attributes only") for a in attributes)
        except TypeError:
            raise ParameterError("attributes", attributes, "attributes, one after the other") from None
        return cls(listed)

    def __len__(self) -> int:
        return len(self.attributes)

    def __contains__(self, name: object) -> bool:
        return isinstance(name, str) and name in self._index

    def __getitem__(self, name: str) -> Attribute:
        return self.attributes[self.index(name)]

    def __iter__(self) -> Iterator[str]:
        return iter(self.names)

    def index(self, name: str) -> int:
        """Position of a column.

        Raises:
            DomainError: there is no such column.
        """
        if name not in self:
            raise DomainError(
                f"there is no column {shown(name)}; the columns are {', '.join(map(quoted, self.names))}",
                column=name if isinstance(name, str) else None,
            )
        return self._index[name]

    @cached_property
    def names(self) -> tuple[str, ...]:
        """Column names."""
        return tuple(a.name for a in self.attributes)

    @cached_property
    def shape(self) -> tuple[int, ...]:
        """Number of codes of each column."""
        return tuple(a.size for a in self.attributes)

    @cached_property
    def size(self) -> int:
        """Number of rows that are possible: the product of the shape (an exact integer, however large)."""
        return math.prod(self.shape)

    @cached_property
    def mark(self) -> str:
        """Tells domains apart, also where their categories are equal and of other types."""
        return hashlib.sha256(repr(self.attributes).encode()).hexdigest()

    @cached_property
    def is_public(self) -> bool:
        """Whether every attribute has been confirmed as public knowledge."""
        return all(a.public for a in self.attributes)

    @cached_property
    def warning(self) -> str:
        """Why no guarantee over this domain holds yet: columns that nobody confirmed as public; empty if there are none."""
        inferred = [a.name for a in self.attributes if not a.public]
        if not inferred:
            return ""
        shown = listed(inferred, 5)
        return f"{NOT_YET_TRUE}: the domain of {shown} was inferred from the private data and nobody confirmed it as public."

    @cached_property
    def is_binary(self) -> bool:
        """Whether every column has two codes, so that the domain is the Boolean cube {-1, 1}^p."""
        return all(size == 2 for size in self.shape)

    def _shown(self) -> tuple[str, list[str]]:
        columns = f"{counted(len(self), 'column')}, {counted(self.size)} rows are possible"
        unknown = sum(not a.public for a in self.attributes)
        said = f"{columns}; {unknown:,} not confirmed as public" if unknown else f"{columns}; confirmed as public"
        return PRIVATE if unknown else PUBLIC, [said, *(f"  {_described(a)}" for a in self.attributes)]

    def confirmed(self) -> Domain:
        """The same domain, every attribute marked as public knowledge."""
        return Domain(tuple(replace(a, public=True) for a in self.attributes))

    def unconfirmed(self) -> Domain:
        """The same domain, no attribute marked as public knowledge."""
        return Domain(tuple(replace(a, public=False) for a in self.attributes))

    def replace(self, attribute: Attribute | str, **changes: Any) -> Domain:
        """The same domain with one attribute changed: another one of its name, or its name and the fields that change, as in
        ``domain.replace("wage", lower=0, upper=250_000)``.

        Raises:
            DomainError: there is no such column, it cannot be so, or another column has its new name.
            ParameterError: it is neither, or no field is called so.
        """
        known = [one.name for one in fields(Attribute)]
        for name, value in changes.items():
            if name not in known:
                raise ParameterError(name, value, f"a column has no such field; there are {', '.join(known)}")
        if not isinstance(attribute, str):
            checks.instance("attribute", attribute, Attribute, "an attribute, or a column's name and the fields that change")
        at = self.index(attribute if isinstance(attribute, str) else attribute.name)
        changed = replace(self.attributes[at] if isinstance(attribute, str) else attribute, **changes)
        return Domain((*self.attributes[:at], changed, *self.attributes[at + 1 :]))

    def project(self, names: Sequence[str]) -> Domain:
        """The domain of some of the columns, in the order given.

        Raises:
            DomainError: there is no such column, or none is named.
            ParameterError: they are no list.
        """
        return Domain(tuple(self[name] for name in checks.items("names", names, "a list of column names")))

    def check_columns(self, frame: pd.DataFrame) -> None:
        """
        Raises:
            DomainError: a column is absent, or there twice.
            ParameterError: ``frame`` is no DataFrame.
        """
        checks.instance("frame", frame, pd.DataFrame, "a DataFrame")
        for name in self.names:
            if name not in frame.columns:
                raise DomainError(f"the table has no column {quoted(name)}", column=name)
        if not frame.columns.is_unique:
            twice = next((name for name in self.names if list(frame.columns).count(name) > 1), None)
            if twice is not None:
                raise DomainError(f"the table has two columns {quoted(twice)}; rename one of them", column=twice)

    def encode(self, frame: pd.DataFrame) -> Codes:
        """Codes of the rows, shape (n, number of columns).

        Raises:
            DomainError: a column is absent, there twice, or holds a value outside the domain.
            ParameterError: it is no DataFrame.
        """
        self.check_columns(frame)
        codes = np.empty((len(frame), len(self)), dtype=np.int32, order="F")
        for j, attribute in enumerate(self.attributes):
            codes[:, j] = attribute.encode(frame[attribute.name])
        return codes

    def decode(self, codes: Codes, generator: np.random.Generator) -> pd.DataFrame:
        """Rows for codes of shape (k, number of columns); binned columns are drawn uniformly inside their bin.

        Raises:
            DomainError: the codes have another shape, or one lies outside its column's; the message names the column.
            ParameterError: ``generator`` is none.
        """
        if not isinstance(codes, np.ndarray) or codes.ndim != 2 or codes.shape[1] != len(self):
            got = codes.shape if isinstance(codes, np.ndarray) else type(codes).__name__
            raise DomainError(f"codes must be an array of shape (rows, {len(self)}), got {got}")
        columns = {a.name: a.decode(codes[:, j], generator) for j, a in enumerate(self.attributes)}
        return pd.DataFrame(columns, columns=list(self.names))

    def to_dict(self) -> dict[str, Any]:
        """Plain data that :meth:`from_dict` reads back."""
        return {"columns": [a.to_dict() for a in self.attributes]}

    @classmethod
    def from_dict(cls, data: Any) -> Domain:
        """The domain that :meth:`to_dict` wrote.

        Raises:
            DomainError: it is not of that form.
        """
        columns = data.get("columns") if isinstance(data, Mapping) else None
        if not isinstance(columns, list | tuple):
            raise DomainError('a domain is written as {"columns": [...]}, one entry per column')
        if unknown := [name for name in data if name != "columns"]:
            raise DomainError(f'{shown(unknown[0])} stands beside "columns", where a domain has nothing else; take it out')
        return cls(tuple(Attribute.from_dict(a) for a in columns))


def _described(attribute: Attribute) -> str:
    """A column in a few words."""
    if not attribute.is_binned and not attribute.categories:
        what, count = "empty in every row", ""
    elif not attribute.is_binned:
        what = ", ".join(map(str, attribute.categories[:_NAMED])) + ", …" * (len(attribute.categories) > _NAMED)
        values = len(attribute.categories)
        count = "" if attribute.kind == "truth" else f", {counted(values, 'value')}"
    else:
        what, count = attribute.reach, f", {attribute.effective_bins:,} bins"
    others = ", or empty" * (attribute.missing and attribute.size > 1) + " (not confirmed)" * (not attribute.public)
    return f"{attribute.name}: {attribute.kind}{count}: {what}{others}"


def listed(names: Iterable[object], most: int = 8) -> str:
    """Names in a sentence, no more than ``most`` of them: "a, b and 3 more"."""
    every = list(map(str, names))
    more = len(every) - most
    return ", ".join(every[:most]) + (f" and {more} more" if more > 0 else "")
