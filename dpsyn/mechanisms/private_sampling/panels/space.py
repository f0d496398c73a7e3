"""Steps 1 and 2: the reduced space and its spectrum."""

from __future__ import annotations

import streamlit as st

from dpsyn.kit import formulas, widgets
from dpsyn.kit.charts import show_chart
from dpsyn.kit.panel import panel, reads_domain
from dpsyn.kit.visit import Dataset
from dpsyn.mechanisms.private_sampling.figures.spectrum import draw_spectrum, spectrum_info
from dpsyn.mechanisms.private_sampling.formulas import PAPER, threshold_formula
from dpsyn.mechanisms.private_sampling.panels.controls import Settings, space_of


def show_space(current: Dataset, settings: Settings) -> None:
    """The spectrum of W Wᵀ/m against the threshold."""
    with panel(
        "Is the reduced space good enough?",
        badge=reads_domain(current),
        caption="Step 1 draws S without looking at the data; step 2 tests that the functions $w_J$ stay independent on it. "
        "The test bounds how far one row can move the answer, and it fails or passes for every dataset alike.",
    ):
        space = space_of(current, settings)
        info = spectrum_info(space)
        left, right = st.columns([3, 1], gap="medium")
        show_chart(draw_spectrum(info), key="is_spectrum", place=left)
        with right:
            st.metric(r"$\sigma_{\min}(W)$", widgets.number(info.smallest_singular_value))
            st.metric(f"must reach √m/(2{info.bound})", widgets.number(info.singular_threshold))
            if info.failed:
                st.error("Failure: the algorithm stops here. Draw S again, or take more points.", icon=":material/block:")
            else:
                st.success("Step 2 passes.", icon=":material/check_circle:")
            line = threshold_formula(
                reduced_space_size=space.m,
                degree=space.degree,
                cube=info.bound != "B",
                smallest=info.smallest_singular_value,
                threshold=info.singular_threshold,
            )
            formulas.expander([line], PAPER)
            if info.bound == "B":
                st.caption("B is what eᵈ is on the cube: ‖f‖₂ ≤ B·‖f‖₁ for every combination f of the functions.")
            st.caption(
                f"{space.dimension:,} functions, {space.m:,} points"
                + (
                    ": the whole domain, on which the functions are orthonormal, so every eigenvalue is 1."
                    if space.whole
                    else f", {len(space.points):,} of them distinct. The grey band is where independent draws of this size "
                    "settle (Marchenko and Pastur)."
                )
            )
