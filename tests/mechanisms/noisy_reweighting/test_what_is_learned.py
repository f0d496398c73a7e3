"""What the run takes from its noisy numbers, where the noise is left out: reference values by hand."""

from __future__ import annotations

import math
from dataclasses import replace
from itertools import product
from typing import Any

import numpy as np
import pytest

import dpsyn
from dpsyn.errors import ParameterError
from dpsyn.mechanisms.noisy_reweighting._choice import ChoosingMechanism
from dpsyn.mechanisms.noisy_reweighting._ledger import (
    Ledger,
    NoiseKind,
    Part,
    calibrated_ledger,
    parts_of,
    published_part,
    with_count,
    with_counts,
)
from dpsyn.mechanisms.noisy_reweighting._spaces import noisy_rows
from dpsyn.mechanisms.noisy_reweighting.families import ConjunctionFamily, TableFamily, WalshFamily
from dpsyn.mechanisms.noisy_reweighting.user_functions import FunctionFamily
from dpsyn.privacy.noise import NoiseSource
from dpsyn.solvers.contingency import all_codes
from dpsyn.table import Table
from tests.conformance.neighbours import Exact
from tests.mechanisms.noisy_reweighting.test_mechanism import categories, cube


def table_of(domain: dpsyn.Domain, n: int) -> Table:
    codes = np.random.default_rng(0).integers(0, domain.shape, (n, len(domain)), dtype=np.int32)
    return Table(domain.decode(codes, np.random.default_rng(0)), domain)


@pytest.mark.parametrize("neighbouring", ["replace_one", "add_remove"])
def test_one_way_counts_of_their_own_give_the_marginals(neighbouring: Any) -> None:
    domain = categories(3, 2, 4)
    table = table_of(domain, 400)
    config = dpsyn.NoisyReweighting(reduced_space="marginals", marginal_share=0.3, reduced_space_size=60)
    mechanism = config.calibrate(dpsyn.PrivacySpec(5.0, 1e-5, neighbouring), domain, table.n)
    measured = mechanism.measured(Exact(), table)
    assert measured.rows == pytest.approx(400)
    assert measured.marginals is not None
    for j, law in enumerate(measured.marginals):
        np.testing.assert_allclose(law, np.bincount(table.codes[:, j], minlength=domain.shape[j]) / 400)


@pytest.mark.parametrize("delta", [0.0, 1e-5])
def test_noise_leaves_the_exact_sums_as_they_are(delta: float) -> None:
    mechanism = dpsyn.NoisyReweighting().calibrate(dpsyn.PrivacySpec(0.1, delta), categories(3, 2, 4), 400)
    exact = np.arange(mechanism.statistic_count)
    noisy = mechanism.noisy(NoiseSource(np.random.default_rng(0)), exact)
    assert exact.tolist() == list(range(mechanism.statistic_count))
    assert (noisy != exact).mean() > 0.9


@pytest.mark.parametrize("n", [0, 1])
def test_where_nothing_tells_the_number_of_rows_it_is_one(n: int) -> None:
    family = WalshFamily(3, 2, constant=bool(n))
    spec = dpsyn.PrivacySpec(1.0, 0.0, "add_remove")
    mechanism = dpsyn.NoisyReweighting(family=family).calibrate(spec, cube(3), 30)
    if not n:
        assert mechanism.measured(Exact(), table_of(cube(3), 30)).rows == 1.0
        return
    assert mechanism.measured(Exact(), table_of(cube(3), 30)).rows == 30.0
    # The noisy count may be anything, a number of rows is at least 1.
    for counted in (-7.0, 0.5, 1.0):
        assert mechanism._rows(np.full(family.count, counted), 0.0) == 1.0
    assert mechanism._rows(np.full(family.count, 1.1), 0.0) == 1.1


