"""Local perturbation: a neighbour changes one row, by the diameter at most, and the noise is the least for that."""

from __future__ import annotations

import numpy as np
import pytest

import dpsyn
from dpsyn.errors import CalibrationError, ParameterError
from dpsyn.mechanisms.base import no_progress
from dpsyn.mechanisms.claim_formulas import claim_formulas
from dpsyn.mechanisms.feature_map import FeatureMap
from dpsyn.privacy.discrete_gaussian import continuous_delta
from dpsyn.privacy.noise import NoiseSource
from tests.mechanisms.points_by_hand import DOMAIN, EVERY, ROWS, before_noise, replaced, table_of

SPEC = dpsyn.PrivacySpec(3.0, 1e-4)


@pytest.mark.parametrize("rows", [6, 8])
def test_a_neighbour_changes_one_row_at_most_by_the_diameter(rows, monkeypatch):
    mechanism = dpsyn.LocalPerturbation(rows=rows).calibrate(SPEC, DOMAIN, len(ROWS))
    mine, scale = before_noise(mechanism, ROWS, monkeypatch)
    assert mine.shape == (rows, 4)
    assert scale == mechanism.noise_scale
    worst = 0.0
    for _, other in replaced():
        theirs, same = before_noise(mechanism, other, monkeypatch)
        assert same == scale
        moved = np.linalg.norm(mine - theirs, axis=1)
        assert (moved > 0).sum() <= 1
        worst = max(worst, float(moved.max()))
    assert worst == pytest.approx(mechanism.sensitivity)
    if rows == 6:
        points = FeatureMap(DOMAIN).encode(table_of(ROWS))
        assert sorted(map(tuple, mine)) == sorted(map(tuple, points))


@pytest.mark.parametrize("neighbouring", ["replace_one", "add_remove"])
@pytest.mark.parametrize(("epsilon", "delta"), [(0.5, 1e-6), (8.0, 1e-3)])
def test_noise_is_the_least_that_one_record_asks_for(epsilon, delta, neighbouring):
    spec = dpsyn.PrivacySpec(epsilon, delta, neighbouring)
    mechanism = dpsyn.LocalPerturbation(rows=5).calibrate(spec, DOMAIN, 6)
    apart = FeatureMap(DOMAIN).encode(table_of(EVERY))
    diameter = float(np.linalg.norm(apart[:, None] - apart[None], axis=2).max())
    assert continuous_delta(diameter / mechanism.noise_scale, epsilon) <= delta
    assert continuous_delta(diameter / (mechanism.noise_scale * (1 - 1e-7)), epsilon) > delta
    claim = mechanism.guarantee
    assert (claim.epsilon, claim.delta, claim.neighbouring) == (epsilon, delta, neighbouring)
    assert any("20 numbers" in one for one in claim.assumptions)
    assert ("n" in mechanism.facts()) is (neighbouring == "replace_one")


def test_what_cannot_be_is_refused():
    with pytest.raises(CalibrationError, match="delta > 0"):
        dpsyn.LocalPerturbation().calibrate(dpsyn.PrivacySpec(1.0), DOMAIN, 6)
    with pytest.raises(ParameterError) as caught:
        dpsyn.LocalPerturbation().calibrate(dpsyn.PrivacySpec(1.0, 1e-5, "add_remove"), DOMAIN, 6)
    assert caught.value.field == "rows"


def test_all_records_come_back_where_noise_is_negligible_and_none_where_it_is_not():
    for epsilon, kept in ((1e7, True), (0.1, False)):
        mechanism = dpsyn.LocalPerturbation().calibrate(dpsyn.PrivacySpec(epsilon, 1e-5), DOMAIN, len(EVERY))
        rows = mechanism._run(NoiseSource(None), table_of(EVERY), no_progress)[0]
        found = sorted(zip(rows["a"], rows["b"], rows["x"].round(1), strict=True))
        real = sorted((a, b, min(x, 9.0)) for a, b, x in EVERY)
        assert (found == real) is kept


def test_the_claim_shows_its_numbers():
    mechanism = dpsyn.LocalPerturbation().calibrate(SPEC, DOMAIN, 6)
    (line,) = claim_formulas("local_perturbation", mechanism.guarantee, mechanism.facts())
    assert f"{mechanism.sensitivity / mechanism.noise_scale:.4g}" in line.filled
    assert claim_formulas("local_perturbation", mechanism.guarantee, {}) == ()
