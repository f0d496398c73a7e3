"""How numbers are written for people, the same on pages, in pictures and in reports: 20,000, 2.29 × 10¹⁰, 10⁻⁵."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from numbers import Integral, Real

_SUPERSCRIPT = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")
_PLAIN_TO = 999_999.5
_PLAIN_COUNT = 10**18
_POWER = re.compile(r"(?<![\w.])(\d+(?:\.\d+)?)e([+-]?\d+)")
_RAISED = re.compile(r"(?<=\d)\^(-?\d+)")
_LONG = re.compile(r"(?<![\w.,'\"])[1-9]\d{4,}(?!\w|[.,]\d|['\"])")


def superscript(exponent: int) -> str:
    """A whole number in superscript digits."""
    return str(exponent).translate(_SUPERSCRIPT)


def readable(text: str) -> str:
    """The sentence with 1.65e7 written as 1.65 × 10⁷, 1e-05 as 10⁻⁵, 2^-40 as 2⁻⁴⁰, and whole numbers of five digits or more
    as 20,000.

    A number in quotation marks is somebody's value and stays as it is.
    """
    text = _RAISED.sub(lambda found: superscript(int(found[1])), _POWER.sub(_power, text))
    return _LONG.sub(lambda found: f"{int(found[0]):,}", text)


def short(value: float, digits: int = 6) -> str:
    """A number of so many significant digits at most: 0.25, 20,000, 1.2 × 10⁷, 10⁻⁵."""
    text = f"{value or 0:,.{digits}g}"  # no -0
    return f"{value:,.0f}" if "e+" in text and abs(value) < _PLAIN_TO else readable(text)


def counted(count: int, noun: str = "") -> str:
    """A count, however large, with its noun: 20,000, about 10⁴⁷⁷¹, 1 row, 2 rows."""
    said = f"{count:,}" if count < _PLAIN_COUNT else f"about 10{superscript(round(math.log10(count)))}"
    return f"{said} {noun}{'s' * (count != 1)}" if noun else said


def gigabytes(count: float) -> str:
    """A number of bytes as people say it: 0.5 GB, 45 GB, 1,200 GB, 5.7 million GB, 10¹⁸³ GB."""
    if count >= 10**21:
        return f"10{superscript(round(math.log10(count)) - 9)} GB"
    value = count / 1e9
    for size, name in ((1e9, "billion "), (1e6, "million ")):
        if value >= 0.9995 * size:
            return f"{short(value / size, 2)} {name}GB"
    return f"{value:,.2g} GB" if value < 99.5 else f"{value:,.0f} GB"


def duration(seconds: float) -> str:
    """About how long something takes: about 9 s, about 80 s, about 12 min, about 3 h."""
    if seconds < 90:
        return f"about {max(1, round(seconds, -1 if seconds > 20 else 0)):.0f} s"
    minutes = seconds / 60
    return f"about {minutes:.0f} min" if minutes < 90 else f"about {minutes / 60:,.0f} h"


def _power(found: re.Match[str]) -> str:
    power = f"10{superscript(int(found[2]))}"
    return power if found[1] == "1" else f"{found[1]} × {power}"


def worded(value: object) -> str:
    """A setting or a figure as people say it: yes, 20,000, a: 1, b: 2; a dash for nothing."""
    if isinstance(value, bool) or value is None:
        return "—" if value is None else "yes" if value else "no"
    if isinstance(value, Mapping):
        return ", ".join(f"{key}: {worded(part)}" for key, part in value.items())
    if isinstance(value, list | tuple):
        return ", ".join(map(worded, value))
    if isinstance(value, Integral):
        return counted(int(value))
    if not isinstance(value, Real):
        return str(value)
    return short(float(value), 4) if math.isfinite(value) else number(float(value))


def percent(share: float, digits: int = 2) -> str:
    """A share of so many significant digits at most: 48 %, 0.72 %, −3 %."""
    return short(100 * share, digits).replace("-", "−") + "\N{NO-BREAK SPACE}%"


def signed(value: float, places: int = 4) -> str:
    """A number with its sign: +0.1200, −0.1200."""
    return f"{value:+.{places}f}".replace("-", "−")


def number(value: float | None, digits: int = 3) -> str:
    """A number for people: plain where it is short, otherwise 1.2 × 10⁴."""
    if value is None:
        return "—"
    if math.isnan(value):
        return "not defined"
    if math.isinf(value):
        return "∞" if value > 0 else "−∞"
    if value == 0 or 1e-3 <= abs(value) < 1e6:
        if float(value).is_integer():
            return f"{value or 0:,.0f}"
        if abs(value) >= 1000:
            return f"{value:,.1f}"
        rounded = f"{value:.{digits}g}"
        return f"{float(rounded):,.0f}" if "e" in rounded else rounded
    exponent = math.floor(math.log10(abs(value)))
    return f"{value / 10**exponent:.{digits - 1}f} × 10{superscript(exponent)}"
