"""Cells, their seeds and their way through plain data."""

from __future__ import annotations

import json
import math
from dataclasses import fields, replace
from itertools import combinations
from typing import Any

import numpy as np
import pandas as pd
import pytest

from dpsyn import read_table
from dpsyn.errors import DataError, ParameterError
from dpsyn.evaluation.experiments import Grid, config_from_dict, config_to_dict
from dpsyn.evaluation.experiments.plan import axes
from dpsyn.evaluation.experiments.run import _some_rows
from dpsyn.mechanisms.dp_cda import DPCDA
from dpsyn.mechanisms.dp_gan import DPGAN
from dpsyn.mechanisms.mwem import MWEM
from dpsyn.mechanisms.noisy_reweighting import NoisyReweighting
from dpsyn.mechanisms.private_sampling import PrivateSampling
from dpsyn.mechanisms.privsyn import PrivSyn
from dpsyn.mechanisms.registry import MECHANISMS, config_class
from dpsyn.privacy.spec import PrivacySpec

SPEC = PrivacySpec(1.0, 1e-5)


def small(**changes: object) -> Grid:
    both = {"sampling": PrivateSampling(), "reweighting": NoisyReweighting()}
    return Grid(**{"configs": both, "spec": SPEC, "values": (1.0, 3.0), "repeats": 2, "seed": 5} | changes)


def test_every_mechanism_at_every_value_in_every_repeat() -> None:
    cells = list(small().cells())
    assert len(cells) == 2 * 2 * 2
    assert {(c.label, c.spec.epsilon, c.repeat) for c in cells} == {
        (label, epsilon, repeat) for label in ("sampling", "reweighting") for epsilon in (1.0, 3.0) for repeat in (0, 1)
    }
    assert [c.repeat for c in cells] == [0] * 4 + [1] * 4
    assert {c.spec.delta for c in cells} == {1e-5}


def test_cells_have_numbers_of_their_own_wherever_they_stand() -> None:
    first = {c.key: c.generator().random() for c in small().cells()}
    assert len(set(first.values())) == len(first)
    wider = small(values=(0.5, 3.0, 1.0), repeats=3)
    again = {c.key: c.generator().random() for c in wider.cells()}
    assert first.items() <= again.items()
    assert not set(first) & {c.key for c in small(seed=6).cells()}


def test_mechanisms_learn_from_the_same_rows() -> None:
    cells = [c for c in small(vary="n", values=(10,)).cells() if c.repeat == 1]
    one, two = (c.rows_generator().choice(50, c.n, replace=False).tolist() for c in cells)
    assert one == two
    assert [c.n for c in cells] == [10, 10]
    numbered = read_table(pd.DataFrame({"a": np.arange(50)}))
    for cell in cells:
        assert _some_rows(numbered, cell).frame["a"].tolist() == one
    assert len(set(one)) == 10


def test_as_many_rows_as_there_are_can_be_learnt_from_and_no_more() -> None:
    numbered = read_table(pd.DataFrame({"a": np.arange(10)}))
    of_all, more = (
        cell for cell in small(vary="n", values=(10, 11)).cells() if (cell.label, cell.repeat) == ("sampling", 0)
    )
    assert sorted(_some_rows(numbered, of_all).frame["a"]) == list(range(10))
    with pytest.raises(ParameterError, match="at most the 10 rows"):
        _some_rows(numbered, more)


def test_cells_are_told_apart_by_their_public_rows_whatever_these_are_called() -> None:
    def keys(*values: int) -> list[str]:
        table = read_table(pd.DataFrame({"a": values}))
        config = NoisyReweighting(reduced_space="public", public=table.with_domain(table.domain.confirmed()))
        return [cell.key for cell in small(configs={"m": config}, repeats=1).cells()]

    assert keys(0, 1, 1, 0) == keys(0, 1, 1, 0)
    assert not set(keys(0, 1, 1, 0)) & set(keys(0, 1, 0, 0))


def test_repeats_learn_from_rows_of_their_own() -> None:
    """Bars over them show how much rows matter; the same for all mechanisms and values, as above."""
    numbered = read_table(pd.DataFrame({"a": np.arange(50)}))
    grids = [small(vary="n", values=(10, 11), repeats=4, seed=seed) for seed in (5, 6)]
    cells = {(cell.seed, cell.repeat, cell.n): cell for grid in grids for cell in grid.cells()}
    learned = {asked: frozenset(_some_rows(numbered, cell).frame["a"]) for asked, cell in cells.items()}
    assert len(learned) == len(set(learned.values())) == 2 * 4 * 2
    numbers = [
        replace(cell, seed=seed, repeat=repeat, n=n).rows_generator().random()
        for cell in list(cells.values())[:1]
        for seed in (0, 1, 5)
        for repeat in (0, 1)
        for n in (None, 1, 5, 10)
    ]
    assert len(set(numbers)) == len(numbers)
    for one, two in combinations([rows for (_, _, n), rows in learned.items() if n == 10], 2):
        assert len(one & two) < 9  # 2 are the mean, and 9 or 10 come about in one of 2.5e7 pairs


