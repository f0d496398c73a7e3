"""One column as a picture: spikes stand by themselves, tails have a log scale, no bin of the domain hides anything."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pandas as pd
import pytest

from dpsyn.domain import Attribute
from dpsyn.errors import ParameterError
from dpsyn.evaluation.distributions import distribution, draw_column
from dpsyn.kit.layers import GUIDE

GAIN = Attribute("gain", "numeric", lower=0, upper=99_999, integer=True)
SIZE = Attribute("size", "numeric", lower=-1000, upper=1000, missing=True)
HOURS = Attribute("hours <b>", "numeric", lower=1, upper=99, integer=True)
DAY = Attribute("day", "date", lower=0, upper=20_000)
COLOUR = Attribute("colour <b>", "categorical", categories=("red & green", "blue"))


def _drawn(attribute: Attribute, *columns: Any, **more: Any) -> dict[str, Any]:
    real, *others = (pd.Series(column) for column in columns)
    figure = draw_column(attribute, real, {f"r{at}": column for at, column in enumerate(others)}, **more)
    data: dict[str, Any] = json.loads(figure.to_json())
    assert data["layout"]["paper_bgcolor"] == data["layout"]["plot_bgcolor"] == "rgba(0,0,0,0)"
    assert data["layout"]["title"]["text"]
    return data


def gains() -> np.ndarray:
    random = np.random.default_rng(0)
    tail = np.exp(random.normal(6, 1.8, 800)).clip(1, 99_998).round()
    return np.concatenate([np.zeros(9_000), tail, np.full(200, 99_999.0)])


def test_spikes_stand_by_themselves_and_every_row_is_drawn_once() -> None:
    real, flat = gains(), np.linspace(0, 99_999, 5_000).round()
    found = distribution(GAIN, [real, flat])
    assert found.spikes.tolist() == [0, 99_999]
    np.testing.assert_allclose(found.spike_shares[0], [0.9, 0.02], atol=1e-4)
    np.testing.assert_allclose(found.shares.sum(axis=1) + found.spike_shares.sum(axis=1), 1)
    assert found.shares[0].sum() == pytest.approx(0.08)


def test_a_tail_has_a_log_scale_in_values_and_in_shares() -> None:
    found = distribution(GAIN, [gains(), np.linspace(0, 99_999, 5_000).round()])
    assert found.unit is not None
    assert found.steep
    places = found.place(np.array([-10.0, 0.0, 10.0, found.unit]))
    assert places[1] == 0
    assert places[0] == -places[2]
    assert places[3] == pytest.approx(np.log10(2))
    # Whole numbers lie inside the bins; on the log scale these are of about one width where numbers are close enough.
    assert (np.mod(found.edges, 1) == 0.5).all()
    widths = np.diff(found.place(found.edges))[-40:-1]
    assert widths.max() < 1.2 * widths.min()
    normal = distribution(SIZE, [np.random.default_rng(1).normal(0, 10, 5_000)])
    assert (normal.unit, normal.steep, len(normal.edges)) == (None, False, 81)
    assert distribution(DAY, [gains() / 6]).unit is None


def test_few_whole_numbers_have_a_bin_each() -> None:
    found = distribution(HOURS, [np.array([40.0] * 50 + [38, 39, 41, 45]), np.array([1.0, 99.0])])
    assert found.edges.tolist() == np.arange(0.5, 100).tolist()
    assert found.shares[0, 39] == pytest.approx(50 / 54)
    assert len(found.spikes) == 0
    years = distribution(GAIN, [np.arange(1_000, 1_500.0)])
    assert set(np.diff(years.edges)[:-1]) == {7.0}
    assert years.shares.sum() == pytest.approx(1)


@pytest.mark.parametrize(
    "sides",
    [
        [[np.nan, np.nan]],
        [[np.nan], [3.0]],
        [[3.0, 3.0, 3.0]],
        [[0.0], [1e-320]],
        [[-1000.0, -999.0, 1000.0] + [0.001] * 5 + [0.002] * 300],
        [list(np.linspace(0, 1, 50)), [1000.0]],
        [[*np.linspace(1e-307, 2e-307, 200), 1000.0]],
    ],
)
def test_odd_columns_are_drawn(sides: list[list[float]]) -> None:
    found = distribution(SIZE, [np.array(side) for side in sides])
    assert (np.diff(found.edges) > 0).all()
    assert np.isfinite(found.place(found.edges)).all()
    there = [float(np.any(~np.isnan(side))) for side in sides]
    np.testing.assert_allclose(found.shares.sum(axis=1) + found.spike_shares.sum(axis=1), there)
    _drawn(SIZE, *sides)


def test_what_is_drawn_of_numbers() -> None:
    real, other = gains(), np.full(100, 5.0)
    data = _drawn(GAIN, real, other, held_out=pd.Series(real[::2]))
    steps = [t for t in data["data"] if t["mode"] == "lines"]
    heads = [t for t in data["data"] if t["mode"] == "markers"]
    assert [t["name"] for t in steps] == ["Real", "r0", f"Fresh real rows, {len(real[::2]):,}"]
    assert [t["line"]["dash"] for t in steps] == ["solid", "solid", "dot"]
    assert steps[0]["line"]["color"] == GUIDE != steps[1]["line"]["color"] == heads[1]["marker"]["color"]
    assert [t["legendgroup"] for t in heads] == ["Real", "r0"]
    # 0, 5 and 99,999: of the real rows and of the release; a share of 0 stands at half of a row.
    assert [pair[0] for pair in heads[0]["customdata"]] == ["0", "5", "99,999"]
    assert heads[1]["y"] == pytest.approx([0.5 / len(real), 1, 0.5 / len(real)])
    assert [pair[1] for pair in heads[1]["customdata"]] == [0, 1, 0]
    assert data["layout"]["yaxis"]["type"] == "log"
    assert data["layout"]["xaxis"]["title"]["text"] == "gain (log scale)"
    assert data["layout"]["xaxis"]["ticktext"][0] == "0"
    assert data["layout"]["xaxis"]["ticktext"][-1] == "10,000"
    assert np.diff(data["layout"]["xaxis"]["tickvals"]).min() > 0.15


def test_bins_are_named_by_their_values_and_empty_cells_are_told() -> None:
    data = _drawn(HOURS, np.arange(1.0, 99), [1, 2])
    assert data["data"][0]["customdata"][0][0] == "1"
    assert data["layout"]["xaxis"]["title"]["text"] == "hours &lt;b&gt;"
    days = pd.Series(pd.to_datetime("1970-01-01") + pd.to_timedelta(np.arange(0, 8_000), unit="D"))
    data = _drawn(DAY, days)
    assert data["data"][0]["x"][:2] == ["1969-12-31T12:00:00", "1970-04-10T12:00:00"]
    assert data["data"][0]["customdata"][0][0] == "1970-01-01 to 1970-04-10"
    data = _drawn(SIZE, [1.5, 2.5, None, 4.0], [1.5, 2.5], [None, 4.0])
    names = [trace["name"] for trace in data["data"] if trace.get("line", {}).get("shape") == "hv"]
    assert names == ["Real, 25.0% empty", "r0, 0.0% empty", "r1, 50.0% empty"]
    assert data["data"][0]["customdata"][0][0].startswith("1.5 to ")


def test_shares_of_categories() -> None:
    data = _drawn(COLOUR, ["red & green"] * 3 + ["blue"], ["blue"], held_out=pd.Series(["blue", "red & green"]))
    assert data["data"][0]["text"] == ["red &amp; green", "blue"]
    assert [t["y"] for t in data["data"][:2]] == [[0.75, 0.25], [0.0, 1.0]]
    assert [t["name"] for t in data["data"][:2]] == ["Real", "r0"]
    assert data["data"][2]["y"][::4] == [0.5, 0.5]
    assert data["layout"]["xaxis"]["ticktext"] == ["red &amp; green", "blue"]
    assert data["layout"]["xaxis"]["title"]["text"] == "colour &lt;b&gt;"


def test_many_categories_are_added_up() -> None:
    names = [f"city {j} with a long name" for j in range(100)]
    attribute = Attribute("city", "categorical", categories=tuple(names))
    cells = np.repeat(names, np.arange(1, 101))
    data = _drawn(attribute, cells, cells[:10])
    real, release = data["data"]
    assert len(real["text"]) == 30
    assert real["text"][-1] == "(71 others)"
    assert sum(real["y"]) == pytest.approx(1)
    assert release["y"][-1] == pytest.approx(1)
    assert data["layout"]["xaxis"]["ticktext"][0] == "city 71 with a lo…"
    assert data["data"][0]["text"][0] == "city 71 with a long name"


def test_no_rows_are_refused() -> None:
    with pytest.raises(ParameterError, match="column"):
        _drawn(COLOUR, [], ["blue"])
    with pytest.raises(ParameterError, match="column"):
        _drawn(COLOUR, ["blue"], held_out=pd.Series([]))


@pytest.mark.parametrize("values", [(1.7976931348623157e308, 1e-3), (-1.79e308, 1e-3), (1e307, 1.0), (1e300, 1e-300)])
def test_a_common_value_at_the_end_of_all_numbers_leaves_the_picture_finite(values: tuple[float, float]) -> None:
    random = np.random.default_rng(0)
    column = np.where(random.random(400) < 0.3, values[0], random.lognormal(-3, 1, 400) * values[1])
    attribute = Attribute("far", "numeric", lower=float(column.min()), upper=float(column.max()))
    data = _drawn(attribute, column, column)
    numbers = [
        np.array(trace[axis], dtype=float) for trace in data["data"] for axis in "xy" if isinstance(trace[axis], list)
    ]
    assert numbers
    assert all(np.isfinite(found).all() for found in numbers)
    found = distribution(attribute, [column])
    assert found.shares.sum() + found.spike_shares.sum() == pytest.approx(1)
