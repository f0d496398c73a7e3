"""ε of a release by hand: rows, the histograms before them, and which of two certificates is named."""

from __future__ import annotations

import dataclasses
import math
import re
from itertools import product
from typing import Any

import pytest

import dpsyn
from dpsyn.domain import Attribute, Domain
from dpsyn.errors import CalibrationError, ParameterError
from dpsyn.mechanisms.private_sampling import DEGENERATE_SOURCE, MOST_ROWS, RATIO_SOURCE, THEOREM_SOURCE, PrivateSampling
from dpsyn.mechanisms.private_sampling.answers import certificate_answers
from dpsyn.mechanisms.private_sampling.bounds import sampling_setting
from dpsyn.mechanisms.private_sampling.certificates import bounded_ratio_epsilon
from dpsyn.mechanisms.private_sampling.theorems import private_sampling_verdict

LN8 = bounded_ratio_epsilon(rows=1, floor=0.25, ceiling=2.0)
NUMBER = Attribute("x", "numeric", lower=0.0, upper=1.0, bins=4, public=True)


def cube(bits: int) -> Domain:
    return Domain.of(Attribute(f"c{j}", "categorical", ("no", "yes"), public=True) for j in range(bits))


@pytest.mark.parametrize("neighbouring", ["replace_one", "add_remove"])
def test_histograms_and_rows_share_epsilon(neighbouring: str) -> None:
    spec = dpsyn.PrivacySpec(10.0, neighbouring=neighbouring)
    domain = Domain.of([NUMBER, *cube(2).attributes])
    mechanism = PrivateSampling(rows=2, histogram_share=0.25).calibrate(spec, domain, n=50)
    assert mechanism.stage.epsilon == pytest.approx(2.5, rel=1e-11)
    assert mechanism.guarantee.epsilon == pytest.approx(2.5 + 2 * LN8, rel=1e-11)
    assert mechanism.guarantee.delta == 0
    assert mechanism.guarantee.neighbouring == neighbouring
    assert mechanism.guarantee.source.startswith(RATIO_SOURCE)
    assert "histograms" in mechanism.guarantee.source
    assert mechanism.spec == spec
    as_many = PrivateSampling(histogram_share=0.25).calibrate(spec, domain, n=50)
    assert as_many.rows == 3  # 4 rows would cost 8.3 of the 7.5 that are left
    assert as_many.guarantee.epsilon == pytest.approx(2.5 + 3 * LN8, rel=1e-11)


@pytest.mark.parametrize("neighbouring", ["replace_one", "add_remove"])
@pytest.mark.parametrize("share", [0.01, 0.5])
@pytest.mark.parametrize("rows", [1, 2, 5])
def test_the_histograms_are_in_the_claim_of_any_number_of_rows(rows: int, share: float, neighbouring: str) -> None:
    asked = rows * LN8 / (1 - share) * (1 + 1e-9)  # hardly more than the rows and the histograms cost
    spec = dpsyn.PrivacySpec(asked, neighbouring=neighbouring)
    domain = Domain.of([NUMBER, *cube(2).attributes])
    for config in (PrivateSampling(rows=rows, histogram_share=share), PrivateSampling(histogram_share=share)):
        mechanism = config.calibrate(spec, domain, n=50)
        assert mechanism.rows == rows
        assert mechanism.stage.epsilon == pytest.approx(share * asked, rel=1e-11)
        assert mechanism.guarantee.epsilon == pytest.approx(share * asked + rows * LN8, rel=1e-11)


@pytest.mark.parametrize("rows", [1, 2, 5])
def test_they_are_in_the_claim_by_the_theorem_too(rows: int) -> None:
    halved = Domain.of([dataclasses.replace(NUMBER, bins=2), *cube(7).attributes])
    mechanism = PrivateSampling(rows=rows, histogram_share=0.1).calibrate(dpsyn.PrivacySpec(rows * LN8), halved, n=10**9)
    assert mechanism.guarantee.source.startswith(THEOREM_SOURCE)
    assert mechanism.theorem_4_1_per_row is not None
    claimed = 0.1 * rows * LN8 + rows * mechanism.theorem_4_1_per_row
    assert mechanism.guarantee.epsilon == pytest.approx(claimed, rel=1e-11)


def test_what_ignores_the_data_spends_nothing_on_histograms() -> None:
    mechanism = PrivateSampling(rows=2, floor=0.5, histogram_share=0.25).calibrate(
        dpsyn.PrivacySpec(1.0), Domain.of([NUMBER]), n=50
    )
    assert mechanism.stage.epsilon == mechanism.guarantee.epsilon == 0
    assert mechanism.guarantee.source == DEGENERATE_SOURCE
    assert mechanism.stage.histograms is None


