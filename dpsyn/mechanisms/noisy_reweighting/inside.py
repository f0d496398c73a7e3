"""A run of noisy reweighting, opened: it keeps what a release hides. For teaching, it reads private data."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Literal

import altair as alt
import numpy as np
import numpy.typing as npt
import pandas as pd

from dpsyn.errors import ParameterError
from dpsyn.kit import layers as _layers
from dpsyn.kit.layers import BLUE, GREEN, GUIDE, ORANGE, log_axis
from dpsyn.mechanisms.base import no_progress
from dpsyn.mechanisms.noisy_reweighting import NoisyReweightingMechanism, Objective
from dpsyn.mechanisms.noisy_reweighting._fit import Fitted
from dpsyn.mechanisms.noisy_reweighting._mechanism import Measured
from dpsyn.mechanisms.noisy_reweighting._merging import MergingMechanism
from dpsyn.mechanisms.noisy_reweighting.families import TableFamily, cells_of
from dpsyn.mechanisms.noisy_reweighting.figures import named_lines
from dpsyn.notation import counted, short
from dpsyn.privacy.noise import NoiseSource
from dpsyn.solvers.density_spaces import PointTables, Space, WholeDomain
from dpsyn.solvers.rounding import systematic_counts
from dpsyn.table import Table

Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]
Density = Literal["vertex", "centre", "entropy"]

DENSITIES: dict[Density, str] = {
    "vertex": "minimax, vertex (paper)",
    "centre": "minimax, centre",
    "entropy": "maximum entropy",
}
_SETTINGS: dict[Density, tuple[Objective, bool]] = {
    "vertex": ("max", True),
    "centre": ("max", False),
    "entropy": ("max_entropy", False),
}
_NOISY, _FITTED = "noisy", "fitted"
_MOST_DOTS = 600
_MOST_TABLES = 12
_DOTS = 160
_LOWEST = -6.0
_INDEPENDENT, _SYSTEMATIC = "independent draws (the paper)", "low-variance draws"
_REPEATS = 3
_MOST_COUNTED = 100_000
"""Points up to which a count is drawn for each; of more points rows are drawn one by one."""
_COUNTS = tuple(round(10 ** (i / 3)) for i in range(3, 19))
_CARRIES = 1e-6
"""A point carries weight if its mass is more than this share of the uniform one."""
MOST_CELLS = 1_200


@dataclass(frozen=True, eq=False)
class Inside:
    """A seeded run of the mechanism, step by step, with each of three densities in turn.

    Noise, reduced space and fit are those of ``mechanism(np.random.default_rng(seed), table)`` with the objective of the
    density: the run calls the same functions in the same order. The noise comes first, so it is the same for all three.

    Args:
        mechanism: calibrated to the table; its statistics are tables, Walsh functions or conjunctions.
        table: the rows.
        seed: of noise and draws.

    Raises:
        ParameterError: more cells than can be fitted while one watches.
    """

    mechanism: NoisyReweightingMechanism
    table: Table
    seed: int = 0
    _fits: dict[Density, tuple[Measured, Fitted, float]] = field(default_factory=dict, init=False, repr=False)
    _drawn: dict[tuple[Density, int, int], dict[str, dict[int, float]]] = field(default_factory=dict, init=False, repr=False)

    def __post_init__(self) -> None:
        cells = self.tables.count
        if isinstance(self.mechanism, MergingMechanism):
            cells += TableFamily(self.mechanism.domain.shape, self.mechanism.wide).count
        if cells > MOST_CELLS:
            allowed = f"{cells:,} cells are too many to fit while you watch; {MOST_CELLS:,} fit: take fewer columns"
            raise ParameterError("degree", self.mechanism.plan.config.degree, allowed)

    @cached_property
    def tables(self) -> TableFamily:
        """The tables that the statistics are made of, on which errors are measured."""
        cells = cells_of(self.mechanism.statistics)
        assert cells is not None
        return TableFamily(self.mechanism.domain.shape, cells.tables)

    @cached_property
    def true_cells(self) -> Floats:
        """Their cells in the data, as shares."""
        return np.asarray(self.tables.sums_of(self._fit("entropy")[0].encoding.rows(self.table)) / self.table.n)

    def labels(self, column: int) -> list[str]:
        """A short text for every code of a column; the bins of numbers and dates are those of the run."""
        return self._fit("entropy")[0].encoding.labels(column)

    @cached_property
    def exact(self) -> Floats:
        """Averages of the statistics, shape (F,)."""
        return np.asarray(self._fit("entropy")[0].exact * (self.mechanism.statistics.unit / self.table.n))

    @cached_property
    def noisy(self) -> Floats:
        """The same with the noise."""
        return self.mechanism.averages(self._fit("entropy")[0])

    @property
    def deviations(self) -> Floats:
        """Standard deviations of the noise on them, by the calibration."""
        return np.asarray(self.mechanism.spreads * (self.mechanism.statistics.unit / self.table.n))

    def fitted(self, density: Density) -> Fitted:
        """The density, fitted when first asked for."""
        return self._fit(density)[1]

    def seconds(self, density: Density) -> float:
        """How long that fit took."""
        return self._fit(density)[2]

    def _fit(self, density: Density) -> tuple[Measured, Fitted, float]:
        if density not in self._fits:
            config = self.mechanism.plan.config
            objective, vertex = _SETTINGS[density]
            mechanism = self.mechanism
            if (config.objective, config.vertex) != (objective, vertex):
                other = replace(config, objective=objective, vertex=vertex)
                mechanism = other.calibrate(mechanism.spec, self.table.domain, self.table.n)
            noise = NoiseSource(np.random.default_rng(self.seed))
            measured = mechanism.measured(noise, self.table)
            start = time.perf_counter()
            fitted = mechanism.fitted(measured, noise.generator, no_progress)
            self._fits[density] = measured, fitted, time.perf_counter() - start
        return self._fits[density]

    def masses(self, density: Density) -> Floats:
        """h on its points, summing to 1, shape (m,)."""
        found = self.fitted(density).density.astype(np.float64)
        return np.asarray(found / found.sum())

    def draws(self, density: Density, *, k: int, seed: int) -> dict[str, dict[int, float]]:
        """For each way to draw, by number of rows: mean total variation between the tables of drawn rows and the density's.

        The mean of three draws each (on very many points one), for k and from 10 rows to a million.
        """
        if (density, k, seed) not in self._drawn:
            generator = np.random.default_rng(seed)
            found, masses, sizes = self.fitted(density), self.masses(density), self.mechanism.domain.shape
            repeats = _REPEATS if len(masses) <= _MOST_COUNTED else 1
            space: Space = WholeDomain(sizes, found.tables)
            if found.codes is not None:
                space = PointTables(found.codes, sizes, found.tables)

            def error(draw: Callable[..., Integers], rows: int) -> float:
                shares = (draw(masses, rows, generator) / rows).astype(np.float32)
                return float(np.abs(space.expected(shares) - found.cells).sum() / 2 / len(found.tables))

            self._drawn[density, k, seed] = {
                name: {rows: float(np.mean([error(draw, rows) for _ in range(repeats)])) for rows in sorted({*_COUNTS, k})}
                for name, draw in ((_INDEPENDENT, _independent_counts), (_SYSTEMATIC, systematic_counts))
            }
        return self._drawn[density, k, seed]

    def carrying(self, density: Density) -> int:
        """Points with a mass above :data:`_CARRIES`/m."""
        masses = self.masses(density)
        return int((masses * len(masses) > _CARRIES).sum())

    def effective(self, density: Density) -> float:
        """1/Σ h²: how many points of equal mass the density is worth."""
        return float(1 / (self.masses(density) ** 2).sum())

    def errors(self, density: Density) -> tuple[float, float]:
        """Root mean squared error of the noisy and of the fitted statistics."""
        off = (self.noisy - self.exact, self.fitted(density).statistics - self.exact)
        return float(np.sqrt((off[0] ** 2).mean())), float(np.sqrt((off[1] ** 2).mean()))

    def table_errors(self, shares: Floats) -> Floats:
        """Total variation of each table from the data's, for cells as shares; shape (tables,)."""
        apart = np.abs(shares - self.true_cells)
        return np.array([apart[group.start : group.stop].sum() / 2 for group in self.tables.groups])


