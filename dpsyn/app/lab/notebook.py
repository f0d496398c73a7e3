"""A visit as a Jupyter notebook that runs from top to bottom: data, domain, theorems, releases, comparison, experiments."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from importlib.metadata import version
from typing import Any

import dpsyn
from dpsyn import escape
from dpsyn.app.lab.releases import Asked
from dpsyn.evaluation.experiments import Experiment, MadeRelease
from dpsyn.kit import code
from dpsyn.kit.explorer import Chosen, Explorer
from dpsyn.kit.notebook import Code, Words, notebook
from dpsyn.kit.visit import Dataset
from dpsyn.mechanisms.base import Config
from dpsyn.mechanisms.records import plain_config, spec_from_dict
from dpsyn.notation import readable
from dpsyn.privacy.spec import PrivacySpec

_MODULES = {
    "dpsyn.evaluation.conclusions": ("advice", "ranking"),
    "dpsyn.evaluation.experiments": ("Grid", "config_from_dict", "run_grid"),
    "dpsyn.evaluation.standings": ("draw_errors",),
    "dpsyn.evaluation.baseline": ("real_baseline",),
    "dpsyn.evaluation.tables": ("summary_table",),
    "dpsyn.kit.plotly": ("alone",),
}
_COMPARED = """\
print(advice(reports))
alone(draw_errors(reports))"""
_BEST = """\
best = reports[ranking(reports)[0]]
print(", ".join(best.figures))  # names of all charts
best.figure("worst table")"""


def visit_notebook(
    current: Dataset,
    releases: Sequence[MadeRelease],
    asked: Asked,
    experiments: Sequence[Experiment],
    spec: PrivacySpec,
    settings: Mapping[str, Any],
    on_screen: str | None = None,
) -> bytes:
    """The file's bytes. It holds no row; the domain of the data stands in it, and reads no session.

    Args:
        current: the data.
        releases: made from it, oldest first.
        asked: what a comparison measures.
        experiments: about it.
        spec: the budget that all pages share.
        settings: of the theorems on page Feasibility.
        on_screen: code of the page, for a visit that has made nothing.
    """
    again = [made for made in releases if plain_config(made.config) is not None]
    cells: list[Words | Code] = [Words("## The data"), Code(code.read(current)), Code("table")]
    cells += [Words(_domain(current)), Code("train.domain")]
    if current.table.n:
        cells += [Words("## Do the theorems apply?"), Code(_feasibility(current, spec, settings))]
    for number, made in enumerate(again, start=1):
        cells += [Words(_words_of(number, made)), Code(_release(number, made))]
    left_out = [made.label for made in releases if made not in again]
    if left_out:
        names = escape.markdown(", ".join(left_out))
        cells.append(
            Words(f"Their settings were not kept, or hold rows or functions: nothing here makes these again: {names}.")
        )
    if again:
        cells += [Words("## The comparison"), Code(_comparison(again, asked)), Code("summary_table(reports)")]
        cells += [Code(_COMPARED), Code(_BEST)]
    elif on_screen is not None and not experiments:
        cells += [Words("## What was on screen"), Code(on_screen)]
    for experiment in reversed(experiments):
        cells += [Words(_words_of_experiment(experiment)), Code(_experiment(experiment)), Code("results.figure()")]
    return notebook([Words(_head(current)), Code(_imports(cells)), *cells])


def _imports(cells: Sequence[Words | Code]) -> str:
    """Of what the cells use."""
    used = {word for cell in cells if isinstance(cell, Code) for word in re.findall(r"\w+", cell.text)}
    taken = {module: ", ".join(name for name in names if name in used) for module, names in _MODULES.items()}
    lines = [f"from {module} import {names}" for module, names in taken.items() if names]
    return "\n".join(["import numpy as np", "", "import dpsyn", *lines])


def _head(current: Dataset) -> str:
    path = "" if current.sample else " Put the path of your file in place of its name."
    return (
        f"# {escape.markdown(current.table.name)}\n\n"
        f"A visit to dpsyn {version('dpsyn')}, to do again from top to bottom.{path}\n\n"
        "Only a release may be published, under the guarantee that it shows. All else reads private rows."
    )


def _domain(current: Dataset) -> str:
    if not current.table.domain.is_public:
        said = "Nobody confirmed all of it as public: the cell above tells of the rows, and no guarantee is true yet."
        return f"## The domain\n\n{said}"
    known = [f"- {escape.markdown(name)}: {escape.markdown(source)}" for name, source in current.sources.items()]
    return "## The domain\n\n" + ("Where its columns are known from:\n\n" + "\n".join(known) if known else "It is public.")


def _feasibility(current: Dataset, spec: PrivacySpec, settings: Mapping[str, Any]) -> str:
    asked = Explorer((Chosen.of(current),), spec, settings)
    return (
        f"statistics = train.statistics(two_valued_as_bit={current.two_valued_as_bit!r})\n"
        f"spec = {code.written(spec)}\n"
        f"{code.verdicts(asked, {})}"
    )


def _words_of(number: int, made: MadeRelease) -> str:
    seed = " A seed makes it a demonstration: the same rows again, and no guarantee." if made.seed is not None else ""
    claim = str(made.release.guarantee)
    return f"## Release {number}: {escape.markdown(made.name)}\n\n{escape.markdown(claim[0].upper() + claim[1:])}.{seed}"


def _release(number: int, made: MadeRelease) -> str:
    source = "None" if made.seed is None else f"np.random.default_rng({made.seed})"
    return (
        f"config = {_config(made.config)}\n"
        f"spec = {code.written(spec_from_dict(made.release.settings['requested']))}\n"
        f"mechanism = config.calibrate(spec, train.domain, n=train.n)\n"
        f"release_{number} = mechanism({source}, train)\n"
        f'release_{number}.rows.to_csv("release_{number}.csv", index=False)\n'
        f"release_{number}"
    )


def _config(config: Config | None) -> str:
    public = config is not None and type(config).__name__ in dpsyn.__all__
    return code.written(config) if public else f"config_from_dict({plain_config(config)!r})"


def _comparison(releases: Sequence[MadeRelease], asked: Asked) -> str:
    names = "".join(f"    {made.label!r}: release_{number},\n" for number, made in enumerate(releases, start=1))
    return (
        f"baseline = real_baseline(train, test, {asked.target!r}, degrees={asked.degrees!r}, models={asked.models!r})\n"
        f"releases = {{\n{names}}}\n"
        "reports = {name: dpsyn.evaluate(train, made.rows, baseline=baseline) for name, made in releases.items()}"
    )


def _words_of_experiment(experiment: Experiment) -> str:
    seconds = sum(result.seconds for result in experiment.results.values())
    took = f", which took {readable(f'{seconds:,.0f}')} seconds in all" if seconds >= 1 else ""
    return f"## {escape.markdown(experiment.name)}\n\n{len(experiment.cells):,} runs{took}."


def _experiment(experiment: Experiment) -> str:
    told = code.arguments(target=experiment.target, degrees=experiment.degrees, models=experiment.models, workers=2)
    return (
        f"grid = Grid.from_dict({experiment.grid.to_dict()!r})\n"
        f"results = run_grid(\n    grid,\n    train,\n    holdout=test,\n{told})\nresults"
    )
