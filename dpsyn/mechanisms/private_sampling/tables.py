"""Tables 1, 2, 3 and Figure 1 of Pierquin, Zimmermann and Boussard (2023): as printed, by their relaxation, and exactly.

Their setting is d = 2, δ = 1/4, γ = 1/8, Δ = 2^p ‖f_n‖∞. The relaxation replaces C(p, ≤2) by p(p+1)/2 and rounds the
constants to two digits: m >= 5.6e4 ‖f‖² p(p+1) 2^{2p}, k·m^{3/4} <= 9.7e-3 √n ε / (2^{3p/2} ‖f‖^{3/2} (p(p+1))^{1/4}).
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import pandas as pd

from dpsyn.mechanisms.private_sampling.bounds import LN2, PrivateSamplingSetting
from dpsyn.notation import superscript
from dpsyn.statistics import DatasetStatistics
from dpsyn.theory.datasets import ADULT, ASIA, CAR, MUSHROOM
from dpsyn.theory.logarithms import LN10, exp_of, format_log

_M_CONSTANT, _K_CONSTANT, _IDEAL_CONSTANT = math.log(5.6e4), math.log(9.7e-3), math.log(2.7e-6)
_DATASETS = (ASIA, MUSHROOM, CAR, ADULT)
_TABLE_1 = {
    "ASIA": (8, 20000, 256.0, 2.9e-1),
    "MUSHROOM": (119, 8124, 6.7e35, 1.2e-4),
    "CAR": (25, 1727, 3.4e7, 5.8e-4),
    "ADULT": (62, 32561, 4.6e18, 1.8e-2),
}
_LARGEST_P = 10_000

PUBLISHED, RELAXED, RELAXED_PRINT, EXACT, ERRATUM = (
    "Published",
    "By their relaxation",
    "…from the printed ‖fₙ‖∞",
    "Exactly",
    "Erratum",
)
_FIGURE_P = (20, 40, 46, 54, 60, 61, 68, 69, 75, 76, 80, 83, 100, 120)

YEAR = 365.25 * 86_400.0
MONTH = 30 * 86_400.0
PUBLISHED_YEARS = 38
"""Printed for m = 1.2e8, from 1.2e9 s; the rule gives 1.44e9 s."""
PUBLISHED_LARGEST_P = 7


@dataclass(frozen=True)
class Cell:
    """One number of a table.

    Attributes:
        published: as printed; None where the paper leaves it out.
        relaxed: recomputed by the published relaxation, from the exact ‖f_n‖∞.
        relaxed_from_print: the same from the two digits of ‖f_n‖∞ that Table 1 prints.
        exact: recomputed with C(p, ≤2) and unrounded constants.
        erratum: what is wrong with the printed number; empty where it is right.
    """

    published: float | None = None
    relaxed: float | None = None
    relaxed_from_print: float | None = None
    exact: float | None = None
    erratum: str = ""


@dataclass(frozen=True)
class PaperTable:
    """One table.

    Attributes:
        title: what it is.
        errata: sentences about it.
        frame: text, because the numbers span 10⁻⁴⁹ to 10⁷².
        rows: its cells, by row and by column; none for the figure.
    """

    title: str
    errata: tuple[str, ...]
    frame: pd.DataFrame
    rows: Mapping[str, Mapping[str, Cell]] = field(default_factory=dict)


def _table(
    title: str, columns: Mapping[str, str], rows: Mapping[str, Mapping[str, Cell]], errata: tuple[str, ...]
) -> PaperTable:
    """A table whose ``columns`` map keys to headings."""
    lines = [
        {
            "Row": name,
            "Quantity": columns[key],
            PUBLISHED: _text(cell.published, 2),
            RELAXED: _text(cell.relaxed),
            RELAXED_PRINT: _text(cell.relaxed_from_print),
            EXACT: _text(math.ceil(cell.exact) if key == "rows_lower" and cell.exact else cell.exact),
            ERRATUM: cell.erratum,
        }
        for name, cells in rows.items()
        for key, cell in cells.items()
    ]
    frame = pd.DataFrame(lines)
    empty = [column for column in (RELAXED, RELAXED_PRINT) if (frame[column] == "—").all()]
    return PaperTable(title, errata, frame.drop(columns=empty), rows)


def _text(value: float | None, digits: int = 3) -> str:
    if value is None:
        return "—"
    if float(value).is_integer() and abs(value) < 1e6:
        return f"{value:,.0f}"
    return format_log(math.log(value), digits)


def paper_setting(stats: DatasetStatistics) -> PrivateSamplingSetting:
    """ε = 1, d = 2, δ = 1/4, γ = 1/8 and Δ = 2^p ‖f_n‖∞ (which is private, so it may not be used in a release)."""
    return PrivateSamplingSetting(
        p=stats.p,
        log_n=math.log(stats.n),
        log_max_frequency=math.log(stats.max_frequency),
        epsilon=1.0,
        ceiling=2.0**stats.p * stats.max_frequency,
    )


def _ideal_setting(p: int, epsilon: float, ceiling: float = 1.0) -> PrivateSamplingSetting:
    """Every point of the cube once: n = 2^p, ‖f‖∞ = 2^{-p}. The paper takes Δ = 1, which the algorithm cannot use."""
    return PrivateSamplingSetting(p=p, log_n=p * LN2, log_max_frequency=-p * LN2, epsilon=epsilon, ceiling=ceiling)


def _log_relaxed_m(p: int, log_max_frequency: float) -> float:
    """ln of 5.6e4 ‖f‖² p(p+1) 2^{2p}, formula (3)."""
    return _M_CONSTANT + 2 * log_max_frequency + math.log(p * (p + 1)) + 2 * p * LN2


def _log_relaxed_rows_times_m(p: int, log_n: float, log_max_frequency: float) -> float:
    """ln of the bound on k·m^{3/4} at ε = 1, formula (3)."""
    return _K_CONSTANT + log_n / 2 - 1.5 * (p * LN2 + log_max_frequency) - math.log(p * (p + 1)) / 4


def log_ideal_rows(p: int, epsilon: float, *, ceiling: float | None = None) -> float:
    """ln of the bound on k for the ideal cube at the smallest m.

    By the paper's 2.7e-6 · 2^{p/2} ε / (p(p+1)), or, with a ``ceiling``, exactly.
    """
    if ceiling is None:
        return _IDEAL_CONSTANT + p * LN2 / 2 + math.log(epsilon) - math.log(p * (p + 1))
    return _ideal_setting(p, epsilon, ceiling).logs.largest_rows_theorem_4_1


def smallest_ideal_p(rows: int, epsilon: float, *, ceiling: float | None = None) -> int:
    """The first p from which the ideal cube's bound on k stays at ``rows`` or above; it grows from p = 8 on."""

    def enough(p: int) -> bool:
        return log_ideal_rows(p, epsilon, ceiling=ceiling) >= math.log(rows)

    p = 8
    if enough(p):
        while p > 2 and enough(p - 1):
            p -= 1
        return p
    return next(q for q in range(p + 1, _LARGEST_P) if enough(q))


