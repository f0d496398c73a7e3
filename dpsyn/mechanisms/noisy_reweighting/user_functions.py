"""A family of statistics made of the user's own functions, each with a declared range."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import cached_property
from numbers import Real
from typing import Any

import numpy as np
import numpy.typing as npt

from dpsyn import checks
from dpsyn.domain import Codes
from dpsyn.errors import ParameterError
from dpsyn.mechanisms.noisy_reweighting.families import Family, Floats, Group, Integers
from dpsyn.privacy.spec import Neighbouring
from dpsyn.solvers.contingency import all_codes, check_sizes_and_degree, checked_codes

Function = Callable[[Codes], npt.ArrayLike]

TABULATED_AT_MOST = 4_000_000
"""Values: with no more than this on the whole domain, functions are called on the domain alone and then looked up."""
PAIRS_AT_MOST = 1_000
"""Rows of a domain on which the sensitivity is found over all pairs of rows."""
_PROBES = 64
_LARGEST_SUM = 1 << 62
_BLOCK = 1 << 22


class FunctionFamily(Family):
    """f_1 … f_F of the user's own, with values in a declared range inside [-1, 1].

    Whatever a function returns is moved into its range and rounded to a multiple of ``unit``; a value that is not a number,
    and a row on which it raises or returns something of another shape, count as the range's lower end, so that a run does
    not tell by a refusal that such a row is there (how long it takes may tell). The sensitivity of the declared ranges
    therefore holds in any case: with w_f the width of a range in
    units, L1 ≤ Σ_f w_f and L2 ≤ √(Σ_f w_f²) when a row is replaced, the same with the larger end of the range in place of
    the width when one is added. On a domain of at most :data:`PAIRS_AT_MOST` rows the functions are evaluated on all of it,
    which is public, and the sensitivities are the exact largest ones over all pairs of rows.

    A function must look at one row at a time. On small domains it is called on the domain only, so it cannot do otherwise;
    on larger ones this is tried on random rows and is an assumption of the guarantee (``row_by_row``).

    Args:
        functions: one vectorised function of codes, shape (n, columns), with values of shape (n, F); or a list of functions
            with values of shape (n,).
        sizes: number of codes of each column.
        low, high: the declared range, for all functions or one number for each: -1 ≤ low < high ≤ 1.
        unit: values are rounded to multiples of it; 1 for functions with values -1, 0 and 1.
        names: how to call the functions; numbered by default.

    Attributes:
        row_by_row: True if the functions cannot look at more than one row at a time.

    Raises:
        ParameterError: a range is wrong, values have a wrong shape, a function raises on every row that is tried, or looks
            at several rows at once.
    """

    name = "functions"

    def __init__(
        self,
        functions: Function | Sequence[Function],
        sizes: Sequence[int],
        *,
        low: float | Sequence[float] = -1.0,
        high: float | Sequence[float] = 1.0,
        unit: float = 2.0**-20,
        names: Sequence[str] | None = None,
    ) -> None:
        why = "the number of codes of each column"
        self.sizes = tuple(checks.whole("sizes", size, 1, 2**31 - 1) for size in checks.items("sizes", sizes, why))
        check_sizes_and_degree(self.sizes, 1)
        why = "a vectorised function, or a list of at least one"
        self._functions = (functions,) if callable(functions) else tuple(checks.items("functions", functions, why))
        if not self._functions or not all(map(callable, self._functions)):
            raise ParameterError("functions", functions, why)
        self.unit = checks.number("unit", unit, 2.0**-40, 1.0)
        probes = np.random.default_rng(0).integers(0, self.sizes, (_PROBES, len(self.sizes)), dtype=np.int32)
        # Values of a single function for several statistics have a second axis.
        self._widths = [self._width(function, probes, one=not callable(functions)) for function in self._functions]
        self.count = sum(width or 1 for width in self._widths)
        self.groups = tuple(Group((), f, f + 1) for f in range(self.count))
        self.names = tuple(f"f{f + 1}" for f in range(self.count))
        if names is not None:
            why = "a list of texts"
            self.names = tuple(checks.text("names", name, why) for name in checks.items("names", names, why))
        if len(self.names) != self.count:
            raise ParameterError("names", f"{len(self.names)} names", f"one for each of the {self.count} functions")
        self._low, self._high = self._range("low", low), self._range("high", high)
        if not ((self._low >= -1).all() and (self._high <= 1).all() and (self._low < self._high).all()):
            raise ParameterError("low", (low, high), "a range with -1 <= low < high <= 1 for every function")
        self._bottom = np.rint(self._low / self.unit).astype(np.int64)
        self._top = np.rint(self._high / self.unit).astype(np.int64)
        if (self._bottom == self._top).any():
            raise ParameterError("unit", unit, "small enough that each range holds two of its multiples")
        rows = math.prod(self.sizes)
        self.row_by_row = rows * self.count <= TABULATED_AT_MOST
        self._table = self._rounded(self._called(all_codes(self.sizes))) if self.row_by_row else None
        if self._table is None:
            alone = np.concatenate([self._called(probes[i : i + 1]) for i in range(_PROBES)])
            if not np.array_equal(alone, self._called(probes), equal_nan=True):
                raise ParameterError("functions", "one that gives a row another value among other rows", "one row at a time")

    def _range(self, field: str, ends: float | Sequence[float]) -> Floats:
        why = f"a number, or one for each of the {self.count} functions"
        values = [ends] * self.count if isinstance(ends, Real) else checks.items(field, ends, why)
        if len(values) != self.count:
            raise ParameterError(field, ends, why)
        return np.array([checks.number(field, value) for value in values])

    def _width(self, function: Function, probes: Codes, *, one: bool) -> int | None:
        """How many values a function has for a row; None for one without an axis of its own. Public: probes are no data."""
        fault: Exception | None = None
        for rows in (probes, *np.split(probes, len(probes))):
            try:
                shape = _asked(function, rows).shape
            except Exception as raised:  # noqa: BLE001  # whatever the user's function raises
                fault = raised
                continue
            if len(shape) != (1 if one else 2) or shape[0] != len(rows) or 0 in shape:
                wanted = f"({len(rows)},)" if one else f"({len(rows)}, F)"
                raise ParameterError("functions", f"values of shape {shape}", f"{wanted} for {len(rows)} rows")
            return None if one else shape[1]
        raise ParameterError("functions", function, f"a function of rows; it raises on every row: {fault!r}") from fault

    def _called(self, codes: Codes) -> Floats:
        """What the functions return, shape (n, F)."""
        pairs = zip(self._functions, self._widths, strict=True)
        return np.concatenate([_returned(function, width, codes) for function, width in pairs], axis=1)

    def _rounded(self, values: Floats) -> Integers:
        inside = np.clip(np.where(np.isnan(values), self._low, values), self._low, self._high)
        return np.rint(inside / self.unit).astype(np.int64)

    def _values(self, codes: Codes) -> Integers:
        if self._table is not None:
            return self._table[self._row_numbers(codes)]
        return self._rounded(self._called(codes))

    def _row_numbers(self, codes: Codes) -> Integers:
        return np.asarray(np.ravel_multi_index(tuple(codes.T.astype(np.int64)), self.sizes), dtype=np.int64)

    def sums(self, codes: Codes) -> Integers:
        """Σ_i f(x_i)/unit, moved into ±2⁶²: a sum that wrapped around would move by more than one row can."""
        codes = checked_codes(codes, self.sizes)
        largest = int(max(self._top.max(), -self._bottom.min()))
        exact: Any = np.int64 if len(codes) * largest <= _LARGEST_SUM else object
        if self._table is not None:
            found, times = np.unique(self._row_numbers(codes), return_counts=True)
            total = times.astype(exact) @ self._table[found].astype(exact)
        else:
            total, rows = np.zeros(self.count, dtype=exact), max(1, _BLOCK // self.count)
            for start in range(0, len(codes), rows):
                total += self._values(codes[start : start + rows]).astype(exact).sum(axis=0)
        return np.asarray(np.clip(total, -_LARGEST_SUM, _LARGEST_SUM), dtype=np.int64)

    def matrix(self, points: Codes) -> Floats:
        """The rounded values f(z_i), dense."""
        return np.ascontiguousarray(self._values(checked_codes(points, self.sizes)).T * self.unit)

    def l1(self, neighbouring: Neighbouring = "replace_one") -> int:
        """Exact on small domains, Σ of the ranges' widths on larger ones."""
        return int(self._sensitivities[neighbouring][0])

    def l2(self, neighbouring: Neighbouring = "replace_one") -> float:
        """Exact on small domains, the root of the sum of squared widths on larger ones."""
        return math.sqrt(self._sensitivities[neighbouring][1])

    @cached_property
    def _sensitivities(self) -> dict[Neighbouring, tuple[int, int]]:
        """L1 and the square of L2, as exact integers."""
        width = self._top - self._bottom
        end = np.maximum(self._top, -self._bottom)
        if self._table is None:
            return {"replace_one": _size(width), "add_remove": _size(end)}
        rows = np.unique(self._table, axis=0)
        alone = [_size(row) for row in rows]
        added = max(l1 for l1, _ in alone), max(square for _, square in alone)
        if len(self._table) <= PAIRS_AT_MOST:
            replaced = _largest_of_pairs(rows)
        else:
            replaced = _size(rows.max(axis=0) - rows.min(axis=0))
        return {"replace_one": replaced, "add_remove": added}


