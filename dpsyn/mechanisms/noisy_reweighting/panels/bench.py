"""The sliders that the panels of noisy reweighting share, and what follows from them: the mechanism, a run, the code."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import streamlit as st

from dpsyn.kit import code, widgets
from dpsyn.kit.panel import empty
from dpsyn.kit.visit import Dataset, calibrated
from dpsyn.mechanisms.noisy_reweighting import Noise, NoisyReweighting, NoisyReweightingMechanism
from dpsyn.mechanisms.noisy_reweighting.inside import Inside, columns_that_fit
from dpsyn.privacy.spec import PrivacySpec
from dpsyn.table import Table

_NOISE: tuple[Noise, ...] = ("laplace", "gaussian")
_REMEMBERED = 12


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
        return self.current.parts[0].project(self.columns)

    @property
    def mechanism(self) -> NoisyReweightingMechanism:
        """The mechanism as the Generator runs it, calibrated to all rows that it would see."""
        return calibrated(self.config, self.spec, self.rows)

    @property
    def run(self) -> Inside:
        """One run of it with this seed, remembered within the visit."""
        memory: dict[object, Inside] = st.session_state.setdefault("reweighting_runs", {})
        key = (self.current.revision, self.columns, self.spec, self.config, self.seed)
        if key not in memory:
            run = Inside(self.mechanism, self.rows, self.seed)
            if len(memory) >= _REMEMBERED:
                memory.pop(next(iter(memory)))
            memory[key] = run
        return memory[key]

    def script(
        self, body: str, imports: str, title: str = "Noisy reweighting from the inside: it reads the private rows."
    ) -> str:
        """Python that prints and draws what a view shows; ``mechanism``, ``spec`` and its ``rows`` are at hand."""
        begun = f"""
rows = train.project({self.columns!r})
spec = {code.written(self.spec)}
mechanism = {code.written(self.config)}.calibrate(spec, rows.domain, n=rows.n)
"""
        package = "dpsyn.mechanisms.noisy_reweighting"
        lines = "".join(f"from {package}.{line}\n" for line in imports.splitlines())
        return code.script(title, begun + body, self.current, lines)


def choose(current: Dataset) -> Bench | None:
    """The sliders; None, with the reason shown, if there is nothing to fit."""
    with st.container(border=True):
        first = st.columns([1.3, 1, 1, 1], gap="medium")
        with first[0]:
            epsilon = widgets.epsilon_slider("in_nr_epsilon", bind="query-params")
        noise = first[1].segmented_control(
            "Noise",
            _NOISE,
            default="laplace",
            required=True,
            format_func=str.title,
            key="in_nr_noise",
            bind="query-params",
            help="Laplace noise gives pure ε, Gaussian noise needs δ.",
        )
        with first[2]:
            delta = widgets.delta_slider("in_nr_delta", bind="query-params", disabled=noise == "laplace")
        degree = first[3].slider("d (degree of the statistics)", 1, 3, 2, key="in_nr_degree", bind="query-params")
        spec = PrivacySpec(epsilon, delta if noise == "gaussian" else 0.0)
        second = st.columns([3, 2], gap="medium", vertical_alignment="bottom")
        fitting = columns_that_fit(current.table.domain, degree)
        columns = second[0].multiselect(
            "Columns",
            current.table.domain.names,
            default=fitting or None,
            key=f"in_nr_columns_{current.tag}_{degree}",
            bind="query-params",
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
