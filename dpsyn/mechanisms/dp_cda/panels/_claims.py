"""The z-score that breaks the published guarantee, and an audit that anyone can run."""

from __future__ import annotations

import math
from collections.abc import Mapping
from functools import partial
from typing import Any

import streamlit as st

from dpsyn.kit import jobs, visit, widgets
from dpsyn.kit.code import arguments, imports_of, script
from dpsyn.kit.show import show_chart
from dpsyn.kit.trade_off import draw_trade_off
from dpsyn.kit.visit import Dataset
from dpsyn.kit.widgets import empty, panel, reads_domain
from dpsyn.mechanisms.dp_cda.audit import PUBLISHED
from dpsyn.mechanisms.dp_cda.counterexamples import published_attack
from dpsyn.mechanisms.dp_cda.figures.paper import draw_audits, draw_flip
from dpsyn.mechanisms.dp_cda.inside import Inside
from dpsyn.notation import short
from dpsyn.privacy.audit import Audit
from dpsyn.privacy.spec import rounded_down

_KEPT = "in_cda_audit"
_EPSILONS = (1.0, 2.0, 4.0, 5.0, 6.0)
_RUNS = (2_000, 20_000, 100_000)
_LARGEST = 32
"""l: the classes of the audited table have 50 records each."""


def paper(current: Dataset, inside: Inside) -> None:
    """The pair of datasets that breaks the z-score."""
    caption = (
        "DP-CDA as published scales by the data's own mean and deviation. One record then decides the sign of all others."
    )
    with panel("The z-score gives everybody away", reads_domain(current), caption):
        left, right = st.columns(2, gap="medium")
        show_chart(draw_flip(scored=False), key="in_cda_before", place=left)
        show_chart(draw_flip(scored=True), key="in_cda_after", place=right)
        order, n, classes = inside.order_of_mixture, current.table.n, len(inside.records.classes)
        attacked = _attacked(current, inside)
        visit.offer(None if attacked is None else partial(_code_of_paper, attacked))
        if attacked is None:
            empty(
                f"With {n:,} records in {classes} equal classes there is no row of l = {order} to attack: take a smaller l."
            )
            return
        found = _attack(tuple(attacked.items()))
        if found is None:
            empty("The published formula cannot reach this ε at any σ, so there is no claim to refute: raise ε.")
            return
        sigma, refuted = found
        widgets.facts(
            {
                "The paper claims": f"ε = {widgets.number(inside.epsilon)}",
                "With its noise": f"σ = {widgets.number(sigma)}",
                # A lower bound, never more than it is.
                "Proven from this pair": "ε ≥ "
                + (f"{math.floor(refuted):,}" if refuted >= 10 else f"{math.floor(refuted * 100) / 100:g}"),
            }
        )
        st.caption(
            f"For {n:,} records of {attacked['features']:,} columns in {classes} equal classes, l = {order}, as many "
            "rows as records: all records equal, but one that is higher in D and lower in D′. After the z-score every "
            "record of D is the mirror image of its twin, however small the step was, and the released rows tell D from D′."
        )


def _attacked(current: Dataset, inside: Inside) -> dict[str, Any] | None:
    """The claim under attack; None where equal classes would not have a row of l records."""
    n, classes = current.table.n, len(inside.records.classes)
    if n < 2 or n // classes < inside.order_of_mixture:
        return None
    return {
        "n": n,
        "features": len(current.table.domain) - 1,
        "classes": classes,
        "order_of_mixture": inside.order_of_mixture,
        "epsilon": inside.epsilon,
        "delta": inside.delta,
        "clip_norm": inside.clip_norm,
    }


@st.cache_data(max_entries=200, show_spinner=False)
def _attack(attacked: tuple[tuple[str, Any], ...]) -> tuple[float, float] | None:
    return published_attack(**dict(attacked))


