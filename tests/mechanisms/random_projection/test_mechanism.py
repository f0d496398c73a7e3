"""Random projection: what a neighbour moves in fewer dimensions, and the way back."""

from __future__ import annotations

import numpy as np
import pytest

import dpsyn
from dpsyn.errors import CalibrationError, ParameterError
from dpsyn.mechanisms.feature_map import FeatureMap
from dpsyn.mechanisms.random_projection.mechanism import orthonormal
from dpsyn.privacy.discrete_gaussian import continuous_delta
from dpsyn.privacy.noise import NoiseSource
from tests.mechanisms.points_by_hand import DOMAIN, ROWS, before_noise, replaced, table_of

SPEC = dpsyn.PrivacySpec(3.0, 1e-4)


@pytest.mark.parametrize(("dimension", "kept"), [(None, 2), (9, 4)])
def test_a_neighbour_changes_one_row_at_most_by_the_diameter(dimension, kept, monkeypatch):
    mechanism = dpsyn.RandomProjection(dimension=dimension).calibrate(SPEC, DOMAIN, len(ROWS))
    mine, scale = before_noise(mechanism, ROWS, monkeypatch)
    assert mine.shape == (6, kept)
    assert (scale, mechanism.dimension) == (mechanism.noise_scale, kept)
    diameter, worst = FeatureMap(DOMAIN).diameter, 0.0
    assert continuous_delta(diameter / scale, 3.0) <= 1e-4 < continuous_delta(diameter / (scale * (1 - 1e-7)), 3.0)
    for _, other in replaced():
        theirs, same = before_noise(mechanism, other, monkeypatch)
        assert same == scale
        moved = np.linalg.norm(mine - theirs, axis=1)
        assert (moved > 0).sum() <= 1
        worst = max(worst, float(moved.max()))
    assert worst <= mechanism.sensitivity
    assert worst >= diameter * (0.2 if kept < 4 else 1 - 1e-9)
    assert any(f"{6 * kept} numbers" in one for one in mechanism.guarantee.assumptions)


@pytest.mark.parametrize(("rows", "columns"), [(1, 1), (1, 5), (3, 5), (5, 5)])
def test_the_projection_has_orthonormal_rows_in_all_directions_alike(rows, columns):
    generator = np.random.default_rng(0)
    mean = np.zeros((columns, columns))
    for _ in range(300):
        drawn = orthonormal(rows, columns, generator)
        np.testing.assert_allclose(drawn @ drawn.T, np.eye(rows), atol=1e-12)
        mean += drawn.T @ drawn / 300
    np.testing.assert_allclose(mean, np.eye(columns) * rows / columns, atol=0.1)


def test_rows_come_back_by_the_pseudo_inverse(monkeypatch):
    mechanism = dpsyn.RandomProjection(dimension=2, rows=4).calibrate(SPEC, DOMAIN, 6)
    points = FeatureMap(DOMAIN).encode(table_of(ROWS))
    seen: list[np.ndarray] = []
    back = mechanism._noisy(
        points, lambda values: seen.append(values) or values, np.random.default_rng(0), lambda step, share: None
    )
    assert seen[0].shape == (4, 2)
    assert back.shape == (4, 4)
    assert np.linalg.matrix_rank(back) <= 2
    np.testing.assert_allclose(np.linalg.norm(back, axis=1), np.linalg.norm(seen[0], axis=1))
    # Each is a record without what the projection forgets: at right angles to the rest.
    for row in back:
        assert np.abs(((points - row) * row).sum(axis=1)).min() < 1e-12


def test_what_cannot_be_is_refused():
    with pytest.raises(CalibrationError, match="delta > 0"):
        dpsyn.RandomProjection().calibrate(dpsyn.PrivacySpec(1.0), DOMAIN, 6)
    with pytest.raises(ParameterError) as caught:
        dpsyn.RandomProjection().calibrate(dpsyn.PrivacySpec(1.0, 1e-5, "add_remove"), DOMAIN, 6)
    assert caught.value.field == "rows"
    made = dpsyn.RandomProjection(rows=3).calibrate(dpsyn.PrivacySpec(1.0, 1e-5, "add_remove"), DOMAIN, 6)
    assert len(made._run(NoiseSource(None), table_of(ROWS[:2]), lambda step, share: None)[0]) == 3
    one = dpsyn.Domain.of([dpsyn.Attribute("b", "truth", (0, 1), public=True)])
    assert dpsyn.RandomProjection().calibrate(SPEC, one, 6).dimension == 1


def test_that_a_column_may_come_out_almost_constant_is_said_where_dimensions_are_lost_and_is_true():
    """Two numbers on one line, which is as likely to lie in any direction: in one run of eight it is almost an axis."""
    domain = dpsyn.Domain.of(dpsyn.Attribute(name, "numeric", lower=0, upper=1, public=True) for name in "xy")
    spec = dpsyn.PrivacySpec(5.0, 1e-5)
    (said,) = dpsyn.RandomProjection().calibrate(spec, domain, 100).expected()
    assert said[0] == "caption"
    assert said[1].startswith(
        "Rows keep 1 of 2 dimensions, drawn at random: the fewer, the likelier that a column comes out"
    )
    assert dpsyn.RandomProjection(dimension=2).calibrate(spec, domain, 100).expected() == []
    assert dpsyn.RandomProjection(dimension=7).calibrate(spec, domain, 100).expected() == []  # there are no more than two
    # Of a direction (cos φ, sin φ), φ uniform, the smaller number is under 0.1 with a probability of 4·asin(0.1)/π = 0.128.
    random = np.random.default_rng(0)
    least = [np.abs(orthonormal(1, 2, random)).min() < 0.1 for _ in range(4000)]
    assert np.mean(least) == pytest.approx(0.128, abs=0.02)
