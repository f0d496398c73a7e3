"""Tables drawn real against synthetic: the right shares, readable whatever their size."""

from __future__ import annotations

import json
from collections import Counter

import numpy as np
import pytest

from dpsyn.domain import Attribute, Domain
from dpsyn.errors import ParameterError
from dpsyn.evaluation.figures import draw_table, table_shares
from dpsyn.privacy.histograms import Encoding

DOMAIN = Domain.of(
    [
        Attribute("one <b>", "categorical", categories=("x", "y", "z & z")),
        Attribute("two", "categorical", categories=("no", "yes")),
        Attribute("many", "categorical", categories=tuple(f"value number {i}" for i in range(60))),
    ]
)


def codes(rows: int, seed: int) -> np.ndarray:
    generator = np.random.default_rng(seed)
    return np.column_stack([generator.integers(0, size, rows) for size in DOMAIN.shape]).astype(np.int32)


REAL, SYNTHETIC, HELD = codes(500, 0), codes(200, 1), codes(100, 2)


@pytest.mark.parametrize("columns", [("two",), ("two", "one <b>"), ("one <b>", "many"), DOMAIN.names])
def test_shares_and_distances(columns: tuple[str, ...]) -> None:
    cells, shares = table_shares(DOMAIN, columns, [REAL, SYNTHETIC, HELD])
    variation, floor = (0.5 * np.abs(shares[0] - other).sum() for other in shares[1:])
    places = [DOMAIN.index(name) for name in columns]
    real, *others = (Counter(map(tuple, side[:, places].tolist())) for side in (REAL, SYNTHETIC, HELD))
    apart = [sum(abs(real[cell] / 500 - other[cell] / other.total()) for cell in real | other) / 2 for other in others]
    assert [variation, floor] == pytest.approx(apart)
    assert len(cells) == len(shares[0])
    assert [side.sum() for side in shares] == pytest.approx([1, 1, 1])
    figure = draw_table(Encoding(DOMAIN), columns, REAL, SYNTHETIC, "r <1>", held_out=HELD)
    data = json.loads(figure.to_json())
    assert f"{variation:.3f}; fresh real rows, 100: {floor:.3f})" in data["layout"]["title"]["text"].replace("<br>", " ")
    assert "<b>" not in json.dumps(data)
    if columns == ("two", "one <b>"):
        assert [t["type"] for t in data["data"]] == ["heatmap"] * 3
        real = np.array([[np.mean((REAL[:, 1] == i) & (REAL[:, 0] == j)) for j in range(3)] for i in range(2)])
        made = np.array([[np.mean((SYNTHETIC[:, 1] == i) & (SYNTHETIC[:, 0] == j)) for j in range(3)] for i in range(2)])
        for panel, shares in zip(figure.data, (real, made, made - real), strict=True):
            np.testing.assert_allclose(panel.z, shares)
    else:
        assert [t["type"] for t in data["data"]] == ["bar"] * 3
        assert len(data["data"][0]["y"]) <= 14


def test_the_worst_cell_comes_first() -> None:
    real, synthetic = np.zeros((10, 3), np.int32), np.zeros((10, 3), np.int32)
    synthetic[:6, 2] = 7
    synthetic[6, 2] = 9
    bars = draw_table(Encoding(DOMAIN), ("many",), real, synthetic, "r").data
    assert list(bars[1].text)[:2] == ["value number 0", "value number 7"]
    assert list(bars[0].x) == [1.0, 0.0, 0.0]
    assert list(bars[1].x) == pytest.approx([0.3, 0.6, 0.1])
    assert list(bars[2].x) == pytest.approx([-0.7, 0.6, 0.1])  # on an axis of its own
    assert bars[2].xaxis == "x2"


def test_nothing_to_draw() -> None:
    with pytest.raises(ParameterError):
        draw_table(Encoding(DOMAIN), (), REAL, SYNTHETIC, "r")
    with pytest.raises(ParameterError):
        draw_table(Encoding(DOMAIN), ("two",), REAL, SYNTHETIC[:0], "r")
