"""Fine histograms: sensitivity by brute force, the fit against a solver, bins against all others, values that come back."""

from __future__ import annotations

import sys
from functools import partial
from itertools import combinations, pairwise, product

import cvxpy as cp
import numpy as np
import pandas as pd
import pytest
from scipy import stats

from dpsyn.domain import Attribute, Domain
from dpsyn.privacy import trees
from dpsyn.privacy.histograms import Bins, Encoding, Histograms, _strongest_partner, deafened
from dpsyn.privacy.trees import Histogram, Level, Parts, nearest_with_sum, shrunk
from dpsyn.table import Table
from tests.conftest import Topmost

AGES = Attribute("age", "numeric", lower=0, upper=119, bins=4, integer=True, missing=True, public=True)
SPANS = [
    AGES,
    Attribute("gain", "numeric", lower=0, upper=99_999, bins=10, integer=True, public=True),
    Attribute("width", "numeric", lower=-1.5, upper=2.5, bins=3, public=True),
    Attribute("endless", "numeric", lower=0, upper=sys.float_info.max, bins=3, public=True),
    Attribute("day", "date", lower=-40, upper=700, bins=7, public=True),
    Attribute("wide", "numeric", lower=-(2**52), upper=2**52, bins=3, integer=True, public=True),
    Attribute("uneven", "numeric", lower=1, upper=17, bins=3, integer=True, public=True),
    Attribute("paid", "numeric", lower=-0.5, upper=999.95, unit=0.05, bins=4, public=True),
]


def tree(attribute: Attribute) -> Histogram:
    found = Histograms.of(Domain.of([attribute]))
    assert found is not None
    return found.columns[0]


def table_of(attribute: Attribute, values: object) -> Table:
    return Table(pd.DataFrame({attribute.name: values}), Domain.of([attribute]))


def sample(attribute: Attribute, n: int = 500) -> pd.Series:
    random = np.random.default_rng(1)
    return attribute.from_numbers(random.choice(random.uniform(attribute.lower, attribute.upper, 30), n))


def learn(table: Table, deviation: float = 0.0, rows: int | None = None):
    random = np.random.default_rng(2)
    found = Histograms.of(table.domain)
    assert found is not None
    return found.learn(
        table, lambda counts: np.round(counts + deviation * random.normal(size=counts.shape)), deviation, rows
    )


class Answering:
    """Answers every question of a tree as it did the first time, whatever is counted; keeps what it was handed."""

    def __init__(self, seed: int, split: float) -> None:
        self.random, self.split = np.random.default_rng(seed), split
        self.answers: list[np.ndarray] = []

    def counts(self, found: Histograms, table: Table) -> np.ndarray:
        asked: list[np.ndarray] = []

        def released(exact: np.ndarray) -> np.ndarray:
            asked.append(exact.ravel())
            if len(asked) > len(self.answers):
                self.answers.append(self.random.random(exact.shape) < self.split)
            return self.answers[len(asked) - 1]

        found.learn(table, released, 0.1, None)
        return np.concatenate(asked)


@pytest.mark.parametrize("split", [1.0, 0.3, 0.0])
def test_no_neighbour_moves_more_counts_than_it_says_and_one_moves_as_many(split):
    """Every row of two small columns against every other, whether all parts were split, some of them, or none."""
    first = Attribute("a", "numeric", lower=0, upper=23, bins=2, integer=True, missing=True)
    second = Attribute("b", "numeric", lower=0, upper=5, bins=2, integer=True)
    domain = Domain.of([first, second])
    found = Histograms.of(domain)
    assert found is not None
    assert [column.levels for column in found.columns] == [2, 1]
    rows = list(product([None, *range(24)], range(6)))
    answering = Answering(3, split)

    def counts(table: list[tuple[int | None, int]]) -> np.ndarray:
        frame = pd.DataFrame({"a": pd.array([a for a, _ in table], dtype="Int64"), "b": [b for _, b in table]})
        return answering.counts(found, Table(frame, domain))

    added = np.array([counts([row]) for row in rows])
    assert set(np.unique(added)) == {0, 1}
    replaced = np.abs(added[:, None] - added[None])
    furthest = {"add_remove": added.sum(axis=1).max(), "replace_one": replaced.sum(axis=2).max()}
    assert replaced.max() == 1
    allowed = {"add_remove": found.moved("add_remove"), "replace_one": found.moved("replace_one")}
    assert allowed == {"add_remove": 3, "replace_one": 6}
    assert all(furthest[relation] <= allowed[relation] for relation in allowed)
    if split == 1.0:
        assert furthest == allowed
    # Tables of several rows are sums of single ones, so neighbours of any table differ as much.
    np.testing.assert_array_equal(counts([rows[3], rows[77], rows[77]]), added[3] + 2 * added[77])


