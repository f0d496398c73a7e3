"""The sections of private sampling's page: reduced space, λ, density, privacy."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import streamlit as st

from dpsyn import escape
from dpsyn.kit import verdicts, visit, widgets
from dpsyn.kit.show import show_chart, show_figure
from dpsyn.kit.visit import Dataset
from dpsyn.kit.widgets import empty, panel, reads_domain
from dpsyn.mechanisms.private_sampling import PrivateSampling
from dpsyn.mechanisms.private_sampling.figures.density import density_info, draw_density, draw_spectrum, written_bound
from dpsyn.mechanisms.private_sampling.figures.hypercube import (
    MOST_BITS,
    as_bits,
    draw_averages,
    draw_hypercube,
    draw_walsh,
    hypercube_info,
    walsh_info,
)
from dpsyn.mechanisms.private_sampling.figures.shrinkage import (
    AXES,
    BindingInfo,
    binding_info,
    draw_binding,
    draw_shrinkage,
    shrinkage_info,
)
from dpsyn.mechanisms.private_sampling.formulas import threshold_formula
from dpsyn.mechanisms.private_sampling.panels.controls import (
    Settings,
    box_note,
    choose,
    density_code,
    remembered,
    rows_of,
    run_of,
    shrinkage_code,
    space_code,
    space_of,
)
from dpsyn.mechanisms.private_sampling.panels.privacy import show_privacy
from dpsyn.mechanisms.private_sampling.small_run import SmallRun, small_space
from dpsyn.notation import counted, percent, signed

_MOST_VALUES = 200


def _show_space(current: Dataset, settings: Settings) -> None:
    """The spectrum of W Wᵀ/m against the threshold."""
    with panel(
        "Is the reduced space good enough?",
        badge=reads_domain(current),
        caption="Step 1 draws S without looking at the data; step 2 tests that the functions $w_J$ stay independent on it. "
        "The test bounds how far one row can move the answer, and it fails or passes for every dataset alike.",
    ):
        space = space_of(current, settings)
        bound = written_bound(space)
        left, right = st.columns([3, 1], gap="medium")
        show_chart(draw_spectrum(space), key="is_spectrum", place=left)
        with right:
            st.metric(r"$\sigma_{\min}(W)$", widgets.number(space.smallest_singular_value))
            st.metric(f"must reach √m/(2{bound})", widgets.number(space.threshold))
            if not space.passes:
                st.error("Failure: the algorithm stops here. Draw S again, or take more points.", icon=":material/block:")
            else:
                st.success("Step 2 passes.", icon=":material/check_circle:")
            line = threshold_formula(
                reduced_space_size=space.m,
                degree=space.size.degree,
                cube=bound != "B",
                smallest=space.smallest_singular_value,
                threshold=space.threshold,
            )
            verdicts.expander([line], PrivateSampling.paper)
            if bound == "B":
                st.caption("B is what eᵈ is on the cube: ‖f‖₂ ≤ B·‖f‖₁ for every combination f of the functions.")
            distinct = len(np.unique(space.codes, axis=0))
            st.caption(
                f"{space.size.dimension:,} functions, {space.m:,} points"
                + (
                    ": the whole domain, on which the functions are orthonormal, so every eigenvalue is 1."
                    if space.size.whole
                    else f", {distinct:,} of them distinct. The grey band is where independent draws of this size "
                    "settle (Marchenko and Pastur)."
                )
            )


def _show_shrinkage(current: Dataset, settings: Settings) -> None:
    """λ along both sliders, and why it is not smaller."""
    floor, ceiling = settings.floor, settings.ceiling
    run: SmallRun | None = None
    with panel(
        "How much of the uniform density must be mixed in",
        badge=True,
        caption="The linear program of step 4 finds the least λ for which (1 − λ)·data + λ·uniform can be matched by a "
        "density between 2·floor and ceiling − floor. Move the sliders.",
    ):
        box_note(settings)
        if not settings.box_exists:
            empty("Even λ = 1 does not fit: the ceiling must be at least 1 + floor.")
            return
        run = run_of(current, settings)
        if "reach" not in run.__dict__:
            with st.spinner("Solving the linear program for every floor and ceiling …"):
                _ = run.reach
        visit.offer(lambda: shrinkage_code(current, settings))
        left, right = st.columns(2, gap="medium")
        for column, axis in zip((left, right), AXES, strict=True):
            info = shrinkage_info(run, axis, floor=floor, ceiling=ceiling)
            show_chart(draw_shrinkage(info), key=f"is_against_{axis}", place=column)
    if run is None:
        return
    with panel("Why λ cannot be smaller", badge=True):
        found = binding_info(run, floor=floor, ceiling=ceiling)
        if not found.cells:
            empty("λ = 0: some density in the box has the very marginals of the data. Nothing binds.")
            return
        left, right = st.columns([3, 2], gap="medium")
        show_chart(draw_binding(found), key="is_binding", place=left)
        with right:
            st.markdown(proof(found, settings))


def proof(info: BindingInfo, settings: Settings) -> str:
    """The certificate in words."""
    lines = [
        f"**λ = {info.shrinkage:.4f}**, and this is the proof that no smaller one will do. Put the dual values β on the "
        "cells.",
        "- The data score 1 more than the uniform density.\n"
        f"- No density in the box scores more than {info.reach:.4f} above it.\n"
        f"- Mixing scales the data's score to 1 − λ, so 1 − λ ≤ {info.reach:.4f}.",
    ]
    if info.alone is not None:
        cell = escape.markdown(info.alone.text)
        lines.append(
            f"The strictest single cell is *{cell}* with {percent(info.alone.data, 3)} of the rows, where the "
            f"box allows {percent(info.alone.least, 3)} to {percent(info.alone.most, 3)}: alone it forces "
            f"λ ≥ {info.alone.alone:.4f}."
        )
    if info.empty:
        lines.append(
            f"{info.empty:,} of the {info.tables:,} cells of tables with at most d columns are empty. Each forces "
            f"λ ≥ 2·floor = {widgets.number(2 * settings.floor)}, whatever the ceiling."
        )
    if any(cell.share < 0 for cell in info.cells):
        lines.append("A bar to the left gives some of the conflict back: tables overlap.")
    return "\n\n".join(lines)


def _show_density(current: Dataset, settings: Settings) -> None:
    """The histogram of m·h*, and the hypercube."""
    left, right = st.columns(2, gap="medium")
    with (
        left,
        panel(
            "h* against the uniform density",
            badge=True,
            caption="Among all densities in the box with the shrunken marginals, step 5 takes the one closest to uniform.",
        ),
    ):
        box_note(settings)
        if not settings.box_exists:
            empty("No density fits: the ceiling must be at least 1 + floor.")
        else:
            visit.offer(lambda: density_code(current, settings))
            info = density_info(run_of(current, settings), settings.floor, settings.ceiling)
            show_chart(draw_density(info), key="is_histogram")
            shares = {"at the floor": info.at_floor, "at the ceiling": info.at_ceiling}
            widgets.facts({"λ": f"{info.shrinkage:.4f}"} | {name: percent(share, 3) for name, share in shares.items()})
            if info.data_above is not None:
                st.caption(
                    f"{percent(info.data_above, 3)} of the rows lie where the data's own density is above the ceiling."
                )
    with (
        right,
        panel(
            "Both densities on a cube",
            badge=True,
            caption="Private sampling of up to four bits on their whole cube: rings are the data, discs are h*. Turn it.",
        ),
    ):
        found = _cube(current, settings)
    if found is not None:
        _walsh(current, settings, *found)


def _cube(current: Dataset, settings: Settings) -> tuple[dict[str, str | None], SmallRun] | None:
    """The columns of the cube and both densities on it; they are returned for what else is drawn on it."""
    domain = current.table.domain
    options = [name for name in domain.names if 2 <= domain[name].size <= _MOST_VALUES]
    if not options:
        empty("No column has two values, or a few to set one of them against the rest.")
        return None
    first = [name for name in options if domain[name].size == 2] or options
    wanted = [name for name in (current.target, *first) if name in options]
    names = st.multiselect(
        "Columns on the cube", options, default=list(dict.fromkeys(wanted))[:MOST_BITS], max_selections=MOST_BITS,
        key=f"is_cube_{current.tag}", **current.kept,
    )  # fmt: skip
    if not names:
        empty("Choose one to four columns.")
        return None
    chosen: dict[str, str | None] = dict.fromkeys(names)
    many = [name for name in names if domain[name].size > 2]
    if many:
        for name, column in zip(many, st.columns(len(many)), strict=True):
            labels = domain[name].labels()
            chosen[name] = column.selectbox(
                f"{escape.markdown(name)}: 1 is", labels, key=f"is_bit_{current.tag}_{name}", **current.kept
            )
    if not settings.box_exists:
        empty("No density fits: the ceiling must be at least 1 + floor.")
        return None
    degree = min(settings.degree, len(names))
    key = ("cube", current.revision, tuple(chosen.items()), degree)
    run: SmallRun = remembered(
        key, lambda: SmallRun(small_space((2,) * len(names), degree), as_bits(rows_of(current, tuple(names)), chosen))
    )
    show_figure(draw_hypercube(hypercube_info(run, settings.floor, settings.ceiling)), key="is_cube")
    shrinkage = run.matched(settings.floor, settings.ceiling).shrinkage
    same = not many and set(names) == set(settings.columns)
    of = "as for the histogram" if same else f"the histogram has the {counted(len(settings.columns), 'column')} chosen above"
    st.caption(f"λ = {shrinkage:.4f} for {'these columns' if same else 'these columns alone, each as one bit'}; {of}.")
    return chosen, run


def _walsh(current: Dataset, settings: Settings, bits: dict[str, str | None], run: SmallRun) -> None:
    """One Walsh function on the cube, and the averages of all."""
    with panel(
        "Walsh functions on the cube",
        badge=True,
        caption="A column counts +1 for a one and −1 for a zero; $w_J$ is the product over the columns in J. Private "
        "sampling multiplies the averages of the functions of 1 to d columns by 1 − λ: every table of up to d columns is "
        "(1 − λ)·data + λ·uniform, the data's own only where λ = 0.",
    ):
        names = run.table.domain.names
        chosen = st.pills(
            "J, the columns that are multiplied", names, selection_mode="multi", default=names[:2],
            format_func=escape.markdown,
            key=f"is_walsh_{current.tag}", **current.kept,
            help="Several, one, or none: without a column $w_J$ is 1 everywhere.",
        )  # fmt: skip
        info = walsh_info(run, [name for name in chosen if name in names], settings.floor, settings.ceiling)
        visit.offer(lambda: density_code(current, settings, bits, info.chosen))
        left, right = st.columns(2, gap="medium")
        with left:
            show_figure(draw_walsh(info), key="is_walsh_cube")
            st.caption(escape.markdown(info.meaning))
        with right:
            widgets.facts(
                {
                    "$w_J$ over the rows": signed(info.here.data),
                    "$w_J$ under h*": signed(info.here.density),
                    "(1 − λ) × rows": signed((1 - info.shrinkage) * info.here.data)
                    if info.chosen and info.here.matched
                    else "—",
                }
            )
            show_chart(draw_averages(info), key="is_walsh_averages")


SECTIONS: dict[str, Callable[[Dataset, Settings], None]] = {
    "1 · Reduced space": _show_space,
    "2 · Why λ": _show_shrinkage,
    "3 · Density": _show_density,
    "4 · Privacy": show_privacy,
}


@visit.fragment
def inside(current: Dataset) -> None:
    """The panels of private sampling; a slider redraws them in place."""
    with widgets.refusals():
        settings = choose(current)
        if settings is None:
            return
        # The first one has little to show of a whole domain.
        section = widgets.one_of(
            "Step", list(SECTIONS), key="is_section", default=list(SECTIONS)[1], label_visibility="collapsed"
        )
        visit.offer(lambda: space_code(current, settings))  # a section that shows more offers its own
        SECTIONS[section](current, settings)
