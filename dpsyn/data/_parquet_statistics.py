"""Statistics of a Parquet file of any size."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

from dpsyn.attribute import Attribute, Codes
from dpsyn.data import infer
from dpsyn.data._frames import check_shape, damaged, infer_typed
from dpsyn.data._job import CHANGED, Found, Job, Plan, column_of, count, count_distinct
from dpsyn.data._readings import date_readings
from dpsyn.data._sources import ParquetSource
from dpsyn.data._text_fold import TextFold
from dpsyn.data._typed_fold import TypedFold, as_series
from dpsyn.data.infer import Column, WideColumnError, infer_texts, row_numbers_note
from dpsyn.data.read import chosen_columns, inferred_columns
from dpsyn.domain import Domain
from dpsyn.errors import DataError, DomainError


def of_parquet(path: Path, job: Job) -> Found:
    """Read the file once to know its columns, unless a domain says so, and once more to count its rows.

    Raises:
        DataError, DomainError, ParameterError: as :func:`dpsyn.data.large.file_statistics` says.
    """
    import pyarrow as pa

    try:
        reading = _ParquetFile(ParquetSource(path), job)
        plans, notes = reading.fitted(job.domain) if job.domain is not None else reading.inferred()
        counts = count(reading.source, plans, job)
    except (pa.ArrowException, OSError) as error:
        raise damaged(error) from error
    if counts.rows != reading.source.rows:
        raise DataError(CHANGED)
    return Found(tuple(plan.attribute for plan in plans), (*reading.source.notes, *notes), counts)


class _ParquetFile:
    def __init__(self, source: ParquetSource, job: Job) -> None:
        self.source = source
        self.job = job
        check_shape(source.names, source.rows)
        self.wanted = chosen_columns(source.names, job.domain, job.columns)
        self.position = {name: j for j, name in enumerate(source.names)}
        self.folds: dict[str, TextFold | TypedFold] = {}

    def fitted(self, domain: Domain) -> tuple[list[Plan], tuple[str, ...]]:
        """The columns as those of a given domain, which are encoded without being looked at before."""
        plans = [Plan(self.position[name], domain[name], _Encoder(domain[name])) for name in self.wanted]
        others = [name for name in self.source.names if name not in self.wanted]
        notes = (f"Not in the domain, and left out: {', '.join(map(repr, others))}.",) if others else ()
        return plans, notes

    def inferred(self) -> tuple[list[Plan], tuple[str, ...]]:
        """The columns as what their types and values say."""
        for share, batch in self.source.batches([self.position[name] for name in self.wanted]):
            self.job.tell("reading the columns", share / 2)
            for name, array in zip(self.wanted, batch, strict=True):
                if name not in self.folds:
                    self.folds[name] = _fold_of(array)
                self.folds[name].add(array)
        found, notes = inferred_columns(self.wanted, self._infer, self.job.wide)
        plans = []
        for column in found:
            attribute = replace(column.attribute, public=False)
            entries = attribute.encode(column.values)
            encode = self.folds[attribute.name].encoder(attribute, entries)
            plans.append(Plan(self.position[attribute.name], attribute, encode))
        return plans, notes

    def _infer(self, name: str) -> Column:
        fold = self.folds[name]
        try:
            column = self._of_fold(name, fold, None)
        except WideColumnError:
            if not fold.shortened:
                raise
            return self._of_fold(name, fold, self._distinct(name))
        if fold.shortened and column.attribute.integer and isinstance(fold, TypedFold) and self._all_different(name, fold):
            return replace(column, notes=(*column.notes, row_numbers_note(name)))
        return column

    def _of_fold(self, name: str, fold: TextFold | TypedFold, distinct: int | None) -> Column:
        if isinstance(fold, TextFold):
            words = fold.words
            return infer_texts(name, replace(words, unlisted=distinct - len(words.texts)) if distinct else words)
        entries = fold.entries.rename(name)
        listed = int(entries.notna().sum())
        return infer_typed(name, entries, fold.weights(distinct - listed if distinct else 0))

    def _distinct(self, name: str) -> int:
        fold = self.folds[name]
        batches = column_of(self.source, self.position[name])
        if isinstance(fold, TextFold):
            return count_distinct(fold.recounted(batches), self.job)
        return count_distinct((array.drop_null() for array in batches), self.job)

    def _all_different(self, name: str, fold: TypedFold) -> bool:
        low, high = fold.bounds
        return high - low + 1 >= fold.some >= infer.NUMBERED_ROWS and self._distinct(name) == fold.some


class _Encoder:
    """Encodes the batches of a column and counts the rows, so that a refusal says where it counts from."""

    def __init__(self, attribute: Attribute) -> None:
        self._attribute = attribute
        self._rows = 0

    def __call__(self, array: Any) -> Codes:
        try:
            codes = self._attribute.encode(as_series(array).rename(self._attribute.name))
        except DomainError as error:
            where = f" (rows counted from row {self._rows + 1} of the file)" if self._rows else ""
            raise DomainError(f"{error}{where}", column=error.column) from error
        self._rows += len(array)
        return codes


def _fold_of(array: Any) -> TextFold | TypedFold:
    most = infer.MAX_CATEGORIES
    return TextFold(date_readings, strip=False, capacity=most) if _is_text(array) else TypedFold(capacity=most)


def _is_text(array: Any) -> bool:
    import pyarrow as pa

    return bool(
        pa.types.is_string(array.type) or pa.types.is_large_string(array.type) or pa.types.is_string_view(array.type)
    )
