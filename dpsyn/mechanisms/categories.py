"""What mechanisms on categories have in common: fine histograms of numbers and dates before, rows from a model after."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import count as count_from
from itertools import product
from typing import Any, ClassVar, Protocol

import numpy as np
import pandas as pd

from dpsyn import checks
from dpsyn.calendar import with_calendar
from dpsyn.data.counted import AnyTable
from dpsyn.domain import Codes, Domain, listed
from dpsyn.errors import quoted
from dpsyn.mechanisms.base import (
    N_IS_PUBLIC,
    ROWS,
    Axis,
    Config,
    Mechanism,
    Progress,
    Release,
    check_request,
)
from dpsyn.mechanisms.encoding import Stage, checked_share, staged, staged_before
from dpsyn.notation import number
from dpsyn.privacy.budget import Budget, mean_error
from dpsyn.privacy.noise import NoiseSource
from dpsyn.privacy.spec import PUBLIC_DOMAIN_ASSUMPTION, Guarantee, PrivacySpec
from dpsyn.solvers.coded import Rows
from dpsyn.solvers.executors import one_blas_thread
from dpsyn.solvers.memory import require_memory

ONE_WAY = "one-way tables"
"""Their name in a ledger."""
COUNTING = 0.02
"""Share of a budget for the number of rows, where it is a secret and a mechanism has to know it."""


DROWNED = 2.0
"""Noise on the cells of a table, in parts of all rows, from which on most of the table is lost in it."""


class Model(Protocol):
    """What was made of noisy numbers; it has seen no row.

    Attributes:
        rows: how many the noisy numbers say that there are.
    """

    @property
    def rows(self) -> float: ...

    def codes(self, count: int, generator: np.random.Generator) -> Codes:
        """Codes of so many rows, in random order, shape (count, columns)."""
        ...


@dataclass(frozen=True)
class Categories(Config):
    """
    Args:
        rows: k; None makes as many as there are, by the noisy tables where a neighbour adds or removes one. Rows cost no
            privacy.
        histogram_share: share of the budget for fine histograms of numbers and dates (:mod:`dpsyn.privacy.histograms`),
            which choose their bins, where noise would not, and what is drawn inside; 0 takes bins of equal width. Nothing is
            spent where there is no such column.

    Raises:
        ParameterError: a value is outside its range.
    """

    rows: int | None = None
    histogram_share: float = 0.1

    axes: ClassVar[Mapping[str, Axis]] = {"rows": ROWS}

    def __post_init__(self) -> None:
        self._set("rows", checks.whole_or_none("rows", self.rows))
        self._set("histogram_share", checked_share(self.histogram_share))

    def _begun(self, spec: PrivacySpec, domain: Domain, n: int) -> tuple[Domain, int, Stage, Budget]:
        """The columns as they are coded, n, what comes first for numbers and dates, and what of the budget that leaves."""
        n = check_request(spec, domain, n, self.rows)
        domain = with_calendar(domain)
        stage, left = staged(self.histogram_share, Budget.of(spec), spec, domain, n)
        return domain, n, stage, left

    def _begun_before(self, spec: PrivacySpec, domain: Domain, n: int) -> tuple[Domain, int, Stage, PrivacySpec]:
        """As :meth:`_begun`, before a mechanism that has an accounting of its own."""
        n = check_request(spec, domain, n, self.rows)
        domain = with_calendar(domain)
        stage, left = staged_before(self.histogram_share, spec, domain, n)
        return domain, n, stage, left


def released_tables(release: Release) -> dict[tuple[str, ...], pd.DataFrame]:
    """The noisy counts that a release was made from, by the names of their columns: as private as its rows.

    Each has a text for the value of every column, the noisy count, which may be negative, and the standard deviation of its
    noise. Empty where a mechanism measures none, or where the release was read from a file.
    """
    noisy, encoding = release.diagnostics.get("noisy_tables"), release.diagnostics.get("encoding")
    if noisy is None or encoding is None:
        return {}
    names, found = encoding.domain.names, {}
    count, deviation = (next(free for free in _unlike(text) if free not in names) for text in ("count", "deviation"))
    for columns, counts in noisy.counts.items():
        values = list(product(*(encoding.labels(j) for j in columns)))
        table = pd.DataFrame(values, columns=[names[j] for j in columns])
        spread = noisy.variances[columns] ** 0.5
        found[tuple(table.columns)] = table.assign(**{count: counts, deviation: spread})
    return found


def _unlike(text: str) -> Iterator[str]:
    """The text, and with more and more underscores."""
    return (text + "_" * many for many in count_from())


def drowned(settings: Mapping[str, Any], domain: Domain, n: int | None) -> list[str]:
    """That noise drowns tables of single columns, by the settings of a run and its rows; nothing where n is a secret."""
    part = next((part for part in settings["ledger"] if part["name"] == ONE_WAY), None)
    if n is None or part is None:
        return []
    share = mean_error(part["scale"], gaussian="rho" in part) / n
    return _said({a.name: share * a.size for a in domain.attributes})


def drowned_tables(release: Release) -> list[str]:
    """The same by the noisy tables that a release was made from, where their number and precision follow from the rows:
    nothing that noise does not show. Unknown of a release that was kept."""
    noisy, model, encoding = (release.diagnostics.get(one) for one in ("noisy_tables", "model", "encoding"))
    if noisy is None or model is None or encoding is None:
        return []
    sizes, noise = encoding.domain.shape, {}
    for j, name in enumerate(encoding.domain.names):
        if (found := noisy.of_column(j, sizes)) is not None:
            noise[name] = mean_error(found[1], gaussian=True) * sizes[j] / model.rows
    return _said(noise)


def _said(noise: Mapping[str, float]) -> list[str]:
    """Which columns are lost in noise, by what it adds up to on the cells of their tables, in parts of all rows."""
    found = {name: share for name, share in noise.items() if share > DROWNED}
    if not found:
        return []
    tables, more = ("each of the tables", " or more") if len(found) > 1 else ("the table", "")
    return [
        f"Noise on the cells of {tables} of {listed(map(quoted, found))} adds up to about "
        f"{number(min(found.values()), 2)} times all the rows{more}, so little but what is most frequent will be left: "
        f"drop {'columns, ' * (len(noise) > 1)}bins or categories, or raise ε."
    ]


def claimed(spec: PrivacySpec, stage: Stage, source: str, delta: float) -> Guarantee:
    """The claim of a mechanism that spends all of ε that a stage leaves, and this δ."""
    public = (N_IS_PUBLIC,) if spec.neighbouring == "replace_one" else ()
    return Guarantee(spec.epsilon, delta, spec.neighbouring, stage.source(source), (PUBLIC_DOMAIN_ASSUMPTION, *public))


@dataclass(frozen=True)
class OnCategories(Mechanism):
    """A calibrated mechanism that makes a model of codes and draws rows from it.

    Attributes:
        stage: what comes first, for numbers and dates.
    """

    config: Categories
    stage: Stage

    needs_counts_alone: ClassVar[bool] = True

    @property
    def public_rows(self) -> int | None:
        """n where it is public."""
        return self.n if self.guarantee.neighbouring == "replace_one" else None

    def calibrated(self) -> dict[str, Any]:
        """Rows where their number is known; mechanisms add their own."""
        rows = self.config.rows or self.public_rows
        return {} if rows is None else {"rows": rows}

    def _redraw(self, generator: np.random.Generator, release: Release) -> pd.DataFrame | None:
        """As many rows again from the same model."""
        model, encoding = release.diagnostics.get("model"), release.diagnostics.get("encoding")
        if model is None or encoding is None:
            return None
        found: pd.DataFrame = encoding.decode(model.codes(len(release.rows), generator), generator)
        return found

    @abstractmethod
    def _model(self, noise: NoiseSource, real: Rows, progress: Progress) -> tuple[Model, dict[str, Any]]:
        """A model of the rows, from noisy numbers alone, and diagnostics."""

    def _run(self, noise: NoiseSource, table: AnyTable, progress: Progress) -> tuple[pd.DataFrame, dict[str, Any]]:
        progress("adding noise", 0.0)
        # Models are made of many small products, where several threads would only wait for each other.
        with one_blas_thread():
            encoding = self.stage.encoding(noise, table)
            model, diagnostics = self._model(noise, encoding.rows(table), progress)
            progress("drawing the rows", 0.9)
            rows = self.config.rows or self.public_rows or max(1, round(model.rows))
            require_memory("rows", rows, 16 * len(self.domain) * rows)
            found = encoding.decode(model.codes(rows, noise.generator), noise.generator)
        return found, {**diagnostics, "model": model, "encoding": encoding}


@dataclass(frozen=True)
class OnBudget(OnCategories):
    """One whose steps share a budget that adds up.

    Attributes:
        budget: of all steps.
    """

    budget: Budget

    @property
    def counting(self) -> float:
        """What it costs to learn the number of rows: nothing where it is public."""
        return 0.0 if self.public_rows else COUNTING * self.budget.total

    @property
    def _count_scale(self) -> float:
        # A row that is added moves the one count there is by 1.
        return self.budget.noise_scale(self.counting)

    def counted(self, noise: NoiseSource, real: Rows) -> int:
        """How many rows there are: n where it is public, else a count with noise, from 1 to 2^53."""
        if self.public_rows:
            return self.public_rows
        counted = int(self.budget.released(noise, np.array([real.n]), self._count_scale)[0])
        return min(max(1, counted), checks.LARGEST_WHOLE)

    def ledger(self, *parts: tuple[str, float, float]) -> dict[str, Any]:
        """What a record says of parts with their name, cost and scale, after the count of rows if there is one."""
        counting = [("number of rows", self.counting, self._count_scale)] if self.counting else []
        return self.stage.ledger(*counting, *parts)