@pytest.mark.parametrize(
    ("kind", "unit", "scales", "spent"),
    [("gaussian", "rho", [2.5, 5.0, 5.0], [0.16, 0.24, 0.045]), ("laplace", "epsilon", [1.25, 5.0, 5.0], [1.6, 1.2, 0.6])],
)
def test_what_every_part_costs_by_hand(kind: Any, unit: str, scales: list[float], spent: list[float]) -> None:
    parts = (Part("a", 3, 2, 1, 4.0), Part("b", 2, 3, 2), Part("c", 1, 1, l1=3.0, l2=1.5))
    entries = Ledger(5.0, parts, kind, "exact").entries
    assert [(entry["name"], entry["count"]) for entry in entries] == [("a", 3), ("b", 2), ("c", 1)]
    assert [entry["scale"] for entry in entries] == scales
    assert [entry[unit] for entry in entries] == pytest.approx(spent)
    assert [entry["share"] for entry in entries] == pytest.approx([one / sum(spent) for one in spent])


@pytest.mark.parametrize(
    ("kind", "whole", "weights"),
    [
        ("gaussian", False, [2, 3, 4]),  # 8·(c/16)^(1/3), without what they have in common
        ("laplace", False, [5, 7, 8]),  # 8·(c/16)^(1/4)
        ("gaussian", True, [2, 5, 8]),  # 8·(c/16)^(3/4)
        ("laplace", True, [3, 6, 8]),  # 8·(c/16)^(1/2)
    ],
)
def test_weights_of_tables_of_2_8_and_16_cells(kind: NoiseKind, whole: bool, weights: list[int]) -> None:
    family = TableFamily((2, 8), [(0,), (1,), (0, 1)])
    found = parts_of(family, "replace_one", kind, by_size=True, whole=whole)
    assert [(part.count, part.moved, part.step, part.weight) for part in found.parts] == [
        (cells, 2, 1, weight) for cells, weight in zip((2, 8, 16), weights, strict=True)
    ]
    assert found.part_of.tolist() == [0] * 2 + [1] * 8 + [2] * 16
    assert [part.name for part in found.parts] == [f"1 table of {cells} cells" for cells in (2, 8, 16)]


def test_tables_that_are_small_beside_others_have_a_weight_and_parts_say_what_they_hold() -> None:
    def parts(sizes: tuple[int, ...], tables: list[tuple[int, ...]]) -> list[tuple[str, float]]:
        found = parts_of(TableFamily(sizes, tables), "add_remove", "gaussian", by_size=True).parts
        return [(part.name, part.weight) for part in found]

    assert parts((2, 1000, 1000), [(0,), (1, 2)]) == [("1 table of 2 cells", 1), ("1 table of 1000000 cells", 8)]
    assert parts((15, 16, 1), [(0,), (1,), (2,)]) == [("1 table of 1 cell", 3), ("2 tables of 15 to 16 cells", 8)]


@pytest.mark.parametrize("kind", ["gaussian", "laplace"])
@pytest.mark.parametrize("neighbouring", ["replace_one", "add_remove"])
@pytest.mark.parametrize(("p", "degree"), [(6, 2), (5, 3), (2, 3)])
def test_weights_of_walsh_functions_make_tables_least_noisy(p: int, degree: int, neighbouring: Any, kind: NoiseKind) -> None:
    """Against all weights from 1 to 4, with what every pair of points moves."""
    family = WalshFamily(p, degree, constant=False)
    values = family.matrix(all_codes((2,) * p))
    moved = np.ones_like(values) if neighbouring == "add_remove" else np.abs(values - values[:, :1]) / 2
    orders = np.array([len(group.columns) for group in family.groups])
    reached = min(p, degree)
    counts = np.array([moved[orders == j].sum(axis=0) for j in range(1, reached + 1)])

    def noise(weights: tuple[int, ...]) -> float:
        size, power = (np.array(weights) @ counts).max(), 1 if kind == "gaussian" else 2
        return float(size**power * sum(math.comb(reached, j) / w**power for j, w in enumerate(weights, 1)))

    found = parts_of(family, neighbouring, kind, by_size=True)
    weights = tuple(part.weight for part in found.parts)
    assert noise(weights) == pytest.approx(min(map(noise, product(range(1, 5), repeat=reached))))
    assert found.part_of.tolist() == (orders - 1).tolist()
    assert [part.count for part in found.parts] == [math.comb(p, j) for j in range(1, reached + 1)]
    assert {part.step for part in found.parts} == {1 if neighbouring == "add_remove" else 2}
    # Every neighbour is covered by one of those that are looked at.
    looked_at = [[part.moved for part in found.parts], *found.others]
    for move in np.unique(counts, axis=1).T:
        assert any((move <= one).all() for one in looked_at)