def first_consistent_p() -> int:
    """The first p at which the ideal cube's relaxed lower bound on m is at most 2^{p/4}."""
    return next(p for p in range(2, _LARGEST_P) if _log_relaxed_m(p, -p * LN2) <= p * LN2 / 4)


def table_1() -> PaperTable:
    """The datasets."""
    rows = {}
    for stats in _DATASETS:
        p, n, points, frequency = _TABLE_1[stats.name]
        rows[stats.name] = {
            "p": Cell(p, exact=stats.p),
            "n": Cell(n, exact=stats.n, erratum="CAR has 1,728 rows." if stats.name == "CAR" else ""),
            "points": Cell(points, exact=2.0**stats.p),
            "max_frequency": Cell(frequency, exact=stats.max_frequency),
        }
    columns = {"p": "p", "n": "n", "points": "2ᵖ", "max_frequency": "‖fₙ‖∞"}
    return _table("Table 1: the datasets", columns, rows, ("CAR has 1,728 rows, not 1,727.",))


def table_2() -> PaperTable:
    """Bounds at ε = 1, and the two conditions of Theorem 4.2 that the paper leaves out."""
    printed = {
        "ASIA": (7.3e-4, 2.2e10, 4.0),
        "MUSHROOM": (1.1e-49, 5.3e72, 9.0e8),
        "CAR": (2.9e-8, 1.4e16, 77.0),
        "ADULT": (9.5e-27, 1.5e42, 46340.0),
    }
    rows = {}
    for stats in _DATASETS:
        k, low, high = printed[stats.name]
        setting = paper_setting(stats)
        exact_k = replace(setting, log_m=0.0).logs.largest_rows_theorem_4_1
        log_n, log_f, log_print = setting.log_n, setting.log_max_frequency, math.log(_TABLE_1[stats.name][3])
        rows[stats.name] = {
            "rows_times_m": Cell(
                k,
                exp_of(_log_relaxed_rows_times_m(stats.p, log_n, log_f)),
                exp_of(_log_relaxed_rows_times_m(stats.p, log_n, log_print)),
                exp_of(exact_k),
            ),
            "m_lower": Cell(
                low,
                exp_of(_log_relaxed_m(stats.p, log_f)),
                exp_of(_log_relaxed_m(stats.p, log_print)),
                exp_of(setting.logs.smallest_m),
            ),
            "m_upper": Cell(
                high,
                exact=2 ** (stats.p / 4),
                erratum="⁴√2²⁵ is 76.1." if stats.name == "CAR" else "",
            ),
            "n_lower": Cell(exact=exp_of(setting.logs.smallest_n), erratum="Left out of the paper's (2); not met."),
            "rows_lower": Cell(exact=exp_of(setting.logs.smallest_rows), erratum="Left out of the paper's (2)."),
        }
    columns = {
        "rows_times_m": "k·⁴√m³ at most",
        "m_lower": "m at least",
        "m_upper": "m at most ⁴√2ᵖ",
        "n_lower": "n at least",
        "rows_lower": "k at least",
    }
    return _table("Table 2: bounds for ε = 1, d = 2, δ = 1/4, γ = 1/8", columns, rows, ERRATA_TABLE_2)


