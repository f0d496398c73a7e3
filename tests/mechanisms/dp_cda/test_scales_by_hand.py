"""Scales, sizes, shares and noise of DP-CDA against numbers that are worked out here."""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd
import pytest

import dpsyn
from dpsyn.domain import Attribute, Domain
from dpsyn.errors import FailureError, InputError
from dpsyn.mechanisms.base import no_progress
from dpsyn.mechanisms.dp_cda import _mechanism
from dpsyn.mechanisms.dp_cda._budget import Budget, StandardRelease
from dpsyn.mechanisms.dp_cda._checks import count_margin
from dpsyn.mechanisms.dp_cda.accounting.functions import dp_cda_epsilon
from dpsyn.privacy.mixing.averaging import averages_in_blocks, gaussian_noise, grid_step
from dpsyn.privacy.mixing.exact import calibrate_sigma
from dpsyn.privacy.mixing.pairs import Part
from dpsyn.privacy.mixing.pld import gaussian_epsilon
from dpsyn.privacy.noise import NoiseSource

DOMAIN = Domain.of(
    [
        *[Attribute(f"x{j}", "numeric", lower=-1.0, upper=1.0, public=True) for j in range(4)],
        Attribute("y", "categorical", ("a", "b", "c"), public=True),
    ]
)
SPEC = dpsyn.PrivacySpec(2.0, 1e-5)


class Answering(NoiseSource):
    """Takes the noise away and gives the counts that it is told to give."""

    def __init__(self, counts: list[int]) -> None:
        super().__init__(np.random.default_rng(0))
        self.counts = counts

    def discrete_laplace(self, values: np.ndarray, scale: float) -> np.ndarray:
        return np.array(self.counts)


def test_a_class_is_kept_from_one_record_more_than_the_order_on() -> None:
    config = dpsyn.DPCDA(target="y", order_of_mixture=5, rows={"a": 2, "b": 2, "c": 0})
    mechanism = config.calibrate(SPEC, DOMAIN, 300)
    margin = mechanism.budget.count_margin
    truth = np.array([100, 100, 100])
    assert mechanism._sizes(Answering([5 + margin, 6 + margin, 500]), truth) == [None, 6, None]
    assert mechanism._sizes(Answering([77 + margin, 6 + margin, 500]), truth) == [77, 6, None]
    for counts, advice in (([5, 4, 900], "order_of_mixture = 4 would do"), ([1, 0, 900], "known to hold more than 5")):
        with pytest.raises(FailureError, match=advice):
            mechanism._sizes(Answering([count + margin for count in counts]), truth)


@pytest.mark.parametrize("variant", ["fixed_size", "poisson"])
@pytest.mark.parametrize("neighbouring", ["replace_one", "add_remove"])
@pytest.mark.parametrize(("scaling", "clip_norm"), [("public", 0.7), ("public", 3.0), ("private", 3.0)])
def test_sigma_is_that_of_the_classes_made_with_the_allowances(
    scaling: Any, clip_norm: float, neighbouring: Any, variant: Any
) -> None:
    config = dpsyn.DPCDA(
        target="y", order_of_mixture=8, rows={"a": 2, "b": 3, "c": 0}, clip_norm=clip_norm, variant=variant,
        scaling=scaling, class_sizes={"a": 30, "b": 60, "c": 0},
    )  # fmt: skip
    mechanism = config.calibrate(dpsyn.PrivacySpec(2.0, 1e-5, neighbouring), DOMAIN, 100)
    radius = clip_norm if scaling == "private" else min(clip_norm, 1.0)
    beside = () if scaling == "public" else (Part("remove", 1.0, 1, mechanism.budget.standard.multiplier),)
    sigma = calibrate_sigma(
        epsilon=2.0, delta=1e-5, order_of_mixture=8, clip_norm=radius, class_sizes=[30, 60], rows=[2, 3],
        neighbouring=neighbouring, variant=variant, beside=beside,
    )  # fmt: skip
    multiplier = sigma / ((1 if variant == "poisson" else 2) * radius / 8)
    summed = 64 * 8 + 1024 if variant == "poisson" else 8
    allowance = (1 + 2.0**-30 + summed**2 * 2.0**-52) * (1 + multiplier * 2.0**-39 * math.sqrt(4))
    assert mechanism.noise_scale_for((30, 60, None)) == sigma * allowance
    assert mechanism.calibrated()["noise_scale"] == sigma * allowance