def test_the_largest_parts_are_split_and_what_is_as_large_as_three_deviations_is_not(monkeypatch):
    column = tree(Attribute("x", "numeric", lower=0, upper=999, integer=True))
    values = np.repeat([50.0, 350.0, 750.0, 950.0], [5, 3, 9, 4])  # in the parts 0, 3, 7 and 9 of the first level
    for most, split in ((500, [0, 7, 9]), (2, [0, 7]), (1, [7])):
        monkeypatch.setattr(trees, "_MOST_SPLIT", most)
        assert column.grown(partial(column.counts, values), lambda counts: counts, 1.0)[0].split.tolist() == split


def test_a_value_at_the_upper_end_of_what_is_split_is_not_in_it():
    column = tree(Attribute("x", "numeric", lower=0, upper=999, integer=True))
    first, second, *_ = column.grown(
        partial(column.counts, np.array([50.0] * 9 + [100.0, 999.0])), lambda counts: counts, 1.0
    )
    assert first.counts.ravel().tolist() == [9, 1, 0, 0, 0, 0, 0, 0, 0, 1]
    assert second.edges.tolist() == [list(range(0, 101, 10))]
    assert second.counts.ravel().tolist() == [0, 0, 0, 0, 0, 9, 0, 0, 0, 0]


@pytest.mark.parametrize("attribute", SPANS, ids=lambda a: a.name)
def test_what_is_split_depends_on_the_noisy_counts_alone(attribute):
    """On every level, whether all values are in one part or there is one in each part that is counted."""
    column, grown = tree(attribute), []
    first, last = column.ends
    everywhere = np.linspace(first, last, 9)
    for values in (np.full(50, first), np.full(7, last), everywhere, np.repeat(everywhere, 100)):
        random = np.random.default_rng(5)
        levels = column.grown(
            partial(column.counts, np.sort(values)), lambda counts, random=random: random.random(counts.shape) < 0.4, 0.2
        )
        grown.append([(level.edges.tolist(), level.counts.tolist(), level.split.tolist()) for level in levels])
        everywhere = np.unique(np.concatenate([level.edges.ravel() for level in levels]))
    assert grown[0] == grown[1] == grown[2] == grown[3]
    assert len(grown[0]) == column.levels


@pytest.mark.parametrize("attribute", SPANS, ids=lambda a: a.name)
def test_every_value_is_counted_once_in_the_part_that_holds_it(attribute):
    column = tree(attribute)
    values = np.sort(attribute.in_units(sample(attribute)))
    ends = attribute.in_units(attribute.from_numbers(np.array([attribute.lower, attribute.upper])))
    for numbers in (values, ends, np.nextafter(ends, ends[::-1]) if attribute.unit is None else ends):
        for level in column.grown(partial(column.counts, numbers), lambda counts: counts, 0.1):
            for row, counts in zip(level.edges, level.counts, strict=True):
                expected = [
                    ((numbers >= low) & ((numbers < high) | ((high == column.ends[1]) & (numbers == high)))).sum()
                    for low, high in pairwise(row)
                ]
                assert counts.tolist() == expected
            assert level.counts.sum() == len(numbers)


@pytest.mark.parametrize("attribute", SPANS, ids=lambda a: a.name)
def test_without_noise_the_values_come_back(attribute):
    """Whole numbers and days value by value where the tree goes down to them; else part by part."""
    table = table_of(attribute, sample(attribute))
    encoding = learn(table)
    codes = encoding.codes(table)
    drawn = encoding.decode(codes, np.random.default_rng(2))
    np.testing.assert_array_equal(encoding.codes(Table(drawn, table.domain)), codes)
    real, made = (attribute.numbers(frame[attribute.name]) for frame in (table.frame, drawn))
    if attribute.unit is not None and attribute.name != "wide":
        np.testing.assert_array_equal(np.sort(real), np.sort(made))
    else:
        parts = 10.0 ** tree(attribute).levels
        np.testing.assert_allclose(np.sort(real), np.sort(made), atol=(attribute.upper - attribute.lower) / parts * 1.001)


