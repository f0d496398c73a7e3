"""Private sampling on Feasibility: its certificates, every inverse question, and the tables of Pierquin et al. (2023)."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from itertools import groupby
from typing import Any

import pandas as pd
import streamlit as st

from dpsyn.kit import code, visit, widgets
from dpsyn.kit.explorer import DEGREE, EPSILON, FAILURE_PROBABILITY, REDUCED_SPACE_SIZE, ROWS, Explorer, Slider
from dpsyn.kit.show import show_chart
from dpsyn.mechanisms.private_sampling import PrivateSampling
from dpsyn.mechanisms.private_sampling.answers import (
    SYMBOLS,
    CertificateAnswer,
    Inverse,
    certificate_answers,
    inverse_frame,
    sampling_inverses,
)
from dpsyn.mechanisms.private_sampling.bounds import PrivateSamplingSetting, sampling_setting
from dpsyn.mechanisms.private_sampling.figures.feasibility import (
    AXES,
    YOURS,
    Case,
    Lines,
    certificates_info,
    draw_lines,
    floor_tradeoff_info,
    reduced_space_info,
    rows_bound_info,
)
from dpsyn.mechanisms.private_sampling.figures.plane import Spread, draw_plane, plane_info
from dpsyn.mechanisms.private_sampling.tables import (
    MONTH,
    PUBLISHED_LARGEST_P,
    PUBLISHED_YEARS,
    YEAR,
    largest_p_within,
    paper_tables,
    quadprog_seconds,
)
from dpsyn.privacy.spec import PrivacySpec, rounded_up
from dpsyn.statistics import DatasetStatistics
from dpsyn.theory.datasets import ideal_cube
from dpsyn.theory.thresholds import contradictions

_WORDS = {"no value does": "none", "every value does": "any", "does not depend on it": "·"}
_BRIEFLY = {
    "floor": "Box: room below uniform",
    "ceiling": "Box: room above uniform",
    "rows_upper": "k small enough, private",
    "n": "n large enough",
    "m_lower": "m large enough",
    "m_upper": "m small enough",
    "rows_lower": "k large enough, accurate",
    "max_frequency": "No combination too common",
    "promise": "Bound below 1",
    "success": "Bound may hold",
    "theorem_4_1": "Private by Theorem 4.1",
    "bounded_ratio": "Private by bounded ratio",
}
"""The conditions by key, so short that a line of the table stays low."""
_ONE_IS_ENOUGH = ("theorem_4_1", "bounded_ratio")
_CASES: dict[Case, str] = {"yours": "the data's", "ideal": "2^p"}
_POINTS = 40
"""Of lines that are sent for every value of a slider."""
_NOTE_MARKS = "†‡§"
_SPREADS: dict[Spread, str] = {"data": "that of the data", "ideal": "2^-p, the ideal cube"}


def show(explorer: Explorer) -> None:
    """Draw the section."""
    setting = _setting(explorer)
    st.header("Three certificates for k rows", anchor=False)
    widgets.text_table(answers_table(certificate_answers(setting)))
    st.caption(
        "A release claims the bounded ratio where that is enough, and else the smaller of the two. Theorem 4.1 holds in "
        "exact arithmetic only. The stability bound is unpublished: it is shown and never certifies."
    )
    vary = widgets.pick("Vary", AXES, key="f_vary")
    show_chart(_lines(explorer, partial(certificates_info, vary=vary), "epsilon"), key="certificates")
    st.header("Where data would have to lie", anchor=False)
    spread = widgets.one_of("‖f‖∞ on the map is", _SPREADS, key="f_spread")
    show_chart(draw_plane(plane_info(setting, _others(explorer), spread=spread)), key="plane")
    st.header("The trade-off in floor", anchor=False)
    show_chart(_lines(explorer, floor_tradeoff_info, "epsilon"), key="floor_tradeoff")
    st.header("What would make each condition true, the rest fixed", anchor=False)
    inverses = sampling_inverses(setting)
    widgets.text_table(inverses_table(inverses))
    notes = [f"{mark} {caveat[0].upper()}{caveat[1:]}." for caveat, mark in _notes(inverses).items()]
    dot = "A dot: the condition does not depend on this parameter. None, any: no value of it makes it true, every does."
    st.caption(" ".join([dot, *notes]))
    needed = [entry.remedy for entry in inverses if entry.remedy and entry.condition not in _ONE_IS_ENOUGH]
    if excluded := contradictions(needed):
        st.caption(widgets.humanise(" ".join(excluded)))
    visit.offer(lambda: _code(explorer, vary, spread))
    with st.expander("Why none, and why any"):
        for condition, group in groupby(inverses, key=lambda entry: _BRIEFLY[entry.condition]):
            reasons = [f"{SYMBOLS[e.parameter]}: {e.status}, {e.reason}" for e in group if e.reason]
            if reasons:
                st.markdown(widgets.humanise(f"**{condition}** \n- " + "\n- ".join(reasons)))


def overview(explorer: Explorer) -> None:
    """The two pictures below the verdicts: how many rows, and how large a reduced space."""
    case = widgets.one_of("n in the pictures", _CASES, key="f_case")
    left, right = st.columns(2, gap="medium")
    show_chart(
        _lines(explorer, partial(rows_bound_info, case=case, points=_POINTS), "epsilon", "degree", "rows"),
        key="rows_bound",
        place=left,
    )
    show_chart(_lines(explorer, partial(reduced_space_info, points=_POINTS), "degree"), key="reduced_space", place=right)


def _lines(explorer: Explorer, info: Callable[[PrivateSamplingSetting], Lines], *followed: str) -> Any:
    """A picture that follows these sliders while they are dragged."""
    moved, sliders = explorer.moved(*followed)
    return draw_lines(info(_setting(explorer)), [info(_setting(each)) for each in moved], sliders)


def charts(explorer: Explorer) -> dict[str, Any]:
    """The pictures that can be saved, by file name."""
    setting = _setting(explorer)
    return {
        "rows_against_p": draw_lines(rows_bound_info(setting)),
        "window_for_m": draw_lines(reduced_space_info(setting)),
        "certificates_against_n": draw_lines(certificates_info(setting)),
        "map_of_p_and_n": draw_plane(plane_info(setting, _others(explorer))),
        "trade-off_in_floor": draw_lines(floor_tradeoff_info(setting)),
    }


def _settings(explorer: Explorer) -> dict[str, Any]:
    return explorer.only("degree", "floor", "ceiling", "failure_probability", "reduced_space_size", "rows")


def _setting(explorer: Explorer) -> PrivateSamplingSetting:
    return sampling_setting(explorer.stats, explorer.spec, **_settings(explorer))


def _others(explorer: Explorer) -> list[DatasetStatistics]:
    return [chosen.stats for chosen in explorer.chosen[1:]]


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
    """The smallest ε for these rows and the largest k for this ε, a line per certificate."""
    return pd.DataFrame(
        {
            "Certificate": [a.name for a in answers],
            "Smallest ε for k": [_at_least(a.smallest_epsilon) if a.applies else "—" for a in answers],
            "Largest k for ε": [widgets.number(a.largest_rows) if a.applies else "—" for a in answers],
            "": [a.words for a in answers],
        }
    )


def _at_least(epsilon: float) -> str:
    return widgets.number(epsilon if math.isinf(epsilon) else float(rounded_up(epsilon, 3)))


def _code(explorer: Explorer, vary: str, spread: str) -> str:
    """Certificates, the map, the trade-off in floor, and the inverse questions of private sampling."""
    body = f"""settings = dict(
{code.arguments(**_settings(explorer))})
setting = sampling_setting(statistics, spec, **settings)
for answer in certificate_answers(setting):
    print(answer.name, "smallest epsilon", answer.smallest_epsilon, "largest k", answer.largest_rows, answer.words)
