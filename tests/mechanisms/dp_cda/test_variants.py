"""DP-CDA: Poisson mixing, rows by class, private scaling, samplers, the ledger, wide tables, and awkward targets."""

from __future__ import annotations

import json
import math
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from scipy.stats import chi2

import dpsyn
from dpsyn.domain import Attribute, Domain
from dpsyn.errors import CalibrationError, FailureError, ParameterError
from dpsyn.mechanisms.dp_cda import noisy_averages
from dpsyn.mechanisms.dp_cda._budget import Budget, StandardRelease
from dpsyn.mechanisms.dp_cda.accounting.functions import dp_cda_noise_scale
from dpsyn.mechanisms.dp_cda.figures.noise import clipping_of
from dpsyn.mechanisms.dp_cda.inside import Inside, Records
from dpsyn.mechanisms.feature_map import FeatureMap, Standard
from dpsyn.privacy.mixing import exact as mixing
from dpsyn.privacy.mixing.pairs import mixed_classes
from dpsyn.privacy.mixing.pld import Part, composed_epsilon, gaussian_epsilon
from dpsyn.privacy.noise import NoiseSource

SPEC = dpsyn.PrivacySpec(epsilon=5.0, delta=1e-5)


def flowers(n: int = 900, seed: int = 0) -> dpsyn.Table:
    """Three kinds, a colour that depends on them, and lengths that use little of their public bounds."""
    random = np.random.default_rng(seed)
    kind = random.integers(0, 3, n)
    frame = pd.DataFrame(
        {
            "colour": np.array(["red", "blue", "white"])[np.where(random.random(n) < 0.8, kind, 0)],
            "kind": np.array(["a", "b", "c"])[kind],
            "petal": np.clip(10 + kind + random.normal(0, 0.3, n), 0, 1000),
            "leaves": np.clip(random.poisson(2 + 2 * kind), 0, 40),
        }
    )
    domain = Domain.of(
        [
            Attribute("colour", "categorical", ("red", "blue", "white"), public=True),
            Attribute("kind", "categorical", ("a", "b", "c"), public=True),
            Attribute("petal", "numeric", lower=0.0, upper=1000.0, public=True),
            Attribute("leaves", "numeric", lower=0, upper=40, integer=True, public=True),
        ]
    )
    return dpsyn.Table(frame, domain, "flowers")


TABLE = flowers()


def calibrated(config: dpsyn.DPCDA, spec: dpsyn.PrivacySpec = SPEC, table: dpsyn.Table = TABLE):
    return config.calibrate(spec, table.domain, n=table.n)


@pytest.mark.parametrize("neighbouring", ["replace_one", "add_remove"])
def test_poisson_mixing_has_the_noise_of_its_own_accountant_about_half(neighbouring):
    spec = replace(SPEC, neighbouring=neighbouring)
    config = dpsyn.DPCDA(target="kind", order_of_mixture=6, rows=90, class_sizes=250, variant="poisson")
    facts = calibrated(config, spec).calibrated()
    assert facts["sensitivity"] == pytest.approx(1 / 6)
    expected = dp_cda_noise_scale(5.0, 1e-5, 6, 1.0, [250] * 3, [30] * 3, neighbouring=neighbouring, variant="poisson")
    assert facts["noise_scale"] == pytest.approx(expected, rel=1e-6)
    assert facts["noise_scale"] >= expected
    fixed = calibrated(replace(config, variant="fixed_size"), spec).calibrated()["noise_scale"]
    assert 0.4 < facts["noise_scale"] / fixed < 0.7


def test_poisson_rates_need_not_be_right():
    """A size that is no lower bound sets the rate; the guarantee is the same, the sums are shorter."""
    config = dpsyn.DPCDA(target="kind", order_of_mixture=6, rows=90, class_sizes=300, variant="poisson")
    small = TABLE.take(np.flatnonzero(TABLE.frame["kind"].to_numpy() != "c")[:300])
    mechanism = config.calibrate(SPEC, small.domain, n=900)
    assert not any("at least as many records" in assumption for assumption in mechanism.guarantee.assumptions)
    rows, diagnostics = mechanism._run(NoiseSource(np.random.default_rng(0)), small, lambda step, share: None)
    assert diagnostics["class_counts"]["c"] == 0
    assert rows["kind"].value_counts().to_dict() == {"a": 30, "b": 30, "c": 30}


