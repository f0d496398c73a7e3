"""The trials of DP-CDA's audit, and the documented code that runs them."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest

import dpsyn
from dpsyn.mechanisms.audit import CALIBRATED, HALVED, audit_worst_case
from dpsyn.mechanisms.dp_cda.audit import POISSON, PUBLISHED, REPLACED
from dpsyn.privacy.audit import Audit

DOCUMENT = Path(__file__).parents[3] / "docs" / "guarantees.md"


@pytest.fixture(scope="module")
def found() -> dict[str, Audit]:
    told: list[tuple[str, float]] = []
    audits = audit_worst_case(
        "dp_cda",
        dpsyn.PrivacySpec(4.0, 1e-5),
        runs=4000,
        generator=np.random.default_rng(1),
        progress=lambda step, share: told.append((step, share)),
    )
    assert told[-1][1] == 1.0
    assert [share for _, share in told] == sorted(share for _, share in told)
    return audits


@pytest.mark.parametrize("name", [CALIBRATED, REPLACED, POISSON])
def test_ours_is_never_above_its_claim(found: dict[str, Audit], name: str) -> None:
    assert 0 < found[name].epsilon < 4.0
    assert not found[name].refuted


def test_half_of_the_noise_is_noticed(found: dict[str, Audit]) -> None:
    assert found[HALVED].refuted


def test_the_z_score_breaks_the_papers_claim(found: dict[str, Audit]) -> None:
    assert found[PUBLISHED].epsilon > 4.0
    assert found[PUBLISHED].refuted


@pytest.mark.parametrize("spec", [dpsyn.PrivacySpec(1.0, 1e-5), dpsyn.PrivacySpec(4.0, 1e-5, "add_remove")])
def test_a_claim_that_the_paper_cannot_make_is_not_audited(spec: dpsyn.PrivacySpec) -> None:
    audits = audit_worst_case("dp_cda", spec, runs=100, generator=np.random.default_rng(1))
    assert PUBLISHED not in audits
    assert POISSON in audits


def test_the_documented_audits_run_as_they_stand(capsys: pytest.CaptureFixture[str]) -> None:
    text = DOCUMENT.read_text().split("## Audits")[1]
    (example,) = re.findall(r"```python\n(.*?)```", text.split("\n## ")[0], flags=re.DOTALL)
    for written, seeded in (
        ("runs=20_000).items()", "runs=2_000, generator=np.random.default_rng(1)).items()"),
        ('"label_change", runs=20_000)', '"label_change", runs=2_000, generator=np.random.default_rng(1))'),
    ):
        assert written in example
        example = example.replace(written, seeded)
    exec(compile(example, str(DOCUMENT), "exec"), {"np": np})
    *trial, own = capsys.readouterr().out.splitlines()
    assert [line.split(": ε ≥")[0] for line in trial] == [CALIBRATED, HALVED, REPLACED, POISSON, PUBLISHED]
    assert trial[-1].endswith(" REFUTED")
    assert own.startswith("ε ≥ ")
