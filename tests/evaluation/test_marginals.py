"""Total variation by hand, by brute force with pandas, and the choice of tables."""

from __future__ import annotations

import math
from itertools import combinations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import chi2, chi2_contingency, spearmanr

from dpsyn.domain import Attribute, Domain
from dpsyn.errors import ParameterError
from dpsyn.evaluation import distances
from dpsyn.evaluation.distances import (
    _correlation,
    _ranks,
    _relation,
    choose_subsets,
    default_max_subsets,
    marginal_errors,
    out_of_proportion,
    relations_off,
    variations,
)
from dpsyn.solvers.coded import CodedRows


def _codes(generator: np.random.Generator, rows: int, sizes: tuple[int, ...]) -> np.ndarray:
    return np.stack([generator.integers(0, size, rows) for size in sizes], axis=1).astype(np.int32)


def _plan(columns: int, degrees: tuple[int, ...]) -> list[tuple[tuple[int, ...], ...]]:
    return [tuple(combinations(range(columns), degree)) for degree in degrees]


def total_variation(real: np.ndarray, synthetic: np.ndarray, sizes: tuple[int, ...]) -> float:
    """Of the table over all columns."""
    ((found,),) = variations(CodedRows(real, sizes), synthetic, [(tuple(range(len(sizes))),)])
    return float(found)


def test_total_variation_by_hand() -> None:
    real = np.array([[0, 0], [0, 1], [1, 1], [1, 1]], dtype=np.int32)
    synthetic = np.array([[0, 0], [1, 0]], dtype=np.int32)
    # Shares 1/4, 1/4, 0, 1/2 against 1/2, 0, 1/2, 0: differences 1/4 + 1/4 + 1/2 + 1/2, halved.
    assert total_variation(real, synthetic, (2, 2)) == 0.75
    assert total_variation(real[:, :1], synthetic[:, :1], (2,)) == 0.0
    # Shares of the second column 1/4, 3/4 against 1, 0.
    assert total_variation(real[:, 1:], synthetic[:, 1:], (2,)) == 0.75


def test_a_report_by_hand() -> None:
    real = np.array([[0, 0, 0], [0, 1, 0], [1, 1, 0], [1, 1, 0]], dtype=np.int32)
    synthetic = np.array([[0, 0, 0], [1, 0, 0]], dtype=np.int32)
    found, pairwise = marginal_errors(CodedRows(real, (2, 2, 1)), synthetic, ("a", "b", "c"), _plan(3, (1, 2)))
    assert (found[1].mean, found[1].max, found[1].worst) == (0.25, 0.75, ("b",))
    assert (found[2].mean, found[2].max, found[2].worst) == (0.5, 0.75, ("a", "b"))
    assert not found[2].sampled
    # NIST's score takes half of the summed difference of the shares from 1, of 1,000.
    assert (found[1].k_marginal, found[2].k_marginal, found[2].to_dict()["k_marginal"]) == (750.0, 500.0, 500.0)
    assert pairwise.to_numpy().tolist() == [[0.0, 0.75, 0.0], [0.75, 0.75, 0.75], [0.0, 0.75, 0.0]]
    assert list(pairwise.columns) == list(pairwise.index) == ["a", "b", "c"]