def test_poisson_counts_pay_no_margin():
    mechanism = calibrated(dpsyn.DPCDA(target="kind", order_of_mixture=6, rows=90, variant="poisson"))
    facts = mechanism.calibrated()
    assert facts["count_margin"] == 0
    assert facts["overstated_probability"] == 0
    assert facts["epsilon_for_counts"] + facts["epsilon_for_averages"] == pytest.approx(5.0)
    release = mechanism(np.random.default_rng(1), TABLE)
    sizes = [release.diagnostics["sizes_used"][k] for k in "abc"]
    rows = [int((release.rows["kind"] == k).sum()) for k in "abc"]
    expected = dp_cda_noise_scale(4.5, 1e-5, 6, 1.0, sizes, rows, variant="poisson")
    assert release.diagnostics["noise_scale"] == pytest.approx(expected, rel=1e-6)


def test_the_noise_of_poisson_mixing_has_the_stated_scale():
    table = dpsyn.Table(
        TABLE.frame.assign(petal=500.0, leaves=20, colour="red"), TABLE.domain.project(["kind", "petal", "leaves"])
    )
    config = dpsyn.DPCDA(target="kind", order_of_mixture=20, rows=6000, class_sizes=250, variant="poisson")
    mechanism = calibrated(config, dpsyn.PrivacySpec(epsilon=100.0, delta=1e-3), table)
    release = mechanism(np.random.default_rng(3), table)
    values = (release.rows["petal"].to_numpy() - 500) / 500 / math.sqrt(2)
    statistic = float((values**2).sum()) / mechanism.calibrated()["noise_scale"] ** 2
    assert chi2.ppf(1e-5, len(values)) < statistic < chi2.ppf(1 - 1e-5, len(values))
    assert not chi2.ppf(1e-5, len(values)) < statistic / 1.3**2 < chi2.ppf(1 - 1e-5, len(values))


@pytest.mark.parametrize("variant", ["fixed_size", "poisson"])
def test_rows_by_class_are_made_and_accounted_for(variant):
    rows, sizes = {"a": 50, "b": 7, "c": 0}, {"a": 250, "b": 280, "c": 2}
    config = dpsyn.DPCDA(target="kind", order_of_mixture=6, rows=rows, class_sizes=sizes, variant=variant)
    mechanism = calibrated(config)
    facts = mechanism.calibrated()
    assert facts["rows_per_class"] == rows
    assert facts["rows"] == 57
    expected = dp_cda_noise_scale(5.0, 1e-5, 6, 1.0, [250, 280], [50, 7], variant=variant)
    assert facts["noise_scale"] == pytest.approx(expected, rel=1e-6)
    release = mechanism(np.random.default_rng(0), TABLE)
    assert release.rows["kind"].value_counts().to_dict() == {"a": 50, "b": 7}
    assert release.settings["rows"] == 57
    assert release.settings["rows_per_class"] == rows
    json.dumps(release.record(), allow_nan=False)


@pytest.mark.parametrize(
    ("rows", "what"),
    [
        ({"a": 1, "b": 1}, "missing"),
        ({"a": 1, "b": 1, "c": 1, "d": 1}, "not one of them"),
        ({"a": 0, "b": 0, "c": 0}, "at least 1 of some class"),
        ({"a": -1, "b": 1, "c": 1}, "at least 0"),
        ({"a": 1.5, "b": 1, "c": 1}, "whole"),
        (2, "at least 3"),
    ],
)
def test_rows_that_do_not_fit_the_classes_are_refused(rows, what):
    with pytest.raises(ParameterError, match=what) as caught:
        calibrated(dpsyn.DPCDA(target="kind", rows=rows, class_sizes=250))
    assert caught.value.field == "rows"


