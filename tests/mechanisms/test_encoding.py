"""The stage before a mechanism on categories: its budget, its noise, and that nothing else is learned of the numbers."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import pytest

import dpsyn
from dpsyn.errors import ParameterError
from dpsyn.mechanisms.base import no_progress
from dpsyn.mechanisms.claim_formulas import claim_formulas
from dpsyn.mechanisms.encoding import staged, staged_before
from dpsyn.privacy.audit import audit
from dpsyn.privacy.budget import Budget
from dpsyn.privacy.noise import NoiseSource
from dpsyn.privacy.zcdp import zcdp_rho
from dpsyn.solvers.coded import CodedRows
from tests.mechanisms.test_what_gets_noise import Deaf

DOMAIN = dpsyn.Domain.of(
    [
        dpsyn.Attribute("hours", "numeric", lower=0, upper=99, bins=4, integer=True, public=True),
        dpsyn.Attribute("day", "date", lower=0, upper=3000, bins=3, missing=True, public=True),
        dpsyn.Attribute("paid", "truth", (False, True), public=True),
    ]
)


def table(n: int, level: int) -> dpsyn.Table:
    random = np.random.default_rng(level)
    hours = np.where(random.random(n) < 0.5, 40, random.integers(0, 100, n) if level else 7)
    day = pd.Series(pd.to_datetime(random.integers(0, 3000, n), unit="D", origin="unix")).mask(
        random.random(n) < 0.1 * level
    )
    return dpsyn.Table(pd.DataFrame({"hours": hours, "day": day, "paid": random.random(n) < 0.3}), DOMAIN)


CASES: dict[str, tuple[Any, Any]] = {
    "mwem": (dpsyn.MWEM(rounds=3, rows=300, histogram_share=0.2), dpsyn.PrivacySpec(2.0)),
    "mst": (dpsyn.MST(rows=300, histogram_share=0.2), dpsyn.PrivacySpec(2.0, 1e-5, "add_remove")),
    "independent": (dpsyn.Independent(rows=300, histogram_share=0.2), dpsyn.PrivacySpec(2.0, 1e-5)),
    "contingency": (dpsyn.Contingency(rows=300, histogram_share=0.2), dpsyn.PrivacySpec(2.0, 1e-5)),
    "private sampling": (dpsyn.PrivateSampling(degree=1, histogram_share=0.2), dpsyn.PrivacySpec(20.0)),
    "private sampling, add/remove": (
        dpsyn.PrivateSampling(degree=1, rows=5, histogram_share=0.2),
        dpsyn.PrivacySpec(20.0, neighbouring="add_remove"),
    ),
}


PURE = ("mwem", "contingency", "private sampling", "private sampling, add/remove")


@pytest.mark.parametrize("case", [case for case in CASES if case not in PURE])
def test_stage_and_mechanism_share_one_budget_of_rho(case):
    config, spec = CASES[case]
    mechanism = config.calibrate(spec, DOMAIN, 500)
    stage, tables = mechanism.stage, 5 if case == "mst" else 3  # of MST three columns and two pairs
    moved = 1 if spec.neighbouring == "add_remove" else 2
    histograms = 6 * moved / (2 * stage.scale**2)
    total = zcdp_rho(2.0, 1e-5)
    assert histograms == pytest.approx(0.2 * total)
    if case == "mst":
        parts = [mechanism.one_way_scale, mechanism.two_way_scale]
        measured = sum(count * moved / (2 * scale**2) for count, scale in zip((3, 2), parts, strict=True))
        spent = histograms + measured * 3 / 2  # a third of what is left chooses
    else:
        spent = histograms + tables * moved / (2 * mechanism.release.scale**2)
    assert spent == pytest.approx(total)
    assert spent <= total
    ledger = mechanism.calibrated()["ledger"]
    assert next(entry["name"] for entry in ledger) == "fine histograms"
    assert sum(entry["rho"] for entry in ledger) == pytest.approx(total)
    assert sum(entry["share"] for entry in ledger) == pytest.approx(1)
    assert (mechanism.guarantee.epsilon, mechanism.guarantee.delta) == (2.0, 1e-5)
    assert claim_formulas(config.name, mechanism.guarantee, config.settings() | mechanism.calibrated() | {"n": 500})
    assert stage.epsilon == 0
    words = "after discrete Gaussian noise on fine histograms, whose ρ is added (adaptive composition)"
    assert mechanism.guarantee.source.endswith(f", {words}")


@pytest.mark.parametrize("case", PURE)
def test_stage_and_mechanism_share_what_was_asked_for(case):
    config, spec = CASES[case]
    mechanism = config.calibrate(spec, DOMAIN, 500)
    stage = mechanism.stage
    # Two levels for hours and four for the days; a row is in one part of each, a replaced one in two.
    moved = 6 * (1 if spec.neighbouring == "add_remove" else 2)
    assert stage.epsilon == pytest.approx(0.2 * spec.epsilon)
    assert moved / stage.scale <= stage.epsilon
    assert moved / stage.scale == pytest.approx(stage.epsilon)
    assert stage.rows == (500 if spec.neighbouring == "replace_one" else None)
    rest = replace(config, histogram_share=0.0).calibrate(replace(spec, epsilon=0.8 * spec.epsilon), DOMAIN, 500)
    assert mechanism.guarantee.epsilon == pytest.approx(rest.guarantee.epsilon + stage.epsilon)
    assert mechanism.guarantee.epsilon <= spec.epsilon
    for name in ("noise_scale", "choice_scale", "rows", "threshold"):
        assert getattr(mechanism, name, None) == pytest.approx(getattr(rest, name, None))
    if case == "mwem":
        assert next(entry["epsilon"] for entry in mechanism.calibrated()["ledger"]) == stage.epsilon
    else:
        assert mechanism.calibrated()["epsilon_for_histograms"] == stage.epsilon
    words = "after discrete Laplace noise on fine histograms, whose ε is added (adaptive composition)"
    assert mechanism.guarantee.source == f"{rest.guarantee.source}, {words}"


@pytest.mark.parametrize("case", CASES)
def test_of_numbers_only_the_noisy_counts_are_learned(case):
    """Deaf noise: the encoding, and with it all that the stage says, is the same whatever the numbers are."""
    config, spec = CASES[case]
    found = []
    # Under add_remove the number of rows is a secret of the data as well.
    for data in (table(500, 0), table(500 if spec.neighbouring == "replace_one" else 700, 1)):
        noise = Deaf(2)
        stage = config.calibrate(spec, DOMAIN, data.n).stage
        encoding = stage.encoding(noise, data)
        assert {(kind, scale) for kind, _, scale in noise.handed} == {(stage.budget.noise, stage.scale)}
        assert sum(int(values.sum()) for _, values, _ in noise.handed[:1]) == data.n
        codes = np.array([[0, 0, 0], [3, 2, 1], [1, 3, 1]], dtype=np.int32)
        found.append((encoding.labels(0), encoding.labels(1), encoding.decode(codes, np.random.default_rng(0))))
    assert found[0][:2] == found[1][:2]
    pd.testing.assert_frame_equal(found[0][2], found[1][2])


def test_mwem_takes_the_codes_of_the_stage():
    config = CASES["mwem"][0]
    mechanism = config.calibrate(dpsyn.PrivacySpec(20.0), DOMAIN, 500)  # more quietly would not choose other bins
    data = table(500, 1)
    noise = NoiseSource(np.random.default_rng(0))
    rows, diagnostics = mechanism._run(noise, data, no_progress)
    codes = diagnostics["encoding"].codes(data)
    real = mechanism.queries.counts(CodedRows(codes, mechanism.domain.shape))
    left = np.abs(mechanism.n * mechanism.queries.shares(diagnostics["model"].weights) - real).max() / mechanism.n
    assert diagnostics["largest_error"] == pytest.approx(left)
    assert not np.array_equal(codes, data.codes)
    assert set(rows.columns) == set(DOMAIN.names)


def test_a_spike_at_the_end_of_a_wide_range_comes_out_of_all_that_share_a_budget():
    """An amount in cents that is 0 in a fifth of few rows: Laplace noise on all levels of its tree would hide that."""
    random = np.random.default_rng(0)
    amount = np.where(random.random(3000) < 0.2, 0.0, np.exp(random.normal(5, 1.5, 3000)).round(2).clip(0.01, 59_000))
    domain = dpsyn.Domain.of([dpsyn.Attribute("amount", "numeric", lower=0, upper=60_000, bins=10, unit=0.01, public=True)])
    data = dpsyn.Table(pd.DataFrame({"amount": amount}), domain)
    for config in (dpsyn.Independent(), dpsyn.MST(), dpsyn.PrivBayes(), dpsyn.MWEM()):
        rows = config.calibrate(dpsyn.PrivacySpec(0.5, 1e-5), domain, 3000)(np.random.default_rng(1), data).rows
        assert (rows["amount"] == 0).mean() == pytest.approx((amount == 0).mean(), abs=0.05)
        assert rows["amount"].median() == pytest.approx(np.median(amount), rel=0.25)


@pytest.mark.parametrize("config", [dpsyn.MWEM(), dpsyn.NoisyReweighting()])
def test_spikes_come_out(config):
    data = table(3000, 1)
    rows = config.calibrate(dpsyn.PrivacySpec(3.0), DOMAIN, data.n)(np.random.default_rng(3), data).rows
    real = data.frame
    assert (rows["hours"] == 40).mean() == pytest.approx((real["hours"] == 40).mean(), abs=0.05)
    assert rows["day"].isna().mean() == pytest.approx(real["day"].isna().mean(), abs=0.05)
    assert rows["day"].dropna().between("1970-01-01", "1978-03-20").all()  # the public range


@pytest.mark.parametrize("factor", [1.0, 0.5])
def test_halved_noise_is_caught_in_the_stage(factor):
    """All counts of the trees of two neighbours, each row alone in every part that holds it."""
    config, spec = dpsyn.MWEM(rounds=1, histogram_share=0.9), dpsyn.PrivacySpec(1.0)
    stage = config.calibrate(spec, DOMAIN, 500).stage
    first, second = (500 * stage.histograms.by_codes(np.array([[0, 0, 0]], dtype=np.int32)) for _ in range(2))
    one, other = (stage.histograms.by_codes(np.array([row], dtype=np.int32)) for row in ([0, 0, 0], [3, 2, 0]))
    second = first - one + other
    noise = NoiseSource(np.random.default_rng(4))

    def scored(counts: np.ndarray) -> Any:
        def run(runs: int, _: np.random.Generator) -> np.ndarray:
            seen = noise.discrete_laplace(np.tile(counts, (runs, 1)), factor * stage.scale)
            apart = np.abs(seen - second) - np.abs(seen - first)
            return (apart.sum(axis=1) / stage.scale).round(9)

        return run

    found = audit(
        scored(first),
        scored(second),
        generator=noise.generator,
        runs=20_000,
        delta=0.0,
        confidence=0.95,
        claim=stage.epsilon,
    )
    assert found.refuted is (factor < 1)


@pytest.mark.parametrize("config", [dpsyn.MWEM, dpsyn.PrivateSampling])
@pytest.mark.parametrize("share", [-0.1, 1.0, float("nan")])
def test_a_share_that_is_none_is_refused(config, share):
    with pytest.raises(ParameterError, match="histogram_share"):
        config(histogram_share=share)


def test_nothing_is_spent_where_there_are_no_numbers():
    bits = dpsyn.load_sample("asia")
    mechanism = dpsyn.MWEM().calibrate(dpsyn.PrivacySpec(1.0), bits.domain, n=bits.n)
    assert mechanism.stage.histograms is None
    assert mechanism.budget.total == pytest.approx(1.0)
    assert "fine histograms" not in [entry["name"] for entry in mechanism.calibrated()["ledger"]]


def test_a_box_that_ignores_the_data_has_no_stage():
    config = dpsyn.PrivateSampling(degree=1, floor=0.5, ceiling=2.0, rows=5, histogram_share=0.2)
    mechanism = config.calibrate(dpsyn.PrivacySpec(1.0), DOMAIN, 500)
    assert mechanism.stage.histograms is None
    assert mechanism.guarantee.epsilon == 0


def test_columns_that_no_table_covers_come_out_all_the_same():
    config = dpsyn.NoisyReweighting(tables=(("day", "paid"),))
    data = table(800, 1)
    rows = config.calibrate(dpsyn.PrivacySpec(2.0, 1e-6), DOMAIN, data.n)(np.random.default_rng(0), data).rows
    assert set(rows.columns) == set(DOMAIN.names)
    assert rows["hours"].between(0, 99).all()


def test_a_stage_says_the_deviation_of_its_noise_and_one_that_spends_nothing_leaves_everything():
    for delta, factor in ((0.0, np.sqrt(2)), (1e-5, 1.0)):
        stage, _ = staged(0.3, Budget.of(dpsyn.PrivacySpec(2.0, delta)), dpsyn.PrivacySpec(2.0, delta), DOMAIN, 50)
        assert stage.encoding(Deaf(0), table(50, 1)).deviation == pytest.approx(factor * stage.scale)
    spec = dpsyn.PrivacySpec(2.0, 1e-5)
    assert staged_before(0.0, spec, DOMAIN, 50)[1] == spec
    assert staged_before(0.3, spec, DOMAIN, 50)[1].epsilon == pytest.approx(1.4)


@pytest.mark.parametrize(
    ("at", "wrong"),
    [
        *((0, wrong) for wrong in (None, "0.3", np.nan, -0.1, 1.0, True)),
        (1, 1.0),
        (2, 1.0),
        (2, None),
        (3, None),
        (3, ["a"]),
    ],
)
def test_a_stage_of_something_else_is_refused(at, wrong):
    spec = dpsyn.PrivacySpec(2.0)
    given = [0.3, Budget.of(spec), spec, DOMAIN, 50]
    with pytest.raises(ParameterError) as caught:
        staged(*given[:at], wrong, *given[at + 1 :])
    assert caught.value.field == ("share", "budget", "spec", "domain")[at]
