"""DP-CDA: scaling, sampling without replacement, noise, class sizes, and what it refuses."""

from __future__ import annotations

import json
import math
from collections import Counter
from dataclasses import replace
from itertools import combinations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import chi2

import dpsyn
from dpsyn.domain import Attribute, Domain
from dpsyn.errors import CalibrationError, FailureError, InputError, ParameterError
from dpsyn.mechanisms.dp_cda import _mechanism
from dpsyn.mechanisms.dp_cda._checks import count_margin
from dpsyn.mechanisms.dp_cda.accounting.functions import dp_cda_epsilon
from dpsyn.mechanisms.dp_cda.expectations import of_run
from dpsyn.mechanisms.feature_map import FeatureMap, clip_to_ball, simplex
from dpsyn.privacy.mixing.averaging import averages_in_blocks, class_averages
from dpsyn.privacy.mixing.exact import calibrate_sigma
from dpsyn.privacy.noise import NoiseSource

SPEC = dpsyn.PrivacySpec(epsilon=5.0, delta=1e-5)


def every_kind(n: int = 600, seed: int = 0) -> dpsyn.Table:
    """Truth, categorical (with and without missing values), whole, real (with missing) and date columns."""
    random = np.random.default_rng(seed)
    grade = random.integers(0, 3, n)
    frame = pd.DataFrame(
        {
            "member": np.where(random.random(n) < 0.3 + 0.2 * grade, "yes", "no"),
            "size": np.array(["S", "M", "L", None], dtype=object)[np.where(random.random(n) < 0.1, 3, grade)],
            "grade": np.array(["low", "middle", "high"])[grade],
            "visits": np.clip(random.poisson(3 + 4 * grade), 0, 30),
            "weight": np.where(random.random(n) < 0.2, np.nan, 50 + 10 * grade + random.normal(0, 3, n)),
            "since": pd.Timestamp("2020-01-01") + pd.to_timedelta(random.integers(0, 1000, n), unit="D"),
        }
    )
    first = (pd.Timestamp("2020-01-01") - pd.Timestamp("1970-01-01")).days
    domain = Domain.of(
        [
            Attribute("member", "truth", ("no", "yes"), public=True),
            Attribute("size", "categorical", ("S", "M", "L"), missing=True, public=True),
            Attribute("grade", "categorical", ("low", "middle", "high"), public=True),
            Attribute("visits", "numeric", lower=0, upper=30, integer=True, public=True),
            Attribute("weight", "numeric", lower=20.0, upper=120.0, missing=True, public=True),
            Attribute("since", "date", lower=first, upper=first + 1000, public=True),
        ]
    )
    return dpsyn.Table(frame, domain, "every kind")


TABLE = every_kind()


def run(config: dpsyn.DPCDA, spec: dpsyn.PrivacySpec = SPEC, table: dpsyn.Table = TABLE, seed: int | None = 1):
    mechanism = config.calibrate(spec, table.domain, n=table.n)
    return mechanism(None if seed is None else np.random.default_rng(seed), table)


@pytest.mark.parametrize("size", [1, 2, 3, 7])
def test_simplex_vertices_are_a_regular_simplex_on_the_unit_sphere(size):
    vertices = simplex(size)
    assert vertices.shape == (size, size - 1)
    gram = vertices @ vertices.T
    expected = np.full((size, size), -1 / max(size - 1, 1))
    np.fill_diagonal(expected, 1.0)
    if size > 1:
        np.testing.assert_allclose(gram, expected, atol=1e-12)


def test_points_have_norm_at_most_one_and_are_decoded_to_the_rows_they_came_from():
    features = FeatureMap(TABLE.domain)
    points = features.encode(TABLE)
    assert points.shape == (TABLE.n, 1 + 3 + 2 + 1 + 1 + 1)
    assert np.linalg.norm(points, axis=1).max() <= 1 + 1e-12
    back = pd.DataFrame(features.decode(points, np.random.default_rng(0)))
    for column in ("member", "size", "grade", "visits", "since"):
        assert back[column].astype(object).where(back[column].notna(), None).tolist() == (
            TABLE.frame[column].astype(object).where(TABLE.frame[column].notna(), None).tolist()
        )
    there = TABLE.frame["weight"].notna()
    np.testing.assert_allclose(back["weight"][there].astype(float), TABLE.frame["weight"][there], atol=1e-9)
    np.testing.assert_allclose(back["weight"][~there].astype(float), 70.0)  # a missing number is the middle


