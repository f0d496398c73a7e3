"""The benchmark of the three mechanisms and the comparison page give the same numbers for the same seed."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from typing import Any

import pandas as pd

from dpsyn.evaluation.experiments import results_frame
from dpsyn.mechanisms.registry import THE_THREE, title
from tests.pages.conftest import ROOT, finish_job


def command() -> Any:
    spec = importlib.util.spec_from_file_location("three_mechanisms", ROOT / "benchmarks" / "three_mechanisms.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_page_and_the_command_agree_on_car(open_page: Any, tmp_path: Path) -> None:
    app = open_page("comparison", data="car", comparison_what="Experiments", lab_repeats="1")
    tag = app.session_state["dataset"].tag
    app.multiselect(key=f"lab_mechanisms_{tag}").set_value([title(name) for name in THE_THREE])
    app.text_input(key=f"lab_values_epsilon_{tag}").set_value("1").run()
    app.button(key="lab_start").click().run()
    app = finish_job(app)
    (experiment,) = app.session_state["experiments"]
    table, figure = tmp_path / "numbers.csv", tmp_path / "figure.svg"
    command().main(["--only", "car", "--repeats", "1", "--csv", str(table), "--figure", str(figure)])
    keys = ["label", "value", "repeat", "draw", "measure"]
    page = results_frame(list(experiment.results.values())).set_index(keys)["number"].sort_index()
    ran = pd.read_csv(table).set_index(keys)["number"].sort_index()
    assert set(page.index.get_level_values("label")) == {title(name) for name in THE_THREE}
    pd.testing.assert_series_equal(page, ran, rtol=0, atol=1e-12)
    assert figure.read_bytes().startswith(b"<svg")
