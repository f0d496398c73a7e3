"""How much noise there is, and where the budget goes: these follow from the domain."""

from __future__ import annotations

import math

import streamlit as st

from dpsyn.kit import formulas, screen, widgets
from dpsyn.kit.charts import show_chart
from dpsyn.kit.panel import panel, reads_domain
from dpsyn.mechanisms.noisy_reweighting.figures.budget import budget_info, draw_budget
from dpsyn.mechanisms.noisy_reweighting.figures.noise import draw_noise, noise_info
from dpsyn.mechanisms.noisy_reweighting.formulas import PAPER, claim
from dpsyn.mechanisms.noisy_reweighting.panels import _code as code
from dpsyn.mechanisms.noisy_reweighting.panels._controls import Bench

ROWS = tuple(round(10 ** (i / 5)) for i in range(5, 46))


def noise_panels(bench: Bench) -> None:
    """Noise against n by family, and the budget of the mechanism."""
    left, right = st.columns([3, 2], gap="medium")
    private = reads_domain(bench.current)
    with (
        left,
        panel("How much noise", private, "One average of the data: what privacy costs it, and what chance does anyway."),
    ):
        table = bench.current.parts[0].project(bench.columns)
        n = st.select_slider(
            "n (rows)",
            ROWS,
            min(ROWS, key=lambda count: abs(math.log(count / max(table.n, 1)))),
            format_func=lambda count: f"{count:,}",
            key=f"in_nr_n_{bench.current.tag}",
            bind="query-params",
        )
        screen.offer(lambda: code.noise(bench, n))
        bits = sum(1 if a.kind == "truth" else a.size for a in table.domain.attributes)
        info = noise_info(table.domain.shape, bits, bench.spec, degree=bench.degree, kind=bench.noise, n=n)
        show_chart(draw_noise(info), key="in_nr_noise_chart")
        st.dataframe(
            {
                "Family": [line.family for line in info.lines],
                "|F|": [f"{line.statistics:,}" for line in info.lines],
                "L1": [widgets.number(line.l1) for line in info.lines],
                "L2": [widgets.number(line.l2) for line in info.lines],
                "Noise at n": [widgets.number(line.at(n)) for line in info.lines],
                "Meets sampling at n": [widgets.number(float(math.ceil(line.drowned_below))) for line in info.lines],
            },
            hide_index=True,
        )
    with right, panel("Where the budget goes", private, "The mechanism as the Generator would run it on these columns."):
        mechanism = bench.mechanism()
        facts = mechanism.calibrated()
        guarantee = mechanism.guarantee
        found = budget_info(
            facts["ledger"], epsilon=guarantee.epsilon, delta=guarantee.delta, accounting=facts["accounting"]
        )
        show_chart(draw_budget(found), key="in_nr_budget_chart")
        st.dataframe(
            {
                "Part": [part.name for part in found.parts],
                "Numbers": [f"{part.count:,}" for part in found.parts],
                found.unit: [widgets.number(part.spent) for part in found.parts],
                "Noise scale": [widgets.number(part.scale) for part in found.parts],
            },
            hide_index=True,
        )
        st.caption(f"{widgets.humanise(str(guarantee))}. Noise is on whole counts: divide by n for averages.")
        formulas.expander(claim(guarantee, mechanism.facts()), PAPER)
