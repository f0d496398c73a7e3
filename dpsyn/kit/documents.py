"""The documents of docs/ that the app shows: one page for an analyst, the guarantees, and where the papers are wrong."""

from __future__ import annotations

import re
from pathlib import Path
from urllib.parse import urlencode

import streamlit as st

from dpsyn.kit import screen

DOCS = Path(__file__).parents[2] / "docs"
GUARANTEES, ERRATA = "What is guaranteed", "Where the papers are wrong"
DOCUMENTS = {
    "Which mechanism, when?": "which_mechanism.md",
    GUARANTEES: "guarantees.md",
    ERRATA: "errata.md",
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
    """A document as Markdown, its title a heading of the second level, whose links to the others open them in the app."""
    files = "|".join(map(re.escape, _TITLES))
    text = (DOCS / file).read_text(encoding="utf-8")
    return "#" + re.sub(rf"\]\(({files})\)", lambda found: f"]({address(_TITLES[found[1]])})", text)


def address(title: str) -> str:
    """Of a document, relative to the app's own. Larger type stays while it is on."""
    return f"lessons?{urlencode({READ: title, **screen.presenting()})}"
