"""The guarantee under audit: 20,000 runs a side of the mechanism's own noise."""

from __future__ import annotations

import math

import numpy as np
import streamlit as st

from dpsyn.errors import ParameterError
from dpsyn.kit import screen, widgets
from dpsyn.kit.panel import panel, reads_domain
from dpsyn.mechanisms.noisy_reweighting.audit import audit_noisy_reweighting
from dpsyn.mechanisms.noisy_reweighting.panels import _code as code
from dpsyn.mechanisms.noisy_reweighting.panels._controls import Bench
from dpsyn.privacy.audit import Audit
from dpsyn.privacy.spec import rounded_up

_FACTORS = {1.0: "as calibrated", 0.75: "a quarter too small", 0.5: "half of what it should be"}


def audit_panel(bench: Bench) -> None:
    """Run the audit on request, with a fault on purpose if one likes."""
    with panel(
        "Audit the guarantee",
        reads_domain(bench.current),
        "20,000 runs on each of two tables that differ in one row, the worst there is: how well do the noisy statistics "
        "tell them apart? The bound on ε holds with 99 % confidence. No row of the data is used.",
    ):
        left, right = st.columns([1, 1], gap="medium", vertical_alignment="bottom")
        factor = left.segmented_control(
            "Noise in the mechanism under audit",
            list(_FACTORS),
            default=1.0,
            required=True,
            format_func=_FACTORS.__getitem__,
            key="in_nr_factor",
            bind="query-params",
            help="A fault on purpose, to see that the audit finds it.",
        )
        screen.offer(lambda: code.audit(bench, factor))
        mechanism = bench.mechanism()
        if mechanism.statistic_count > 400:
            raise ParameterError("columns", f"{mechanism.statistic_count:,} statistics", "at most 400 while you wait")
        if not right.button("Run the audit", icon=":material/search_check:", key="in_nr_audit"):
            return
        with st.spinner("Running the noisy statistics 40,000 times …"):
            found = audit_noisy_reweighting(mechanism, noise_factor=factor, generator=np.random.default_rng())
        _verdict(found)


def _verdict(found: Audit) -> None:
    strongest = found.sharpest
    figures = {
        "ε claimed": rounded_up(found.claim or 0.0, 4),
        "ε at least, by the runs": widgets.number(math.floor(found.epsilon * 1000) / 1000),
    }
    if strongest is not None:
        figures[f"at δ = {widgets.number(strongest.delta)}: claimed"] = rounded_up(strongest.claim or 0.0, 3)
        figures["there at least"] = widgets.number(math.floor(strongest.epsilon * 1000) / 1000)
    widgets.facts(figures)
    sentence = (
        f"{_share(found)} of the runs on one table fall into the set that tells the two apart best, {_share(found, False)} "
        f"on the other: ε ≥ {math.floor(found.epsilon * 1000) / 1000:g} at δ = {found.delta:g}."
    )
    if strongest is not None:
        sentence += (
            f" A fault in the noise shows best at δ = {strongest.delta:.3g}: {_share(strongest)} against "
            f"{_share(strongest, False)}, so ε ≥ {math.floor(strongest.epsilon * 1000) / 1000:g} there, and the "
            f"calibration claims {strongest.claim or 0.0:.3g}."
        )
    sentence = widgets.humanise(sentence)
    if found.refuted:
        st.error(f"**The claim is refuted.** {sentence}", icon=":material/gpp_bad:")
    else:
        st.success(f"**Nothing speaks against the claim.** {sentence}", icon=":material/verified_user:")


def _share(found: Audit, likelier: bool = True) -> str:
    return f"{(found.hits if likelier else found.misses) / found.tested:.2%}"
