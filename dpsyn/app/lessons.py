"""The lessons: short paths through the mechanisms; each step opens a page with its data, its sliders and its seed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from urllib.parse import urlencode

import streamlit as st

from dpsyn.app.share import DATA
from dpsyn.kit import visit, widgets

Query = Mapping[str, str | list[str]]


@dataclass(frozen=True)
class Step:
    """One step of a lesson.

    Attributes:
        title: a few words.
        text: what happens, in two or three sentences.
        look: what to look at.
        query: the settings that the link sets.
        page: where it leads, as in the address.
        data: the bundled dataset that it opens.
        private: whether what it opens reads the rows.
    """

    title: str
    text: str
    look: str
    query: Query
    page: str = "inside"
    data: str = "asia"
    private: bool = True

    @property
    def address(self) -> str:
        """Relative to the app's own; with the larger type of a presentation while it is on."""
        return f"{self.page}?{urlencode({DATA: self.data, **self.query, **visit.presenting()}, doseq=True)}"


def _sampling(section: str, **query: str | list[str]) -> Query:
    return {"inside_mechanism": "Private sampling", "is_section": section, **query}


def _mixing(view: str, **query: str | list[str]) -> Query:
    return {"inside_mechanism": "DP-CDA", "in_cda_view": view, **query}


def _reweighting(view: str, **query: str | list[str]) -> Query:
    return {"inside_mechanism": "Noisy reweighting", "in_nr_view": view, **query}


_THREE, _FOUR = ["smoke", "lung", "bronc"], ["smoke", "lung", "bronc", "dysp"]

