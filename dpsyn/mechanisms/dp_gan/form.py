"""The settings of DP-GAN as widgets."""

from __future__ import annotations

import streamlit as st

from dpsyn.kit import bins, categories
from dpsyn.kit.visit import Dataset
from dpsyn.mechanisms.base import Config
from dpsyn.mechanisms.dp_gan import DPGAN
from dpsyn.privacy.spec import PrivacySpec


def form(current: Dataset, epsilon: float, delta: float) -> tuple[Config, PrivacySpec]:
    """Settings of DP-GAN; needs δ > 0."""
    left, right = st.columns(2, gap="medium")
    with left:
        rows = categories.rows(current, "dp_gan")
        share = bins.histogram_share(current.table.domain, "dp_gan_histograms", 0.1, bind="query-params")
    with right:
        neighbouring = categories.neighbours("dp_gan")
        steps = st.select_slider(
            "T (steps)",
            [100, 300, 1_000, 3_000],
            1_000,
            key="dp_gan_steps",
            bind="query-params",
            help="More learn longer, each with more noise.",
        )
    rate = st.select_slider(
        "q (sampling rate)",
        [0.001, 0.003, 0.01, 0.03, 0.1],
        0.01,
        key="dp_gan_rate",
        bind="query-params",
        help="The probability with which a row has a part in a step.",
    )
    config = DPGAN(rows=rows, histogram_share=share, steps=steps, sampling_rate=rate)
    return config, PrivacySpec(epsilon, delta, neighbouring)
