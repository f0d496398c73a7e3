"""Tables 1 to 3 and Figure 1 of Pierquin et al. (2023): as printed, recomputed, and where they are wrong."""

from __future__ import annotations

import pandas as pd
import streamlit as st

from dpsyn.kit import code, screen, widgets
from dpsyn.kit.charts import show_chart
from dpsyn.kit.explorer import Explorer
from dpsyn.kit.widgets import humanise
from dpsyn.mechanisms.private_sampling.figures.feasibility import draw_rows_bound, rows_bound_info
from dpsyn.mechanisms.private_sampling.tables import (
    MONTH,
    PUBLISHED_LARGEST_P,
    PUBLISHED_YEARS,
    YEAR,
    largest_p_within,
    paper_tables,
    quadprog_seconds,
)
from dpsyn.theory.datasets import ideal_cube


def show(explorer: Explorer) -> None:
    """Draw the section."""
    st.markdown(
        "What Pierquin, Zimmermann and Boussard (2023) print, the same recomputed by their relaxed formulas, and recomputed "
        "exactly with C = C(p, ≤ 2). The settings of these tables are the paper's, whatever the sliders say."
    )
    epsilon = st.segmented_control(
        "Table 3 at ε", [0.1, 1.0, 10.0], default=10.0, required=True, key="f_table_epsilon", bind="query-params",
        format_func=lambda e: f"{e:g}", help="The paper prints the column for ε = 10.",
    )  # fmt: skip
    for table in paper_tables(epsilon):
        widgets.heading(table.title, False)
        widgets.text_table(grouped(table.frame))
        for erratum in table.errata:
            st.markdown(f"- {humanise(erratum)}")
    info = rows_bound_info(
        ideal_cube(54),
        epsilon=10.0,
        degree=2,
        floor=0.25,
        ceiling=1.25 + 1e-9,
        failure_probability=0.125,
        rows=1,
        case="ideal",
    )
    show_chart(draw_rows_bound(info), key="figure_1")
    st.caption(
        "Drawn in powers of ten; the paper's figure uses the natural logarithm. The ceiling is just above 1 + floor, the "
        "smallest that leaves the linear program a solution other than the uniform density."
    )
    widgets.heading("Is it tractable?", False)
    years = quadprog_seconds(1.2e8) / YEAR
    st.markdown(
        f"- By the paper's rule for quadprog (0.1 s at size 1,000, growing like m²) a program of m = 1.2 × 10⁸ takes "
        f"{years:.1f} years; the paper prints {PUBLISHED_YEARS}.\n"
        f"- Within a month the rule reaches p ≤ {largest_p_within(MONTH)}; the paper prints {PUBLISHED_LARGEST_P}.\n"
        "- The rule is about that solver. The program has only C equality rows, so its dual has C unknowns: Inside shows "
        "under “5 · Time” what it takes."
    )
    screen.offer(lambda: _code(explorer, epsilon))


def grouped(frame: pd.DataFrame) -> pd.DataFrame:
    """The table with the name of a group of rows on its first row only, and quantities on one line each."""
    if "Row" not in frame:
        return frame
    names = frame["Row"].str.replace(r"\d{4,}", lambda found: f"{int(found[0]):,}", regex=True)
    quantities = frame["Quantity"].str.replace(" ", "\N{NO-BREAK SPACE}")
    names = names.where(~names.duplicated(), "")
    return frame.assign(Row=names, Quantity=quantities).rename(columns={"Row": ""})


def _code(explorer: Explorer, epsilon: float) -> str:
    """The tables of the paper, printed and recomputed."""
    body = f"""for table in paper_tables({epsilon!r}):
    print(table.title)
    print(table.frame.to_string())
    print(*table.errata, sep="\\n")
"""
    return code.on_feasibility(explorer, body, "from dpsyn.mechanisms.private_sampling.tables import paper_tables\n")