def _code_of_paper(attacked: Mapping[str, Any]) -> str:
    """The pair that breaks the z-score."""
    body = f"""
attack = published_attack(
{arguments(**attacked)})
print("claimed:", {attacked["epsilon"]!r}, "sigma and proven, epsilon >=:", attack)
"""
    imports = imports_of("dpsyn.mechanisms.dp_cda", counterexamples="published_attack")
    return script("Where the published guarantee of DP-CDA breaks.", body, None, imports)


def audit(current: Dataset, inside: Inside) -> None:
    """Settings, the job, and what it found."""
    caption = (
        "The mechanism runs many times on two datasets that differ in one record, chosen so that its proof is attained. "
        "From how well the outputs tell them apart follows a lower bound on ε. It can refute a claim; it never proves one."
    )
    with panel("Does the claim survive?", False, caption):
        order = min(inside.order_of_mixture, _LARGEST)
        with st.form("in_cda_audit_form", border=False):
            left, middle, right = st.columns([2, 2, 3], gap="medium", vertical_alignment="bottom")
            claim = left.select_slider("Claimed ε", _EPSILONS, 4.0, key="in_cda_claim", bind="query-params")
            runs = middle.select_slider(
                "Runs a side", _RUNS, 20_000, key="in_cda_runs", bind="query-params", format_func=lambda n: f"{n:,}"
            )
            asked = right.form_submit_button(
                "Run the audits", icon=":material/fact_check:", type="primary", disabled=visit.job() is not None
            )
        st.caption(
            f"On a small table made for it: 100 records of 16 numbers in two classes, as many rows, l = {order}, "
            f"δ = {short(inside.delta)}. No private row is read."
        )
        asked_for = {"epsilon": float(claim), "delta": inside.delta, "order_of_mixture": order, "runs": int(runs)}
        visit.offer(lambda: _code_of_audit(asked_for))
        if asked:
            visit.set_job(
                jobs.start(
                    "dpsyn.mechanisms.dp_cda.audit:audit_mixing",
                    label="Audit of DP-CDA",
                    context={"done": visit.keep_value, "key": _KEPT, "delta": inside.delta, "order": order},
                    **asked_for,
                )
            )
            st.rerun()
        _found()


def _code_of_audit(asked_for: Mapping[str, Any]) -> str:
    """The audits of the mechanism on its worst pairs; their runs are drawn anew."""
    body = f"""
found = audit_mixing(
{arguments(**asked_for)})
for name, audit in found.items():
    print(name, "claimed:", audit.claim, "at least:", audit.epsilon, "refuted" if audit.refuted else "not refuted")
draw_audits(found).save("audits.html")
"""
    imports = imports_of("dpsyn.mechanisms.dp_cda", **{"audit": "audit_mixing", "figures.paper": "draw_audits"})
    return script("Audits of DP-CDA.", body, None, imports)


def _found() -> None:
    kept = st.session_state.get(_KEPT)
    if kept is None:
        empty("Nothing has been audited yet in this visit. 20,000 runs a side take some seconds.")
        return
    found: dict[str, Audit] = kept["value"]
    show_chart(draw_audits(found), key="in_cda_audits")
    show_chart(draw_trade_off(found), key="in_cda_trade_off")
    said = [f"Found with l = {kept['order']} and δ = {short(kept['delta'])}."]
    refuted = [name for name, one in found.items() if one.refuted]
    if refuted:
        said.append(f"Refuted: {'; '.join(refuted)}.")
    first = next(iter(found.values()))
    if first.largest < (first.claim or 0.0):
        said.append(f"So few runs cannot show more than ε = {first.largest:.2f}, whatever the mechanism does.")
    if PUBLISHED not in found:
        limit = rounded_down(math.log(1 / kept["delta"]) / 3, 4)
        said.append(f"As published no noise reaches this claim: the formula stays above ln(1/δ)/3 ≈ {limit}.")
    st.caption(" ".join(said))