def test_a_spike_survives_noise_and_missing_cells_stay_missing():
    random = np.random.default_rng(3)
    values = pd.Series(np.where(random.random(20_000) < 0.5, 40, random.integers(0, 120, 20_000))).astype("Int64")
    values[:1000] = pd.NA
    table = table_of(AGES, values)
    encoding = learn(table, 40.0)
    codes = encoding.codes(table)
    assert (codes[:1000, 0] == AGES.size - 1).all()
    assert "40" in encoding.labels(0)
    drawn = encoding.decode(codes, random)["age"]
    assert drawn.isna().sum() == 1000
    assert (drawn == 40).mean() == pytest.approx((values == 40).mean(), abs=0.001)
    assert np.sort(drawn.dropna())[::100] == pytest.approx(np.sort(values.dropna())[::100], abs=4)


def test_impossible_parts_stay_empty_whatever_the_noise():
    column = tree(SPANS[-2])
    random = np.random.default_rng(4)
    levels = column.grown(
        partial(column.counts, np.full(400, 5.0)), lambda counts: counts + random.normal(0, 30, counts.shape), 30.0
    )
    parts = column.parts(levels, 405, 30.0)
    assert (parts.high > parts.low).all()
    assert parts.rows.min() >= 0
    assert parts.rows.sum() == pytest.approx(405)
    assert (parts.low[0], parts.high[-1]) == (1, 18)
    np.testing.assert_array_equal(parts.low[1:], parts.high[:-1])


@pytest.mark.parametrize("known", [10_050, None])
def test_levels_are_weighed_by_their_noise(known):
    """Ten parts, one of them split: its count is (10·own + sum of its parts)/11, the least-squares answer."""
    column = tree(Attribute("x", "numeric", lower=0, upper=99, bins=2, integer=True))
    top, low = np.full((1, 10), 1000.0), np.full((1, 10), 100.0)
    top[0, 0] += 110
    first = Level(np.arange(0.0, 101, 10)[None], top, np.array([0]))
    parts = column.parts([first, Level(np.arange(0.0, 11)[None], low, np.empty(0, dtype=np.int64))], known, 0.0)
    estimated = np.array([1100.0, *[1000.0] * 9])
    variances = np.array([10 / 11, *[1.0] * 9])
    if known is not None:
        estimated -= (estimated.sum() - known) * variances / variances.sum()
    np.testing.assert_allclose(np.append(parts.rows[:10].sum(), parts.rows[10:]), estimated)
    np.testing.assert_allclose(parts.rows[:10], estimated[0] / 10)


def test_the_nearest_vector_is_the_one_that_a_solver_finds():
    random = np.random.default_rng(5)
    wanted, sums = random.normal(0, 3, (6, 10)), np.array([0.0, 0.5, 3.0, 10.0, 40.0, 1e-9])
    variances = random.uniform(0.1, 2.0, (6, 10)) * (random.random((6, 10)) < 0.8)
    found = nearest_with_sum(wanted, sums, variances)
    np.testing.assert_allclose(found.sum(axis=1), sums, atol=1e-12)
    for row, total, variance, mine in zip(wanted, sums, variances, found, strict=True):
        can = variance > 0
        assert (mine[~can] == 0).all()
        x = cp.Variable(int(can.sum()), nonneg=True)
        apart = cp.sum_squares(cp.multiply(x - row[can], 1 / np.sqrt(variance[can])))
        cp.Problem(cp.Minimize(apart), [cp.sum(x) == total]).solve(solver="CLARABEL")
        np.testing.assert_allclose(mine[can], x.value, atol=1e-5)


def test_noise_alone_makes_no_bins():
    """Twenty rows under noise of 30: what stands out by chance is not taken for the law of the column."""
    attribute = Attribute("x", "numeric", lower=0, upper=999, bins=10, integer=True)
    values = np.random.default_rng(0).integers(400, 600, 20)
    far = []
    for seed in range(40):
        random = np.random.default_rng(seed)
        column = tree(attribute)
        levels = column.grown(
            partial(column.counts, values.astype(float)), lambda c, r=random: np.round(c + r.normal(0, 30, c.shape)), 30.0
        )
        bins = Bins.of(column, column.parts(levels, 20, 30.0))
        far.append(np.abs(bins.edges - attribute.unit_edges).max())
    assert np.median(far) < 150