@pytest.mark.parametrize(("neighbouring", "rows"), [("replace_one", 50), ("add_remove", MOST_ROWS)])
def test_rows_that_cost_nothing_are_as_many_as_may_be_known(neighbouring: str, rows: int) -> None:
    spec = dpsyn.PrivacySpec(1.0, neighbouring=neighbouring)
    mechanism = PrivateSampling(floor=0.5).calibrate(spec, cube(2), n=50)
    assert (mechanism.rows, mechanism.guarantee.epsilon) == (rows, 0.0)


def test_the_ratio_is_claimed_where_it_is_enough_though_the_theorem_is_smaller() -> None:
    at_once = PrivateSampling(rows=2).calibrate(dpsyn.PrivacySpec(2 * LN8), cube(8), n=10**9)
    assert at_once.guarantee.source == RATIO_SOURCE
    assert at_once.guarantee.status == "proven"
    assert at_once.guarantee.epsilon == 2 * LN8
    assert at_once.theorem_4_1_per_row is not None
    assert at_once.theorem_4_1_per_row < LN8
    below = PrivateSampling(rows=2).calibrate(dpsyn.PrivacySpec(2 * LN8 - 1e-6), cube(8), n=10**9)
    assert below.guarantee.source == THEOREM_SOURCE
    assert below.guarantee.epsilon == 2 * at_once.theorem_4_1_per_row
    larger = PrivateSampling(rows=2).calibrate(dpsyn.PrivacySpec(2 * LN8), cube(8), n=10**3)
    assert larger.theorem_4_1_per_row is not None
    assert larger.theorem_4_1_per_row > LN8
    assert larger.guarantee.epsilon == 2 * LN8


@pytest.mark.parametrize("rows", [None, 1, 5])
@pytest.mark.parametrize("degree", [1, 2])
@pytest.mark.parametrize("bits", range(2, 7))
def test_feasibility_shows_the_epsilon_that_a_release_claims(bits: int, degree: int, rows: int | None) -> None:
    kinds = set()
    for exponent, epsilon in product(range(3, 9), (0.1, 0.5, 1.0, 2.0, 3.0, 7.0, 20.0)):
        n, spec = 10**exponent, dpsyn.PrivacySpec(epsilon)
        config = PrivateSampling(degree=degree, rows=rows)
        try:
            mechanism = config.calibrate(spec, cube(bits), n)
            if rows is None:  # so many are then asked for
                mechanism = dataclasses.replace(config, rows=mechanism.rows).calibrate(spec, cube(bits), n)
        except CalibrationError:
            mechanism = None
        stats = dpsyn.DatasetStatistics(p=bits, n=n, max_frequency=0.5, sizes=(2,) * bits)
        k = rows or (1 if mechanism is None else mechanism.rows)
        setting = sampling_setting(stats, spec, degree=degree, rows=k, reduced_space_size=2**bits, whole_domain=True)
        said, (claimed,) = private_sampling_verdict(setting), [a for a in certificate_answers(setting) if a.claimed]
        assert said.headline is not None
        shown = float(said.headline.number.removeprefix("ε = ").replace(",", ""))
        assert (said.headline.level == "bad") is (mechanism is None)
        smaller = said.facts["epsilon_theorem_4_1"] < said.facts["epsilon_bounded_ratio"]
        if mechanism is None:
            assert shown > epsilon
            assert said.headline.sentence.endswith(" in exact arithmetic.") is smaller
            continue
        exact = mechanism.guarantee.status == "real_arithmetic"
        assert mechanism.guarantee.epsilon <= shown <= mechanism.guarantee.epsilon * 1.011
        assert claimed.smallest_epsilon == pytest.approx(mechanism.guarantee.epsilon, rel=1e-9)
        assert (claimed.certificate == "theorem_4_1") is exact
        assert claimed.words == ("claimed, in exact arithmetic" if exact else "claimed")
        assert said.headline.sentence.startswith("Private in exact arithmetic: " if exact else "Private: ")
        kinds.add((exact, smaller))
    assert len(kinds) >= 2


@pytest.mark.parametrize(("floor", "ceiling", "says"), [(0.25, 2.0, True), (0.25, 1e100, True), (1e-100, 1e100, False)])
def test_a_theorem_whose_cost_for_many_rows_has_no_double_says_nothing(floor: float, ceiling: float, says: bool) -> None:
    config = PrivateSampling(rows=1, floor=floor, ceiling=ceiling)
    mechanism = config.calibrate(dpsyn.PrivacySpec(1e4), cube(8), n=10**3)
    assert mechanism.guarantee.epsilon == pytest.approx(math.log(ceiling / floor))
    assert (mechanism.theorem_4_1_per_row is not None) == says
    if mechanism.theorem_4_1_per_row is not None:
        of_one = math.log(4 * math.sqrt(2)) + 1.5 * math.log(ceiling / floor) + 1 + math.log(37) / 4 + 0.75 * math.log(256)
        assert math.log(mechanism.theorem_4_1_per_row) == pytest.approx(of_one - math.log(10**3) / 2, rel=1e-12)


