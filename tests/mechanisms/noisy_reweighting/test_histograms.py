"""What noisy reweighting draws inside a bin: fine histograms as a part of its budget."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

import dpsyn
from dpsyn.errors import ParameterError
from dpsyn.mechanisms.encoding import HISTOGRAMS
from dpsyn.mechanisms.noisy_reweighting.audit import audit_noisy_reweighting
from dpsyn.mechanisms.noisy_reweighting.user_functions import FunctionFamily
from dpsyn.privacy.discrete_gaussian import continuous_delta
from dpsyn.privacy.noise import NoiseSource
from tests.conformance.neighbours import Deaf, Exact, neighbours, spent

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
    """One table a column, two levels for hours, four for gain: with Laplace noise Σ moved/scale is ε."""
    mechanism = calibrated(dpsyn.PrivacySpec(0.7, neighbouring=neighbouring), histogram_share=0.3)
    scale = {part.name: mechanism.ledger.scale(part) for part in mechanism.ledger.parts}
    assert mechanism.histograms.moved(neighbouring) == 6 * factor
    spent = {part.name: part.moved / scale[part.name] for part in mechanism.ledger.parts}
    assert spent[HISTOGRAMS] == pytest.approx(6 * factor / scale[HISTOGRAMS])
    assert sum(spent.values()) == pytest.approx(0.7, rel=1e-12)
    assert spent[HISTOGRAMS] == pytest.approx(0.3 * 0.7, rel=0.05)


@pytest.mark.parametrize("delta", [0.0, 1e-6])
def test_every_count_of_the_histograms_has_the_noise_that_their_part_pays_for(delta):
    noise, mechanism = Exact(), calibrated(dpsyn.PrivacySpec(1.0, delta))
    mechanism.encoding(noise, TABLE)
    names = [entry["name"] for entry in mechanism.ledger.entries]
    assert {call.scale for call in noise.calls} == {mechanism.ledger.entries[names.index(HISTOGRAMS)]["scale"]}
    assert {call.kind for call in noise.calls} == {"gaussian" if delta else "laplace"}
    assert noise.calls[0].values.sum() == TABLE.n


def test_gaussian_noise_is_calibrated_to_all_parts_together():
    mechanism = calibrated(dpsyn.PrivacySpec(1.0, 1e-6))
    squares = sum(part.moved / mechanism.ledger.scale(part) ** 2 for part in mechanism.ledger.parts)
    assert {part.name: part.moved for part in mechanism.ledger.parts}[HISTOGRAMS] == 12
    assert sum(part.moved for part in mechanism.ledger.parts) == 18
    assert continuous_delta(math.sqrt(squares), 1.0) == pytest.approx(1e-6, rel=0.02)


@pytest.mark.parametrize("delta", [0.0, 1e-6])
def test_the_histograms_get_the_noise_of_their_part(delta, monkeypatch):
    mechanism = calibrated(dpsyn.PrivacySpec(1.0, delta))
    scale = mechanism.ledger.scale(mechanism.ledger.parts[-1])
    seen: list[float] = []
    draw = NoiseSource.discrete_gaussian if delta else NoiseSource.discrete_laplace

    def watched(source: NoiseSource, values: np.ndarray, asked: float) -> np.ndarray:
        if asked == scale:
            seen.append(values.size)
        return draw(source, values, asked)

    monkeypatch.setattr(NoiseSource, draw.__name__, watched)
    deviation = scale if delta else math.sqrt(2) * scale
    encoding = mechanism.encoding(NoiseSource(np.random.default_rng(1)), TABLE)
    assert seen[0] == 10
    assert encoding.deviation == pytest.approx(deviation)
    errors = []
    for seed in range(150):
        found = mechanism.encoding(NoiseSource(np.random.default_rng(seed)), TABLE)
        # All rows have a gain, and the first level is the same ten parts whatever the noise.
        rows, variances = found.counts(2)
        exact = np.bincount(found.codes(TABLE)[:, 2], minlength=len(rows))
        errors.append((rows - exact)[0] / math.sqrt(variances[0]))
    assert np.std(errors) == pytest.approx(1.0, rel=0.35)


def test_codes_follow_from_the_noise_whatever_the_neighbours_do():
    """Walsh functions: some neighbours move more functions of one order, others of the other. The codes may be chosen by
    noise that came before, so the ledger takes the most of each."""
    domain = dpsyn.Domain.of(
        dpsyn.Attribute(name, "numeric", lower=0, upper=99, bins=2, integer=True, public=True) for name in "abcdefg"
    )
    plain = dpsyn.NoisyReweighting(histogram_share=0.0).calibrate(dpsyn.PrivacySpec(1.0, 1e-6), domain, n=900)
    chosen = dpsyn.NoisyReweighting().calibrate(dpsyn.PrivacySpec(1.0, 1e-6), domain, n=900)
    assert plain.ledger.others
    assert chosen.ledger.others == ()
    every = [[part.moved for part in plain.ledger.parts], *plain.ledger.others]
    assert [part.moved for part in chosen.ledger.parts[:-1]] == np.max(every, axis=0).tolist()


def test_halved_noise_is_caught_in_the_histograms():
    """With 0.95 of the budget in them there is hardly another place where the fault could be found."""
    domain = dpsyn.Domain.of([replace(HOURS, bins=2, missing=True)])
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
    # Noise on a part's count has a deviation of about 1.5 % of these rows.
    for value in (0, 9_999):
        assert (rows["gain"] == value).mean() == pytest.approx((real["gain"] == value).mean(), abs=0.015)
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


def test_functions_and_public_rows_keep_the_bins_that_they_speak_of():
    for settings in (
        {"family": FunctionFamily([lambda codes: codes[:, 0] > 1], DOMAIN.shape)},
        {"reduced_space": "public", "public": TABLE.take(np.arange(300))},
    ):
        mechanism = calibrated(dpsyn.PrivacySpec(1.0, 1e-6), **settings)
        encoding = mechanism.encoding(NoiseSource(np.random.default_rng(0)), TABLE)
        np.testing.assert_array_equal(encoding.codes(TABLE), TABLE.codes)
        assert mechanism(np.random.default_rng(0), TABLE).rows["hours"].value_counts().index[0] == 40


WHOLE = dpsyn.Attribute("whole", "numeric", lower=0, upper=99, bins=4, integer=True, public=True)
DAY = dpsyn.Attribute("day", "date", lower=0, upper=99, bins=4, missing=True, public=True)
FIXED = dpsyn.Domain.of([PAID, WHOLE, DAY])
VALUES = {"paid": [False, True], "whole": [0, 99], "day": [*pd.to_datetime([0, 60], unit="D"), pd.NaT]}


@pytest.mark.parametrize("neighbouring", ["replace_one", "add_remove"])
@pytest.mark.parametrize("noise", ["laplace", "gaussian"])
@pytest.mark.parametrize("fixed", ["functions", "public rows", None])
def test_no_neighbour_costs_more_than_was_asked_for_where_bins_are_fixed_or_not(fixed, noise, neighbouring):
    """Every level is asked for, of whole numbers and of dates that may be empty: the worst neighbour costs what is paid."""
    frame = pd.DataFrame({"paid": [True, False] * 2, "whole": [0, 0, 99, 40], "day": [VALUES["day"][0]] * 3 + [pd.NaT]})
    table, settings = dpsyn.Table(frame, FIXED), {}
    if fixed == "functions":
        settings["family"] = FunctionFamily([lambda codes: codes[:, 0], lambda codes: codes[:, 1] / 3], FIXED.shape)
    elif fixed:
        settings |= {"reduced_space": "public", "public": table}
    spec = dpsyn.PrivacySpec(0.7, 1e-6 if noise == "gaussian" else 0.0, neighbouring)
    mechanism = calibrated(spec, table, **settings)
    scale = mechanism.ledger.scale(next(part for part in mechanism.ledger.parts if part.name == HISTOGRAMS))
    mine = Deaf(0, 10**6)
    mechanism.measured(mine, table)
    worst, most = 0.0, 0
    for other in neighbours(frame, VALUES, neighbouring):
        theirs = Deaf(0, 10**6)
        mechanism.measured(theirs, dpsyn.Table(other, FIXED))
        cost = spent(mine.calls, theirs.calls)
        worst = max(worst, cost.epsilon if noise == "laplace" else cost.rho)
        pairs = zip(mine.calls, theirs.calls, strict=True)
        most = max(most, sum(int(np.abs(a.values - b.values).sum()) for a, b in pairs if a.scale == scale))
    allowed = sum(entry["epsilon" if noise == "laplace" else "rho"] for entry in mechanism.ledger.entries)
    assert most == mechanism.histograms.moved(neighbouring)
    assert 0.999 < worst / allowed <= 1 + 1e-12
    assert noise == "gaussian" or worst <= 0.7 * (1 + 1e-12)


def test_bins_are_fixed_where_functions_or_public_rows_depend_on_them_and_nowhere_else():
    table = dpsyn.Table(pd.DataFrame({name: values[:2] for name, values in VALUES.items()}), FIXED)
    functions = FunctionFamily([lambda codes: codes[:, 0]], FIXED.shape)
    public = {"reduced_space": "public", "public": table}
    for settings, fixed in (({}, False), ({"family": functions}, True), (public, True)):
        mechanism = calibrated(dpsyn.PrivacySpec(0.7), table, **settings)
        assert mechanism.histograms.fixed_bins is fixed


@pytest.mark.parametrize("share", [-0.1, 1.0, math.nan])
def test_a_share_that_is_none_is_refused(share):
    with pytest.raises(ParameterError, match="histogram_share"):
        dpsyn.NoisyReweighting(histogram_share=share)


def test_a_column_may_have_any_name():
    domain = dpsyn.Domain.of([replace(HOURS, name="self")])
    table = dpsyn.Table(pd.DataFrame({"self": [40] * 500}), domain)
    rows = calibrated(dpsyn.PrivacySpec(5.0), table)(np.random.default_rng(0), table).rows
    assert (rows["self"] == 40).mean() > 0.9
