"""Noisy tables of a release: what was measured, with the names of the values, and in a CSV."""

from __future__ import annotations

from io import BytesIO
from typing import Any

import numpy as np
import pandas as pd
import pytest

import dpsyn
from dpsyn import escape
from dpsyn.mechanisms.base import Release, no_progress
from dpsyn.solvers.coded import table_counts
from tests.conformance.neighbours import Exact
from tests.conftest import mixed_table

CAR = dpsyn.load_sample("car").project(["safety", "class", "doors"])
CONFIGS = [
    dpsyn.Independent(),
    dpsyn.Independent(degree=2),
    dpsyn.MST(),
    dpsyn.AIM(),
    dpsyn.PrivBayes(),
    dpsyn.MWEM(rounds=2),
    dpsyn.Contingency(),
]


def release_of(config: Any, table: dpsyn.Table, noise: Any = None) -> Release:
    mechanism = config.calibrate(dpsyn.PrivacySpec(2.0, 1e-5), table.domain, table.n)
    rows, diagnostics = mechanism._run(noise or Exact(), table, no_progress)
    return Release(rows, mechanism.guarantee, diagnostics, config.name, {}, seeded=False)


@pytest.mark.parametrize("config", CONFIGS, ids=repr)
def test_they_are_the_tables_that_were_measured(config: Any) -> None:
    found = release_of(config, CAR).tables
    assert found
    for names, table in found.items():
        assert list(table.columns) == [*names, "count", "deviation"]
        expected = CAR.frame.groupby(list(names), observed=False).size()
        for _, row in table.iterrows():
            assert row["count"] == expected.get(tuple(row[list(names)]) if len(names) > 1 else row[names[0]], 0)
        assert len(table) == np.prod([len(CAR.domain[name].labels()) for name in names])
        assert table["deviation"].min() > 0.4


def test_counts_have_their_noise_and_its_deviation() -> None:
    table = dpsyn.load_sample("asia")
    mechanism = dpsyn.Independent(degree=2).calibrate(dpsyn.PrivacySpec(0.5), table.domain, table.n)
    off, deviations = [], []
    for seed in range(4):
        for names, found in mechanism(np.random.default_rng(seed), table).tables.items():
            columns = tuple(table.domain.index(name) for name in names)
            off += list(found["count"] - table_counts(table.codes, columns, table.domain.shape))
            deviations += list(found["deviation"])
    assert np.std(off) == pytest.approx(deviations[0], rel=0.15)
    assert deviations[0] == pytest.approx(2**0.5 * 2 * 28 / 0.5, rel=1e-6)


def test_bins_have_their_names_and_columns_called_count_stay() -> None:
    mixed = mixed_table()
    found = release_of(dpsyn.MST(), mixed, Exact())
    labels = found.diagnostics["encoding"].labels(mixed.domain.index("age"))
    assert list(found.tables["age",]["age"]) == labels
    renamed = dpsyn.Domain.of(dpsyn.Attribute(name, "truth", (0, 1), public=True) for name in ("count", "count_"))
    table = dpsyn.Table(pd.DataFrame({"count": [0, 1, 1], "count_": [1, 1, 0]}), renamed)
    (one, _) = release_of(dpsyn.Independent(), table).tables.values()
    assert list(one.columns) == ["count", "count__", "deviation"]


def test_all_of_them_are_one_csv() -> None:
    tables = release_of(dpsyn.Independent(degree=2), CAR).tables
    read = pd.read_csv(BytesIO(escape.csv(pd.concat(tables.values(), ignore_index=True))))
    assert len(read) == sum(map(len, tables.values()))
    assert read["class"].isna().sum() == len(tables["safety", "doors"])
    assert read["count"].sum() == 3 * CAR.n


def test_a_release_without_them_has_none() -> None:
    config = dpsyn.NoisyReweighting(rows=3)
    table = dpsyn.load_sample("asia")
    mechanism = config.calibrate(dpsyn.PrivacySpec(1.0), table.domain, table.n)
    release = mechanism(np.random.default_rng(0), table)
    assert release.tables == {}
