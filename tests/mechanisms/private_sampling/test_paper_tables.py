"""The frames show the printed numbers, the recomputed ones, and an erratum wherever they differ."""

import math

import pytest

from dpsyn.mechanisms.private_sampling import tables
from dpsyn.mechanisms.private_sampling.tables import ERRATUM, EXACT, PUBLISHED, RELAXED, RELAXED_PRINT, Cell, paper_tables


def cell(title: str, row: str, quantity: str, column: str) -> str:
    frame = next(t.frame for t in paper_tables() if t.title.startswith(title))
    return str(frame.loc[(frame["Row"] == row) & (frame["Quantity"] == quantity), column].item())


def test_there_are_three_tables_and_a_figure() -> None:
    found = paper_tables()
    assert [t.title.split(":")[0] for t in found] == ["Table 1", "Table 2", "Table 3", "Figure 1"]
    assert all(t.errata for t in found)
    assert RELAXED not in found[0].frame.columns
    assert RELAXED_PRINT in found[1].frame.columns


@pytest.mark.parametrize(
    ("row", "quantity", "published", "printed", "exact"),
    [
        ("ASIA", "k·⁴√m³ at most", "7.3 × 10⁻⁴", "7.36 × 10⁻⁴", "7.27 × 10⁻⁴"),
        ("MUSHROOM", "k·⁴√m³ at most", "1.1 × 10⁻⁴⁹", "1.12 × 10⁻⁴⁹", "1.08 × 10⁻⁴⁹"),
        ("CAR", "k·⁴√m³ at most", "2.9 × 10⁻⁸", "2.94 × 10⁻⁸", "2.94 × 10⁻⁸"),
        ("ADULT", "k·⁴√m³ at most", "9.5 × 10⁻²⁷", "9.26 × 10⁻²⁷", "9.44 × 10⁻²⁷"),
        ("ASIA", "m at least", "2.2 × 10¹⁰", "2.22 × 10¹⁰", "2.29 × 10¹⁰"),
        ("MUSHROOM", "m at least", "5.3 × 10⁷²", "5.09 × 10⁷²", "5.34 × 10⁷²"),
        ("CAR", "m at least", "1.4 × 10¹⁶", "1.38 × 10¹⁶", "1.37 × 10¹⁶"),
        ("ADULT", "m at least", "1.5 × 10⁴²", "1.51 × 10⁴²", "1.46 × 10⁴²"),
    ],
)
def test_table_2_as_shown(row: str, quantity: str, published: str, printed: str, exact: str) -> None:
    assert cell("Table 2", row, quantity, PUBLISHED) == published
    assert cell("Table 2", row, quantity, RELAXED_PRINT) == printed
    assert cell("Table 2", row, quantity, EXACT) == exact


def test_table_3_as_shown() -> None:
    assert (cell("Table 3", "k = 1", "p at least", PUBLISHED), cell("Table 3", "k = 1", "p at least", RELAXED)) == (
        "46",
        "54",
    )
    assert "0.105" in cell("Table 3", "k = 1", "p at least", ERRATUM)
    assert cell("Table 3", "k = 10000", "p at least", ERRATUM) == ""
    assert cell("Table 3", "k = 1", "m at least", ERRATUM) == "This belongs to p = 46; at p = 54 it is 1.66 × 10⁸."
    assert cell("Table 2", "MUSHROOM", "k at least", EXACT) == "746"
    assert "not ⁴√2⁴⁶" in cell("Table 3", "k = 1", "⁴√2ᵖ", ERRATUM)


def test_other_epsilons_have_no_published_table_3() -> None:
    third = paper_tables(epsilon=1.0)[2]
    assert set(third.frame[PUBLISHED]) == {"—"}
    at_least = third.frame[third.frame["Quantity"] == "p at least"]
    assert list(at_least[EXACT]) == ["61", "76", "83", "90"]


def differs(cell: Cell) -> bool:
    """Whether the published number is off by more than one unit of its second digit from the exact one."""
    if cell.published is None or cell.exact is None:
        return False
    unit = 10.0 ** (math.floor(math.log10(abs(cell.published))) - 1)
    return abs(cell.exact - cell.published) >= unit * (1 + 5e-3)


def test_every_cell_that_differs_has_its_erratum() -> None:
    for table in (tables.table_1(), tables.table_2(), tables.table_3()):
        for name, cells in table.rows.items():
            for key, one in cells.items():
                assert not differs(one) or one.erratum, (table.title, name, key)


def test_figure_1_carries_the_natural_logarithm_of_its_axis() -> None:
    figure = paper_tables()[3]
    assert any("natural logarithm" in sentence for sentence in figure.errata)
    at_46 = figure.frame[figure.frame["p"] == "46"]
    assert at_46["k at ε = 10"].item() == "0.105"
    assert float(at_46["ln k, the printed height, at ε = 10"].item()) == pytest.approx(math.log(0.105), abs=0.01)