def draw_statistics(run: Inside, density: Density, *, fitted: bool = True) -> Any:
    """An Altair chart: true values across, up by how much noisy and fitted ones are off; two deviations of noise shaded.

    ``fitted``: whether to show the fitted ones; the axes are the same.
    """
    shown = _statistics(run, density)
    kinds = [_NOISY, _FITTED]
    dots = pd.concat(
        [shown.assign(value=shown[kind], kind=kind, error=shown[kind] - shown["true"]) for kind in kinds], ignore_index=True
    )
    low, high = shown["true"].min(), shown["true"].max()
    air = max(0.04 * (high - low), 0.01)
    deviations = np.unique(run.deviations)
    furthest = max(2.2 * deviations[-1], dots["error"].abs().max()) * 1.05
    y_scale = alt.Scale(domain=[-furthest, furthest], nice=True)
    kinds = kinds if fitted else kinds[:1]
    dots = dots[dots["kind"].isin(kinds)]
    points = (
        alt.Chart(dots[["true", "value", "kind", "label", "error"]])
        .mark_point(filled=True, opacity=0.7, clip=True)
        .encode(
            x=alt.X(
                "true:Q",
                axis=alt.Axis(title="average in the data", grid=False),
                scale=_layers.scale((low - air, high + air)),
            ),
            y=alt.Y("error:Q", axis=alt.Axis(title="off by", labelExpr="format(datum.value, '~g')"), scale=y_scale),
            **_layers.channels(kinds, "kind", color=[ORANGE, BLUE], shape=["diamond", "circle"]),
            # Larger, so that they show where both are the same.
            size=alt.Size("kind:N", scale=alt.Scale(domain=kinds, range=[80, 26]), legend=None),
            tooltip=[
                alt.Tooltip("label:N", title="statistic"),
                alt.Tooltip("kind:N", title="value"),
                alt.Tooltip("true:Q", title="in the data", format=".4f"),
                alt.Tooltip("value:Q", title="here", format=".4f"),
                alt.Tooltip("error:Q", title="off by", format="+.4f"),
            ],
        )
    )
    # One band for each scale of the noise: statistics that got more of the budget lie in a narrower one.
    bands = [
        {"low": -2 * each, "high": 2 * each, "text": f"two standard deviations of the noise: ±{short(2 * each, 3)}"}
        for each in deviations[::-1]
    ]
    shade = (
        alt.Chart(pd.DataFrame(bands))
        .mark_rect(color=GUIDE, opacity=0.12)
        .encode(y=alt.Y("low:Q", scale=y_scale), y2=alt.Y2("high"), tooltip=alt.Tooltip("text:N", title="noise"))
    )
    zero = alt.Chart(pd.DataFrame([{"y": 0.0}])).mark_rule(color=GUIDE, size=1.5).encode(y=alt.Y("y:Q", scale=y_scale))
    before, after = run.errors(density)
    better = "nearer to the truth than" if after < before else "no nearer to the truth than"
    subtitle = (
        f"Fitting brings {len(run.noisy):,} averages {better} the noise left them: error {short(after, 2)} after, "
        f"{short(before, 2)} before (root mean square)."
    )
    subtitle = subtitle if fitted else ""
    return _layers.finish(
        alt.layer(shade, zero, points), "True, noisy and fitted statistics", subtitle, legend_labels=kinds, line_length=80
    )


