"""The settings of private sampling as widgets."""

from __future__ import annotations

import streamlit as st

from dpsyn.domain import Domain
from dpsyn.errors import ParameterError
from dpsyn.kit import bins, widgets
from dpsyn.kit.visit import Dataset
from dpsyn.mechanisms.base import Config
from dpsyn.mechanisms.private_sampling import PrivateSampling
from dpsyn.mechanisms.private_sampling._reduced_space import MOST_DRAWS_OF_S, space_size
from dpsyn.mechanisms.private_sampling.certificates import is_degenerate
from dpsyn.privacy.spec import PrivacySpec

MOST_POINTS = 200_000_000
_SPACES = {"auto": "whatever fits", "cube": "the cube {−1, 1}^p", "product": "product of the categories"}


def form(current: Dataset, epsilon: float, delta: float) -> tuple[Config, PrivacySpec]:
    """Settings of private sampling; pure ε: it leaves δ unused."""
    left, right = st.columns(2, gap="medium")
    with left:
        degree = widgets.degree_slider()
        limit = st.toggle("As many rows as the guarantee allows", True, key="ps_most", bind="query-params")
        rows = st.number_input("k (rows)", 1, 100_000, 1, key="ps_rows", disabled=limit, bind="query-params")
    with right:
        floor = st.slider(
            "floor (the papers' δ)",
            0.01,
            0.5,
            0.25,
            0.01,
            key="ps_floor",
            bind="query-params",
            help="Smallest density allowed, relative to uniform. Large is private, small is accurate.",
        )
        ceiling = st.slider(
            "ceiling (the papers' Δ)",
            1.05,
            10.0,
            2.0,
            0.05,
            key="ps_ceiling",
            bind="query-params",
            help="Largest density allowed, relative to uniform. Choose it without looking at the data.",
        )
        space, size = _reduced_space()
        share = bins.histogram_share(current.table.domain, "ps_histograms", 0.0, bind="query-params")
    if ceiling >= 1 + floor and is_degenerate(floor, ceiling):
        st.warning(
            "This box is degenerate: only the uniform density fits, the rows will ignore the data, and ε is 0. Take floor "
            f"below 1/2 and ceiling above 1 + floor = {1 + floor:g}.",
            icon=":material/vertical_align_center:",
        )
    st.caption(_described(current.table.domain, degree, size, space))
    config = PrivateSampling(
        degree=degree,
        floor=floor,
        ceiling=ceiling,
        rows=None if limit else int(rows),
        reduced_space_size=size,
        space=space,
        histogram_share=share,
    )
    return config, PrivacySpec(epsilon)


def _reduced_space() -> tuple[str, int | None]:
    space = widgets.one_of(
        "Reduced space S is taken from",
        _SPACES,
        key="ps_space",
        help="The paper's cube needs columns of two values. Categories take the product of their values: as one-hot bits "
        "almost no point of the cube would be a row.",
    )
    usual = st.toggle(
        "m: the default",
        True,
        key="ps_whole",
        bind="query-params",
        help="The whole domain when it is small enough, otherwise independent uniform draws.",
    )
    m = st.number_input(
        "m (points of S)",
        10,
        MOST_POINTS,
        2000,
        key="ps_m",
        disabled=usual,
        bind="query-params",
        help="Draws from the domain, or all of it if it has no more rows. What does not fit in memory is refused.",
    )
    return str(space), None if usual else int(m)


def _described(domain: Domain, degree: int, size: int | None, space: str) -> str:
    try:
        found = space_size(domain, degree, size, space)
    except ParameterError:
        return ""  # calibration refuses for the same reason, and says so
    where = "the cube" if found.space == "cube" else "the product domain"
    if found.whole:
        return (
            f"S is the whole of {where}: {found.m:,} points, C = {found.dimension:,} functions, which are orthonormal on it."
        )
    return (
        f"S: m = {found.m:,} uniform draws from {where}, C = {found.dimension:,} functions. If they are nearly dependent on "
        f"S, step 2 says “Failure” and S is drawn again, up to {MOST_DRAWS_OF_S} times: it never looks at the data, so that "
        "costs no privacy."
    )
