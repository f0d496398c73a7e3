from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

import dpsyn
from dpsyn.errors import ParameterError

distributed = pytest.importorskip("distributed")


def _table() -> dpsyn.Table:
    generator = np.random.default_rng(0)
    level = generator.random((3000, 1)) < 0.4
    codes = (generator.random((3000, 30)) < np.where(level, 0.8, 0.3)).astype(np.int32)
    domain = dpsyn.Domain.of(dpsyn.Attribute(f"b{j}", "categorical", ("no", "yes"), public=True) for j in range(30))
    return dpsyn.Table(domain.decode(codes, generator), domain)


CONFIG = dpsyn.PrivateSampling(degree=1, floor=0.05, ceiling=3.0, rows=500, reduced_space_size=40_000)
LOOSE = dpsyn.PrivacySpec(1e6)


def test_two_workers_release_what_threads_release() -> None:
    table = _table()
    here = CONFIG.calibrate(LOOSE, table.domain, n=table.n)(np.random.default_rng(1), table)
    with distributed.LocalCluster(
        n_workers=2, threads_per_worker=1, processes=True, dashboard_address=":0", worker_dashboard_address=":0"
    ) as workers:
        config = replace(CONFIG, scheduler=workers.scheduler_address)
        there = config.calibrate(LOOSE, table.domain, n=table.n)(np.random.default_rng(1), table)
    pd.testing.assert_frame_equal(here.rows, there.rows)
    assert there.settings == here.settings
    assert 0 < here.diagnostics["shrinkage"] < 1
    assert there.diagnostics["shrinkage"] == pytest.approx(here.diagnostics["shrinkage"], abs=1e-9)
    assert there.diagnostics["density"] == pytest.approx(here.diagnostics["density"], rel=1e-7)
    assert there.diagnostics["residual"] <= 1e-8


def test_nobody_at_the_address_is_said_before_the_data_are_read() -> None:
    table = _table()
    mechanism = replace(CONFIG, scheduler="nowhere").calibrate(LOOSE, table.domain, n=table.n)
    with pytest.raises(ParameterError) as caught:
        mechanism(np.random.default_rng(1), table)
    assert caught.value.field == "scheduler"
