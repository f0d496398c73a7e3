"""The charts of a report and of a finished experiment by name."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from decimal import Decimal
from typing import Any

import numpy as np
import pandas as pd
import pytest

from dpsyn.domain import Attribute, Domain
from dpsyn.errors import ParameterError
from dpsyn.evaluation.baseline import real_baseline
from dpsyn.evaluation.charts import CHARTS
from dpsyn.evaluation.experiments import Grid, run_grid
from dpsyn.evaluation.report import Report, compare, evaluate
from dpsyn.kit.layers import GUIDE
from dpsyn.mechanisms.base import no_progress
from dpsyn.mechanisms.noisy_reweighting import NoisyReweighting
from dpsyn.privacy.spec import PrivacySpec
from dpsyn.table import Table

DOMAIN = Domain.of(
    [
        Attribute("size", "numeric", lower=0, upper=1, bins=4),
        Attribute("age", "numeric", lower=0, upper=9, unit=1),
        Attribute("ill", "truth", categories=("no", "yes")),
    ]
)


def rows_of(rows: int, seed: int) -> Table:
    draw = np.random.default_rng(seed)
    size, ill = draw.random(rows), draw.choice(["no", "yes"], rows)
    return Table(pd.DataFrame({"size": size, "age": draw.integers(0, 10, rows), "ill": ill}), DOMAIN)


REAL, HELD, RELEASE = rows_of(90, 1), rows_of(40, 2), rows_of(70, 3)


@pytest.fixture(scope="module")
def report() -> Report:
    return evaluate(REAL, RELEASE.frame, holdout=HELD, target="ill", degrees=(1, 2))


TITLES: Mapping[tuple[Any, ...], str] = {
    (): "Error of the marginal tables",
    ("marginals",): "Error of the marginal tables",
    ("pairs",): "Synthetic rows",
    ("pairs of a real sample",): "Fresh real rows, 40",
    ("correlations",): "Rank correlation",
    ("prediction",): "Predicting ill on 40 held-out real rows",
    ("coefficients",): "What predicts ill = no",
    ("column",): "Values of size",
    ("column", "ill"): "Values of ill",
}


@pytest.mark.parametrize("asked", TITLES)
def test_every_chart_is_there(report: Report, asked: tuple[Any, ...]) -> None:
    figure = report.figure(*asked)
    assert figure.layout.title.text == TITLES[asked]
    assert figure.layout.paper_bgcolor == figure.layout.plot_bgcolor == "rgba(0,0,0,0)"
    assert figure.layout.font.color == GUIDE  # tests/kit/test_theme.py measures that it can be read on both


def test_the_worst_table_is_the_one_that_is_furthest(report: Report) -> None:
    for asked, degree in ((None, 2), (1, 1), (2, 2)):
        error = report.marginals[degree]
        title = report.figure("worst table", asked).layout.title.text.replace("<br>", " ")
        assert title.startswith(f"{' × '.join(error.worst)} (total variation {error.max:.3f}; fresh real rows, 40:")


def test_maps_have_a_key_to_their_colours(report: Report) -> None:
    maps = [[trace for trace in report.figure(*asked).data if trace.type == "heatmap"] for asked in TITLES if asked]
    assert all(any(trace.showscale is not False for trace in found) for found in maps if found)
    shares = report.figure("worst table", 2).data
    assert [(trace.showscale, trace.zmax) for trace in shares[1:]] == [(True, shares[0].zmax), (True, -shares[2].zmin)]


def test_every_name_is_tried_here(report: Report) -> None:
    assert set(report.figures) == {asked[0] for asked in TITLES if asked} | {"worst table"}


@pytest.mark.parametrize("asked", [("marginal",), (["x"],), ("column", "size "), ("worst table", 3), ("pairs", "ill")])
def test_another_name_is_told_the_choices(report: Report, asked: tuple[Any, ...]) -> None:
    with pytest.raises(ParameterError, match=r"'marginals', 'worst table'|'size', 'age', 'ill'|1, 2|only 'worst table'"):
        report.figure(*asked)


@pytest.mark.parametrize("degree", [True, Decimal(1), 1 + 0j, 1.0, np.array(1)])
def test_a_number_of_columns_is_a_whole_one(report: Report, degree: Any) -> None:
    with pytest.raises(ParameterError, match=r"^of = "):
        report.figure("worst table", degree)


@pytest.mark.parametrize("degrees", [(1,), (2,), (1, 2)])
@pytest.mark.parametrize("held", [None, HELD])
@pytest.mark.parametrize("columns", [["ill"], ["ill", "size", "age"]])
def test_the_names_are_those_that_can_be_drawn(degrees: tuple[int, ...], held: Table | None, columns: list[str]) -> None:
    few = REAL.project(columns)
    of = evaluate(few, few.frame, holdout=held, target="ill", degrees=degrees)
    for found in (of, replace(of, baseline=None, rows=None)):
        for name in CHARTS:
            if name in found.figures:
                assert found.figure(name).data
            else:
                with pytest.raises(ParameterError):
                    found.figure(name)


def test_what_cannot_be_drawn_says_why() -> None:
    few = REAL.project(["ill"])
    report = evaluate(few, few.frame, degrees=(1,))
    for name, why in (
        ("correlations", "fewer than two"),
        ("prediction", "no target"),
        ("pairs of a real sample", "no held-out"),
    ):
        with pytest.raises(ParameterError, match=why):
            report.figure(name)


def test_reports_of_a_job_leave_the_rows_behind() -> None:
    found = compare({"a": RELEASE.frame}, REAL, no_progress, degrees=(1,))["a"]
    assert found.rows is None
    assert found.baseline is None
    assert found.figure().data
    for name in ("column", "worst table"):
        with pytest.raises(ParameterError, match="without the rows"):
            found.figure(name)


def test_a_report_has_what_the_next_one_needs(report: Report) -> None:
    again = evaluate(REAL, RELEASE.frame, baseline=report.baseline)
    assert again.to_dict() == report.to_dict()
    assert replace(again, baseline=None, rows=None).to_dict() == report.to_dict()


def test_the_curves_of_an_experiment() -> None:
    grid = Grid({"b": NoisyReweighting(rows=9)}, PrivacySpec(1.0), values=(0.5, 2.0), repeats=1, draws=1)
    baseline = real_baseline(REAL, HELD, degrees=(1, 2))
    results = run_grid(grid, REAL, baseline=baseline, backend="here")
    figure = results.figure()
    assert figure.layout.title.text == "2-way error, mean"
    assert list(figure.data[0].x) == [0.5, 2.0]
    assert "fresh real rows, " in str([trace.name for trace in figure.data])
    assert results.figure("1-way error, largest").layout.title.text == "1-way error, largest"
    with pytest.raises(ParameterError, match="'2-way error, mean'"):
        results.figure("error")
    with pytest.raises(ParameterError, match="no run ended"):
        type(results)([], grid).figure()
