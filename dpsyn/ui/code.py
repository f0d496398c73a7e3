"""Python for what a page shows: text that runs as it is on bundled data, and on a file once its path is put in."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import MISSING, Field, fields
from typing import Any

from dpsyn.data.samples import load_sample
from dpsyn.data.statistics import DatasetStatistics
from dpsyn.data.table import Table
from dpsyn.mechanisms.base import Config
from dpsyn.privacy.spec import PrivacySpec
from dpsyn.ui.state import SPLIT_SEED, Dataset


def read(current: Dataset) -> str:
    """Lines that make ``table``, and ``train`` and ``test`` as the app splits it."""
    domain = repr(current.table.domain.to_dict())
    if current.sample is None:
        lines = [f"table = dpsyn.read_table({current.table.name!r}, domain=dpsyn.Domain.from_dict({domain}))"]
    else:
        lines = [f"table = dpsyn.load_sample({current.sample!r})"]
        if load_sample(current.sample).domain != current.table.domain:
            lines.append(f"table = table.with_domain(dpsyn.Domain.from_dict({domain}))")
    if current.table.n >= 2:
        lines.append(f"train, test = table.split({current.held_out!r}, np.random.default_rng({SPLIT_SEED}))")
    else:
        lines.append("train, test = table, None")
    return "\n".join(lines)


def written(thing: Config | PrivacySpec) -> str:
    """A configuration or a privacy requirement as a call with what is not a default; a table by its field's name."""
    parts = [
        f"{f.name}={f.name if isinstance(getattr(thing, f.name), Table) else repr(getattr(thing, f.name))}"
        for f in fields(thing)
        if f.init and (_required(f) or getattr(thing, f.name) != f.default)
    ]
    return f"dpsyn.{type(thing).__name__}({', '.join(parts)})"


def _required(field: Field[Any]) -> bool:
    return field.default is MISSING


def script(title: str, body: str, current: Dataset | None, imports: str = "") -> str:
    """A module: what it is, imports, the data, and the body."""
    head = f'"""{title}"""\n\nimport numpy as np\n\nimport dpsyn\n' + imports
    return head + (f"\n{read(current)}\n" if current is not None else "\n") + body.strip("\n") + "\n"


def generator(current: Dataset, config: Config, spec: PrivacySpec, seed: int | None) -> str:
    """Calibrate and run one mechanism."""
    source = "None  # the system's entropy" if seed is None else f"np.random.default_rng({seed})  # a demonstration"
    public = getattr(config, "public", None)
    rows = "" if public is None else f"public = dpsyn.read_table({public.name + '.csv'!r}, domain=table.domain)\n"
    body = f"""
{rows}config = {written(config)}
spec = {written(spec)}
mechanism = config.calibrate(spec, train.domain, n=train.n)
print(mechanism.guarantee)  # known before a row is read
generator = {source}
release = mechanism(generator, train)
release.rows.to_csv("synthetic.csv", index=False)
print(release.rows.head())
"""
    return script(f"One release by {config.title.lower() if config.title != 'DP-CDA' else config.title}.", body, current)


def data(current: Dataset) -> str:
    """What the theorems see of the data."""
    body = f"""
statistics = table.statistics(two_valued_as_bit={current.two_valued_as_bit!r})
print(statistics)  # read from the private rows: not for publication
print(train.n, "rows to learn from,", test.n if test else 0, "held out")
"""
    return script("The data, and the numbers that the theorems depend on.", body, current)


def feasibility(
    current: Dataset, loaded: bool, stats: DatasetStatistics, spec: PrivacySpec, settings: Mapping[str, Any]
) -> str:
    """The verdicts on the dataset in focus."""
    if loaded:
        source, dataset = f"statistics = table.statistics(two_valued_as_bit={current.two_valued_as_bit!r})", current
    else:
        known = {f.name: getattr(stats, f.name) for f in fields(stats) if f.init}
        text = ", ".join(f"{name}={value!r}" for name, value in known.items())
        source, dataset = f"statistics = dpsyn.DatasetStatistics({text})", None
    arguments = "".join(f"    {name}={value!r},\n" for name, value in settings.items() if value is not None)
    body = f"""
{source}
found = dpsyn.feasibility(
    statistics,
    {written(spec)},
{arguments})
for verdict in found:
    print(verdict.title, verdict.holds, verdict.summary)
    for condition in verdict.conditions:
        print("   ", condition.label, condition.holds, condition.slack_orders, condition.fix)
"""
    return script("Which theorem applies, and what would have to change.", body, dataset)


def sampling(
    current: Dataset, columns: tuple[str, ...], *, degree: int, floor: float, ceiling: float, draws: int | None, seed: int
) -> str:
    """The reduced space, λ and the density of private sampling."""
    body = f"""
rows = train.project({columns!r})
space = make_space(rows.domain.shape, {min(degree, len(columns))}, draws={draws!r}, seed={seed})
print(len(space.points), "points,", space.dimension, "functions, smallest eigenvalue", space.eigenvalues[0])
instance = make_instance(space, rows)  # raises FailureError if step 2 fails
density = instance.density({floor!r}, {ceiling!r})
print("lambda =", density.shrinkage)
draw_density(density_info(instance, density)).save("density.html")
"""
    imports = (
        "from dpsyn.figures.private_sampling.density import density_info, draw_density\n"
        "from dpsyn.figures.private_sampling.instance import make_instance\n"
        "from dpsyn.figures.private_sampling.space import make_space\n"
    )
    return script("Private sampling from the inside: it reads the private rows.", body, current, imports)


def reweighting(current: Dataset, columns: tuple[str, ...], spec: PrivacySpec, *, degree: int, noise: str, seed: int) -> str:
    """One run of noisy reweighting with its densities and their errors."""
    body = f"""
rows = train.project({columns!r})
run = trial(rows, {written(spec)}, degree={degree}, noise={noise!r}, seed={seed})
print(run.family.count, "statistics, noise of standard deviation", run.deviation)
draw_statistics(statistics_info(run, "entropy")).save("statistics.html")
for line in support_info(run).lines:
    print(line.objective, "points:", line.carrying, "mean error:", line.error)
"""
    imports = (
        "from dpsyn.figures.reweighting_inside.statistics import draw_statistics, statistics_info\n"
        "from dpsyn.figures.reweighting_inside.support import support_info\n"
        "from dpsyn.figures.reweighting_inside.trial import trial\n"
    )
    return script("Noisy reweighting from the inside: it reads the private rows.", body, current, imports)


def mixing(
    current: Dataset,
    target: str,
    *,
    epsilon: float,
    delta: float,
    order_of_mixture: int,
    rows_per_class: int,
    clip_norm: float,
    variant: str,
) -> str:
    """The noise of DP-CDA by three accountants, and what it leaves of the records."""
    body = f"""
records = records_of(train, {target!r})
kept = records.mixable({order_of_mixture})
counts = tuple(records.sizes[k] for k in kept)
sizes = Sizes(counts, {rows_per_class}, {delta!r}, {clip_norm!r}, {variant!r})
found = noise_info(sizes, {epsilon!r}, {order_of_mixture})
print(found.verdict)
for accountant in ("exact", "published"):
    print(accountant, "sigma =", found.sigma(accountant))
draw_noise(found).save("noise.html")
"""
    imports = (
        "from dpsyn.figures.mixing.accounting import Sizes\n"
        "from dpsyn.figures.mixing.noise import draw_noise, noise_info\n"
        "from dpsyn.figures.mixing.records import records_of\n"
    )
    return script("DP-CDA from the inside: it reads the private rows.", body, current, imports)
