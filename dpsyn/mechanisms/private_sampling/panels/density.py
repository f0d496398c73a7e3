"""Step 5: the density h* against the uniform one, as a histogram and on a small cube."""

from __future__ import annotations

import streamlit as st

from dpsyn.kit import screen, widgets
from dpsyn.kit.charts import show_chart, show_figure
from dpsyn.kit.panel import empty, panel
from dpsyn.kit.visit import Dataset
from dpsyn.mechanisms.private_sampling.figures.density import density_info, draw_density
from dpsyn.mechanisms.private_sampling.figures.hypercube import MOST_BITS, as_bits, draw_hypercube, hypercube_info
from dpsyn.mechanisms.private_sampling.figures.instance import Density, Instance, make_instance
from dpsyn.mechanisms.private_sampling.figures.space import make_space
from dpsyn.mechanisms.private_sampling.figures.walsh import draw_averages, draw_walsh, walsh_info
from dpsyn.mechanisms.private_sampling.panels import code
from dpsyn.mechanisms.private_sampling.panels.controls import Settings, box_note, instance_of, remembered, rows_of

_MOST_VALUES = 200


def show_density(current: Dataset, settings: Settings) -> None:
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
        if settings.ceiling < 1 + settings.floor:
            empty("No density fits: the ceiling must be at least 1 + floor.")
        else:
            instance = instance_of(current, settings)
            density = instance.density(settings.floor, settings.ceiling)
            screen.offer(lambda: code.density(current, settings))
            info = density_info(instance, density)
            show_chart(draw_density(info), key="is_histogram")
            shares = {"λ": density.shrinkage, "at the floor": info.at_floor, "at the ceiling": info.at_ceiling}
            widgets.facts({name: f"{share:.1%}" for name, share in shares.items()})
            if info.data_above is not None:
                st.caption(f"{info.data_above:.1%} of the rows lie where the data's own density is above the ceiling.")
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


def _cube(current: Dataset, settings: Settings) -> tuple[dict[str, str | None], Instance, Density] | None:
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
        key=f"is_cube_{current.tag}", bind="query-params",
    )  # fmt: skip
    if not names:
        empty("Choose one to four columns.")
        return None
    chosen: dict[str, str | None] = dict.fromkeys(names)
    many = [name for name in names if domain[name].size > 2]
    if many:
        for name, column in zip(many, st.columns(len(many)), strict=True):
            labels = domain[name].labels()
            chosen[name] = column.selectbox(f"{name}: 1 is", labels, key=f"is_bit_{current.tag}_{name}", bind="query-params")
    if settings.ceiling < 1 + settings.floor:
        empty("No density fits: the ceiling must be at least 1 + floor.")
        return None
    degree = min(settings.degree, len(names))
    key = ("cube", current.revision, tuple(chosen.items()), degree)
    instance: Instance = remembered(
        key, lambda: make_instance(make_space((2,) * len(names), degree), as_bits(rows_of(current, tuple(names)), chosen))
    )
    density = instance.density(settings.floor, settings.ceiling)
    show_figure(draw_hypercube(hypercube_info(instance, density)), key="is_cube")
    same = not many and set(names) == set(settings.columns)
    of = "as for the histogram" if same else f"the histogram has the {len(settings.columns)} columns chosen above"
    st.caption(
        f"λ = {density.shrinkage:.4f} for {'these columns' if same else 'these columns alone, each as one bit'}; {of}."
    )
    return chosen, instance, density


def _walsh(current: Dataset, settings: Settings, bits: dict[str, str | None], instance: Instance, density: Density) -> None:
    """One Walsh function on the cube, and the averages of all."""
    with panel(
        "Walsh functions on the cube",
        badge=True,
        caption="A column counts +1 for a one and −1 for a zero; $w_J$ is the product over the columns in J. Private "
        "sampling multiplies the averages of the functions of 1 to d columns by 1 − λ: every table of up to d columns is "
        "(1 − λ)·data + λ·uniform, the data's own only where λ = 0.",
    ):
        names = instance.domain.names
        chosen = st.pills(
            "J, the columns that are multiplied", names, selection_mode="multi", default=names[:2],
            key=f"is_walsh_{current.tag}", bind="query-params",
            help="Several, one, or none: without a column $w_J$ is 1 everywhere.",
        )  # fmt: skip
        info = walsh_info(instance, density, [name for name in chosen if name in names])
        screen.offer(lambda: code.density(current, settings, bits, info.chosen))
        left, right = st.columns(2, gap="medium")
        with left:
            show_figure(draw_walsh(info), key="is_walsh_cube")
            st.caption(info.meaning)
        with right:
            widgets.facts(
                {
                    "$w_J$ over the rows": f"{info.here.data:+.4f}",
                    "$w_J$ under h*": f"{info.here.density:+.4f}",
                    "(1 − λ) × rows": f"{(1 - info.shrinkage) * info.here.data:+.4f}"
                    if info.chosen and info.here.matched
                    else "—",
                }
            )
            show_chart(draw_averages(info), key="is_walsh_averages")
