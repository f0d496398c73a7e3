from __future__ import annotations

from fractions import Fraction
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import chisquare

from dpsyn.errors import ParameterError
from dpsyn.privacy.exact_draws import TOTAL, BlockTotals, WholeCounts, bounded_distribution, positions, shared, whole_counts


@settings(max_examples=100)
@given(
    seed=st.integers(0, 10_000),
    points=st.integers(1, 40),
    floor=st.floats(1e-6, 0.5),
    above=st.floats(1e-6, 1e6),
    wild=st.booleans(),
)
def test_every_probability_lies_in_the_box_exactly(seed: int, points: int, floor: float, above: float, wild: bool) -> None:
    generator = np.random.default_rng(seed)
    ceiling = 1 + floor + above
    multiplicity = generator.integers(1, 4, points)
    ratio = generator.normal(1, 30, points) if wild else generator.uniform(floor, min(ceiling, 3), points)
    counts = bounded_distribution(ratio, multiplicity, floor, ceiling).counts
    assert sum(int(c) for c in counts) == TOTAL
    m = int(multiplicity.sum())
    for count, c in zip(counts, multiplicity, strict=True):
        probability = Fraction(int(count), TOTAL)
        assert Fraction(floor) * int(c) / m <= probability <= Fraction(ceiling) * int(c) / m


def test_a_density_on_the_floor_lies_in_the_box_exactly() -> None:
    """Half of it on the floor and already of mass 1, so that nothing has to be moved: rounding alone would leave the box."""
    generator = np.random.default_rng(0)
    for _ in range(500):
        m, floor = int(generator.integers(2, 40)), float(generator.uniform(0.05, 0.5))
        half = m // 2
        ratio = np.concatenate([np.full(half, floor), np.full(m - half, (m - half * floor) / (m - half))])
        for ceiling in (float(ratio[-1]), 4.0):
            counts = bounded_distribution(ratio, np.ones(m, dtype=np.int64), floor, ceiling).counts
            assert Fraction(floor) / m <= Fraction(int(counts.min()), TOTAL)
            assert Fraction(int(counts.max()), TOTAL) <= Fraction(ceiling) / m


def test_a_density_inside_the_box_is_kept() -> None:
    generator = np.random.default_rng(0)
    multiplicity = generator.integers(1, 5, 1000)
    ratio = generator.uniform(0.5, 1.5, 1000)
    ratio *= multiplicity.sum() / (ratio @ multiplicity)
    distribution = bounded_distribution(ratio, multiplicity, 0.1, 3.0)
    assert distribution.probabilities == pytest.approx(ratio * multiplicity / multiplicity.sum(), rel=1e-12)


@settings(max_examples=60)
@given(
    seed=st.integers(0, 10_000),
    blocks=st.lists(st.integers(1, 12), min_size=1, max_size=6),
    floor=st.floats(1e-6, 0.5),
    above=st.floats(1e-6, 1e6),
    wild=st.booleans(),
)
def test_blocks_share_the_mass_and_stay_in_the_box_exactly(
    seed: int, blocks: list[int], floor: float, above: float, wild: bool
) -> None:
    generator = np.random.default_rng(seed)
    ceiling = 1 + floor + above
    points = sum(blocks)
    multiplicity = generator.integers(1, 4, points)
    m = int(multiplicity.sum())
    ratio = generator.normal(1, 30, points) if wild else generator.uniform(floor, min(ceiling, 3), points)
    if not wild:
        ratio *= m / (ratio @ multiplicity)
    edges = np.cumsum([0, *blocks])
    parts = [whole_counts(ratio[a:b], multiplicity[a:b], m, floor, ceiling) for a, b in pairwise(edges)]
    shares = shared([part.totals() for part in parts])
    assert sum(shares) == TOTAL
    settled = [part.settled(share) for part, share in zip(parts, shares, strict=True)]
    for counts, share in zip(settled, shares, strict=True):
        assert sum(int(c) for c in counts) == share
    counts = np.concatenate(settled)
    for count, c in zip(counts, multiplicity, strict=True):
        assert Fraction(floor) * int(c) / m <= Fraction(int(count), TOTAL) <= Fraction(ceiling) * int(c) / m
    if not wild and ratio.min() >= floor and ratio.max() <= ceiling:
        assert counts / TOTAL == pytest.approx(ratio * multiplicity / m, rel=1e-12)


