"""Measured against predicted time."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

import pandas as pd
import streamlit as st

from dpsyn.kit import jobs, screen, visit, widgets
from dpsyn.kit.charts import show_chart
from dpsyn.kit.panel import empty, panel
from dpsyn.kit.visit import Dataset
from dpsyn.mechanisms.private_sampling import PrivateSampling
from dpsyn.mechanisms.private_sampling.calibration import Calibration
from dpsyn.mechanisms.private_sampling.figures.timing import MeasuredRun, draw_timing, timing_info
from dpsyn.mechanisms.private_sampling.panels import code
from dpsyn.mechanisms.private_sampling.panels.controls import Settings, instance_of, remembered

_HEADINGS = {
    "run": "Run",
    "m": "m",
    "dimension": "C",
    "program": "Program",
    "measured": "Measured",
    "predicted": "Predicted by our law",
    "paper": "Paper's rule",
}


def show_timing(current: Dataset, settings: Settings) -> None:
    """The instance at hand and this visit's releases, beside the paper's rule and our law."""
    with panel(
        "How long it takes, and how long it was said to take",
        badge=True,
        caption="Running times depend on the private rows, so they are for teaching too.",
    ):
        if settings.ceiling < 1 + settings.floor:
            empty("There is nothing to time: the ceiling must be at least 1 + floor.")
            return
        instance = instance_of(current, settings)
        screen.offer(lambda: code.timing(current, settings))
        key = ("seconds", current.revision, settings)
        linear, quadratic = remembered(key, lambda: instance.seconds(settings.floor, settings.ceiling))
        here = MeasuredRun("here, now", len(instance.space.points), instance.space.dimension, linear, quadratic)
        runs = [*released(st.session_state.get("releases", [])), here]
        calibration: Calibration | None = st.session_state.get("calibration", {}).get("value")
        info = timing_info(runs, calibration)
        show_chart(draw_timing(info), key="is_timing")
        table = pd.DataFrame([asdict(row) for row in info.rows]).rename(columns=_HEADINGS)
        st.dataframe(widgets.with_thousands(table), hide_index=True, height="content")
        with st.container(horizontal=True, vertical_alignment="center"):
            label = "Measure this machine" if calibration is None else "Measure this machine again"
            if st.button(label, icon=":material/timer:", key="is_calibrate", disabled=visit.job() is not None):
                context = {"done": visit.keep_value, "key": "calibration"}
                visit.set_job(
                    jobs.start(
                        "dpsyn.mechanisms.private_sampling.calibration:calibrate",
                        label="Timing the LP and the QP",
                        context=context,
                    )
                )
                st.rerun()
            st.caption("Fits the law to small programs on this machine: some seconds.", width="content")


def released(releases: list[Any]) -> list[MeasuredRun]:
    """The runs of private sampling of this visit, with what their two programs took."""
    runs = []
    for made in releases:
        found = made.release.diagnostics
        seconds = found.get("seconds", {})
        if made.release.mechanism != PrivateSampling.name or "linear program" not in seconds:
            continue
        points = int(found.get("distinct_points", found["reduced_space_size"]))
        runs.append(
            MeasuredRun(
                f"release {made.number} · {made.dataset}",
                points,
                int(found["functions"]),
                seconds["linear program"],
                seconds.get("quadratic program"),
            )
        )
    return runs
