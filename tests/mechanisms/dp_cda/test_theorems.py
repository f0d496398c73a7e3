"""DP-CDA's conditions and noise scales."""

import datetime
import json
import math
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy.optimize import brentq
from scipy.stats import norm

from dpsyn.data.samples import load_sample
from dpsyn.domain import Attribute, Domain
from dpsyn.errors import InputError, ParameterError
from dpsyn.mechanisms.dp_cda import DPCDA
from dpsyn.mechanisms.dp_cda.theorems import (
    MixingSetting,
    conditions,
    dp_cda_verdict,
    exact_epsilon,
    exact_sigma,
    of_release,
    plain_gaussian_sigma,
    verdict,
)
from dpsyn.mechanisms.feature_map import FeatureMap, changed_by_noise
from dpsyn.privacy.spec import PrivacySpec
from dpsyn.table import Table
from tests.mechanisms.dp_cda import changes

SPEC = PrivacySpec(2.0, 1e-5)
SETTING = MixingSetting(n=2000, spec=SPEC, classes=2, smallest_class=600, order_of_mixture=4, rows=40)


def test_without_a_noise_scale_one_is_chosen_and_everything_holds() -> None:
    verdict = dp_cda_verdict(SETTING)
    assert verdict.holds
    assert verdict["noise"].assumed
    assert verdict.facts["rows_per_class"] == 20
    assert verdict.facts["sensitivity"] == 0.5
    assert verdict["noise"].required == pytest.approx(verdict.facts["sigma_exact"])
    assert "upper bound" not in verdict.summary


@pytest.mark.parametrize("epsilon", [0.5, 1.0, 2.0, 3.0])
def test_the_noise_that_is_named_is_enough(epsilon: float) -> None:
    setting = replace(SETTING, spec=PrivacySpec(epsilon, 1e-5))
    found = dp_cda_verdict(setting)
    named = float(found.summary.split("noise of scale ")[1].split()[0])
    assert exact_sigma(setting) <= named <= 1.01 * exact_sigma(setting)
    assert exact_epsilon(setting, named) <= epsilon
    assert found.headline is not None
    assert found.headline.number == f"σ = {named:g}"


def test_a_bound_without_sampling_is_called_one() -> None:
    """It can be a hundred times too large, so the summary must not let it pass for the noise that is needed."""
    large = MixingSetting(n=2_000_000, spec=PrivacySpec(1.0, 1e-5), rows=1000)
    for setting in (replace(SETTING, exact=False), large):
        verdict = dp_cda_verdict(setting)
        assert verdict.facts["sigma_exact"] is None
        assert verdict["noise"].required == pytest.approx(plain_gaussian_sigma(setting))
        # A scale that no run would take is not written.
        assert "Gaussian noise on averages" in verdict.summary
        assert verdict.headline.number == "σ not computed"
        assert "upper bound" in verdict["noise"].note
    stated = replace(SETTING, exact=False, noise_scale=5.0)
    assert "upper bound" not in dp_cda_verdict(stated).summary


def test_a_thousand_rows_of_four_records_need_little_noise() -> None:
    """ASIA's 20,000 rows at ε = 1: 0.271, where the bound without sampling says 64."""
    setting = MixingSetting(n=20_000, spec=PrivacySpec(1.0, 1e-5), classes=2, order_of_mixture=4, rows=1000)
    assert plain_gaussian_sigma(setting) == pytest.approx(64, rel=0.05)
    assert exact_sigma(setting) == pytest.approx(0.27096, rel=0.03)


def test_the_plain_sigma_is_enough_and_the_exact_one_is_smaller() -> None:
    for spec in (SPEC, PrivacySpec(2.0, 1e-5, "add_remove")):
        setting = replace(SETTING, spec=spec)
        plain, exact = plain_gaussian_sigma(setting), exact_sigma(setting)
        assert exact < plain
        assert exact_epsilon(setting, plain) <= 2.0
        assert exact_epsilon(setting, exact) <= 2.0 * 1.02
        assert exact_epsilon(setting, 0.7 * exact) > 2.0


def test_exact_accounting_is_that_of_the_accountant() -> None:
    verdict = dp_cda_verdict(replace(SETTING, exact=True))
    sigma = verdict.facts["sigma_exact"]
    assert verdict["noise"].required == pytest.approx(sigma)
    known = changes.replace_one_epsilon(
        order_of_mixture=4, sigma=sigma, clip_norm=1.0, class_sizes=[600, 600], rows=20, delta=1e-5, tolerance=1e-4
    )
    assert 0.945 * 2.0 < known <= 2.0  # both the search and the discretisation may take 2 %, the latter up to 1.7 times