def _statistics(run: Inside, density: Density) -> pd.DataFrame:
    """What each statistic is, and its true, noisy and fitted value: at most 600, those that moved most among them."""
    order = np.argsort(-np.abs(run.noisy - run.exact), kind="stable")
    if len(order) > _MOST_DOTS:
        first = _MOST_DOTS // 3
        rest = np.random.default_rng(0).choice(order[first:], _MOST_DOTS - first, replace=False)
        order = np.concatenate([order[:first], rest])
    fitted = run.fitted(density).statistics
    values = {"true": run.exact[order], _NOISY: run.noisy[order], _FITTED: fitted[order]}
    return pd.DataFrame({"label": [_label(run, int(f)) for f in order], **values})


def _label(run: Inside, number: int) -> str:
    """The cell of its table, or the columns of a Walsh function."""
    family = run.mechanism.statistics
    group = next(group for group in family.groups if number < group.stop)
    names = [run.mechanism.domain.names[j] for j in group.columns]
    if family.name == "walsh":
        return " · ".join(names) or "constant"
    codes = np.unravel_index(number - group.start, [run.mechanism.domain.shape[j] for j in group.columns])
    columns = zip(names, group.columns, codes, strict=True)
    return ", ".join(f"{name} = {run.labels(j)[code]}" for name, j, code in columns)


