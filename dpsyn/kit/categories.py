"""What the forms of mechanisms on categories have in common."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import streamlit as st

from dpsyn.kit import bins
from dpsyn.kit.visit import Dataset
from dpsyn.privacy.spec import Neighbouring, PrivacySpec

_NEIGHBOURS: Mapping[Neighbouring, str] = {"replace_one": "replaced (n is public)", "add_remove": "added or removed"}


def settings(current: Dataset, name: str, epsilon: float, delta: float) -> tuple[dict[str, Any], PrivacySpec]:
    """Rows, histograms, neighbours and whether δ is used, from widgets whose keys begin with the mechanism's name."""
    n = current.parts[0].n
    left, right = st.columns(2, gap="medium")
    with left:
        rows = st.number_input(
            "k (rows)",
            1,
            max(1_000_000, n),
            n,
            key=f"{name}_rows_{current.tag}",
            **current.kept,
            help="As many as you like: rows cost no privacy here.",
        )
        share = bins.histogram_share(current.table.domain, f"{name}_histograms", 0.1, bind="query-params")
    with right:
        neighbouring = st.selectbox(
            "Protected is a row that is",
            list(_NEIGHBOURS),
            format_func=_NEIGHBOURS.__getitem__,
            key=f"{name}_neighbouring",
            bind="query-params",
        )
        pure = st.toggle("Pure ε: leave δ unused", False, key=f"{name}_pure", bind="query-params")
    made = {"rows": None if rows == n else int(rows), "histogram_share": share}
    return made, PrivacySpec(epsilon, 0.0 if pure else delta, neighbouring)
