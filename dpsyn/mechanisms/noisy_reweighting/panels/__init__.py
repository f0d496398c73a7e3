"""Inside noisy reweighting: what the mechanism does to the data at hand. For teaching: most of it reads private rows."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import streamlit as st

from dpsyn.domain import Domain
from dpsyn.kit import code, visit, widgets
from dpsyn.kit.show import show_chart
from dpsyn.kit.visit import Dataset, calibrated
from dpsyn.kit.widgets import empty, panel, reads_domain
from dpsyn.mechanisms.noisy_reweighting import Noise, NoisyReweighting, NoisyReweightingMechanism
from dpsyn.mechanisms.noisy_reweighting.families import TableFamily
from dpsyn.mechanisms.noisy_reweighting.figures import draw_noise, noise_by_family
from dpsyn.mechanisms.noisy_reweighting.inside import (
    DENSITIES,
    MOST_CELLS,
    Density,
    Inside,
    draw_draws,
    draw_statistics,
    draw_support,
    draw_worst_tables,
)
from dpsyn.notation import short
from dpsyn.privacy.spec import PrivacySpec
from dpsyn.table import Table

_NOISE: dict[Noise, str] = {"laplace": "Laplace", "gaussian": "Gaussian"}
_REMEMBERED = 6
_MOST_COLUMNS = 8
_ROWS = tuple(round(10 ** (i / 5)) for i in range(5, 46))
_DRAWN = tuple(count for count in widgets.COUNTS if count >= 10)


@dataclass(frozen=True)
class Bench:
    """Everything that the panels draw from.

    Attributes:
        current: the dataset.
        columns: those in use.
        spec: ε and, for Gaussian noise, δ.
        config: degree and noise; all else as the Generator has it.
        seed: of noise and draws.
    """

    current: Dataset
    columns: tuple[str, ...]
    spec: PrivacySpec
    config: NoisyReweighting
    seed: int

    @cached_property
    def rows(self) -> Table:
        """The rows to learn from, over these columns."""
        return self.current.parts[0].drawn.project(self.columns)

    @property
    def mechanism(self) -> NoisyReweightingMechanism:
        """The mechanism as the Generator runs it, calibrated to all rows that it would see."""
        return calibrated(self.config, self.spec, self.rows)

    @property
    def run(self) -> Inside:
        """One run of it with this seed, remembered within the visit."""
        key = (self.current.revision, self.columns, self.spec, self.config, self.seed)
        return visit.remembered("reweighting_runs", _REMEMBERED, key, lambda: Inside(self.mechanism, self.rows, self.seed))

    def script(self, body: str, imports: str) -> str:
        """Python that prints and draws what a view shows; ``mechanism``, ``spec`` and its ``rows`` are at hand."""
        begun = f"""
rows = train.project({self.columns!r})
spec = {code.written(self.spec)}
mechanism = {code.written(self.config)}.calibrate(spec, rows.domain, n=rows.n)
"""
        package = "dpsyn.mechanisms.noisy_reweighting"
        lines = "".join(f"from {package}.{line}\n" for line in imports.splitlines())
        title = "Noisy reweighting from the inside: it reads the private rows."
        return code.script(title, begun + body, self.current, lines)


def _choose(current: Dataset) -> Bench | None:
    """The sliders; None, with the reason shown, if there is nothing to fit."""
    with st.container(border=True):
        first = st.columns([1.3, 1, 1, 1], gap="medium")
        with first[0]:
            epsilon = widgets.epsilon_slider(why="The noise moves along; the rest follows when you release it.")
        with first[1]:
            noise = widgets.one_of(
                "Noise", _NOISE, key="in_nr_noise", help="Laplace noise gives pure ε, Gaussian noise needs δ."
            )
        with first[2]:
            delta = widgets.delta_slider(disabled=noise == "laplace", why=widgets.AFTERWARDS)
        with first[3]:
            degree = widgets.degree_slider()
        spec = PrivacySpec(epsilon, delta if noise == "gaussian" else 0.0)
        second = st.columns([3, 2], gap="medium", vertical_alignment="bottom")
        fitting = columns_that_fit(current.table.domain, degree)
        columns = second[0].multiselect(
            "Columns",
            current.table.domain.names,
            default=fitting or None,
            key=f"in_nr_columns_{current.tag}_{degree}",
            **current.kept,
            help="Few enough to fit while you watch: at most 1,200 cells in all tables of d columns.",
        )
        with second[1]:
            seed = widgets.seed_control("in_nr_seed", "Draw noise again")
    if not columns:
        if fitting:
            empty("Choose at least one column.")
        else:
            empty(
                f"Every column here has too many codes for statistics of degree {degree} that can be fitted while you "
                "watch. Give numeric columns fewer bins on the page Data, or lower d."
            )
        return None
    return Bench(current, tuple(columns), spec, NoisyReweighting(degree=degree, noise=noise), seed)


def columns_that_fit(domain: Domain, degree: int) -> list[str]:
    """Columns in order, as many as can be fitted while one watches: at most 8, and 1,200 cells."""
    chosen: list[str] = []
    for name in domain.names:
        wider = domain.project([*chosen, name])
        if len(chosen) < _MOST_COLUMNS and TableFamily.all_of_degree(wider.shape, degree).count <= MOST_CELLS:
            chosen.append(name)
    return chosen


def _noise(bench: Bench) -> None:
    """Noise against n by family: it follows from the domain. How the budget is shared out stands on the Generator."""
    caption = "One average of the data, stretched to ±1: what privacy costs it, and what chance does anyway."
    with panel("How much noise", reads_domain(bench.current), caption):
        n, counts = _count("n (rows)", _ROWS, "in_nr_n", bench)
        degree = bench.config.degree
        body = f"""