def draw_worst_tables(run: Inside, density: Density) -> Any:
    """An Altair chart of the worst tables: a bar for the fitted one, a tick for the noisy one."""
    shown = _worst_tables(run, density)
    noisy = _NOISY in shown
    largest = max(shown[[c for c in (_FITTED, _NOISY) if c in shown]].max().max(), 1e-6)
    y = alt.Y(
        "name:N",
        title=None,
        sort=list(shown["name"]),
        axis=alt.Axis(labelLimit=190, ticks=False, domain=False, labelPadding=8),
    )
    tooltip = [alt.Tooltip("name:N", title="table"), alt.Tooltip("fitted:Q", title="fitted", format=".4f")]
    if noisy:
        tooltip.append(alt.Tooltip("noisy:Q", title="noisy", format=".4f"))
    base = alt.Chart(shown).encode(y=y, tooltip=tooltip)
    axis = alt.Axis(title="total variation from the data" + ("; tick: before the fit" if noisy else ""))
    x = alt.X("fitted:Q", axis=axis, scale=alt.Scale(domain=[0, 1.05 * largest], nice=False))
    layers = [base.mark_bar(color=BLUE, height={"band": 0.7}, cornerRadiusEnd=3).encode(x=x)]
    if noisy:
        layers.append(base.mark_tick(color=ORANGE, thickness=3, height=16).encode(x=alt.X("noisy:Q")))
    errors = run.table_errors(run.fitted(density).cells)
    subtitle = (
        f"Total variation from the data, {DENSITIES[density]}: mean {short(errors.mean(), 3)}, largest "
        f"{short(errors.max(), 3)} of {len(errors):,} tables."
    )
    return _layers.finish(
        alt.layer(*layers), "Which table is worst", subtitle, plot=max(24 * len(shown), 90), line_length=80
    )


def _worst_tables(run: Inside, density: Density) -> pd.DataFrame:
    """Total variation of the fitted tables from the data's, the 12 worst first; of the noisy ones where they are tables."""
    fitted = run.table_errors(run.fitted(density).cells)
    order = np.argsort(-fitted, kind="stable")[:_MOST_TABLES]
    names = [" × ".join(run.mechanism.domain.names[j] for j in run.tables.tables[at]) for at in order]
    found = pd.DataFrame({"name": names, _FITTED: fitted[order]})
    if run.mechanism.family == "contingency":
        found[_NOISY] = run.table_errors(run.noisy)[order]
    return found


def draw_support(run: Inside) -> Any:
    """An Altair chart: mass relative to uniform by rank, both on log axes, for the three densities."""
    shown = pd.concat([_support(run, density) for density in DENSITIES], ignore_index=True)
    labels = list(dict.fromkeys(shown["series"]))
    points = {density: len(run.masses(density)) for density in DENSITIES}
    across = (-0.05, max(math.log10(max(points.values())) * 1.02, 0.5))
    up = _layers.domain_of([*shown["y"], 0.0], share=0.06)
    line = named_lines(
        shown,
        alt.X("x:Q", axis=log_axis("points, the heaviest first"), scale=_layers.scale(across)),
        alt.Y("y:Q", axis=log_axis("mass of a point, uniform = 1"), scale=_layers.scale(up)),
        {label: (colour, [1, 0]) for label, colour in zip(labels, (ORANGE, GREEN, BLUE), strict=True)},
        {"series:N": "objective", "rank:Q": "rank", "mass:N": "m·h"},
    )
    few, many = min(points.values()), max(points.values())
    subtitle = (
        f"m = {f'{many:,}' if few == many else f'{few:,} to {many:,}'} points, |F| = {run.mechanism.statistic_count:,} "
        "statistics. A vertex sits on at most |F| + 1 points and fits the noise; maximum entropy spreads."
    )
    layers = [*_layers.rules([(0.0, "uniform")], up, labels_left=False, title="reference"), line]
    return _layers.finish(alt.layer(*layers), "How many points carry weight", subtitle, legend_labels=labels, line_length=80)


