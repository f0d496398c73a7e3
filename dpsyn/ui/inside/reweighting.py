"""Inside noisy reweighting: what the mechanism does to the data at hand. For teaching: most of it reads private rows."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import numpy as np
import streamlit as st

import dpsyn
from dpsyn.errors import DpsynError, ParameterError
from dpsyn.evaluation.audits import audit_noisy_reweighting
from dpsyn.figures.reweighting_inside.budget import budget_info, draw_budget
from dpsyn.figures.reweighting_inside.draws import draw_draws, draws_info
from dpsyn.figures.reweighting_inside.noise import draw_noise, noise_info
from dpsyn.figures.reweighting_inside.statistics import (
    draw_statistics,
    draw_worst_tables,
    statistics_info,
    worst_tables_info,
)
from dpsyn.figures.reweighting_inside.support import draw_support, support_info
from dpsyn.figures.reweighting_inside.trial import OBJECTIVES, Objective, Trial, columns_that_fit, trial
from dpsyn.mechanisms.noisy_reweighting import NoisyReweightingMechanism
from dpsyn.privacy.spec import PrivacySpec, rounded_up
from dpsyn.ui import widgets
from dpsyn.ui.inside._panel import empty, panel
from dpsyn.ui.releases import calibrated
from dpsyn.ui.state import Dataset

Noise = Literal["laplace", "gaussian"]

ROWS = tuple(round(10 ** (i / 5)) for i in range(5, 46))
DRAWN = tuple(count for count in widgets.COUNTS if count >= 10)
_NOISE: tuple[Noise, ...] = ("laplace", "gaussian")
_FACTORS = {1.0: "as calibrated", 0.75: "a quarter too small", 0.5: "half of what it should be"}
_REMEMBERED = 12


@dataclass(frozen=True)
class Bench:
    """Everything that the panels draw from.

    Attributes:
        current: the dataset.
        columns: those in use.
        spec: ε and, for Gaussian noise, δ.
        degree: d.
        noise: its kind.
        seed: of noise and draws.
    """

    current: Dataset
    columns: tuple[str, ...]
    spec: PrivacySpec
    degree: int
    noise: Noise
    seed: int

    def trial(self) -> Trial:
        """One run with these settings, remembered within the visit."""
        memory: dict[object, Trial] = st.session_state.setdefault("reweighting_trials", {})
        key = (self.current.revision, self.columns, self.spec, self.degree, self.noise, self.seed)
        if key not in memory:
            if len(memory) >= _REMEMBERED:
                memory.pop(next(iter(memory)))
            table = self.current.parts[0].project(self.columns)
            memory[key] = trial(table, self.spec, degree=self.degree, noise=self.noise, seed=self.seed)
        return memory[key]

    def mechanism(self) -> NoisyReweightingMechanism:
        """The mechanism as the Generator runs it, calibrated to all rows that it would see."""
        config = dpsyn.NoisyReweighting(degree=self.degree, noise=self.noise)
        found = calibrated(config, self.spec, self.current.parts[0].project(self.columns))
        assert isinstance(found, NoisyReweightingMechanism)
        return found


def reweighting(current: Dataset) -> None:
    """The panels of noisy reweighting: sliders that all of them share, and one view of them at a time."""

    @st.fragment
    def live() -> None:
        try:
            bench = _choose(current)
        except DpsynError as fault:
            empty(widgets.humanise(str(fault)))
            return
        if bench is None:
            return
        view = st.segmented_control(
            "View",
            list(VIEWS),
            default=next(iter(VIEWS)),
            required=True,
            key="in_nr_view",
            label_visibility="collapsed",
            persist_state="session",
        )
        VIEWS[view](bench)

    live()


def _choose(current: Dataset) -> Bench | None:
    with st.container(border=True):
        first = st.columns([1.3, 1, 1, 1], gap="medium")
        with first[0]:
            epsilon = widgets.epsilon_slider("in_nr_epsilon", persist_state="session")
        noise = first[1].segmented_control(
            "Noise",
            _NOISE,
            default="laplace",
            required=True,
            format_func=str.title,
            key="in_nr_noise",
            persist_state="session",
            help="Laplace noise gives pure ε, Gaussian noise needs δ.",
        )
        with first[2]:
            delta = widgets.delta_slider("in_nr_delta", persist_state="session", disabled=noise == "laplace")
        degree = first[3].slider("d (degree of the statistics)", 1, 3, 2, key="in_nr_degree", persist_state="session")
        spec = PrivacySpec(epsilon, delta if noise == "gaussian" else 0.0)
        second = st.columns([3.3, 1], gap="medium", vertical_alignment="bottom")
        fitting = columns_that_fit(current.table.domain, degree)
        columns = second[0].multiselect(
            "Columns",
            current.table.domain.names,
            default=fitting or None,
            key=f"in_nr_columns_{current.revision}_{degree}",
            help="Few enough to fit while you watch: at most 1,200 cells in all tables of d columns.",
        )
        again = second[1].button(
            "Draw the noise again",
            icon=":material/casino:",
            key="in_nr_again",
            width="stretch",
            help="The same settings draw the same noise until you press this.",
        )
    seed = st.session_state.get("in_nr_seed", 0) + int(again)
    st.session_state["in_nr_seed"] = seed
    if not columns:
        if fitting:
            empty("Choose at least one column.")
        else:
            empty(
                f"Every column here has too many codes for statistics of degree {degree} that can be fitted while you "
                "watch. Give numeric columns fewer bins on the page Data, or lower d."
            )
        return None
    return Bench(current, tuple(columns), spec, degree, noise, seed)


def _noise(bench: Bench) -> None:
    left, right = st.columns([3, 2], gap="medium")
    with (
        left,
        panel("How much noise", False, "One average of the data: what privacy costs it, and what chance does anyway."),
    ):
        table = bench.current.parts[0].project(bench.columns)
        n = st.select_slider(
            "n (rows)",
            ROWS,
            min(ROWS, key=lambda count: abs(math.log(count / max(table.n, 1)))),
            format_func=lambda count: f"{count:,}",
            key=f"in_nr_n_{bench.current.revision}",
        )
        bits = sum(1 if a.kind == "truth" else a.size for a in table.domain.attributes)
        info = noise_info(table.domain.shape, bits, bench.spec, degree=bench.degree, kind=bench.noise, n=n)
        st.altair_chart(draw_noise(info), key="in_nr_noise_chart")
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
    with right, panel("Where the budget goes", False, "The mechanism as the Generator would run it on these columns."):
        mechanism = bench.mechanism()
        facts = mechanism.calibrated()
        guarantee = mechanism.guarantee
        found = budget_info(facts["ledger"], epsilon=guarantee.epsilon, delta=guarantee.delta)
        st.altair_chart(draw_budget(found), key="in_nr_budget_chart")
        st.dataframe(
            {
                "Part": [part.name for part in found.parts],
                "Numbers": [f"{part.count:,}" for part in found.parts],
                found.unit: [widgets.number(part.spent) for part in found.parts],
                "Noise scale": [widgets.number(part.scale) for part in found.parts],
            },
            hide_index=True,
        )
        st.caption(f"{guarantee}. Noise is on whole counts: divide by n for averages.")


def _objective() -> Objective:
    return st.segmented_control(
        "Density",
        list(OBJECTIVES),
        default="entropy",
        required=True,
        format_func=OBJECTIVES.__getitem__,
        key="in_nr_objective",
        persist_state="session",
    )


def _fit(bench: Bench) -> None:
    objective = _objective()
    run = bench.trial()
    space = f"all {len(run.points):,} points of the domain" if run.whole else f"{len(run.points):,} drawn points"
    st.caption(
        f"{run.family.count:,} {'Walsh functions' if run.family.name == 'walsh' else 'cells of tables'} of {run.n:,} rows, "
        f"noise of standard deviation {widgets.number(run.deviation)} on each average; the density lies on {space} and was "
        f"fitted in {run.seconds(objective):.2g} s."
    )
    left, right = st.columns(2, gap="medium")
    with left, panel("Statistics", True):
        st.altair_chart(draw_statistics(statistics_info(run, objective)), key="in_nr_statistics_chart")
    with right, panel("Tables", True):
        st.altair_chart(draw_worst_tables(worst_tables_info(run, objective)), key="in_nr_tables_chart")


def _support(bench: Bench) -> None:
    run = bench.trial()
    left, right = st.columns(2, gap="medium")
    with left, panel("Support of the density", True, "Three densities near the same noisy statistics."):
        info = support_info(run)
        st.altair_chart(draw_support(info), key="in_nr_support_chart")
        st.dataframe(
            {
                "Density": [OBJECTIVES[line.objective] for line in info.lines],
                "Points": [f"{line.carrying:,}" for line in info.lines],
                "Worth, of equal weight": [f"{line.effective:,.1f}" for line in info.lines],
                "Mean total variation": [widgets.number(line.error) for line in info.lines],
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
            key=f"in_nr_k_{bench.current.revision}",
        )
        found = draws_info(run, objective, k=k, seed=bench.seed)
        st.altair_chart(draw_draws(found), key="in_nr_draws_chart")


def _audit(bench: Bench) -> None:
    with panel(
        "Audit the guarantee",
        False,
        "20,000 runs on each of two tables that differ in one row, the worst there is: how well do the noisy statistics "
        "tell them apart? The bound on ε holds with 99 % confidence. No row of the data is used.",
    ):
        left, right = st.columns([2, 3], gap="medium", vertical_alignment="bottom")
        factor = left.segmented_control(
            "Noise in the mechanism under audit",
            list(_FACTORS),
            default=1.0,
            required=True,
            format_func=_FACTORS.__getitem__,
            key="in_nr_factor",
            help="A fault on purpose, to see that the audit finds it.",
        )
        mechanism = bench.mechanism()
        if mechanism.statistic_count > 400:
            raise ParameterError("columns", f"{mechanism.statistic_count:,} statistics", "at most 400 while you wait")
        if not right.button("Run the audit", icon=":material/search_check:", key="in_nr_audit"):
            return
        with st.spinner("Running the noisy statistics 40,000 times …"):
            found = audit_noisy_reweighting(mechanism, noise_factor=factor, generator=np.random.default_rng())
        strongest = found.sharpest or found
        widgets.facts(
            {
                "ε claimed": rounded_up(found.claim or 0.0, 4),
                "ε at least (99 %)": widgets.number(math.floor(found.epsilon * 1000) / 1000),
                "tested at": f"δ = {widgets.number(strongest.delta)}",
                "of that, runs": f"{strongest.hits:,} against {strongest.misses:,}",
            }
        )
        verdict = st.error if found.refuted else st.success
        icon = ":material/gpp_bad:" if found.refuted else ":material/verified_user:"
        verdict(
            f"{'The claim is refuted' if found.refuted else 'Nothing speaks against the claim'}: {found}.".replace(
                "e-0", "e-"
            ),
            icon=icon,
        )


VIEWS: dict[str, Callable[[Bench], None]] = {
    "Noise and budget": _noise,
    "Fitted statistics": _fit,
    "Support and rows": _support,
    "Audit": _audit,
}
