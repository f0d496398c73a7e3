"""Python for what a page shows: text that runs as it is on bundled data, and on a file once its path is put in."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import MISSING, Field, fields
from typing import Any

from dpsyn.data.samples import load_sample
from dpsyn.data.schema_file import as_written
from dpsyn.domain import Domain
from dpsyn.kit.explorer import Explorer
from dpsyn.kit.visit import SPLIT_SEED, Dataset
from dpsyn.privacy.spec import PrivacySpec
from dpsyn.table import Table


def read(current: Dataset) -> str:
    """Lines that make ``table``, and ``train`` and ``test`` as the app splits it."""
    domain = _lines(current.table.domain)
    if current.sample is None:
        told = "" if current.in_memory else ", in_place=True"
        lines = [f"table = dpsyn.read_table({current.table.name!r}, domain=dpsyn.Domain.from_dict({domain}){told})"]
    else:
        lines = [f"table = dpsyn.load_sample({current.sample!r})"]
        if load_sample(current.sample).domain != current.table.domain:
            lines.append(f"table = table.with_domain(dpsyn.Domain.from_dict({domain}))")
    if current.table.n >= 2 and current.in_memory:
        lines.append(f"train, test = table.split({current.held_out!r}, np.random.default_rng({SPLIT_SEED}))")
    else:
        lines.append("train, test = table, None")
    return "\n".join(lines)


def _lines(domain: Domain) -> str:
    """What :meth:`Domain.from_dict` reads, a line per column."""
    return "{'columns': [\n" + "".join(f"    {column!r},\n" for column in as_written(domain)["columns"]) + "]}"


def written(thing: Any) -> str:
    """A configuration or a privacy requirement as a call with what is not a default; a table by its field's name."""
    parts = [
        f"{f.name}={f.name if isinstance(getattr(thing, f.name), Table) else repr(getattr(thing, f.name))}"
        for f in fields(thing)
        if f.init and (_required(f) or getattr(thing, f.name) != f.default)
    ]
    return f"dpsyn.{type(thing).__name__}({', '.join(parts)})"


def _required(field: Field[Any]) -> bool:
    return field.default is MISSING


def imports_of(package: str, **names: str) -> str:
    """Import lines: by module of the package what is taken from it; module names in order."""
    return "".join(f"from {package}.{module} import {what}\n" for module, what in sorted(names.items()))


def script(title: str, body: str, current: Dataset | None, imports: str = "") -> str:
    """A module: what it is, the imports that it needs, the data, and the body."""
    main = (f"{read(current)}\n" if current is not None else "") + body.strip("\n")
    numpy, library = "np." in main, "dpsyn." in main
    heads = [f'"""{title}"""', "import numpy as np" if numpy else "", ("import dpsyn\n" if library else "") + imports, main]
    return "\n\n".join(part.strip("\n") for part in heads if part) + "\n"


def generator(current: Dataset, config: Any, spec: PrivacySpec, seed: int | None) -> str:
    """Calibrate and run one mechanism."""
    source = "None  # the system's entropy" if seed is None else f"np.random.default_rng({seed})  # a demonstration"
    public = getattr(config, "public", None)
    rows = "" if public is None else f"public = dpsyn.read_table({public.name + '.csv'!r}, domain=table.domain)\n"
    body = f"""
{rows}config = {written(config)}
spec = {written(spec)}
mechanism = config.calibrate(spec, train.domain, n=train.n)
print(mechanism.claim(seeded={seed is not None}))  # known before a row is read
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


def arguments(**values: Any) -> str:
    """Named arguments, a line each; what is None is left to its default."""
    return "".join(f"    {name}={value!r},\n" for name, value in values.items() if value is not None)


def verdicts(explorer: Explorer, further: Mapping[str, Any]) -> str:
    """The call that judges the dataset of the details; its smallest class, a count of private rows, as what counts it."""
    loaded = explorer.focus.loaded
    settings = {**explorer.settings_of(explorer.focus), **further}
    known = settings.pop("smallest_class") is not None
    smallest = f"    smallest_class=train.smallest_class({loaded.target!r}),\n" if known and loaded is not None else ""
    return f"dpsyn.feasibility(\n    statistics,\n    spec,\n{arguments(**settings)}{smallest})"


def on_feasibility(explorer: Explorer, body: str, imports: str = "") -> str:
    """A script on the dataset of the page Feasibility's details: ``statistics`` and ``spec``, and the body."""
    spec = f"spec = {written(explorer.spec)}\n"
    title = "Which theorem applies, and what would have to change."
    current = explorer.focus.loaded
    if current is not None:
        begun = f"\nstatistics = train.statistics(two_valued_as_bit={current.two_valued_as_bit!r})\n{spec}"
        return script(title, begun + body, current, imports)
    stats = explorer.stats
    known = ", ".join(f"{f.name}={getattr(stats, f.name)!r}" for f in fields(stats) if f.init)
    return script(title, f"\nstatistics = dpsyn.DatasetStatistics({known})\n{spec}{body}", None, imports)