def _asked(function: Function, codes: Codes) -> Floats:
    """What a function returns for rows that it can only read: writing into them would change the table for others."""
    rows = codes.view()
    rows.flags.writeable = False
    try:
        return np.asarray(function(rows), dtype=np.float64)
    except (Exception, KeyboardInterrupt):
        raise
    except BaseException as raised:  # SystemExit and its like are faults as others
        raise RuntimeError(repr(raised)) from raised


def _returned(function: Function, width: int | None, codes: Codes) -> Floats:
    """What a function returns, shape (n, width or 1); NaN for the rows on which it fails, which are found by halving."""
    # Whatever it raises: that it did may depend on the data, and must not be seen.
    with suppress(Exception), np.errstate(all="ignore"):
        values = _asked(function, codes)
        if values.shape == ((len(codes),) if width is None else (len(codes), width)):
            return values.reshape(len(codes), width or 1)
    if len(codes) <= 1:
        return np.full((len(codes), width or 1), np.nan)
    return np.concatenate([_returned(function, width, half) for half in np.array_split(codes, 2)])


def _size(moved: Integers) -> tuple[int, int]:
    exact = [abs(int(value)) for value in moved]
    return sum(exact), sum(value * value for value in exact)


def _largest_of_pairs(rows: Integers) -> tuple[int, int]:
    """The largest L1 norm and squared L2 norm of a difference of two rows; exact, since entries are below 2^41."""
    l1 = square = 0
    for row in rows:
        moved = np.abs(rows - row)
        l1 = max(l1, int(moved.sum(axis=1).max()))
        # Squares may not fit 64 bits: rank the pairs in floating point, then square the leading ones exactly.
        lengths = (moved.astype(np.float64) ** 2).sum(axis=1)
        farthest = np.unique(moved[lengths >= lengths.max() * (1 - 1e-9)], axis=0)
        square = max(square, *(_size(one)[1] for one in farthest))
    return l1, square
