"""The documents of docs/ that the app shows: one page for an analyst, the guarantees, and where the papers are wrong."""

from __future__ import annotations

import re
from pathlib import Path
from urllib.parse import urlencode

import streamlit as st

from dpsyn.ui import share

DOCS = Path(__file__).parents[2] / "docs"
DOCUMENTS = {
    "Which mechanism, when?": "which_mechanism.md",
    "What is guaranteed": "guarantees.md",
    "Where the papers are wrong": "errata.md",
}
READ = "read"
_TITLES = {file: title for title, file in DOCUMENTS.items()}


def show() -> None:
    """Choose a document, and its text; at first none."""
    title = st.segmented_control("Documents", list(DOCUMENTS), key=READ, bind="query-params")
    if title is not None:
        with st.container(border=True, key="document"):
            st.markdown(text_of(DOCUMENTS[title]))


def text_of(file: str) -> str:
    """A document as Markdown, its title a heading of the second level, whose links to the others open them in the app.

    Larger type stays while it is on.
    """

    def address(found: re.Match[str]) -> str:
        return f"](lessons?{urlencode({READ: _TITLES[found[1]], **share.presenting()})})"

    files = "|".join(map(re.escape, _TITLES))
    return "#" + re.sub(rf"\]\(({files})\)", address, (DOCS / file).read_text(encoding="utf-8"))
