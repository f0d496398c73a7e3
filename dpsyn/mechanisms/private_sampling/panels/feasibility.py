"""Private sampling: which certificate is the smallest, where they cross, and every inverse question."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import groupby
from typing import Literal

import pandas as pd
import streamlit as st

from dpsyn.kit import widgets
from dpsyn.kit.charts import show_chart
from dpsyn.kit.explorer import Explorer
from dpsyn.mechanisms.private_sampling.answers import (
    SYMBOLS,
    CertificateAnswer,
    Inverse,
    certificate_answers,
    inverse_frame,
    sampling_inverses,
)
from dpsyn.mechanisms.private_sampling.figures.certificates import (
    AXES,
    certificates_info,
    draw_certificates,
    draw_floor_tradeoff,
    floor_tradeoff_info,
)
from dpsyn.mechanisms.private_sampling.figures.plane import draw_plane, plane_info
from dpsyn.mechanisms.private_sampling.setting import sampling_setting

_SHORT: Mapping[str, str] = {"none": "none", "any": "any", "independent": "·", "unknown": "not worked out"}
_WORDS = {"no value does": "none", "every value does": "any", "does not depend on it": "·"}
_BRIEFLY = {
    "floor": "Box: room below uniform",
    "ceiling": "Box: room above uniform",
    "rows_upper": "Few enough rows, private",
    "n": "Enough rows of data",
    "m_lower": "m large enough",
    "m_upper": "m small enough",
    "rows_lower": "Enough rows, accurate",
    "max_frequency": "No row too frequent",
    "promise": "Promise says something",
    "success": "Promise may come true",
    "theorem_4_1": "Private by Theorem 4.1",
    "bounded_ratio": "Private by bounded ratio",
}
"""The conditions by key, so short that a line of the table stays low."""
_NOTE_MARKS = "†‡§"
_SPREADS: tuple[Literal["data", "ideal"], ...] = ("data", "ideal")


def show(explorer: Explorer) -> None:
    """Draw the section."""
    setting = sampling_setting(explorer.stats, explorer.spec, rows=explorer.rows, **explorer.bounds)
    widgets.heading("Three certificates for k rows", explorer.private)
    widgets.text_table(answers_table(certificate_answers(setting)))
    st.caption(
        "A release is certified with the smaller of the first two. The stability bound is unpublished: it is shown and "
        "never certifies."
    )
    vary = st.selectbox("Vary", list(AXES), key="f_vary", bind="query-params", format_func=AXES.__getitem__)
    info = certificates_info(explorer.stats, explorer.spec, vary=vary, rows=explorer.rows, **explorer.bounds)
    show_chart(draw_certificates(info), key="certificates")
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
    show_chart(draw_plane(plane), key="plane")
    widgets.heading("The trade-off in floor", explorer.private)
    tradeoff = floor_tradeoff_info(explorer.stats, explorer.spec, rows=explorer.rows, **explorer.bounds)
    show_chart(draw_floor_tradeoff(tradeoff), key="floor_tradeoff")
    widgets.heading("What would make each condition true, the rest fixed", explorer.private)
    inverses = sampling_inverses(setting)
    widgets.text_table(inverses_table(inverses))
    notes = [f"{mark} {caveat[0].upper()}{caveat[1:]}." for caveat, mark in _notes(inverses).items()]
    dot = "A dot: the condition does not depend on this parameter. None, any: no value of it makes it true, every does."
    st.caption(" ".join([dot, *notes]))
    with st.expander("Why none, and why any"):
        for condition, group in groupby(inverses, key=lambda entry: _BRIEFLY[entry.condition]):
            reasons = [f"{SYMBOLS[e.parameter]}: {_SHORT[e.status]}, {e.reason}" for e in group if e.reason]
            if reasons:
                st.markdown(widgets.humanise(f"**{condition}** \n- " + "\n- ".join(reasons)))


def inverses_table(inverses: Sequence[Inverse]) -> pd.DataFrame:
    """The thresholds of every condition by parameter, in a word where there is none; what is wrong with one is a mark."""
    frame = inverse_frame([replace(entry, reason="", label=_BRIEFLY[entry.condition]) for entry in inverses])
    for caveat, mark in _notes(inverses).items():
        frame = frame.map(lambda cell, said=f" ({caveat})", mark=mark: cell.replace(said, f"\N{NO-BREAK SPACE}{mark}"))
    return frame.replace(_WORDS)


def _notes(inverses: Sequence[Inverse]) -> dict[str, str]:
    """What is wrong with some of the thresholds, and the mark that says so."""
    caveats = dict.fromkeys(entry.remedy.caveat for entry in inverses if entry.remedy and entry.remedy.caveat)
    return dict(zip(caveats, _NOTE_MARKS, strict=False))


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
