"""Statistics of a delimited text file of any size."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from dpsyn.attribute import Attribute
from dpsyn.data import infer
from dpsyn.data._delimited import header_notes, no_row
from dpsyn.data._fit import fit, not_missing
from dpsyn.data._job import CHANGED, Found, Job, Plan, column_of, count, count_distinct
from dpsyn.data._readings import Numbers, Reading, date_readings, readings_of
from dpsyn.data._sources import TextSource
from dpsyn.data._text_fold import TextFold
from dpsyn.data.infer import Column, WideColumnError, infer_words, row_numbers_note
from dpsyn.data.read import chosen_columns, inferred_columns
from dpsyn.domain import Domain
from dpsyn.errors import DataError


def of_text(path: Path, job: Job, *, tabs: bool) -> Found:
    """Read the file once to know its columns, and once more to count its rows.

    Raises:
        DataError, DomainError, ParameterError: as :func:`dpsyn.data.large.file_statistics` says.
    """
    job.tell("looking through the file", 0.0)
    reading = _TextFile(TextSource(path, tabs=tabs), job)
    reading.fold()
    plans, notes = reading.fitted(job.domain) if job.domain is not None else reading.inferred()
    counts = count(reading.source, plans, job)
    if counts.rows != reading.rows:
        raise DataError(CHANGED)
    return Found(tuple(plan.attribute for plan in plans), (*reading.notes, *notes), counts)


class _TextFile:
    """A file whose wanted columns are folded."""

    def __init__(self, source: TextSource, job: Job) -> None:
        self.source = source
        self.job = job
        self.comma = source.separator != ","
        self.wanted = chosen_columns(source.names, job.domain, job.columns)
        self.position = {name: j for j, name in enumerate(source.names)}
        self.folds: dict[str, TextFold] = {}
        self.rows = 0
        self.notes: tuple[str, ...] = source.file.notes

    def fold(self) -> None:
        """Read all columns wanted, by the strict reader if the fast one does not like the file."""
        import pyarrow as pa

        try:
            self._fold()
            trusted = self.source.expected in (None, self.rows)
        except pa.ArrowInvalid:
            trusted = False
        if not trusted:
            self.source.strict = True
            self._fold()
        if self.rows == 0:
            raise no_row(self.source.names, self.source.file.first_line)
        first_row = [str(array[0].as_py()) for array in next(self.source.batches(range(len(self.source.names))))[1]]
        self.notes += header_notes(self.source.names, first_row, self.source.file.first_line)

    def _fold(self) -> None:
        self.folds = {name: self._new(name) for name in self.wanted}
        self.rows = 0
        for share, batch in self.source.batches([self.position[name] for name in self.wanted]):
            self.job.tell("reading the columns", share / 2)
            for name, array in zip(self.wanted, batch, strict=True):
                self.folds[name].add(array)
            self.rows += len(batch[0])

    def _new(self, name: str) -> TextFold:
        comma = self.comma
        if self.job.domain is None:
            return TextFold(
                lambda texts: [Numbers(comma, zeros_are_codes=True), *date_readings(texts)], capacity=infer.MAX_CATEGORIES
            )
        attribute = self.job.domain[name]
        capacity = max(infer.MAX_CATEGORIES, 2 * len(attribute.categories))

        def readings(texts: Any) -> list[Reading]:
            return readings_of(attribute, texts, decimal_comma=comma)

        return TextFold(readings, keep=not_missing(attribute), capacity=capacity)

    def locate(self, name: str, entry: int) -> int:
        """The line on which an entry of a column's words first stands."""
        fold = self.folds[name]
        sought = fold.words.codes[entry]
        row = 0
        for _, (array,) in self.source.batches([self.position[name]]):
            words = fold.split(array)
            positions = np.append(fold.positions(words.texts), -2)[np.where(words.empty, len(words.texts), words.codes)]
            hits = positions == (sought if sought >= 0 else -2)
            if hits.any():
                return self.source.line_of(row + int(np.argmax(hits)))
            row += len(array)
        raise DataError(CHANGED)

    def fitted(self, domain: Domain) -> tuple[list[Plan], tuple[str, ...]]:
        """The columns as those of a given domain."""
        plans = []
        for name in self.wanted:
            attribute, fold = domain[name], self.folds[name]
            values = fit(attribute, fold.words, decimal_comma=self.comma, locate=partial(self.locate, name))
            plans.append(self._plan(attribute, values, fold))
        others = [name for name in self.source.names if name not in self.wanted]
        notes = (f"Not in the domain, and left out: {', '.join(map(repr, others))}.",) if others else ()
        return plans, notes

    def inferred(self) -> tuple[list[Plan], tuple[str, ...]]:
        """The columns as what their texts look like."""
        found, notes = inferred_columns(self.wanted, self._infer, self.job.wide)
        attributes = [replace(column.attribute, public=False) for column in found]
        plans = [self._plan(a, c.values, self.folds[a.name]) for a, c in zip(attributes, found, strict=True)]
        return plans, notes

    def _infer(self, name: str) -> Column:
        fold = self.folds[name]
        try:
            column = self._infer_words(name)
        except WideColumnError:
            if not fold.shortened:
                raise
            distinct = count_distinct(fold.recounted(column_of(self.source, self.position[name])), self.job)
            return self._infer_words(name, distinct)
        if fold.shortened and column.attribute.integer and self._all_different(name, column.attribute):
            return replace(column, notes=(*column.notes, row_numbers_note(name)))
        return column

    def _infer_words(self, name: str, distinct: int | None = None) -> Column:
        words = self.folds[name].words
        if distinct is not None:
            words = replace(words, unlisted=distinct - len(words.texts))
        return infer_words(name, words, decimal_comma=self.comma, locate=partial(self.locate, name))

    def _all_different(self, name: str, attribute: Attribute) -> bool:
        fold = self.folds[name]
        some = fold.rows - fold.missing
        if int(attribute.upper or 0) - int(attribute.lower or 0) + 1 < some or some < infer.NUMBERED_ROWS:
            return False
        reading = Numbers(self.comma)

        def values() -> Iterator[Any]:
            for array in column_of(self.source, self.position[name]):
                words = fold.split(array)
                yield np.append(reading.read(words.texts)[0], np.nan)[words.codes][~words.empty]

        return count_distinct(values(), self.job) == some

    def _plan(self, attribute: Attribute, values: pd.Series[Any], fold: TextFold) -> Plan:
        return Plan(self.position[attribute.name], attribute, fold.encoder(attribute, attribute.encode(values)))
