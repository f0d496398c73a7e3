"""How much of a budget goes into the bins of numbers and dates."""

from __future__ import annotations

from typing import Any

import streamlit as st

from dpsyn.domain import Domain
from dpsyn.privacy.trees import levels_of


def histogram_share(domain: Domain, key: str, usual: float, **options: Any) -> float:
    """The setting ``histogram_share`` from a slider; what is usual where no column of the domain has a histogram."""
    # The first such column is enough to know: a form follows every slider, with thousands of columns too.
    if not any(attribute.is_binned and levels_of(attribute) for attribute in domain.attributes):
        return usual
    return st.slider(
        "Share of the budget for fine histograms",
        0.0,
        0.5,
        usual,
        0.05,
        key=key,
        help="They choose the bins of numbers and dates, unless the table is so small that noise would, and say what a bin "
        "really holds: spikes such as 0 or 40, and tails. "
        "At 0 bins are equally wide, and nothing is known inside them.",
        **options,
    )