def test_any_two_points_are_at_most_a_diameter_apart_after_clipping():
    points = FeatureMap(TABLE.domain).encode(TABLE)
    clipped, share = clip_to_ball(points, 0.3)
    assert np.linalg.norm(clipped, axis=1).max() <= 0.3 * (1 + 1e-12)
    assert share == (np.linalg.norm(points, axis=1) > 0.3).mean()
    untouched, none = clip_to_ball(points, 1.0)
    np.testing.assert_array_equal(untouched, points)
    assert none == 0.0


@pytest.mark.parametrize(("size", "order"), [(5, 2), (5, 4), (5, 5), (6, 1), (40, 2)])
def test_records_are_drawn_uniformly_without_replacement(size, order):
    rows = 20_000
    members = np.eye(size)
    averages = class_averages(members, order, rows, np.random.default_rng(size * order))
    drawn = np.rint(averages * order).astype(int)
    assert (drawn.sum(axis=1) == order).all()
    assert drawn.max() == 1
    seen = Counter(tuple(np.flatnonzero(row)) for row in drawn)
    subsets = list(combinations(range(size), order))
    expected = rows / len(subsets)
    statistic = sum((seen[subset] - expected) ** 2 / expected for subset in subsets)
    assert sum(seen.values()) == sum(seen[subset] for subset in subsets)
    assert statistic <= chi2.ppf(0.9999, max(len(subsets) - 1, 1))


def test_a_class_that_is_smaller_than_the_order_is_filled_with_zero_records():
    averages = class_averages(np.array([[3.0], [6.0]]), 4, 5, np.random.default_rng(0))
    np.testing.assert_allclose(averages, 9 / 4)
    assert (class_averages(np.zeros((0, 2)), 3, 4, np.random.default_rng(0)) == 0).all()


@settings(max_examples=40)
@given(scale=st.floats(0.05, 200), classes=st.integers(1, 50), failure=st.floats(1e-12, 0.5))
def test_the_count_margin_is_the_smallest_that_suffices(scale, classes, failure):
    def overstated(margin: int) -> float:
        """K·P(Z > margin), summed term by term."""
        ratio = math.exp(-1 / scale)
        first = (1 - ratio) / (1 + ratio) * ratio ** (margin + 1)
        return classes * first / (1 - ratio)

    margin = count_margin(scale, classes, failure)
    assert overstated(margin) <= failure * (1 + 1e-9)
    if margin > 0:
        assert overstated(margin - 1) > failure * (1 - 1e-6)


@pytest.mark.parametrize("neighbouring", ["replace_one", "add_remove"])
def test_public_sizes_give_the_exact_guarantee(neighbouring):
    spec = dpsyn.PrivacySpec(epsilon=2.0, delta=1e-6, neighbouring=neighbouring)
    sizes = {"low": 170, "middle": 150, "high": 160}
    config = dpsyn.DPCDA(target="grade", order_of_mixture=5, rows=31, class_sizes=sizes, clip_norm=0.8)
    mechanism = config.calibrate(spec, TABLE.domain, n=TABLE.n)
    facts = mechanism.calibrated()
    made = {"low": 11, "middle": 10, "high": 10}
    assert facts["rows_per_class"] == made
    assert facts["sensitivity"] == pytest.approx(2 * 0.8 / 5)
    assert facts["sampling_rates"] == {"low": 5 / 170, "middle": 5 / 150, "high": 5 / 160}
    known = (1e-6, 5, 0.8, list(sizes.values()), list(made.values()))
    exact = dp_cda_epsilon(facts["noise_scale"], *known, neighbouring=neighbouring)
    assert exact <= 2.0 * (1 + 1e-3)
    assert exact > 2.0 * 0.98
    assert mechanism.guarantee.neighbouring == neighbouring
    assert mechanism.guarantee.epsilon == 2.0
    json.dumps(facts)


def test_a_common_lower_bound_is_the_worst_of_all_sizes():
    config = dpsyn.DPCDA(target="grade", order_of_mixture=5, rows=30, class_sizes=150)
    bound = config.calibrate(SPEC, TABLE.domain, n=TABLE.n).calibrated()["noise_scale"]
    larger = replace(config, class_sizes={"low": 170, "middle": 180, "high": 160})
    assert larger.calibrate(SPEC, TABLE.domain, n=TABLE.n).calibrated()["noise_scale"] < bound


