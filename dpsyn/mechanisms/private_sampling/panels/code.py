"""Python that makes what a section of private sampling shows: the same functions, the same numbers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from dpsyn.kit.code import imports_of, script
from dpsyn.kit.visit import Dataset
from dpsyn.mechanisms.private_sampling.local_loss import Change
from dpsyn.mechanisms.private_sampling.panels.controls import Settings

_FIGURES = "dpsyn.mechanisms.private_sampling.figures"
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


def space(current: Dataset, settings: Settings) -> str:
    """Steps 1 and 2."""
    body = f"""{_space(settings)}
print("sigma_min(W) =", space.smallest_singular_value, "must reach", space.threshold)
print("step 2 passes" if space.passes else "failure", ":", space.size.dimension, "functions on", space.m, "points")
draw_spectrum(space).save("spectrum.html")
"""
    return script(_TITLE, body, current, _imports("small_space", density="draw_spectrum"))


def shrinkage(current: Dataset, settings: Settings) -> str:
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
    return script(_TITLE, body, current, _imports("SmallRun, small_space", shrinkage=figures))


def density(
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
    return script(_TITLE, body, current, _imports("SmallRun, small_space", **names))


def privacy(current: Dataset, settings: Settings, *, rows: int, change: Change, search: int | None = None) -> str:
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
        _FIGURES, privacy="draw_log_ratios"
    )
    return script(_TITLE, body, current, imports)


def time(current: Dataset, settings: Settings) -> str:
    """The times of both programs; they differ from run to run."""
    body = f"""{_run(settings)}
matched = run.matched(floor, ceiling)
print(space.points, "points,", space.size.dimension, "functions")
if matched.linear and matched.quadratic:
    print("linear program", matched.linear.seconds, "s, quadratic program", matched.quadratic.seconds, "s")
"""
    return script(_TITLE, body, current, _imports("SmallRun, small_space"))


def _imports(run: str, **figures: str) -> str:
    """Lines for what is taken of the run and of the pictures."""
    return imports_of("dpsyn.mechanisms.private_sampling", small_run=run) + imports_of(_FIGURES, **figures)
