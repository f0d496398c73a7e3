"""What noisy reweighting draws inside a bin: fine histograms as a part of its budget."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

import dpsyn
from dpsyn.errors import ParameterError
from dpsyn.mechanisms.noisy_reweighting._ledger import HISTOGRAMS
from dpsyn.mechanisms.noisy_reweighting.audit import audit_noisy_reweighting
from dpsyn.privacy.discrete_gaussian import continuous_delta
from dpsyn.privacy.noise import NoiseSource

HOURS = dpsyn.Attribute("hours", "numeric", lower=0, upper=99, bins=10, integer=True, public=True)
GAIN = dpsyn.Attribute("gain", "numeric", lower=0, upper=9_999, bins=5, integer=True, public=True)
PAID = dpsyn.Attribute("paid", "truth", (False, True), public=True)
DOMAIN = dpsyn.Domain.of([HOURS, PAID, GAIN])


def spiky(rows: int = 8_000) -> dpsyn.Table:
    random = np.random.default_rng(0)
    hours = np.where(random.random(rows) < 0.5, 40, random.integers(0, 100, rows))
    gain = np.where(
        random.random(rows) < 0.9, 0, np.where(random.random(rows) < 0.3, 9_999, random.integers(1, 9_999, rows))
    )
    return dpsyn.Table(pd.DataFrame({"hours": hours, "paid": random.random(rows) < 0.3, "gain": gain}), DOMAIN)


TABLE = spiky()


def calibrated(spec: dpsyn.PrivacySpec, table: dpsyn.Table = TABLE, **settings: object):
    return dpsyn.NoisyReweighting(degree=1, **settings).calibrate(spec, table.domain, n=table.n)


@pytest.mark.parametrize(("neighbouring", "factor"), [("replace_one", 2), ("add_remove", 1)])
def test_the_budget_pays_for_every_level_of_every_column(neighbouring, factor):
    """One table a column, one level for hours, four for gain: with Laplace noise Σ moved/scale is ε."""
    mechanism = calibrated(dpsyn.PrivacySpec(0.7, neighbouring=neighbouring), histogram_share=0.3)
    scale = {part.name: mechanism.ledger.scale(part) for part in mechanism.ledger.parts}
    assert mechanism.histograms.moved(neighbouring) == 5 * factor
    spent = {part.name: part.moved / scale[part.name] for part in mechanism.ledger.parts}
    assert spent[HISTOGRAMS] == pytest.approx(5 * factor / scale[HISTOGRAMS])
    assert sum(spent.values()) == pytest.approx(0.7, rel=1e-12)
    assert spent[HISTOGRAMS] == pytest.approx(0.3 * 0.7, rel=0.05)


def test_gaussian_noise_is_calibrated_to_all_parts_together():
    mechanism = calibrated(dpsyn.PrivacySpec(1.0, 1e-6))
    squares = sum(part.moved / mechanism.ledger.scale(part) ** 2 for part in mechanism.ledger.parts)
    assert {part.name: part.moved for part in mechanism.ledger.parts}[HISTOGRAMS] == 10
    assert sum(part.moved for part in mechanism.ledger.parts) == 16
    assert continuous_delta(math.sqrt(squares), 1.0) == pytest.approx(1e-6, rel=0.02)


@pytest.mark.parametrize("delta", [0.0, 1e-6])
def test_the_histograms_get_the_noise_of_their_part(delta):
    mechanism = calibrated(dpsyn.PrivacySpec(1.0, delta))
    exact = mechanism.exact(TABLE.codes, TABLE.frame)
    mine = mechanism.part_of == len(mechanism.ledger.parts) - 1
    assert mine.sum() == mechanism.histograms.count == 100 + 5 * 11_110
    part = mechanism.ledger.parts[-1]
    scale = mechanism.ledger.scale(part)
    errors = (mechanism.noisy(NoiseSource(np.random.default_rng(1)), exact) - exact)[mine]
    ratio = math.exp(-1 / scale)
    variance = scale**2 if delta else 2 * ratio / (1 - ratio) ** 2
    assert errors.std() == pytest.approx(math.sqrt(variance), rel=0.02)


def test_halved_noise_is_caught_in_the_histograms():
    """With 0.95 of the budget in them there is hardly another place where the fault could be found."""
    domain = dpsyn.Domain.of([replace(HOURS, bins=2)])
    mechanism = dpsyn.NoisyReweighting(degree=1, histogram_share=0.95).calibrate(dpsyn.PrivacySpec(1.0), domain, n=1000)
    assert mechanism.ledger.entries[-1]["share"] > 0.9
    sound = audit_noisy_reweighting(mechanism, generator=np.random.default_rng(1))
    assert 0.6 < sound.epsilon <= 1
    halved = audit_noisy_reweighting(mechanism, noise_factor=0.5, runs=20_000, generator=np.random.default_rng(1))
    assert halved.refuted


@pytest.mark.parametrize("neighbouring", ["replace_one", "add_remove"])
def test_spikes_and_tails_come_out(neighbouring):
    mechanism = calibrated(dpsyn.PrivacySpec(1.0, 1e-6, neighbouring=neighbouring))
    release = mechanism(np.random.default_rng(3), TABLE)
    rows, real = release.rows, TABLE.frame
    assert (rows["hours"] == 40).mean() == pytest.approx((real["hours"] == 40).mean(), abs=0.01)
    for value in (0, 9_999):
        assert (rows["gain"] == value).mean() == pytest.approx((real["gain"] == value).mean(), abs=0.02)
    assert rows["gain"].mean() == pytest.approx(real["gain"].mean(), rel=0.1)
    uniform = calibrated(dpsyn.PrivacySpec(1.0, 1e-6), histogram_share=0.0)(np.random.default_rng(3), TABLE).rows
    assert (uniform["gain"] == 0).mean() < 0.01
    again = mechanism.redraw(np.random.default_rng(4), release)
    assert (again["hours"] == 40).mean() == pytest.approx((real["hours"] == 40).mean(), abs=0.01)


def test_nothing_is_spent_where_it_would_not_be_used():
    assert calibrated(dpsyn.PrivacySpec(1.0), histogram_share=0.0).histograms is None
    bits = dpsyn.load_sample("asia")
    assert dpsyn.NoisyReweighting().calibrate(dpsyn.PrivacySpec(1.0), bits.domain, n=bits.n).histograms is None
    published = dpsyn.NoisyReweighting.as_published(statistics="contingency", degree=1)
    mechanism = published.calibrate(dpsyn.PrivacySpec(1.0), DOMAIN, n=TABLE.n)
    assert mechanism.histograms is None
    assert len(mechanism.ledger.parts) == 1


@pytest.mark.parametrize("share", [-0.1, 1.0, math.nan])
def test_a_share_that_is_none_is_refused(share):
    with pytest.raises(ParameterError, match="histogram_share"):
        dpsyn.NoisyReweighting(histogram_share=share)


def test_a_column_may_have_any_name():
    domain = dpsyn.Domain.of([replace(HOURS, name="self")])
    table = dpsyn.Table(pd.DataFrame({"self": [40] * 500}), domain)
    rows = calibrated(dpsyn.PrivacySpec(5.0), table)(np.random.default_rng(0), table).rows
    assert (rows["self"] == 40).mean() > 0.9