def test_what_the_published_theorem_moves_is_a_whole_number_of_units_and_no_more_is_refused() -> None:
    """2/(1/49) is no whole number in floating point."""
    assert 2 / (1 / 49) != 98
    for unit, length in ((1.0, 2), (1 / 49, 98)):
        part = published_part("f", FunctionFamily([lambda c: 2 * c[:, 0] - 1], (2,), unit=unit))
        assert part.l1 == part.size[0] == length


def test_one_part_moves_a_whole_number_of_sums() -> None:
    for family, neighbouring, expected in (
        (WalshFamily(8, 2), "replace_one", (20, 2)),
        (WalshFamily(8, 2), "add_remove", (37, 1)),
        (TableFamily((2, 3), [(0,), (1,)]), "replace_one", (4, 1)),
    ):
        (part,) = parts_of(family, neighbouring, "laplace", by_size=False).parts
        assert (part.moved, part.step, type(part.moved)) == (*expected, int)


@pytest.mark.parametrize(("columns", "degree"), [(0, 1), (3, 0)])
def test_walsh_functions_of_nothing_are_refused(columns: int, degree: int) -> None:
    with pytest.raises(ParameterError):
        WalshFamily(columns, degree)


def test_tables_and_conjunctions_of_nothing_are_refused() -> None:
    for sizes in ((), (2, 0)):
        with pytest.raises(ParameterError):
            TableFamily(sizes, [(0,)])
    with pytest.raises(ParameterError):
        ConjunctionFamily((2, 3), 0)


@pytest.mark.parametrize("sizes", [(1,), (1, 1, 1)])
@pytest.mark.parametrize("statistics", ["walsh", "conjunctions"])
def test_what_cannot_tell_rows_of_one_value_apart_is_refused_by_the_setting_that_asked_for_it(
    statistics: Any, sizes: tuple[int, ...]
) -> None:
    asked = dpsyn.NoisyReweighting(statistics=statistics)
    with pytest.raises(ParameterError, match=f"statistics = '{statistics}' is not possible: .*use 'contingency'") as caught:
        asked.calibrate(dpsyn.PrivacySpec(1.0), categories(*sizes), 10)
    assert caught.value.field == "statistics"
    assert dpsyn.NoisyReweighting(statistics="contingency").calibrate(dpsyn.PrivacySpec(1.0), categories(*sizes), 10)


@pytest.mark.parametrize("kind", ["gaussian", "laplace"])
@pytest.mark.parametrize("share", [0.25, 0.02])
def test_what_joins_has_the_share_that_was_asked_for(kind: NoiseKind, share: float) -> None:
    """Nine functions that move by 3, with weight 2: their squares are not their lengths."""
    found = replace(parts_of(WalshFamily(3, 1), "add_remove", "laplace", by_size=False), parts=(Part("f", 4, 9, 3, 2),))
    spec = dpsyn.PrivacySpec(1.0, 1e-5, "add_remove")
    for joined in (with_counts(found, "more", 7, 4, kind, share), with_count(found, kind, share)):
        assert calibrated_ledger(joined, kind, spec).entries[-1]["share"] == pytest.approx(share, rel=0.13)
    # However little is asked for, there is some.
    assert with_counts(found, "more", 7, 10**6, kind, 1e-9).parts[-1].weight == 1


