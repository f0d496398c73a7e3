"""The budget of noisy reweighting, everything that gets noise, against all neighbours there are, in exact arithmetic."""

from __future__ import annotations

import math
from collections import Counter
from fractions import Fraction

import numpy as np
import pytest

import dpsyn
from dpsyn.mechanisms.noisy_reweighting import NoisyReweightingMechanism, Part, _ledger
from dpsyn.mechanisms.noisy_reweighting._ledger import Parts, calibrated_ledger
from dpsyn.mechanisms.noisy_reweighting.user_functions import FunctionFamily
from dpsyn.privacy.discrete_gaussian import Moved, discrete_delta, gaussian_scale
from dpsyn.privacy.noise import NoiseSource
from dpsyn.privacy.zcdp import zcdp_delta, zcdp_rho
from dpsyn.table import Table
from tests.conftest import categories, cube

OWN_MARGINALS = {"reduced_space": "marginals", "reduced_space_size": 5, "marginal_share": 0.3}
FUNCTIONS = [lambda c: c[:, 0] / 2 - 0.3, lambda c: (c[:, 0] > 0) & (c[:, 1] > 0), lambda c: c[:, 1] - c[:, 0] / 3]
CASES = {
    "walsh 2": (cube(5), {}),
    "walsh 3": (cube(4), {"degree": 3}),
    "walsh 4": (cube(6), {"degree": 4}),
    "walsh 5": (cube(6), {"degree": 5}),
    "six orders of one scale": (cube(6), {"degree": 6}),
    "walsh, marginals of their own": (cube(4), OWN_MARGINALS),
    "tables": (categories(2, 4, 3), {}),
    "tables, marginals of their own": (categories(2, 4, 3), OWN_MARGINALS),
    "tables that overlap": (categories(2, 4, 3), {"tables": (("c0", "c1"), ("c1", "c0", "c2"), ("c2",))}),
    "tables that leave a column out": (categories(2, 4, 3), {"tables": (("c0", "c1"),), "reduced_space_size": 5}),
    "a column of one code": (categories(1, 3, 2), {"tables": (("c0",), ("c1",), ("c1", "c2"))}),
    "conjunctions": (categories(2, 4, 3), {"statistics": "conjunctions"}),
    "conjunctions, marginals of their own": (categories(2, 3), {"statistics": "conjunctions", **OWN_MARGINALS}),
    "functions": (categories(3, 2), {"family": FunctionFamily(FUNCTIONS, (3, 2))}),
    "functions, marginals of their own": (
        categories(3, 2),
        {"family": FunctionFamily(FUNCTIONS, (3, 2)), "objective": "max", **OWN_MARGINALS},
    ),
}


def everything(mechanism: NoisyReweightingMechanism, point: np.ndarray) -> np.ndarray:
    """What one row adds to the numbers that get noise."""
    rows = point[None, :]
    parts = [mechanism.statistics.sums(rows)]
    if mechanism.marginals is not None:
        parts.append(mechanism.marginals.sums(rows))
    if mechanism.count_part:
        parts.append(np.array([1]))
    return np.concatenate(parts)


def test_the_record_says_where_no_neighbour_moves_a_statistic():
    spec = dpsyn.PrivacySpec(1.0, 1e-5)
    for domain, still in ((categories(1, 1), True), (categories(1, 2), False)):
        for noise in ("laplace", "gaussian"):
            facts = dpsyn.NoisyReweighting(noise=noise).calibrate(spec, domain, n=50).calibrated()
            assert facts.get("nothing_moves", False) is still
            if still:  # the noise of one count stands for none
                alone = gaussian_scale((Moved(1, 1),), 1.0, 1e-5)[0] if noise == "gaussian" else 1.0
                assert facts["noise_scale_on_sums"] == pytest.approx(alone, rel=1e-12)


def moves_and_parts(mechanism: NoisyReweightingMechanism) -> tuple[np.ndarray, np.ndarray]:
    """By how much each neighbour moves each number, and the part of the ledger that each number belongs to."""
    shape = mechanism.domain.shape
    values = np.array([everything(mechanism, p) for p in np.indices(shape).reshape(len(shape), -1).T.astype(np.int32)])
    if mechanism.guarantee.neighbouring == "replace_one":
        values = (values[:, None, :] - values[None, :, :]).reshape(-1, values.shape[1])
    return np.unique(np.abs(values), axis=0), mechanism.part_of


