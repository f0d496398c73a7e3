"""The data of the comparison figures without drawing, and that what is drawn is complete and can be sent to a browser."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import pytest

from dpsyn.domain import Attribute, Domain
from dpsyn.errors import ParameterError
from dpsyn.evaluation import figures
from dpsyn.evaluation.baseline import real_baseline
from dpsyn.evaluation.coefficients import Interval, Regression, Term
from dpsyn.evaluation.figures import draw_coefficients, draw_correlations, draw_heatmaps
from dpsyn.evaluation.report import Report, evaluate
from dpsyn.kit.plotly import bar_style, dot_style, shorten_term
from dpsyn.table import Table

LONG = "a release with a name that is much too long for a legend, ε = 1"
DOMAIN = Domain.of(
    [
        Attribute("size", "numeric", lower=0, upper=1, bins=4),
        Attribute("colour <b>", "categorical", categories=("red & green", "blue")),
        Attribute("ill", "truth", categories=("no", "yes")),
    ]
)


def _table(rows: int, seed: int) -> Table:
    generator = np.random.default_rng(seed)
    size = generator.random(rows)
    colour = np.where(generator.random(rows) < size, "blue", "red & green")
    return Table(pd.DataFrame({"size": size, "colour <b>": colour, "ill": np.where(size > 0.5, "yes", "no")}), DOMAIN)


REAL, HELD = _table(300, 1), _table(100, 2)


@pytest.fixture(scope="module")
def reports() -> dict[str, Report]:
    baseline = real_baseline(REAL, HELD, "ill")
    return {
        LONG: evaluate(REAL, _table(200, 3).frame, baseline=baseline),
        "one row": evaluate(REAL, REAL.frame[:1], baseline=baseline),
    }


def _checked(figure: Any) -> dict[str, Any]:
    """The figure as a browser gets it: valid JSON, transparent, with a title."""
    data: dict[str, Any] = json.loads(figure.to_json())
    assert data["layout"]["paper_bgcolor"] == data["layout"]["plot_bgcolor"] == "rgba(0,0,0,0)"
    assert data["layout"]["title"]["text"]
    assert "color" not in data["layout"].get("font", {})
    return data


def _heatmap(matrix: pd.DataFrame) -> dict[str, Any]:
    return _checked(draw_heatmaps({"Pairs": matrix})["Pairs"])


def test_colour_scale_is_shared_and_never_empty() -> None:
    small, large = pd.DataFrame([[0.0, 0.1], [0.1, 0.0]]), pd.DataFrame([[0.0, np.nan], [np.nan, 0.4]])
    assert [f.data[0].zmax ** 2 for f in draw_heatmaps({"small": small, "large": large}).values()] == pytest.approx(
        [0.4, 0.4]
    )
    assert _heatmap(small)["data"][0]["zmax"] ** 2 == pytest.approx(0.1)
    assert _heatmap(pd.DataFrame([[0.0]]))["data"][0]["zmax"] ** 2 == pytest.approx(0.01)


def test_small_differences_have_a_third_of_the_colours_beside_a_release_that_is_far_off() -> None:
    close, far = pd.DataFrame([[0.0, 0.1], [0.1, 0.0]]), pd.DataFrame([[0.0, 0.9], [0.9, 0.0]])
    (trace,) = draw_heatmaps({"close": close, "far": far})["close"].data
    assert trace.z[0][1] / trace.zmax == pytest.approx(1 / 3)
    key = trace.colorbar
    assert key.ticktext == ("0", "0.02", "0.05", "0.1", "0.2", "0.5")
    assert [at**2 for at in key.tickvals] == pytest.approx([float(text) for text in key.ticktext])


def test_heatmap() -> None:
    matrix = pd.DataFrame([[0.1, np.nan], [np.nan, 0.2]], columns=["x <i>", "a column with a very long name"])
    data = _heatmap(matrix)
    (trace,) = data["data"]
    assert trace["text"] == [["0.100", ""], ["", "0.200"]]  # Plotly writes no customdata into squares
    assert trace["z"] == [[pytest.approx(0.1**0.5), None], [None, trace["zmax"]]]
    assert trace["zmin"] == 0
    assert trace["hovertext"][0] == [
        "x &lt;i&gt;<br>total variation 0.1000",
        "x &lt;i&gt; × a column with a very long name<br>not measured",
    ]
    assert data["layout"]["xaxis"]["ticktext"] == ["x &lt;i&gt;", "a column with a v…"]
    assert data["layout"]["yaxis"]["autorange"] == "reversed"
    assert trace["texttemplate"] == "%{text}"


def test_heatmap_of_64_columns_names_all_of_them_without_numbers() -> None:
    names = [f"feature {j}" for j in range(64)]
    data = _heatmap(pd.DataFrame(np.zeros((64, 64)), columns=names))
    assert data["layout"]["xaxis"]["ticktext"] == names
    assert data["layout"]["height"] >= 64 * 12
    assert "texttemplate" not in data["data"][0]


def test_names_that_are_cut_to_the_same_text_stay_apart() -> None:
    names = ["the same long beginning " + end for end in ("one", "two")]
    data = _heatmap(pd.DataFrame([[0.0, 0.3], [0.3, 0.0]], columns=names))
    assert len(set(data["layout"]["xaxis"]["ticktext"])) == 1
    assert data["layout"]["xaxis"]["tickvals"] == [0, 1]


def test_coefficients_with_their_intervals(reports: dict[str, Report]) -> None:
    drawn = draw_coefficients(reports)
    assert drawn is not None
    data = _checked(drawn)
    assert data["layout"]["yaxis"]["ticktext"] == ["size", "colour &lt;b&gt; = blue"]
    real, release = data["data"][:2]
    found = reports[LONG].release.regression
    assert found is not None
    assert [trace["legendgroup"] for trace in data["data"]] == ["Real rows", LONG, "one row"]
    assert drawn.data[0].x == tuple(term.real.value for term in found.terms)
    assert drawn.data[1].x[0] + drawn.data[1].error_x.array[0] == pytest.approx(found.terms[0].other.high)
    assert drawn.data[2].x == ()  # one row has one class
    assert draw_coefficients({"a": evaluate(REAL, REAL.frame, degrees=(1,))}) is None
    assert real["marker"]["symbol"] != release["marker"]["symbol"]


def test_of_many_coefficients_those_stand_that_real_rows_are_surest_of(
    reports: dict[str, Report], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(figures, "_MOST_TERMS", 1)
    large, sure = Interval(2.0, -2.0, 6.0), Interval(1.0, 0.9, 1.1)
    regression = Regression("ill", (Term("large", large, large), Term("sure", sure, sure)))
    release = replace(reports[LONG].release, regression=regression)
    drawn = draw_coefficients({"one": replace(reports[LONG], release=release)})
    assert drawn is not None
    assert (drawn.layout.yaxis.ticktext, drawn.data[1].x) == (("sure",), (1.0,))


def test_what_only_the_penalty_says_is_left_out_and_that_is_said(reports: dict[str, Report]) -> None:
    sure, silent = Interval(1.0, 0.9, 1.1), Interval(0.0, -1.959963984540054, 1.959963984540054)
    for other, axis in ((sure, "interval"), (silent, "interval. Left out: of columns that are constant in a release")):
        found = Regression("ill", (Term("a", sure, sure), Term("b", sure, other)))
        release = replace(reports[LONG].release, regression=found)
        drawn = draw_coefficients({"one": replace(reports[LONG], release=release)})
        assert drawn is not None
        assert drawn.data[1].x == ((1.0, 1.0) if other is sure else (1.0,))
        assert drawn.layout.xaxis.title.text == f"Standardised coefficient, 95 % {axis}"


@pytest.mark.parametrize(
    ("name", "shown"),
    [
        ("short = no", "short = no"),
        ("Employment by the questionnaire, part B = retired", "Employment by the quest… = retired"),
        ("Employment by the questionnaire, part B = self-employed or helping", "Employment… = self-employed or he…"),
        ("income = self-employed, or helping in a family", "income = self-employed, or helpin…"),
        ("Employment by the questionnaire, part B is empty", "Employment by the questi… is empty"),
        ("a column of numbers whose name is long", "a column of numbers whose name is…"),
    ],
)
def test_a_category_is_seen_beside_a_long_name(name: str, shown: str) -> None:
    assert shorten_term(name, 34) == shown
    assert len(shown) <= 34


def test_no_releases_and_no_rows_are_refused() -> None:
    with pytest.raises(ParameterError, match="reports"):
        draw_correlations({})


def test_the_first_twenty_releases_look_different() -> None:
    assert len({json.dumps(bar_style(at)) for at in range(20)}) == 20
    assert len({json.dumps(dot_style(at)) for at in range(20)}) == 20


NUMBERS = Domain.of([DOMAIN["size"], Attribute("weight <b>", "numeric", lower=0, upper=2), DOMAIN["ill"]])


def _numbers(rows: int, seed: int, sign: float = 1.0) -> Table:
    generator = np.random.default_rng(seed)
    size = generator.random(rows)
    weight = 1 + sign * (size - 0.5) + 0.1 * generator.random(rows)
    return Table(pd.DataFrame({"size": size, "weight <b>": weight, "ill": "no"}), NUMBERS)


@pytest.fixture(scope="module")
def of_numbers() -> dict[str, Report]:
    baseline = real_baseline(_numbers(300, 1), _numbers(200, 2), "weight <b>")
    tables = {LONG: _numbers(200, 3), "turned": _numbers(200, 3, -1.0)}
    return {name: evaluate(baseline.table, table.frame, baseline=baseline) for name, table in tables.items()}


def test_correlations_of_real_rows_and_releases_on_one_scale(
    of_numbers: dict[str, Report], reports: dict[str, Report]
) -> None:
    figure = draw_correlations(of_numbers)
    assert figure is not None
    data = _checked(figure)
    titles = [note["text"].split("<br>") for note in data["layout"]["annotations"]]
    assert [" ".join(lines) for lines in titles] == ["Real", LONG, "turned"]
    assert max(len(line) for lines in titles for line in lines) <= 30
    real, close, turned = (trace["z"] for trace in data["data"])
    assert real[0][1] == of_numbers[LONG].release.correlations["rank correlation"].real.iloc[0, 1]
    assert close[0][1] > 0.9 > -0.9 > turned[0][1]
    assert [(trace["zmin"], trace["zmax"], trace["showscale"]) for trace in data["data"]] == [
        (-1, 1, True), (-1, 1, False), (-1, 1, False)
    ]  # fmt: skip
    assert data["data"][0]["customdata"][0][1] == "size × weight &lt;b&gt;"
    assert draw_correlations(reports) is None


def test_only_a_title_stands_between_a_panel_of_correlations_and_the_one_below(
    of_numbers: dict[str, Report],
) -> None:
    one_row = evaluate(_numbers(300, 1), _numbers(1, 4).frame)  # has no correlations
    figure = draw_correlations({**of_numbers, LONG + ", again": one_row})
    assert figure is not None
    layout = figure.layout
    assert [layout[f"xaxis{i}"].showticklabels for i in ("", 2, 3, 4)] == [False, None, None, None]
    margin = layout.margin
    free = (layout.yaxis.domain[0] - layout.yaxis4.domain[1]) * (layout.height - margin.t - margin.b)
    assert free >= 3 * 16 + 20
    assert margin.b >= 60
    assert all(axis.range == (1.5, -0.5) for axis in figure.select_yaxes())
    assert all(axis.range == (-0.5, 1.5) for axis in figure.select_xaxes())