@pytest.mark.parametrize("dense_cells", [2**20, 0])
def test_against_pandas_crosstab(dense_cells: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(distances, "_DENSE_CELLS", dense_cells)
    generator = np.random.default_rng(4)
    sizes, names = (2, 5, 3, 4, 1), tuple("abcde")
    real, synthetic = _codes(generator, 90, sizes), _codes(generator, 37, sizes)
    found, pairwise = marginal_errors(CodedRows(real, sizes), synthetic, names, _plan(5, (1, 2, 3)))
    both = pd.DataFrame(np.concatenate([real, synthetic]), columns=list(names))
    side = pd.Series(["real"] * 90 + ["synthetic"] * 37, name="side")
    for degree in (1, 2, 3):
        brute = {}
        for chosen in combinations(names, degree):
            shares = pd.crosstab([both[c] for c in chosen], side, normalize="columns")
            brute[chosen] = 0.5 * float((shares["real"] - shares["synthetic"]).abs().sum())
        assert found[degree].mean == pytest.approx(np.mean(list(brute.values())))
        assert found[degree].max == pytest.approx(max(brute.values()))
        assert brute[found[degree].worst] == pytest.approx(max(brute.values()))
        assert found[degree].each == pytest.approx(brute)
        assert found[degree].measured == found[degree].possible == math.comb(5, degree)
        if degree == 2:
            for (left, right), value in brute.items():
                assert pairwise.loc[left, right] == pairwise.loc[right, left] == pytest.approx(value)


def test_a_huge_column_beside_another() -> None:
    rows = np.arange(3_000, dtype=np.int32)[:, None]
    both = np.concatenate([rows, np.zeros_like(rows)], axis=1)
    found, _ = marginal_errors(CodedRows(both, (3_000, 2)), both[:1_500], ("id", "x"), _plan(2, (1, 2)))
    assert (found[1].max, found[2].max) == pytest.approx((0.5, 0.5))


def test_very_many_cells_do_not_collide() -> None:
    generator = np.random.default_rng(6)
    sizes = (2**31 - 1,) * 3
    real = generator.integers(0, 2**31 - 1, (200, 3)).astype(np.int32)
    assert total_variation(real, real[::-1], sizes) == 0.0
    assert total_variation(real[:100], real[100:], sizes) == pytest.approx(1.0)
    assert total_variation(real, real[:100], sizes) == pytest.approx(0.5)


@settings(max_examples=40)
@given(seed=st.integers(0, 10_000), n=st.integers(1, 40), k=st.integers(1, 40))
def test_properties(seed: int, n: int, k: int) -> None:
    generator = np.random.default_rng(seed)
    sizes, names = (2, 3, 4), ("a", "b", "c")
    real, synthetic = _codes(generator, n, sizes), _codes(generator, k, sizes)
    found, _ = marginal_errors(CodedRows(real, sizes), synthetic, names, _plan(3, (1, 2, 3)))
    swapped, _ = marginal_errors(CodedRows(synthetic, sizes), real, names, _plan(3, (1, 2, 3)))
    assert all(0 <= found[d].mean <= found[d].max <= 1 for d in (1, 2, 3))
    assert all(found[d].max == pytest.approx(swapped[d].max) for d in (1, 2, 3))
    # Summing a table over one of its columns cannot make it further away.
    assert found[1].max <= found[2].max + 1e-12
    assert found[2].max <= found[3].max + 1e-12
    same, pairwise = marginal_errors(
        CodedRows(real, sizes), np.repeat(real[generator.permutation(n)], 3, axis=0), names, _plan(3, (2,))
    )
    assert same[2].max == pytest.approx(0.0, abs=1e-12)
    assert pairwise.to_numpy() == pytest.approx(np.zeros((3, 3)), abs=1e-12)


def test_all_subsets_or_a_sample_of_different_ones() -> None:
    generator = np.random.default_rng(0)
    assert choose_subsets(5, 2, 10, generator) == tuple(combinations(range(5), 2))
    for columns, degree in ((8, 3), (300, 3), (300, 1)):
        chosen = choose_subsets(columns, degree, 50, generator)
        assert len(set(chosen)) == len(chosen) == 50
        assert all(len(set(s)) == degree and list(s) == sorted(s) and s[0] >= 0 and s[-1] < columns for s in chosen)


@pytest.mark.parametrize(("columns", "degree", "most"), [(6, 2, 8), (40, 2, 30)])
def test_the_sample_is_uniform(columns: int, degree: int, most: int) -> None:
    generator = np.random.default_rng(1)
    draws = 400
    seen = dict.fromkeys(combinations(range(columns), degree), 0)
    for _ in range(draws):
        for subset in choose_subsets(columns, degree, most, generator):
            seen[subset] += 1
    share = most / math.comb(columns, degree)
    counts = np.array(list(seen.values()))
    # Counts of samples of fixed size have covariance -share (1 - share) / (N - 1): chi-square, N - 1 degrees of freedom.
    n = len(counts)
    statistic = float(np.sum((counts - draws * share) ** 2) / (draws * share * (1 - share))) * (n - 1) / n
    assert 1e-4 < chi2.cdf(statistic, n - 1) < 1 - 1e-4
    columns_seen = np.array([sum(v for s, v in seen.items() if j in s) for j in range(columns)])
    assert columns_seen == pytest.approx(np.full(columns, draws * most * degree / columns), rel=0.2)


def test_sampled_pairs_leave_holes_in_the_matrix() -> None:
    generator = np.random.default_rng(2)
    real = _codes(generator, 30, (2,) * 6)
    plan = [choose_subsets(6, 2, 4, generator)]
    found, pairwise = marginal_errors(CodedRows(real, (2,) * 6), real[:10], tuple("abcdef"), plan)
    assert found[2].sampled
    assert (found[2].measured, found[2].possible) == (4, 15)
    assert int(np.isnan(pairwise.to_numpy()).sum()) == 2 * (15 - 4)
    assert not np.isnan(np.diag(pairwise.to_numpy())).any()


def test_fewer_subsets_for_very_many_rows() -> None:
    assert default_max_subsets(30_000) == 5_000
    assert default_max_subsets(1_000_000) == 2_000
    assert default_max_subsets(10**9) == 200


@pytest.mark.parametrize(
    ("columns", "degree", "most", "field"), [(3, 0, 5, "degree"), (3, 4, 5, "degree"), (3, 2, 0, "max_subsets")]
)
def test_wrong_parameters_name_the_field(columns: int, degree: int, most: int, field: str) -> None:
    with pytest.raises(ParameterError) as caught:
        choose_subsets(columns, degree, most, np.random.default_rng(0))
    assert caught.value.field == field


def test_sampling_noise_has_the_right_scale() -> None:
    # Two samples of one binary column: E|difference of shares| = sqrt(2/pi · p (1-p) (1/n + 1/k)), which is the variation.
    generator = np.random.default_rng(3)
    p, n, k, repeats = 0.3, 400, 200, 600
    found = [
        total_variation(
            (generator.random((n, 1)) < p).astype(np.int32), (generator.random((k, 1)) < p).astype(np.int32), (2,)
        )
        for _ in range(repeats)
    ]
    expected = math.sqrt(2 / math.pi * p * (1 - p) * (1 / n + 1 / k))
    # The mean of 600 has a relative standard deviation of 0.756 / sqrt(600) = 3.1 %.
    assert np.mean(found) == pytest.approx(expected, rel=0.12)


def test_no_rows_is_refused() -> None:
    with pytest.raises(ParameterError, match="rows"):
        total_variation(np.zeros((0, 1), dtype=np.int32), np.zeros((3, 1), dtype=np.int32), (2,))


@pytest.mark.parametrize(
    ("rows", "others", "told"),
    [(19, 0, False), (20, 0, True), (60, 11, True), (60, 12, False), (400, 79, True), (400, 80, False)],
)
def test_a_category_is_all_but_gone_below_a_fifth_and_once_in_a_million(rows: int, others: int, told: bool) -> None:
    """c of c + k rows with it lie among 1,000 of 2,000: with probability 2^-c where k is 0."""
    domain = Domain.of(
        [Attribute("kind", "categorical", ("card", "fraud"), missing=True), Attribute("x", "numeric", lower=0, upper=1)]
    )
    real, synthetic = np.zeros((1000, 2), dtype=np.int32), np.zeros((1000, 2), dtype=np.int32)
    real[:rows, 0], synthetic[:others, 0] = 1, 1
    found = out_of_proportion(CodedRows(real, domain.shape), synthetic, domain)
    assert found == ((("kind", "fraud", rows, others),) if told else ())
    turned = out_of_proportion(CodedRows(synthetic, domain.shape), real, domain)
    assert turned == ((("kind", "fraud", others, rows),) if told else ())


def test_empty_cells_of_numbers_that_are_gone_are_told_as_categories_are() -> None:
    domain = Domain.of([Attribute("x", "numeric", lower=0, upper=1, bins=3, missing=True)])
    real, synthetic = np.zeros((1000, 1), dtype=np.int32), np.ones((1000, 1), dtype=np.int32)
    real[:40] = 3
    assert out_of_proportion(CodedRows(real, domain.shape), synthetic, domain) == (("x", "(missing)", 40, 0),)
    assert out_of_proportion(CodedRows(synthetic, domain.shape), real, domain) == (("x", "(missing)", 0, 40),)


def test_the_commonest_category_is_that_of_the_largest_share_on_either_side() -> None:
    domain = Domain.of([Attribute("kind", "categorical", ("kept", "gone", "made"))])
    real, synthetic = (np.repeat([0, code], rows)[:, None] for code, rows in ((1, [60, 40]), (2, [7_000, 3_000])))
    found = out_of_proportion(CodedRows(real, domain.shape), synthetic, domain)
    assert found == (("kind", "gone", 40, 0), ("kind", "made", 0, 3_000))
    turned = out_of_proportion(CodedRows(synthetic, domain.shape), real, domain)
    assert [category for _, category, *_ in turned] == ["gone", "made"]


def related(random: np.random.Generator, rows: int, strong: float) -> np.ndarray:
    """Two columns of four and three codes, of which the second follows from the first in so many of the rows."""
    first = random.choice(4, rows, p=[0.5, 0.3, 0.15, 0.05])
    return np.stack([first, np.where(random.random(rows) < strong, first % 3, random.integers(0, 3, rows))], axis=1)


def lost(real: np.ndarray, other: np.ndarray, sizes: tuple[int, ...] = (4, 3)) -> tuple[tuple[str, str, float, float], ...]:
    found, _ = relations_off(CodedRows(real, sizes), other, ["a", "b"], [(0, 1)], (0, 0))
    # What real rows would have lost beside others, these have made.
    assert relations_off(CodedRows(other, sizes), real, ["a", "b"], [(0, 1)], (0, 0))[1] == found
    return found


def test_a_relation_that_is_lost_is_found_with_its_strength() -> None:
    random = np.random.default_rng(4)
    real, other = related(random, 5_000, 0.6), related(random, 4_000, 0.6)
    assert lost(real, other) == ()
    ((one, two, strength, left),) = lost(real, np.stack([random.permutation(column) for column in other.T], axis=1))
    assert (one, two) == ("a", "b")
    assert abs(left) < 0.1
    # Pearson's mean square contingency of the real rows, less what chance adds.
    counts = np.histogram2d(*real.T, bins=(np.arange(5), np.arange(4)))[0]
    assert strength == pytest.approx(math.sqrt(chi2_contingency(counts, correction=False)[0] / 5_000 - 6 / 5_000), rel=0.02)
    # Of its own opposite less than nothing is left, and of rows that keep a third of it a third.
    ((*_, left),) = lost(real, np.stack([other[:, 0], (other[:, 0] + 1 + (random.random(4_000) < 0.5)) % 3], axis=1))
    assert left < 0
    ((*_, left),) = lost(real, related(random, 40_000, 0.2))
    assert left == pytest.approx(1 / 3, abs=0.07)


def test_what_is_left_of_a_relation_is_reckoned_beside_the_own_margins_of_either_side() -> None:
    """Σ (p - e)(q - f)/e, less what chance adds to φ², where margins are others and a part of the relation is kept."""
    random = np.random.default_rng(3)
    real, other = related(random, 6_000, 0.6), related(random, 3_000, 0.25)
    other = other[(other[:, 0] != 0) | (random.random(3_000) < 0.2)]
    p, q = (
        np.array([[np.mean((rows == (i, j)).all(axis=1)) for j in range(3)] for i in range(4)]) for rows in (real, other)
    )
    square = (chi2_contingency(np.round(6_000 * p), correction=False)[0] - 6) / 6_000
    kept = 0.0
    for i in range(4):
        for j in range(3):
            e, f = (shares[i].sum() * shares[:, j].sum() for shares in (p, q))
            kept += (p[i, j] - e) * (q[i, j] - f) / e
    (found,) = lost(real, other)
    assert found[2:] == pytest.approx((math.sqrt(square), kept / square))
    assert 0.2 < found[3] < 0.7


@pytest.mark.parametrize(
    ("codes", "strong", "n", "k"),
    [(2, 0.8, 300, 300), (2, 0.9, 300, 150), (20, 0.23, 6_000, 20_000)],
)
def test_fresh_rows_miss_a_standard_error_of_a_relation_as_often_as_the_normal_law(
    codes: int, strong: float, n: int, k: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In one of 6.3 samples or less, where chance makes much of the relation; shares that are more and less in turn."""
    monkeypatch.setattr(distances, "_ERRORS", 1.0)
    random, at = np.random.default_rng(1), np.arange(codes)
    law = (1 + strong * (-1.0) ** (at[:, None] + at)) / codes**2
    missed = 0
    for _ in range(1_000):
        p, q = (random.multinomial(rows, law.ravel()).reshape(codes, codes) / rows for rows in (n, k))
        missed += _relation(p, q, n, k)[1] < 1
    assert 0.1 < missed / 1_000 < 0.175


@pytest.mark.parametrize(("n", "share"), [(3_000, 0.012), (10_000, 0.009), (50_000, 0.003)])
def test_a_rare_relation_without_exceptions_is_found_lost(n: int, share: float) -> None:
    """A flag that one of four codes has and no other: half a row is to be expected where all of them are."""
    random = np.random.default_rng(7)

    def sample() -> np.ndarray:
        flag = random.random(n) < share
        return np.stack([np.where(flag, 3, random.integers(0, 3, n)), flag], axis=1)

    real, other = sample(), sample()
    assert lost(real, other, (4, 2)) == ()
    ((*_, strength, left),) = lost(real, np.stack([other[:, 0], random.permutation(other[:, 1])], axis=1), (4, 2))
    assert strength > 0.5
    assert abs(left) < 0.1


@pytest.mark.parametrize(("rows", "told"), [(12, False), (21, True), (30, True), (60, True)])
def test_a_relation_that_few_rows_make_is_found_lost_by_their_number(rows: int, told: bool) -> None:
    """A second flag in the very rows of the first: of 3,000 so few that a standard error of what is left says nothing."""
    real = np.zeros((3_000, 2), dtype=np.int64)
    real[:rows] = 1
    other = real.copy()
    other[:, 1] = np.roll(other[:, 1], 500)
    assert lost(real, real, (2, 2)) == ()
    assert [abs(left) < 0.1 for *_, left in lost(real, other, (2, 2))] == [True] * told


@pytest.mark.parametrize(("rows", "told"), [(283, False), (284, True)])
def test_cells_that_are_common_without_the_relation_do_not_hide_that_its_own_are_gone(rows: int, told: bool) -> None:
    """With all of c in 20,000 rows, and none of 1,000, chance has 1.05^-c: below one in a million from 284 on. The two
    commonest pairs of codes, which are a little more frequent than without a relation, are not counted among them."""
    rest = (20_000 - rows - 11_000) // 2
    p = np.array([[5_500, rest, 0], [20_000 - rows - 11_000 - rest, 5_500, 0], [0, 0, rows]]) / 20_000
    strength, left = _relation(p, np.array([[250, 250, 0], [250, 235, 0], [0, 15, 0]]) / 1_000, 20_000, 1_000)
    assert strength == pytest.approx(1, abs=0.01)
    assert (left < 0.01) if told else left == 1


@pytest.mark.parametrize(
    ("rows", "zeros", "told"), [(100, 0.0, False), (1_000, 0.0, True), (100, 0.9, False), (2_000, 0.9, True)]
)
def test_a_relation_of_numbers_that_is_halved_is_found_by_ranks(rows: int, zeros: float, told: bool) -> None:
    """Normal numbers with a correlation of 0.45 in ten bins, or numbers that are 0 in most rows, in half of which one is
    exchanged; the eleventh code is an empty cell."""
    random = np.random.default_rng(6)

    def sample() -> np.ndarray:
        one, other = random.normal(size=(2, rows))
        known = random.random(rows) >= zeros
        both = (np.where(known, one, -2.0), np.where(known, (one if zeros else 0.45 * one) + 0.89 * other, -2.0))
        codes = np.stack([np.clip(np.floor(2 * column + 5), 0, 9) for column in both], axis=1).astype(np.int64)
        codes[random.random(rows) < 0.05, 0] = 10
        return codes

    def found(other: np.ndarray, ordered: tuple[int, ...] = (10, 10)) -> tuple[int, int]:
        here, made = relations_off(CodedRows(real, (11, 10)), other, ["a", "b"], [(0, 1)], ordered)
        return len(here), len(made)

    real = sample()
    halved, same = sample(), sample()
    some = random.random(rows) < 0.5
    halved[some, 1] = random.permutation(halved[some, 1])
    assert found(halved) == (told, 0)
    if told and not zeros:
        whole, half = (abs(spearmanr(rows[rows[:, 0] < 10]).statistic) for rows in (real, halved))
        ((_, _, *said),), _ = relations_off(CodedRows(real, (11, 10)), halved, ["a", "b"], [(0, 1)], (10, 10))
        assert said == pytest.approx([whole, half / whole])
    assert found(same) == (0, 0)
    if told and not zeros:
        assert found(halved, (0, 10)) == (0, 0)  # which tables alone cannot tell
    halved[:, 1] = 4  # all alike: nothing is left
    assert found(halved)[0] == told


@pytest.mark.parametrize("cells", [(4, 1, 1, 4), (1, 2, 3, 4), (16, 1, 1, 2), (1, 9, 9, 1), (40, 2, 1, 3)])
def test_chance_moves_a_correlation_of_ranks_as_that_of_two_by_two_cells(cells: tuple[int, ...]) -> None:
    """Bishop, Fienberg, Holland (1975), 11.2: n times the asymptotic variance of φ, which two codes have by any scores."""
    p = np.array(cells).reshape(2, 2) / sum(cells)
    found, spread = _correlation(p)
    (a, b), (c, d) = p.sum(axis=1), p.sum(axis=0)
    assert found == pytest.approx((p[0, 0] * p[1, 1] - p[0, 1] * p[1, 0]) / math.sqrt(a * b * c * d))
    skewed = found * (1 + found**2 / 2) * (a - b) * (c - d) / math.sqrt(a * b * c * d)
    expected = 1 - found**2 + skewed - 0.75 * found**2 * ((a - b) ** 2 / (a * b) + (c - d) ** 2 / (c * d))
    assert spread == pytest.approx(expected)


@pytest.mark.parametrize("known", [0.25, 1.0])
@pytest.mark.parametrize(("p", "few"), [([[0.375, 0.125], [0.125, 0.375]], 64), ([[0.5, 0.4], [0.0, 0.1]], 720)])
def test_rows_that_have_both_ranks_make_the_error_of_their_correlation(p: list[list[float]], few: int, known: float) -> None:
    """Half of all deviations against none: 1/√rows is below a quarter of a half from 65 rows on. A third of them, where a
    column is one value in nine of ten rows: twice the others are a fifth of all, and √(5/rows) is below a quarter of a
    third from 721 on, however evenly the other column is spread."""
    q, sizes = np.full((2, 2), known / 4), (few - 1, few, few + 1, few + 2)
    assert _correlation(np.array(p))[0] == pytest.approx(0.5 if few == 64 else 1 / 3)
    lefts = [_ranks(np.array(p), q, 10**9, round(rows / known))[1] for rows in sizes]
    assert lefts == pytest.approx([1.0, 1.0, 0.0, 0.0])


@pytest.mark.parametrize(("strong", "rows"), [(0.1, 5_000), (0.6, 30), (0.0, 5_000)])
def test_what_is_weak_or_may_be_chance_is_not_called_lost(strong: float, rows: int) -> None:
    random = np.random.default_rng(5)
    assert lost(related(random, rows, strong), related(random, rows, 0.0)) == ()


@pytest.mark.parametrize(("n", "k"), [(60, 60), (300, 40), (1_000, 1_000), (200, 5_000)])
@pytest.mark.parametrize("rare", [0.5, 0.05])
def test_fresh_rows_lose_no_relation(n: int, k: int, rare: float) -> None:
    """Of a flag of half or a twentieth of all rows that a code of 20 gives away."""
    random = np.random.default_rng(6)

    def sample(rows: int) -> np.ndarray:
        flag = random.random(rows) < rare
        return np.stack([np.where(flag & (random.random(rows) < 0.8), 7, random.integers(0, 20, rows)), flag], axis=1)

    assert not any(lost(sample(n), sample(k), (20, 2)) for _ in range(300))


@pytest.mark.parametrize("codes", [8, 40, 300])
def test_fresh_rows_of_many_rare_cells_lose_no_relation(codes: int) -> None:
    random = np.random.default_rng(8)

    def sample(rows: int) -> np.ndarray:
        first = (codes * random.random(rows) ** 3).astype(np.int64)
        related = random.random(rows) < 0.5
        return np.stack([first, np.where(related, first, random.integers(0, codes, rows))], axis=1)

    for n, k in ((100, 100), (1_000, 400), (400, 3_000)):
        assert not any(lost(sample(n), sample(k), (codes, codes)) for _ in range(50))
