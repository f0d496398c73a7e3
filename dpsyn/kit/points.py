"""What the forms of mechanisms on points have in common."""

from __future__ import annotations

import streamlit as st

from dpsyn.kit.visit import Dataset


def rows(current: Dataset, name: str, why: str) -> int | None:
    """How many rows to make, from a widget whose key begins with the mechanism's name; None for as many as there are."""
    n = current.parts[0].n
    found = st.number_input("Rows", 1, n, current.rows_made, key=f"{name}_rows_{current.tag}", **current.kept, help=why)
    return None if found == n else int(found)