@pytest.mark.parametrize("allocation", ["by_size", "equal"])
@pytest.mark.parametrize("neighbouring", ["replace_one", "add_remove"])
@pytest.mark.parametrize("case", CASES)
def test_laplace_noise_costs_no_neighbour_more_than_epsilon_to_the_last_bit(case, neighbouring, allocation):
    domain, settings = CASES[case]
    for epsilon in (0.1, 1 / 3, 0.7, 3.0):
        spec = dpsyn.PrivacySpec(epsilon, neighbouring=neighbouring)
        mechanism = dpsyn.NoisyReweighting(allocation=allocation, **settings).calibrate(spec, domain, n=50)
        moved, of_part = moves_and_parts(mechanism)
        assert moved.shape[1] == sum(entry["count"] for entry in mechanism.ledger.entries)
        scales = [Fraction(mechanism._scale_of(part)) for part in of_part]
        costs = [sum(int(v) / s for v, s in zip(row, scales, strict=True) if v) for row in moved]
        assert max(costs) <= Fraction(epsilon)
        # Nothing is given away either, where the worst neighbour of every part is the same one.
        if "functions" not in case and "marginals of their own" not in case:
            assert float(max(costs)) == pytest.approx(epsilon, rel=1e-12)
        assert sum(entry["share"] for entry in mechanism.ledger.entries) == pytest.approx(1)


def test_theorem_2_2_is_named_only_for_what_it_is_about():
    domain, settings = CASES["walsh, marginals of their own"]
    for neighbouring, cited in (("replace_one", True), ("add_remove", False)):
        spec = dpsyn.PrivacySpec(1.0, neighbouring=neighbouring)
        guarantee = dpsyn.NoisyReweighting(**settings).calibrate(spec, domain, n=50).guarantee
        assert ("Theorem 2.2" in guarantee.source) is cited
        assert "exact L1 sensitivity" in guarantee.source


@pytest.mark.parametrize("allocation", ["by_size", "equal"])
@pytest.mark.parametrize("neighbouring", ["replace_one", "add_remove"])
@pytest.mark.parametrize("case", CASES)
def test_gaussian_noise_gives_every_neighbour_its_delta(case, neighbouring, allocation):
    """Each neighbour's own δ: from the law of its loss where the ledger is exact, from its own ρ where it is zCDP."""
    domain, settings = CASES[case]
    epsilon, delta = 0.7, 1e-6
    spec = dpsyn.PrivacySpec(epsilon, delta, neighbouring)
    mechanism = dpsyn.NoisyReweighting(allocation=allocation, **settings).calibrate(spec, domain, n=50)
    moved, of_part = moves_and_parts(mechanism)
    assert mechanism.ledger.argument == ("zcdp" if "functions" in case else "exact")
    scales = np.array([mechanism._scale_of(part) for part in of_part])
    worst = 0.0
    for row in moved[np.argsort(-((moved / scales) ** 2).sum(axis=1))][:12]:
        if mechanism.ledger.argument == "zcdp":
            worst = max(worst, zcdp_delta(float(((row / scales) ** 2).sum() / 2), epsilon))
            continue
        steps = Counter((int(part), int(v)) for part, v in zip(of_part, row, strict=True) if v)
        weights = [part.weight for part in mechanism.ledger.parts]
        pairs = [Moved(count, step, int(weights[part])) for (part, step), count in steps.items()]
        worst = max(worst, discrete_delta(pairs, mechanism.ledger.base, epsilon))
    assert worst <= delta
    if "functions" not in case and "marginals of their own" not in case:
        assert worst > 0.9 * delta


@pytest.mark.parametrize("noise", ["laplace", "gaussian"])
def test_without_a_public_n_averages_are_of_the_noisy_n(noise):
    domain = categories(2, 3)
    codes = np.random.default_rng(0).integers(0, domain.shape, (400, 2), dtype=np.int32)
    table = Table(domain.decode(codes, np.random.default_rng(0)), domain)
    spec = dpsyn.PrivacySpec(0.3, 1e-5 if noise == "gaussian" else 0.0, "add_remove")
    mechanism = dpsyn.NoisyReweighting().calibrate(spec, domain, n=400)
    averages = mechanism.averages(mechanism.measured(NoiseSource(np.random.default_rng(1)), table))
    assert averages.sum() == pytest.approx(1)  # one table: its noisy cells over their own noisy total
    assert not np.allclose(averages * 400, np.rint(averages * 400))


