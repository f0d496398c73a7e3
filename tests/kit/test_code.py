"""The Python of a page reads the domain as it stands there, and makes the release that the page makes, with its claim."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import dpsyn
from dpsyn.kit import code
from dpsyn.kit.visit import Dataset

ASIA = dpsyn.load_sample("asia").take(range(200))


def dataset(confirmed: int, *, bundled: bool) -> Dataset:
    domain = dpsyn.Domain.of(replace(a, public=at < confirmed) for at, a in enumerate(ASIA.domain.attributes))
    table = (dpsyn.load_sample("asia") if bundled else dpsyn.read_table(ASIA.frame, name="asia.csv")).with_domain(domain)
    return Dataset(table=table, full=table, target="dysp", sample="asia" if bundled else None, revision=1)


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ASIA.frame.to_csv(tmp_path / "asia.csv", index=False)
    monkeypatch.chdir(tmp_path)


@pytest.mark.usefixtures("here")
@pytest.mark.parametrize("bundled", [True, False])
@pytest.mark.parametrize("confirmed", [0, 1, 8])
def test_the_domain_is_as_confirmed_as_it_is_on_the_page(confirmed: int, bundled: bool) -> None:
    current = dataset(confirmed, bundled=bundled)
    names: dict[str, Any] = {"np": np, "dpsyn": dpsyn}
    exec(code.read(current), names)
    assert names["table"].domain == current.table.domain
    learn, held_out = current.parts
    assert held_out is not None
    np.testing.assert_array_equal(names["train"].codes, learn.codes)
    np.testing.assert_array_equal(names["test"].codes, held_out.codes)


def test_bounds_of_dates_are_written_as_days(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    frame = pd.DataFrame({"born": ["2008-01-01", "2011-04-13"]})
    frame.to_csv("born.csv", index=False)
    table = dpsyn.read_table(frame, name="born.csv")
    current = Dataset(table=table, full=table, revision=1)
    assert "'lower': '2008-01-01', 'upper': '2011-04-13'" in code.read(current)
    names: dict[str, Any] = {"np": np, "dpsyn": dpsyn}
    exec(code.read(current), names)
    assert names["table"].domain == table.domain


@pytest.mark.usefixtures("here")
@pytest.mark.parametrize("seed", [None, 0, 3])
@pytest.mark.parametrize("spec", [dpsyn.PrivacySpec(1.00041), dpsyn.PrivacySpec(2, 1e-6, "add_remove")], ids=["pure", "δ"])
@pytest.mark.parametrize("confirmed", [7, 8])
def test_a_release_has_the_claim_that_it_has_on_the_page(
    confirmed: int, spec: dpsyn.PrivacySpec, seed: int | None, capsys: pytest.CaptureFixture[str]
) -> None:
    current, config = dataset(confirmed, bundled=False), dpsyn.MWEM(rounds=2, rows=9)
    learn = current.parts[0]
    mechanism = config.calibrate(spec, learn.domain, learn.n)
    names: dict[str, Any] = {}
    exec(code.generator(current, config, spec, seed), names)
    assert (names["config"], names["spec"], names["mechanism"]) == (config, spec, mechanism)
    claim = names["release"].guarantee
    assert capsys.readouterr().out.startswith(f"{claim}\n")
    assert claim == mechanism.claim(seeded=seed is not None)
    assert (claim.status == "proven") == (confirmed == 8 and seed is None)