def test_large_averages_get_an_allowance_for_rounding_in_their_sums():
    """Each of l additions may err by 2^-53 of a sum up to l: l²·2^-53 of the sensitivity 2/l, for two averages."""
    order, size = 2**15, 2**17
    config = dpsyn.DPCDA(target="grade", order_of_mixture=order, rows=3, class_sizes=size)
    noise = config.calibrate(SPEC, TABLE.domain, n=3 * size).calibrated()["noise_scale"]
    needed = calibrate_sigma(
        epsilon=SPEC.epsilon, delta=SPEC.delta, order_of_mixture=order, clip_norm=1.0, class_sizes=[size] * 3, rows=1
    )
    assert noise / needed - 1 >= order**2 * 2.0**-53
    assert noise / needed - 1 < 1e-6


def test_clip_norms_above_one_change_nothing_and_small_ones_need_less_noise():
    noise = {
        c: dpsyn.DPCDA(target="grade", rows=30, class_sizes=150, clip_norm=c)
        .calibrate(SPEC, TABLE.domain, n=TABLE.n)
        .calibrated()["noise_scale"]
        for c in (0.5, 1.0, 7.0)
    }
    assert noise[7.0] == noise[1.0]
    assert noise[0.5] == pytest.approx(noise[1.0] / 2)


@pytest.mark.parametrize("neighbouring", ["replace_one", "add_remove"])
def test_private_counts_split_the_budget(neighbouring):
    spec = dpsyn.PrivacySpec(epsilon=5.0, delta=1e-5, neighbouring=neighbouring)
    config = dpsyn.DPCDA(target="grade", order_of_mixture=4, rows=30, count_share=0.2)
    mechanism = config.calibrate(spec, TABLE.domain, n=TABLE.n)
    facts = mechanism.calibrated()
    assert facts["epsilon_for_counts"] == pytest.approx(1.0)
    assert facts["epsilon_for_averages"] == pytest.approx(4.0)
    assert facts["count_noise_scale"] == pytest.approx(2.0 if neighbouring == "replace_one" else 1.0)
    assert facts["overstated_probability"] == pytest.approx(1e-6)
    # Both follow from the estimated sizes: the record says so, and holds no empty entry for them.
    assert not {"noise_scale", "sampling_rates"} & facts.keys()
    assert "estimated class sizes" in facts["known_after_the_counts"]
    release = mechanism(np.random.default_rng(3), TABLE)
    sizes, counts = release.diagnostics["sizes_used"], release.diagnostics["class_counts"]
    assert counts == TABLE.frame["grade"].value_counts().to_dict()
    assert all(4 < sizes[name] <= counts[name] for name in counts)
    made = release.rows["grade"].value_counts()
    known = (9e-6, 4, 1.0, list(sizes.values()), [int(made[name]) for name in sizes])
    exact = dp_cda_epsilon(release.diagnostics["noise_scale"], *known, neighbouring=neighbouring)
    assert 4.0 * 0.98 < exact <= 4.0 * (1 + 1e-3)


def test_noise_on_the_counts_has_the_stated_scale():
    """Mean absolute value of discrete Laplace noise of scale s: 2e^{-1/s}/(1 - e^{-2/s})."""
    mechanism = dpsyn.DPCDA(target="grade", rows=30, count_share=0.1).calibrate(SPEC, TABLE.domain, n=TABLE.n)
    scale, margin = mechanism.budget.count_noise_scale, mechanism.budget.count_margin
    assert scale == pytest.approx(2 / 0.5)
    truth = np.array([10_000] * 3)
    noise = NoiseSource(np.random.default_rng(0))
    drawn = np.array([mechanism._sizes(noise, truth) for _ in range(4000)], dtype=float) + margin - truth
    expected = 2 * math.exp(-1 / scale) / (1 - math.exp(-2 / scale))
    assert np.abs(drawn).mean() == pytest.approx(expected, rel=0.06)
    assert (drawn > margin).mean() < 1e-3


def narrow_table(n: int = 400) -> dpsyn.Table:
    """Numbers in the middle of their bounds: every average is 0, and what comes out is noise."""
    domain = Domain.of(
        [
            Attribute("label", "truth", (False, True), public=True),
            *[Attribute(f"x{j}", "numeric", lower=-1.0, upper=1.0, public=True) for j in range(9)],
        ]
    )
    frame = pd.DataFrame({"label": np.arange(n) % 2 == 0} | {f"x{j}": np.zeros(n) for j in range(9)})
    return dpsyn.Table(frame, domain)