def _support(run: Inside, density: Density) -> pd.DataFrame:
    """m·h from the heaviest point on, at some ranks."""
    masses = run.masses(density)
    m = len(masses)
    ranks = np.unique(np.geomspace(1, m, _DOTS).round().astype(int))
    heights = (np.sort(masses)[::-1] * m)[ranks - 1]
    ranks, heights = ranks[heights > 10**_LOWEST], heights[heights > 10**_LOWEST]
    label = f"{DENSITIES[density]}: {counted(run.carrying(density), 'point')}"
    text = [short(height, 3) for height in heights]
    return pd.DataFrame({"series": label, "x": np.log10(ranks), "y": np.log10(heights), "rank": ranks, "mass": text})


def draw_draws(run: Inside, density: Density, *, k: int, seed: int = 0) -> Any:
    """An Altair chart: the error that k rows drawn from the density add to its tables, both ways; log10 axes.

    Args:
        run: the run.
        density: which of its densities.
        k: rows of "you are here".
        seed: of the draws.
    """
    shown = run.draws(density, k=k, seed=seed)
    own = float(run.table_errors(run.fitted(density).cells).mean())
    rows: list[dict[str, Any]] = [
        {"series": name, "x": math.log10(at), "y": math.log10(max(error, 1e-7)), "k": f"{at:,}", "error": short(error, 3)}
        for name, errors in shown.items()
        for at, error in errors.items()
    ]
    level = math.log10(max(own, 1e-7))
    up = _layers.domain_of([*(row["y"] for row in rows), level], share=0.06)
    across = (rows[0]["x"], rows[-1]["x"])
    styles = {_INDEPENDENT: (ORANGE, [6, 3]), _SYSTEMATIC: (BLUE, [1, 0])}
    lines = named_lines(
        pd.DataFrame(rows),
        alt.X("x:Q", axis=log_axis("k, rows drawn"), scale=_layers.scale(across)),
        alt.Y("y:Q", axis=log_axis("mean total variation of the tables"), scale=_layers.scale(up)),
        styles,
        {"series:N": "rows by", "k:N": "k", "error:N": "total variation from the density"},
    )
    here = alt.Chart(pd.DataFrame([{"x": math.log10(k)}])).mark_rule(color=GUIDE, strokeDash=[4, 3]).encode(x="x:Q")
    independent, systematic = shown[_INDEPENDENT][k], shown[_SYSTEMATIC][k]
    subtitle = (
        f"k = {k:,}, {DENSITIES[density]}: independent draws add {short(independent, 2)} of total variation to the "
        f"density's own {short(own, 2)}, low-variance draws {short(systematic, 2)}."
    )
    layers = [
        *_layers.rules([(level, "the density itself, against the data")], up, labels_left=True, title="reference"),
        here,
        lines,
    ]
    return _layers.finish(alt.layer(*layers), "What drawing rows adds", subtitle, legend_labels=list(styles), line_length=80)


def _independent_counts(masses: Floats, rows: int, generator: np.random.Generator) -> Integers:
    """Copies of each point in ``rows`` independent draws."""
    if len(masses) <= _MOST_COUNTED:
        return generator.multinomial(rows, masses)
    reached = np.cumsum(masses)
    # In order, so that the search stays near where it was: several times faster on millions of points.
    drawn = np.searchsorted(reached, np.sort(generator.random(rows)) * reached[-1], side="right")
    return np.bincount(drawn.clip(0, len(masses) - 1), minlength=len(masses))
