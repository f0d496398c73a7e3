"""A picture that follows its sliders shows for each value what the server would draw there."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from dpsyn.kit import widgets
from dpsyn.kit.explorer import DEGREE, EPSILON, ROWS, Chosen, Explorer
from dpsyn.mechanisms.private_sampling.bounds import PrivateSamplingSetting, sampling_setting
from dpsyn.mechanisms.private_sampling.figures.feasibility import (
    Lines,
    certificates_info,
    draw_lines,
    floor_tradeoff_info,
    rows_bound_info,
)
from dpsyn.privacy.spec import PrivacySpec
from dpsyn.theory.datasets import ASIA

EXPLORER = Explorer((Chosen(ASIA, False),), PrivacySpec(1.0, 1e-5), {"degree": 2, "rows": 1000}, (EPSILON, DEGREE, ROWS))
LARGEST = 300_000


def setting_of(explorer: Explorer) -> PrivateSamplingSetting:
    return sampling_setting(explorer.stats, explorer.spec, **explorer.only("degree", "rows"))


def shown(chart: Any, state: int) -> list[dict[str, Any]]:
    """The rows of the lines in one state, put together as the browser does."""
    spec = chart.to_dict(validate=False)
    at = next(
        i for i, layer in enumerate(spec["layer"]) if "tooltip" in layer["encoding"] and layer["mark"]["type"] == "line"
    )
    found = []
    for row in json.loads(spec["layer"][at]["data"]["values"]):
        names = {name.removesuffix("_now").removesuffix("_other") for name in row}
        found.append(
            {n: row.get(f"{n}_other", {}).get(str(state), row[f"{n}_now" if f"{n}_now" in row else n]) for n in names}
        )
    return [row for row in found if row["x"] is not None]


@pytest.mark.parametrize("info", [rows_bound_info, certificates_info, floor_tradeoff_info])
def test_every_state_is_what_the_server_would_draw(info: Callable[[PrivateSamplingSetting], Lines]) -> None:
    moved, sliders = EXPLORER.moved("epsilon", "degree", "rows")
    assert sliders == {"epsilon": len(widgets.EPSILONS), "degree": 4, "f_rows": len(widgets.COUNTS)}
    chart = draw_lines(info(setting_of(EXPLORER)), [info(setting_of(each)) for each in moved], sliders)
    for state in (0, 1, 17, 61, 62, 65, 66, len(moved)):
        there = EXPLORER if state == 0 else moved[state - 1]
        lines = info(setting_of(there)).lines
        expected = [(line.label, x, y) for line in lines for x, y in zip(line.x, line.y, strict=True)]
        found = [(row["series"], row["x"], row["y"]) for row in shown(chart, state)]
        assert [label for label, _, _ in found] == [label for label, _, _ in expected]
        assert [x for _, x, _ in found] == pytest.approx([x for _, x, _ in expected], abs=1e-5)
        assert [y for _, _, y in found] == pytest.approx([y for _, _, y in expected], abs=1e-5)


def test_moved_changes_one_setting() -> None:
    moved, _ = EXPLORER.moved("epsilon", "rows")
    assert [each.spec.epsilon for each in moved[: len(widgets.EPSILONS)]] == list(widgets.EPSILONS)
    assert {each.settings["rows"] for each in moved[: len(widgets.EPSILONS)]} == {1000}
    assert [each.settings["rows"] for each in moved[len(widgets.EPSILONS) :]] == list(widgets.COUNTS)
    assert EXPLORER.moved("delta") == ([], {})


@pytest.mark.parametrize("info", [rows_bound_info, certificates_info, floor_tradeoff_info])
def test_what_a_page_sends_is_small(info: Callable[..., Lines]) -> None:
    fewer = {"points": 40} if info is rows_bound_info else {}
    moved, sliders = EXPLORER.moved(*(("epsilon", "degree", "rows") if info is rows_bound_info else ("epsilon",)))
    states = [info(setting_of(each), **fewer) for each in (EXPLORER, *moved)]
    chart = draw_lines(states[0], states[1:], sliders)
    assert len(json.dumps(chart.to_dict(validate=False))) < LARGEST