def test_a_class_that_is_too_small_names_the_order_that_would_do():
    with pytest.raises(ParameterError, match="order_of_mixture = 7 would do"):
        calibrated(dpsyn.DPCDA(target="kind", order_of_mixture=8, rows=9, class_sizes={"a": 250, "b": 7, "c": 250}))
    with pytest.raises(ParameterError, match="at most n = 900"):
        calibrated(dpsyn.DPCDA(target="kind", order_of_mixture=901, rows=9))
    with pytest.raises(ParameterError, match="at most 300 for all"):
        calibrated(dpsyn.DPCDA(target="kind", rows=9, class_sizes=301))


@pytest.mark.parametrize("neighbouring", ["replace_one", "add_remove"])
@pytest.mark.parametrize("numbers", [1, 2, 29, 30, 40, 500])
@pytest.mark.parametrize("multiplier", [0.05, 0.7, 30.0])
def test_means_and_deviations_cost_what_their_noise_hides(numbers, multiplier, neighbouring):
    """One Gaussian mechanism, whose noise has at least the standard deviation z times the sensitivity, for any z."""
    release = StandardRelease(numbers, multiplier, neighbouring)
    assert (release.part.pair, release.part.rate, release.part.rows) == ("remove", 1.0, 1)
    assert release.part.multiplier == multiplier
    moved = release.sensitivity / release.noise_scale
    assert 1 / multiplier * (1 - 1e-3) < moved <= 1 / multiplier
    both = composed_epsilon([release.part], 1.0, 1e-5, 1e-3)
    assert both >= gaussian_epsilon(moved, 1e-5)


def test_the_sensitivity_of_sums_and_squares_by_brute_force():
    """(x - x')² + (x² - x'²)² for x, x' in [-1, 1], and x² + x⁴ for one record more."""
    x = np.linspace(-1, 1, 201)
    replaced = (x[:, None] - x) ** 2 + (x[:, None] ** 2 - x**2) ** 2
    for numbers in (1, 5):
        assert StandardRelease(numbers, 1.0, "replace_one").sensitivity == pytest.approx(math.sqrt(numbers * replaced.max()))
        assert StandardRelease(numbers, 1.0, "add_remove").sensitivity == pytest.approx(
            math.sqrt(numbers * (x**2 + x**4).max() + 1)
        )


@pytest.mark.parametrize("neighbouring", ["replace_one", "add_remove"])
def test_private_scaling_is_composed_with_the_rows(neighbouring):
    spec = replace(SPEC, neighbouring=neighbouring)
    config = dpsyn.DPCDA(
        target="kind", order_of_mixture=6, rows=90, class_sizes=250, scaling="private", scaling_share=0.2, clip_norm=1.5
    )
    mechanism = calibrated(config, spec)
    facts = mechanism.calibrated()
    scaling, averages = facts["ledger"]
    assert (scaling["name"], averages["name"]) == ("means and deviations", "averages")
    assert scaling["share"] + averages["share"] == pytest.approx(1)
    assert scaling["epsilon"] == pytest.approx(1.0, rel=1e-4)
    assert scaling["epsilon"] <= 1.0
    multiplier = mechanism.budget.standard.multiplier
    assert gaussian_epsilon(1 / multiplier, 1e-5) == pytest.approx(1.0, rel=1e-4)
    assert scaling["scale"] == pytest.approx(multiplier * (math.sqrt(8) if neighbouring == "replace_one" else math.sqrt(5)))
    together = mixing.change_epsilon(
        neighbouring,
        mixed_classes(6, [250] * 3, [30] * 3, "fixed_size"),
        facts["noise_scale"] / facts["sensitivity"],
        1e-5,
        beside=(mechanism.budget.standard.part,),
    )
    assert 5.0 * 0.98 < together <= 5.0
    assert averages["epsilon"] < 5.0 < averages["epsilon"] + scaling["epsilon"]  # losses compose better than ε add up
    assert "means and deviations" in mechanism.guarantee.source
    release = mechanism(np.random.default_rng(0), TABLE)
    TABLE.domain.encode(release.rows)
    found = release.diagnostics["scaling"]["petal"]
    truth = TABLE.frame["petal"].mean() / 500 - 1
    assert found["centre"] == pytest.approx(truth, abs=8 * scaling["scale"] / TABLE.n)
    json.dumps(release.record(), allow_nan=False)