print(inverse_frame(sampling_inverses(setting)).to_string())
draw_lines(certificates_info(setting, vary={vary!r})).save("certificates.html")
draw_plane(plane_info(setting, spread={spread!r})).save("map.html")
draw_lines(floor_tradeoff_info(setting)).save("trade_off.html")
"""
    imports = code.imports_of(
        "dpsyn.mechanisms.private_sampling",
        answers="certificate_answers, inverse_frame, sampling_inverses",
        bounds="sampling_setting",
    ) + code.imports_of(
        "dpsyn.mechanisms.private_sampling.figures",
        feasibility="certificates_info, draw_lines, floor_tradeoff_info",
        plane="draw_plane, plane_info",
    )
    return code.on_feasibility(explorer, body, imports)


def show_tables(explorer: Explorer) -> None:
    """Tables 1 to 3 and Figure 1 of Pierquin et al. (2023): as printed, recomputed, and where they are wrong."""
    st.markdown(
        "What Pierquin, Zimmermann and Boussard (2023) print, the same recomputed by their relaxed formulas, and recomputed "
        "exactly with C = C(p, ≤ 2). The settings of these tables are the paper's, whatever the sliders say."
    )
    epsilon = widgets.one_of(
        "Table 3 at ε", [0.1, 1.0, 10.0], default=10.0, key="f_table_epsilon",
        format_func=lambda e: f"{e:g}", help="The paper prints the column for ε = 10.",
    )  # fmt: skip
    for table in paper_tables(epsilon):
        st.header(table.title, anchor=False)
        widgets.text_table(grouped(table.frame))
        for erratum in table.errata:
            st.markdown(f"- {widgets.humanise(erratum)}")
    box: dict[str, Any] = {"degree": 2, "floor": 0.25, "ceiling": 1.25 + 1e-9, "failure_probability": 0.125}
    ideal = sampling_setting(ideal_cube(54), PrivacySpec(10.0), **box)
    figure = rows_bound_info(ideal, case="ideal")
    show_chart(
        draw_lines(replace(figure, lines=tuple(line for line in figure.lines if line.label != YOURS))), key="figure_1"
    )
    st.caption(
        "Drawn in powers of ten; the paper's figure uses the natural logarithm. The ceiling is just above 1 + floor, the "
        "smallest that leaves the linear program a solution other than the uniform density."
    )
    st.header("Is it tractable?", anchor=False)
    years = quadprog_seconds(1.2e8) / YEAR
    st.markdown(
        f"- By the paper's rule for quadprog (0.1 s at size 1,000, growing like m²) a program of m = 1.2 × 10⁸ takes "
        f"{years:.1f} years; the paper prints {PUBLISHED_YEARS}.\n"
        f"- Within a month the rule reaches p ≤ {largest_p_within(MONTH)}; the paper prints {PUBLISHED_LARGEST_P}.\n"
        "- The rule is about that solver. The program has only C equality rows, so its dual has C unknowns: what it took "
        "stands in the diagnostics of a release."
    )
    visit.offer(lambda: _code_of_tables(explorer, epsilon))


def grouped(frame: pd.DataFrame) -> pd.DataFrame:
    """The table with the name of a group of rows on its first row only, and quantities on one line each."""
    if "Row" not in frame:
        return frame
    names = frame["Row"].str.replace(r"\d{4,}", lambda found: f"{int(found[0]):,}", regex=True)
    quantities = frame["Quantity"].str.replace(" ", "\N{NO-BREAK SPACE}")
    names = names.where(~names.duplicated(), "")
    return frame.assign(Row=names, Quantity=quantities).rename(columns={"Row": ""})


def _code_of_tables(explorer: Explorer, epsilon: float) -> str:
    """The tables of the paper, printed and recomputed."""
    body = f"""for table in paper_tables({epsilon!r}):
    print(table.title)
    print(table.frame.to_string())
    print(*table.errata, sep="\\n")
"""
    return code.on_feasibility(explorer, body, "from dpsyn.mechanisms.private_sampling.tables import paper_tables\n")


SLIDERS = (
    EPSILON,
    DEGREE,
    Slider(
        "floor",
        partial(
            st.slider,
            "floor (the papers' δ)",
            0.01,
            0.5,
            step=0.01,
            key="f_floor",
            bind="query-params",
            help="Smallest density allowed in private sampling, relative to uniform. Release to update.",
        ),
        0.25,
        "f_floor",
        tuple(round(0.01 * i, 2) for i in range(1, 51)),
    ),
    Slider(
        "ceiling",
        partial(
            st.select_slider,
            "ceiling (the papers' Δ)",
            widgets.CEILINGS,
            key="f_ceiling",
            bind="query-params",
            format_func="{:.4g}".format,
            help="Largest density allowed, relative to uniform. Release to update.",
        ),
        2.0,
        "f_ceiling",
        widgets.CEILINGS,
    ),
    FAILURE_PROBABILITY,
    ROWS,
    REDUCED_SPACE_SIZE,
)
SECTIONS = {PrivateSampling.title: show, "The papers' tables": show_tables}
