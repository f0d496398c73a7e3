"""The order of mixture: noise, signal, and the accuracy that a classifier reaches."""

from __future__ import annotations

from typing import Any

import streamlit as st

from dpsyn.kit import jobs, screen, visit
from dpsyn.kit.charts import show_chart
from dpsyn.kit.panel import empty, panel
from dpsyn.mechanisms.dp_cda.figures.accuracy import accuracy_info, best_line, draw_accuracy
from dpsyn.mechanisms.dp_cda.figures.order import OrderInfo, draw_needed, draw_order, order_info
from dpsyn.mechanisms.dp_cda.panels import _code as code
from dpsyn.mechanisms.dp_cda.panels._controls import ORDERS, Bench
from dpsyn.notation import short

_KEPT = "in_cda_accuracy"
_OTHERS = (1.0, 5.0, 10.0, 20.0)
_NO_NOISE = "no noise"
MEASURED = (
    "It is no advice for classifiers where ε is large. Measured on Adult, a logistic regression that learns from rows made "
    "with this l is right for 0.819 of the real rows at ε = 5 (l = 38), 0.807 at ε = 10 (l = 54) and 0.755 at ε = 20 "
    "(l = 91), where always naming the majority is right for 0.758: the averages of a class hardly differ any more. A "
    "smaller l, fixed beforehand, serves better there. docs/dp_cda_accuracy.md has the table; below it can be measured here."
)
"""From the table that benchmarks/dp_cda_accuracy.py writes; a test compares."""


def order(bench: Bench) -> None:
    """Two columns of theory, and below them the measurement."""
    with st.spinner("Accounting …"):
        info = order_info(bench.records, bench.sizes, epsilon=bench.epsilon, here=bench.order_of_mixture)
    asked = _asked(bench)
    screen.offer(lambda: code.order(bench, asked))
    left, right = st.columns(2, gap="medium")
    with left:
        _needed(bench, info)
    with right:
        _signal(info)
    _accuracy(bench)


def _needed(bench: Bench, info: OrderInfo) -> None:
    caption = "More records in an average, less noise: one record moves it by 2c/l (by c/l in a Poisson sum)."
    with panel("Noise that l needs", True, caption):
        show_chart(draw_needed(info), key="in_cda_needed")
        st.caption(f"No row can average more than the {bench.sizes.smallest:,} records of the smallest class.")


def _signal(info: OrderInfo) -> None:
    caption = "What tells classes apart gains from every l; the variety inside a class is averaged away in the end."
    with panel("What is left of the records", True, caption):
        show_chart(draw_order(info), key="in_cda_signal")
        if info.best is not None:
            st.caption(
                f"l = {info.best} leaves the most of the variety inside a class. It follows from public numbers, so "
                "choosing it costs no privacy: how varied the records are lowers that curve and does not move its top."
            )
            st.caption(MEASURED)


def _accuracy(bench: Bench) -> None:
    caption = (
        "Figure 2 and Table 2 of the paper on this data: rows are made for every l, a logistic regression learns from them "
        "and is tested on the held-out real rows. The releases are demonstrations by a seed."
    )
    with panel("What a classifier makes of it", True, caption):
        held_out = bench.current.parts[1]
        if held_out is None:
            empty("There are no held-out rows to test on: the table has one row only.")
            return
        options = [order for order in ORDERS if order <= max(bench.records.sizes)]
        with st.form("in_cda_accuracy_form", border=False):
            left, middle, right, last = st.columns([5, 5, 2, 3], gap="medium", vertical_alignment="bottom")
            orders = left.multiselect(
                "l",
                options,
                [order for order in options if order <= 64],
                key=f"in_cda_tried_{bench.current.tag}",
                bind="query-params",
            )
            epsilons = sorted({*_OTHERS, bench.epsilon}, reverse=True)
            names = {_NO_NOISE: None} | {f"{value:g}": value for value in epsilons}
            chosen = middle.multiselect(
                "ε",
                list(names),
                [_NO_NOISE, f"{bench.epsilon:g}"],
                key=f"in_cda_tried_epsilons_{bench.epsilon}",
                bind="query-params",
                max_selections=5,
            )
            draws = right.number_input("Draws", 1, 20, 3, key="in_cda_draws", bind="query-params")
            asked = last.form_submit_button(
                "Measure", icon=":material/straighten:", type="primary", disabled=visit.job() is not None
            )
        if asked and orders and chosen:
            _measure(bench, orders, [names[name] for name in chosen], int(draws))
        elif asked:
            st.warning("Choose at least one l and one ε.", icon=":material/warning:")
        _measured(bench)


def _measure(bench: Bench, orders: list[int], epsilons: list[float | None], draws: int) -> None:
    learn, held_out = bench.current.parts
    asked: dict[str, Any] = {
        "target": bench.records.target,
        "epsilons": tuple(epsilons),
        "delta": bench.delta,
        "orders": tuple(sorted(orders)),
        "rows": bench.rows,
        "clip_norm": bench.clip_norm,
        "draws": draws,
    }
    setting = f"T = {bench.rows:,}, δ = {short(bench.delta)}, c = {bench.clip_norm:g}, {draws} draw{'s' * (draws > 1)}"
    visit.set_job(
        jobs.start(
            "dpsyn.evaluation.order_of_mixture:accuracy_by_order",
            label="Accuracy against l",
            context={
                "done": visit.keep_value,
                "key": _KEPT,
                "revision": bench.current.revision,
                "target": bench.records.target,
                "subtitle": setting,
                "asked": asked,
            },
            table=learn,
            holdout=held_out,
            **asked,
        )
    )
    st.rerun()


def _kept(bench: Bench) -> dict[str, Any] | None:
    """The last measurement, if it is of this data and class."""
    found: dict[str, Any] | None = st.session_state.get(_KEPT)
    if found is None or (found["revision"], found["target"]) != (bench.current.revision, bench.records.target):
        return None
    return found


def _asked(bench: Bench) -> dict[str, Any] | None:
    found = _kept(bench)
    return None if found is None else found["asked"]


def _measured(bench: Bench) -> None:
    found = _kept(bench)
    if found is None:
        st.caption("Nothing has been measured yet for this data and class. A few l take a few seconds each.")
        return
    scores = found["value"]
    info = accuracy_info(scores, found["subtitle"])
    if info.lines:
        show_chart(draw_accuracy(info), key="in_cda_accuracy_chart")
        st.caption(best_line(info))
    notes = dict.fromkeys(score.note for score in scores.scores if score.accuracy is None)
    for note in list(notes)[:3]:
        st.caption(f"A release that could not be made: {note}")
    if not scores.public_sizes:
        st.caption("The smallest class has fewer records than some l: there the sizes were estimated from a share of ε.")
