from __future__ import annotations

import numpy as np
import pytest

from dpsyn.data.samples import load_sample
from dpsyn.errors import ParameterError
from dpsyn.mechanisms.dp_cda._feature_map import class_averages
from dpsyn.mechanisms.dp_cda.figures.drawn import MIXED, NOISED, REAL, draw_rows
from dpsyn.mechanisms.dp_cda.figures.records import Records, records_of


def test_records_are_those_of_the_table(digits: Records) -> None:
    table = load_sample("digits")
    assert digits.sizes == tuple(table.frame["digit"].value_counts().sort_index())
    assert digits.classes == tuple(map(str, range(10)))
    assert (digits.n, digits.dimension, digits.sampled) == (1797, 64, False)
    assert np.linalg.norm(digits.points, axis=1).max() <= 1 + 1e-12
    assert digits.mixable(175) == [0, 1, 2, 3, 4, 5, 6, 7, 9]


def test_a_sample_of_the_rows_keeps_the_class_sizes() -> None:
    table = load_sample("asia")
    few = records_of(table, "dysp", most=500)
    assert few.sampled
    assert len(few.points) == len(few.labels) == 500
    assert sum(few.sizes) == 20_000
    again = records_of(table, "dysp", most=500)
    assert (few.points == again.points).all()


@pytest.mark.parametrize("radius", [1.0, 0.8])
@pytest.mark.parametrize("order", [1, 5, 60])
def test_signal_is_what_averages_have(car: Records, order: int, radius: float) -> None:
    found = car.signal(order, radius)
    generator = np.random.default_rng(3)
    points = car.clipped(radius)
    averages = [class_averages(points[car.labels == k], order, 4000, generator) for k in range(4)]
    means = np.array([rows.mean(axis=0) for rows in averages])
    within = np.mean([((rows - mean) ** 2).sum(axis=1).mean() for rows, mean in zip(averages, means, strict=True)])
    between = ((means - means.mean(axis=0)) ** 2).sum(axis=1).mean()
    assert found.within == pytest.approx(within, rel=0.05)
    assert found.between == pytest.approx(between, rel=0.05)
    assert found.to_noise(0.1) == pytest.approx((found.between + found.within) / (car.dimension * 0.01))


def test_signal_of_poisson_sums(car: Records) -> None:
    found = car.signal(10, 0.9, variant="poisson")
    generator = np.random.default_rng(4)
    points, within = car.clipped(0.9), []
    for k in range(4):
        members = points[car.labels == k]
        taken = (generator.random((4000, len(members))) < 10 / len(members)).astype(float)
        within.append(((taken @ members / 10 - members.mean(axis=0)) ** 2).sum(axis=1).mean())
    assert found.within == pytest.approx(np.mean(within), rel=0.05)
    assert found.between == car.signal(10, 0.9).between


def test_a_drawn_poisson_sum_has_about_l_records(digits: Records) -> None:
    rows = draw_rows(digits, order_of_mixture=20, sigma=0.0, radius=1.0, seed=5, count=400, classes=[3], variant="poisson")
    fixed = draw_rows(digits, order_of_mixture=20, sigma=0.0, radius=1.0, seed=5, count=400, classes=[3])
    assert rows.mixed.mean(axis=(0, 1)) == pytest.approx(fixed.mixed.mean(axis=(0, 1)), abs=0.01)
    lengths = np.linalg.norm(rows.mixed[0], axis=1)
    expected = digits.signal(20, 1.0, [3], "poisson").within
    spread = ((rows.mixed[0] - digits.moments(1.0).means[3]) ** 2).sum(axis=1).mean()
    assert spread == pytest.approx(expected, rel=0.25)
    assert lengths.std() > 2 * np.linalg.norm(fixed.mixed[0], axis=1).std()


def test_averages_of_a_whole_class_have_no_variety(digits: Records) -> None:
    assert digits.signal(174, 1.0, [8]).within == pytest.approx(0.0, abs=1e-15)
    assert digits.signal(10_000, 1.0).total == 0.0


def test_draws_are_frozen_by_their_seed(digits: Records) -> None:
    def drawn(order: int, sigma: float, seed: int):  # type: ignore[no-untyped-def]
        return draw_rows(digits, order_of_mixture=order, sigma=sigma, radius=1.0, seed=seed, count=3, classes=[2, 7])

    quiet, loud = drawn(4, 0.1, 1), drawn(4, 0.2, 1)
    assert quiet.classes == (2, 7)
    assert quiet.stage(REAL).shape == (2, 3, 64)
    assert (quiet.stage(MIXED) == loud.stage(MIXED)).all()
    assert (loud.noised - loud.mixed) == pytest.approx(2 * (quiet.stage(NOISED) - quiet.mixed))
    assert (drawn(9, 0.1, 1).real == quiet.real).all()
    assert (drawn(4, 0.1, 2).real != quiet.real).any()


def test_a_drawn_average_holds_the_record_shown_and_others_of_its_class(digits: Records) -> None:
    one = draw_rows(digits, order_of_mixture=1, sigma=0.0, radius=1.0, seed=5)
    assert (one.mixed == one.real).all()
    whole = draw_rows(digits, order_of_mixture=174, sigma=0.0, radius=1.0, seed=5, classes=[8])
    assert whole.noised[0, 0] == pytest.approx(digits.moments(1.0).means[8])
    two = draw_rows(digits, order_of_mixture=2, sigma=0.0, radius=1.0, seed=5, classes=[3])
    other = 2 * two.mixed[0, 0] - two.real[0, 0]
    members = digits.points[digits.labels == 3]
    assert np.abs(members - other).max(axis=1).min() < 1e-12


def test_noise_has_the_deviation_it_says(digits: Records) -> None:
    rows = draw_rows(digits, order_of_mixture=4, sigma=0.3, radius=1.0, seed=8, count=100)
    measured = float((rows.noised - rows.mixed).std())
    assert abs(measured / 0.3 - 1) < 5 / np.sqrt(2 * rows.mixed.size)


@pytest.mark.parametrize(("target", "words"), [("nobody", "one of the columns"), ("mean radius", "numeric")])
def test_a_target_that_is_no_class_is_refused(target: str, words: str) -> None:
    with pytest.raises(ParameterError, match=words):
        records_of(load_sample("breast_cancer"), target)


def test_a_class_alone_has_nothing_to_mix() -> None:
    with pytest.raises(ParameterError, match="there are none"):
        records_of(load_sample("car").project(["class"]), "class")
