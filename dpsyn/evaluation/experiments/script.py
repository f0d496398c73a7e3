"""Python scripts that do an experiment again, or make releases again, from the data's file."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from dpsyn import checks
from dpsyn.data.source import DataSource
from dpsyn.errors import DataError
from dpsyn.evaluation.experiments.archive import Experiment, MadeRelease
from dpsyn.mechanisms.records import plain_config
from dpsyn.privacy.spec import PrivacySpec

_SCRIPT = '''"""{title}

Written by dpsyn. Put the path of the data below and run it{words}
"""

import json

import numpy as np

import dpsyn
{imports}

DATA = {source!r}
DOMAIN = json.loads("""{domain}""")
{name} = json.loads("""{plan}""")


def main() -> None:
    table = {read}
    train, test = table.split({held_out!r}, np.random.default_rng({split_seed!r}))
{body}

if __name__ == "__main__":
    main()
'''

_EXPERIMENT = """\
    results = run_grid(
        Grid.from_dict(GRID),
        train,
        holdout=test,
        target={target!r},
        degrees={degrees!r},
        models={models!r},
        workers=2,
    )
    results_frame(results).to_csv("experiment.csv", index=False)
    print(results)
"""

_RELEASES = """\
    baseline = real_baseline(train, test, {target!r}, degrees={degrees!r}, models={models!r})
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
        if not isinstance(report.prediction, str):
            for score in report.prediction.synthetic:
                print(f"  {{score.model}}: {{score.measures}}")
"""


def releases_script(
    releases: Sequence[MadeRelease],
    data: DataSource,
    *,
    target: str | None,
    degrees: Sequence[int],
    models: Sequence[str],
) -> str:
    """The text of a script that makes releases again and measures them; it names those whose settings are not known.

    Args:
        releases: of the data.
        data: what they are made from.
        target: the column that models predict.
        degrees: numbers of columns of the tables that are compared.
        models: which ones are trained.
    """
    runs, left_out = [], []
    for made in releases:
        config = plain_config(made.config)
        if config is None:
            left_out.append(made.label)
        else:
            spec = asdict(PrivacySpec(**made.release.settings["requested"]))
            runs.append({"label": made.label, "config": config, "spec": spec, "seed": made.seed})
    unknown = f"\nNot in it, since their settings were not kept: {', '.join(left_out)}." if left_out else ""
    return _script(
        "The releases of the comparison page, made and measured again.",
        ". Runs with a seed are demonstrations and give the same rows with\nthe same data and versions; without one (None) "
        f"they draw new noise from the system.{unknown}",
        "from dpsyn.evaluation.experiments import config_from_dict\nfrom dpsyn.evaluation.baseline import real_baseline",
        data,
        "RUNS",
        runs,
        _RELEASES.format(target=target, degrees=tuple(degrees), models=tuple(models)),
    )


def experiment_script(experiment: Experiment) -> str:
    """The text of a script that does an experiment again.

    Raises:
        DataError: it was kept without its columns.
        ParameterError: it is no experiment.
    """
    checks.instance("experiment", experiment, Experiment, "an experiment")
    if experiment.data is None:
        raise DataError(f"{experiment.name} was kept without the columns of its data")
    return _script(
        f"An experiment with {', '.join(experiment.grid.configs)}.",
        ": the same data and the same versions give the same numbers.",
        "from dpsyn.evaluation.experiments import Grid, results_frame, run_grid",
        experiment.data,
        "GRID",
        experiment.grid.to_dict(),
        _EXPERIMENT.format(target=experiment.target, degrees=experiment.degrees, models=experiment.models),
    )


def _script(title: str, words: str, imports: str, data: DataSource, name: str, plan: Any, body: str) -> str:
    domain = "dpsyn.Domain.from_dict(DOMAIN)"
    return _SCRIPT.format(
        title=_commented(title),
        words=_commented(words),
        imports=imports,
        source=data.name,
        domain=_quoted(data.domain.to_dict()),
        name=name,
        plan=_quoted(plan),
        read=f"dpsyn.load_sample(DATA).with_domain({domain})" if data.sample else f"dpsyn.read_table(DATA, domain={domain})",
        held_out=data.held_out,
        split_seed=data.split_seed,
        body=body,
    )


def _commented(text: str) -> str:
    """Text, with names of anybody's choice in it, that can stand between three quotation marks."""
    plain = "".join(c if c.isprintable() or c == "\n" else " " for c in text)
    return plain.replace("\\", "/").replace('"', "'")


def _quoted(data: object) -> str:
    """JSON that can stand between three quotation marks."""
    return json.dumps(data, indent=1, default=str).replace("\\", "\\\\").replace('"""', '\\"\\"\\"')
