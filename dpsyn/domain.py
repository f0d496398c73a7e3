"""Public categories and bounds of every column, and the map between rows and integer codes.

Everything in a :class:`Domain` is treated as public knowledge by the mechanisms. What was inferred from the private
data is marked ``public=False`` until somebody confirms it; the guarantees of a release hold only for a public domain.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal, get_args

import numpy as np
import numpy.typing as npt
import pandas as pd

from dpsyn.errors import DomainError

Kind = Literal["truth", "categorical", "numeric", "date"]
KINDS: tuple[Kind, ...] = get_args(Kind)
Codes = npt.NDArray[np.int32]

_DAY = pd.Timedelta(days=1)
_EPOCH = pd.Timestamp("1970-01-01")


@dataclass(frozen=True)
class Attribute:
    """One column: its kind and the values it may take.

    Args:
        name: the column's name.
        kind: ``"truth"`` (two truth values, one bit), ``"categorical"``, ``"numeric"`` or ``"date"``.
        categories: truth and categorical: the values, in code order; for ``"truth"`` the false value comes first.
        lower, upper: numeric: bounds in the column's unit; date: bounds in days since 1970-01-01.
        bins: numeric and date: number of equally wide bins.
        integer: numeric: the column holds whole numbers only.
        missing: the column may be empty; an empty cell takes the last code.
        public: the above is known without looking at the private data.

    Raises:
        DomainError: the parts contradict each other; the message names the column.
    """

    name: str
    kind: Kind
    categories: tuple[Any, ...] = ()
    lower: float | None = None
    upper: float | None = None
    bins: int = 10
    integer: bool = False
    missing: bool = False
    public: bool = False

    def __post_init__(self) -> None:
        if self.kind not in KINDS:
            raise DomainError(f"column {self.name!r}: kind {self.kind!r} is not one of {', '.join(KINDS)}", column=self.name)
        if self.kind in ("truth", "categorical"):
            self._check_categories()
        else:
            self._check_bounds()

    def _check_categories(self) -> None:
        if self.kind == "truth" and (len(self.categories) != 2 or self.missing):
            raise DomainError(
                f"column {self.name!r}: a truth column has exactly two values and no missing ones, "
                f"got {len(self.categories)} values{' and missing ones' if self.missing else ''}; make it categorical",
                column=self.name,
            )
        if not self.categories and not self.missing:
            raise DomainError(f"column {self.name!r}: a categorical column needs at least one category", column=self.name)
        if len(set(self.categories)) != len(self.categories):
            twice = next(c for c in self.categories if self.categories.count(c) > 1)
            raise DomainError(f"column {self.name!r}: category {twice!r} is listed twice", column=self.name)
        if any(pd.isna(c) for c in self.categories):
            raise DomainError(
                f"column {self.name!r}: a missing value cannot be a category; set missing=True instead", column=self.name
            )

    def _check_bounds(self) -> None:
        if self.lower is None or self.upper is None:
            raise DomainError(
                f"column {self.name!r}: a {self.kind} column needs a lower and an upper bound", column=self.name
            )
        if not (math.isfinite(self.lower) and math.isfinite(self.upper) and self.lower < self.upper):
            raise DomainError(
                f"column {self.name!r}: the bounds must be finite with lower < upper, got {self.lower} and {self.upper}",
                column=self.name,
            )
        if self.bins < 1:
            raise DomainError(f"column {self.name!r}: bins must be at least 1, got {self.bins}", column=self.name)

    @property
    def is_binned(self) -> bool:
        """Whether codes stand for intervals (numeric and date) rather than for single values."""
        return self.kind in ("numeric", "date")

    @property
    def size(self) -> int:
        """Number of codes, the one for missing values included."""
        return (self.effective_bins if self.is_binned else len(self.categories)) + int(self.missing)

    @property
    def effective_bins(self) -> int:
        """Number of bins: never more than there are whole numbers between the bounds of an integer column."""
        if self.kind == "numeric" and self.integer:
            return int(min(self.bins, math.floor(self._high) - math.ceil(self._low) + 1))
        return self.bins

    @property
    def _low(self) -> float:
        assert self.lower is not None
        return float(self.lower)

    @property
    def _high(self) -> float:
        assert self.upper is not None
        return float(self.upper)

    @property
    def edges(self) -> npt.NDArray[np.float64]:
        """Edges of the bins, shape (effective_bins + 1,); the last bin is closed on both sides."""
        if self.kind == "numeric" and self.integer:
            return np.linspace(math.ceil(self._low), math.floor(self._high) + 1, self.effective_bins + 1)
        return np.linspace(self._low, self._high, self.bins + 1)

    def labels(self) -> list[str]:
        """A short text for every code, in code order."""
        if self.is_binned:
            edges = self.edges
            if self.kind == "date":
                names = [f"{_date(a):%Y-%m-%d} to {_date(b):%Y-%m-%d}" for a, b in zip(edges[:-1], edges[1:], strict=True)]
            elif self.integer:
                pairs = [(math.ceil(a), math.ceil(b) - 1) for a, b in zip(edges[:-1], edges[1:], strict=True)]
                names = [str(a) if a == b else f"{a} to {b}" for a, b in pairs]
            else:
                names = [f"{a:.4g} to {b:.4g}" for a, b in zip(edges[:-1], edges[1:], strict=True)]
        else:
            names = [str(c) for c in self.categories]
        return names + (["(missing)"] if self.missing else [])

    def numbers(self, column: pd.Series[Any]) -> npt.NDArray[np.float64]:
        """A numeric or date column as numbers, clipped to the bounds; NaN where missing. Shape (n,)."""
        if self.kind == "date":
            values = ((pd.to_datetime(column) - _EPOCH) / _DAY).to_numpy(dtype=np.float64, na_value=np.nan)
        else:
            values = pd.to_numeric(column, errors="coerce").to_numpy(dtype=np.float64, na_value=np.nan)
        return np.clip(values, self._low, self._high)

    def encode(self, column: pd.Series[Any]) -> Codes:
        """Codes 0 … size-1 of a column, shape (n,).

        Numbers outside the bounds are clipped to them; a category outside the list, or a missing value in a column that
        may have none, raises :class:`DomainError` with the row and the value.
        """
        if self.is_binned:
            values = self.numbers(column)
            empty = np.isnan(values)
            edges = self.edges
            last = self.effective_bins - 1
            with np.errstate(invalid="ignore"):
                scaled = (values - edges[0]) / (edges[-1] - edges[0]) * self.effective_bins
                codes = np.where(empty, -1, np.clip(np.floor(np.nan_to_num(scaled)), 0, last)).astype(np.int32)
            if self.integer and self.effective_bins > 1:
                inside = ~empty
                codes[inside] = np.clip(np.searchsorted(edges, values[inside], side="right") - 1, 0, last)
        else:
            codes = pd.Index(list(self.categories), dtype=object).get_indexer(column.astype(object)).astype(np.int32)
            empty = column.isna().to_numpy()
        bad = (codes < 0) & ~empty
        if bad.any():
            self._reject(column, int(np.flatnonzero(bad)[0]), int(bad.sum()))
        if empty.any():
            if not self.missing:
                row = int(np.flatnonzero(empty)[0])
                raise DomainError(
                    f"column {self.name!r}: row {row + 1} is missing or not a {self.kind} value "
                    f"({int(empty.sum())} such rows), but the domain allows no missing values; allow them",
                    column=self.name,
                )
            codes[empty] = self.size - 1
        return codes

    def _reject(self, column: pd.Series[Any], row: int, count: int) -> None:
        shown = ", ".join(repr(c) for c in self.categories[:8]) + (", …" if len(self.categories) > 8 else "")
        raise DomainError(
            f"column {self.name!r}: row {row + 1} has {column.iloc[row]!r} ({count} such rows), "
            f"which is not one of the categories {shown}; add it to the domain or change the data",
            column=self.name,
        )

    def decode(self, codes: Codes, generator: np.random.Generator) -> pd.Series[Any]:
        """Values for codes: the category itself, or a uniform draw inside the bin. Inverse of :meth:`encode` on codes."""
        codes = np.asarray(codes)
        empty = (codes == self.size - 1) if self.missing else np.zeros(len(codes), dtype=bool)
        if not self.is_binned:
            values = np.array([*self.categories, None], dtype=object)[np.where(empty, len(self.categories), codes)]
            return pd.Series(values, name=self.name).infer_objects()
        edges = self.edges
        at = np.where(empty, 0, codes)
        low, high = edges[at], edges[at + 1]
        if self.kind == "numeric" and self.integer:
            drawn = generator.integers(np.ceil(low).astype(np.int64), np.ceil(high).astype(np.int64))
            return pd.Series(drawn, name=self.name, dtype="Int64" if self.missing else "int64").mask(empty)
        drawn = generator.uniform(low, high)
        return self.from_numbers(np.where(empty, np.nan, drawn))

    def from_numbers(self, values: npt.NDArray[np.float64]) -> pd.Series[Any]:
        """A numeric or date column from numbers: clipped to the bounds, whole where the column is; NaN is missing."""
        values = np.clip(values, self._low, self._high)
        if self.kind == "date":
            return pd.Series(_EPOCH + pd.to_timedelta(np.round(values), unit="D"), name=self.name)
        if self.integer:
            whole = pd.Series(np.clip(np.round(values), math.ceil(self._low), math.floor(self._high)), name=self.name)
            return whole.astype("Int64" if self.missing else "int64")
        return pd.Series(values, name=self.name)

    def to_dict(self) -> dict[str, Any]:
        """Plain data that :meth:`from_dict` reads back."""
        shared: dict[str, Any] = {"name": self.name, "kind": self.kind, "missing": self.missing, "public": self.public}
        if self.is_binned:
            return shared | {"lower": self.lower, "upper": self.upper, "bins": self.bins, "integer": self.integer}
        return shared | {"categories": list(self.categories)}

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Attribute:
        """The attribute that :meth:`to_dict` wrote."""
        return cls(**{**data, "categories": tuple(data.get("categories", ()))})


def _date(days: float) -> pd.Timestamp:
    return _EPOCH + pd.Timedelta(days=float(days))


@dataclass(frozen=True)
class Domain:
    """The public description of a table: one :class:`Attribute` per column, in column order."""

    attributes: tuple[Attribute, ...]
    _index: dict[str, int] = field(init=False, repr=False, compare=False, hash=False)

    def __post_init__(self) -> None:
        names = [a.name for a in self.attributes]
        if not names:
            raise DomainError("a domain needs at least one column")
        if len(set(names)) != len(names):
            twice = next(name for name in names if names.count(name) > 1)
            raise DomainError(f"two columns are called {twice!r}; names must differ", column=twice)
        object.__setattr__(self, "_index", {name: i for i, name in enumerate(names)})

    @classmethod
    def of(cls, attributes: Iterable[Attribute]) -> Domain:
        """A domain from any iterable of attributes."""
        return cls(tuple(attributes))

    def __len__(self) -> int:
        return len(self.attributes)

    def __contains__(self, name: object) -> bool:
        return name in self._index

    def __getitem__(self, name: str) -> Attribute:
        return self.attributes[self.index(name)]

    def index(self, name: str) -> int:
        """Position of a column."""
        if name not in self._index:
            raise DomainError(
                f"there is no column {name!r}; the columns are {', '.join(map(repr, self.names))}", column=name
            )
        return self._index[name]

    @property
    def names(self) -> tuple[str, ...]:
        """Column names."""
        return tuple(a.name for a in self.attributes)

    @property
    def shape(self) -> tuple[int, ...]:
        """Number of codes of each column."""
        return tuple(a.size for a in self.attributes)

    @property
    def size(self) -> int:
        """Number of rows that are possible: the product of the shape (an exact integer, however large)."""
        return math.prod(self.shape)

    @property
    def is_public(self) -> bool:
        """Whether every attribute has been confirmed as public knowledge."""
        return all(a.public for a in self.attributes)

    @property
    def is_binary(self) -> bool:
        """Whether every column has two codes, so that the domain is the Boolean cube {-1, 1}^p."""
        return all(size == 2 for size in self.shape)

    def confirmed(self) -> Domain:
        """The same domain, every attribute marked as public knowledge."""
        return Domain(tuple(replace(a, public=True) for a in self.attributes))

    def replace(self, attribute: Attribute) -> Domain:
        """The same domain with one attribute changed; the name says which."""
        at = self.index(attribute.name)
        return Domain((*self.attributes[:at], attribute, *self.attributes[at + 1 :]))

    def project(self, names: Sequence[str]) -> Domain:
        """The domain of some of the columns, in the order given."""
        return Domain(tuple(self[name] for name in names))

    def encode(self, frame: pd.DataFrame) -> Codes:
        """Codes of the rows, shape (n, number of columns).

        Raises:
            DomainError: a column is absent or holds a value outside the domain.
        """
        lost = [name for name in self.names if name not in frame.columns]
        if lost:
            raise DomainError(f"the table has no column {lost[0]!r}", column=lost[0])
        codes = np.empty((len(frame), len(self)), dtype=np.int32, order="F")
        for j, attribute in enumerate(self.attributes):
            codes[:, j] = attribute.encode(frame[attribute.name])
        return codes

    def decode(self, codes: Codes, generator: np.random.Generator) -> pd.DataFrame:
        """Rows for codes of shape (k, number of columns); binned columns are drawn uniformly inside their bin."""
        columns = {a.name: a.decode(codes[:, j], generator) for j, a in enumerate(self.attributes)}
        return pd.DataFrame(columns, columns=list(self.names))

    def to_dict(self) -> dict[str, Any]:
        """Plain data that :meth:`from_dict` reads back."""
        return {"columns": [a.to_dict() for a in self.attributes]}

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Domain:
        """The domain that :meth:`to_dict` wrote."""
        return cls(tuple(Attribute.from_dict(a) for a in data["columns"]))
