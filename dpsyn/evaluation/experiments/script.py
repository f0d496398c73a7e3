"""A Python script that does an experiment again, from the data's file."""

from __future__ import annotations

import json
from collections.abc import Sequence

from dpsyn.domain import Domain
from dpsyn.evaluation.experiments.plan import Grid

_SCRIPT = '''"""{title}

Written by dpsyn. Put the path of the data below and run it: the same data and the same versions give the same numbers.
"""

import json

import numpy as np

import dpsyn
from dpsyn.evaluation.experiments import Grid, results_frame, run_grid, summarise

DATA = {source!r}
DOMAIN = json.loads("""{domain}""")
GRID = json.loads("""{grid}""")


def main() -> None:
    table = {read}
    train, test = table.split({held_out!r}, np.random.default_rng({split_seed!r}))
    results = run_grid(
        Grid.from_dict(GRID),
        train,
        holdout=test,
        target={target!r},
        degrees={degrees!r},
        classifiers={classifiers!r},
        workers=2,
    )
    results_frame(results).to_csv("experiment.csv", index=False)
    for point in summarise(results, {measure!r}):
        print(f"{{point.label:40}} {{point.value:10g}} {{point.mean:10.5f}}  95 %: {{point.low:.5f}} to {{point.high:.5f}}")
    for result in results:
        if result.status != "done":
            print(result.label, result.value, result.status, result.message)


if __name__ == "__main__":
    main()
'''


def experiment_script(
    grid: Grid,
    *,
    source: str,
    domain: Domain,
    sample: bool,
    held_out: float,
    split_seed: int,
    target: str | None,
    degrees: Sequence[int],
    classifiers: Sequence[str],
    measure: str,
) -> str:
    """The script's text.

    Args:
        grid: the experiment.
        source: path of the data, or the name of a bundled sample.
        domain: of the data, public facts.
        sample: ``source`` is the name of a bundled sample.
        held_out: share of the rows kept for testing; ``split_seed`` decides which.
        split_seed: see there.
        target: the column that classifiers predict.
        degrees: numbers of columns of the tables that are compared.
        classifiers: which ones are trained.
        measure: what the script prints.
    """
    read = "dpsyn.load_sample(DATA).with_domain(dpsyn.Domain.from_dict(DOMAIN))"
    if not sample:
        read = "dpsyn.read_table(DATA, domain=dpsyn.Domain.from_dict(DOMAIN))"
    return _SCRIPT.format(
        title=f"An experiment with {', '.join(grid.configs)}.",
        source=source,
        domain=_quoted(domain.to_dict()),
        grid=_quoted(grid.to_dict()),
        read=read,
        held_out=held_out,
        split_seed=split_seed,
        target=target,
        degrees=tuple(degrees),
        classifiers=tuple(classifiers),
        measure=measure,
    )


def _quoted(data: object) -> str:
    """JSON that can stand between three quotation marks."""
    return json.dumps(data, indent=1, default=str).replace("\\", "\\\\").replace('"""', '\\"\\"\\"')
