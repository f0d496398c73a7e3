"""The report's verdict on each release, from the settings of that release."""

from __future__ import annotations

import math
from dataclasses import replace
from functools import cache
from typing import get_args

import numpy as np
import pytest

import dpsyn
from dpsyn.app.lab.report import release_parts, release_verdict, report_bytes
from dpsyn.evaluation.experiments import MadeRelease
from dpsyn.kit.visit import Dataset
from dpsyn.privacy.spec import Status

SPEC = dpsyn.PrivacySpec(3.0, 1e-5)


@cache
def asia(*, confirmed: bool = True) -> Dataset:
    table = dpsyn.load_sample("asia").take(np.arange(800))
    if not confirmed:
        domain = replace(table.domain, attributes=tuple(replace(a, public=False) for a in table.domain.attributes))
        table = table.with_domain(domain)
    return Dataset(table=table, full=table, target="dysp", sample=None, revision=1)


def made(config, spec, number=1, current=None):
    current = current or asia()
    learn = current.parts[0]
    release = config.calibrate(spec, learn.domain, n=learn.n)(np.random.default_rng(number), learn)
    return MadeRelease(number, config.title, release, number, learn.name, learn.domain, 0.1, config)


def test_private_sampling_is_judged_by_its_own_rows_and_box():
    config = dpsyn.PrivateSampling(degree=1, floor=0.2, ceiling=3.0, rows=2)
    verdict, words = release_verdict(made(config, dpsyn.PrivacySpec(6.0)), asia())
    learn = asia().parts[0]
    expected = dpsyn.feasibility(
        learn.statistics(),
        dpsyn.PrivacySpec(6.0),
        degree=1,
        floor=0.2,
        ceiling=3.0,
        rows=2,
        reduced_space_size=256,
        whole_domain=True,
    ).private_sampling
    assert [(c.key, c.log_required, c.log_actual) for c in verdict.conditions] == [
        (c.key, c.log_required, c.log_actual) for c in expected.conditions
    ]
    assert verdict.holds_in("privacy")
    for part in ("ε = 6", "n = 600", "k = 2", "floor 0.2", "ceiling 3"):
        assert part in words


def test_noisy_reweighting_is_judged_by_its_rows_degree_and_noise():
    verdict, words = release_verdict(made(dpsyn.NoisyReweighting(degree=1, rows=50), SPEC), asia())
    expected = dpsyn.feasibility(
        asia().parts[0].statistics(), SPEC, degree=1, rows=50, statistics="walsh", noise="gaussian"
    ).noisy_reweighting
    assert verdict.summary == expected.summary
    assert "k = 50" in words
    assert "Gaussian" in words


@pytest.mark.parametrize(
    ("neighbouring", "words"), [("replace_one", "replacing one of n rows"), ("add_remove", "adding or removing a row")]
)
def test_each_release_is_judged_for_the_neighbours_that_it_was_asked_for(neighbouring, words):
    for config in (
        dpsyn.NoisyReweighting(degree=1, rows=50),
        dpsyn.PrivateSampling(degree=1, floor=0.2, ceiling=3.0, rows=2),
        dpsyn.DPCDA(target="dysp", order_of_mixture=8, rows=60, class_sizes=100),
    ):
        verdict, said = release_verdict(made(config, dpsyn.PrivacySpec(6.0, 1e-5, neighbouring)), asia())
        assert words in said
        if config.name == "noisy_reweighting":
            assert [c.holds for c in verdict.conditions if c.key == "public_n"] == [False] * (neighbouring == "add_remove")


def test_dp_cda_is_judged_by_its_order_of_mixture_and_rows_per_class():
    config = dpsyn.DPCDA(target="dysp", order_of_mixture=8, rows=60, class_sizes=100)
    verdict, words = release_verdict(made(config, SPEC), asia())
    expected = dpsyn.feasibility(
        asia().parts[0].statistics(), SPEC, order_of_mixture=8, rows=60, classes=2, smallest_class=100
    ).dp_cda
    assert verdict.facts == expected.facts
    assert verdict.facts["rows_per_class"] == 30
    assert "l = 8, at most 30 rows of each class" in words


def test_what_the_class_counts_cost_is_not_counted_twice():
    found = made(dpsyn.DPCDA(target="dysp", order_of_mixture=4), SPEC)
    verdict, words = release_verdict(found, asia())
    assert "(2.7, 9 × 10⁻⁶)" in verdict.summary
    assert "the averages ε = 2.7, δ = 9 × 10⁻⁶" in words
    assert "At ε = 3, δ = 10⁻⁵" in words


def test_each_release_has_its_own_verdict_and_its_budget_is_a_table():
    releases = [
        made(dpsyn.NoisyReweighting(rows=50), SPEC, 1),
        made(dpsyn.NoisyReweighting(rows=50), dpsyn.PrivacySpec(0.5, 1e-6), 2),
        made(dpsyn.DPCDA(target="dysp", order_of_mixture=4), SPEC, 3),
    ]
    text = report_bytes(asia(), releases, None, []).decode()
    assert "At ε = 3, δ = 10⁻⁵" in text
    assert "At ε = 0.5, δ = 10⁻⁶" in text
    most = releases[2].release.rows["dysp"].value_counts().max()
    assert 300 < most < 400
    assert text.count(f"at most {most} rows of each class") == 1
    assert "<td>Walsh functions of order 2</td>" in text
    assert "<td>class counts</td>" in text
    assert "{&#x27;" not in text


