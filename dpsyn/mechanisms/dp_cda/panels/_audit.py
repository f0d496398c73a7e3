"""An audit that anyone can run: DP-CDA on its worst pairs of datasets, ours and as published."""

from __future__ import annotations

import math

import streamlit as st

from dpsyn.kit import jobs, screen, visit
from dpsyn.kit.charts import show_chart
from dpsyn.kit.panel import empty, panel
from dpsyn.mechanisms.dp_cda.figures.audits import audits_info, draw_audits
from dpsyn.mechanisms.dp_cda.panels import _code as code
from dpsyn.mechanisms.dp_cda.panels._controls import Bench
from dpsyn.notation import short
from dpsyn.privacy.audit import Audit
from dpsyn.privacy.spec import rounded_down

_KEPT = "in_cda_audit"
_CLAIMS = (1.0, 2.0, 4.0, 5.0, 6.0)
_RUNS = (2_000, 20_000, 100_000)
_LARGEST = 32
"""l: the classes of the audited table have 50 records each."""


def audit(bench: Bench) -> None:
    """Settings, the job, and what it found."""
    caption = (
        "The mechanism runs many times on two datasets that differ in one record, chosen so that its proof is attained. "
        "From how well the outputs tell them apart follows a lower bound on ε. It can refute a claim; it never proves one."
    )
    with panel("Does the claim survive?", False, caption):
        order = min(bench.order_of_mixture, _LARGEST)
        with st.form("in_cda_audit_form", border=False):
            left, middle, right = st.columns([2, 2, 3], gap="medium", vertical_alignment="bottom")
            claim = left.select_slider("Claimed ε", _CLAIMS, 4.0, key="in_cda_claim", bind="query-params")
            runs = middle.select_slider(
                "Runs a side", _RUNS, 20_000, key="in_cda_runs", bind="query-params", format_func=lambda n: f"{n:,}"
            )
            asked = right.form_submit_button(
                "Run the audits", icon=":material/fact_check:", type="primary", disabled=visit.job() is not None
            )
        st.caption(
            f"On a small table made for it: 100 records of 16 numbers in two classes, as many rows, l = {order}, "
            f"δ = {short(bench.delta)}. No private row is read."
        )
        screen.offer(lambda: code.audit(float(claim), bench.delta, order, int(runs)))
        if asked:
            _start(float(claim), bench.delta, order, int(runs))
        _found()


def _start(claim: float, delta: float, order: int, runs: int) -> None:
    visit.set_job(
        jobs.start(
            "dpsyn.mechanisms.dp_cda.audit_trial:audit_mixing",
            label="Audit of DP-CDA",
            context={"done": visit.keep_value, "key": _KEPT, "delta": delta, "order": order},
            epsilon=claim,
            delta=delta,
            order_of_mixture=order,
            runs=runs,
        )
    )
    st.rerun()


def _found() -> None:
    kept = st.session_state.get(_KEPT)
    if kept is None:
        empty("Nothing has been audited yet in this visit. 20,000 runs a side take some seconds.")
        return
    found: dict[str, Audit] = kept["value"]
    info = audits_info(found)
    show_chart(draw_audits(info), key="in_cda_audits")
    said = [f"Found with l = {kept['order']} and δ = {short(kept['delta'])}."]
    refuted = [line.name for line in info.lines if line.refuted]
    if refuted:
        said.append(f"Refuted: {'; '.join(refuted)}.")
    if info.largest < info.claim:
        said.append(f"So few runs cannot show more than ε = {info.largest:.2f}, whatever the mechanism does.")
    if "as published, with its z-score" not in found:
        limit = rounded_down(math.log(1 / kept["delta"]) / 3, 4)
        said.append(f"As published no noise reaches this claim: the formula stays above ln(1/δ)/3 ≈ {limit}.")
    st.caption(" ".join(said))