@pytest.mark.parametrize("sampler", ["system", "exact"])
@pytest.mark.parametrize("seed", [1, None])
def test_the_noise_has_the_stated_scale_and_not_one_30_per_cent_off(seed, sampler):
    table = narrow_table()
    config = dpsyn.DPCDA(target="label", order_of_mixture=8, rows=200, class_sizes=200, noise_sampler=sampler)
    spec = dpsyn.PrivacySpec(epsilon=200.0, delta=1e-3)
    mechanism = config.calibrate(spec, table.domain, n=table.n)
    sigma = mechanism.calibrated()["noise_scale"]
    assert sigma * 3 < 0.25  # far from the bounds, so that clipping the output does not matter
    release = mechanism(None if seed is None else np.random.default_rng(seed), table)
    values = release.rows.drop(columns="label").to_numpy() / 3  # blocks were divided by √9

    def plausible(scale: float) -> bool:
        statistic = float((values**2).sum()) / scale**2
        return chi2.ppf(1e-5, values.size) < statistic < chi2.ppf(1 - 1e-5, values.size)

    assert plausible(sigma)
    assert not plausible(0.7 * sigma)
    assert not plausible(1.3 * sigma)


@pytest.mark.parametrize(("scaling", "clip_norm"), [("public", 0.2), ("private", 0.5), ("private", 1.0)])
@pytest.mark.parametrize("variant", ["fixed_size", "poisson"])
def test_no_record_that_is_averaged_is_longer_than_what_the_noise_is_for(variant, scaling, clip_norm, monkeypatch):
    seen = []

    def watched(members, *arguments, **options):
        seen.append(np.linalg.norm(members, axis=1))
        return averages_in_blocks(members, *arguments, **options)

    monkeypatch.setattr(_mechanism, "averages_in_blocks", watched)
    config = dpsyn.DPCDA("grade", rows=30, class_sizes=150, variant=variant, scaling=scaling, clip_norm=clip_norm)
    mechanism = config.calibrate(SPEC, TABLE.domain, n=TABLE.n)
    mechanism(np.random.default_rng(1), TABLE)
    assert mechanism.radius == clip_norm
    assert max(lengths.max() for lengths in seen) == pytest.approx(clip_norm)
    assert mechanism.sensitivity == pytest.approx((1 if variant == "poisson" else 2) * clip_norm / 4)


def test_rows_have_valid_values_and_the_types_of_the_table():
    """Whole numbers, dates and categories come back by rounding that reads the noisy averages alone."""
    release = run(dpsyn.DPCDA(target="grade", order_of_mixture=3, rows=100, rows_by="equal"))
    assert release.rows["grade"].value_counts().to_dict() == {"low": 33, "middle": 33, "high": 33}
    assert list(release.rows.columns) == list(TABLE.domain.names)
    TABLE.domain.encode(release.rows)
    assert release.rows["since"].between("2020-01-01", "2022-09-27").all()
    assert (release.rows["since"] == release.rows["since"].dt.normalize()).all()
    assert pd.api.types.is_integer_dtype(release.rows["visits"])
    assert release.rows["visits"].between(0, 30).all()
    assert set(release.rows["member"]) == {"yes", "no"}


@pytest.mark.parametrize("epsilon", [5.0, 1e6])
def test_a_value_that_most_records_have_does_not_come_out_as_one(epsilon):
    """Nine in ten are 0: of averages of four, (9/10)⁴ are without any noise, and the largest are about half as large."""
    random = np.random.default_rng(0)
    gain = np.where(random.random(2000) < 0.9, 0, random.integers(1, 10_000, 2000))
    domain = Domain.of(
        [Attribute("c", "truth", (0, 1), public=True), Attribute("gain", "numeric", lower=0, upper=10_000, integer=True)]
    ).confirmed()
    table = dpsyn.Table(pd.DataFrame({"c": random.integers(0, 2, 2000), "gain": gain}), domain)
    mechanism = dpsyn.DPCDA(target="c", order_of_mixture=4).calibrate(dpsyn.PrivacySpec(epsilon, 1e-5), domain, table.n)
    made = mechanism(np.random.default_rng(1), table).rows["gain"]
    if epsilon > 100:
        assert (made < 50).mean() == pytest.approx(0.9**4, abs=0.05)
        assert made.quantile(0.99) < 0.6 * np.quantile(gain, 0.99)
        assert made.mean() == pytest.approx(gain.mean(), rel=0.1)
    assert (made == 0).mean() < 0.7
    assert any("mostly zeros" in sentence for _, sentence in of_run(mechanism))


def test_rows_default_to_the_number_of_records():
    assert len(run(dpsyn.DPCDA(target="member", order_of_mixture=2, class_sizes=100)).rows) == TABLE.n


