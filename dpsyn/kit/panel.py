"""The frame of every picture of the page "Inside": a title, what the picture reads, a sentence, and a calm empty state."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import streamlit as st

from dpsyn.errors import DpsynError
from dpsyn.kit import widgets
from dpsyn.kit.visit import Dataset


@contextmanager
def panel(title: str, badge: bool, caption: str = "") -> Iterator[None]:
    """A bordered panel: ``with panel("Spectrum", badge=False, caption="…"):``. Use it inside a fragment.

    What dpsyn raises on purpose while the panel is drawn is shown in its place, so one panel never takes the page along.

    Args:
        title: a few words.
        badge: whether the panel reads private data, as :func:`dpsyn.kit.widgets.badge` says it.
        caption: one or two sentences on what is to be seen.
    """
    with st.container(border=True):
        _head(title, badge)
        if caption:
            st.caption(caption)
        try:
            yield
        except DpsynError as fault:
            empty(widgets.humanise(str(fault)))


def _head(title: str, reads: bool) -> None:
    with st.container(horizontal=True, vertical_alignment="center", horizontal_alignment="distribute"):
        st.markdown(f"## {title}", width="content", anchors=False)
        widgets.badge(reads)


def reads_domain(current: Dataset) -> bool:
    """Whether a panel that uses no more than the domain reads private data: yes, until the domain is confirmed as public."""
    return not current.table.domain.is_public


def empty(reason: str) -> None:
    """Why a panel has nothing to show, and what would change that."""
    st.info(reason, icon=":material/info:")
