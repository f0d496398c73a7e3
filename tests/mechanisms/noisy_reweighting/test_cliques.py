"""Tables whose cliques are small are fitted on the whole domain by a junction tree, however large it is."""

from __future__ import annotations

import pickle
from itertools import pairwise
from typing import Any

import numpy as np
import pandas as pd
import pytest

import dpsyn
from dpsyn.mechanisms import noisy_reweighting
from dpsyn.mechanisms.base import Release
from dpsyn.mechanisms.noisy_reweighting import _fit
from dpsyn.mechanisms.noisy_reweighting.families import cells_of
from dpsyn.table import Table


def chain(columns: int, rows: int) -> Table:
    """Each column follows the one before it three times in four."""
    random = np.random.default_rng(5)
    codes = random.integers(0, 3, (rows, columns))
    for j in range(1, columns):
        codes[:, j] = np.where(random.random(rows) < 0.75, codes[:, j - 1], codes[:, j])
    names = [f"c{j}" for j in range(columns)]
    domain = dpsyn.Domain.of([dpsyn.Attribute(name, "categorical", (0, 1, 2), public=True) for name in names])
    return Table(pd.DataFrame(codes, columns=names), domain)


def tables_of(table: Table) -> list[tuple[str, ...]]:
    return list(pairwise(table.domain.names))


def release(table: Table, **settings: Any) -> Release:
    config = dpsyn.NoisyReweighting(tables=tables_of(table), **settings)
    return config.calibrate(dpsyn.PrivacySpec(1.0, 1e-5), table.domain, table.n)(np.random.default_rng(1), table)


def test_the_fit_is_that_of_the_whole_domain_listed_point_by_point(monkeypatch: pytest.MonkeyPatch) -> None:
    table = chain(6, 4000)
    listed = release(table)
    assert "cliques" not in listed.diagnostics
    monkeypatch.setattr(noisy_reweighting._spaces, "WHOLE_AT_MOST", 0)
    monkeypatch.setattr(noisy_reweighting, "_LOOK_UPS", 0)
    monkeypatch.setattr(_fit, "_STEPS_ON_CLIQUES", 200)
    found = release(table)
    assert found.diagnostics["cliques"] == 5
    assert found.diagnostics["cells_of_cliques"] == 45
    np.testing.assert_array_equal(found.diagnostics["noisy_statistics"], listed.diagnostics["noisy_statistics"])
    np.testing.assert_allclose(found.diagnostics["fitted_statistics"], listed.diagnostics["fitted_statistics"], atol=2e-5)


def test_rows_follow_the_fit_cell_by_cell() -> None:
    table = chain(40, 5000)
    found = release(table)
    assert found.diagnostics["cliques"] == 39
    assert len(found.rows) == table.n
    codes = table.domain.encode(found.rows)
    made = [np.bincount(3 * codes[:, j] + codes[:, j + 1], minlength=9) / table.n for j in range(39)]
    np.testing.assert_allclose(np.concatenate(made), found.diagnostics["fitted_statistics"], atol=5 / table.n)
    again = pickle.loads(pickle.dumps(found))
    assert again.diagnostics["points"].shape[1] == 40


def test_another_draw_is_of_the_same_law() -> None:
    table = chain(16, 3000)
    config = dpsyn.NoisyReweighting(tables=tables_of(table))
    mechanism = config.calibrate(dpsyn.PrivacySpec(1.0, 1e-5), table.domain, table.n)
    found = mechanism(np.random.default_rng(1), table)
    again = mechanism.redraw(np.random.default_rng(2), found)
    assert again is not None
    assert len(again) == len(found.rows)
    assert not again.equals(found.rows)
    shares = [frame["c3"].value_counts(normalize=True).sort_index() for frame in (again, found.rows)]
    np.testing.assert_allclose(shares[0], shares[1], atol=0.003)


@pytest.mark.parametrize(
    "settings",
    [{"reduced_space": "marginals"}, {"reduced_space_size": 5000}, {"refinements": 0}, {"objective": "least_squares"}],
)
def test_what_was_asked_for_is_done(settings: dict[str, Any]) -> None:
    table = chain(16, 500)
    config = dpsyn.NoisyReweighting(tables=tables_of(table))
    mechanism: Any = config.calibrate(dpsyn.PrivacySpec(1.0, 1e-5), table.domain, table.n)
    assert _fit.by_cliques(mechanism.plan, cells_of(mechanism.statistics))
    asked: Any = dpsyn.NoisyReweighting(tables=tables_of(table), **settings)
    mechanism = asked.calibrate(dpsyn.PrivacySpec(1.0, 1e-5), table.domain, table.n)
    assert not _fit.by_cliques(mechanism.plan, cells_of(mechanism.statistics))


def test_tables_that_make_one_large_clique_take_points() -> None:
    table = chain(16, 500)
    mechanism: Any = dpsyn.NoisyReweighting().calibrate(dpsyn.PrivacySpec(1.0, 1e-5), table.domain, table.n)
    assert not _fit.by_cliques(mechanism.plan, cells_of(mechanism.statistics))