def test_missing_values_of_the_target_are_a_class():
    config = dpsyn.DPCDA(target="size", rows=40, class_sizes={"S": 50, "M": 50, "L": 50, None: 20})
    release = run(config)
    assert release.rows["size"].isna().sum() == 4  # 40 of 170 times 20 are 4.7; S, M and L have 11.8 each
    assert release.settings["class_sizes"] == {"S": 50, "M": 50, "L": 50, "None": 20}
    json.dumps(release.record())


def test_small_classes_are_dropped_on_the_private_counts_alone():
    frame = TABLE.frame.copy()
    frame["grade"] = np.where(np.arange(TABLE.n) < 5, "high", np.where(frame["grade"] == "low", "low", "middle"))
    release = run(dpsyn.DPCDA(target="grade", order_of_mixture=4, rows=30), table=dpsyn.Table(frame, TABLE.domain))
    assert release.diagnostics["dropped_classes"] == ["high"]
    assert len(release.rows) == 30
    assert set(release.rows["grade"]) == {"low", "middle"}


def test_failure_when_no_class_is_known_to_be_large_enough():
    with pytest.raises(FailureError, match="order_of_mixture"):
        run(dpsyn.DPCDA(target="grade", order_of_mixture=500, rows=30))


def test_an_overstated_private_count_does_not_stop_the_run():
    """β pays for it; an exception would reveal it."""
    mechanism = dpsyn.DPCDA(target="grade", order_of_mixture=150, rows=9).calibrate(SPEC, TABLE.domain, n=TABLE.n)

    class Overstating(NoiseSource):
        def discrete_laplace(self, values, scale):
            return values + 10_000

    rows, _ = mechanism._run(Overstating(np.random.default_rng(0)), TABLE.take(np.arange(60)), lambda step, share: None)
    assert len(rows) == 9


def test_false_public_sizes_are_an_input_error():
    with pytest.raises(InputError, match="declared"):
        run(dpsyn.DPCDA(target="grade", rows=30, class_sizes={"low": 10, "middle": 500, "high": 10}))


@pytest.mark.parametrize(
    ("field", "change"),
    [
        ("target", {"target": "nowhere"}),
        ("target", {"target": "visits"}),
        ("target", {"target": ""}),
        ("rows", {"rows": 2}),
        ("class_sizes", {"class_sizes": 3}),
        ("class_sizes", {"class_sizes": 0}),
        ("class_sizes", {"class_sizes": 300}),
        ("class_sizes", {"class_sizes": {"low": 100, "middle": 100}}),
        ("class_sizes", {"class_sizes": {"low": 100, "middle": 100, "high": 100, "top": 100}}),
        ("class_sizes", {"class_sizes": {"low": 100, "middle": 100, "high": 3}}),
    ],
)
def test_what_does_not_fit_the_domain_is_refused(field, change):
    with pytest.raises(ParameterError) as caught:
        replace(dpsyn.DPCDA(target="grade", order_of_mixture=4, rows=30), **change).calibrate(SPEC, TABLE.domain, n=TABLE.n)
    assert caught.value.field == field


def test_under_add_remove_the_number_of_rows_must_not_be_n():
    """Neighbours have n and n + 1 records: ⌊n/K⌋ rows of each class would tell them apart with certainty."""
    spec = replace(SPEC, neighbouring="add_remove")
    with pytest.raises(ParameterError) as caught:
        dpsyn.DPCDA(target="grade").calibrate(spec, TABLE.domain, n=TABLE.n)
    assert caught.value.field == "rows"
    mechanism = dpsyn.DPCDA(target="grade", rows=30).calibrate(spec, TABLE.domain, n=TABLE.n)
    assert not any("n is public" in assumption for assumption in mechanism.guarantee.assumptions)
    larger = every_kind(TABLE.n + 1)
    for table in (TABLE, larger):
        release = run(dpsyn.DPCDA(target="grade", order_of_mixture=2, rows=30), spec, table)
        assert len(release.rows) == 30
        assert "n" not in release.record()["settings"]


@pytest.mark.parametrize(
    ("field", "value"),
    [("order_of_mixture", 0), ("rows", 0), ("count_share", 0.0), ("count_share", 1.0), ("clip_norm", math.inf)],
)
def test_parameters_out_of_range_are_refused_when_made(field, value):
    with pytest.raises(ParameterError) as caught:
        dpsyn.DPCDA(target="grade", **{field: value})
    assert caught.value.field == field


