"""Any mechanism under audit, on two small tables made for it: a claim, the job, and what tests of its output attained."""

from __future__ import annotations

import pandas as pd
import streamlit as st

from dpsyn.kit import jobs, visit
from dpsyn.kit.categories import neighbours
from dpsyn.kit.code import imports_of, script, written
from dpsyn.kit.show import show_chart
from dpsyn.kit.trade_off import draw_trade_off
from dpsyn.kit.widgets import empty, panel, text_table
from dpsyn.mechanisms.registry import MECHANISMS, title
from dpsyn.notation import short
from dpsyn.privacy.audit import Audit
from dpsyn.privacy.spec import PrivacySpec, rounded_down, rounded_up

NAME = "Audits"
_EPSILONS = (2.0, 3.0, 4.0, 5.0, 6.0)
_RUNS = (1_000, 4_000, 20_000)
_DELTA = 1e-5
_KEPT = "audits_found"


def show() -> None:
    """Settings, the job, and what it found."""
    caption = (
        "The mechanism runs many times on two tiny tables that differ in one row, the worst pair that is known for it. A "
        "curve is the best test that tells from the output which table it was: where its whole band lies in the grey, "
        "the claim is false; how far it stays above is what this pair leaves unused."
    )
    with panel("Does the claim survive?", False, caption):
        with st.form("audit_form", border=False):
            left, middle, right, last = st.columns([2, 2, 2, 2], gap="medium", vertical_alignment="bottom")
            with left:
                name = st.selectbox(
                    "Mechanism", list(MECHANISMS), format_func=title, key="audit_mechanism", bind="query-params"
                )
            with middle:
                epsilon = st.select_slider("Claimed ε", _EPSILONS, 4.0, key="audit_epsilon", bind="query-params")
            with right:
                runs = st.select_slider(
                    "Runs per side", _RUNS, 4_000, key="audit_runs", bind="query-params", format_func=lambda n: f"{n:,}"
                )
            with last:
                neighbouring = neighbours("audit")
            asked = st.form_submit_button(
                "Run the audit", icon=":material/fact_check:", type="primary", disabled=visit.job() is not None
            )
        spec = PrivacySpec(float(epsilon), _DELTA, neighbouring)
        visit.offer(lambda: _code(name, spec, int(runs)))
        if asked:
            task = "dpsyn.mechanisms.audit:audit_worst_case"
            context = {"done": visit.keep_value, "key": _KEPT, "of": name}
            visit.set_job(
                jobs.start(task, label=f"Audit of {title(name)}", context=context, name=name, spec=spec, runs=runs)
            )
            st.rerun()
        kept = st.session_state.get(_KEPT)
        if kept is None:
            empty(
                "Nothing has been audited yet in this visit. 4,000 runs per side take some seconds, 20,000 five times "
                "as long; of AIM and DualQuery, minutes."
            )
            return
        _found(kept["of"], kept["value"])


def _found(name: str, found: dict[str, Audit]) -> None:
    show_chart(draw_trade_off(found), key="audit_trade_off")
    text_table(pd.DataFrame([_line(what, audit) for what, audit in found.items()]))
    first = next(iter(found.values()))
    said = (
        f"{title(name)}, {first.runs:,} runs per side: they cannot show more than ε = {rounded_down(first.largest, 3)}, and "
        f"bounds hold with {first.confidence:.0%} confidence. It refutes a claim or says nothing. Nobody's rows are used."
    )
    st.caption(said)


def _line(what: str, audit: Audit) -> dict[str, str]:
    there = audit.sharpest or audit
    return {
        "Under audit": what,
        "Claimed": f"ε = {rounded_up(audit.claim or 0.0, 4)}",
        "By the runs": f"ε ≥ {rounded_down(audit.epsilon, 3)}",
        "Where a fault shows best": f"δ = {short(there.delta)}: ε = {rounded_up(there.claim or 0.0, 3)} claimed, "
        f"ε ≥ {rounded_down(there.epsilon, 3)}",
        "The claim": "is refuted" if audit.refuted else "stands",
    }


def _code(name: str, spec: PrivacySpec, runs: int) -> str:
    """The same audits; their runs are drawn anew."""
    body = f"""
found = audit_worst_case({name!r}, {written(spec)}, runs={runs})
for what, audit in found.items():
    print(f"{{what}}: {{audit}}", "REFUTED" if audit.refuted else "not refuted")
draw_trade_off(found).save("audits.html")
"""
    imports = imports_of("dpsyn", **{"kit.trade_off": "draw_trade_off", "mechanisms.audit": "audit_worst_case"})
    return script(f"Audits of {title(name)}.", body, None, imports)
