"""Positive numbers as natural logarithms, so that nothing overflows at p = 10^4 or n = 10^30."""

from __future__ import annotations

import math
import sys
from functools import lru_cache
from typing import Literal

from dpsyn.notation import superscript

Side = Literal["at_least", "at_most"]

LN10 = math.log(10)
LOG_TINY = math.log(sys.float_info.min) + 1
_ROUNDING = 1e-13


def log_of(value: float) -> float:
    """Natural logarithm of a number >= 0; -inf at 0, inf at infinity. Integers may be of any size."""
    return -math.inf if value == 0 else math.log(value)


def exp_of(log_value: float) -> float:
    """e to the power of a natural logarithm; inf where a float cannot hold it."""
    try:
        return math.exp(log_value)
    except OverflowError:
        return math.inf


def float_of(value: int) -> float:
    """A whole number of any size as a float; inf where a float cannot hold it."""
    try:
        return float(value)
    except OverflowError:
        return math.inf


def nearest_float(log_value: float) -> float:
    """e to the power of a natural logarithm, kept between the smallest and the largest positive number of a float."""
    return min(max(exp_of(log_value), sys.float_info.min), sys.float_info.max)


@lru_cache(maxsize=8192)  # a picture asks for the same thousands of numbers at every move of a slider
def format_log(log_value: float, digits: int = 3, side: Side | None = None) -> str:
    """A positive number in words for a page, however large or small: 0.25, 20,000, 2.29 × 10¹⁰, 1.08 × 10⁻⁴⁹.

    With a ``side`` it is rounded up (``"at_least"``) or down (``"at_most"``), so that the number shown is on that side too.
    """
    if math.isinf(log_value):
        return "0" if log_value < 0 else "∞"
    if math.log(1e-3) <= log_value < math.log(1e6):
        value = math.exp(log_value)
        if abs(value - round(value)) <= 1e-9 * max(1, value):
            return f"{value:,.0f}"
        exponent, mantissa = math.floor(math.log10(value)), value / 10 ** math.floor(math.log10(value))
    else:
        exponent = math.floor(log_value / LN10)
        mantissa = 10 ** (log_value / LN10 - exponent)
    scaled = mantissa * 10 ** (digits - 1)
    rounded = _to_side(scaled, side)
    if -3 <= exponent < 6:
        decimals = max(0, digits - 1 - exponent)
        if exponent >= digits:
            return f"{_to_side(math.exp(log_value), side):,}"
        text = f"{rounded * 10.0 ** (exponent - digits + 1):,.{decimals}f}"
        return text.rstrip("0").rstrip(".") if decimals else text
    if rounded >= 10**digits:
        rounded, exponent = rounded // 10, exponent + 1
    return f"{rounded / 10 ** (digits - 1):.{digits - 1}f} × 10{superscript(exponent)}"


def _to_side(value: float, side: Side | None) -> int:
    if side is None:
        return round(value)
    return math.ceil(value - 1e-6) if side == "at_least" else math.floor(value + 1e-6)


def at_most(log_left: float, log_right: float, *, strict: bool = False) -> bool:
    """Whether e^left <= e^right, up to the rounding of the logarithms; < where ``strict``."""
    if math.isinf(log_left) or math.isinf(log_right):
        return log_left < log_right if strict else log_left <= log_right
    allowance = _ROUNDING * max(1.0, abs(log_left), abs(log_right))
    return log_left < log_right - allowance if strict else log_left <= log_right + allowance
