"""DP-Mix: what a neighbour moves, the noise for that by DP-CDA's accountant, and what is refused."""

from __future__ import annotations

from dataclasses import fields

import numpy as np
import pytest

import dpsyn
from dpsyn.errors import CalibrationError, InputError, ParameterError
from dpsyn.mechanisms.base import no_progress
from dpsyn.mechanisms.feature_map import FeatureMap
from dpsyn.privacy import dp_cda_epsilon
from dpsyn.privacy.mixing.averaging import allowance
from dpsyn.privacy.mixing.exact import calibrate_sigma
from dpsyn.privacy.noise import NoiseSource
from tests.mechanisms.points_by_hand import DOMAIN, EVERY, ROWS, before_noise, replaced, table_of

SPEC = dpsyn.PrivacySpec(3.0, 1e-4)


def test_a_neighbour_moves_the_averages_that_hold_the_record_and_no_further_than_the_diameter_over_l(monkeypatch):
    mechanism = dpsyn.DPMix(order_of_mixture=2, rows=40).calibrate(SPEC, DOMAIN, len(ROWS))
    mine, scale = before_noise(mechanism, ROWS, monkeypatch)
    assert mine.shape == (40, 4)
    assert scale == mechanism.noise_scale
    points = FeatureMap(DOMAIN).encode(table_of(ROWS))
    pairs = {tuple(np.round((points[i] + points[j]) / 2, 9)) for i in range(6) for j in range(i)}
    assert {tuple(row) for row in np.round(mine, 9)} <= pairs
    worst, held = 0.0, []
    for _, rows in replaced():
        theirs, same = before_noise(mechanism, rows, monkeypatch)
        assert same == scale
        moved = np.linalg.norm(mine - theirs, axis=1)
        worst = max(worst, float(moved.max()))
        held.append(int((moved > 0).sum()))
    assert worst == pytest.approx(mechanism.sensitivity)
    # Two of six records: a record is in a third of the rows.
    assert 3 <= max(held) <= 25


def test_the_diameter_is_the_largest_distance_of_two_points():
    points = FeatureMap(DOMAIN).encode(table_of(EVERY))
    apart = np.linalg.norm(points[:, None] - points[None], axis=2)
    assert FeatureMap(DOMAIN).diameter == pytest.approx(apart.max())
    assert dpsyn.DPMix(order_of_mixture=3).calibrate(SPEC, DOMAIN, 6).sensitivity == pytest.approx(apart.max() / 3)
    single = dpsyn.Domain.of([dpsyn.Attribute("a", "categorical", ("x",), public=True)])
    assert FeatureMap(single).diameter == 1.0


@pytest.mark.parametrize("neighbouring", ["replace_one", "add_remove"])
@pytest.mark.parametrize(("order", "size", "rows"), [(1, 100, 50), (4, 300, 300), (16, 40, 7)])
def test_all_rows_together_cost_what_was_asked_for(neighbouring, order, size, rows):
    spec = dpsyn.PrivacySpec(1.5, 1e-5, neighbouring)
    mechanism = dpsyn.DPMix(order_of_mixture=order, rows=rows, size=size).calibrate(spec, DOMAIN, size)
    half = FeatureMap(DOMAIN).diameter / 2

    def epsilon(scale: float) -> float:
        return dp_cda_epsilon(scale, 1e-5, order, half, [size], [rows], neighbouring=neighbouring)

    assert 0.98 * 1.5 < epsilon(mechanism.noise_scale) <= 1.5
    assert epsilon(mechanism.noise_scale / 1.3) > 1.6
    bare = calibrate_sigma(
        epsilon=1.5,
        delta=1e-5,
        order_of_mixture=order,
        clip_norm=half,
        class_sizes=[size],
        rows=[rows],
        neighbouring=neighbouring,
    )
    more = allowance(bare / mechanism.sensitivity, order, 4)
    assert mechanism.noise_scale == pytest.approx(bare * more, rel=1e-14)
    assert more > 1 + 1e-10
    assert mechanism.calibrated()["sampling_rate"] == order / size
    assert mechanism.guarantee.epsilon == 1.5
    assert any(f"{4 * rows:,} numbers" in one for one in mechanism.guarantee.assumptions)


def test_every_number_gets_noise_of_the_stated_scale():
    mechanism = dpsyn.DPMix(order_of_mixture=2, rows=4000).calibrate(SPEC, DOMAIN, len(ROWS))
    kept = {}

    class Watched(type(mechanism)):
        def _noisy(self, points, add_noise, generator, progress):
            kept["zero"] = add_noise(np.zeros((4000, 4)))
            return super()._noisy(points, add_noise, generator, progress)

    watched = Watched(*(getattr(mechanism, name) for name in (field.name for field in fields(mechanism))))
    for seed in (None, 1):
        watched._run(NoiseSource(None if seed is None else np.random.default_rng(seed)), table_of(ROWS), no_progress)
        assert kept["zero"].std(axis=0) == pytest.approx(mechanism.noise_scale, rel=0.08)
    # Without a seed low bits are kept back.
    watched._run(NoiseSource(None), table_of(ROWS), no_progress)
    steps = kept["zero"] / 2.0 ** np.floor(np.log2(mechanism.noise_scale / 64))
    assert (steps == np.rint(steps)).all()


def test_what_cannot_be_is_refused_with_the_field():
    secret = dpsyn.PrivacySpec(1.0, 1e-5, "add_remove")
    for config, spec, field in (
        (dpsyn.DPMix(), secret, "rows"),
        (dpsyn.DPMix(rows=5), secret, "size"),
        (dpsyn.DPMix(size=7), SPEC, "size"),
        (dpsyn.DPMix(order_of_mixture=7), SPEC, "order_of_mixture"),
        (dpsyn.DPMix(order_of_mixture=4, size=3), SPEC, "order_of_mixture"),
    ):
        with pytest.raises(ParameterError) as caught:
            config.calibrate(spec, DOMAIN, 6)
        assert caught.value.field == field
    with pytest.raises(CalibrationError, match="delta > 0"):
        dpsyn.DPMix().calibrate(dpsyn.PrivacySpec(1.0), DOMAIN, 6)
    mechanism = dpsyn.DPMix(rows=3, size=8).calibrate(secret, DOMAIN, 6)
    with pytest.raises(InputError, match="at least 8"):
        mechanism(np.random.default_rng(0), table_of(ROWS))
    for made, stated in ((mechanism, True), (dpsyn.DPMix().calibrate(SPEC, DOMAIN, 6), False)):
        assert any("as was stated" in one for one in made.guarantee.assumptions) is stated
    assert "n" not in mechanism.facts()


def test_labels_are_mixed_with_the_rest_and_the_claim_is_shown():
    from dpsyn.mechanisms.dp_mix.formulas import claim

    mechanism = dpsyn.DPMix(order_of_mixture=6, rows=9).calibrate(dpsyn.PrivacySpec(1e6, 1e-5), DOMAIN, 6)
    rows = mechanism(np.random.default_rng(0), table_of(ROWS)).rows
    # All six records in every row: the nearest vertex to their average.
    assert set(rows["a"]) == {"x"}
    row, claimed = claim(mechanism.guarantee, mechanism.facts())
    assert row.filled
    assert r"1\,000\,000" in claimed.filled