@pytest.mark.parametrize("known", range(9))
def test_one_column_that_nobody_confirmed_is_enough_for_no_privacy_to_hold(known):
    domain = dpsyn.Domain.of(replace(a, public=at < known) for at, a in enumerate(asia().table.domain.attributes))
    table = asia().table.with_domain(domain)
    text = report_bytes(Dataset(table=table, full=table, target="dysp", revision=2), [], None, []).decode()
    assert ("Privacy is not yet true" in text) == (known < 8)
    assert ("inferred from the private rows: not public" in text) == (known < 8)
    assert ("confirmed as public knowledge" in text) == (known == 8)


@pytest.mark.parametrize("status", get_args(Status))
def test_what_nobody_has_checked_or_nothing_is_known_of_has_no_verdict(status):
    found = made(dpsyn.NoisyReweighting(rows=50), SPEC)
    epsilon = math.inf if status == "published_but_wrong" else 3.0
    claim = replace(found.release.guarantee, epsilon=epsilon, status=status)
    stated = replace(found, seed=None, release=replace(found.release, seeded=False, guarantee=claim))
    parts = release_parts(stated, asia())
    assert ("no verdict" in parts[0]) == (status in ("stated", "published_but_wrong"))
    assert (len(parts) == 1) == ("no verdict" in parts[0])
    text = report_bytes(asia(), [stated], None, []).decode()
    assert ("The budget:" in text) == (status != "stated")  # which is of its settings


def test_the_report_says_that_no_privacy_holds_on_a_domain_nobody_confirmed():
    current = asia(confirmed=False)
    found = made(dpsyn.NoisyReweighting(rows=50), SPEC, current=current)
    waits = "nobody confirmed the domain as public"
    for releases in ([], [found]):
        assert waits in report_bytes(current, releases, None, []).decode()
        assert waits not in report_bytes(asia(), releases and [made(found.config, SPEC)], None, []).decode()


@pytest.mark.parametrize("number", [599, 600, 601])
def test_rows_split_anew_since_are_said_and_not_judged(number):
    found = made(dpsyn.NoisyReweighting(rows=50), SPEC)
    moved = replace(found, release=replace(found.release, settings={**found.release.settings, "n": number}))
    judged = len(release_parts(moved, asia())) > 1
    assert judged == (number == 600)


def test_private_counts_are_judged_by_the_real_smallest_class():
    """Nobody declared a size; the page reads the rows and says so, and does not take the classes as balanced."""
    verdict, _ = release_verdict(made(dpsyn.DPCDA(target="dysp", order_of_mixture=4), SPEC), asia())
    learn = asia().parts[0]
    smallest = learn.smallest_class("dysp")
    assert smallest == learn.frame["dysp"].value_counts().min() < learn.n // 2
    assert verdict.facts["class_size"] == smallest
    assert "n/K" not in verdict.summary
    assert "n/K" not in report_bytes(asia(), [], None, []).decode()
    without = report_bytes(replace(asia(), target=None), [], None, []).decode()
    assert "n/K" not in without
    assert "DP-CDA: no verdict; it needs a column of classes." in without


def test_a_class_that_was_left_out_is_said_beside_the_verdict():
    table = asia().table
    frame = table.frame.assign(dysp=["yes"] * 8 + ["no"] * (table.n - 8))
    few = dpsyn.Table(frame, table.domain)
    current = Dataset(table=few, full=few, target="dysp", sample=None, revision=1)
    plain = dpsyn.DPCDA("dysp", order_of_mixture=64)
    for config in (plain, replace(plain, variant="poisson")):
        found = made(config, SPEC, current=current)
        assert set(found.release.rows["dysp"]) == {"no"}
        first, said, *_ = release_parts(found, current)
        assert ("no verdict" in first) is (config.variant == "poisson")
        assert said.startswith("No row of the class yes: by the private counts it may have too few records to mix.")
        assert said in report_bytes(current, [found], None, []).decode()
    judged, _ = release_verdict(made(plain, SPEC, current=current), current)
    assert judged["order_of_mixture"].label == "Every class that rows are made of has enough records to mix"
    assert "makes a sample with at most 600 of each class" in judged.summary
    stated = replace(found.release, guarantee=replace(found.release.guarantee, status="stated"))
    assert len(release_parts(replace(found, release=stated), current)) == 1


def test_what_no_theorem_is_about_is_said_in_a_sentence():
    for config, words in (
        (dpsyn.MWEM(degree=1, rows=50), "Theorem 2.2 is about measuring cells, and this release measured whole tables"),
        (dpsyn.DPCDA("dysp", variant="poisson"), "mixing exactly l records, and this release mixed Poisson samples"),
        (dpsyn.DPCDA("dysp", scaling="private"), "scaling by public bounds, and this release scaled by noisy means"),
        (dpsyn.NoisyReweighting(degree=1, rows=50, statistics="conjunctions"), "and this release took others"),
    ):
        (said,) = release_parts(made(config, SPEC), asia())
        assert words in said
        assert "not possible" not in said


def test_a_whole_domain_has_no_condition_on_what_is_drawn():
    whole = made(dpsyn.PrivateSampling(degree=1, floor=0.2, ceiling=3.0, rows=2), dpsyn.PrivacySpec(6.0))
    verdict, words = release_verdict(whole, asia())
    assert "nothing was drawn, so no condition on its size applies" in words
    kept = {"floor", "ceiling", "rows_upper", "n", "rows_lower", "max_frequency", "success", "promise"}
    assert {condition.key for condition in verdict.conditions} == kept
    assert not verdict.holds_in("accuracy")
    fitted = made(dpsyn.NoisyReweighting(degree=1, rows=50), SPEC)
    verdict, words = release_verdict(fitted, asia())
    assert "nothing was drawn, so no condition on its size applies" in words
    assert verdict["m_lower"].holds