def test_how_many_points_there_are_hangs_on_a_public_number_of_rows_alone() -> None:
    domain = categories(*[9] * 12)

    def points(n: int, neighbouring: Any, **settings: Any) -> int:
        spec = dpsyn.PrivacySpec(1.0, 1e-5, neighbouring)
        return dpsyn.NoisyReweighting(**settings).calibrate(spec, domain, n).reduced_space_size

    assert points(10**9, "replace_one") > points(10, "replace_one") == points(10, "add_remove")
    assert points(10**9, "add_remove") == points(10, "add_remove")
    many = categories(*[3] * 26)
    spec = dpsyn.PrivacySpec(1.0, 1e-5)
    few, large = (dpsyn.NoisyReweighting().calibrate(spec, many, n) for n in (10, 10**9))
    assert isinstance(few, ChoosingMechanism)
    assert "noisy scores" in few.guarantee.source
    assert few.reduced_space_size == large.reduced_space_size  # tables that are chosen by noisy scores are not known before


@pytest.mark.parametrize(
    ("noise", "delta", "status"),
    [
        ("laplace", 0.0, "proven"),
        ("gaussian", 1e-5, "proven"),
        ("as_published", 0.0, "real_arithmetic"),
    ],
)
def test_the_claim_is_that_of_the_noise(noise: Any, delta: float, status: str) -> None:
    claim = dpsyn.NoisyReweighting(noise=noise).calibrate(dpsyn.PrivacySpec(0.7, 1e-5), cube(3), 9).guarantee
    assert (claim.epsilon, claim.delta, claim.neighbouring, claim.status) == (0.7, delta, "replace_one", status)
    assert "chosen" not in claim.source


DAY = dpsyn.Attribute("day", "date", lower=0, upper=99, bins=4, public=True, keep=("month",))
DATED = dpsyn.Domain.of([DAY, dpsyn.Attribute("paid", "truth", (False, True), public=True)])


def test_what_is_measured_besides_the_statistics_is_paid_for_and_said() -> None:
    """Months join in but where statistics or points are the user's own; there a secret number of rows may need a part."""
    table = table_of(DATED, 60)
    family = FunctionFamily([lambda codes: codes[:, 1] * 1.0], DATED.shape, unit=1.0)
    own: list[dict[str, Any]] = [{}, {"family": family}, {"public": table, "reduced_space": "public"}]
    for settings, neighbouring, share in product(own, ("replace_one", "add_remove"), (0.0, 0.2)):
        config = dpsyn.NoisyReweighting(**settings, histogram_share=share)
        mechanism = config.calibrate(dpsyn.PrivacySpec(1.0, 0.0, neighbouring), DATED, 60)
        claim, parts = mechanism.guarantee, [part.name for part in mechanism.ledger.parts]
        assert mechanism.domain.names == ("day", "paid") + (("day (month)",) if not settings else ())
        assert ("noisy histograms" in claim.source) == ("fine histograms" in parts) == (share > 0)
        assert any("reduced space were public" in said for said in claim.assumptions) == ("public" in settings)
        counted = "family" in settings and neighbouring == "add_remove"
        assert ("number of rows" in parts) == counted == mechanism.count_part
        assert mechanism.measured(Exact(), table).rows == pytest.approx(60)


def test_the_constant_has_noise_where_the_number_of_rows_is_a_secret() -> None:
    for statistics, neighbouring in product(("walsh", "conjunctions"), ("replace_one", "add_remove")):
        config = dpsyn.NoisyReweighting(statistics=statistics)
        mechanism = config.calibrate(dpsyn.PrivacySpec(1.0, 0.0, neighbouring), cube(3), 9)
        assert mechanism.statistics.has_constant == (neighbouring == "add_remove")


@pytest.mark.parametrize(("scale", "rows"), [(1.0, 14.0), (0.5, 20.0)])
def test_totals_of_tables_count_by_how_little_noise_they_hold(scale, rows):
    """Noise adds up over the cells of a table: totals of 10 and 30 with the variances 2 and 8·scale²."""
    sums = np.array([5.0] * 2 + [30 / 8] * 8)
    assert noisy_rows(TableFamily((2, 8), [(0,), (1,)]), sums, np.array([1.0] * 2 + [scale] * 8)) == pytest.approx(rows)
