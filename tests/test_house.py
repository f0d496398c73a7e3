"""docs/house.md: the mechanism that it adds really is added by what it says."""

from __future__ import annotations

import re
import sys
import tomllib
import types
from pathlib import Path

import numpy as np
import pytest
from streamlit.testing.v1 import AppTest

import dpsyn
from dpsyn.evaluation.experiments import Grid, run_grid
from dpsyn.mechanisms import registry
from dpsyn.mechanisms.base import Config

ROOT = Path(__file__).parents[1]
TEXT = (ROOT / "docs" / "house.md").read_text(encoding="utf-8")
PLACES = re.findall(r"^\| `([\w.]+:\w+)", TEXT, re.M)


@pytest.fixture
def coin(monkeypatch: pytest.MonkeyPatch) -> type[Config]:
    code = re.search(r"```python\n(# dpsyn/mechanisms/coin/__init__.py\n.*?)```", TEXT, re.S)
    assert code is not None
    module = types.ModuleType("dpsyn.mechanisms.coin")
    monkeypatch.setitem(sys.modules, module.__name__, module)
    exec(compile(code[1], "docs/house.md", "exec"), module.__dict__)
    monkeypatch.setitem(registry.MECHANISMS, "coin", "dpsyn.mechanisms.coin:Coin")
    monkeypatch.setattr(registry, "THE_FIELD", (*registry.THE_FIELD, "coin"))
    found: type[Config] = module.Coin
    return found


def test_it_runs_and_takes_part_in_experiments(coin: type[Config]) -> None:
    table = dpsyn.load_sample("asia")
    release = coin().calibrate(dpsyn.PrivacySpec(1.0), table.domain, n=table.n)(np.random.default_rng(1), table)
    assert list(release.rows) == list(table.domain.names)
    assert release.guarantee.status == "demonstration"
    train, test = table.take(np.arange(600)), table.take(np.arange(600, 800))
    grid = Grid({"Coin": coin()}, dpsyn.PrivacySpec(1.0), "epsilon", (1.0,), repeats=1)
    (result,) = run_grid(grid, train, holdout=test, target=None, backend="here")
    assert result.status == "done"


@pytest.mark.parametrize("page", ["feasibility", "generator", "inside"])
def test_every_page_shows_it_or_says_what_is_missing(coin: type[Config], page: str) -> None:
    app = AppTest.from_file(str(ROOT / "pages" / "_router.py"), default_timeout=60).run()
    app = app.switch_page(f"{page}.py").run()
    if page == "generator":
        app = app.segmented_control(key="mechanism").set_value("coin").run()
    assert not app.exception
    said = " ".join(e.value for e in (*app.caption, *app.info, *app.success, *app.markdown))
    expected = {
        "feasibility": "Coin before a run",
        "generator": "no form of its own",
        "inside": "Coin: the Generator runs them",
    }
    assert expected[page] in said
    if page == "generator":
        assert "1-differentially private" in said


def test_the_places_of_the_table_are_those_that_are_asked_for() -> None:
    sources = [p.read_text(encoding="utf-8") for p in (*(ROOT / "dpsyn").rglob("*.py"), *(ROOT / "pages").glob("*.py"))]
    asked = {place for text in sources for place in re.findall(r'offered\([^()]*?, "([\w.]+:\w+)"\)', text)}
    asked |= {f"panels.feasibility:{name}" for text in sources for name in re.findall(r'offers\("(\w+)"\)', text)}
    assert asked == set(PLACES)
    for place in PLACES:
        assert any(registry.offered(name, place) is not None for name in registry.MECHANISMS), place


def test_no_mechanism_is_left_out_of_the_contract_that_they_never_import_each_other() -> None:
    contracts = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["importlinter"]["contracts"]
    (independent,) = [contract["modules"] for contract in contracts if contract["type"] == "independence"]
    assert set(independent) == {home.split(":")[0] for home in registry.MECHANISMS.values()}
