"""What the sections of Inside share: the widgets, the run that they ask for, and Python that makes what a section shows."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import streamlit as st

from dpsyn.kit import visit, widgets
from dpsyn.kit.code import imports_of, script
from dpsyn.kit.visit import Dataset, Thing
from dpsyn.mechanisms.private_sampling import PrivateSampling
from dpsyn.mechanisms.private_sampling._reduced_space import ReducedSpace
from dpsyn.mechanisms.private_sampling.certificates import is_degenerate
from dpsyn.mechanisms.private_sampling.local_loss import Change
from dpsyn.mechanisms.private_sampling.small_run import SmallRun, comfortable_columns, largest_whole, most_draws, small_space
from dpsyn.solvers.contingency import contrast_dimension
from dpsyn.table import Table

DRAWS = (10, 20, 30, 50, 70, 100, 150, 200, 300, 500, 700, 1000, 1500, 2000, 3000, 5000, 7000, 10_000, 20_000, 50_000)
WHOLE, DRAWN = "the whole domain", "m uniform draws"
_REMEMBERED = 8


@dataclass(frozen=True)
class Settings:
    """What the widgets say.

    Attributes:
        columns: of the data that take part, at least one.
        degree, floor, ceiling: as the mechanism calls them.
        draws: m; None for the whole domain.
        seed: of the draw of S.
    """

    columns: tuple[str, ...]
    degree: int
    floor: float
    ceiling: float
    draws: int | None
    seed: int

    @property
    def box_exists(self) -> bool:
        """Whether any density fits."""
        return self.ceiling >= 1 + self.floor

    @property
    def space_key(self) -> tuple[object, ...]:
        """What S is made of, beside the columns."""
        return self.columns, self.degree, self.draws, self.seed if self.draws else None


def remembered(key: tuple[object, ...], make: Callable[[], Thing]) -> Thing:
    """``make()``, kept in the session under the key; the oldest of a few is forgotten."""
    return visit.remembered("inside_sampling", _REMEMBERED, key, make)


def space_of(current: Dataset, settings: Settings) -> ReducedSpace:
    """S as the widgets ask for it."""
    sizes = tuple(current.table.domain[name].size for name in settings.columns)
    key = ("space", sizes, *settings.space_key[1:])
    return remembered(key, lambda: small_space(sizes, settings.degree, draws=settings.draws, seed=settings.seed))


def rows_of(current: Dataset, columns: tuple[str, ...]) -> Table:
    """The rows that a mechanism would see, some of their columns."""
    return remembered(("rows", current.revision, columns), lambda: current.parts[0].drawn.project(columns))


def run_of(current: Dataset, settings: Settings) -> SmallRun:
    """A run on S with the rows that a mechanism would see.

    Raises:
        ParameterError: too large for pictures that follow a slider.
        FailureError: step 2 failed on this S.
    """
    space, table = space_of(current, settings), rows_of(current, settings.columns)
    return remembered(("run", current.revision, *settings.space_key), lambda: SmallRun(space, table))


def config_of(settings: Settings, table: Table) -> PrivateSampling:
    """The mechanism that draws one row with these settings."""
    return PrivateSampling(
        degree=settings.degree,
        floor=settings.floor,
        ceiling=settings.ceiling,
        rows=1,
        reduced_space_size=settings.draws or table.domain.size,
    )


def choose(current: Dataset) -> Settings | None:
    """Draw the widgets; None, with a sentence that says why, if there is nothing to choose from."""
    domain = current.table.domain
    options = [name for name in domain.names if domain[name].size > 1]
    if not options:
        st.info("Every column has a single value: there is nothing to match.", icon=":material/info:")
        return None
    first = comfortable_columns(domain, [current.target] if current.target in options else [])
    with st.container(border=True):
        left, right = st.columns([3, 2], gap="medium")
        columns = left.multiselect(
            "Columns that take part",
            options,
            default=first or options[:1],
            format_func=lambda name: name if domain[name].size == 2 else f"{name} · {domain[name].size}",
            key=f"is_columns_{current.tag}",
            **current.kept,
            help="A number beside a name says how many values it has, if not two. Few columns keep the pictures quick.",
        )
        floor = right.slider(
            "floor (the papers' δ)", 0.01, 0.5, 0.25, 0.01, key="is_floor", bind="query-params",
            help="Smallest density of h*, relative to uniform. The linear program must stay above twice the floor.",
        )  # fmt: skip
        ceiling = right.slider(
            "ceiling (the papers' Δ)", 1.05, 10.0, 2.0, 0.05, key="is_ceiling", bind="query-params",
            help="Largest density of h*, relative to uniform. The linear program must stay below ceiling − floor.",
        )  # fmt: skip
        with left, st.container(horizontal=True, vertical_alignment="bottom", gap="medium"):
            degree = widgets.degree_slider()
            if not columns:
                st.caption("Choose at least one column.")
                return None
            chosen = tuple(name for name in domain.names if name in columns)
            draws, seed = _reduced_space(current, tuple(domain[name].size for name in chosen), degree)
    return Settings(chosen, degree, floor, ceiling, draws, seed)


def _reduced_space(current: Dataset, sizes: tuple[int, ...], degree: int) -> tuple[int | None, int]:
    degree, cells = min(degree, len(sizes)), math.prod(sizes)
    fits = largest_whole(sizes, degree)
    kind = widgets.one_of(
        "Reduced space S", [WHOLE, DRAWN], key="is_space",
        disabled=not fits, width="content", help=None if fits else "The whole domain is too large for these pictures.",
    )  # fmt: skip
    if fits and kind == WHOLE:
        return None, 1
    dimension = contrast_dimension(sizes, degree)
    options = [m for m in DRAWS if m <= most_draws(sizes, degree) and m < cells] or [DRAWS[0]]
    usual = next((m for m in options if m >= 4 * dimension), options[-1])
    draws = st.select_slider(
        "m (points of S)",
        options,
        value=usual,
        format_func=lambda m: f"{m:,}",
        key=f"is_draws_{dimension}_{cells}",
        **current.kept,
        width=260,
    )
    seed = widgets.seed_control("is_seed", "Draw S again")
    # Of a domain with no more rows than m the mechanism takes the whole.
    return (None if draws >= cells else int(draws)), seed


def box_note(settings: Settings) -> None:
    """Says when the box leaves nothing to choose or does not exist."""
    if settings.box_exists and is_degenerate(settings.floor, settings.ceiling):
        st.warning(
            "This box is degenerate: only the uniform density fits, so λ = 1 and the output ignores the data. "
            f"Take floor below 1/2 and ceiling above 1 + floor = {widgets.number(1 + settings.floor)}.",
            icon=":material/vertical_align_center:",
        )


_FIGURES = "dpsyn.mechanisms.private_sampling.figures"
_RUN = "SmallRun, small_space"
_TITLE = "Private sampling from the inside: it reads the private rows."


def _space(settings: Settings) -> str:
    degree = min(settings.degree, len(settings.columns))
    return f"""
