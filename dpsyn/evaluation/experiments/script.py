"""Python scripts that do an experiment again, or make releases again, from the data's file."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass

from dpsyn.data.source import DataSource
from dpsyn.evaluation.experiments.plan import Grid, config_to_dict
from dpsyn.mechanisms.base import Config
from dpsyn.privacy.spec import PrivacySpec

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


_RELEASES = '''"""The releases of the comparison page, made and measured again.

Written by dpsyn. Put the path of the data below and run it. Runs with a seed are demonstrations and give the same rows with
the same data and versions; without one (None) they draw new noise from the system.{left_out}
"""

import json

import numpy as np

import dpsyn
from dpsyn.evaluation.experiments import config_from_dict
from dpsyn.evaluation.report import real_baseline

DATA = {source!r}
DOMAIN = json.loads("""{domain}""")
RUNS = json.loads("""{runs}""")


def main() -> None:
    table = {read}
    train, test = table.split({held_out!r}, np.random.default_rng({split_seed!r}))
    baseline = real_baseline(train, test, {target!r}, degrees={degrees!r}, classifiers={classifiers!r})
    for number, run in enumerate(RUNS, start=1):
        config = config_from_dict(run["config"])
        mechanism = config.calibrate(dpsyn.PrivacySpec(**run["spec"]), train.domain, n=train.n)
        generator = None if run["seed"] is None else np.random.default_rng(run["seed"])
        release = mechanism(generator, train)
        release.rows.to_csv(f"release_{{number}}.csv", index=False)
        report = dpsyn.evaluate(train, release.rows, baseline=baseline)
        print(f"{{run['label']}}: {{release.guarantee}}")
        for degree, error in report.marginals.items():
            worst = " x ".join(error.worst)
            print(f"  {{degree}}-way error: mean {{error.mean:.5f}}, largest {{error.max:.5f}} at {{worst}}")
        if not isinstance(report.classification, str):
            for score in report.classification.synthetic:
                print(f"  {{score.classifier}}: accuracy {{score.accuracy}}, ROC-AUC {{score.auc}}, Brier {{score.brier}}")


if __name__ == "__main__":
    main()
'''


@dataclass(frozen=True)
class ScriptedRun:
    """One release as a script makes it again: what it is called, its settings, what was asked for, its seed or None."""

    label: str
    config: Config
    spec: PrivacySpec
    seed: int | None


def releases_script(
    runs: Sequence[ScriptedRun],
    data: DataSource,
    *,
    target: str | None,
    degrees: Sequence[int],
    classifiers: Sequence[str],
    left_out: Sequence[str] = (),
) -> str:
    """The text of a script that makes releases again and measures them.

    Args:
        runs: the releases.
        data: what they are made from.
        target: the column that classifiers predict.
        degrees: numbers of columns of the tables that are compared.
        classifiers: which ones are trained.
        left_out: releases whose settings are not known, to be named in the script.
    """
    listed = [{"label": r.label, "config": config_to_dict(r.config), "spec": asdict(r.spec), "seed": r.seed} for r in runs]
    words = f"\nNot in it, since their settings were not kept: {', '.join(left_out)}." if left_out else ""
    return _RELEASES.format(
        source=data.name,
        domain=_quoted(data.domain.to_dict()),
        runs=_quoted(listed),
        read=_read(data.sample),
        held_out=data.held_out,
        split_seed=data.split_seed,
        target=target,
        degrees=tuple(degrees),
        classifiers=tuple(classifiers),
        left_out=words.replace("\\", "/").replace('"', "'"),
    )


def _read(sample: bool) -> str:
    if sample:
        return "dpsyn.load_sample(DATA).with_domain(dpsyn.Domain.from_dict(DOMAIN))"
    return "dpsyn.read_table(DATA, domain=dpsyn.Domain.from_dict(DOMAIN))"


def experiment_script(
    grid: Grid,
    data: DataSource,
    *,
    target: str | None,
    degrees: Sequence[int],
    classifiers: Sequence[str],
    measure: str,
) -> str:
    """The script's text.

    Args:
        grid: the experiment.
        data: what it is about.
        target: the column that classifiers predict.
        degrees: numbers of columns of the tables that are compared.
        classifiers: which ones are trained.
        measure: what the script prints.
    """
    return _SCRIPT.format(
        title=f"An experiment with {', '.join(grid.configs)}.",
        source=data.name,
        domain=_quoted(data.domain.to_dict()),
        grid=_quoted(grid.to_dict()),
        read=_read(data.sample),
        held_out=data.held_out,
        split_seed=data.split_seed,
        target=target,
        degrees=tuple(degrees),
        classifiers=tuple(classifiers),
        measure=measure,
    )


def _quoted(data: object) -> str:
    """JSON that can stand between three quotation marks."""
    return json.dumps(data, indent=1, default=str).replace("\\", "\\\\").replace('"""', '\\"\\"\\"')
