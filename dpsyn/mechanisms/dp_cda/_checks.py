"""What DP-CDA refuses, and how many records a class holds and rows are made of it: public facts, or a noisy count."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, Literal

from dpsyn import checks
from dpsyn.cells import in_settings
from dpsyn.domain import Attribute, Domain, listed
from dpsyn.errors import CalibrationError, ParameterError, quoted
from dpsyn.notation import counted
from dpsyn.privacy.spec import PrivacySpec, rounded_up

RowsBy = Literal["size", "equal"]

_LARGEST_COUNT_NOISE = 2.0**40


def class_values(attribute: Attribute) -> list[Any]:
    """The classes in code order; None stands for missing values."""
    return [*attribute.categories, *([None] if attribute.missing else [])]


def rows_of_classes(
    rows: Mapping[str, int] | int | None, rows_by: RowsBy, attribute: Attribute, n: int
) -> tuple[int, tuple[int, ...] | None]:
    """T, which is n where nothing is said, and T_k in code order: those of a mapping, ⌊T/K⌋ each, or None for such as follow
    from the class sizes (:func:`in_proportion`).

    Raises:
        ParameterError: a class is unknown or missing, a number is negative, or there is no row at all or less than one a
        class.
    """
    values = class_values(attribute)
    if isinstance(rows, Mapping):
        found = _in_code_order("rows", rows, attribute)
        if min(found) < 0 or max(found) < 1:
            raise ParameterError("rows", dict(rows), "at least 0 rows of every class, and at least 1 of some class")
        return sum(found), found
    total = n if rows is None else rows
    if total < len(values):
        allowed = (
            f"at least {len(values)}, one for each class of {quoted(attribute.name)}; "
            "or a mapping from classes to rows, where some may have none"
        )
        raise ParameterError("rows", total, allowed)
    if rows_by == "size":
        return total, None
    each = total // len(values)
    return each * len(values), (each,) * len(values)


def in_proportion(total: int, sizes: Sequence[int]) -> tuple[int, ...]:
    """So many rows in proportion to whole numbers, by largest remainders (of equal ones the first); 0 has none, any other at
    least 1, taken from the largest. ``total`` is at least the number of those."""
    whole = sum(sizes)
    rows = [total * size // whole for size in sizes]
    ranked = sorted(range(len(sizes)), key=lambda k: -(total * sizes[k] % whole))
    for k in ranked[: total - sum(rows)]:
        rows[k] += 1
    for k, size in enumerate(sizes):
        if size > 0 and rows[k] == 0:
            rows[rows.index(max(rows))] -= 1
            rows[k] = 1
    return tuple(rows)


def public_class_sizes(
    declared: Mapping[str, int] | int | None,
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
        shown: object = dict(declared)
        sizes = _in_code_order("class_sizes", declared, attribute)
    else:
        shown = declared
        sizes = (declared,) * len(values)
    smallest, value = min((size, position) for position, size in enumerate(sizes) if made[position] > 0)
    if min(sizes) < 0 or smallest < order_of_mixture:
        remedy = f"; order_of_mixture = {smallest} would do" if smallest >= 1 else ""
        allowed = (
            f"at least order_of_mixture = {order_of_mixture} for every class that rows are made from, and "
            f"{quoted(values[value])} has {smallest}: records are drawn without replacement{remedy}, or no rows "
            "of that class"
        )
        raise ParameterError("class_sizes", shown, allowed)
    if n is not None and sum(sizes) > n:
        allowed = f"sizes that add up to at most n = {n} over {len(sizes)} classes"
        raise ParameterError("class_sizes", shown, allowed + (f", so at most {n // len(sizes)} for all of them"))
    return sizes


def _in_code_order(field: str, declared: Mapping[str, int], attribute: Attribute) -> tuple[int, ...]:
    names = [in_settings(value) for value in class_values(attribute)]
    unknown = [name for name in declared if name not in names]
    lost = [name for name in names if name not in declared]
    if unknown or lost or len(set(names)) < len(names):
        problem = f"{quoted(unknown[0])} is not one of them" if unknown else f"{quoted(lost[0])} is missing" if lost else ""
        problem = problem or "some are written alike, so only one number for all of them will do"
        raise ParameterError(field, dict(declared), f"one number for every class of {quoted(attribute.name)}; {problem}")
    return tuple(declared[name] for name in names)


def count_margin(scale: float, classes: int, failure_probability: float) -> int:
    """The smallest t with K·P(Z > t) ≤ β for discrete Laplace Z of this scale s: P(Z > t) = e^{-(t+1)/s} / (1 + e^{-1/s}).

    Args:
        scale: s of the noise on every count.
        classes: K.
        failure_probability: β, that any of the K noisy counts exceeds its true count by more than t.
    """
    exponent = math.log(classes / failure_probability) - math.log1p(math.exp(-1 / scale))
    return max(0, math.ceil(scale * exponent * (1 + 1e-12) + 1e-12) - 1)


def per_class(field: str, value: object) -> dict[str, int] | int | None:
    """A whole number from 1 on for all classes, one from 0 on for each by its text, or None.

    Raises:
        ParameterError: it is none of these.
    """
    if isinstance(value, Mapping):
        given = checks.mapping(field, value, "a number for every class")
        found = {in_settings(name): checks.whole(field, number, 0, why="for every class") for name, number in given.items()}
        if len(found) < len(given):
            raise ParameterError(field, found, "a number for every class; two are written alike")
        return found
    return checks.whole_or_none(field, value)


def check_delta(spec: PrivacySpec, n: int | None) -> None:
    """Raise unless δ > 0; n is None where it is a secret, which no refusal may tell."""
    if spec.delta == 0:
        usual = "delta = 1e-05 is usual" if n is None else f"delta = {min(1e-5, 0.1 / n):.1g} is usual for {n} records"
        raise CalibrationError(f"DP-CDA needs delta > 0: Gaussian noise gives no pure epsilon-differential privacy. {usual}")


def check_count_noise(epsilon: float, scale: float) -> None:
    """Raise if noise on the class counts would not fit into whole numbers of 64 bits."""
    if scale > _LARGEST_COUNT_NOISE:
        enough = rounded_up(epsilon * scale / _LARGEST_COUNT_NOISE, 3)
        raise CalibrationError(
            f"class counts cannot be released at epsilon = {epsilon:g}: their noise would have a scale of "
            f"{scale:.3g} records; epsilon = {enough} is the least, or state public class sizes"
        )


def check_margin(epsilon: float, scale: float, margin: int, n: int, order_of_mixture: int) -> None:
    """Raise if even a class of all n records is not known to hold more than l of them, unless noise happens to lift it.

    A margin is at most the scale times ln(K/β), and below that by the scale times ln 2 at most.
    """
    most = n - margin - 1
    if order_of_mixture <= most:
        return
    remedies = [f"order_of_mixture = {most} would do"] if most >= 1 else []
    if order_of_mixture < n:
        enough = rounded_up(epsilon * (margin + 1 + scale * math.log(2)) / (n - order_of_mixture), 3)
        remedies.append(f"epsilon = {enough} would do for a class of all of them")
    raise CalibrationError(
        f"class counts lose a margin of {counted(margin, 'record')}, so that of n = {n:,} no class is known to hold more "
        f"than {order_of_mixture}: {', or '.join([*remedies, 'state public class sizes'])}"
    )


def class_column(target: str, domain: Domain) -> Attribute:
    """The attribute of the class.

    Raises:
        ParameterError: there is no such column, it is a number or a date, or it is the only one.
    """
    possible = [attribute.name for attribute in domain.attributes if not attribute.is_binned]
    advice = (
        f"one of {', '.join(map(quoted, possible[:8]))}" if possible else "truth values or categories, which no column holds"
    )
    if target not in domain:
        raise ParameterError("target", target, advice)
    attribute = domain[target]
    if attribute.is_binned:
        raise ParameterError("target", target, f"a truth or categorical column: {advice}; this one is {attribute.kind}")
    if len(domain) < 2:
        raise ParameterError("target", target, "one column of several: DP-CDA mixes the other columns, and there are none")
    return attribute


def check_features(target: str, domain: Domain) -> None:
    """Raise if a column other than the target has one value only, so that there is nothing to average.

    Raises:
        ParameterError: the field is ``columns`` and the value their names.
    """
    names = [a.name for a in domain.attributes if a.name != target and a.is_constant]
    if names:
        one = len(names) == 1
        raise ParameterError(
            "columns",
            listed(names),
            f"{'this column has' if one else 'these columns have'} one value only, so there is nothing to mix; "
            f"leave {'it' if one else 'them'} out (on the page Data: untick Use and apply; in a terminal: name the others "
            "with --columns; in Python: table.project([...]) with them)",
        )
