"""Showing verdicts: a card each, and their conditions as a table."""

from __future__ import annotations

from collections.abc import Sequence

import pandas as pd
import streamlit as st

from dpsyn.kit import formulas
from dpsyn.kit.widgets import badge, humanise, plain_text, power_of_ten, text_table
from dpsyn.theory.conditions import Condition, Verdict
from dpsyn.theory.logarithms import LN10
from dpsyn.theory.papers import Paper

_GROUPS = {"validity": "parameters", "privacy": "privacy", "accuracy": "accuracy"}


def verdict_card(verdict: Verdict, private: bool, domain_warning: str = "", paper: Paper | None = None) -> None:
    """Whether privacy and accuracy are within reach, and one sentence.

    Args:
        verdict: on one mechanism.
        private: it reads statistics of private rows.
        domain_warning: why no privacy holds yet on this domain, or empty.
        paper: where its theorems stand.
    """
    certified = verdict.holds_in("privacy") and verdict.holds_in("validity")
    accurate = verdict.holds_in("accuracy")
    has_accuracy = any(c.group == "accuracy" for c in verdict.conditions)
    with st.container(border=True, height="stretch"):
        with st.container(horizontal=True, horizontal_alignment="distribute", vertical_alignment="center", gap="xsmall"):
            st.markdown(f"## {verdict.title}", width="content", anchors=False)
            if st.button("Why?", key=f"why_{verdict.mechanism}", help="The formulas behind this verdict."):
                _why(verdict, paper)
        with st.container(horizontal=True, gap="xsmall"):
            if certified and domain_warning:
                st.badge("private only once the domain is confirmed", icon=":material/warning:", color="orange")
            else:
                _badge(certified, "private at this ε", "not certified private at this ε")
            if has_accuracy:
                _badge(accurate, "accuracy guaranteed", "accuracy not guaranteed")
            else:
                st.badge("no theorem on accuracy", icon=":material/help:", color="gray")
        st.markdown(humanise(verdict.summary).replace(" × 10", "\N{NO-BREAK SPACE}×\N{NO-BREAK SPACE}10"))
        if certified and domain_warning:
            st.caption(f":material/warning: {plain_text(domain_warning)} Confirm it on the page Data.")
        badge(private)


def _why(verdict: Verdict, paper: Paper | None) -> None:
    @st.dialog(verdict.title, width="large")
    def formulas_of_it() -> None:
        st.caption(formulas.TITLE)
        formulas.show_verdict(verdict, paper)

    formulas_of_it()


def _badge(holds: bool, yes: str, no: str) -> None:
    if holds:
        st.badge(yes, icon=":material/check_circle:", color="green")
    else:
        st.badge(no, icon=":material/cancel:", color="red")


def conditions_table(conditions: Sequence[Condition]) -> pd.DataFrame:
    """One line per condition: holds, what, actual, relation and required value, orders of magnitude, remedy, source."""
    return pd.DataFrame(
        {
            "": [_mark(c) for c in conditions],
            "Condition": [c.label for c in conditions],
            "Actual": ["—" if c.assumed else power_of_ten(c.log_actual / LN10) for c in conditions],
            "Required": ["taken for granted" if c.assumed else _required(c) for c in conditions],
            "Orders of magnitude": [None if c.assumed else c.slack_orders for c in conditions],
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


def show_conditions(conditions: Sequence[Condition]) -> None:
    """The table, with the orders of magnitude signed."""
    table = conditions_table(conditions)
    slack = table["Orders of magnitude"]
    text_table(table.assign(**{"Orders of magnitude": ["" if pd.isna(s) else f"{s:+.2f}".replace("-", "−") for s in slack]}))
    st.caption("Orders of magnitude: by how many powers of ten a condition holds (+) or is missed (−).")


def show_verdict(verdict: Verdict, paper: Paper | None = None) -> None:
    """Everything about one mechanism."""
    show_conditions(verdict.conditions)
    for note in verdict.notes:
        st.caption(humanise(note))
    if verdict.alternatives:
        with st.expander("Single certificates, and theorems as they were published"):
            show_conditions(verdict.alternatives)
            st.caption(
                "These are shown beside the verdict and do not decide it. What is experimental never certifies a release."
            )
    with st.expander(formulas.TITLE, icon=formulas.ICON):
        formulas.show_verdict(verdict, paper)