def test_classes_that_are_dropped_need_no_noise_and_those_without_rows_no_size() -> None:
    config = dpsyn.DPCDA(target="y", order_of_mixture=4, rows={"a": 20, "b": 30, "c": 0})
    mechanism = config.calibrate(SPEC, DOMAIN, 300)
    alone = dpsyn.DPCDA(target="y", order_of_mixture=4, rows={"a": 20, "b": 0, "c": 0}).calibrate(SPEC, DOMAIN, 300)
    assert mechanism.noise_scale_for((60, None, None)) == alone.noise_scale_for((60, None, None))
    assert mechanism.noise_scale_for((60, 50, None)) > alone.noise_scale_for((60, None, None))
    public = replace(config, class_sizes={"a": 60, "b": 50, "c": 90}).calibrate(SPEC, DOMAIN, 300)
    truth = np.array([60, 50, 90])
    assert public._sizes(Answering([]), truth) == [60, 50, None]
    assert public._sizes(Answering([]), truth - [0, 0, 1]) == [60, 50, None]
    for short in ([1, 0, 0], [0, 1, 0]):
        with pytest.raises(InputError, match="declared to hold at least"):
            public._sizes(Answering([]), truth - short)
    poisson = replace(config, class_sizes={"a": 60, "b": 50, "c": 90}, variant="poisson").calibrate(SPEC, DOMAIN, 300)
    assert poisson._sizes(Answering([]), truth - 40) == [60, 50, None]


def test_rows_follow_from_the_noisy_counts_of_the_classes_that_are_kept() -> None:
    counted = dpsyn.DPCDA(target="y", rows=30).calibrate(SPEC, DOMAIN, 300)
    margin = counted.budget.count_margin
    assert margin > 0
    for sizes in ((100, None, 50), (None, 40, None), (7, 80, 300)):
        rows = counted.rows_for(sizes)
        kept = [size + margin if size else 0 for size in sizes]
        assert sum(rows) == 30
        assert list(rows) == pytest.approx([30 * count / sum(kept) for count in kept], abs=1)
        assert [made > 0 for made in rows] == [size is not None for size in sizes]


@pytest.mark.parametrize("variant", ["fixed_size", "poisson"])
@pytest.mark.parametrize("neighbouring", ["replace_one", "add_remove"])
def test_the_epsilon_of_averages_is_that_of_their_rows(neighbouring: Any, variant: Any) -> None:
    config = dpsyn.DPCDA(
        target="y", order_of_mixture=8, rows={"a": 2, "b": 3, "c": 4}, clip_norm=0.7, variant=variant, class_sizes=30
    )
    mechanism = config.calibrate(dpsyn.PrivacySpec(2.0, 1e-5, neighbouring), DOMAIN, 100)
    found = mechanism.epsilon_of_averages((30, 30, 40), 0.3, 1e-6)
    shared = {"neighbouring": neighbouring, "variant": variant}
    assert found == dp_cda_epsilon(0.3, 1e-6, 8, 0.7, [30, 30, 40], [2, 3, 4], **shared)  # type: ignore[arg-type]


def test_every_block_of_averages_has_its_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    """Made-up blocks of two and three rows, which say from which class and block they are."""
    config = dpsyn.DPCDA(target="y", order_of_mixture=4, rows={"a": 5, "b": 0, "c": 5}, class_sizes=50)
    mechanism = config.calibrate(SPEC, DOMAIN, 300)
    points = np.repeat([[1.0], [2.0], [3.0]], 50, axis=0) * np.ones(4)
    asked = []

    def blocks(members: Any, order: int, count: int, *_: Any, **options: Any) -> Any:
        asked.append((len(members), order, count, options))
        return [(0, members[:2] * 10 + 1), (2, members[:3] * 10 + 2)]

    monkeypatch.setattr(_mechanism, "averages_in_blocks", blocks)
    noise = NoiseSource(np.random.default_rng(0))
    labels = np.repeat([0, 1, 2], 50)
    mixed, drawn = mechanism._mix(noise, points, labels, (50, None, 50), 0.1, no_progress)
    assert asked == [(50, 4, 5, {"variant": "fixed_size", "rate": 0.08})] * 2
    for label, here in ((0, 1.0), (2, 3.0)):
        made = sorted((mixed[drawn == label] / mechanism.features.length).tolist())
        np.testing.assert_allclose(made, [[here * 10 + 1] * 4] * 2 + [[here * 10 + 2] * 4] * 3, rtol=1e-14)
    assert len(mixed) == 10


def test_noise_is_never_so_small_that_its_grid_overflows() -> None:
    config = dpsyn.DPCDA(target="y", order_of_mixture=10, rows=3, clip_norm=0.5, class_sizes=10)
    mechanism = config.calibrate(dpsyn.PrivacySpec(1e14, 0.5), DOMAIN, 30)
    assert mechanism.noise_scale_for((10,) * 3) == 2.0**-20 * 0.5


