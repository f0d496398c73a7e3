"""The settings of noisy reweighting as widgets."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TypeVar

import streamlit as st

from dpsyn.mechanisms.base import Config
from dpsyn.mechanisms.noisy_reweighting import (
    Allocation,
    Noise,
    NoisyReweighting,
    Objective,
    ReducedSpace,
    Rounding,
    Statistics,
)
from dpsyn.privacy.spec import PrivacySpec
from dpsyn.ui import widgets
from dpsyn.ui.state import Dataset

Value = TypeVar("Value", bound=str)

_WAYS: Mapping[str, str] = {"ours": "With every improvement", "as_published": "As published"}
_NOISE: Mapping[Noise, str] = {"gaussian": "Gaussian", "laplace": "Laplace"}
_STATISTICS: Mapping[Statistics, str] = {
    "auto": "the better family here",
    "walsh": "Walsh functions",
    "contingency": "contingency tables",
    "conjunctions": "monotone conjunctions",
}
_SPACES: Mapping[ReducedSpace, str] = {
    "auto": "the whole domain, if it is small enough",
    "uniform": "draws from the uniform measure (the paper)",
    "marginals": "draws from noisy one-way marginals",
    "tree": "draws from a tree of noisy two-way tables",
}
_OBJECTIVES: Mapping[Objective, str] = {
    "max_entropy": "maximum entropy near the noisy statistics",
    "least_squares": "least squares, stopped at the noise",
    "max": "smallest largest deviation (the paper)",
}
_ROUNDING: Mapping[Rounding, str] = {
    "low_variance": "so that they keep the tables of the density",
    "independent": "independently (the paper)",
}
_ALLOCATION: Mapping[Allocation, str] = {
    "by_size": "more for tables with more cells",
    "equal": "the same noise for all",
}


@dataclass(frozen=True)
class _Choices:
    """The choices that come after the noise."""

    statistics: Statistics = "auto"
    allocation: Allocation = "by_size"
    space: ReducedSpace = "auto"
    share: float | None = None
    size: int | None = None
    objective: Objective = "max_entropy"
    rounding: Rounding = "low_variance"


def noisy_reweighting(current: Dataset) -> tuple[Config, PrivacySpec]:
    """Settings of noisy reweighting: δ > 0 with Gaussian noise, pure ε with Laplace noise."""
    left, right = st.columns(2, gap="medium")
    with left:
        epsilon = widgets.epsilon_slider("nr_epsilon", bind="query-params")
        degree = st.slider("d (degree of the statistics)", 1, 3, 2, key="nr_degree", bind="query-params")
        rows = st.number_input(
            "k (rows)", 1, 1_000_000, current.parts[0].n, key=f"nr_rows_{current.tag}", bind="query-params"
        )
    with right:
        way = st.segmented_control(
            "Algorithm",
            list(_WAYS),
            default="ours",
            required=True,
            format_func=_WAYS.__getitem__,
            key="nr_way",
            bind="query-params",
            help="As published: continuous Laplace noise of scale 2|F|/(nε) on every average, a uniform reduced space, the "
            "linear program, independent draws.",
        )
        if way == "as_published":
            st.caption(
                "Continuous Laplace noise is private in real arithmetic only: low bits of floating point give values away."
            )
            published = NoisyReweighting.as_published(degree=degree, rows=int(rows), reduced_space_size=_size(3000))
            return published, PrivacySpec(epsilon)
        noise = st.segmented_control(
            "Noise",
            list(_NOISE),
            default="gaussian",
            required=True,
            format_func=_NOISE.__getitem__,
            key="nr_noise",
            bind="query-params",
            help="Gaussian needs δ and is smaller where there are many statistics; Laplace gives pure ε. Both are discrete.",
        )
        delta = widgets.delta_slider("nr_delta", bind="query-params") if noise == "gaussian" else 0.0
    with st.expander("Statistics, reduced space, fit and rows"):
        chosen = _choices()
    config = NoisyReweighting(
        degree=degree,
        statistics=chosen.statistics,
        noise=noise,
        allocation=chosen.allocation,
        rows=int(rows),
        reduced_space=chosen.space,
        marginal_share=chosen.share,
        reduced_space_size=chosen.size,
        objective=chosen.objective,
        rounding=chosen.rounding,
    )
    return config, PrivacySpec(epsilon, delta)


def _choices() -> _Choices:
    left, right = st.columns(2, gap="medium")
    with left:
        statistics = _pick("Statistics", "nr_statistics", _STATISTICS)
        allocation = _pick("The budget is shared", "nr_allocation", _ALLOCATION)
        objective = _pick("The density is fitted by", "nr_objective", _OBJECTIVES)
    with right:
        space = _pick("Reduced space", "nr_space", _SPACES)
        share = None
        if space == "marginals" and st.toggle(
            "Marginals get a part of the budget of their own",
            False,
            key="nr_own",
            bind="query-params",
            help="Otherwise they are read off the noisy statistics, which costs nothing.",
        ):
            share = st.slider("Share of the budget", 0.05, 0.95, 0.2, 0.05, key="nr_share", bind="query-params")
        rounding = _pick("Rows are drawn", "nr_rounding", _ROUNDING)
        size = _size(100_000)
    return _Choices(statistics, allocation, space, share, size, objective, rounding)


def _pick(label: str, key: str, options: Mapping[Value, str]) -> Value:
    return st.selectbox(label, list(options), key=key, bind="query-params", format_func=options.__getitem__)


def _size(usual: int) -> int | None:
    if st.toggle("Reduced space size m: the default", True, key="nr_default_m", bind="query-params"):
        return None
    return int(st.number_input("m (points of the reduced space)", 10, 1_000_000, usual, key="nr_m", bind="query-params"))
