"""What is said of runs of an experiment that do not give what was asked for."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from streamlit.testing.v1 import AppTest

import dpsyn
from dpsyn.evaluation.experiments import CellResult, Experiment, Grid
from dpsyn.privacy.spec import Guarantee


def page(experiment) -> None:
    from dpsyn.app.lab.results import _refusals

    _refusals(experiment)


@pytest.mark.parametrize("backwards", [False, True])
@pytest.mark.parametrize(
    ("claims", "said"),
    [
        ([(1.0, 0.0), (1.0, 1e-5)], None),
        ([(1.0, 1e-5), (20.79441, 0.0)], "20.8"),
        ([(20.79441, 0.0), (20.79441, 0.0)], "20.8"),
        ([(20.79441, 0.0), (2079.441, 0.0)], "20.8 to 2080"),
        ([(1.0, 1.1e-5), (0.5, 0.0)], "1"),
    ],
)
def test_the_epsilon_that_runs_need_is_said_of_all_of_them(
    claims: list[tuple[float, float]], said: str | None, backwards: bool
) -> None:
    config: Any = dpsyn.PrivateSampling(rows=10)
    grid = Grid({"one": config}, dpsyn.PrivacySpec(1.0, 1e-5), vary="rows", values=(10, 1_000), repeats=1)
    results = {}
    for cell, (epsilon, delta) in zip(grid.cells(), claims, strict=True):
        claim = Guarantee(epsilon, delta, "replace_one", "a proof").to_dict()
        results[cell.key] = replace(CellResult.of(cell, "done"), guarantee=claim, measures=({"e": 1.0},))
    if backwards:
        results = dict(reversed(results.items()))
    experiment = Experiment(1, "mine", "asia", "f00", grid, None, (1,), (), results=results)
    app = AppTest.from_function(page, default_timeout=60, args=(experiment,)).run()
    assert not app.exception
    warnings = [warning.value for warning in app.warning]
    assert len(warnings) == (said is not None)
    for warning in warnings:
        assert f"these rows need **ε = {said}**" in warning
