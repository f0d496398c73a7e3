"""The script that reproduces an experiment is run, and its numbers are the experiment's."""

from __future__ import annotations

import runpy
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from dpsyn.data.read import read_table
from dpsyn.data.samples import load_sample
from dpsyn.data.source import DataSource
from dpsyn.evaluation.experiments import Experiment, Grid, experiment_script, results_frame, run_grid
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