rows = train.project({settings.columns!r})
space = small_space(rows.domain.shape, {degree}, draws={settings.draws!r}, seed={settings.seed})
"""


def _run(settings: Settings) -> str:
    return f"""{_space(settings)}run = SmallRun(space, rows)  # raises FailureError if step 2 fails
floor, ceiling = {settings.floor!r}, {settings.ceiling!r}
"""


def space_code(current: Dataset, settings: Settings) -> str:
    """Steps 1 and 2."""
    body = f"""{_space(settings)}
print("sigma_min(W) =", space.smallest_singular_value, "must reach", space.threshold)
print("step 2 passes" if space.passes else "failure", ":", space.size.dimension, "functions on", space.m, "points")
draw_spectrum(space).save("spectrum.html")
"""
    return _script(current, body, "small_space", density="draw_spectrum")


def shrinkage_code(current: Dataset, settings: Settings) -> str:
    """Step 4: λ, and why it is not smaller."""
    body = f"""{_run(settings)}
found = binding_info(run, floor=floor, ceiling=ceiling)
print("lambda =", found.shrinkage, "no density scores more than", found.reach, "above the uniform one")
for cell in found.cells:
    print(f"    {{cell.text}}: {{cell.data:.2%}} of the rows, the box allows {{cell.least:.2%}} to {{cell.most:.2%}}")
