"""How many records a class holds: declared as a public fact, or bounded from below by a noisy count."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from dpsyn.domain import Attribute
from dpsyn.errors import ParameterError


def class_values(attribute: Attribute) -> list[Any]:
    """The classes in code order; None stands for missing values."""
    return [*attribute.categories, *([None] if attribute.missing else [])]


def public_class_sizes(
    declared: Mapping[Any, int] | int | None, attribute: Attribute, n: int, order_of_mixture: int
) -> tuple[int, ...] | None:
    """Declared lower bounds in code order, or None if there are none.

    Raises:
        ParameterError: a class is unknown or missing, too small to be mixed, or the sizes add up to more than n.
    """
    if declared is None:
        return None
    values = class_values(attribute)
    if isinstance(declared, Mapping):
        shown: object = {str(value): size for value, size in declared.items()}
        unknown = [value for value in declared if value not in values]
        lost = [value for value in values if value not in declared]
        if unknown or lost:
            problem = f"{unknown[0]!r} is not one of them" if unknown else f"{lost[0]!r} is missing"
            raise ParameterError("class_sizes", shown, f"one size for every class of {attribute.name!r}; {problem}")
        sizes = tuple(int(declared[value]) for value in values)
    else:
        shown = declared
        sizes = (int(declared),) * len(values)
    if min(sizes) < order_of_mixture:
        allowed = f"at least order_of_mixture = {order_of_mixture} for every class: records are drawn without replacement"
        raise ParameterError("class_sizes", shown, allowed)
    if sum(sizes) > n:
        raise ParameterError("class_sizes", shown, f"sizes that add up to at most n = {n} over {len(sizes)} classes")
    return sizes


def count_margin(scale: float, classes: int, failure_probability: float) -> int:
    """The smallest t with K·P(Z > t) ≤ β for discrete Laplace Z of this scale s: P(Z > t) = e^{-(t+1)/s} / (1 + e^{-1/s}).

    Args:
        scale: s of the noise on every count.
        classes: K.
        failure_probability: β, that any of the K noisy counts exceeds its true count by more than t.
    """
    exponent = math.log(classes / failure_probability) - math.log1p(math.exp(-1 / scale))
    return max(0, math.ceil(scale * exponent * (1 + 1e-12) + 1e-12) - 1)