def test_a_block_that_changed_its_mind_stays_in_the_box() -> None:
    ratio, multiplicity = np.array([0.4, 1.1, 1.5, 1.0]), np.ones(4, dtype=np.int64)
    first = whole_counts(ratio[:2], multiplicity[:2], 4, 0.3, 1.6)
    second = whole_counts(ratio[2:], multiplicity[2:], 4, 0.3, 1.6)
    shares = shared([first.totals(), second.totals()])
    # The second pass finds other numbers, as another machine might: the share and the bounds still hold.
    later = whole_counts(np.array([1.6, 0.3]), multiplicity[:2], 4, 0.3, 1.6).settled(shares[0])
    assert int(later.sum()) == shares[0]
    assert later.min() >= first.lower.max()
    assert later.max() <= first.upper.min()


def test_what_division_leaves_goes_where_there_is_room_and_nothing_is_moved_for_nothing() -> None:
    third = TOTAL // 3
    shares = shared([BlockTotals(third - 3, room_above=9, room_below=0)] * 3)
    assert sum(shares) == TOTAL
    assert all(third <= share <= third + 6 for share in shares)
    assert shared([BlockTotals(TOTAL // 2, room_above=5, room_below=5)] * 2) == [TOTAL // 2] * 2


def test_a_number_belongs_to_the_point_whose_part_it_lies_in() -> None:
    counts = np.array([3, 0, 2, 1])
    assert positions(counts, np.arange(6)).tolist() == [0, 0, 0, 2, 2, 3]


def test_blocks_without_room_are_refused() -> None:
    with pytest.raises(ParameterError, match="box"):
        shared([BlockTotals(counts=TOTAL // 2, room_above=5, room_below=TOTAL // 2)])


def test_draws_follow_the_counts() -> None:
    distribution = bounded_distribution(np.array([0.2, 0.8, 1.0, 1.9, 1.1]), np.array([1, 1, 2, 1, 1]), 0.1, 4.0)
    drawn = positions(distribution.counts, np.random.default_rng(4).integers(0, TOTAL, 100_000))
    observed = np.bincount(drawn, minlength=5)
    assert chisquare(observed, distribution.probabilities * 100_000).pvalue > 1e-3
    tilted = distribution.probabilities * np.array([1.3, 1, 1, 1, 1])
    assert chisquare(observed, tilted / tilted.sum() * 100_000).pvalue < 1e-6


@pytest.mark.parametrize(
    ("ratio", "multiplicity", "floor", "ceiling", "field"),
    [
        ([1.0, np.nan], [1, 1], 0.2, 2.0, "ratio"),
        ([1.0], [1, 1], 0.2, 2.0, "ratio"),
        ([1.0, 1.0], [1, 0], 0.2, 2.0, "ratio"),
        ([1.0, 1.0], [1, 1], 0.0, 2.0, "floor"),
        ([1.0, 1.0], [1, 1], 0.5, 1.0, "floor"),
    ],
)
def test_wrong_input(ratio: list[float], multiplicity: list[int], floor: float, ceiling: float, field: str) -> None:
    with pytest.raises(ParameterError) as caught:
        bounded_distribution(np.array(ratio), np.array(multiplicity), floor, ceiling)
    assert caught.value.field == field


@pytest.mark.parametrize(
    ("floor", "ceiling", "m"), [(0.3, 1.3, 11), (0.2, 1.2, 9), (0.25, 2.0, 3), (0.25, 2.0, 5), (0.1, 1.7, 13)]
)
def test_whole_counts_lie_in_the_box_where_rounding_alone_leaves_it(floor: float, ceiling: float, m: int) -> None:
    ratio = np.array([floor, ceiling, -7.0, 1e9])
    multiplicity = np.array([1, 1, 2, 1])
    # Without the bounds some of these would lie outside: that is why they are tried.
    alone = [int(np.rint(x / m * float(TOTAL))) for x in (floor, ceiling)]
    assert alone[0] < Fraction(floor) * TOTAL / m or alone[1] > Fraction(ceiling) * TOTAL / m
    whole = whole_counts(ratio, multiplicity, m, floor, ceiling)
    low = [-(-(Fraction(floor) * int(c) * TOTAL / m) // 1) for c in multiplicity]
    high = [min(TOTAL, (Fraction(ceiling) * int(c) * TOTAL / m) // 1) for c in multiplicity]
    assert whole.lower.tolist() == low
    assert whole.upper.tolist() == high
    assert all(a <= count <= b for a, count, b in zip(low, whole.counts.tolist(), high, strict=True))
    assert whole.counts[2:].tolist() == pytest.approx([low[2], high[3]], rel=1e-15)
    assert whole.totals() == BlockTotals(
        sum(whole.counts.tolist()), sum(high) - sum(whole.counts.tolist()), sum(whole.counts.tolist()) - sum(low)
    )


def test_no_count_leaves_its_room_where_the_room_has_no_double() -> None:
    """2^60 - 1 rounds to 2^60: all of the room is asked for, and the second point must not get one more than it has."""
    upper = np.array([2**60, 2**60 - 1])
    whole = WholeCounts(np.zeros(2, dtype=np.int64), np.zeros(2, dtype=np.int64), upper)
    assert whole.settled(2**61 - 1).tolist() == upper.tolist()
    full = WholeCounts(upper, np.array([0, 1]), upper)
    assert full.settled(1).tolist() == [0, 1]


@pytest.mark.parametrize(
    ("counts", "share", "settled"),
    [
        ([10, 2, 3], 30, [10, 17, 3]),
        ([10, 2, 3], 16, [10, 3, 3]),
        ([10, 2, 3], 7, [3, 2, 2]),
        ([1, 2, 1], 3, [1, 1, 1]),
        ([1, 2, 3], 5, [1, 1, 3]),
        ([2, 2, 3], 6, [1, 2, 3]),
        ([10, 2, 3], 15, [10, 2, 3]),
    ],
)
def test_what_is_missing_is_taken_where_there_is_room(counts: list[int], share: int, settled: list[int]) -> None:
    whole = WholeCounts(np.array(counts), np.array([1, 1, 1]), np.array([10, 20, 3]))
    assert whole.settled(share).tolist() == settled


def test_no_point_has_more_than_all() -> None:
    assert whole_counts(np.array([5.0]), np.array([1]), 1, 0.1, 6.0).counts.tolist() == [TOTAL]


HALF = TOTAL // 2


@pytest.mark.parametrize(
    ("blocks", "shares"),
    [
        ([(HALF + 3, 5, 2), (HALF + 1, 5, 6)], [2, -2]),
        ([(HALF - 1, 0, 9), (HALF, 7, 9)], [-1, 1]),
        ([(HALF + 1, 9, 0), (HALF, 9, 7)], [1, -1]),
        ([(HALF - 4, 4, 0), (HALF, 0, 0)], [0, 0]),
        ([(HALF, 0, 0), (HALF, 0, 0)], [0, 0]),
        ([(HALF - 2, 1, 0), (HALF - 1, 4, 0)], [-1, 1]),
    ],
)
def test_what_is_missing_is_shared_by_room(blocks: list[tuple[int, int, int]], shares: list[int]) -> None:
    found = shared([BlockTotals(*block) for block in blocks])
    assert [share - HALF for share in found] == shares


def test_what_division_leaves_goes_nowhere_where_there_is_no_room() -> None:
    blocks = [BlockTotals(TOTAL - 5, 0, 0), BlockTotals(0, 3, 0), BlockTotals(0, 3, 0)]
    assert shared(blocks) == [TOTAL - 5, 3, 2]
    assert shared([BlockTotals(TOTAL - 9, 2, 0), *[BlockTotals(0, 2, 0)] * 4]) == [TOTAL - 7, 2, 2, 2, 1]


def test_too_many_counts_without_room_below_are_refused() -> None:
    with pytest.raises(ParameterError, match="box"):
        shared([BlockTotals(TOTAL + 5, room_above=99, room_below=4)])


def test_whole_counts_are_the_nearest_ones() -> None:
    assert whole_counts(np.array([0.8]), np.array([1]), 2**61, 0.1, 1.7).counts.tolist() == [2]
