"""Verdicts and the formulas behind them, with the documents and papers that prove them."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from typing import Any
from urllib.parse import urlencode

import pandas as pd
import streamlit as st

from dpsyn.kit import visit
from dpsyn.kit.widgets import humanise, power_of_ten, said, text_table
from dpsyn.notation import signed
from dpsyn.places import HOME
from dpsyn.theory.conditions import Condition, Headline, Verdict
from dpsyn.theory.formulas import ClaimFormula, Paper, fill, is_corrected, paper_of
from dpsyn.theory.logarithms import LN10
from dpsyn.theory.thresholds import contradictions

DOCS = HOME / "docs"
GUARANTEES, ERRATA = "What is guaranteed", "Where the papers are wrong"
DOCUMENTS = {
    "Which mechanism, when?": "which_mechanism.md",
    "What is left out": "left_out.md",
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
    return f"lessons?{urlencode({READ: title, **visit.presenting()})}"


TITLE = "Formulas, with the numbers filled in"
HELD, BESIDE = "The conditions that hold", "Single certificates, and theorems as they were published"


def source_link(source: str, paper: Paper | None) -> str:
    """Markdown: the source as a link to the paper that it is part of, or to our document with the proof.

    Args:
        source: of a condition or a claim, e.g. ``"Theorem 4.2"``.
        paper: of the mechanism.
    """
    paper = paper_of(source, paper)
    if paper is None:
        return f"[{source}]({address(GUARANTEES)})"
    errata = f", [what is corrected]({address(ERRATA)})" if is_corrected(source) else ""
    whose = "" if paper.name in source else f", {paper.name}"
    return f"[{source}{whose}]({paper.address}){errata}"


def show_formulas(verdict: Verdict, paper: Paper | None) -> None:
    """The formulas of the conditions that fail, the worst first; folded, where there are such, those of the others."""
    st.caption(f"{TITLE}. {verdict.letters}".rstrip())
    missed, held = verdict.missed, [c for c in verdict.conditions if c.holds]
    _formulas(missed or held, verdict, paper)
    for title, others in ((HELD, held if missed else []), (BESIDE, verdict.alternatives)):
        if others:
            with st.expander(title):
                _formulas(others, verdict, paper)


def _formulas(conditions: Sequence[Condition], verdict: Verdict, paper: Paper | None) -> None:
    """Each condition as the paper writes it, the same with the numbers of the page, its source and its note."""
    for condition in conditions:
        lines = [f"**{condition.label}** ({source_link(condition.source, paper)})", f"${condition.formula}$"]
        filled = fill(condition.formula, verdict.symbols)
        # The experimental bound has letters of its own, and another m.
        if filled != condition.formula and not condition.assumed and not condition.experimental:
            lines.append(f"${filled}$ — {'✓ holds' if condition.holds else '✗ fails'}")
        st.markdown("  \n".join([*lines, condition.note]))


def expander(lines: Sequence[ClaimFormula], paper: Paper | None) -> None:
    """The lines of a derivation, each with its letters, its numbers, its source and its note, to be opened below what they
    lead to; nothing where there are none."""
    if not lines:
        return
    with st.expander(TITLE, icon=":material/function:"):
        for line in lines:
            source = f" ({source_link(line.source, paper)})" if line.source else ""
            shown = [rf"$\displaystyle {formula}$" for formula in (line.formula, line.filled) if formula]
            st.markdown("\n\n".join(filter(None, [f"**{line.label}**{source}", *shown, line.note])))


_GROUPS = {"validity": "parameters", "privacy": "privacy", "accuracy": "accuracy"}


_LEVELS = {
    "good": ":green[:material/check_circle:]",
    "open": ":orange[:material/help:]",
    "bad": ":red[:material/cancel:]",
}


def verdict_card(
    verdict: Verdict,
    domain_warning: str,
    paper: Paper | None,
    change: tuple[str, str, Any] | None,
    expected: str,
) -> None:
    """One number and one sentence, and a button for what would make every condition true.

    Args:
        verdict: on one mechanism.
        domain_warning: why no privacy holds yet on this domain, or empty.
        paper: where its theorems stand.
        change: words of the button, the key of the slider that it sets, and the value.
        expected: of a run, in a sentence; or empty.
    """
    headline = verdict.headline or Headline("—", verdict.summary, "good" if verdict.holds else "open")
    waits = bool(domain_warning) and headline.level != "bad"
    with st.container(border=True, height="stretch", gap="xsmall", key=f"card_{verdict.mechanism}"):
        with st.container(horizontal=True, horizontal_alignment="distribute", vertical_alignment="center", gap="xsmall"):
            st.markdown(f"## {verdict.title}", width="content", anchors=False)
            if st.button("Why?", key=f"why_{verdict.mechanism}", type="tertiary", help="The formulas behind this verdict."):
                _why(verdict, paper)
        st.markdown(f"### {_LEVELS['open' if waits else headline.level]} {said(headline.number)}", anchors=False)
        sentence = said(headline.sentence).replace(" × 10", "\N{NO-BREAK SPACE}×\N{NO-BREAK SPACE}10")
        st.markdown(sentence.replace("Private", "Once the domain is confirmed, this is private", 1) if waits else sentence)
        for text in filter(None, (_bought(verdict), expected)):
            st.caption(said(text))
        if change is not None:
            words, key, value = change
            st.button(words, key=f"set_{verdict.mechanism}", on_click=_set, args=(key, value), icon=":material/tune:")


def impossible_card(mechanism: str, title: str, reason: str) -> None:
    """In place of :func:`verdict_card`, for a mechanism that cannot run on these columns at any ε: that and why."""
    with st.container(border=True, height="stretch", gap="xsmall", key=f"card_{mechanism}"):
        st.markdown(f"## {title}", width="content", anchors=False)
        st.markdown(f"### {_LEVELS['bad']} Not possible for these columns", anchors=False)
        st.markdown(f"{said(reason).rstrip('.')}.")


def _bought(verdict: Verdict) -> str:
    """What a larger ε would buy, beside privacy, where conditions fail for want of it; or empty."""
    found = [(c, r) for c in verdict.missed if (r := c.remedy("epsilon")) is not None and r.log_value is not None]
    what = " and ".join(c.label[0].lower() + c.label[1:] for c, _ in found if c.group != "privacy")
    if not what:
        return ""
    rest = "" if len(found) == len(verdict.missed) else "; other conditions still fail"
    return f"At {max((r for _, r in found), key=lambda remedy: remedy.orders)} {what}{rest}."


def _set(key: str, value: Any) -> None:
    st.session_state[key] = value


def _why(verdict: Verdict, paper: Paper | None) -> None:
    @st.dialog(verdict.title, width="large")
    def formulas_of_it() -> None:
        show_formulas(verdict, paper)

    formulas_of_it()


def conditions_table(conditions: Sequence[Condition]) -> pd.DataFrame:
    """One line per condition: holds, what, actual, relation and required value, orders of magnitude, remedy, source."""
    return pd.DataFrame(
        {
            "": [_mark(c) for c in conditions],
            "Condition": [c.label for c in conditions],
            "Actual": ["—" if c.assumed else power_of_ten(c.log_actual / LN10) for c in conditions],
            "Required": ["assumed" if c.assumed else _required(c) for c in conditions],
            "Orders of magnitude": [
                c.slack_orders if math.isfinite(c.slack_orders) and not c.assumed else None for c in conditions
            ],
            "What would make it true (the rest fixed)": [humanise(c.fix) for c in conditions],
            "Concerns": [_GROUPS[c.group] for c in conditions],
            "Source": [c.source for c in conditions],
        }
    )


def _required(condition: Condition) -> str:
    sign = {"<=": "≤", ">=": "≥"}[condition.relation]
    sign = {"≤": "<", "≥": ">"}[sign] if condition.strict else sign
    return f"{sign} {power_of_ten(condition.log_required / LN10)}"


def _mark(condition: Condition) -> str:
    if condition.assumed:
        return "◇ assumed"
    return "✓ holds" if condition.holds else "✗ fails"


def show_conditions(conditions: Sequence[Condition], key: str) -> None:
    """The table, with the orders of magnitude signed."""
    table = conditions_table(conditions)
    slack = table["Orders of magnitude"]
    with st.container(key=f"conditions_{key}"):
        text_table(table.assign(**{"Orders of magnitude": ["" if pd.isna(s) else signed(s, 2) for s in slack]}))
    st.caption("Orders of magnitude: by how many powers of ten a condition holds (+) or is missed (−).")


def show_verdict(verdict: Verdict) -> None:
    """Everything about one mechanism but its formulas, which its card opens; what is published stands folded."""
    st.markdown(said(verdict.summary).replace(" × 10", "\N{NO-BREAK SPACE}×\N{NO-BREAK SPACE}10"))
    show_conditions(verdict.conditions, verdict.mechanism)
    if excluded := contradictions(remedy for condition in verdict.missed for remedy in condition.remedies):
        st.caption(said(" ".join(excluded)))
    for note in verdict.notes:
        st.caption(said(note))
    if verdict.alternatives:
        with st.expander(BESIDE, key=f"beside_{verdict.mechanism}", on_change="rerun") as opened:
            if opened.open:
                show_conditions(verdict.alternatives, f"beside_{verdict.mechanism}")
                st.caption(
                    "Shown beside the verdict, these do not decide it. What is experimental never certifies a release."
                )
