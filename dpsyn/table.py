"""A table over a domain, and the statistics that the theorems ask for."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pandas as pd

from dpsyn.domain import Codes, Domain
from dpsyn.errors import ParameterError
from dpsyn.statistics import DatasetStatistics, EqualRows, statistics_of


@dataclass(frozen=True, eq=False)
class Table:
    """Private rows together with their public domain.

    ``frame`` has the domain's columns in the domain's order. Making a table encodes every row, so a value outside the
    domain is found here (:class:`~dpsyn.errors.DomainError`) and nowhere later.
    """

    frame: pd.DataFrame
    domain: Domain
    name: str = "data"

    def __post_init__(self) -> None:
        object.__setattr__(self, "frame", self.frame.loc[:, list(self.domain.names)].reset_index(drop=True))
        _ = self.codes

    def _of(self, frame: pd.DataFrame, domain: Domain, codes: Codes) -> Table:
        """Some of the rows and columns, whose codes are known."""
        made = object.__new__(Table)
        facts = {"frame": frame.reset_index(drop=True), "domain": domain, "name": self.name, "codes": codes}
        made.__dict__.update(facts)
        return made

    @cached_property
    def codes(self) -> Codes:
        """Integer codes of the rows, shape (n, number of columns)."""
        return self.domain.encode(self.frame)

    @property
    def n(self) -> int:
        """Number of rows."""
        return len(self.frame)

    def statistics(self, *, two_valued_as_bit: bool = False) -> DatasetStatistics:
        """p, n, ‖f_n‖∞ and the number of distinct rows: exact, and read from the private data."""
        return statistics_of(self._equal_rows, self.domain, name=self.name, two_valued_as_bit=two_valued_as_bit)

    @cached_property
    def _equal_rows(self) -> EqualRows:
        return EqualRows.of(self.codes, self.domain.shape)

    def smallest_class(self, column: str) -> int:
        """Rows of the rarest value of a column: 0 if the domain has a value that no row has. It reads private rows.

        Raises:
            DomainError: there is no such column.
        """
        at = self.domain.index(column)
        return int(np.bincount(self.codes[:, at], minlength=self.domain.attributes[at].size).min())

    def project(self, columns: Sequence[str]) -> Table:
        """The table of some of the columns."""
        at = [self.domain.index(name) for name in columns]
        return self._of(self.frame.loc[:, list(columns)], self.domain.project(columns), np.asfortranarray(self.codes[:, at]))

    def with_domain(self, domain: Domain) -> Table:
        """The same rows over another domain (of all or some of the columns)."""
        changed = [a for a in domain.attributes if a.name not in self.domain or not a.encodes_as(self.domain[a.name])]
        if len(changed) == len(domain):
            return Table(self.frame, domain, self.name)
        new = Table(self.frame, Domain.of(changed), self.name) if changed else None
        codes = np.empty((self.n, len(domain)), dtype=np.int32, order="F")
        for j, name in enumerate(domain.names):
            of = self if new is None or name not in new.domain else new
            codes[:, j] = of.codes[:, of.domain.index(name)]
        return self._of(self.frame.loc[:, list(domain.names)], domain, codes)

    def take(self, rows: np.ndarray) -> Table:
        """The table of some of the rows, by position."""
        return self._of(self.frame.iloc[rows], self.domain, np.asfortranarray(self.codes[rows]))

    def split(self, held_out: float, generator: np.random.Generator) -> tuple[Table, Table]:
        """A random split into a part to learn from and a held-out part; each has at least one row."""
        if not 0 < held_out < 1 or self.n < 2:
            raise ParameterError(
                "held_out", held_out, f"a share between 0 and 1, of a table with 2 rows or more (it has {self.n})"
            )
        order = generator.permutation(self.n)
        cut = min(max(round(self.n * held_out), 1), self.n - 1)
        return self.take(np.sort(order[cut:])), self.take(np.sort(order[:cut]))
