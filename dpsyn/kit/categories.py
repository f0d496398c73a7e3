"""What the forms of mechanisms on categories have in common."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import streamlit as st

from dpsyn.kit import bins, widgets
from dpsyn.kit.visit import Dataset
from dpsyn.privacy.spec import Neighbouring, PrivacySpec

OF_THESE = "Added to the rows to learn from, or removed from them: with a row more in the file, others are held out."
NEIGHBOURS: Mapping[Neighbouring, str] = {"replace_one": "replaced (n is public)", "add_remove": "added or removed"}


def settings(current: Dataset, name: str, epsilon: float, delta: float) -> tuple[dict[str, Any], PrivacySpec]:
    """Rows, histograms, neighbours and whether δ is used, from widgets whose keys begin with the mechanism's name."""
    left, right = st.columns(2, gap="medium")
    with left:
        count = rows(current, name)
        share = bins.histogram_share(current.table.domain, f"{name}_histograms", 0.1, bind="query-params")
    with right:
        neighbouring = neighbours(name)
        pure = st.toggle("Pure ε: leave δ unused", False, key=f"{name}_pure", bind="query-params")
    return {"rows": count, "histogram_share": share}, PrivacySpec(epsilon, 0.0 if pure else delta, neighbouring)


def rows(current: Dataset, name: str, more: str = "") -> int | None:
    """How many rows to make; None for as many as there are. ``more`` ends its help."""
    n = current.parts[0].n
    count = st.number_input(
        "k (rows)",
        1,
        max(1_000_000, n),
        current.rows_made,
        key=f"{name}_rows_{current.tag}",
        **current.kept,
        help=f"As many as you like: rows cost no privacy here. {more}".rstrip(),
    )
    return None if count == n else int(count)


def neighbours(name: str) -> Neighbouring:
    """What a neighbour does to a row."""
    return widgets.pick("Protected is a row that is", NEIGHBOURS, key=f"{name}_neighbouring", help=OF_THESE)
