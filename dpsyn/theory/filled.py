"""Formulas with the numbers in the place of the letters, for reading beside the letters."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping

from dpsyn.theory.logarithms import LN10

_PLAIN_FROM, _PLAIN_TO = 1e-3, 1e6
_WHOLE = 1e-9


def latex_number(log_value: float, digits: int = 3) -> str:
    r"""exp(log_value) as LaTeX: 0.25, 20\,000, (1.2 \times 10^{-7}), 10^{-5}."""
    if log_value == math.inf:
        return r"\infty"
    if log_value == -math.inf:
        return "0"
    log10 = log_value / LN10
    if math.log10(_PLAIN_FROM) <= log10 < math.log10(_PLAIN_TO):
        value = math.exp(log_value)
        whole = round(value)
        if whole >= 1 and abs(value - whole) < _WHOLE * value:
            return f"{whole:,}".replace(",", r"\,")
        return f"{value:.{digits}g}" if value < 1000 else f"{round(value):,}".replace(",", r"\,")
    exponent = math.floor(log10)
    mantissa = 10 ** (log10 - exponent)
    if float(f"{mantissa:.{digits - 1}f}") >= 10:
        mantissa, exponent = mantissa / 10, exponent + 1
    if abs(mantissa - 1) < _WHOLE:
        return f"10^{{{exponent}}}"
    return rf"({mantissa:.{digits - 1}f} \times 10^{{{exponent}}})"


def fill(formula: str, symbols: Mapping[str, str]) -> str:
    r"""The formula with every symbol replaced by its number; a symbol with an index (k_1) is another symbol.

    Args:
        formula: LaTeX.
        symbols: LaTeX of a symbol, as the formulas write it, to LaTeX of its number. Longer ones come first.
    """
    if not symbols:
        return formula
    patterns = []
    for symbol in sorted(symbols, key=len, reverse=True):
        before = r"(?<![A-Za-z\\])" if symbol[0].isalpha() else ""
        after = r"(?![A-Za-z_])" if symbol[-1].isalpha() else ""
        patterns.append(before + re.escape(symbol) + after)
    found = re.compile("|".join(patterns))

    ends: list[int] = []

    def replaced(match: re.Match[str]) -> str:
        number = symbols[match[0]]
        left = formula[: match.start()].rstrip()
        product = (bool(ends) and ends[-1] == match.start()) or bool(re.search(r"[0-9})|]$", left))
        ends.append(match.end())
        if re.search(r"(\\sqrt|[\^_])$", left):
            return f"{{{number}}}"
        # A power of a number with a sign or a fraction in it needs parentheses; a whole number does not.
        power = formula[match.end() : match.end() + 1] == "^" and not number.isdigit() and not number.startswith("(")
        return (r" \cdot " if product and not re.search(r"\\sqrt\d$", left) else " ") + (f"({number})" if power else number)

    filled = re.sub(r" +", " ", found.sub(replaced, formula)).strip()
    return re.sub(r"([{(/]|\\sqrt(?=\s*\{)) ", r"\1", filled)
