"""Python that makes what a section of private sampling shows: the same functions, the same numbers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from dpsyn.kit.code import imports_of, script
from dpsyn.kit.visit import Dataset
from dpsyn.mechanisms.private_sampling.panels.controls import Settings

_FIGURES = "dpsyn.mechanisms.private_sampling.figures"
_TITLE = "Private sampling from the inside: it reads the private rows."


def _space(settings: Settings) -> str:
    degree = min(settings.degree, len(settings.columns))
    return f"""
rows = train.project({settings.columns!r})
space = make_space(rows.domain.shape, {degree}, draws={settings.draws!r}, seed={settings.seed})
"""


def _instance(settings: Settings) -> str:
    return f"""{_space(settings)}instance = make_instance(space, rows)  # raises FailureError if step 2 fails
floor, ceiling = {settings.floor!r}, {settings.ceiling!r}
"""


def space(current: Dataset, settings: Settings) -> str:
    """Steps 1 and 2."""
    body = f"""{_space(settings)}
found = spectrum_info(space)
print("sigma_min(W) =", found.smallest_singular_value, "must reach", found.singular_threshold)
print("failure" if found.failed else "step 2 passes", ":", space.dimension, "functions on", space.m, "points")
draw_spectrum(found).save("spectrum.html")
"""
    imports = imports_of(_FIGURES, space="make_space", spectrum="draw_spectrum, spectrum_info")
    return script(_TITLE, body, current, imports)


def shrinkage(current: Dataset, settings: Settings) -> str:
    """Step 4: λ, and why it is not smaller."""
    body = f"""{_instance(settings)}
found = binding_info(instance, floor=floor, ceiling=ceiling)
print("lambda =", found.shrinkage, "no density scores more than", found.reach, "above the uniform one")
for cell in found.cells:
    print(f"    {{cell.text}}: {{cell.data:.2%}} of the rows, the box allows {{cell.least:.2%}} to {{cell.most:.2%}}")
draw_binding(found).save("binding.html")
for axis in ("floor", "ceiling"):
    draw_shrinkage(shrinkage_info(instance, axis, floor=floor, ceiling=ceiling)).save(f"lambda_by_{{axis}}.html")
"""
    imports = imports_of(
        _FIGURES,
        binding="binding_info, draw_binding",
        instance="make_instance",
        shrinkage="draw_shrinkage, shrinkage_info",
        space="make_space",
    )
    return script(_TITLE, body, current, imports)


def density(
    current: Dataset, settings: Settings, cube: Mapping[str, str | None] | None = None, walsh: Sequence[str] = ()
) -> str:
    """Step 5: h*, and both densities on the cube of some bits with one Walsh function."""
    body = f"""{_instance(settings)}
density = instance.density(floor, ceiling)
found = density_info(instance, density)
print("lambda =", density.shrinkage, "at the floor", found.at_floor, "at the ceiling", found.at_ceiling)
draw_density(found).save("density.html")
"""
    names = {"density": "density_info, draw_density", "instance": "make_instance", "space": "make_space"}
    if cube:
        degree = min(settings.degree, len(cube))
        body += f"""
bits = as_bits(train.project({tuple(cube)!r}), {dict(cube)!r})
small = make_instance(make_space((2,) * {len(cube)}, {degree}), bits)
density = small.density(floor, ceiling)
print("lambda on the cube =", density.shrinkage)
draw_hypercube(hypercube_info(small, density)).write_html("cube.html")
found = walsh_info(small, density, {tuple(walsh)!r})
for average in found.averages:
    print(f"    {{average.name}}: {{average.data:+.4f}} over the rows, {{average.density:+.4f}} under h*")
draw_walsh(found).write_html("walsh.html")
draw_averages(found).save("averages.html")
"""
        names["hypercube"] = "as_bits, draw_hypercube, hypercube_info"
        names["walsh"] = "draw_averages, draw_walsh, walsh_info"
    return script(_TITLE, body, current, imports_of(_FIGURES, **names))


def privacy(
    current: Dataset,
    settings: Settings,
    *,
    rows: int,
    leaves: Sequence[int],
    comes: Sequence[int],
    search: int | None = None,
) -> str:
    """The certificates, the loss of one neighbour, and the search for the worst if there was one, with so many tries."""
    body = f"""{_instance(settings)}
k = {rows}
for claim in certificates(instance, floor=floor, ceiling=ceiling, rows=k):
    print(claim.name, claim.epsilon)
loss = neighbour_loss(instance, {tuple(leaves)!r}, {tuple(comes)!r}, floor=floor, ceiling=ceiling)  # codes of two rows
print("exact loss =", k * loss.epsilon, "lambda moves from", *loss.shrinkage)
draw_log_ratios(loss, ceiling / floor).save("log_ratios.html")
"""
    if search is not None:
        body += f"""
config = dpsyn.PrivateSampling(
    degree=space.degree, floor=floor, ceiling=ceiling, rows=1, reduced_space_size={settings.draws!r}
)
found = dpsyn.local_loss(config, rows, tries={search}, generator=np.random.default_rng({settings.seed}))
print("worst neighbour found =", k * found.lower_bound, "of", len(found.losses), "tried")
"""
    imports = imports_of(
        _FIGURES, instance="make_instance", privacy="certificates, draw_log_ratios, neighbour_loss", space="make_space"
    )
    return script(_TITLE, body, current, imports)


def timing(current: Dataset, settings: Settings) -> str:
    """The times of both programs; they differ from run to run."""
    body = f"""{_instance(settings)}
linear, quadratic = instance.seconds(floor, ceiling)
print(len(space.points), "points,", space.dimension, "functions")
print("linear program", linear, "s, quadratic program", quadratic, "s")
run = MeasuredRun("here, now", len(space.points), space.dimension, linear, quadratic)
draw_timing(timing_info([run], None)).save("timing.html")
"""
    imports = imports_of(
        _FIGURES, instance="make_instance", space="make_space", timing="MeasuredRun, draw_timing, timing_info"
    )
    return script(_TITLE, body, current, imports)
