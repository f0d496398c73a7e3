"""The script that reproduces an experiment is run, and its numbers are the experiment's."""

from __future__ import annotations

import re
import runpy
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from dpsyn.data.read import read_table
from dpsyn.data.samples import load_sample
from dpsyn.data.source import DataSource
from dpsyn.domain import Domain
from dpsyn.evaluation.experiments import Experiment, Grid, MadeRelease, experiment_script, results_frame, run_grid
from dpsyn.evaluation.experiments.script import releases_script
from dpsyn.mechanisms.mwem import MWEM
from dpsyn.mechanisms.noisy_reweighting import NoisyReweighting
from dpsyn.privacy.spec import PrivacySpec

GRID = Grid(
    {'as "it" comes': NoisyReweighting(degree=1, rows=300)}, PrivacySpec(1.0, 1e-6), values=(1.0,), repeats=1, seed=3
)


@pytest.mark.parametrize("sample", [True, False])
def test_the_script_gives_the_same_numbers(
    sample: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    table = load_sample("car")
    source = "car"
    if not sample:
        source = str(tmp_path / 'my "data".csv')
        table.frame.to_csv(source, index=False)
        table = read_table(source)
    train, test = table.split(0.3, np.random.default_rng(4))
    settings = {"target": None, "degrees": (1, 2), "models": ("logistic regression",)}
    expected = run_grid(GRID, train, holdout=test, backend="here", **settings)
    data = DataSource(source, table.domain, sample, held_out=0.3, split_seed=4)
    text = experiment_script(Experiment(1, "mine", source, "f00", GRID, data=data, **settings))
    (tmp_path / "again.py").write_text(text)
    monkeypatch.chdir(tmp_path)
    runpy.run_path(str(tmp_path / "again.py"), run_name="__main__")
    found = pd.read_csv("experiment.csv")
    assert found["number"].tolist() == pytest.approx(results_frame(expected)["number"].tolist(), abs=1e-12)
    assert 'as "it" comes' in capsys.readouterr().out


@pytest.mark.parametrize("neighbouring", ["replace_one", "add_remove"])
@pytest.mark.parametrize("confirmed", [0, 1, 7])
def test_releases_are_made_again_over_the_domain_as_it_was_confirmed_and_as_they_were_asked_for(
    confirmed: int, neighbouring: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    table = load_sample("car")
    domain = Domain.of(replace(a, public=at < confirmed) for at, a in enumerate(table.domain.attributes))
    table = table.with_domain(domain)
    train, _ = table.split(0.3, np.random.default_rng(4))
    spec, config, releases = PrivacySpec(1.00041, 1e-6, neighbouring), MWEM(rounds=2, rows=9), []
    for number, seed in enumerate([None, 0, 3], start=1):
        by = config.calibrate(spec, domain, train.n)
        release = by(None if seed is None else np.random.default_rng(seed), train)
        releases.append(MadeRelease(number, "mine", release, seed, "car", domain, config=config))
    lost = MadeRelease(4, "of lost settings", releases[0].release, None, "car", domain)
    data = DataSource("car", domain, True, held_out=0.3, split_seed=4)
    text = releases_script([*releases, lost], data, target=None, degrees=(1,), models=("logistic regression",))
    assert "Not in it, since their settings were not kept: of lost settings (no. 4)." in text
    (tmp_path / "again.py").write_text(text)
    monkeypatch.chdir(tmp_path)
    held = runpy.run_path(str(tmp_path / "again.py"), run_name="__main__")
    assert Domain.from_dict(held["DOMAIN"]) == domain
    assert [(run["spec"], run["seed"]) for run in held["RUNS"]] == [(asdict(spec), seed) for seed in (None, 0, 3)]
    claims = re.findall(r"^mine \(no\. \d\): (.*)$", capsys.readouterr().out, re.M)
    assert claims == [str(made.release.guarantee) for made in releases]
    assert [claim.startswith("a demonstration without a guarantee") for claim in claims] == [False, True, True]
    assert claims[0].endswith("(proven)" if confirmed == 7 else "nobody confirmed the domain as public)")
    for number, made in enumerate(releases[1:], start=2):
        assert pd.read_csv(f"release_{number}.csv").astype(str).equals(made.release.rows.astype(str))