@pytest.mark.parametrize(("neighbouring", "moved"), [("replace_one", 2), ("add_remove", 1)])
@pytest.mark.parametrize("variant", ["fixed_size", "poisson"])
def test_shares_of_the_budget_by_hand(variant: Any, neighbouring: Any, moved: int) -> None:
    config = dpsyn.DPCDA(target="y", count_share=0.2, variant=variant, scaling="private", scaling_share=0.3, rows=3)
    spec = dpsyn.PrivacySpec(5.0, 1e-5, neighbouring)
    budget = Budget.split(config, spec, 4, 3, counted=True)
    beta = 0.0 if variant == "poisson" else 1e-6
    assert budget.counted
    assert (budget.epsilon_for_counts, budget.epsilon) == (1.0, 4.0)
    assert (budget.overstated_probability, budget.delta) == pytest.approx((beta, 1e-5 - beta), rel=1e-15)
    assert budget.count_noise_scale == pytest.approx(moved, rel=1e-11)
    assert budget.count_noise_scale >= moved  # whose noise costs no last bit more than its share
    assert budget.count_margin == (count_margin(moved, 3, 1e-6) if beta else 0)
    assert budget.standard is not None
    alone = gaussian_epsilon(1 / budget.standard.multiplier, 1e-5 - beta)
    assert 1.2 * (1 - 1e-5) < alone <= 1.2
    l2 = 2 * math.sqrt(4) if neighbouring == "replace_one" else math.sqrt(2 * 4 + 1)
    z = budget.standard.multiplier
    assert budget.standard.noise_scale == pytest.approx(z * l2 * (1 + 2.0**-30) * (1 + 3 * z * 2.0**-39), rel=1e-15)
    entries = budget.ledger(spec, {"epsilon": 3.5, "scale": 0.1})
    assert [entry["name"] for entry in entries] == ["class counts", "means and deviations", "averages"]
    assert [entry["share"] for entry in entries] == pytest.approx([0.2, alone / 5, 0.8 - alone / 5], rel=1e-12)
    assert [entry["epsilon"] for entry in entries] == pytest.approx([1.0, alone, 3.5])
    assert [entry["delta"] for entry in entries] == pytest.approx([beta, 1e-5 - beta, 1e-5 - beta], rel=1e-15)
    public = Budget.split(config, spec, 0, 3, counted=False)
    assert not public.counted
    assert public == Budget(0.0, 0.0, 5.0, 1e-5, 0.0, 0, None)


@pytest.mark.parametrize(("scale", "classes", "failure"), [(2.0, 3, 1e-6), (10.0, 1, 1e-9), (0.1, 50, 0.3), (1.0, 2, 0.5)])
def test_the_margin_by_summing_the_tail(scale: float, classes: int, failure: float) -> None:
    ratio = math.exp(-1 / scale)

    def overstated(margin: int) -> float:
        return classes * sum((1 - ratio) / (1 + ratio) * ratio**z for z in range(margin + 1, margin + 2000))

    margin = count_margin(scale, classes, failure)
    assert overstated(margin) <= failure * (1 + 1e-9)
    assert margin == 0 or overstated(margin - 1) > failure


@pytest.mark.parametrize("multiplier", [0.05, 1e-12])
@pytest.mark.parametrize("replaced", [True, False])
def test_means_and_deviations_come_from_the_noisy_sums_alone(replaced: bool, multiplier: float) -> None:
    """Against the formula, with noise that is fixed: n, the centre, and a spread that has a floor."""
    fixed = np.array([2.0, -30.0, 5.0, 0.0, 14.0, 30.0, 11.0, 9.0, 45.0])

    class Fixed(NoiseSource):
        def gaussian(self, values: np.ndarray, scale: float) -> np.ndarray:
            handed.append((values.copy(), scale))
            return fixed[: values.size]

    handed: list[tuple[np.ndarray, float]] = []
    release = StandardRelease(4, multiplier, "replace_one" if replaced else "add_remove")
    codes = np.random.default_rng(1).uniform(-1, 1, (20, 4))
    frame = {f"x{j}": codes[:, j] for j in range(4)} | {"y": ["a"] * 20}
    table = dpsyn.read_table(pd.DataFrame(frame), domain=DOMAIN)
    features = dpsyn.DPCDA(target="y", class_sizes=4).calibrate(SPEC, DOMAIN, 20).features
    found = release.run(Fixed(np.random.default_rng(0)), features, table)
    ((values, scale),) = handed
    # Numbers are rounded to steps of 2^-14, so that their sums are exact.
    whole = [[Fraction(round(x * 2**14), 2**14) for x in column] for column in codes.T]
    sums = [*map(sum, whole), *(sum(x * x for x in column) for column in whole), *([] if replaced else [20])]
    assert [Fraction(value) for value in values] == sums
    assert scale == release.noise_scale
    n = 20 if replaced else 45
    centre = np.clip(fixed[:4] / n, -1, 1)
    variance = np.clip(fixed[4:8] / n, 0, 1) - centre**2
    np.testing.assert_allclose(found.centre, centre, rtol=1e-14)
    lowest = max(1e-6, min(2 * scale / n, 1.0))
    np.testing.assert_allclose(found.spread, np.sqrt(np.clip(variance, lowest, 1.0)), rtol=1e-14)


