"""Where the published guarantee breaks: its formula, and its z-score."""

from __future__ import annotations

import math

import streamlit as st

from dpsyn.kit import screen, widgets
from dpsyn.kit.charts import show_chart
from dpsyn.kit.panel import empty, panel, reads_domain
from dpsyn.mechanisms.dp_cda.figures.published import ORDERS, PAPER, PublishedInfo, draw_published, published_info
from dpsyn.mechanisms.dp_cda.figures.z_score import AttackInfo, attack_info, draw_flip, flip_info
from dpsyn.mechanisms.dp_cda.mixing_noise import MixingFacts
from dpsyn.mechanisms.dp_cda.panels import _code as code
from dpsyn.mechanisms.dp_cda.panels._controls import Bench

THEIRS, OURS = "The paper's: N = T = 60,000, 10 classes", "This data"


def paper(bench: Bench) -> None:
    """Figure 3 with the exact ε, and the pair of datasets that breaks the z-score."""
    _formula(bench)
    _z_score(bench)


def _formula(bench: Bench) -> None:
    caption = "Figure 3 of the paper, with the exact ε of the same noise on the same axis."
    # The badge stands above the choice that it depends on.
    private = st.session_state.get("in_cda_sizes", THEIRS) == OURS
    with panel("What the formula says, and what is true", private, caption):
        with st.container(horizontal=True, vertical_alignment="bottom"):
            sizes = st.segmented_control(
                "Sizes", (THEIRS, OURS), default=THEIRS, required=True, key="in_cda_sizes", bind="query-params"
            )
            facts = PAPER if sizes == THEIRS else _facts(bench)
            options = [order for order in (1, 4, 16, 64, 128, 256, 512) if order <= facts.smallest_class]
            orders = st.multiselect(
                "l, up to five",
                options,
                [order for order in ORDERS if order in options] or options[:1],
                key=f"in_cda_lines_{sizes == THEIRS}_{facts.smallest_class}",
                bind="query-params",
                max_selections=5,
            )
        if not orders:
            st.caption("Choose an l.")
            return
        with st.spinner("Accounting …"):
            info = _published(facts, tuple(orders))
        screen.offer(lambda: code.paper(bench, facts, orders, attack=_attackable(bench)))
        show_chart(draw_published(info), key="in_cda_published")
        st.caption(info.verdict)


def _z_score(bench: Bench) -> None:
    caption = (
        "DP-CDA as published scales by the data's own mean and deviation. One record then decides the sign of all others."
    )
    with panel("The z-score gives everybody away", reads_domain(bench.current), caption):
        left, right = st.columns(2, gap="medium")
        flip = flip_info()
        show_chart(draw_flip(flip, scored=False), key="in_cda_before", place=left)
        show_chart(draw_flip(flip, scored=True), key="in_cda_after", place=right)
        n, classes = bench.current.table.n, len(bench.records.classes)
        if not _attackable(bench):
            empty(
                f"With {n:,} records in {classes} equal classes there is no row of l = {bench.order_of_mixture} to attack: "
                "take a smaller l."
            )
            return
        features = len(bench.current.table.domain) - 1
        found = _attack(n, features, classes, bench.order_of_mixture, bench.epsilon, bench.delta, bench.clip_norm)
        if found.sigma is None or found.refuted is None:
            empty("The published formula cannot reach this ε at any σ, so there is no claim to refute: raise ε.")
            return
        widgets.facts(
            {
                "The paper claims": f"ε = {widgets.number(found.claimed)}",
                "With its noise": f"σ = {widgets.number(found.sigma)}",
                "Proven from this pair": f"ε ≥ {_rounded_down(found.refuted)}",
            }
        )
        st.caption(
            f"For {n:,} records of {features:,} columns in {classes} equal classes, l = {bench.order_of_mixture}, as many "
            "rows as records: all records equal, but one that is higher in D and lower in D′. After the z-score every "
            "record of D is the mirror image of its twin, however small the step was, and the released rows tell D from D′."
        )


def _attackable(bench: Bench) -> bool:
    """Whether equal classes would have a row of l records."""
    n = bench.current.table.n
    return n >= 2 and n // len(bench.records.classes) >= bench.order_of_mixture


def _facts(bench: Bench) -> MixingFacts:
    """The sizes of this data as the formula's picture takes them."""
    counts = bench.sizes.counts
    return MixingFacts(
        n=sum(counts),
        classes=len(counts),
        smallest_class=min(counts),
        rows=bench.rows_per_class * len(counts),
        delta=bench.delta,
        clip_norm=bench.clip_norm,
    )


def _rounded_down(epsilon: float) -> str:
    """A lower bound for people, never more than it is."""
    return f"{math.floor(epsilon):,}" if epsilon >= 10 else f"{math.floor(epsilon * 100) / 100:g}"


@st.cache_data(max_entries=60, show_spinner=False)
def _published(facts: MixingFacts, orders: tuple[int, ...]) -> PublishedInfo:
    return published_info(facts, orders=orders)


@st.cache_data(max_entries=200, show_spinner=False)
def _attack(
    n: int, features: int, classes: int, order_of_mixture: int, epsilon: float, delta: float, clip_norm: float
) -> AttackInfo:
    return attack_info(
        n=n,
        features=features,
        classes=classes,
        order_of_mixture=order_of_mixture,
        epsilon=epsilon,
        delta=delta,
        clip_norm=clip_norm,
    )