def test_a_given_noise_scale_is_judged_by_its_epsilon() -> None:
    enough, little = exact_sigma(SETTING) * 1.05, exact_sigma(SETTING) * 0.7
    assert dp_cda_verdict(replace(SETTING, noise_scale=enough)).holds
    verdict = dp_cda_verdict(replace(SETTING, noise_scale=little, exact=True))
    assert [c.key for c in verdict.missed] == ["noise"]
    for parameter in ("epsilon", "noise_scale"):
        remedy = verdict["noise"].remedy(parameter)
        assert remedy is not None
        assert remedy.value is not None
        spec = PrivacySpec(remedy.value, 1e-5) if parameter == "epsilon" else SPEC
        scale = remedy.value if parameter == "noise_scale" else little
        assert conditions(replace(SETTING, spec=spec, noise_scale=scale))[-1].holds


def test_mixing_more_records_than_a_class_has() -> None:
    verdict = dp_cda_verdict(replace(SETTING, order_of_mixture=601))
    assert {c.key for c in verdict.missed} == {"order_of_mixture"}
    remedy = verdict["order_of_mixture"].remedy("order_of_mixture")
    assert remedy is not None
    assert remedy.value == 600
    assert "600" in verdict.summary
    # All of the class in every row: Gaussian noise on 20 averages of each of two classes, each of which moves by 2/600.
    whole, shift = dp_cda_verdict(replace(SETTING, order_of_mixture=600)), math.sqrt(40) / 300
    assert whole.holds
    least = brentq(
        lambda s: norm.cdf(shift / 2 / s - 2 * s / shift) - math.e**2 * norm.cdf(-shift / 2 / s - 2 * s / shift) - 1e-5,
        0.01,
        1,
    )
    assert least <= whole["noise"].required <= 1.03 * least


def test_larger_classes_are_tried_with_as_many_records_as_they_hold() -> None:
    """Of two classes of 600 in 2,000: mixing 600 needs more noise than there is, and 1,500 are in classes of 3,000."""
    verdict = dp_cda_verdict(replace(SETTING, order_of_mixture=1500, noise_scale=0.03))
    assert [c.key for c in verdict.missed] == ["order_of_mixture"]
    assert str(verdict.change) == "smallest_class ≥ 1,500"
    assert dp_cda_verdict(replace(SETTING, order_of_mixture=1500, noise_scale=0.03, smallest_class=1500, n=3000)).holds
    assert not dp_cda_verdict(replace(SETTING, order_of_mixture=600, noise_scale=0.03)).holds


def test_balanced_classes_are_assumed_and_said_so() -> None:
    guess = replace(SETTING, smallest_class=None)
    assert guess.sizes.smallest == 1000
    assert "state it" in dp_cda_verdict(guess)["order_of_mixture"].note
    for setting in (guess, replace(guess, noise_scale=5.0)):
        verdict = dp_cda_verdict(setting)
        assert verdict.holds
        assert verdict["order_of_mixture"].assumed
        assert verdict["noise"].assumed
        assert verdict.summary.startswith("Every condition holds if the smallest class holds n/K = 1,000 records: ")
    failing = dp_cda_verdict(replace(guess, noise_scale=1e-3))
    assert not failing["noise"].assumed
    assert failing.summary.endswith("It is so if the smallest class holds n/K = 1,000 records.")
    for known in (SETTING, replace(guess, classes=1)):
        assert not dp_cda_verdict(known)["order_of_mixture"].assumed
        assert "n/K" not in dp_cda_verdict(known).summary
    few = dp_cda_verdict(replace(guess, n=7))["order_of_mixture"]
    assert not few.holds
    assert not few.assumed  # of 7 records no two classes have 4
    needed = few.remedy("n")
    assert needed is not None
    assert needed.value == 8


def test_an_empty_class() -> None:
    verdict = dp_cda_verdict(replace(SETTING, smallest_class=0))
    assert not verdict.holds
    assert verdict.facts["sampling_rate"] is None
    json.dumps(verdict.to_dict(), allow_nan=False)


