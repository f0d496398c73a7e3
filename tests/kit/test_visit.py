"""What a visit remembers is of all that it was asked of."""

from __future__ import annotations

from dataclasses import fields, replace
from typing import Any

import numpy as np
import pytest

import dpsyn
from dpsyn.domain import Domain
from dpsyn.kit import visit
from dpsyn.mechanisms.base import Config
from dpsyn.privacy.spec import PrivacySpec
from dpsyn.table import Table

SPEC = PrivacySpec(1.0, 1e-6)
OTHER_SPECS: dict[str, Any] = {"epsilon": 1.1, "delta": 1e-5, "neighbouring": "add_remove"}


def test_a_calibration_is_that_of_all_it_was_asked_of(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every part of the privacy, of the settings and of the table gives another one, whatever was calibrated before."""
    monkeypatch.setattr(visit.st, "session_state", {})
    assert OTHER_SPECS.keys() == {part.name for part in fields(PrivacySpec)} - {"unit"}  # which is always a row
    table = dpsyn.load_sample("asia").take(np.arange(200))
    turned = Domain(tuple(replace(a, categories=a.categories[::-1]) for a in table.domain.attributes))
    unconfirmed = Domain(tuple(replace(a, public=False) for a in table.domain.attributes))
    tables = [table, table.take(np.arange(199)), Table(table.frame, turned), Table(table.frame, unconfirmed)]
    by_public_rows = [
        dpsyn.NoisyReweighting(degree=1, reduced_space="public", public=table.take(rows))
        for rows in (np.arange(5), np.arange(5, 10))
    ]
    configs: list[Config] = [
        dpsyn.NoisyReweighting(degree=1),
        dpsyn.NoisyReweighting(degree=2),
        dpsyn.NoisyReweighting(degree=1, rows=7),
        dpsyn.MWEM(degree=1),
        *by_public_rows,
    ]
    asked = [(config, SPEC, table) for config in configs]
    asked += [(configs[0], replace(SPEC, **{name: value}), table) for name, value in OTHER_SPECS.items()]
    asked += [(configs[0], SPEC, other) for other in tables[1:]]
    first = [visit.calibrated(*question) for question in asked]
    assert len({id(mechanism) for mechanism in first}) == len(asked)
    for mechanism, (config, spec, rows) in zip(first, asked, strict=True):
        again = config.calibrate(spec, rows.domain, n=rows.n)
        assert mechanism.config is config
        assert (mechanism.spec, mechanism.domain, mechanism.n) == (spec, again.domain, rows.n)
        assert (mechanism.facts(), mechanism.guarantee) == (again.facts(), again.guarantee)
        assert visit.calibrated(config, spec, rows) is mechanism  # calibrated once