def test_marginals_of_columns_that_cannot_move_cost_nothing():
    for delta in (0.0, 1e-5):
        config = dpsyn.NoisyReweighting(**OWN_MARGINALS)
        mechanism = config.calibrate(dpsyn.PrivacySpec(1.0, delta), categories(1, 1), n=5)
        assert moves_and_parts(mechanism)[0].max() == 0


def test_orders_are_weighed_up_to_degree_five():
    for degree, parts in ((5, 5), (6, 1)):
        mechanism = dpsyn.NoisyReweighting(degree=degree).calibrate(dpsyn.PrivacySpec(1.0), cube(8), n=10)
        assert len(mechanism.ledger.parts) == parts


@pytest.mark.parametrize("noise", ["laplace", "gaussian"])
@pytest.mark.parametrize("neighbouring", ["replace_one", "add_remove"])
@pytest.mark.parametrize("case", [case for case in CASES if "functions" not in case])
def test_the_ledger_looks_at_every_neighbour(case, neighbouring, noise):
    """What a neighbour moves of each part, by brute force, is covered by one of the moves that the noise is made for."""
    domain, settings = CASES[case]
    spec = dpsyn.PrivacySpec(0.7, 1e-6, neighbouring)
    mechanism = dpsyn.NoisyReweighting(noise=noise, **settings).calibrate(spec, domain, n=50)
    moved, of_part = moves_and_parts(mechanism)
    ledger = mechanism.ledger
    numbers = range(len(ledger.parts))
    looked_at = [[(part.moved, part.step) for part in parts] for parts in ledger.neighbours]
    assert [sum(of_part == number) for number in numbers] == [part.count for part in ledger.parts]
    for row in moved:
        mine = [(int((row[of_part == number] > 0).sum()), int(row[of_part == number].max())) for number in numbers]
        assert any(all(m <= most and v <= step for (m, v), (most, step) in zip(mine, at, strict=True)) for at in looked_at)
    # The parts that are shown as costs are those of the worst neighbour, so that they add up to what was asked for.
    costs = [sum(part.weight * part.moved * part.step for part in parts) for parts in ledger.neighbours]
    assert costs[0] == max(costs)
    if noise == "laplace":
        assert sum(entry["epsilon"] for entry in ledger.entries) == pytest.approx(0.7, rel=1e-9)
    if case.startswith("walsh") and neighbouring == "replace_one":
        assert len(looked_at) > 1  # no number of changed columns is the worst for every order


WORSE = Parts((Part("a", 9, 2, 2, 3), Part("b", 9, 1, 1, 1)), np.repeat([0, 1], 9), ((2, 8), (1, 2)))


@pytest.mark.parametrize(("delta", "kind"), [(0.0, "laplace"), (1e-6, "gaussian"), (1e-14, "gaussian")])
def test_noise_is_made_for_the_worst_of_the_neighbours(delta, kind):
    """Also where it is none of the first ones: (2, 8) moves 2 numbers by 2 under weight 3, and 8 by 1."""
    ledger = calibrated_ledger(WORSE, kind, dpsyn.PrivacySpec(0.5, delta))
    alone = Parts((Part("a", 9, 2, 2, 3), Part("b", 9, 8, 1, 1)), WORSE.part_of)
    assert ledger.base == calibrated_ledger(alone, kind, dpsyn.PrivacySpec(0.5, delta)).base
    squares = 2 * 2**2 * 3 + 8
    expected = {
        (0.0, "laplace"): (2 * 2 * 3 + 8) / 0.5,
        (1e-6, "gaussian"): ledger.base,
        # Rounding may not cost what was asked for: it is as much more.
        (1e-14, "gaussian"): math.sqrt(squares / (2 * zcdp_rho(0.5, 1e-14))) * (1 + 1e-12),
    }[delta, kind]
    assert ledger.base == pytest.approx(expected, rel=1e-14)
    assert ledger.argument == {0.0: "pure", 1e-6: "exact", 1e-14: "zcdp"}[delta]
    if delta == 1e-6:
        moved = [Moved(2, 2, 3), Moved(8, 1, 1)]
        assert discrete_delta(moved, ledger.base, 0.5) <= 1e-6 < discrete_delta(moved, ledger.base * 0.99, 0.5)
    root = np.sqrt if kind == "gaussian" else float
    assert [ledger.scale(part) for part in ledger.parts] == [ledger.base / root(3), ledger.base]