def test_pure_privacy_is_impossible_with_gaussian_noise() -> None:
    verdict = dp_cda_verdict(replace(SETTING, spec=PrivacySpec(2.0)))
    assert {c.key for c in verdict.missed} == {"delta"}
    assert "needs more than 0" in verdict.summary
    assert "delta ≥" in verdict.summary
    json.dumps(verdict.to_dict(), allow_nan=False)


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("classes", 0),
        ("order_of_mixture", 0),
        ("rows", 0),
        ("smallest_class", 1001),
        ("noise_scale", 0.0),
        ("clip_norm", math.inf),
    ],
)
def test_meaningless_values_name_their_field(field: str, value: float) -> None:
    with pytest.raises(ParameterError) as caught:
        replace(SETTING, **{field: value})
    assert caught.value.field == field


@pytest.mark.parametrize(
    ("sizes", "smallest"), [({"yes": 9000, "no": 70}, 70), ({"no": 9000, "yes": 70}, 70), (900, 900), (None, 9049)]
)
def test_a_release_is_judged_by_the_smallest_class_that_it_was_calibrated_to(
    sizes: dict[str, int] | int | None, smallest: int
) -> None:
    """Stated class by class, stated for all, or not at all: then by the real rows, 9,049 of them yes and 10,951 no."""
    table = load_sample("asia").project(["smoke", "bronc", "dysp"])
    mechanism = DPCDA(target="bronc", rows=100, order_of_mixture=4, class_sizes=sizes).calibrate(SPEC, table.domain, table.n)
    released = mechanism(np.random.default_rng(0), table)
    spec, asked, words = of_release(released.settings, released.rows, table.statistics(), table.frame)
    per_class = int(released.rows["bronc"].value_counts().max())
    assert asked == {
        "order_of_mixture": 4,
        "classes": 2,
        "smallest_class": smallest,
        "rows": 2 * per_class,
        "clip_norm": pytest.approx(1.0),
    }
    assert f"at most {per_class} rows of each class" in words
    assert (spec == SPEC) is (sizes is not None)
    assert ("class counts have their part" in words) is (sizes is None)


def test_a_release_without_stated_sizes_is_judged_by_the_real_classes_that_it_has_rows_of() -> None:
    table = load_sample("asia").project(["smoke", "bronc", "dysp"])
    mechanism = DPCDA(target="bronc", rows=100, order_of_mixture=4).calibrate(SPEC, table.domain, table.n)
    released = mechanism(np.random.default_rng(0), table)
    one = released.rows[released.rows["bronc"] == "no"]
    for rows, real, found in (
        (released.rows, table.frame, (2, 9049)),
        (one, table.frame, (1, 10951)),
        (released.rows, table.frame.iloc[:8], (2, 3)),
        (released.rows, table.frame[table.frame["bronc"] == "no"], (2, 0)),
        (released.rows, table.frame[["smoke"]], (2, None)),
    ):
        _, asked, _ = of_release(released.settings, rows, table.statistics(), real)
        assert (asked["classes"], asked["smallest_class"]) == found


@pytest.mark.parametrize("classes", [("a", "b"), (1, 2)], ids=str)
def test_empty_cells_are_a_class_where_a_release_is_judged(classes: tuple[Any, Any]) -> None:
    """600 of them, and of the others 250 and 150; most rows of a release are then of that class, too."""
    frame = pd.DataFrame({"y": [None] * 600 + [classes[0]] * 250 + [classes[1]] * 150, "x": [0, 1] * 500})
    domain = Domain.of(
        [
            Attribute("y", "categorical", categories=classes, missing=True, public=True),
            Attribute("x", "truth", categories=(0, 1), public=True),
        ]
    )
    table = Table(frame, domain)
    released = DPCDA(target="y", rows=100, order_of_mixture=2).calibrate(SPEC, domain, 1000)(np.random.default_rng(0), table)
    _, asked, words = of_release(released.settings, released.rows, table.statistics(), table.frame)
    empty = int(released.rows["y"].isna().sum())
    assert empty > 45
    assert (asked["classes"], asked["smallest_class"], asked["rows"]) == (3, 150, 3 * empty)
    assert f"at most {empty} rows of each class; class counts have their part, the averages ε = 1.8, δ = 9e-06" in words