families = noise_by_family(rows.domain, spec, degree={degree})
for each in families:
    print(each.family, each.statistics, "statistics, noise at n:", each.at({n}))
draw_noise(families, {n}).save("noise.html")
"""
        visit.offer(lambda: bench.script(body, "figures import draw_noise, noise_by_family"))
        families = noise_by_family(bench.rows.domain, bench.spec, degree=degree)
        specs = [replace(bench.spec, epsilon=epsilon) for epsilon in widgets.EPSILONS]
        moved = [(noise_by_family(bench.rows.domain, spec, degree=degree), n) for spec in specs]
        moved += [(families, count) for count in counts]
        sliders = {widgets.EPSILON: len(specs), f"in_nr_n_{bench.current.tag}": len(counts)}
        show_chart(draw_noise(families, n, moved, sliders, (counts[0], counts[-1])), key="in_nr_noise_chart")
        st.dataframe(
            {
                "Family": [each.family for each in families],
                "|F|": [f"{each.statistics:,}" for each in families],
                "L1": [widgets.number(each.l1) for each in families],
                "L2": [widgets.number(each.l2) for each in families],
                "Noise at n": [widgets.number(each.at(n)) for each in families],
                "Meets sampling at n": [widgets.number(float(each.meets_at)) for each in families],
            },
            hide_index=True,
        )


def _count(label: str, offered: Sequence[int], key: str, bench: Bench) -> tuple[int, Sequence[int]]:
    """A number of rows, and all on offer: at first that of the rows at hand, or the least, in the place of the nearest."""
    mine = max(bench.rows.n, offered[0])
    nearest = min(offered, key=lambda count: abs(math.log(count / mine)))
    counts, key = [mine if count == nearest else count for count in offered], f"{key}_{bench.current.tag}"
    return st.select_slider(label, counts, mine, format_func=lambda n: f"{n:,}", key=key, **bench.current.kept), counts


def _density() -> Density:
    return widgets.one_of("Density", DENSITIES, key="in_nr_objective", default="entropy")


def _fitted(bench: Bench) -> None:
    """True, noisy and fitted statistics, and the worst tables. Reads the private rows."""
    density = _density()
    body = f"""
run = Inside(mechanism, rows, seed={bench.seed})
print(len(run.noisy), "statistics of", rows.n, "rows, noise of standard deviation", set(run.deviations))
print("root mean squared error of the noisy and of the fitted ones:", run.errors({density!r}))
draw_statistics(run, {density!r}).save("statistics.html")
draw_worst_tables(run, {density!r}).save("worst_tables.html")
"""
    visit.offer(lambda: bench.script(body, "inside import Inside, draw_statistics, draw_worst_tables"))
    run = bench.run
    points = f"{len(run.masses(density)):,}"
    whole = len(run.masses(density)) == run.mechanism.domain.size
    deviation, several = widgets.number(run.deviations.max()), len(set(run.deviations)) > 1
    st.caption(
        f"{len(run.noisy):,} {'Walsh functions' if run.mechanism.family == 'walsh' else 'cells of tables'} of "
        f"{run.table.n:,} rows, noise of standard deviation {'up to ' if several else ''}{deviation} on each average; the "
        f"density lies on {f'all {points} points of the domain' if whole else f'{points} drawn points'} and was fitted in "
        f"{short(run.seconds(density), 2)} s."
    )
    left, right = st.columns(2, gap="medium")
    with left, panel("Statistics", True):
        show_chart(draw_statistics(run, density), key="in_nr_statistics_chart")
    with right, panel("Tables", True):
        show_chart(draw_worst_tables(run, density), key="in_nr_tables_chart")


def _support(bench: Bench) -> None:
    """Support of three densities, and the error that drawing rows adds. Reads the private rows."""
    run = bench.run
    left, right = st.columns(2, gap="medium")
    with left, panel("Support of the density", True, "Three densities near the same noisy statistics."):
        show_chart(draw_support(run), key="in_nr_support_chart")
        st.dataframe(
            {
                "Density": list(DENSITIES.values()),
                "Points": [f"{run.carrying(each):,}" for each in DENSITIES],
                "Worth": [f"{run.effective(each):,.1f}" for each in DENSITIES],
                "Mean error": [widgets.number(run.table_errors(run.fitted(each).cells).mean()) for each in DENSITIES],
            },
            hide_index=True,
        )
    with right, panel("Rows from the density", True, "The last step: k rows. How much error does drawing add?"):
        density = _density()
        k, _ = _count("k (rows drawn)", _DRAWN, "in_nr_k", bench)
        body = f"""
run = Inside(mechanism, rows, seed={bench.seed})
for each in DENSITIES:
    error = run.table_errors(run.fitted(each).cells).mean()
    print(each, "points:", run.carrying(each), "worth:", run.effective(each), "mean error:", error)
draw_support(run).save("support.html")
draw_draws(run, {density!r}, k={k}, seed={bench.seed}).save("draws.html")
"""
        imports = "inside import DENSITIES, Inside, draw_draws, draw_support"
        visit.offer(lambda: bench.script(body, imports))
        show_chart(draw_draws(run, density, k=k, seed=bench.seed), key="in_nr_draws_chart")


VIEWS: dict[str, Callable[[Bench], None]] = {
    "Noise": _noise,
    "Fitted statistics": _fitted,
    "Support and rows": _support,
}


@visit.fragment
def inside(current: Dataset) -> None:
    """The panels of noisy reweighting: sliders that all of them share, and one view of them at a time."""
    with widgets.refusals():
        bench = _choose(current)
        if bench is not None:
            VIEWS[widgets.view_of(VIEWS, "in_nr_view")](bench)
