"""Noisy reweighting: noise, accuracy and sizes by Theorems 2.2 and 2.3, as published and corrected, by four families."""

from __future__ import annotations

from typing import Any

import pandas as pd
import streamlit as st

from dpsyn.kit import code, visit, widgets
from dpsyn.kit.explorer import (
    ACCURACY,
    DEGREE,
    DELTA,
    EPSILON,
    FAILURE_PROBABILITY,
    REDUCED_SPACE_SIZE,
    ROWS,
    Explorer,
)
from dpsyn.kit.show import show_chart
from dpsyn.kit.widgets import power_of_ten
from dpsyn.mechanisms.noisy_reweighting import NoisyReweighting
from dpsyn.mechanisms.noisy_reweighting.figures import draw_reweighting, reweighting_frame, reweighting_table
from dpsyn.mechanisms.noisy_reweighting.setting import ConditionNumberRow, condition_number_table
from dpsyn.theory.logarithms import LN10

_KINDS = {
    "bound": "at most, from ‖fₙ‖∞ alone",
    "population": "unbiased estimate for the population",
    "rows": "of the rows themselves",
}


def show(explorer: Explorer) -> None:
    """Draw the section."""
    stats, degree = explorer.stats, _settings(explorer)["degree"]
    accuracy = explorer.settings["accuracy"]
    st.header("What Theorems 2.2 and 2.3 ask for, as published and corrected", anchor=False)
    table = reweighting_table(stats, explorer.spec, accuracy=accuracy, **_settings(explorer))
    widgets.text_table(reweighting_frame(table))
    st.caption(
        f"n, k and m: for an accuracy of {widgets.number(accuracy)}; which k the smallest takes, the picture says. "
        "Corrected: the exact sensitivity instead of 2|F|, and Hoeffding's inequality instead of Lemma 3.2, which is false."
    )
    gamma = explorer.settings["failure_probability"]
    visit.offer(lambda: _code(explorer, accuracy))
    st.header("The smallest error that can be promised, against ε", anchor=False)
    moved, sliders = explorer.moved("epsilon", "degree")
    more = [(each.spec, each.only("degree")["degree"]) for each in moved]
    chart = draw_reweighting(stats, explorer.spec, degree=degree, failure_probability=gamma, more=more, sliders=sliders)
    show_chart(chart, key="reweighting")
    st.header("The Rényi condition number κ, which multiplies the m that is needed", anchor=False)
    codes = explorer.focus.loaded.parts[0].drawn.codes if explorer.focus.loaded else None
    widgets.text_table(condition_frame(condition_number_table(stats, codes)))
    st.caption(
        "What is read from the rows is private data: it teaches, and may not be published or used to choose settings."
    )


def condition_frame(rows: tuple[ConditionNumberRow, ...]) -> pd.DataFrame:
    """κ against each measure, and how it was found."""
    return pd.DataFrame(
        {
            "Measure μ": [row.measure for row in rows],
            "κ": [power_of_ten(row.log_value / LN10) for row in rows],
            "How": [_KINDS[row.kind] for row in rows],
        }
    )


def _settings(explorer: Explorer) -> dict[str, Any]:
    return explorer.only("degree", "failure_probability", "rows", "reduced_space_size")


def _code(explorer: Explorer, accuracy: float) -> str:
    """Noise and accuracy of noisy reweighting, as published and corrected, and the condition numbers."""
    gamma = explorer.settings["failure_probability"]
    arguments = code.arguments(accuracy=accuracy, **_settings(explorer))
    degree = _settings(explorer)["degree"]
    body = f"""found = reweighting_table(
    statistics,
    spec,
{arguments})
print(reweighting_frame(found).to_string())
for row in condition_number_table(statistics, {"train.codes" if explorer.focus.loaded else "None"}):
    print(row.measure, "log10 of the condition number:", row.log_value / np.log(10))
chart = draw_reweighting(statistics, spec, degree={degree}, failure_probability={gamma!r})
chart.save("noise_and_accuracy.html")
"""
    imports = (
        "from dpsyn.mechanisms.noisy_reweighting.figures import draw_reweighting, reweighting_frame, reweighting_table\n"
        "from dpsyn.mechanisms.noisy_reweighting.setting import condition_number_table\n"
    )
    return code.on_feasibility(explorer, body, imports)


SLIDERS = (EPSILON, DELTA, DEGREE, ACCURACY, FAILURE_PROBABILITY, ROWS, REDUCED_SPACE_SIZE)
SECTIONS = {NoisyReweighting.title: show}
