"""Private sampling: which certificate is the smallest, where they cross, and every inverse question."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import groupby
from typing import Any, Literal

import pandas as pd
import streamlit as st

from dpsyn.kit import code, screen, widgets
from dpsyn.kit.charts import show_chart
from dpsyn.kit.explorer import DEGREE, FAILURE_PROBABILITY, REDUCED_SPACE_SIZE, ROWS, Explorer, Slider
from dpsyn.mechanisms.private_sampling import PrivateSampling
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
from dpsyn.mechanisms.private_sampling.figures.feasibility import (
    draw_reduced_space,
    draw_rows_bound,
    reduced_space_info,
    rows_bound_info,
)
from dpsyn.mechanisms.private_sampling.figures.plane import draw_plane, plane_info
from dpsyn.mechanisms.private_sampling.panels import paper_tables
from dpsyn.mechanisms.private_sampling.setting import sampling_setting

Case = Literal["yours", "ideal"]
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
_CASES: tuple[Case, ...] = ("yours", "ideal")
_NOTE_MARKS = "†‡§"
_SPREADS: tuple[Literal["data", "ideal"], ...] = ("data", "ideal")


def show(explorer: Explorer) -> None:
    """Draw the section."""
    bounds, rows = _bounds(explorer), explorer.settings["rows"]
    setting = sampling_setting(explorer.stats, explorer.spec, rows=rows, **bounds)
    widgets.heading("Three certificates for k rows", explorer.private)
    widgets.text_table(answers_table(certificate_answers(setting)))
    st.caption(
        "A release is certified with the smaller of the first two. The stability bound is unpublished: it is shown and "
        "never certifies."
    )
    vary = st.selectbox("Vary", list(AXES), key="f_vary", bind="query-params", format_func=AXES.__getitem__)
    info = certificates_info(explorer.stats, explorer.spec, vary=vary, rows=rows, **bounds)
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
    plane = plane_info(chosen, explorer.spec, spread=spread, rows=rows, **bounds)
    show_chart(draw_plane(plane), key="plane")
    widgets.heading("The trade-off in floor", explorer.private)
    tradeoff = floor_tradeoff_info(explorer.stats, explorer.spec, rows=rows, **bounds)
    show_chart(draw_floor_tradeoff(tradeoff), key="floor_tradeoff")
    widgets.heading("What would make each condition true, the rest fixed", explorer.private)
    inverses = sampling_inverses(setting)
    widgets.text_table(inverses_table(inverses))
    notes = [f"{mark} {caveat[0].upper()}{caveat[1:]}." for caveat, mark in _notes(inverses).items()]
    dot = "A dot: the condition does not depend on this parameter. None, any: no value of it makes it true, every does."
    st.caption(" ".join([dot, *notes]))
    screen.offer(lambda: _code(explorer, vary, spread))
    with st.expander("Why none, and why any"):
        for condition, group in groupby(inverses, key=lambda entry: _BRIEFLY[entry.condition]):
            reasons = [f"{SYMBOLS[e.parameter]}: {_SHORT[e.status]}, {e.reason}" for e in group if e.reason]
            if reasons:
                st.markdown(widgets.humanise(f"**{condition}** \n- " + "\n- ".join(reasons)))


def overview(explorer: Explorer) -> None:
    """The two pictures below the verdicts: how many rows, and how large a reduced space."""
    case = st.segmented_control(
        "In the pictures, n is",
        _CASES,
        default="yours",
        required=True,
        key="f_case",
        bind="query-params",
        format_func={"yours": "that of the data", "ideal": "2^p: the ideal cube, every point once"}.__getitem__,
    )
    widgets.heading("How many rows, and how large a reduced space", explorer.focus.private)
    left, right = st.columns(2, gap="medium")
    bounds, rows = _bounds(explorer), explorer.settings["rows"]
    shown = rows_bound_info(explorer.stats, epsilon=explorer.spec.epsilon, rows=rows, case=case, **bounds)
    show_chart(draw_rows_bound(shown), key="rows_bound", place=left)
    show_chart(draw_reduced_space(reduced_space_info(explorer.stats, **bounds)), key="reduced_space", place=right)


def charts(explorer: Explorer) -> dict[str, Any]:
    """The pictures that can be saved, by file name."""
    stats, spec = explorer.stats, explorer.spec
    bounds, rows = _bounds(explorer), explorer.settings["rows"]
    return {
        "rows_against_p": draw_rows_bound(rows_bound_info(stats, epsilon=spec.epsilon, rows=rows, **bounds)),
        "window_for_m": draw_reduced_space(reduced_space_info(stats, **bounds)),
        "certificates_against_n": draw_certificates(certificates_info(stats, spec, rows=rows, **bounds)),
        "map_of_p_and_n": draw_plane(plane_info([c.stats for c in explorer.chosen], spec, rows=rows, **bounds)),
        "trade-off_in_floor": draw_floor_tradeoff(floor_tradeoff_info(stats, spec, rows=rows, **bounds)),
    }


def _bounds(explorer: Explorer) -> dict[str, Any]:
    return explorer.only("degree", "floor", "ceiling", "failure_probability", "reduced_space_size")


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


def _code(explorer: Explorer, vary: str, spread: str) -> str:
    """Certificates, the map, the trade-off in floor, and the inverse questions of private sampling."""
    body = f"""settings = dict(
{code.arguments(**_bounds(explorer), rows=explorer.settings["rows"])})
setting = sampling_setting(statistics, spec, **settings)
for answer in certificate_answers(setting):
    print(answer.name, "smallest epsilon", answer.smallest_epsilon, "largest k", answer.largest_rows, answer.reason)
print(inverse_frame(sampling_inverses(setting)).to_string())
draw_certificates(certificates_info(statistics, spec, vary={vary!r}, **settings)).save("certificates.html")
draw_plane(plane_info([statistics], spec, spread={spread!r}, **settings)).save("map.html")
draw_floor_tradeoff(floor_tradeoff_info(statistics, spec, **settings)).save("trade_off.html")
"""
    imports = (
        "from dpsyn.mechanisms.private_sampling.figures.certificates import certificates_info, draw_certificates\n"
        "from dpsyn.mechanisms.private_sampling.figures.certificates import draw_floor_tradeoff, floor_tradeoff_info\n"
        "from dpsyn.mechanisms.private_sampling.figures.plane import draw_plane, plane_info\n"
        "from dpsyn.mechanisms.private_sampling.answers import certificate_answers, inverse_frame, sampling_inverses\n"
        "from dpsyn.mechanisms.private_sampling.setting import sampling_setting\n"
    )
    return code.on_feasibility(explorer, body, imports)


def _floor() -> float:
    return st.slider(
        "floor (the papers' δ)",
        0.01,
        0.5,
        0.25,
        0.01,
        key="f_floor",
        bind="query-params",
        help="Smallest density allowed in private sampling, relative to uniform.",
    )


def _ceiling() -> float:
    return st.select_slider(
        "ceiling (the papers' Δ)",
        widgets.CEILINGS,
        2.0,
        key="f_ceiling",
        bind="query-params",
        format_func=lambda c: f"{c:.4g}",
        help="Largest density allowed, relative to uniform.",
    )


SLIDERS = (
    DEGREE,
    Slider("floor", _floor),
    Slider("ceiling", _ceiling),
    FAILURE_PROBABILITY,
    ROWS,
    REDUCED_SPACE_SIZE,
)
SECTIONS = {PrivateSampling.title: show, "The papers' tables": paper_tables.show}
