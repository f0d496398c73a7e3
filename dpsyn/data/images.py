"""Tables whose columns are the pixels of square images."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Sequence

from dpsyn.attribute import Attribute
from dpsyn.domain import Domain

SMALLEST_SIDE = 4
"""Pixels; below it a square is more likely a table of a few measurements."""
_BRIGHT = 0.75
"""Share of the grey scale that an ordinary pixel covers."""


def image_side(domain: Domain, leave_out: str | None = None) -> int | None:
    """Pixels along one side if all columns but one are the pixels of a square image, row by row; None if they are not.

    They count as pixels if their number is a square, each holds numbers only, all have the same lower bound, and the upper
    bound of at least half of them is near the largest: bounds that were read off images differ a little from pixel to pixel.
    A pixel that is the same in every image may be a column of one number and one that is only ever on or off a truth value:
    such columns need only lie within the bounds.

    Args:
        domain: the table's domain.
        leave_out: the column that holds the class.
    """
    pixels = [attribute for attribute in domain.attributes if attribute.name != leave_out]
    side = math.isqrt(len(pixels))
    if side < SMALLEST_SIDE or side * side != len(pixels):
        return None
    ranges = [pixel_range(attribute) for attribute in pixels]
    if any(found is None for found in ranges):
        return None
    numeric = [found for found, attribute in zip(ranges, pixels, strict=True) if found and attribute.kind == "numeric"]
    if 2 * len(numeric) < len(pixels):
        return None
    lower, upper = min(low for low, _ in numeric), max(high for _, high in numeric)
    bright = sum(high - lower >= _BRIGHT * (upper - lower) for _, high in numeric)
    if any(low != lower for low, _ in numeric) or 2 * bright < len(pixels):
        return None
    return side if all(found and lower <= found[0] and found[1] <= upper for found in ranges) else None


def pixel_range(attribute: Attribute) -> tuple[float, float] | None:
    """Smallest and largest number that a column can hold; None if it holds anything else."""
    if attribute.kind == "numeric" and not attribute.missing:
        return float(attribute.edges[0] if attribute.lower is None else attribute.lower), float(attribute.upper or 0.0)
    values = attribute.categories
    if attribute.is_binned or attribute.missing or not values:
        return None
    if not all(isinstance(value, int | float) for value in values):
        return None
    return float(min(values)), float(max(values))


def label_column(domain: Domain, candidates: Sequence[str]) -> str | None:
    """Among the columns that could be the class of images, the one whose name does not go on as the others' do.

    ``label`` beside ``pixel0``, ``pixel1``, …; None if there is no such column, or more than one, or no images beside it.
    """
    stems = {name: re.sub(r"[\d_.\s-]+", "", name) for name in domain.names}
    shared = Counter(stems.values())
    odd = [name for name in candidates if shared[stems[name]] == 1 and image_side(domain, name) is not None]
    return odd[0] if len(odd) == 1 else None
