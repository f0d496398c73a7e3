"""The settings of each mechanism as widgets: a function per mechanism that returns its configuration."""

from __future__ import annotations

from collections.abc import Callable

import streamlit as st

from dpsyn.errors import ParameterError
from dpsyn.mechanisms.base import Config
from dpsyn.mechanisms.dp_cda import DPCDA
from dpsyn.mechanisms.noisy_reweighting import Noise, NoisyReweighting, ReducedSpace, Statistics
from dpsyn.mechanisms.private_sampling import PrivateSampling
from dpsyn.privacy.spec import PrivacySpec
from dpsyn.ui import widgets
from dpsyn.ui.state import Dataset

Form = Callable[[Dataset], tuple[Config, PrivacySpec]]

_NOISE: tuple[Noise, ...] = ("laplace", "gaussian")
_STATISTICS: tuple[Statistics, ...] = ("auto", "walsh", "contingency")
_SPACES: tuple[ReducedSpace, ...] = ("uniform", "marginals")


def private_sampling(current: Dataset) -> tuple[Config, PrivacySpec]:
    """Settings of private sampling; pure ε."""
    left, right = st.columns(2, gap="medium")
    with left:
        epsilon = widgets.epsilon_slider("ps_epsilon", value=3.16, persist_state="session")
        degree = st.slider("d (degree of the marginals)", 1, 3, 2, key="ps_degree", persist_state="session")
        limit = st.toggle("As many rows as the guarantee allows", True, key="ps_most", persist_state="session")
        rows = st.number_input("k (rows)", 1, 100_000, 1, key="ps_rows", disabled=limit, persist_state="session")
    with right:
        floor = st.slider(
            "floor (the papers' δ)",
            0.01,
            0.5,
            0.25,
            0.01,
            key="ps_floor",
            persist_state="session",
            help="Smallest density allowed, relative to uniform. Large is private, small is accurate.",
        )
        ceiling = st.slider(
            "ceiling (the papers' Δ)",
            1.05,
            10.0,
            2.0,
            0.05,
            key="ps_ceiling",
            persist_state="session",
            help="Largest density allowed, relative to uniform. Choose it without looking at the data.",
        )
        whole = st.toggle(
            "Reduced space S: the default",
            True,
            key="ps_whole",
            persist_state="session",
            help="The whole domain when it is small enough, otherwise independent uniform draws.",
        )
        m = st.number_input("m (points of S)", 10, 200_000, 2000, key="ps_m", disabled=whole, persist_state="session")
    config = PrivateSampling(
        degree=degree,
        floor=floor,
        ceiling=ceiling,
        rows=None if limit else int(rows),
        reduced_space_size=None if whole else int(m),
    )
    return config, PrivacySpec(epsilon)


def noisy_reweighting(current: Dataset) -> tuple[Config, PrivacySpec]:
    """Settings of noisy reweighting; pure ε with Laplace noise."""
    left, right = st.columns(2, gap="medium")
    with left:
        epsilon = widgets.epsilon_slider("nr_epsilon", persist_state="session")
        degree = st.slider("d (degree of the statistics)", 1, 3, 2, key="nr_degree", persist_state="session")
        rows = st.number_input("k (rows)", 1, 1_000_000, current.parts[0].n, key=f"nr_rows_{current.revision}")
        noise = st.segmented_control(
            "Noise",
            _NOISE,
            default="laplace",
            required=True,
            format_func=str.title,
            key="nr_noise",
            persist_state="session",
            help="Laplace is the paper's and gives pure ε; Gaussian needs δ.",
        )
        delta = widgets.delta_slider("nr_delta", persist_state="session") if noise == "gaussian" else 0.0
    with right:
        statistics = st.selectbox(
            "Statistics",
            _STATISTICS,
            key="nr_statistics",
            persist_state="session",
            format_func={
                "auto": "The better family here",
                "walsh": "Walsh functions",
                "contingency": "Contingency tables",
            }.__getitem__,
        )
        space = st.selectbox(
            "Reduced space drawn from",
            _SPACES,
            key="nr_space",
            persist_state="session",
            format_func={
                "uniform": "the uniform measure (the paper)",
                "marginals": "a product of private one-way marginals",
            }.__getitem__,
        )
        share = 0.2
        if space == "marginals":
            share = st.slider(
                "Share of the budget for these marginals", 0.05, 0.95, 0.2, 0.05, key="nr_share", persist_state="session"
            )
        default = st.toggle("Reduced space size m: the default", True, key="nr_default_m", persist_state="session")
        m = st.number_input(
            "m (points of the reduced space)", 10, 100_000, 3000, key="nr_m", disabled=default, persist_state="session"
        )
    config = NoisyReweighting(
        degree=degree,
        statistics=statistics,
        noise=noise,
        rows=int(rows),
        reduced_space=space,
        marginal_share=share,
        reduced_space_size=None if default else int(m),
    )
    return config, PrivacySpec(epsilon, delta)


def dp_cda(current: Dataset) -> tuple[Config, PrivacySpec]:
    """Settings of DP-CDA; needs δ > 0 and a target."""
    left, right = st.columns(2, gap="medium")
    with left:
        epsilon = widgets.epsilon_slider("cda_epsilon", value=3.16, persist_state="session")
        delta = widgets.delta_slider("cda_delta", persist_state="session")
        order = st.select_slider(
            "l (order of mixture)",
            (1, 2, 4, 8, 16, 32, 64, 128, 256, 512),
            8,
            key="cda_order",
            persist_state="session",
            help="How many records of a class are averaged into one synthetic row.",
        )
        rows = st.number_input(
            "T (rows in all, shared equally among the classes)",
            1,
            1_000_000,
            min(current.parts[0].n, 1000),
            key=f"cda_rows_{current.revision}",
            help="Every further row costs privacy: fewer rows need less noise.",
        )
    with right:
        options = list(current.classes)
        target = st.selectbox(
            "Class",
            options,
            index=options.index(current.target) if current.target in options else None,
            key=f"cda_target_{current.revision}",
            placeholder="No column has 2 to 50 categories and no empty cells",
        )
        estimate = st.toggle(
            "Estimate the class sizes privately",
            True,
            key="cda_estimate",
            persist_state="session",
            help="Otherwise state a lower bound that is public knowledge.",
        )
        if estimate:
            share = st.slider(
                "Share of ε for the class sizes", 0.02, 0.5, 0.1, 0.02, key="cda_share", persist_state="session"
            )
            sizes = None
        else:
            share = 0.1
            sizes = int(
                st.number_input(
                    "Public lower bound on every class's size", 1, 10_000_000, 100, key="cda_sizes", persist_state="session"
                )
            )
        clip = st.slider("c (largest norm of a record)", 0.1, 1.0, 1.0, 0.05, key="cda_clip", persist_state="session")
    if target is None:
        raise ParameterError("target", None, "DP-CDA needs a class: a column with 2 to 50 categories and no empty cells")
    config = DPCDA(
        target=target, order_of_mixture=order, rows=int(rows), class_sizes=sizes, count_share=share, clip_norm=clip
    )
    return config, PrivacySpec(epsilon, delta)


FORMS: dict[str, Form] = {
    PrivateSampling.name: private_sampling,
    NoisyReweighting.name: noisy_reweighting,
    DPCDA.name: dp_cda,
}
