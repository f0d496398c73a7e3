"""Numbers for people, at every size."""

from __future__ import annotations

import math

import pandas as pd
import pytest
from streamlit.testing.v1 import AppTest

from dpsyn.kit.widgets import (
    CEILINGS,
    COUNTS,
    DELTAS,
    EPSILONS,
    SIZES,
    humanise,
    number,
    power_of_ten,
    said,
    time_left,
    with_thousands,
)


@pytest.mark.parametrize(
    ("seconds", "share", "text"),
    [
        (60, 0.0, ""),
        (37, 0.02, ""),  # a first step of which little is known
        (2.0, 0.5, ""),
        (9, 0.1, ", about 80 s left"),
        (80, 0.1, ", about 12 min left"),
        (60, 0.8, ", about 15 s left"),
    ],
)
def test_the_time_left_is_said_once_enough_is_done_to_tell(seconds, share, text):
    assert time_left(seconds, share) == text


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0, "0"),
        (8, "8"),
        (20000, "20,000"),
        (0.29115, "0.291"),
        (0.25, "0.25"),
        (1234.56, "1,234.6"),
        (1e6, "1.00 × 10⁶"),
        (2.3456e-12, "2.35 × 10⁻¹²"),
        (math.inf, "∞"),
        (-math.inf, "−∞"),
        (math.nan, "not defined"),
        (None, "—"),
    ],
)
def test_numbers(value, text):
    assert number(value) == text


@pytest.mark.parametrize(
    ("log10", "text"),
    [
        (0.0, "1"),
        (math.log10(20000), "20,000"),
        (2998.301, "2.00 × 10²⁹⁹⁸"),
        (-5000.0, "1.00 × 10⁻⁵⁰⁰⁰"),
        (-math.inf, "0"),
        (math.inf, "∞"),
    ],
)
def test_powers_of_ten(log10, text):
    assert power_of_ten(log10) == text


def test_sentences():
    # What the slider is called, "d (columns of a table)".
    assert (
        humanise("degree = 2 is not possible: these would fit: degree = 1")
        == "d = 2 is not possible: these would fit: d = 1"
    )
    assert humanise("raise epsilon or count_share") == "raise ε or the share of ε for the class sizes"
    assert humanise("n ≥ 4.138e6 or 1e-05, not x1e5 nor 2e") == "n ≥ 4.138 × 10⁶ or 10⁻⁵, not x1e5 nor 2e"

    assert said("*column* 'epsilon' at 1e-05") == r"\*column\* 'ε' at 10⁻⁵"


def test_text_in_a_table_stays_text_and_a_number_its_sign():
    def page():
        import pandas as pd

        from dpsyn.kit.widgets import text_table

        text_table(pd.DataFrame({"a_*": ["≥ 4.14 × 10⁶", "ε ≥ 2,080", "<b> $a$"]}))

    table = AppTest.from_function(page).run().table[0].value
    assert table.columns.tolist() == [r"a\_\*"]
    assert table.iloc[:, 0].str.replace("\N{NO-BREAK SPACE}", "·").tolist() == ["≥·4.14·×·10⁶", "ε·≥·2,080", r"\<b\>·\$a\$"]


def test_slider_values_are_increasing_and_hold_the_defaults():
    for values in (EPSILONS, DELTAS, COUNTS, CEILINGS, tuple(float(s) for s in SIZES[1:])):
        assert list(values) == sorted(set(values))
    assert EPSILONS[0] == 0.001
    assert EPSILONS[-1] == 1000
    assert {1.0, 3.16, 10.0} <= set(EPSILONS)
    assert 1e-5 in DELTAS
    assert {1, 1000, 10**6} <= set(COUNTS)
    assert {1.25, 2.0} <= set(CEILINGS)


def test_tables_are_written_with_thousands_and_keep_their_values():
    frame = pd.DataFrame({"Name": ["a", "b"], "Rows": [20000, 7], "ε": [1e-5, 1234.5]})
    shown = with_thousands(frame)
    assert shown.data.equals(frame)
    words = shown.to_html()
    assert all(f">{text}<" in words for text in ("20,000", "7", "10⁻⁵", "1,234"))