@pytest.mark.parametrize("n", [4_000_000, 10**13])
@pytest.mark.parametrize(("floor", "ceiling"), [(0.45, 1.5), (0.25, 2.0)])
@pytest.mark.parametrize(
    ("bits", "degree", "points"), [(3, 1, None), (3, 2, None), (3, 3, None), (6, 4, None), (9, 5, 500), (17, 1, 2**17)]
)
def test_the_theorem_says_what_it_says_by_hand(
    bits: int, degree: int, points: int | None, floor: float, ceiling: float, n: int
) -> None:
    """ε of a row is 4√2 · (ceiling/floor)^{3/2} · e^{d/2} · C^{1/4} · m^{3/4} / √n, and of three it is three times that."""
    m, sums = points or 2**bits, sum(math.comb(bits, order) for order in range(degree + 1))
    factor = 4 * math.sqrt(2) * (ceiling / floor) ** 1.5 * math.exp(degree / 2) * sums**0.25 * m**0.75
    one, ratio = factor / math.sqrt(n), math.log(ceiling / floor)
    config = PrivateSampling(degree=degree, floor=floor, ceiling=ceiling, reduced_space_size=points)
    mechanism = config.calibrate(dpsyn.PrivacySpec(3.5 * min(one, ratio)), cube(bits), n)
    assert mechanism.theorem_4_1_per_row == pytest.approx(one, rel=1e-12)
    assert mechanism.rows == 3
    assert mechanism.guarantee.epsilon == pytest.approx(3 * min(one, ratio), rel=1e-12)
    assert mechanism.guarantee.status == ("real_arithmetic" if one < ratio else "proven")


def test_points_on_other_machines_need_not_fit_into_this_one() -> None:
    asked = {"rows": 1, "degree": 1, "reduced_space_size": 10**13}
    with pytest.raises(ParameterError) as caught:
        PrivateSampling(**asked).calibrate(dpsyn.PrivacySpec(10.0), cube(60), n=50)
    assert caught.value.field == "reduced_space_size"
    elsewhere = PrivateSampling(**asked, scheduler="tcp://127.0.0.1:8786")
    assert elsewhere.calibrate(dpsyn.PrivacySpec(10.0), cube(60), n=50).size.m == 10**13


NUMBERS = dpsyn.Domain.of(
    [
        dpsyn.Attribute("a", "truth", (0, 1), public=True),
        dpsyn.Attribute("x", "numeric", lower=0, upper=99, bins=4, integer=True, public=True),
    ]
)


@pytest.mark.parametrize("share", [0.0, 0.0001, 0.1, 0.37, 0.9])
@pytest.mark.parametrize("rows", [1, 3, 200])
def test_the_epsilon_that_is_needed_is_enough_and_less_is_not(share: float, rows: int) -> None:
    config = dpsyn.PrivateSampling(rows=rows, histogram_share=share)
    for neighbouring in ("replace_one", "add_remove"):
        _, epsilon = config.epsilon_needed(dpsyn.PrivacySpec(1.0, 0.0, neighbouring), NUMBERS, 200)
        config.calibrate(dpsyn.PrivacySpec(epsilon, 0.0, neighbouring), NUMBERS, 200)
        short = dpsyn.PrivacySpec(epsilon * (1 - 1e-9), 0.0, neighbouring)
        with pytest.raises(CalibrationError) as refused:
            config.calibrate(short, NUMBERS, 200)
        needed = re.search(r"costs? ε = ([\d.]+), more", str(refused.value))
        assert needed is not None
        assert epsilon * (1 - 1e-9) <= float(needed[1]) <= epsilon * 1.001
        if rows == 1:
            one = re.search(r"one row needs ε ≥ ([\d.]+)\.", str(refused.value))
            assert one is not None
            config.calibrate(dpsyn.PrivacySpec(float(one[1]), 0.0, neighbouring), NUMBERS, 200)


@pytest.mark.parametrize("whole_domain", [False, True])
def test_a_whole_domain_promises_nothing_that_its_other_conditions_do_not(whole_domain: bool) -> None:
    """Of 100 rows n, k and the largest share are far from enough, however many points there are: 2·ln 20 = 5.99 is all."""
    stats = dpsyn.DatasetStatistics(p=8, n=100, max_frequency=0.3, sizes=(2,) * 8)
    box: dict[str, Any] = {"degree": 2, "floor": 0.1, "ceiling": 2.0, "rows": 2, "failure_probability": 0.1}
    found = dpsyn.feasibility(stats, dpsyn.PrivacySpec(5000.0), whole_domain=whole_domain, **box).private_sampling
    drawn = set() if whole_domain else {"m_lower", "m_upper"}
    missed = {"n", "rows_lower", "max_frequency"}
    assert {c.key for c in found.conditions} == drawn | missed | {"floor", "ceiling", "rows_upper", "success", "promise"}
    assert {c.key for c in found.missed} - {"m_upper"} == missed
    assert found.headline is not None
    assert (found.headline.level, found.headline.number) == ("open", "ε = 6")