def test_the_noise_on_sums_has_the_stated_scale_and_not_one_30_per_cent_off():
    release = StandardRelease(1, 1.0, "replace_one")
    table = dpsyn.Table(pd.DataFrame({"petal": np.full(5000, 500.0)}), TABLE.domain.project(["petal"]))
    features = FeatureMap(table.domain)
    noise = NoiseSource(np.random.default_rng(5))
    centres = np.array([release.run(noise, features, table).centre[0] for _ in range(800)]) * 5000
    statistic = float((centres**2).sum()) / release.noise_scale**2
    assert chi2.ppf(1e-5, 800) < statistic < chi2.ppf(1 - 1e-5, 800)
    assert not chi2.ppf(1e-5, 800) < statistic / 1.3**2 < chi2.ppf(1 - 1e-5, 800)


class Given(NoiseSource):
    """Answers with these numbers."""

    def __init__(self, *numbers: float) -> None:
        super().__init__(np.random.default_rng(0))
        self.numbers = numbers

    def gaussian(self, values, scale):
        assert values.shape == (len(self.numbers),)
        return np.array(self.numbers)


@pytest.mark.parametrize(
    ("neighbouring", "sums", "centre", "spread"),
    [
        ("replace_one", (30.0, 58.0), 0.3, 0.7),
        ("replace_one", (-30.0, 10.0), -0.3, 0.2),  # at least the root of 2·scale/n = 0.04
        ("replace_one", (500.0, 900.0), 1.0, 0.2),
        ("replace_one", (-500.0, 900.0), -1.0, 0.2),
        ("replace_one", (0.0, 900.0), 0.0, 1.0),
        ("add_remove", (20.0, 29.0, 50.0), 0.4, math.sqrt(0.42)),
        ("add_remove", (0.5, 0.3, 0.2), 0.5, 1.0),  # there is a record at least
        ("add_remove", (0.5, 0.3, -9.0), 0.5, 1.0),
    ],
)
def test_means_and_deviations_follow_from_noisy_sums_alone(neighbouring, sums, centre, spread):
    table = dpsyn.Table(pd.DataFrame({"petal": np.full(100, 500.0)}), TABLE.domain.project(["petal"]))
    release = StandardRelease(1, 1.0, neighbouring)
    release = replace(release, multiplier=2.0 / release.noise_scale)
    found = release.run(Given(*sums), FeatureMap(table.domain), table)
    assert found.centre == pytest.approx([centre])
    assert found.spread == pytest.approx([spread])


@pytest.mark.parametrize("rows", [1, 99, 10_001, 300_000])
def test_a_secret_number_of_rows_has_no_part_in_means_and_deviations(rows):
    table = dpsyn.Table(pd.DataFrame({"petal": np.full(rows, 500.0)}), TABLE.domain.project(["petal"]))
    found = StandardRelease(1, 1.0, "add_remove").run(Given(20.0, 29.0, 50.0), FeatureMap(table.domain), table)
    assert (found.centre.tolist(), found.spread.tolist()) == ([0.4], [pytest.approx(math.sqrt(0.42))])


def test_private_scaling_is_paid_for_wherever_there_is_a_number():
    config, spec = dpsyn.DPCDA("kind", scaling="private"), dpsyn.PrivacySpec(1.0, 1e-5)
    for numbers in (0, 1, 2):
        found = Budget.split(config, spec, numbers, 3, counted=False).standard
        assert (None if found is None else found.numbers) == (numbers or None)


def test_private_scaling_keeps_what_public_bounds_drown():
    """Petals use 1/200 of their bounds: scaled by bounds the noise is much wider than they are."""
    config = dpsyn.DPCDA(target="kind", order_of_mixture=6, rows=600, class_sizes=250)
    spec = dpsyn.PrivacySpec(epsilon=20.0, delta=1e-5)

    def error(config: dpsyn.DPCDA) -> float:
        rows = calibrated(config, spec)(np.random.default_rng(2), TABLE).rows
        means = rows.groupby("kind")["petal"].mean()
        return float(np.abs(means.to_numpy() - np.array([10.0, 11.0, 12.0])).max())

    assert error(replace(config, scaling="private")) < error(config) / 3


