from __future__ import annotations

import numpy as np
import pytest

import dpsyn
from dpsyn.data.samples import load_sample
from dpsyn.errors import ParameterError
from dpsyn.mechanisms.dp_cda.accounting.functions import Variant, dp_cda_noise_scale
from dpsyn.mechanisms.dp_cda.figures.noise import clipping_of
from dpsyn.mechanisms.dp_cda.inside import Drawn, Inside, Records
from dpsyn.privacy.mixing.averaging import class_averages


def at(records: Records, order: int = 4, radius: float = 1.0, variant: Variant = "fixed_size") -> Inside:
    return Inside(records, 10.0, 1e-5, order, 1790, radius, variant)


def test_records_are_those_of_the_table(digits: Records) -> None:
    table = load_sample("digits")
    assert digits.sizes == tuple(table.frame["digit"].value_counts().sort_index())
    assert digits.classes == tuple(map(str, range(10)))
    assert (len(digits.points), digits.dimension) == (1797, 64)
    assert np.linalg.norm(digits.points, axis=1).max() <= 1 + 1e-12
    assert digits.mixable(175) == [0, 1, 2, 3, 4, 5, 6, 7, 9]


def test_a_sample_of_the_rows_keeps_the_class_sizes() -> None:
    table = load_sample("asia")
    few = Records(table, "dysp", most=500)
    assert len(few.points) == len(few.labels) == 500
    assert sum(few.sizes) == 20_000
    again = Records(table, "dysp", most=500)
    assert (few.points == again.points).all()


@pytest.mark.parametrize("radius", [1.0, 0.8])
@pytest.mark.parametrize("order", [1, 5, 60])
def test_signal_is_what_averages_have(car: Records, order: int, radius: float) -> None:
    inside = at(car, order, radius)
    found = inside.signal()
    generator = np.random.default_rng(3)
    points = inside.clipped
    averages = [class_averages(points[car.labels == k], order, 4000, generator) for k in range(4)]
    means = np.array([rows.mean(axis=0) for rows in averages])
    within = np.mean([((rows - mean) ** 2).sum(axis=1).mean() for rows, mean in zip(averages, means, strict=True)])
    between = ((means - means.mean(axis=0)) ** 2).sum(axis=1).mean()
    assert found.within == pytest.approx(within, rel=0.05)
    assert found.between == pytest.approx(between, rel=0.05)
    assert found.to_noise(0.1) == pytest.approx((found.between + found.within) / (car.dimension * 0.01))


def test_signal_of_poisson_sums(car: Records) -> None:
    inside = at(car, 10, 0.9, "poisson")
    found = inside.signal()
    generator = np.random.default_rng(4)
    points, within = inside.clipped, []
    for k in range(4):
        members = points[car.labels == k]
        taken = (generator.random((4000, len(members))) < 10 / len(members)).astype(float)
        within.append(((taken @ members / 10 - members.mean(axis=0)) ** 2).sum(axis=1).mean())
    assert found.within == pytest.approx(np.mean(within), rel=0.05)
    assert found.between == at(car, 10, 0.9).signal().between


def test_a_drawn_poisson_sum_has_about_l_records(digits: Records) -> None:
    rows = at(digits, 20, variant="poisson").draw(5, 400, [3], 0.0)
    fixed = at(digits, 20).draw(5, 400, [3], 0.0)
    assert rows.mixed.mean(axis=(0, 1)) == pytest.approx(fixed.mixed.mean(axis=(0, 1)), abs=0.01)
    lengths = np.linalg.norm(rows.mixed[0], axis=1)
    members = digits.points[digits.labels == 3]
    expected = (members**2).sum(axis=1).mean() * (1 - 20 / len(members)) / 20
    spread = ((rows.mixed[0] - members.mean(axis=0)) ** 2).sum(axis=1).mean()
    assert spread == pytest.approx(expected, rel=0.25)
    assert lengths.std() > 2 * np.linalg.norm(fixed.mixed[0], axis=1).std()


def test_averages_of_a_whole_class_have_no_variety(digits: Records) -> None:
    sizes = np.array([digits.sizes[k] for k in at(digits, 174).kept])
    assert at(digits, 174).signal().within > 0
    assert at(digits, 174).signal(int(sizes.max())).within == pytest.approx(0.0, abs=1e-15)
    nothing = at(digits, 10_000).signal()
    assert (nothing.between, nothing.within) == (0.0, 0.0)