LESSONS: dict[str, tuple[Step, ...]] = {
    "The cube": (
        Step(
            "Three bits are a cube",
            "Each row of three yes/no columns is a corner of a cube. The data are a density on its eight corners, and so is "
            "whatever a mechanism makes: that is all there is to say about a table, because the order of rows "
            "means nothing.",
            "Rings are the real rows, discs the density h*. Turn the cube: the disc of a rare corner is larger than its "
            "ring, because the data are mixed with the uniform density, λ of it, until a density fits between floor and "
            "ceiling.",
            _sampling("3 · Density", is_columns_asia=_THREE, is_cube_asia=_THREE),
        ),
        Step(
            "Walsh functions are signs on the cube",
            "A one counts +1 and a zero −1. For every set J of columns the Walsh function $w_J$ gives each corner the "
            "product over the columns in J. Here J = {smoke, lung}: +1 where the two agree, −1 where they differ.",
            "The area of the rings of one colour minus that of the other is the average of $w_J$ over the rows: how much "
            "more often the two agree than differ. Choose other columns for J.",
            _sampling("3 · Density", is_columns_asia=_THREE, is_cube_asia=_THREE, is_walsh_asia=["smoke", "lung"]),
        ),
        Step(
            "Their averages are the marginals",
            "The averages over the rows of the functions of up to d columns say exactly what the tables of up to d columns "
            "say: three columns have 1 + 3 = 4 functions at d = 1.",
            "C counts the functions. On the whole cube they are orthonormal, so every eigenvalue of W Wᵀ/m is 1.",
            _sampling("1 · Reduced space", is_columns_asia=_THREE, is_degree="1"),
            private=False,
        ),
        Step(
            "Four bits, and pairs of columns",
            "With four columns and d = 2 there are 1 + 4 + 6 = 11 functions for 16 corners. A density that agrees on all of "
            "them has the same tables of every pair of columns, and may differ elsewhere.",
            "The cube in a cube: the fourth bit tells the inner from the outer one. J has three columns, more than "
            "d = 2: its average under h* is 0, whatever it is over the rows.",
            _sampling("3 · Density", is_columns_asia=_FOUR, is_cube_asia=_FOUR, is_walsh_asia=["smoke", "lung", "dysp"]),
        ),
    ),
    "What λ does": (
        Step(
            "A density must fit into a box",
            "Private sampling allows no density below the floor and none above the ceiling: what no row can "
            "leave cannot give "
            "it away. Real data have empty cells, so they are mixed with the uniform density until they fit; λ "
            "is the share.",
            "The dot on both curves is λ now. Every empty cell of a table of up to d columns forces λ ≥ 2·floor.",
            _sampling("2 · Why λ", is_columns_asia=_FOUR),
        ),
        Step(
            "A lower floor mixes in less",
            "The same data with floor 0.05 instead of 0.25. The box is wider, so the density may stay closer to the data.",
            "λ has fallen, and the bars show the cells that now bind.",
            _sampling("2 · Why λ", is_columns_asia=_FOUR, is_floor="0.05", is_ceiling="6.0"),
        ),
        Step(
            "And promises less",
            "The certificate k·ln(ceiling/floor) grows as the box widens: at floor 0.05 and ceiling 6 it is ln "
            "120 = 4.8 a row, "
            "where it was ln 8 = 2.1.",
            "Compare the certificates with the exact loss of the neighbour that you pick.",
            _sampling("4 · Privacy", is_columns_asia=_FOUR, is_floor="0.05", is_ceiling="6.0"),
        ),
    ),
    "Noise against n": (
        Step(
            "Noise falls as 1/n, chance as 1/√n",
            "Noisy reweighting adds noise to averages over n rows. Its size on counts does not depend on n, so "
            "on averages it "
            "falls as 1/n, faster than the error that chance makes anyway.",
            "Where the two lines cross: with more rows than that, privacy costs less than chance.",
            _reweighting("Noise and budget", in_nr_epsilon="1"),
            private=False,
        ),
        Step(
            "The same rows at ε = 0.1",
            "A tenth of the ε needs ten times the rows for the same noise on an average.",
            "Ten times the noise, and chance falls as √n only: the crossing has moved right by a factor of a hundred.",
            _reweighting("Noise and budget", in_nr_epsilon="0.1"),
            private=False,
        ),
        Step(
            "What a fit makes of noisy numbers",
            "Noisy statistics contradict each other and may be negative. A density that comes as close to them "
            "as any density can is often nearer to the truth than the noisy numbers: with all eight columns nearly always. "
            "With four columns few statistics contradict each other, and it is nearer only about every other time.",
            "The line above the dots gives both errors. Draw the noise again a few times; then leave four columns only.",
            _reweighting("Fitted statistics", in_nr_epsilon="0.1", in_nr_seed="7"),
        ),
    ),
    "Mixing digits": (
        Step(
            "From a record to a row",
            "DP-CDA averages l records of one class and adds noise. With digits one can see it: one image, the average, and "
            "the row that would be released.",
            "l = 4 at ε = 10: the noise drowns the digit.",
            _mixing("What mixing does", in_cda_order="4", in_cda_seed="3"),
            data="digits",
        ),
        Step(
            "More records, less noise",
            "Only l changes, from 4 to 64. One record now moves an average by 2/64 instead of 2/4, but it is in sixteen "
            "times as many averages: σ falls from about 0.29 to 0.12 only. What the average loses is "
            "the variety of its records.",
            "The average is a blurred, typical digit whatever the seed; draw again. The noise still drowns it.",
            _mixing("What mixing does", in_cda_order="64", in_cda_seed="3"),
            data="digits",
        ),
        Step(
            "What makes the digit stay",
            "Two more settings change. With T = 100 rows instead of 1,259 a record is in fewer averages: σ falls to about "
            "0.04. With ε = 100 instead of 10, which promises next to nothing, it falls to about 0.008.",
            "The row is close to its average now. Move T and ε back, one at a time, to see what each does.",
            _mixing("What mixing does", in_cda_order="64", in_cda_seed="3", in_cda_rows_digits="100", in_cda_epsilon="100"),
            data="digits",
        ),
        Step(
            "Which l is best",
            "Less noise against less variety: the sum of both has a best l, and it follows from public numbers.",
            "The top of the curve. Fewer rows T need less noise: move its slider.",
            _mixing("Order of mixture", in_cda_epsilon="10"),
            data="digits",
        ),
    ),
    "The published DP-CDA claim": (
        Step(
            "The same noise, three claims",
            "The published formula says how much noise an ε needs. The exact accounting computes what that noise really "
            "costs, by privacy-loss distributions.",
            "The bar of the published formula runs past the dashed ε that was asked for. That of the exact accounting ends "
            "just short of it: its σ is found to within 2 % of ε, on the safe side.",
            _mixing("Noise and budget", in_cda_epsilon="10", in_cda_rows_digits="1259"),
            data="digits",
        ),
        Step(
            "Where the formula breaks, and the z-score",
            "The paper scales every record by the mean and deviation of the data themselves. One record can then turn the "
            "sign of all others, which no noise for one record covers.",
            "The two pictures below: all records are equal but one, and after the z-score they are mirror images.",
            _mixing("Against the paper"),
            data="digits",
        ),
        Step(
            "Claim by claim",
            "Each claim of the paper with what is true for your sizes, why, and what to claim instead.",
            "Open a claim that fails: it names the source and the fix.",
            {"f_section": "DP-CDA"},
            page="feasibility",
            data="digits",
        ),
    ),
}


def show() -> None:
    """Choose a lesson, and its steps."""
    name = widgets.one_of("Lesson", list(LESSONS), default=next(iter(LESSONS)), key="lesson")
    for number, step in enumerate(LESSONS[name], start=1):
        with st.container(border=True):
            widgets.heading(f"{number} · {step.title}", step.private)
            st.markdown(f"{step.text}\n\n:material/visibility: {step.look}")
            st.link_button(f"Open step {number}", step.address, icon=":material/open_in_new:")