def table_3(epsilon: float = 10.0) -> PaperTable:
    """The ideal cube: smallest p for k rows, and m there. Printed values are for ε = 10."""
    printed = {1: (46, 1.2e8, 7.0e13), 100: (68, 2.7e8, 3.0e20), 1000: (75, 3.2e8, 3.8e22), 10000: (83, 3.9e8, 9.7e24)}
    rows = {}
    for k, (p_printed, low, high) in printed.items():
        shown = (p_printed, low, high) if epsilon == 10 else (None, None, None)
        p, exact_p = smallest_ideal_p(k, epsilon), smallest_ideal_p(k, epsilon, ceiling=1.0)
        at_print = exp_of(log_ideal_rows(p_printed, epsilon))
        wrong_p = f"At p = {p_printed} at most {at_print:.3g} rows are allowed; the first p for {k:,} is {p}."
        power, fourth_root = f"2{superscript(p_printed)}", format_log(p_printed * LN2 / 4)
        wrong_m = f"{format_log(math.log(high), 2)} is {power}, not ⁴√{power} = {fourth_root}."
        low_there = format_log(_log_relaxed_m(p, -p * LN2))
        wrong_low = f"This belongs to p = {p_printed}; at p = {p} it is {low_there}."
        rows[f"k = {k}"] = {
            "p": Cell(shown[0], p, exact=exact_p, erratum=wrong_p if epsilon == 10 and p != p_printed else ""),
            "m_lower": Cell(
                shown[1],
                exp_of(_log_relaxed_m(p, -p * LN2)),
                exact=exp_of(_ideal_setting(exact_p, epsilon).logs.smallest_m),
                erratum=wrong_low if epsilon == 10 and p != p_printed else "",
            ),
            "m_upper": Cell(shown[2], 2 ** (p / 4), exact=2 ** (exact_p / 4), erratum=wrong_m if epsilon == 10 else ""),
        }
    columns = {"p": "p at least", "m_lower": "m at least", "m_upper": "⁴√2ᵖ"}
    return _table(f"Table 3: the ideal cube at ε = {epsilon:g}", columns, rows, ERRATA_TABLE_3)


def figure_1(p_values: Sequence[int]) -> dict[float, list[float]]:
    """log10 of the paper's bound on k against p at ε = 0.1, 1 and 10. (The paper's axis is the natural logarithm.)"""
    return {e: [log_ideal_rows(p, e) / LN10 for p in p_values] for e in (0.1, 1.0, 10.0)}


ERRATA_TABLE_2 = (
    "The caption should read δ ≤ 1/4.",
    "In formula (2) the power of γ is 1 (one print of it shows γ⁴), and √m/2eᵈ means √m/(2eᵈ).",
    "Formula (2) leaves out Theorem 4.2's conditions on n and on k from below; all four datasets fail the one on n.",
    "⁴√2²⁵ = 76.1, printed as 77.",
)
ERRATA_TABLE_3 = (
    "The last column is 2ᵖ instead of ⁴√2ᵖ. With ⁴√2ᵖ no row has its smallest m below its largest; the first p that does is "
    f"{first_consistent_p()}.",
    "At ε = 10 the smallest p for 1, 100 and 1,000 rows are 54, 69, 76, not 46, 68, 75.",
    "Δ = 1 is infeasible: the LP needs Δ ≥ 1 + δ. With Δ = 5/4 the smallest p at ε = 10 are 56, 71, 78, 85, but then only "
    "the uniform density fits and the output ignores the data; Δ = 3/2 is a case that uses them.",
    "Figure 1 shows the natural logarithm.",
)


def paper_tables(epsilon: float = 10.0) -> tuple[PaperTable, ...]:
    """Table 1, Table 2, Table 3 and Figure 1: published, recomputed by the published relaxation, recomputed exactly.

    Args:
        epsilon: of Table 3, which was printed for 10; for other values there is no published column.
    """
    rows = {"p": [str(p) for p in _FIGURE_P]}
    for e, heights in figure_1(_FIGURE_P).items():
        rows[f"k at ε = {e:g}"] = [format_log(height * LN10) for height in heights]
        rows[f"ln k, the printed height, at ε = {e:g}"] = [f"{height * LN10:.2f}" for height in heights]
    errata = tuple(sentence for sentence in ERRATA_TABLE_3 if "Figure 1" in sentence)
    title = "Figure 1: the upper bound on k for the ideal cube, by their relaxation"
    return table_1(), table_2(), table_3(epsilon), PaperTable(title, errata, pd.DataFrame(rows))


def quadprog_seconds(reduced_space_size: float) -> float:
    """0.1 s · (m/1000)²: how the paper extrapolates one dense solver."""
    return 0.1 * (reduced_space_size / 1000) ** 2


def largest_p_within(seconds: float) -> int:
    """The largest p at which the ideal cube's smallest m, 5.6e4 p(p+1), is done in this time; 0 if there is none."""
    p = 0
    while quadprog_seconds(math.exp(_log_relaxed_m(p + 1, -(p + 1) * LN2))) <= seconds:
        p += 1
    return p
