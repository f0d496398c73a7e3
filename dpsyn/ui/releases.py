"""Calibrating with a memory, and showing a release."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd
import streamlit as st

from dpsyn.data.table import Table
from dpsyn.mechanisms.base import Config, Mechanism
from dpsyn.privacy.spec import PrivacySpec
from dpsyn.ui import widgets
from dpsyn.ui.state import Made

_REMEMBERED = 50


def calibrated(config: Config, spec: PrivacySpec, table: Table) -> Mechanism:
    """``config.calibrate(...)``, remembered within the session (from public facts only)."""
    memory: dict[str, Mechanism] = st.session_state.setdefault("calibrations", {})
    key = repr((config, spec, table.domain, table.n))
    if key not in memory:
        if len(memory) >= _REMEMBERED:
            memory.pop(next(iter(memory)))
        memory[key] = config.calibrate(spec, table.domain, n=table.n)
    return memory[key]


def diagnostics_table(values: Mapping[str, Any]) -> pd.DataFrame:
    """Names and short values; arrays are left out."""
    shown = {k: v for k, v in values.items() if not isinstance(v, np.ndarray | pd.DataFrame)}
    return pd.DataFrame({"quantity": [k.replace("_", " ") for k in shown], "value": [_short(v) for v in shown.values()]})


def _short(value: Any) -> str:
    if isinstance(value, bool) or value is None:
        return {True: "yes", False: "no", None: "—"}[value]
    if isinstance(value, int | float | np.number):
        return widgets.number(float(value), 4)
    if isinstance(value, Mapping):
        return ", ".join(f"{k}: {_short(v)}" for k, v in value.items())
    if isinstance(value, list | tuple):
        return ", ".join(_short(v) for v in value)
    return str(value)


def show_release(made: Made) -> None:
    """Preview, downloads, the guarantee, and the diagnostics apart."""
    release = made.release
    widgets.guarantee_card(release.guarantee, before=False)
    st.dataframe(release.rows.head(100), hide_index=True, height=min(36 * (min(len(release.rows), 100) + 1) + 4, 300))
    st.caption(f"{len(release.rows):,} rows, made in {made.seconds:.1f} s from {made.dataset}.")
    stem = f"{release.mechanism}_{made.number}"
    with st.container(horizontal=True):
        st.download_button(
            "Rows as CSV",
            release.rows.to_csv(index=False).encode(),
            f"{stem}.csv",
            "text/csv",
            key=f"csv_{made.number}",
            icon=":material/download:",
            on_click="ignore",
        )
        st.download_button(
            "Record of the run as JSON",
            json.dumps(release.record(seed=made.seed), indent=2, default=str),
            f"{stem}.json",
            "application/json",
            key=f"record_{made.number}",
            icon=":material/description:",
            on_click="ignore",
        )
    with st.popover("Diagnostics (not private)", icon=":material/lock_open:"):
        st.caption("These numbers depend on the private data. They are for teaching: never publish them.")
        st.dataframe(diagnostics_table(release.diagnostics), hide_index=True)