def test_draws_are_frozen_by_their_seed(digits: Records) -> None:
    def drawn(order: int, sigma: float, seed: int) -> Drawn:
        return at(digits, order).draw(seed, 3, [2, 7], sigma)

    quiet, loud = drawn(4, 0.1, 1), drawn(4, 0.2, 1)
    assert quiet.classes == (2, 7)
    assert quiet.real.shape == (2, 3, 64)
    assert (quiet.mixed == loud.mixed).all()
    assert (loud.noised - loud.mixed) == pytest.approx(2 * (quiet.noised - quiet.mixed))
    assert (drawn(9, 0.1, 1).real == quiet.real).all()
    assert (drawn(4, 0.1, 2).real != quiet.real).any()


def test_a_drawn_average_holds_the_record_shown_and_others_of_its_class(digits: Records) -> None:
    one = at(digits, 1).draw(5, sigma=0.0)
    assert (one.mixed == one.real).all()
    whole = at(digits, 174).draw(5, classes=[8], sigma=0.0)
    assert whole.noised[0, 0] == pytest.approx(digits.points[digits.labels == 8].mean(axis=0))
    two = at(digits, 2).draw(5, classes=[3], sigma=0.0)
    other = 2 * two.mixed[0, 0] - two.real[0, 0]
    members = digits.points[digits.labels == 3]
    assert np.abs(members - other).max(axis=1).min() < 1e-12


def test_noise_has_the_deviation_it_says(digits: Records) -> None:
    rows = at(digits).draw(8, 100, sigma=0.3)
    measured = float((rows.noised - rows.mixed).std())
    assert abs(measured / 0.3 - 1) < 5 / np.sqrt(2 * rows.mixed.size)


@pytest.mark.parametrize(("target", "words"), [("nobody", "one of 'diagnosis'"), ("mean radius", "numeric")])
def test_a_target_that_is_no_class_is_refused(target: str, words: str) -> None:
    with pytest.raises(ParameterError, match=words):
        Records(load_sample("breast_cancer"), target)


def test_a_class_alone_has_nothing_to_mix() -> None:
    with pytest.raises(ParameterError, match="there are none"):
        Records(load_sample("car").project(["class"]), "class")


@pytest.mark.parametrize("variant", ["fixed_size", "poisson"])
@pytest.mark.parametrize(("order", "radius"), [(4, 1.0), (175, 0.85)])
def test_inside_has_the_numbers_of_a_real_run(digits: Records, order: int, radius: float, variant: Variant) -> None:
    inside = at(digits, order, radius, variant)
    release = inside.mechanism(np.random.default_rng(1), digits.table)
    found = release.diagnostics
    assert inside.sigma == found["noise_scale"]
    assert tuple(found["class_counts"].values()) == digits.sizes
    kept = [name for name, size in found["sizes_used"].items() if size is not None]
    assert [digits.classes[k] for k in inside.kept] == kept
    assert clipping_of(inside).share_cut == pytest.approx(found["clipped_share"])
    assert release.rows["digit"].astype(str).value_counts().to_dict() == dict(zip(kept, inside.rows_per_class, strict=True))
    library = dp_cda_noise_scale(10.0, 1e-5, order, radius, inside.sizes.counts, inside.sizes.rows, variant=variant)
    assert inside.sigma == pytest.approx(library, rel=1e-6)


def test_rows_drawn_inside_are_rows_of_a_run(digits: Records) -> None:
    """Averages over whole classes leave nothing to chance but the noise: decoded, both have the same means."""
    table = digits.table.take(np.flatnonzero(digits.labels == 8))
    eights = Inside(Records(table, "digit"), 50.0, 1e-5, 174, 1000)
    assert eights.kept == [8]
    run = eights.mechanism(np.random.default_rng(2), table).rows.drop(columns="digit")
    drawn = eights.draw(3, 1000).noised[0]
    shown = eights.mechanism.features.decode(drawn, np.random.default_rng(4))
    means = np.array([shown[name].mean() for name in run.columns])
    deviation = eights.sigma * eights.mechanism.features.length * 8 / np.sqrt(1000)
    assert np.abs(means - run.mean().to_numpy()).max() < 6 * deviation


def test_a_column_of_one_value_has_no_coordinates() -> None:
    table = load_sample("car")
    frame = table.frame.assign(same="always")
    records = Records(dpsyn.read_table(frame), "class")
    inside = at(records)
    assert records.features.dimension == inside.mechanism.features.dimension
    assert inside.draw(1).noised.shape == (4, 1, records.dimension)