def test_shrinking_is_that_of_james_and_stein():
    estimates, towards = np.array([[3.0, -1.0, 2.0, 9.0]]), np.array([[1.0, 1.0, 1.0, 0.0]])
    np.testing.assert_array_equal(shrunk(estimates, towards, np.array([[1.0, 1.0, 0.1, 0.0]])), estimates)
    # Distances 2, -2, 1 with variances 1, 1, 1/4: 4 + 4 + 4 = 12 against 2 that noise explains.
    found = shrunk(estimates, towards, np.array([[1.0, 1.0, 0.25, 0.0]]))
    np.testing.assert_allclose(found, [[1 + 2 * 5 / 6, 1 - 2 * 5 / 6, 1 + 5 / 6, 9.0]])
    np.testing.assert_array_equal(shrunk(estimates, towards, np.full((1, 4), 100.0)), towards)
    np.testing.assert_array_equal(shrunk(estimates, towards, np.zeros((1, 4))), estimates)


def test_bins_are_the_best_of_all():
    """Every way to cut twelve values into four bins, by brute force."""
    random = np.random.default_rng(6)
    attribute = Attribute("x", "numeric", lower=0, upper=11, bins=4, integer=True)
    column = tree(attribute)
    for _ in range(5):
        rows = np.round(random.exponential(50, 12)) + 1
        parts = Parts(np.arange(12.0), np.arange(1.0, 13.0), rows, np.zeros((5, 0)))
        shares, reached = rows / rows.sum(), np.cumsum(rows) / rows.sum()
        ranks, values = reached - shares / 2, np.arange(12.0)

        def inside(edges: tuple[float, ...], shares=shares, ranks=ranks, values=values) -> float:
            total = 0.0
            for importance, x in ((4, ranks), (1, values)):
                spread = [
                    shares[low:high] @ (x[low:high] - np.average(x[low:high], weights=shares[low:high])) ** 2
                    for low, high in zip(map(int, edges[:-1]), map(int, edges[1:]), strict=True)
                ]
                total += importance * sum(spread) / (shares @ (x - shares @ x) ** 2)
            return total

        edges = Bins.of(column, parts).edges
        every = [inside((0, *cuts, 12)) for cuts in combinations(range(1, 12), 3)]
        assert inside(tuple(edges)) == pytest.approx(min(every))


@pytest.mark.parametrize(("deviation", "least"), [(0.0, 1), (20.0, 40), (1e6, 300)])
def test_a_bin_holds_more_rows_than_noise_brings_where_there_are_as_many(deviation, least):
    """Two deviations of the noise, and of all bins' mean share three tenths."""
    amounts = np.exp(np.random.default_rng(3).normal(3, 1.5, 10_000)).round()
    table = table_of(Attribute("x", "numeric", lower=0, upper=20_000, bins=10, integer=True), amounts)
    parts = learn(table, 0.0, 10_000).bins[0].parts
    edges = Bins.of(tree(table.domain.attributes[0]), parts, deviation).edges
    found = np.histogram(amounts, edges)[0]
    assert len(found) == 10
    assert least <= found.min() < 4 * least


def test_frequent_values_become_bins_of_their_own():
    random = np.random.default_rng(7)
    gain = np.where(
        random.random(5000) < 0.9, 0, np.where(random.random(5000) < 0.3, 99_999, random.integers(1, 50_000, 5000))
    )
    table = table_of(SPANS[1], gain)
    encoding = learn(table, 10.0, 5000)
    labels = encoding.labels(0)
    assert labels[0] == "0"
    assert len(labels) == len(set(labels)) == 10
    codes = encoding.codes(table)[:, 0]
    assert set(gain[codes == 0]) == {0}
    assert gain[codes == 9].min() > 90_000


@pytest.mark.parametrize("attribute", [Attribute("r", "numeric", lower=-1, upper=1, bins=n) for n in (2, 7, 50, 99, 300)])
def test_there_are_as_many_bins_as_asked_for(attribute):
    """One value only, nearly so, and many: of real numbers, in parts that must not be cut."""
    random = np.random.default_rng(9)
    for values in (np.zeros(40), np.append(np.zeros(40), 0.3), random.normal(0, 0.2, 2000).clip(-1, 1)):
        for deviation in (0.0, 30.0):
            bins = learn(table_of(attribute, values), deviation, len(values)).bins[0]
            assert len(bins.edges) == attribute.bins + 1
            assert (np.diff(bins.edges) > 0).all()
            assert (bins.edges[0], bins.edges[-1]) == (-1, 1)