def test_a_constant_number_is_not_divided_by_nothing():
    frame = TABLE.frame.assign(petal=10.0)
    table = dpsyn.Table(frame, TABLE.domain)
    for spec in (SPEC, replace(SPEC, neighbouring="add_remove")):
        config = dpsyn.DPCDA(target="kind", order_of_mixture=6, rows=90, class_sizes=250, scaling="private")
        rows = calibrated(config, spec, table)(np.random.default_rng(0), table).rows
        assert np.isfinite(rows["petal"]).all()
        assert rows["petal"].between(0, 1000).all()


def test_private_scaling_without_numbers_costs_nothing():
    table = TABLE.project(["kind", "colour"])
    config = dpsyn.DPCDA(target="kind", order_of_mixture=6, rows=90, class_sizes=250, scaling="private")
    public = replace(config, scaling="public")
    assert calibrated(config, table=table).calibrated() == calibrated(public, table=table).calibrated()


def test_standardised_points_come_back():
    features = FeatureMap(TABLE.domain.project(["colour", "petal", "leaves"]))
    standard = Standard(np.array([-0.98, -0.7]), np.array([0.02, 0.3]))
    points = features.encode(TABLE, standard)
    back = pd.concat(features.decode_pieces(points * features.length, np.random.default_rng(0), standard), axis=1)
    np.testing.assert_allclose(back["petal"], TABLE.frame["petal"], atol=1e-9)
    assert back["leaves"].tolist() == TABLE.frame["leaves"].tolist()
    assert back["colour"].tolist() == TABLE.frame["colour"].tolist()


def test_the_ledger_has_every_part():
    config = dpsyn.DPCDA(target="kind", order_of_mixture=4, rows=90, count_share=0.2, scaling="private", scaling_share=0.25)
    counts, scaling, averages = calibrated(config).calibrated()["ledger"]
    assert [part["name"] for part in (counts, scaling, averages)] == ["class counts", "means and deviations", "averages"]
    assert counts["epsilon"] == pytest.approx(1.0)
    assert counts["delta"] == pytest.approx(1e-6)
    assert counts["scale"] == pytest.approx(2.0)
    assert scaling["epsilon"] == pytest.approx(0.25 * 4.0, rel=1e-4)
    assert scaling["delta"] == averages["delta"] == pytest.approx(9e-6)
    assert "scale" not in averages  # known once the counts are
    assert counts["share"] + scaling["share"] + averages["share"] == pytest.approx(1)
    (alone,) = calibrated(dpsyn.DPCDA(target="kind", rows=90, class_sizes=250)).calibrated()["ledger"]
    assert (alone["name"], alone["share"], alone["epsilon"]) == ("averages", 1.0, 5.0)


def test_the_sampler_is_said_where_the_guarantee_is_stated():
    config = dpsyn.DPCDA(target="kind", order_of_mixture=6, rows=30, class_sizes=250)
    system, exact = calibrated(config), calibrated(replace(config, noise_sampler="exact"))
    numbers = 30 * system.features.dimension
    (said,) = [a for a in system.guarantee.assumptions if "NumPy" in a]
    assert f"one of the {numbers:,} numbers" in said
    assert not any("NumPy" in a for a in exact.guarantee.assumptions)
    # Of a given generator none of that is true: no key of the system's, no rounding.
    seeded = system(np.random.default_rng(1), TABLE).guarantee
    assert seeded.status == "demonstration"
    assert not any("keyed by the system" in a for a in seeded.assumptions)
    for mechanism in (system, exact):
        first, second = mechanism(None, TABLE), mechanism(None, TABLE)
        assert not first.rows.equals(second.rows)
        assert len(first.rows) == 30


def test_more_numbers_than_delta_allows_are_proven_in_exact_arithmetic_only():
    config = dpsyn.DPCDA(target="kind", order_of_mixture=6, rows=3000, class_sizes=250)
    numbers = 3000 * calibrated(config).features.dimension
    least = numbers * 2.0**-42
    for delta, status in ((least * 4, "proven"), (least, "real_arithmetic")):
        assert calibrated(config, replace(SPEC, delta=delta)).guarantee.status == status
        exact = replace(config, noise_sampler="exact")
        assert calibrated(exact, replace(SPEC, delta=delta)).guarantee.status == "proven"


