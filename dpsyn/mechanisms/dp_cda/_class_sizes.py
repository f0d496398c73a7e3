"""How many records a class holds and how many rows are made of it: public facts, or a noisy count."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from dpsyn.domain import Attribute
from dpsyn.errors import ParameterError


def class_values(attribute: Attribute) -> list[Any]:
    """The classes in code order; None stands for missing values."""
    return [*attribute.categories, *([None] if attribute.missing else [])]


def rows_of_classes(rows: Mapping[Any, int] | int | None, attribute: Attribute, n: int) -> tuple[int, ...]:
    """T_k in code order: those of a mapping, or ⌊T/K⌋ each, T = n where nothing is said.

    Raises:
        ParameterError: a class is unknown or missing, a number is negative, or there is no row at all or less than one a
        class.
    """
    values = class_values(attribute)
    if not isinstance(rows, Mapping):
        total = n if rows is None else int(rows)
        if total < len(values):
            allowed = (
                f"at least {len(values)}, one for each class of {attribute.name!r}; "
                "or a mapping from classes to rows, where some may have none"
            )
            raise ParameterError("rows", total, allowed)
        return (total // len(values),) * len(values)
    found = _in_code_order("rows", rows, attribute)
    if min(found) < 0 or max(found) < 1:
        raise ParameterError("rows", _shown(rows), "at least 0 rows of every class, and at least 1 of some class")
    return found


def public_class_sizes(
    declared: Mapping[Any, int] | int | None,
    attribute: Attribute,
    n: int | None,
    order_of_mixture: int,
    rows: tuple[int, ...] | None = None,
) -> tuple[int, ...] | None:
    """Declared lower bounds in code order, or None if there are none. Classes without rows may be of any size.

    They are not held against n where that is None, a secret.

    Raises:
        ParameterError: a class is unknown or missing, too small to be mixed, or the sizes add up to more than n.
    """
    if declared is None:
        return None
    values = class_values(attribute)
    made = rows or (1,) * len(values)
    if isinstance(declared, Mapping):
        shown: object = _shown(declared)
        sizes = _in_code_order("class_sizes", declared, attribute)
    else:
        shown = declared
        sizes = (int(declared),) * len(values)
    smallest, value = min((size, position) for position, size in enumerate(sizes) if made[position] > 0)
    if min(sizes) < 0 or smallest < order_of_mixture:
        remedy = f"; order_of_mixture = {smallest} would do" if smallest >= 1 else ""
        allowed = (
            f"at least order_of_mixture = {order_of_mixture} for every class that rows are made from, and "
            f"{values[value]!r} has {smallest}: records are drawn without replacement{remedy}, or no rows of that class"
        )
        raise ParameterError("class_sizes", shown, allowed)
    if n is not None and sum(sizes) > n:
        allowed = f"sizes that add up to at most n = {n} over {len(sizes)} classes"
        raise ParameterError("class_sizes", shown, allowed + (f", so at most {n // len(sizes)} for all of them"))
    return sizes


def _in_code_order(field: str, declared: Mapping[Any, int], attribute: Attribute) -> tuple[int, ...]:
    values = class_values(attribute)
    unknown = [value for value in declared if value not in values]
    lost = [value for value in values if value not in declared]
    if unknown or lost:
        problem = f"{unknown[0]!r} is not one of them" if unknown else f"{lost[0]!r} is missing"
        raise ParameterError(field, _shown(declared), f"one number for every class of {attribute.name!r}; {problem}")
    if not all(isinstance(number, int | np.integer) and not isinstance(number, bool) for number in declared.values()):
        raise ParameterError(field, _shown(declared), "whole numbers")
    return tuple(int(declared[value]) for value in values)


def _shown(declared: Mapping[Any, int]) -> dict[str, int]:
    return {str(value): number for value, number in declared.items()}


def count_margin(scale: float, classes: int, failure_probability: float) -> int:
    """The smallest t with K·P(Z > t) ≤ β for discrete Laplace Z of this scale s: P(Z > t) = e^{-(t+1)/s} / (1 + e^{-1/s}).

    Args:
        scale: s of the noise on every count.
        classes: K.
        failure_probability: β, that any of the K noisy counts exceeds its true count by more than t.
    """
    exponent = math.log(classes / failure_probability) - math.log1p(math.exp(-1 / scale))
    return max(0, math.ceil(scale * exponent * (1 + 1e-12) + 1e-12) - 1)
