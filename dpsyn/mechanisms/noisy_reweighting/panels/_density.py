"""The fitted density: statistics, worst tables, support, and what drawing rows adds. Reads the private rows."""

from __future__ import annotations

import math

import streamlit as st

from dpsyn.kit import screen, widgets
from dpsyn.kit.charts import show_chart
from dpsyn.kit.panel import panel
from dpsyn.mechanisms.noisy_reweighting.figures.draws import draw_draws, draws_info
from dpsyn.mechanisms.noisy_reweighting.figures.statistics import (
    draw_statistics,
    draw_worst_tables,
    statistics_info,
    worst_tables_info,
)
from dpsyn.mechanisms.noisy_reweighting.figures.support import draw_support, support_info
from dpsyn.mechanisms.noisy_reweighting.figures.trial import OBJECTIVES, Objective
from dpsyn.mechanisms.noisy_reweighting.panels import _code as code
from dpsyn.mechanisms.noisy_reweighting.panels._controls import Bench
from dpsyn.notation import short

DRAWN = tuple(count for count in widgets.COUNTS if count >= 10)


def _objective() -> Objective:
    return st.segmented_control(
        "Density",
        list(OBJECTIVES),
        default="entropy",
        required=True,
        format_func=OBJECTIVES.__getitem__,
        key="in_nr_objective",
        bind="query-params",
    )


def fitted_panels(bench: Bench) -> None:
    """True, noisy and fitted statistics, and the worst tables."""
    objective = _objective()
    screen.offer(lambda: code.fitted(bench, objective))
    run = bench.trial()
    space = f"all {len(run.points):,} points of the domain" if run.whole else f"{len(run.points):,} drawn points"
    st.caption(
        f"{run.family.count:,} {'Walsh functions' if run.family.name == 'walsh' else 'cells of tables'} of {run.n:,} rows, "
        f"noise of standard deviation {widgets.number(run.deviation)} on each average; the density lies on {space} and was "
        f"fitted in {short(run.seconds(objective), 2)} s."
    )
    left, right = st.columns(2, gap="medium")
    with left, panel("Statistics", True):
        show_chart(draw_statistics(statistics_info(run, objective)), key="in_nr_statistics_chart")
    with right, panel("Tables", True):
        show_chart(draw_worst_tables(worst_tables_info(run, objective)), key="in_nr_tables_chart")


def support_panels(bench: Bench) -> None:
    """Support of three densities, and the error that drawing rows adds."""
    run = bench.trial()
    left, right = st.columns(2, gap="medium")
    with left, panel("Support of the density", True, "Three densities near the same noisy statistics."):
        info = support_info(run)
        show_chart(draw_support(info), key="in_nr_support_chart")
        st.dataframe(
            {
                "Density": [OBJECTIVES[line.objective] for line in info.lines],
                "Points": [f"{line.carrying:,}" for line in info.lines],
                "Worth": [f"{line.effective:,.1f}" for line in info.lines],
                "Mean error": [widgets.number(line.error) for line in info.lines],
            },
            hide_index=True,
        )
    with right, panel("Rows from the density", True, "The last step: k rows. How much error does drawing add?"):
        objective = _objective()
        k = st.select_slider(
            "k (rows drawn)",
            DRAWN,
            min(DRAWN, key=lambda count: abs(math.log(count / max(run.n, 1)))),
            format_func=lambda count: f"{count:,}",
            key=f"in_nr_k_{bench.current.tag}",
            bind="query-params",
        )
        screen.offer(lambda: code.support(bench, objective, k))
        found = draws_info(run, objective, k=k, seed=bench.seed)
        show_chart(draw_draws(found), key="in_nr_draws_chart")