def test_noise_alone_chooses_no_bins() -> None:
    """Ten bins of a thousand rows: noise of 25 rows is a quarter of a bin on average; 600 rows in one bin stand out."""
    random = np.random.default_rng(4)
    attribute = Attribute("x", "numeric", lower=-5, upper=5, bins=10)
    spread, few, many = (np.where(np.arange(1000) < held, 0.3, random.uniform(-5, 5, 1000)) for held in (0, 480, 700))
    cases = [(spread, 20.0, True), (spread, 30.0, False), (few, 30.0, False), (many, 30.0, True), (spread, 0.0, True)]
    cases += [(np.full(1000, 0.3), 160.0, True), (np.full(1000, 0.3), 180.0, False)]  # such noise may fill a bin
    for values, deviation, chosen in cases:
        bins = learn(table_of(attribute, values), deviation, 1000).bins[0]
        assert (bins.edges.tolist() != attribute.unit_edges.tolist()) is chosen
    rows = learn(table_of(attribute, few), 30.0, 1000).decode(np.full((100, 1), 5, np.int32), np.random.default_rng(0))["x"]
    assert (rows.between(0.29, 0.31)).mean() > 0.7  # what is drawn inside a bin follows the rows all the same


def test_what_stands_exactly_at_a_threshold_and_how_far_off_counts_are_said_to_be() -> None:
    """Six deviations may fill a bin, and 60 of 100 rows crowd none; noise of deviation 3 has variance 9 on one part, 18 on
    two, and of what has no part nobody knows a variance."""
    assert (deafened(6.0, 1.0), deafened(6.01, 1.0)) == (True, False)
    column = tree(Attribute("x", "numeric", lower=0, upper=4, bins=2, missing=True))
    ends = np.arange(4.0)
    for most, chance in ((60.0, True), (61.0, False)):
        counted = np.array([ends, ends + 1, ends - ends, ends - ends + 4, ends - ends + 1])
        parts = Parts(ends, ends + 1, np.array([most, 0.0, 100 - most, 0.0]), counted[:, [0, 1, 2]])
        bins = Bins.between(column, parts, np.array([0.0, 2.0, 4.0]))
        assert bins.by_chance(15.0) is chance
        rows, variance = Encoding(Domain.of([column.attribute]), {0: bins}, 3.0).counts(0)
        assert rows.tolist() == [most, 100 - most, 0]
        assert variance.tolist() == [18, 9, np.inf]
        halves = parts.cut(np.array([1.5]))  # of a part that an edge cuts both bins have all that it is off by
        assert halves.between(np.array([0.0, 1.5, 4.0]))[1].tolist() == [2, 2]


def test_the_strongest_partner_is_not_the_one_with_the_most_values() -> None:
    """400 rows: by a hundred values that say nothing chance alone gives (2 - 1)·(100 - 1)/800 = 0.12, more than there is to
    know by a column that agrees in 70 % of the rows, 0.08."""
    random = np.random.default_rng(1)
    column = random.integers(0, 2, 400)
    agrees = np.where(np.arange(400) % 10 < 7, column, 1 - column)
    codes = np.column_stack([column, random.integers(0, 100, 400), agrees]).astype(np.int32)
    assert _strongest_partner(codes, 0, (2, 100, 2)) == 2
    assert _strongest_partner(codes[:, [0, 2, 1]], 0, (2, 2, 100)) == 1  # whichever of them comes first


@pytest.mark.parametrize("rows", [np.zeros(12), np.eye(12)[3] * 50])
def test_with_next_to_nothing_known_there_are_as_many_bins_all_the_same(rows):
    column = tree(Attribute("x", "numeric", lower=0, upper=11, bins=5, integer=True))
    bins = Bins.of(column, Parts(np.arange(12.0), np.arange(1.0, 13.0), rows, np.zeros((5, 0))))
    assert (np.diff(bins.edges) > 0).all()
    assert len(bins.edges) == 6
    drawn = bins.draw(np.arange(5, dtype=np.int32).repeat(3), np.zeros(15), np.random.default_rng(0))
    np.testing.assert_array_equal(bins.codes(drawn.to_numpy(float)), np.arange(5).repeat(3))


