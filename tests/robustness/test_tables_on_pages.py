"""Tables that mechanisms refuse: every page says so in words."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from streamlit.testing.v1 import AppTest

from dpsyn.app.explorer import sections
from dpsyn.data.read import read_table
from dpsyn.kit.visit import Dataset
from dpsyn.mechanisms.noisy_reweighting.panels import VIEWS as REWEIGHTING
from dpsyn.mechanisms.private_sampling.panels.sections import SECTIONS

ROUTER = Path(__file__).parents[2] / "pages" / "_router.py"


@pytest.mark.parametrize(
    ("mechanism", "key", "views"),
    [
        ("private_sampling", "is_section", SECTIONS),
        ("noisy_reweighting", "in_nr_view", REWEIGHTING),
        ("dp_cda", "in_cda_view", {}),  # its settings refuse the table before there are views
    ],
)
def test_bounds_that_arithmetic_cannot_scale_by_are_told_inside(mechanism: str, key: str, views: dict[str, object]) -> None:
    table = read_table(
        "\n".join(["x,y,k", *(f"{x!r},{y!r},{k}" for x, y, k in zip(*WIDE_AND_NARROW, "ab" * 10, strict=True))]).encode()
    )
    app = AppTest.from_file(str(ROUTER), default_timeout=120)
    app.session_state["dataset"] = Dataset(table=table, full=table, revision=9_001, target="k")
    app.session_state["inside_mechanism"] = mechanism
    app.switch_page("inside.py").run()
    for view in views:
        app.segmented_control(key=key).set_value(view).run()
        assert not app.exception, (view, app.exception)


WIDE_AND_NARROW = np.linspace(-8e307, 8e307, 20).tolist(), np.linspace(1e-300, 2e-300, 20).tolist()


@pytest.mark.parametrize("rows", [1, 2])
def test_fewer_rows_than_classes_are_told_by_feasibility(rows: int) -> None:
    table = read_table(b"x,y,k\n1,2,a\n2,1,b\n3,3,c\n").take(np.arange(rows))
    app = AppTest.from_file(str(ROUTER), default_timeout=120)
    app.session_state["dataset"] = Dataset(table=table, full=table, revision=9_002, target="k")
    app.switch_page("feasibility.py").run()
    for section in sections():
        app.segmented_control(key="f_section").set_value(section).run()
        assert not app.exception, (section, app.exception)
        assert not app.error, (section, app.error[0].value)
        told = [said.value for said in app.info if "a class has none" in said.value]
        assert bool(told) is (section == "DP-CDA")
