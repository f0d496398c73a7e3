"""Private sampling: which certificate is the smallest, where they cross, and every inverse question."""

from __future__ import annotations

from typing import Literal

import pandas as pd
import streamlit as st

from dpsyn.figures.certificates import AXES, certificates_info, draw_certificates
from dpsyn.figures.floor_tradeoff import draw_floor_tradeoff, floor_tradeoff_info
from dpsyn.figures.plane import draw_plane, plane_info
from dpsyn.theory.certificates import CertificateAnswer, certificate_answers
from dpsyn.theory.inverses import inverse_frame, sampling_inverses
from dpsyn.theory.setting import sampling_setting
from dpsyn.ui import widgets
from dpsyn.ui.explorer.setting import Explorer

_SPREADS: tuple[Literal["data", "ideal"], ...] = ("data", "ideal")


def show(explorer: Explorer) -> None:
    """Draw the section."""
    setting = sampling_setting(explorer.stats, explorer.spec, rows=explorer.rows, **explorer.bounds)
    widgets.heading("Three certificates for k rows", explorer.private)
    st.dataframe(answers_table(certificate_answers(setting)), hide_index=True)
    st.caption(
        "A release is certified with the smaller of the first two. The stability bound is unpublished: it is shown and "
        "never certifies."
    )
    vary = st.selectbox("Vary", list(AXES), key="f_vary", bind="query-params", format_func=AXES.__getitem__)
    info = certificates_info(explorer.stats, explorer.spec, vary=vary, rows=explorer.rows, **explorer.bounds)
    st.altair_chart(draw_certificates(info), key="certificates")
    widgets.heading("Where data would have to lie", explorer.private)
    spread = st.segmented_control(
        "‖f‖∞ on the map is",
        _SPREADS,
        default="data",
        required=True,
        key="f_spread",
        bind="query-params",
        format_func={"data": "that of the data", "ideal": "2^-p, the ideal cube"}.__getitem__,
    )
    chosen = [c.stats for c in explorer.chosen]
    plane = plane_info(chosen, explorer.spec, spread=spread, rows=explorer.rows, **explorer.bounds)
    st.altair_chart(draw_plane(plane), key="plane")
    widgets.heading("The trade-off in floor", explorer.private)
    tradeoff = floor_tradeoff_info(explorer.stats, explorer.spec, rows=explorer.rows, **explorer.bounds)
    st.altair_chart(draw_floor_tradeoff(tradeoff), key="floor_tradeoff")
    widgets.heading("What would make each condition true, the rest fixed", explorer.private)
    inverses = inverse_frame(sampling_inverses(setting)).replace("does not depend on it", "·")
    widths = {name: st.column_config.TextColumn(width=150) for name in inverses.columns[2:]}
    st.dataframe(inverses, hide_index=True, height="content", column_config=widths)
    st.caption("A dot: the condition does not depend on this parameter.")


def answers_table(answers: tuple[CertificateAnswer, ...]) -> pd.DataFrame:
    """The smallest ε for these rows and the largest k for this ε, a line a certificate."""
    return pd.DataFrame(
        {
            "Certificate": [a.name for a in answers],
            "Smallest ε for k": [widgets.number(a.smallest_epsilon) if a.applies else "—" for a in answers],
            "Largest k for ε": [widgets.number(a.largest_rows) if a.applies else "—" for a in answers],
            "": ["certifies" if a.certifies else a.reason for a in answers],
        }
    )