def test_a_bin_is_filled_as_its_parts_are_and_evenly_inside_them():
    column = tree(Attribute("x", "numeric", lower=0, upper=4, bins=1))
    low, high, position = np.array([0.0, 1.0, 3.0]), np.array([1.0, 3.0, 4.0]), np.random.default_rng(1).permutation(4000)
    for rows, counts in (([30.0, 10.0, 0.0], [3000, 1000, 0]), ([0.0, 0.0, 0.0], [1000, 2000, 1000])):
        bins = Bins.between(column, Parts(low, high, np.array(rows), np.zeros((5, 0))), np.array([0.0, 4.0]))
        drawn = bins.draw(np.zeros(4000, np.int32), position, np.random.default_rng(0)).to_numpy()
        assert (np.diff(drawn[np.argsort(position)]) > 0).all()
        for first, last, count in zip(low, high, counts, strict=True):
            inside = drawn[(drawn >= first) & (drawn < last)]
            assert len(inside) == count
            assert count == 0 or stats.kstest(inside, stats.uniform(first, last - first).cdf).pvalue > 0.01
        highest = bins.draw(np.zeros(4, np.int32), np.arange(4.0), Topmost(np.random.PCG64(0)))
        assert set(highest) == {np.nextafter(end, 0) for end, count in zip(high, counts, strict=True) if count}


def test_values_follow_their_strongest_partner_inside_a_bin():
    """Two columns that rise together, in four bins each: the rank correlation inside the bins is no longer lost."""
    random = np.random.default_rng(8)
    x = random.integers(0, 1000, 20_000)
    y = np.clip(x + random.integers(-150, 150, 20_000), 0, 999)
    attributes = [Attribute(n, "numeric", lower=0, upper=999, bins=4, integer=True, public=True) for n in "xyz"]
    table = Table(pd.DataFrame({"x": x, "y": y, "z": random.integers(0, 1000, 20_000)}), Domain.of(attributes))
    encoding = learn(table, 5.0, table.n)
    codes = encoding.codes(table)
    rows = encoding.decode(codes, random)
    real = table.frame.corr(method="spearman").loc["x", "y"]
    apart = pd.DataFrame(
        {name: encoding.bins[j].draw(codes[:, j], random.random(table.n), random) for j, name in enumerate("xyz")}
    )
    lost = real - apart.corr(method="spearman").loc["x", "y"]
    left = real - rows.corr(method="spearman").loc["x", "y"]
    assert lost > 0.05
    assert abs(left) < 0.5 * lost
    assert abs(rows.corr(method="spearman").loc["x", "z"]) < 0.03
    for name in "xyz":
        np.testing.assert_allclose(np.sort(rows[name])[::200], np.sort(table.frame[name])[::200], atol=30)


def test_only_columns_with_several_values_in_a_bin_get_a_tree():
    fine = Attribute("fine", "numeric", lower=0, upper=9, bins=10, integer=True)
    word = Attribute("word", "categorical", categories=("a", "b"))
    assert Histograms.of(Domain.of([fine, word])) is None
    both = Histograms.of(Domain.of([word, AGES, fine]))
    assert both is not None
    assert [(column.attribute.name, column.position) for column in both.columns] == [("age", 1)]


def test_with_fixed_bins_the_codes_are_those_of_the_domain():
    table = table_of(SPANS[1], sample(SPANS[1]))
    found = Histograms.of(table.domain, fixed_bins=True)
    assert found is not None
    encoding = found.learn(table, lambda counts: counts, 0.0, table.n)
    np.testing.assert_array_equal(encoding.codes(table), table.codes)
    assert encoding.labels(0) == SPANS[1].labels()
    drawn = encoding.decode(table.codes, np.random.default_rng(0))
    np.testing.assert_array_equal(np.sort(drawn["gain"]), np.sort(table.frame["gain"]))


def test_the_codes_of_a_table_stay_those_of_its_domain():
    table = table_of(AGES, sample(AGES))
    before = table.codes.copy()
    assert (learn(table).codes(table) != before).any()
    np.testing.assert_array_equal(table.codes, before)