def test_a_setting_of_some_mechanisms_varies_for_those() -> None:
    grid = Grid(
        {"cda": DPCDA(target="x"), "nr": NoisyReweighting()}, SPEC, vary="order_of_mixture", values=(2, 8), repeats=1
    )
    found = {(c.label, getattr(c.config, "order_of_mixture", None)) for c in grid.cells()}
    assert found == {("cda", 2), ("cda", 8), ("nr", None)}
    alike = [c.key for c in grid.cells() if c.label == "nr"]
    assert len(set(alike)) == 1


def test_a_setting_of_the_same_name_and_another_meaning_does_not_vary() -> None:
    for name, other, own in (("steps", NoisyReweighting(), DPGAN()), ("rounds", PrivSyn(), MWEM())):
        grid = Grid({"other": other, "own": own}, SPEC, vary=name, values=(100, 300), repeats=1)
        assert [getattr(c.config, name) for c in grid.cells() if c.label == "other"] == [getattr(other, name)] * 2
        assert [getattr(c.config, name) for c in grid.cells() if c.label == "own"] == [100, 300]


def test_plain_data_and_back() -> None:
    grid = small()
    back = Grid.from_dict(json.loads(json.dumps(grid.to_dict())))
    assert back == grid
    assert [c.key for c in back.cells()] == [c.key for c in grid.cells()]


@pytest.mark.parametrize("config", [PrivateSampling(rows=3), NoisyReweighting(degree=1), DPCDA(target="x", class_sizes=20)])
def test_configurations_come_back(config: object) -> None:
    data = json.loads(json.dumps(config_to_dict(config)))  # type: ignore[arg-type]
    assert config_from_dict(data) == config


@pytest.mark.parametrize(
    ("changes", "field"),
    [
        ({"values": ()}, "values"),
        ({"values": (0.0, 1.0)}, "values"),
        ({"repeats": 0}, "repeats"),
        ({"draws": 0}, "draws"),
        ({"seed": -1}, "seed"),
        ({"vary": "colour"}, "vary"),
        ({"vary": "order_of_mixture"}, "vary"),
        ({"values": (1.0, 1e101)}, "values"),
        ({"values": (1, 2.0, 1.0)}, "values"),
        ({"values": range(1, 1_000), "repeats": 1_000}, "repeats"),
        ({"configs": {"m": MWEM()}, "vary": "rounds", "values": (1, 200_000)}, "values"),
    ],
)
def test_what_makes_no_experiment(changes: dict[str, object], field: str) -> None:
    with pytest.raises(ParameterError) as caught:
        small(**changes)
    assert caught.value.field == field


def test_unknown_settings_are_named() -> None:
    with pytest.raises(ParameterError, match=r"Noisy reweighting has no such setting\. There are: "):
        config_from_dict({"mechanism": "noisy_reweighting", "colour": 3})
    for name in small().to_dict():
        with pytest.raises(DataError, match=f"the experiment's plan lacks '{name}'"):
            Grid.from_dict({key: value for key, value in small().to_dict().items() if key != name})
    for wrong in (None, [], {**small().to_dict(), "configs": [1]}, {**small().to_dict(), "values": "1"}):
        with pytest.raises(ParameterError):
            Grid.from_dict(wrong)  # type: ignore[arg-type]


def test_what_can_vary_comes_from_the_mechanisms() -> None:
    assert [axis.symbol for axis in axes().values()][:2] == ["ε", "n"]
    shown = {"degree": "d (degree)", "order_of_mixture": "l (order of mixture)", "rows": "k (rows released)"}
    assert {name: axes()[name].label for name in shown} == shown
    for name in MECHANISMS:
        kind = config_class(name)
        assert kind.axes.keys() <= {field.name for field in fields(kind)} & axes().keys()


@pytest.mark.parametrize(
    ("field", "wrong"),
    [
        *((field, None) for field in ("label", "config", "spec", "value", "repeat", "draws", "seed")),
        *(("config", wrong) for wrong in ("mst", MWEM, {})),
        *(("n", wrong) for wrong in (0, -1, 1.5, "10")),
        *(("value", wrong) for wrong in (math.nan, "1")),
        *((field, wrong) for field in ("repeat", "seed", "draws") for wrong in (-1, "x", 0.5)),
        ("spec", 1.0),
        ("draws", 0),
    ],
)
def test_a_cell_of_something_else_is_refused(field: str, wrong: Any) -> None:
    cell = next(small().cells())
    assert replace(cell, n=np.int64(7), seed=np.int64(5)).key == replace(cell, n=7, seed=5).key
    with pytest.raises(ParameterError) as caught:
        replace(cell, **{field: wrong})
    assert caught.value.field == field