def test_pure_privacy_is_impossible():
    with pytest.raises(CalibrationError, match="delta > 0"):
        dpsyn.DPCDA(target="grade").calibrate(dpsyn.PrivacySpec(epsilon=1.0), TABLE.domain, n=TABLE.n)


def test_a_table_of_labels_only_is_refused():
    table = TABLE.project(["grade"])
    with pytest.raises(ParameterError, match="other columns"):
        dpsyn.DPCDA(target="grade").calibrate(SPEC, table.domain, n=table.n)


@pytest.mark.parametrize(
    "attribute", [Attribute("sort", "categorical", ("x",)), Attribute("sort", "categorical", missing=True)]
)
def test_columns_of_one_value_are_refused_by_name(attribute):
    domain = Domain.of([*TABLE.domain.attributes, attribute])
    with pytest.raises(ParameterError, match="'sort' is not possible: this column has one value only") as caught:
        dpsyn.DPCDA(target="grade", rows=30).calibrate(SPEC, domain, n=TABLE.n)
    assert caught.value.field == "columns"
    assert "project" in str(caught.value)
    without = domain.project([name for name in domain.names if name != "sort"])
    assert dpsyn.DPCDA(target="grade", rows=30).calibrate(SPEC, without, n=TABLE.n).guarantee.status == "proven"


def test_all_columns_of_one_value_are_named():
    one = [Attribute(name, "categorical", ("x",), public=True) for name in ("sort", "place")]
    with pytest.raises(ParameterError, match="'sort, place' is not possible: these columns have one value only"):
        dpsyn.DPCDA(target="grade").calibrate(SPEC, Domain.of([TABLE.domain["grade"], *one]), n=TABLE.n)


def test_a_class_of_one_value_is_a_class():
    domain = TABLE.domain.replace(Attribute("grade", "categorical", ("low",), public=True))
    assert dpsyn.DPCDA(target="grade").calibrate(SPEC, domain, n=TABLE.n).guarantee.status == "proven"


@pytest.mark.parametrize("many", [80, 81])
def test_a_class_that_has_one_record_less_than_was_stated_is_refused(many: int) -> None:
    domain = Domain.of(
        [Attribute("x", "numeric", lower=0, upper=1, public=True), Attribute("k", "truth", (0, 1), public=True)]
    )
    table = dpsyn.Table(pd.DataFrame({"x": 0.5, "k": [0] * 80 + [1] * 90}), domain)
    mechanism = dpsyn.DPCDA("k", rows=4, order_of_mixture=2, class_sizes={0: many, 1: 85}).calibrate(SPEC, domain, table.n)
    if many <= 80:
        assert len(mechanism(np.random.default_rng(0), table).rows) == 4
    else:
        with pytest.raises(InputError, match="declared to hold at least 81 records"):
            mechanism(np.random.default_rng(0), table)


def test_a_run_is_warned_of_where_the_median_of_noise_loses_classes_of_average_size() -> None:
    two = Domain.of([Attribute(name, "truth", ("no", "yes"), public=True) for name in ("ill", "old")])
    spec, config = dpsyn.PrivacySpec(1.0, 1e-5), dpsyn.DPCDA(target="ill", order_of_mixture=8)
    margin = config.calibrate(spec, two, n=10_000).budget.count_margin
    lost, enough = 2 * (margin + 8), 2 * (margin + 9)
    median = NoiseSource(np.random.default_rng(0))
    object.__setattr__(median, "discrete_laplace", lambda counts, _scale: counts)
    assert config.calibrate(spec, two, n=enough)._sizes(median, np.array([enough // 2] * 2)) == [9, 9]
    with pytest.raises(FailureError, match="no class of 'ill' is known to hold more than 8"):
        config.calibrate(spec, two, n=lost)._sizes(median, np.array([lost // 2] * 2))
    (said,) = (s for kind, s in of_run(config.calibrate(spec, two, n=lost)) if kind == "warning")
    assert (
        f"of n = {lost} records a class of average size has {lost // 2}, and noisy counts lose a margin of {margin}" in said
    )
    for other in (
        config.calibrate(spec, two, n=enough),
        replace(config, class_sizes=100).calibrate(spec, two, n=lost),
        replace(config, rows=lost).calibrate(replace(spec, neighbouring="add_remove"), two, n=40),  # a secret
        replace(config, rows=lost, variant="poisson").calibrate(spec, two, n=40),
    ):
        assert not [s for kind, s in of_run(other) if kind == "warning"]
