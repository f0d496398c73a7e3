"""One release of every mechanism in one job: what stands in the way of one does not take the others along."""

from __future__ import annotations

import time

import pytest

import dpsyn
from dpsyn.mechanisms.base import Mechanism, Release, run, run_all

CAR = dpsyn.load_sample("car").project(["buying", "safety", "class"])
SPEC = dpsyn.PrivacySpec(3.0, 1e-5)
TOO_LITTLE = dpsyn.PrivacySpec(0.2, 1e-5)
"""For DP-CDA to find a class with enough rows, which it says in the run: the sizes of classes are private."""


def mechanisms() -> dict[str, Mechanism]:
    configs = (dpsyn.NoisyReweighting(rows=50), dpsyn.DPCDA(target="buying"), dpsyn.MWEM(rows=40))
    specs = (SPEC, TOO_LITTLE, SPEC)
    return {c.name: c.calibrate(spec, CAR.domain, n=CAR.n) for c, spec in zip(configs, specs, strict=True)}


def test_one_that_fails_does_not_take_the_others_along() -> None:
    steps: list[tuple[str, float]] = []
    every, begun = mechanisms(), time.monotonic()
    made = run_all(every, CAR, lambda step, share: steps.append((step, share)))
    assert list(made) == ["noisy_reweighting", "dp_cda", "mwem"]
    refused, _ = made["dp_cda"]
    assert isinstance(refused, str)
    assert "class" in refused
    for name, rows in (("noisy_reweighting", 50), ("mwem", 40)):
        release, seconds = made[name]
        assert isinstance(release, Release)
        assert (release.mechanism, len(release.rows), release.seeded) == (name, rows, False)
        assert release.guarantee.status == "proven"
        assert seconds > 0
    assert sum(seconds for _, seconds in made.values()) <= time.monotonic() - begun
    shares = [share for _, share in steps]
    assert 0 <= min(shares) <= max(shares) <= 1
    assert [step.partition(":")[0] for step, share in steps if share >= 2 / 3][-1] == "MWEM"
    assert max(share for step, share in steps if step.startswith("Noisy reweighting")) <= 1 / 3 + 1e-9


def test_what_is_no_fault_of_the_request_is_not_swallowed(monkeypatch: pytest.MonkeyPatch) -> None:
    one = mechanisms()["mwem"]

    def broken(*_: object) -> None:
        raise ZeroDivisionError

    monkeypatch.setattr(type(one), "_run", broken)
    with pytest.raises(ZeroDivisionError):
        run_all({"mwem": one}, CAR, lambda *_: None)


@pytest.mark.parametrize(("seed", "status"), [(None, "proven"), (0, "demonstration")])
def test_a_job_with_a_seed_is_a_demonstration_and_one_without_is_none(seed: int | None, status: str) -> None:
    first, second = (run(mechanisms()["mwem"], CAR, seed, lambda *_: None) for _ in range(2))
    assert (first.seeded, first.guarantee.status) == (seed is not None, status)
    assert first.rows.equals(second.rows) is (seed is not None)


def test_rows_of_two_runs_differ() -> None:
    one = {"mwem": mechanisms()["mwem"]}
    first, second = (run_all(one, CAR, lambda *_: None)["mwem"][0] for _ in range(2))
    assert not first.rows.equals(second.rows)
