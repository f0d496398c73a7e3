"""The data of the comparison figures without drawing, and that what is drawn is complete and can be sent to a browser."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pandas as pd
import pytest

from dpsyn.domain import Attribute, Domain
from dpsyn.errors import ParameterError
from dpsyn.evaluation.classifiers import Classification
from dpsyn.evaluation.figures import draw_column, draw_errors, draw_heatmaps, draw_scores
from dpsyn.evaluation.report import Report, evaluate, real_baseline
from dpsyn.kit.plotly import bar_style, dot_style, shorten
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
    assert [f.data[0].zmax for f in draw_heatmaps({"small": small, "large": large}).values()] == [0.4, 0.4]
    assert _heatmap(small)["data"][0]["zmax"] == 0.1
    assert _heatmap(pd.DataFrame([[0.0]]))["data"][0]["zmax"] == 0.01


def test_heatmap() -> None:
    matrix = pd.DataFrame([[0.1, np.nan], [np.nan, 0.2]], columns=["x <i>", "a column with a very long name"])
    data = _heatmap(matrix)
    (trace,) = data["data"]
    assert trace["z"] == [[0.1, None], [None, 0.2]]
    assert (trace["zmin"], trace["zmax"]) == (0, 0.2)
    assert trace["text"][0] == [
        "x &lt;i&gt;<br>total variation 0.1000",
        "x &lt;i&gt; × a column with a very long name<br>not measured",
    ]
    assert data["layout"]["xaxis"]["ticktext"] == ["x &lt;i&gt;", "a column with a v…"]
    assert data["layout"]["yaxis"]["autorange"] == "reversed"
    assert "texttemplate" in trace


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


def test_errors_by_degree(reports: dict[str, Report]) -> None:
    floor = reports["one row"].noise_floor
    assert floor is not None
    data = _checked(draw_errors(reports))
    bars = [t for t in data["data"] if t["type"] == "bar"]
    lines = [t for t in data["data"] if t["type"] == "scatter"]
    for d in (1, 2, 3):
        assert bars[0]["y"][d - 1] == reports[LONG].marginals[d].mean
        assert bars[3]["y"][d - 1] == reports["one row"].marginals[d].max
        assert lines[0]["y"][4 * d - 4] == floor.marginals[d].mean
        assert lines[1]["y"][4 * d - 4] == floor.marginals[d].max
    assert (len(bars), len(lines)) == (4, 2)
    assert {t["name"] for t in bars} == {shorten(LONG, 40), "one row"}
    assert all(LONG in t["hovertemplate"] for t in bars if t["name"] != "one row")
    assert sum(t["showlegend"] for t in data["data"]) == 3
    assert lines[0]["y"][:3] == [floor.marginals[1].mean] * 3
    assert data["layout"]["xaxis"]["ticktext"] == ["1 column", "2 columns", "3 columns"]
    assert "Total variation" in data["layout"]["yaxis"]["title"]["text"]


def test_errors_without_held_out_rows_and_with_different_degrees() -> None:
    first, second = (evaluate(REAL, HELD.frame, degrees=d) for d in ((1, 2), (2,)))
    data = _checked(draw_errors({"first": first, "second": second}))
    assert data["data"][1]["y"] == [None, second.marginals[2].mean]
    assert {t["type"] for t in data["data"]} == {"bar"}


def test_scores(reports: dict[str, Report]) -> None:
    result = reports["one row"].classification
    assert isinstance(result, Classification)
    data = _checked(draw_scores(reports))
    assert data["layout"]["xaxis"]["ticktext"] == ["logistic regression", "random forest"]
    assert "ill" in data["layout"]["title"]["text"]
    absent = [t for t in data["data"] if t.get("mode") == "text"]
    assert len(absent) == 1
    assert absent[0]["text"] == ["n/a", "n/a"]
    assert "one class only" in absent[0]["customdata"][0]
    dots = [t for t in data["data"] if t.get("mode") == "markers"]
    assert len(dots) == 4
    first = reports[LONG].classification
    assert isinstance(first, Classification)
    assert [t["y"] for t in dots[:2]] == [[score.accuracy for score in c.synthetic] for c in (first, result)]
    assert dots[3]["y"] == [None, None]
    (on_real, _) = [t for t in data["data"] if t.get("name") == "Trained on real rows"]
    assert on_real["y"][::4] == [score.accuracy for score in result.real.scores]
    dashed = [t for t in data["data"] if t.get("line", {}).get("dash") == "dot"]
    assert [t["y"][0] for t in dashed] == [result.real.majority_accuracy, 0.5]


def test_scores_that_were_skipped(reports: dict[str, Report]) -> None:
    without = evaluate(REAL, HELD.frame, holdout=HELD)
    assert draw_scores({"a": without}) == "no target column was chosen"
    data = _checked(draw_scores({"a": without, **reports}))
    assert [t["name"] for t in data["data"] if t.get("mode") == "markers"][:2] == [shorten(name, 40) for name in reports]


def test_shares_of_one_column() -> None:
    attribute = DOMAIN["colour <b>"]
    codes = np.array([0, 0, 0, 1], dtype=np.int32)
    data = _checked(draw_column(attribute, codes, {"r": np.array([1], dtype=np.int32)}))
    assert data["data"][0]["text"] == ["red &amp; green", "blue"]
    assert [t["y"] for t in data["data"]] == [[0.75, 0.25], [0.0, 1.0]]
    assert [t["name"] for t in data["data"]] == ["Real", "r"]
    assert data["layout"]["xaxis"]["ticktext"] == ["red &amp; green", "blue"]
    assert data["layout"]["xaxis"]["title"]["text"] == "colour &lt;b&gt;"


def test_many_categories_are_added_up_and_bins_are_not() -> None:
    attribute = Attribute("city", "categorical", categories=tuple(f"city {j} with a long name" for j in range(100)))
    codes = np.repeat(np.arange(100), np.arange(1, 101)).astype(np.int32)
    data = _checked(draw_column(attribute, codes, {"r": codes[:10]}))
    real, release = data["data"]
    assert len(real["text"]) == 30
    assert real["text"][-1] == "(71 others)"
    assert sum(real["y"]) == pytest.approx(1)
    assert release["y"][-1] == pytest.approx(1)
    assert data["layout"]["xaxis"]["ticktext"][0] == "city 71 with a lo…"
    assert data["data"][0]["text"][0] == "city 71 with a long name"
    numeric = Attribute("x", "numeric", lower=0, upper=1, bins=50)
    assert len(draw_column(numeric, np.arange(50, dtype=np.int32), {}).data[0].x) == 50


def test_no_releases_and_no_rows_are_refused() -> None:
    with pytest.raises(ParameterError, match="reports"):
        draw_errors({})
    with pytest.raises(ParameterError, match="reports"):
        draw_scores({})
    with pytest.raises(ParameterError, match="codes"):
        draw_column(DOMAIN["ill"], np.array([], dtype=np.int32), {})


def test_the_first_twenty_releases_look_different() -> None:
    assert len({json.dumps(bar_style(at)) for at in range(20)}) == 20
    assert len({json.dumps(dot_style(at)) for at in range(20)}) == 20