@pytest.mark.parametrize("stored", ["boolean", "object", "date"])
def test_classes_are_counted_whatever_type_the_real_column_has(stored: str) -> None:
    days = [datetime.date(2024, 1, 31), datetime.date(2024, 2, 1)]
    values: list[Any] = days if stored == "date" else [True, False]
    real = pd.Series([values[0]] * 60 + [values[1]] * 50 + [None] * 40, dtype="object" if stored == "date" else stored)
    shown = [str(day) for day in days] if stored == "date" else values
    released = pd.DataFrame({"y": pd.Series([*shown, None], dtype=object)})
    classes = Attribute("y", "categorical", categories=tuple(shown), missing=True, public=True)
    domain = Domain.of([classes, Attribute("x", "truth", categories=(0, 1), public=True)])
    table = Table(pd.DataFrame({"y": real, "x": [0, 1] * 75}), domain)
    settings = DPCDA(target="y", rows=3, order_of_mixture=2).calibrate(SPEC, domain, 150).facts()
    _, asked, _ = of_release(settings, released, table.statistics(), table.frame)
    assert (asked["classes"], asked["smallest_class"]) == (3, 40)


def test_a_class_is_no_larger_than_the_rows_at_hand_allow() -> None:
    """A release of other rows, of which more of each class were stated; between the neighbours that it was made for."""
    table = load_sample("asia")
    wanted = replace(SPEC, neighbouring="add_remove")
    mechanism = DPCDA(target="bronc", rows=100, class_sizes=900).calibrate(wanted, table.domain, table.n)
    few = table.take(np.arange(1001))
    spec, asked, words = of_release(mechanism.facts(), table.frame.head(50), few.statistics(), few.frame)
    assert asked["smallest_class"] == 500
    assert spec == wanted
    assert "class counts" not in words


@pytest.mark.parametrize("change", [{"variant": "poisson"}, {"scaling": "private"}])
def test_the_conditions_say_nothing_of_other_variants_of_a_release(change: dict[str, str]) -> None:
    table = load_sample("car")
    mechanism = DPCDA(target="class", rows=20, class_sizes=40, **change).calibrate(SPEC, table.domain, table.n)  # type: ignore[arg-type]
    with pytest.raises(InputError, match=r"^the conditions are about"):
        of_release(mechanism.facts(), table.frame, table.statistics(), table.frame)


@pytest.mark.parametrize("scale", [0.15, 0.28, 0.5])
def test_noise_changes_at_least_so_many_values(scale: float) -> None:
    table = load_sample("asia").project(["asia", "tub", "smoke", "lung", "bronc"])
    features = FeatureMap(table.domain)
    generator = np.random.default_rng(5)
    points = features.encode(table)
    noisy = features.decode(points + generator.normal(0, scale, points.shape), generator)
    changed = np.mean([(noisy[name].to_numpy() != table.frame[name].to_numpy()).mean() for name in table.domain.names])
    # 100,000 values: the standard error is below 0.0016. Here all records are vertices, so that it is equal.
    assert changed == pytest.approx(changed_by_noise(scale, 5), abs=0.006)
    averages = (points[::2] + points[1::2]) / 2
    plain = features.decode(averages.copy(), generator)
    noisy = features.decode(averages + generator.normal(0, scale, averages.shape), generator)
    assert np.mean([(noisy[n] != plain[n]).mean() for n in table.domain.names]) > changed_by_noise(scale, 5) - 0.006


def test_the_headline_never_calls_unbounded_rows_good() -> None:
    stats = load_sample("asia").statistics()
    said = verdict(stats, PrivacySpec(1.0, 1e-5), rows=1000, smallest_class=8000, exact_accounting=True).headline
    assert said is not None
    share = changed_by_noise(verdict(stats, PrivacySpec(1.0, 1e-5), rows=1000, smallest_class=8000).facts["sigma_exact"], 7)
    assert said.level == "open"
    shown = float(said.sentence.split("at least ")[1].split(" %")[0])
    assert 0.94 * 100 * share < shown <= 100 * share
    assert said.number.startswith("σ = ")
    assert " if class sizes are public. " in said.sentence
    guessed = verdict(stats, PrivacySpec(1.0, 1e-5), rows=1000).headline
    assert guessed is not None
    assert "if the smallest class holds n/K" in guessed.sentence
    quiet = verdict(stats, PrivacySpec(1000.0, 1e-5), rows=1000, smallest_class=8000).headline
    assert quiet is not None
    assert quiet.number.startswith("σ = ")
    assert quiet.level == "open"
    without = verdict(stats, PrivacySpec(1.0), rows=1000, smallest_class=8000).headline
    assert without is not None
    assert (without.level, "Not private" in without.sentence) == ("bad", True)
