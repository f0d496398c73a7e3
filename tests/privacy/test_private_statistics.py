"""n and ‖f_n‖∞ with noise: sensitivities by brute force, the noise as stated, the claim attained and not exceeded."""

from __future__ import annotations

import itertools
import math
from collections import Counter
from dataclasses import replace
from typing import get_args

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from dpsyn.domain import NOT_YET_TRUE, Attribute, Domain
from dpsyn.errors import DomainError, ParameterError
from dpsyn.privacy.noise import NoiseSource
from dpsyn.privacy.private_statistics import PrivateStatistics, _of_pair, _of_public_rows, private_statistics
from dpsyn.privacy.spec import PUBLIC_DOMAIN_ASSUMPTION, Neighbouring, PrivacySpec
from dpsyn.statistics import DatasetStatistics
from dpsyn.table import Table

PUBLIC = Domain.of([Attribute("x", "categorical", ("a", "b", "c"), public=True)])
NARROW, WIDE = (
    Domain.of(Attribute(f"x{j}", "categorical", tuple(range(40 // columns)), public=True) for j in range(columns))
    for columns in (1, 4)
)
"""Domains of 40 bits: of fewer different rows than the tables have, and of more."""
REPLACE = PrivacySpec(0.5)
ADD = PrivacySpec(0.5, neighbouring="add_remove")


def of_counts(n: int, largest: int) -> DatasetStatistics:
    return DatasetStatistics(p=40, n=n, max_frequency=largest / n)


def pair(rows: tuple[int, ...]) -> tuple[int, int]:
    largest = max(Counter(rows).values(), default=0)
    return largest, len(rows) - largest


def draws(
    facts: DatasetStatistics, spec: PrivacySpec, count: int, generator: np.random.Generator | None
) -> list[PrivateStatistics]:
    noise = NoiseSource(generator)
    return [private_statistics(facts, spec, noise) for _ in range(count)]


def laplace_pmf(z: np.ndarray, scale: float) -> np.ndarray:
    r = math.exp(-1 / scale)
    return (1 - r) / (1 + r) * r ** np.abs(z)


def p_value(noise: np.ndarray, probabilities: np.ndarray, width: int) -> float:
    """Of the counts of -width … width and the two tails."""
    tail = (1 - probabilities.sum()) / 2
    inner = [(noise == z).sum() for z in range(-width, width + 1)]
    observed = np.array([(noise < -width).sum(), *inner, (noise > width).sum()])
    expected = np.array([tail, *probabilities, tail]) * len(noise)
    return float(stats.chi2.sf(((observed - expected) ** 2 / expected).sum(), len(expected) - 1))


@pytest.mark.parametrize("domain", [None, NARROW, WIDE], ids=["unknown", "narrow", "wide"])
@pytest.mark.parametrize("spec", [REPLACE, ADD], ids=["replace", "add"])
def test_all_that_is_released_follows_from_what_the_noise_answers(
    spec: PrivacySpec, domain: Domain | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    for answer in ((-3, -3), (40, 40), (900, 900), (1, 10**6)):
        monkeypatch.setattr(
            NoiseSource, "discrete_laplace", lambda _, values, __, answer=answer: np.array(answer[: len(values)])
        )
        sources = [of_counts(1000, largest) for largest in (25, 300, 999)]
        sources += [] if spec is REPLACE else [of_counts(7, 2), of_counts(10**5, 3000)]
        first, *others = (private_statistics(source, spec, None, domain=domain) for source in sources)
        assert all(other == first for other in others)


@pytest.mark.parametrize("neighbouring", get_args(Neighbouring))
@pytest.mark.parametrize(
    "facts", [DatasetStatistics(2, 10, 1.0), DatasetStatistics(1, 2, 0.5), DatasetStatistics(6, 3, 1 / 3), of_counts(50, 3)]
)
def test_what_is_released_lies_in_its_own_interval(facts: DatasetStatistics, neighbouring: Neighbouring) -> None:
    generator = np.random.default_rng(3)
    for epsilon in (0.1, 0.3, 1.0, 4.0):
        for found in draws(facts, PrivacySpec(epsilon, neighbouring=neighbouring), 300, generator):
            for value, (low, high) in ((found.n, found.n_interval), (found.max_frequency, found.max_frequency_interval)):
                assert low <= value <= high


def test_replacing_one_row_moves_the_largest_count_by_at_most_one() -> None:
    moves = set()
    for n in range(1, 6):
        for rows in itertools.product(range(3), repeat=n):
            for i, value in itertools.product(range(n), range(3)):
                moves.add(abs(pair(rows)[0] - pair((*rows[:i], value, *rows[i + 1 :]))[0]))
    assert moves == {0, 1}


def test_adding_one_row_moves_the_largest_count_and_the_rest_by_one_together() -> None:
    moves = set()
    for n in range(6):
        for rows in itertools.product(range(3), repeat=n):
            for value in range(3):
                before, after = pair(rows), pair((*rows, value))
                moves.add(abs(before[0] - after[0]) + abs(before[1] - after[1]))
    assert moves == {1}


@pytest.mark.parametrize(("generator", "count"), [(np.random.default_rng(5), 12_000), (None, 4_000)])
@pytest.mark.parametrize("spec", [REPLACE, ADD])
def test_the_noise_has_scale_one_over_epsilon(spec: PrivacySpec, generator: np.random.Generator | None, count: int) -> None:
    n, largest = 10**6, 4 * 10**5
    found = draws(of_counts(n, largest), spec, count, generator)
    noise = [np.array([round(f.max_frequency * f.n) - largest for f in found])]
    if spec.neighbouring == "add_remove":
        noise.append(np.array([f.n for f in found]) - n - noise[0])
    else:
        assert {f.n for f in found} == {n}
    for part in noise:
        for scale, right in ((2.0, True), (2.0 * 1.3, False), (2.0 / 1.3, False)):
            found_p = p_value(part, laplace_pmf(np.arange(-6, 7), scale), 6)
            assert (found_p > 1e-6) if right else (found_p < 1e-9)


@pytest.mark.parametrize(
    ("spec", "first", "second"),
    [
        (REPLACE, (60, 30), (60, 31)),
        (ADD, (60, 30), (61, 31)),
        (ADD, (60, 30), (61, 30)),
    ],
)
def test_epsilon_is_attained_and_not_exceeded(spec: PrivacySpec, first: tuple[int, int], second: tuple[int, int]) -> None:
    count = 8_000
    both = [
        Counter(
            (f.n, round(f.max_frequency * f.n)) for f in draws(of_counts(*facts), spec, count, np.random.default_rng(seed))
        )
        for seed, facts in ((1, first), (2, second))
    ]
    outcomes = [o for o in set(both[0]) | set(both[1]) if min(both[0][o], both[1][o]) >= 100]
    ratios = np.array([math.log(both[0][o] / both[1][o]) for o in outcomes])
    errors = np.array([math.sqrt(1 / both[0][o] + 1 / both[1][o]) for o in outcomes])
    assert len(outcomes) > 5
    assert (np.abs(ratios) < spec.epsilon + 4.5 * errors).all()
    assert np.average(np.abs(ratios), weights=errors**-2) == pytest.approx(spec.epsilon, rel=0.1)


@pytest.mark.parametrize("spec", [REPLACE, ADD, PrivacySpec(0.02), PrivacySpec(0.02, neighbouring="add_remove")])
@pytest.mark.parametrize(("n", "largest"), [(5000, 700), (40, 1), (40, 40), (1, 1)])
def test_intervals_hold_the_truth_in_95_of_100_cases(spec: PrivacySpec, n: int, largest: int) -> None:
    count = 2000
    found = draws(of_counts(n, largest), spec, count, np.random.default_rng(9))
    hits = sum(f.max_frequency_interval[0] <= largest / n <= f.max_frequency_interval[1] for f in found)
    assert stats.binom.sf(count - hits - 1, count, 0.05) > 1e-6
    hits = sum(f.n_interval[0] <= n <= f.n_interval[1] for f in found)
    assert stats.binom.sf(count - hits - 1, count, 0.05) > 1e-6


def smallest_width(probabilities: np.ndarray, failure_probability: float) -> int:
    """Of the interval around the middle that leaves at most this probability outside."""
    middle = len(probabilities) // 2
    inside = probabilities[middle]
    width = 0
    while 1 - inside > failure_probability:
        width += 1
        inside += probabilities[middle - width] + probabilities[middle + width]
    return width


@pytest.mark.parametrize("epsilon", [0.05, 0.3, 1.0, 3.0, 20.0])
def test_intervals_are_no_wider_than_they_need_be(epsilon: float) -> None:
    one = laplace_pmf(np.arange(-800, 801), 1 / epsilon)
    n, largest = 10**6, 4 * 10**5
    low, high = private_statistics(of_counts(n, largest), PrivacySpec(epsilon)).max_frequency_interval
    assert round((high - low) * n) == 2 * smallest_width(one, 0.05)
    lower, upper = private_statistics(of_counts(n, largest), PrivacySpec(epsilon, neighbouring="add_remove")).n_interval
    assert upper - lower == 2 * smallest_width(np.convolve(one, one), 0.05)


@given(
    st.integers(1, 2000).flatmap(lambda n: st.tuples(st.just(n), st.integers(1, n))),
    st.floats(1e-9, 1e3),
    st.sampled_from(["replace_one", "add_remove"]),
    st.integers(0, 2**32),
)
def test_what_is_released_is_possible(facts: tuple[int, int], epsilon: float, neighbouring: Neighbouring, seed: int) -> None:
    found = private_statistics(
        of_counts(*facts), PrivacySpec(epsilon, neighbouring=neighbouring), np.random.default_rng(seed)
    )
    assert found.n >= 1
    assert 1 / found.n <= found.max_frequency <= 1
    low, high = found.max_frequency_interval
    assert 0 < low <= high <= 1
    assert 1 <= found.n_interval[0] <= found.n_interval[1]
    assert found.statistics() == DatasetStatistics(40, found.n, found.max_frequency)
    assert found.epsilon == found.guarantee.epsilon == epsilon
    assert 1 / found.scale <= epsilon
    assert found.guarantee.delta == 0
    assert found.guarantee.neighbouring == neighbouring


def test_large_epsilon_gives_the_truth() -> None:
    for spec in (PrivacySpec(200.0), PrivacySpec(200.0, neighbouring="add_remove")):
        found = private_statistics(of_counts(1000, 17), spec)
        assert (found.n, found.max_frequency) == (1000, 0.017)
        assert found.n_interval == (1000, 1000)
        assert found.max_frequency_interval == (0.017, 0.017)


def test_the_smallest_share_that_the_domain_allows() -> None:
    table = Table(pd.DataFrame({"x": ["a", "b", "c"] * 10}), PUBLIC)
    found = [private_statistics(table, PrivacySpec(0.05), np.random.default_rng(seed)) for seed in range(50)]
    assert min(f.max_frequency for f in found) == pytest.approx(1 / 3)
    assert all(f.max_frequency_interval[0] >= 1 / 3 for f in found)
    assert found[0].p == 3
    assert found[0].sizes == (3,)
    for neighbouring in ("replace_one", "add_remove"):  # of statistics alone, rows have 2^p kinds at most
        spec = PrivacySpec(0.05, neighbouring=neighbouring)
        bits = [
            private_statistics(DatasetStatistics(2, 30, 0.25, 4), spec, np.random.default_rng(seed)) for seed in range(50)
        ]
        assert min(b.statistics().max_frequency for b in bits) == pytest.approx(1 / 4, abs=1 / 30)
        assert all(b.max_frequency >= 1 / 4 and b.max_frequency_interval[0] >= 1 / 4 for b in bits)
        bits = [
            private_statistics(DatasetStatistics(5, 320, 0.5), spec, Fixed(-400, noise)).max_frequency for noise in (0, -160)
        ]
        assert bits == [
            1 / 32 if neighbouring == "replace_one" else 5 / 160,
            1 / 32 if neighbouring == "replace_one" else 1.0,
        ]


def test_every_release_lies_in_its_own_interval_whatever_the_noise() -> None:
    for possible, largest, rest in itertools.product((1, 2, 5, 40), range(-12, 13), range(-12, 13)):
        for epsilon in (0.3, 1.0, 3.0):
            n, share, n_interval, interval = _of_pair(largest, rest, epsilon, possible)
            assert n_interval[0] <= n
            assert interval[0] <= share
            if largest <= rest:
                n, share, _, interval = _of_public_rows(rest + 13, largest, 4, possible)
                assert interval[0] <= share <= interval[1]


def test_a_claim_is_proven_only_for_a_public_domain() -> None:
    inferred = Domain.of([replace(PUBLIC["x"], public=False)])
    table = Table(pd.DataFrame({"x": ["a", "b", "a"]}), inferred)
    assert private_statistics(table, REPLACE).guarantee.status == "unconfirmed_domain"
    assert private_statistics(table.statistics(), REPLACE).guarantee.status == "unconfirmed_domain"
    assert private_statistics(table, REPLACE, domain=PUBLIC).guarantee.status == "proven"
    assert private_statistics(table.statistics(), REPLACE, domain=PUBLIC).guarantee.status == "proven"
    proven = private_statistics(table.with_domain(PUBLIC), ADD).guarantee
    assert proven.status == "proven"
    assert not any("seed" in sentence or "rows is public" in sentence for sentence in proven.assumptions)
    assert (proven.epsilon, proven.delta, proven.unit) == (ADD.epsilon, 0, ADD.unit)
    assert proven.assumptions == (
        "This release is counted beside every other release of the same data: the epsilons add up.",
        PUBLIC_DOMAIN_ASSUMPTION,
    )
    unknown = private_statistics(table, ADD).guarantee.assumptions
    assert unknown == (f"{NOT_YET_TRUE}: nobody confirmed that the domain is public.", *proven.assumptions)
    for noise in (np.random.default_rng(1), NoiseSource(np.random.default_rng(1))):
        seeded = private_statistics(table.with_domain(PUBLIC), REPLACE, noise).guarantee
        assert seeded.status == "demonstration"
        assert any("seed" in sentence for sentence in seeded.assumptions)
        assert any("number of rows is public" in sentence for sentence in seeded.assumptions)
    assert private_statistics(table.with_domain(PUBLIC), REPLACE, NoiseSource(None)).guarantee.status == "proven"


@pytest.mark.parametrize("seeded", [False, True])
@pytest.mark.parametrize("public", [False, True])
@pytest.mark.parametrize("neighbouring", ["replace_one", "add_remove"])
def test_a_claim_says_all_that_it_takes_for_granted(neighbouring: Neighbouring, public: bool, seeded: bool) -> None:
    """And claims a δ of 0 whatever was asked for, which is not used."""
    domain = Domain.of([replace(PUBLIC["x"], public=public)])
    table, spec = Table(pd.DataFrame({"x": ["a", "b", "a"]}), domain), PrivacySpec(0.5, 1e-6, neighbouring)
    found = private_statistics(table, spec, np.random.default_rng(0) if seeded else None).guarantee
    said = [
        "This release is counted beside every other release of the same data: the epsilons add up.",
        PUBLIC_DOMAIN_ASSUMPTION,
        *["The number of rows is public."] * (neighbouring == "replace_one"),
    ]
    assert [one for one in said if one in found.assumptions] == said
    assert len(found.assumptions) == len(said) + (not public) + seeded
    assert any(one.startswith(NOT_YET_TRUE) for one in found.assumptions) is not public
    assert (found.epsilon, found.delta, found.neighbouring) == (0.5, 0.0, neighbouring)


NUMBER = Attribute("age", "numeric", lower=17.3, upper=91.7, bins=4)
CATEGORY = Attribute("x", "categorical", ("a", "b"))
OTHERS = {
    "bounds": (NUMBER, {"lower": 0.0, "upper": 120.0}),
    "whole numbers": (NUMBER, {"lower": 17, "upper": 92, "integer": True}),
    "bins": (NUMBER, {"bins": 5}),
    "order": (CATEGORY, {"categories": ("b", "a")}),
    "categories": (CATEGORY, {"categories": ("a", "c")}),
    "name": (CATEGORY, {"name": "y"}),
}


@pytest.mark.parametrize("confirmed", [False, True])
@pytest.mark.parametrize("other", OTHERS)
def test_a_table_is_counted_over_its_own_domain_which_may_be_confirmed_and_nothing_else(other: str, confirmed: bool) -> None:
    """A claim about counts over public bins is none about counts over those that were read off the rows."""
    attribute, changes = OTHERS[other]
    values = [17.3, 30.0, 91.7] if attribute is NUMBER else ["a", "b", "a"]
    table = Table(pd.DataFrame({attribute.name: values * 20}), Domain.of([replace(attribute, public=False)]))
    assert private_statistics(table, REPLACE, domain=table.domain.confirmed()).guarantee.status == "proven"
    assert private_statistics(table, REPLACE, domain=table.domain).guarantee.status == "unconfirmed_domain"
    wrong = Domain.of([replace(attribute, public=confirmed, **changes)])
    with pytest.raises(DomainError, match="table's own"):
        private_statistics(table, REPLACE, domain=wrong)


def test_what_cannot_be_released_is_refused() -> None:
    with pytest.raises(ParameterError, match="n = "):
        private_statistics(DatasetStatistics(3, 10**30, 0.5), REPLACE)
    with pytest.raises(ParameterError, match="epsilon"):
        private_statistics(of_counts(10, 5), PrivacySpec(1e-13))
    with pytest.raises(ParameterError, match=r"^noise = 7 is not possible"):
        private_statistics(of_counts(10, 5), REPLACE, 7)  # type: ignore[arg-type]
    with pytest.raises(DomainError, match="not the one"):
        private_statistics(of_counts(10, 5), REPLACE, domain=PUBLIC)
    other = Domain.of([Attribute("x", "categorical", ("a", "b"), public=True)])
    with pytest.raises(DomainError, match="table's own"):
        private_statistics(Table(pd.DataFrame({"x": ["a"]}), PUBLIC), REPLACE, domain=other)


class Fixed(NoiseSource):
    """Noise that is known, and what it was asked for."""

    def __init__(self, *noise: int) -> None:
        super().__init__(np.random.default_rng(0))
        self.noise = np.array(noise)
        self.handed: list[tuple[list[int], float]] = []

    def discrete_laplace(self, values: np.ndarray, scale: float) -> np.ndarray:
        self.handed.append((values.tolist(), scale))
        return values + self.noise


ROWS = Table(pd.DataFrame({"x": ["a"] * 7 + ["b"] * 2 + ["c"]}), PUBLIC)
WIDTH, HALF_WIDTH, SUM_WIDTH = (  # at ε = 0.5: of one noise at 5 % and 2.5 %, and of the sum of two at 5 %
    smallest_width(laplace_pmf(np.arange(-800, 801), 2.0), 0.05),
    smallest_width(laplace_pmf(np.arange(-800, 801), 2.0), 0.025),
    smallest_width(np.convolve(*[laplace_pmf(np.arange(-800, 801), 2.0)] * 2), 0.05),
)


@pytest.mark.parametrize("noise", [-30, -4, -3, -1, 0, 2, 3, 4, 30])
def test_where_n_is_public_the_largest_count_alone_is_released(noise: int) -> None:
    source = Fixed(noise)
    found = private_statistics(ROWS, REPLACE, source)
    assert source.handed == [([7], math.nextafter(2.0, math.inf))]

    def share(count: int) -> float:
        return min(max(count, 4), 10) / 10  # of 10 rows over 3 values one comes up 4 times at least

    assert (found.n, found.max_frequency, found.n_interval) == (10, share(7 + noise), (10, 10))
    assert found.max_frequency_interval == (share(7 + noise - WIDTH), share(7 + noise + WIDTH))
    assert found.scale == math.nextafter(2.0, math.inf)


@pytest.mark.parametrize("noise", [(0, 0), (2, 5), (-4, 30), (-30, 5), (5, -30), (-30, -30), (-7, 6), (30, 8)])
def test_where_n_is_secret_everything_follows_from_two_noisy_counts(noise: tuple[int, int]) -> None:
    source = Fixed(*noise)
    found = private_statistics(ROWS, ADD, source)
    assert source.handed == [([7, 3], math.nextafter(2.0, math.inf))]
    largest, rest = 7 + noise[0], 3 + noise[1]
    n = max(1, max(largest, 0) + max(rest, 0))
    assert found.n == n
    assert found.max_frequency == min(max(largest, 1, math.ceil(n / 3)), n) / n
    low = max(1, largest + rest - SUM_WIDTH)
    assert found.n_interval == (min(n, low), max(n, low, largest + rest + SUM_WIDTH))

    def share(some: int, others: int) -> float:
        return max(max(some, 1) / (max(some, 1) + max(others, 0)), 1 / 3)

    ends = share(largest - HALF_WIDTH, rest + HALF_WIDTH), share(largest + HALF_WIDTH, rest - HALF_WIDTH)
    assert found.max_frequency_interval == ends


@pytest.mark.parametrize("answer", [-9, 1, 2, 6, 10, 25])
def test_equal_noisy_counts_are_released_alike_whatever_the_counts_are(answer: int) -> None:
    """All rows different, some equal, all equal; where n is a secret, also other numbers of rows."""
    alike = []
    for spec in (REPLACE, ADD):
        for n in (10,) if spec is REPLACE else (1, 10, 60):
            for largest in sorted({1, 2, n // 2, n - 1, n} & set(range(1, n + 1))):
                counts = [largest] if spec is REPLACE else [largest, n - largest]
                source = Fixed(*[answer + 3 * at - count for at, count in enumerate(counts)])
                alike.append(replace(private_statistics(of_counts(n, largest), spec, source), name=""))
                assert source.handed == [(counts, math.nextafter(2.0, math.inf))]
        assert len(alike) > 3
        assert all(found == alike[0] for found in alike)
        alike.clear()


def test_the_limits_of_what_can_be_released() -> None:
    assert private_statistics(DatasetStatistics(3, 2**51 - 1, 0.5), REPLACE, Fixed(0)).n == 2**51 - 1
    with pytest.raises(ParameterError, match=r"2\^51"):
        private_statistics(DatasetStatistics(3, 2**51, 0.5), REPLACE, Fixed(0))
    assert private_statistics(of_counts(10, 5), PrivacySpec(1e-12), Fixed(0)).epsilon == 1e-12


def test_the_largest_count_is_the_whole_number_that_it_was() -> None:
    """n·(L/n) may be less than L in floating point, and would be cut to L - 1."""
    handed: list[int] = []

    class Kept(NoiseSource):
        def discrete_laplace(self, values: np.ndarray, scale: float) -> np.ndarray:
            handed.append(int(values[0]))
            return values

    cut = [(n, largest) for n in range(1, 200) for largest in range(1, n) if int(n * (largest / n)) != largest]
    assert len(cut) > 20
    for n, largest in cut:
        private_statistics(of_counts(n, largest), REPLACE, Kept(np.random.default_rng(0)))
    assert handed == [largest for _, largest in cut]


@pytest.mark.parametrize("wrong", [{"spec": 1.0}, {"spec": REPLACE, "domain": "public"}])
def test_what_is_no_specification_or_domain_is_named(wrong: dict[str, object]) -> None:
    with pytest.raises(ParameterError) as caught:
        private_statistics(of_counts(9, 3), **wrong)
    assert caught.value.field == list(wrong)[-1]


def test_a_domain_is_that_of_the_statistics_in_either_way_of_counting_bits() -> None:
    """A column of two values is one bit, or two; one of three values is three."""
    domain = Domain.of([Attribute("t", "categorical", (0, 1), public=True), *PUBLIC.attributes])
    for p in (3, 4, 5, 6):
        facts = DatasetStatistics(p=p, n=9, max_frequency=1 / 3, name="mine")
        if p in (4, 5):
            assert private_statistics(facts, REPLACE, domain=domain).name == "mine"
        else:
            with pytest.raises(DomainError):
                private_statistics(facts, REPLACE, domain=domain)
    with pytest.raises(ParameterError, match="source"):
        private_statistics(9, REPLACE)
    for sizes, own in (((5, 5), False), ((9, 1), False), ((1, 9), True), (None, True)):
        other = Domain.of([Attribute(name, "categorical", tuple(range(n)), public=True) for name, n in (("a", 1), ("b", 9))])
        facts = DatasetStatistics(p=10, n=2_500, max_frequency=0.04 if sizes == (5, 5) else 0.2, sizes=sizes)
        if own:
            assert private_statistics(facts, REPLACE, domain=other)
        else:
            with pytest.raises(DomainError, match="not the one that the statistics were computed over"):
                private_statistics(facts, REPLACE, domain=other)