def test_noise_on_sums_covers_the_grid_that_they_are_rounded_to() -> None:
    """Two points on a grid of 2^-40 deviations, in nine dimensions, are further apart by three steps of it at most."""
    for multiplier in (1.0, 1e6):
        release = StandardRelease(4, multiplier, "add_remove")
        further = 3 * 2.0**-40 * release.noise_scale
        assert release.noise_scale > multiplier * (release.sensitivity + further)
        assert release.noise_scale < multiplier * release.sensitivity * 1.0001


def test_noise_is_fresh_in_every_number_of_every_block() -> None:
    sigma = 0.3
    values = np.random.default_rng(0).uniform(-1, 1, (50, 7))
    drawn = np.random.default_rng(5).standard_normal((50, 7))
    np.testing.assert_array_equal(gaussian_noise(sigma, np.random.default_rng(5))(values), sigma * drawn + values)
    on_grid = gaussian_noise(sigma, np.random.default_rng(5), on_grid=True)(values)
    step = grid_step(sigma)
    assert sigma / 128 < step <= sigma / 64
    assert math.frexp(step)[0] == 0.5
    np.testing.assert_array_equal(on_grid, np.rint((sigma * drawn + values) / step) * step)
    for variant in ("fixed_size", "poisson"):
        add = gaussian_noise(sigma, np.random.default_rng(6))
        # A block holds 2^18 numbers: here there are two of them.
        blocks = list(averages_in_blocks(np.zeros((3, 2**10)), 2, 300, add, np.random.default_rng(7), variant=variant))
        assert [start for start, _ in blocks] == [0, 256]
        found = np.concatenate([block for _, block in blocks])
        np.testing.assert_array_equal(found, sigma * np.random.default_rng(6).standard_normal((300, 2**10)))


def test_floating_point_counts_against_delta_where_averages_are_many_sigma():
    """2⁻⁴² + 2⁻⁴⁵·(c/σ) for each number: of 100 numbers 2.3e-11 by noise alone, 2.7e-8 at averages of 9,656 σ."""
    domain = dpsyn.Domain.of(
        [dpsyn.Attribute("c", "truth", (False, True), public=True), dpsyn.Attribute("x", "numeric", lower=0, upper=1)]
    )
    config = dpsyn.DPCDA("c", order_of_mixture=10_000, rows=100, class_sizes=10**6)
    mechanism = config.calibrate(dpsyn.PrivacySpec(10.0, 1e-9), domain, 2 * 10**6)
    assert mechanism.guarantee.status == "real_arithmetic"
    assert [said.startswith("NOT YET TRUE") for said in mechanism.guarantee.assumptions].count(True) == 1
    assert any("2.8e-08" in said or "2.7e-08" in said for said in mechanism.guarantee.assumptions)
    exact = replace(config, noise_sampler="exact").calibrate(dpsyn.PrivacySpec(10.0, 1e-9), domain.confirmed(), 2 * 10**6)
    assert exact.guarantee.status == "proven"


@pytest.mark.parametrize("numbers", [1, 2, 12, 13, 21, 60, 300])
@pytest.mark.parametrize("neighbouring", ["replace_one", "add_remove"])
def test_means_and_deviations_of_all_numbers_are_paid_for(numbers: int, neighbouring: Any) -> None:
    """A record at all upper bounds, which takes the place of one at the lower ones or comes on top."""
    up = np.concatenate([np.ones(numbers), np.ones(numbers)])
    down = np.concatenate([-np.ones(numbers), np.ones(numbers)])
    moved = np.linalg.norm(up - down) if neighbouring == "replace_one" else np.linalg.norm([*up, 1])
    release = StandardRelease(numbers, 3.0, neighbouring)
    assert release.sensitivity == pytest.approx(float(moved), rel=1e-12)
    assert release.noise_scale >= 3.0 * release.sensitivity
