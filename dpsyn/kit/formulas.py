"""Formulas behind a verdict or a claim, in LaTeX with the numbers filled in, and where each of them is proven."""

from __future__ import annotations

from collections.abc import Sequence

import streamlit as st

from dpsyn.kit import documents
from dpsyn.theory.claim_lines import ClaimFormula
from dpsyn.theory.conditions import Verdict
from dpsyn.theory.filled import fill
from dpsyn.theory.papers import Paper, is_corrected, paper_of

TITLE, ICON = "Formulas, with the numbers filled in", ":material/function:"


def source_link(source: str, paper: Paper | None) -> str:
    """Markdown: the source as a link to the paper that it is part of, or to our document with the proof.

    Args:
        source: of a condition or a claim, e.g. ``"Theorem 4.2"``.
        paper: of the mechanism.
    """
    paper = paper_of(source, paper)
    if paper is None:
        return f"[{source}]({documents.address(documents.GUARANTEES)})"
    errata = f", [what is corrected]({documents.address(documents.ERRATA)})" if is_corrected(source) else ""
    whose = "" if paper.name in source else f", {paper.name}"
    return f"[{source}{whose}]({paper.address}){errata}"


def show_verdict(verdict: Verdict, paper: Paper | None) -> None:
    """Each condition as the paper writes it, the same with the numbers of the page, its source and its note."""
    for condition in (*verdict.conditions, *verdict.alternatives):
        lines = [f"**{condition.label}** ({source_link(condition.source, paper)})", f"${condition.formula}$"]
        filled = fill(condition.formula, verdict.symbols)
        # The experimental bound has letters of its own, and another m.
        if filled != condition.formula and not condition.assumed and not condition.experimental:
            lines.append(f"${filled}$ — {'✓ holds' if condition.holds else '✗ fails'}")
        st.markdown("  \n".join([*lines, condition.note]))


def show_lines(lines: Sequence[ClaimFormula], paper: Paper | None) -> None:
    """Each line of a derivation with its letters, with its numbers, its source and its note."""
    for line in lines:
        source = f" ({source_link(line.source, paper)})" if line.source else ""
        shown = [rf"$\displaystyle {formula}$" for formula in (line.formula, line.filled) if formula]
        st.markdown("\n\n".join(filter(None, [f"**{line.label}**{source}", *shown, line.note])))


def expander(lines: Sequence[ClaimFormula], paper: Paper | None) -> None:
    """The lines of a derivation, to be opened below what they lead to; nothing where there are none."""
    if not lines:
        return
    with st.expander(TITLE, icon=ICON):
        show_lines(lines, paper)
