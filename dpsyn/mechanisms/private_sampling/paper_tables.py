"""Tables 1 to 3 and Figure 1 of Pierquin et al. (2023) as frames that are ready to show, each with its errata."""

from __future__ import annotations

import math
from dataclasses import dataclass

import pandas as pd

from dpsyn.mechanisms.private_sampling.tables import ERRATA_TABLE_3, Cell, PaperTable, figure_1, table_1, table_2, table_3
from dpsyn.theory.logarithms import LN10, format_log

PUBLISHED, RELAXED, RELAXED_PRINT, EXACT, ERRATUM = (
    "Published",
    "By their relaxation",
    "…from the printed ‖fₙ‖∞",
    "Exactly",
    "Erratum",
)
_FIGURE_P = (20, 40, 46, 54, 60, 61, 68, 69, 75, 76, 80, 83, 100, 120)
_SCATTER = 5e-3


@dataclass(frozen=True)
class PaperFrame:
    """One table: ``frame`` holds text, because the numbers span 10⁻⁴⁹ to 10⁷²; ``errata`` are sentences."""

    title: str
    frame: pd.DataFrame
    errata: tuple[str, ...]


def paper_tables(epsilon: float = 10.0) -> tuple[PaperFrame, ...]:
    """Table 1, Table 2, Table 3 and Figure 1: published, recomputed by the published relaxation, recomputed exactly.

    Args:
        epsilon: of Table 3, which was printed for 10; for other values there is no published column.
    """
    return (*(_frame(table) for table in (table_1(), table_2(), table_3(epsilon))), _figure())


def _frame(table: PaperTable) -> PaperFrame:
    rows = [
        {
            "Row": name,
            "Quantity": table.columns[key],
            PUBLISHED: _text(cell.published, 2),
            RELAXED: _text(cell.relaxed),
            RELAXED_PRINT: _text(cell.relaxed_from_print),
            EXACT: _text(math.ceil(cell.exact) if key == "rows_lower" and cell.exact else cell.exact),
            ERRATUM: cell.erratum,
        }
        for name, cells in table.rows.items()
        for key, cell in cells.items()
    ]
    frame = pd.DataFrame(rows)
    empty = [column for column in (RELAXED, RELAXED_PRINT) if (frame[column] == "—").all()]
    return PaperFrame(table.title, frame.drop(columns=empty), table.errata)


def _text(value: float | None, digits: int = 3) -> str:
    if value is None:
        return "—"
    if float(value).is_integer() and abs(value) < 1e6:
        return f"{value:,.0f}"
    return format_log(math.log(value), digits)


def _figure() -> PaperFrame:
    lines = figure_1(_FIGURE_P)
    rows = {"p": [str(p) for p in _FIGURE_P]}
    for epsilon, heights in lines.items():
        rows[f"k at ε = {epsilon:g}"] = [format_log(height * LN10) for height in heights]
        rows[f"ln k, the printed height, at ε = {epsilon:g}"] = [f"{height * LN10:.2f}" for height in heights]
    errata = tuple(sentence for sentence in ERRATA_TABLE_3 if "Figure 1" in sentence)
    return PaperFrame("Figure 1: the upper bound on k for the ideal cube, by their relaxation", pd.DataFrame(rows), errata)


def differs(cell: Cell) -> bool:
    """Whether the published number is off by more than one unit of its second digit from the exact one."""
    if cell.published is None or cell.exact is None:
        return False
    unit = 10.0 ** (math.floor(math.log10(abs(cell.published))) - 1)
    return abs(cell.exact - cell.published) >= unit * (1 + _SCATTER)
