"""Where rows, columns or cells are many, each is still paid for, and a secret number of rows still decides nothing."""

from __future__ import annotations

from dataclasses import replace
from itertools import combinations_with_replacement, product
from typing import Any

import numpy as np
import pandas as pd
import pytest

import dpsyn
from dpsyn.mechanisms.feature_map import FeatureMap
from dpsyn.mechanisms.registry import config_class
from tests.conformance.neighbours import Deaf, alike, asked, remember_fits, run
from tests.conformance.test_neighbours import SETTINGS, TIGHT, VARIANTS, part_spent

MANY = 300_000
WIDE = dpsyn.Domain.of(
    [
        *(dpsyn.Attribute(name, "categorical", tuple("wxyz"), public=True) for name in "abcd"),
        dpsyn.Attribute("real", "numeric", lower=0.0, upper=1.0, bins=3, public=True),
        dpsyn.Attribute("day", "date", lower=0, upper=3000, bins=2, missing=True, public=True),
    ]
)
"""Tables may have hundreds of cells and trees all their levels, whatever n is."""
KINDS: dict[str, tuple[dict[str, Any], Any]] = {
    "number": ({"kind": "numeric", "lower": 0, "upper": 8}, [0, 8]),
    "date": ({"kind": "date", "lower": 0, "upper": 9}, pd.to_datetime([0, 9], unit="D")),
    "truth": ({"kind": "truth", "categories": (0, 1)}, [0, 1]),
    "category": ({"kind": "categorical", "categories": ("x", "y", "z")}, ["x", "z"]),
}
"""Columns, and two values of theirs that are as far apart as any."""
LONG = ("independent", "mst", "privbayes", "privsyn", "dual_query")
"""Mechanisms that many columns are no trouble for."""
COUNTING = [*VARIANTS, ("noisy_reweighting", {}), ("dp_merf", {"features": 9, "target": "a"})]


def rows_from_everywhere(n: int) -> dpsyn.Table:
    random = np.random.default_rng(n)
    return dpsyn.Table(WIDE.decode(random.integers(0, WIDE.shape, (n, len(WIDE)), dtype=np.int32), random), WIDE)


@pytest.fixture(scope="module")
def many() -> dpsyn.Table:
    return rows_from_everywhere(MANY)


@pytest.fixture(scope="module")
def all_but_one(many: dpsyn.Table) -> list[dpsyn.Table]:
    """Without the first row, and without the last one."""
    return [many.take(np.arange(MANY)[left]) for left in (slice(1, None), slice(None, -1))]


def calibrated(name: str, settings: dict[str, Any], n: int) -> Any:
    """With little noise, so that answers have a say in where the bins of numbers lie."""
    config = config_class(name)(**SETTINGS.get(name, {}), **settings)
    # Of a table with a threshold only the cells that somebody is in are counted.
    return config.calibrate(dpsyn.PrivacySpec(50.0, 0.0 if name == "contingency" else 1e-5, "add_remove"), WIDE, n)


@pytest.mark.parametrize(("name", "settings"), COUNTING, ids=str)
def test_no_part_of_a_run_knows_a_secret_number_of_rows(
    name: str, settings: dict[str, Any], many: dpsyn.Table, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Neither from the mechanism, which has lost it here, nor from the table."""
    remember_fits(monkeypatch)
    found = []
    for table in (rows_from_everywhere(1), rows_from_everywhere(7), many):
        mechanism: Any = replace(calibrated(name, settings, table.n), n=None)
        found.append(asked(Deaf(0, 20, 30), mechanism, table))
    for calls, rows in found[1:]:
        assert alike(found[0][0], calls)
        assert rows.equals(found[0][1])


@pytest.mark.parametrize(("name", "settings"), VARIANTS, ids=str)
def test_of_many_rows_each_is_counted_and_paid_for(
    name: str, settings: dict[str, Any], many: dpsyn.Table, all_but_one: list[dpsyn.Table], monkeypatch: pytest.MonkeyPatch
) -> None:
    remember_fits(monkeypatch)
    mechanism = calibrated(name, settings, MANY)
    calls, _ = run(mechanism, many)
    for table in all_but_one:
        found, _ = run(mechanism, table)
        assert 0 < part_spent(mechanism, calls, found) <= 1
        for a, b in zip(calls, found, strict=True):
            # A row moves counts by 1; the scores of PrivSyn are no counts.
            assert a.kind == "choice" or name == "privsyn" or set(np.unique(a.values - b.values)) <= {0, 1}


@pytest.mark.parametrize("neighbouring", ["replace_one", "add_remove"])
@pytest.mark.parametrize(("name", "settings"), [("privsyn", {"selection": "privbayes"}), *product(LONG, [{}])], ids=str)
def test_of_many_columns_each_is_paid_for(
    name: str, settings: dict[str, Any], neighbouring: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    remember_fits(monkeypatch)
    domain = dpsyn.Domain.of(dpsyn.Attribute(f"c{j}", "truth", (0, 1), public=True) for j in range(60))
    mechanism: Any = config_class(name)(**SETTINGS.get(name, {}), **settings).calibrate(
        dpsyn.PrivacySpec(1.0, 1e-5, neighbouring), domain, 4
    )
    other = [0, 1, 1, 1] if neighbouring == "replace_one" else [0, 0, 1]
    frames = (pd.DataFrame(dict.fromkeys(domain.names, values)) for values in ([0, 0, 1, 1], other))
    mine, theirs = (run(mechanism, dpsyn.Table(frame, domain))[0] for frame in frames)
    assert TIGHT < part_spent(mechanism, mine, theirs) <= 1


@pytest.mark.parametrize("many", [1, 2, 7, 19, 39, 40, 41, 100, 300])
@pytest.mark.parametrize("kinds", list(combinations_with_replacement(KINDS, 2)), ids=str)
def test_two_points_are_a_diameter_apart_however_many_columns_they_have(kinds: tuple[str, ...], many: int) -> None:
    columns = {
        f"{kind} {j}": (dpsyn.Attribute(f"{kind} {j}", public=True, **KINDS[kind][0]), KINDS[kind][1])
        for kind in kinds
        for j in range(many)
    }
    domain = dpsyn.Domain.of(attribute for attribute, _ in columns.values())
    features = FeatureMap(domain)
    points = features.encode(dpsyn.Table(pd.DataFrame({name: ends for name, (_, ends) in columns.items()}), domain))
    assert features.diameter == pytest.approx(float(np.linalg.norm(points[0] - points[1])), rel=1e-12)
