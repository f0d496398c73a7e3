"""Bounds and norms that arithmetic cannot carry are refused by every mechanism, so that no record passes unclipped."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

import dpsyn
from dpsyn.domain import Attribute, Domain
from dpsyn.errors import DomainError, ParameterError, TooLargeError
from dpsyn.mechanisms.base import Config
from dpsyn.mechanisms.feature_map import FeatureMap, clip_to_ball
from dpsyn.mechanisms.registry import config_class
from dpsyn.privacy import dp_cda_epsilon
from dpsyn.table import Table

SPEC = dpsyn.PrivacySpec(1000.0, 1e-5)
SMALL = {"rows": 20}
CONFIGS = {
    "dp_cda": dpsyn.DPCDA("k", **SMALL),
    "published": dpsyn.DPCDA.as_published("k", rows=20, order_of_mixture=2),
    "noisy_reweighting": dpsyn.NoisyReweighting(**SMALL),
    "private_sampling": dpsyn.PrivateSampling(**SMALL),
    "mwem": dpsyn.MWEM(rounds=3, **SMALL),
}
each = pytest.mark.parametrize("config", CONFIGS.values(), ids=CONFIGS)


def domain(lower: float, upper: float) -> Domain:
    number = Attribute("x", "numeric", lower=lower, upper=upper, bins=1, public=True)
    return Domain.of([number, Attribute("k", "truth", (False, True), public=True)])


def table(lower: float, upper: float, cells: list[float]) -> Table:
    frame = pd.DataFrame({"x": cells * 20, "k": np.arange(20 * len(cells)) % 2 == 0})
    return Table(frame, domain(lower, upper))


@each
@pytest.mark.parametrize("bounds", [(0.0, 5e-324), (-5e-324, 0.0), (0.0, 1e-300), (1e-300, 3e-300), (1e-287, 1.001e-287)])
def test_bounds_that_cannot_be_scaled_by_are_refused_before_there_are_rows(config: Config, bounds: tuple[float, float]):
    with pytest.raises(DomainError, match="closer together") as caught:
        config.calibrate(SPEC, domain(*bounds), n=100)
    assert caught.value.column == "x"


@each
@pytest.mark.parametrize("bounds", [(0.0, 1e-280), (1e16, 1e16 + 4), (-8e307, 8e307), (1.0, 1.0 + 2.0**-51)])
@pytest.mark.parametrize("beyond", [1.0, 1e6])
def test_narrow_and_wide_bounds_give_numbers_inside_them(config: Config, bounds: tuple[float, float], beyond: float):
    low, high = bounds
    far = min(high * beyond, 1.7e308)
    data = table(low, high, [low, high, low / 2 + high / 2, -far, far])
    rows = config.calibrate(SPEC, data.domain, n=data.n)(np.random.default_rng(1), data).rows
    assert rows["x"].between(low, high).all()


@pytest.mark.parametrize("bounds", [(0.0, 1e-280), (1e16, 1e16 + 4), (-8e307, 8e307), (0.0, 1.0)])
def test_every_record_is_a_point_of_the_unit_ball(bounds: tuple[float, float]):
    low, high = bounds
    points = FeatureMap(domain(low, high)).encode(table(low, high, [low, high, -1.7e308, 1.7e308, 0.0]))
    assert np.isfinite(points).all()
    assert np.linalg.norm(points, axis=1).max() <= 1 + 1e-12


@pytest.mark.parametrize("clip_norm", [1e-200, 5e-324, 1e-101, 1e101, 1e200])
def test_norms_whose_squares_underflow_or_overflow_are_refused(clip_norm: float):
    for make in (lambda: dpsyn.DPCDA("k", clip_norm=clip_norm), lambda: dpsyn.DPCDA.as_published("k", clip_norm=clip_norm)):
        with pytest.raises(ParameterError) as caught:
            make()
        assert caught.value.field == "clip_norm"
    with pytest.raises(ParameterError) as caught:
        dp_cda_epsilon(1.0, 1e-5, 4, clip_norm, 100, 10)
    assert caught.value.field == "clip"


@pytest.mark.parametrize("radius", [1e-200, 1e-165, 1e-100, 1.0, 1e100])
@pytest.mark.parametrize("length", [1.5, 1e3, 1e80])
def test_no_record_passes_unclipped(radius: float, length: float):
    points = np.array([[3.0, 4.0], [0.0, -5.0]]) / 5 * radius * length
    clipped, shortened = clip_to_ball(points, radius)
    np.testing.assert_allclose(np.hypot(*clipped.T), radius, rtol=1e-12)
    assert shortened == 1.0


def test_the_smallest_clip_norm_still_hides_a_record():
    # Averages of clipped records are at most c long, whatever the record was: the noise is made for that.
    config = dpsyn.DPCDA("k", rows=20, clip_norm=1e-100, class_sizes=10, noise_sampler="exact")
    data = table(0.0, 1.0, [0.0, 1.0, 0.5])
    mechanism = config.calibrate(replace(SPEC, epsilon=1.0), data.domain, n=data.n)
    points = mechanism.features.encode(data)
    clipped, _ = clip_to_ball(points, mechanism.radius)
    assert np.hypot.reduce(clipped, axis=1).max() <= 1e-100 * (1 + 1e-12)
    assert mechanism.noise_scale_for(mechanism.public_sizes) > 0
    assert np.isfinite(mechanism(None, data).rows["x"]).all()


@pytest.mark.parametrize("columns", [600, 3_000])
@pytest.mark.parametrize("name", ["private_sampling", "noisy_reweighting", "independent"])
def test_a_degree_beyond_any_memory_is_refused_without_counting_what_it_asks_for(name: str, columns: int):
    wide = Domain.of(Attribute(f"c{j}", "truth", (False, True), public=True) for j in range(columns))
    with pytest.raises(TooLargeError, match=f"degree = {columns // 2} is not possible: at most 64"):
        config_class(name)(degree=columns // 2, rows=1).calibrate(SPEC, wide, 1_000)