def test_without_a_generator_the_system_sampler_is_keyed_anew(monkeypatch):
    """The key comes from the system's entropy, not from a fixed or global seed."""
    import secrets

    asked: list[int] = []
    monkeypatch.setattr(secrets, "randbits", lambda bits: asked.append(bits) or 1)
    calibrated(dpsyn.DPCDA(target="kind", order_of_mixture=6, rows=30, class_sizes=250))(None, TABLE)
    assert asked == [128]


def wide(n: int = 400, whole: bool = False) -> dpsyn.Table:
    random = np.random.default_rng(1)
    values = random.integers(0, 17, (n, 30)) if whole else random.random((n, 30)) * 16
    frame = pd.DataFrame(values, columns=[f"x{j}" for j in range(30)])
    frame.insert(12, "label", np.arange(n) % 4)
    attributes = [
        Attribute(name, "numeric", lower=0, upper=16, integer=whole, public=True)
        if name != "label"
        else Attribute(name, "categorical", (0, 1, 2, 3), public=True)
        for name in frame.columns
    ]
    return dpsyn.Table(frame, Domain.of(attributes))


@pytest.mark.parametrize("whole", [False, True])
def test_wide_tables_of_numbers_are_mapped_at_once_and_alike(whole):
    table = wide(whole=whole)
    features = FeatureMap(table.domain.project([name for name in table.domain.names if name != "label"]))
    points = features.encode(table)
    # The same numbers in columns that go one by one (an extension type).
    slow = dpsyn.Table(table.frame.astype({f"x{j}": "Float64" for j in range(30)}), table.domain)
    np.testing.assert_allclose(features.encode(slow), points, atol=1e-15)
    back = pd.DataFrame(features.decode(points, np.random.default_rng(0)))
    expected = table.frame.drop(columns="label")
    pd.testing.assert_frame_equal(back, expected, check_exact=whole)
    release = calibrated(dpsyn.DPCDA(target="label", rows=40, class_sizes=100), table=table)(np.random.default_rng(0), table)
    assert list(release.rows.columns) == list(table.frame.columns)
    assert (release.rows.dtypes == table.frame.dtypes).all()
    table.domain.encode(release.rows)


def test_infinite_numbers_are_clipped_to_their_bounds():
    frame = wide().frame
    frame.loc[0, "x3"] = np.inf
    frame.loc[1, "x3"] = -np.inf
    table = dpsyn.Table(frame, wide().domain)
    points = FeatureMap(table.domain.project(["x3", "x4"])).encode(table)
    assert points[:2, 0].tolist() == [1 / math.sqrt(2), -1 / math.sqrt(2)]


def test_noisy_averages_are_what_the_mechanism_makes():
    """The seam of the audits: the same draws and noise as the mechanism's own blocks."""
    members = np.random.default_rng(0).normal(size=(50, 3))
    for variant in ("fixed_size", "poisson"):
        rows = noisy_averages(members, 5, 40_000, 0.1, np.random.default_rng(1), variant=variant)
        assert rows.shape == (40_000, 3)
        np.testing.assert_allclose(rows.mean(axis=0), members.mean(axis=0), atol=0.02)
        centred = members - members.mean(axis=0)
        drawn = (centred**2).mean(axis=0) / 5 * 45 / 49 if variant == "fixed_size" else (members**2).mean(axis=0) / 5 * 0.9
        np.testing.assert_allclose(rows.var(axis=0), drawn + 0.01, rtol=0.05)


def test_clipping_says_how_much_a_norm_cuts():
    found = clipping_of(Inside(Records(TABLE, "kind"), 5.0, 1e-5, 4, 100, 0.8))
    features = FeatureMap(TABLE.domain.project(["colour", "petal", "leaves"]))
    norms = np.linalg.norm(features.encode(TABLE), axis=1)
    np.testing.assert_allclose(found.norms, norms)
    assert found.share_cut == pytest.approx((norms > 0.8).mean())
    assert found.shortened == pytest.approx(1 - np.minimum(norms, 0.8).sum() / norms.sum())
    assert clipping_of(Inside(Records(TABLE, "kind"), 5.0, 1e-5, 4, 100)).share_cut == 0