def test_a_part_that_joins_moves_beside_every_neighbour():
    joined = WORSE.joined(Part("c", 4, 3))
    assert joined.others == ((2, 8, 3), (1, 2, 3))
    assert joined.part_of.tolist() == [0] * 9 + [1] * 9 + [2] * 4
    assert joined.parts == (*WORSE.parts, Part("c", 4, 3))


@pytest.mark.parametrize("counts", [[1, 2], [2, 1]])
def test_a_neighbour_that_is_worse_than_its_length_says_falls_back_to_zcdp(monkeypatch, counts):
    """Lengths decide for continuous noise only; every neighbour's own δ has to be small enough."""
    real = _ledger.discrete_delta

    def doubtful(moved, scale, epsilon):
        return 1.0 if [part.count for part in moved] == counts else real(moved, scale, epsilon)

    monkeypatch.setattr(_ledger, "discrete_delta", doubtful)
    assert calibrated_ledger(WORSE, "gaussian", dpsyn.PrivacySpec(0.5, 1e-6)).argument == "zcdp"


@pytest.mark.parametrize("noise", ["laplace", "gaussian"])
@pytest.mark.parametrize("neighbouring", ["replace_one", "add_remove"])
def test_functions_that_are_nothing_everywhere_leave_the_budget_to_the_number_of_rows(noise, neighbouring):
    config = dpsyn.NoisyReweighting(family=FunctionFamily([lambda c: 0 * c[:, 0]], (2, 2)), noise=noise)
    mechanism = config.calibrate(dpsyn.PrivacySpec(1.0, 1e-5, neighbouring), cube(2), n=9)
    assert mechanism.guarantee.epsilon == 1.0
    scale = mechanism.ledger.scale(mechanism.ledger.parts[-1])
    assert scale == (1.0 if noise == "laplace" else gaussian_scale((Moved(1, 1, 1),), 1.0, 1e-5)[0])


@pytest.mark.parametrize("weight", [1.4, 2.5, 0.3])
def test_weights_that_are_no_whole_numbers_are_left_to_zcdp(weight):
    parts = Parts((Part("a", 3, 3), Part("b", 1, 1, 1, weight)), np.array([0, 0, 0, 1]))
    ledger = calibrated_ledger(parts, "gaussian", dpsyn.PrivacySpec(1.0, 1e-5))
    assert ledger.argument == "zcdp"
    rho = sum(part.moved / (2 * ledger.scale(part) ** 2) for part in ledger.parts)
    assert zcdp_delta(rho * (1 - 1e-12), 1.0) <= 1e-5


@pytest.mark.parametrize("sign", [1, -1])
@pytest.mark.parametrize("neighbouring", ["replace_one", "add_remove"])
def test_gaussian_noise_on_functions_of_one_sign_is_for_a_row_more_where_that_moves_them_further(neighbouring, sign):
    """Of two functions with values ±3/4 and ±1, a row more moves both by 4 quarters, a row that is replaced by 1 quarter."""
    ends = (0.5, 1.0) if sign > 0 else (-1.0, -0.5)
    family = FunctionFamily(lambda c: sign * (0.75 + c[:, :2] / 4), (2,) * 3, low=ends[0], high=ends[1], unit=0.25)
    mechanism = dpsyn.NoisyReweighting(family=family).calibrate(dpsyn.PrivacySpec(1.0, 1e-6, neighbouring), cube(3), 1000)
    first, *count = [mechanism._scale_of(number) for number in range(len(mechanism.ledger.parts))]
    moved = 2 * (1 if neighbouring == "replace_one" else 4**2)
    spent = moved / (2 * first**2) + sum(1 / (2 * scale**2) for scale in count)
    assert spent == pytest.approx(zcdp_rho(1.0, 1e-6), rel=1e-9)
    if count:  # 0.05 of the budget is for the number of rows, which a row more moves by 1
        assert first == pytest.approx(math.sqrt(32 / (2 * 0.95 * zcdp_rho(1.0, 1e-6))), rel=0.01)
        assert first == pytest.approx(26.3, abs=0.05)