draw_binding(found).save("binding.html")
for axis in ("floor", "ceiling"):
    draw_shrinkage(shrinkage_info(run, axis, floor=floor, ceiling=ceiling)).save(f"lambda_by_{{axis}}.html")
"""
    figures = "binding_info, draw_binding, draw_shrinkage, shrinkage_info"
    return _script(current, body, _RUN, shrinkage=figures)


def density_code(
    current: Dataset, settings: Settings, cube: Mapping[str, str | None] | None = None, walsh: Sequence[str] = ()
) -> str:
    """Step 5: h*, and both densities on the cube of some bits with one Walsh function."""
    body = f"""{_run(settings)}
found = density_info(run, floor, ceiling)
print("lambda =", found.shrinkage, "at the floor", found.at_floor, "at the ceiling", found.at_ceiling)
draw_density(found).save("density.html")
"""
    names = {"density": "density_info, draw_density"}
    if cube:
        degree = min(settings.degree, len(cube))
        body += f"""
bits = as_bits(train.project({tuple(cube)!r}), {dict(cube)!r})
small = SmallRun(small_space((2,) * {len(cube)}, {degree}), bits)
print("lambda on the cube =", small.matched(floor, ceiling).shrinkage)
draw_hypercube(hypercube_info(small, floor, ceiling)).write_html("cube.html")
found = walsh_info(small, {tuple(walsh)!r}, floor, ceiling)
for average in found.averages:
    print(f"    {{average.name}}: {{average.data:+.4f}} over the rows, {{average.density:+.4f}} under h*")
draw_walsh(found).write_html("walsh.html")
draw_averages(found).save("averages.html")
"""
        names["hypercube"] = "as_bits, draw_averages, draw_hypercube, draw_walsh, hypercube_info, walsh_info"
    return _script(current, body, _RUN, **names)


def privacy_code(current: Dataset, settings: Settings, *, rows: int, change: Change, search: int | None = None) -> str:
    """The certificates, the loss of one neighbour, and the search for the worst if there was one, with so many tries."""
    body = f"""
rows = train.project({settings.columns!r})
config = dpsyn.PrivateSampling(
    degree={settings.degree}, floor={settings.floor!r}, ceiling={settings.ceiling!r}, rows={rows},
    reduced_space_size={settings.draws!r} or rows.domain.size,
)
meter = dpsyn.LossMeter(config, rows, generator=np.random.default_rng({settings.seed}))
for name, epsilon in meter.certificates.items():
    print(name, epsilon)
loss = meter.loss({change!r})  # codes of two rows
print("exact loss =", loss.loss, "lambda moves from", loss.shrinkage, "to", loss.other_shrinkage)
draw_log_ratios(loss.log_ratios, config.ceiling / config.floor).save("log_ratios.html")
"""
    if search is not None:
        body += f"""
found = dpsyn.local_loss(config, rows, tries={search}, generator=np.random.default_rng({settings.seed}))
print("worst neighbour found =", found.lower_bound, "of", len(found.losses), "tried")
"""
    imports = imports_of("dpsyn.mechanisms.private_sampling", local_loss="Change") + imports_of(
        _FIGURES, density="draw_log_ratios"
    )
    return script(_TITLE, body, current, imports)


def _script(current: Dataset, body: str, run: str, **figures: str) -> str:
    """The body below the lines for what is taken of the run and of the pictures."""
    imports = imports_of("dpsyn.mechanisms.private_sampling", small_run=run) + imports_of(_FIGURES, **figures)
    return script(_TITLE, body, current, imports)