def labelled(labels: list[str], classes: tuple[str, ...]) -> dpsyn.Table:
    domain = Domain.of(
        [
            Attribute("class", "categorical", classes, public=True),
            Attribute("x", "numeric", lower=0.0, upper=1.0, public=True),
        ]
    )
    return dpsyn.Table(pd.DataFrame({"class": labels, "x": np.linspace(0, 1, len(labels))}), domain)


def test_one_class_is_mixed_without_a_change_of_label():
    table = labelled(["only"] * 200, ("only",))
    mechanism = calibrated(dpsyn.DPCDA(target="class", rows=20, class_sizes=200), table=table)
    expected = dp_cda_noise_scale(5.0, 1e-5, 4, 1.0, [200], [20])
    assert mechanism.calibrated()["noise_scale"] == pytest.approx(expected, rel=1e-6)
    assert set(mechanism(np.random.default_rng(0), table).rows["class"]) == {"only"}


def test_many_classes_and_a_rare_one():
    classes = tuple(f"k{j}" for j in range(60))
    table = labelled([classes[j % 59] for j in range(6000)] + ["k59"] * 2, classes)
    release = calibrated(dpsyn.DPCDA(target="class", rows=120), table=table)(np.random.default_rng(0), table)
    assert release.diagnostics["dropped_classes"] == ["k59"]
    made = release.rows["class"].value_counts()
    assert (made.sum(), len(made), set(made)) == (120, 59, {2, 3})
    with pytest.raises(ParameterError, match="at least 60"):
        calibrated(dpsyn.DPCDA(target="class", rows=59), table=table)
    sizes = dict.fromkeys(classes[:59], 100) | {"k59": 2}
    with pytest.raises(ParameterError, match="'k59' has 2"):
        calibrated(dpsyn.DPCDA(target="class", rows=120, class_sizes=sizes), table=table)
    without = dict.fromkeys(classes[:59], 2) | {"k59": 0}
    release = calibrated(dpsyn.DPCDA(target="class", rows=without, class_sizes=sizes), table=table)(None, table)
    assert len(release.rows) == 118


def test_classes_that_all_turn_out_too_small_name_an_order_that_would_do():
    table = labelled(["a", "b"] * 40, ("a", "b"))
    with pytest.raises(FailureError, match=r"order_of_mixture = \d+ would do"):
        calibrated(dpsyn.DPCDA(target="class", order_of_mixture=39, rows=8, count_share=0.9), table=table)(
            np.random.default_rng(0), table
        )


def test_a_target_that_is_not_there_names_those_that_are():
    for target in ("nothing", "petal", ""):
        with pytest.raises(ParameterError, match="'colour', 'kind'") as caught:
            calibrated(dpsyn.DPCDA(target=target, rows=90))
        assert caught.value.field == "target"
    numbers = TABLE.project(["petal", "leaves"])
    with pytest.raises(ParameterError, match="no column holds"):
        calibrated(dpsyn.DPCDA(target="petal", rows=90), table=numbers)


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("clip_norm", 0.0),
        ("clip_norm", -1.0),
        ("clip_norm", math.nan),
        ("order_of_mixture", True),
        ("order_of_mixture", 2.5),
        ("scaling_share", 0.0),
        ("scaling_share", math.nan),
        ("variant", "bernoulli"),
        ("scaling", "z-score"),
        ("noise_sampler", "fast"),
    ],
)
def test_parameters_out_of_range_are_refused_when_made(field, value):
    with pytest.raises(ParameterError) as caught:
        dpsyn.DPCDA(target="kind", **{field: value})
    assert caught.value.field == field


def test_delta_zero_names_one_that_is_usual():
    with pytest.raises(CalibrationError, match="delta = 1e-05"):
        calibrated(dpsyn.DPCDA(target="kind", rows=90), dpsyn.PrivacySpec(epsilon=1.0))


def test_a_part_without_rows_costs_nothing():
    none, some = Part("remove", 0.5, 0), Part("remove", 0.5, 3)
    assert composed_epsilon([none, some], 1.0, 1e-5, 1e-2) == pytest.approx(
        composed_epsilon([some], 1.0, 1e-5, 1e-2), rel=1e-9
    )
