"""Pictures inside noisy reweighting: their numbers, and that they draw."""

from __future__ import annotations

import math
import re
from typing import get_args

import numpy as np
import pytest

import dpsyn
from dpsyn.data.samples import load_sample
from dpsyn.domain import Attribute, Domain
from dpsyn.errors import ParameterError
from dpsyn.mechanisms.encoding import HISTOGRAMS
from dpsyn.mechanisms.noisy_reweighting import inside as pictures
from dpsyn.mechanisms.noisy_reweighting.families import TableFamily
from dpsyn.mechanisms.noisy_reweighting.figures import PUBLISHED, draw_budget, draw_noise, noise_by_family
from dpsyn.mechanisms.noisy_reweighting.inside import (
    DENSITIES,
    Density,
    Inside,
    draw_draws,
    draw_statistics,
    draw_support,
    draw_worst_tables,
)
from dpsyn.mechanisms.noisy_reweighting.panels import columns_that_fit
from dpsyn.notation import short
from dpsyn.privacy.spec import Neighbouring, PrivacySpec
from dpsyn.solvers.contingency import walsh_dimension
from dpsyn.table import Table

SPEC = PrivacySpec(1.0)


def run_of(table: Table, spec: PrivacySpec = SPEC, *, degree: int = 2, seed: int = 0) -> Inside:
    noise = "gaussian" if spec.delta else "laplace"
    mechanism = dpsyn.NoisyReweighting(degree=degree, noise=noise).calibrate(spec, table.domain, n=table.n)
    return Inside(mechanism, table, seed)


@pytest.fixture(scope="module")
def asia() -> Inside:
    return run_of(load_sample("asia"))


@pytest.fixture(scope="module")
def categories() -> Inside:
    return run_of(load_sample("car").project(["buying", "safety", "persons", "class"]), PrivacySpec(1.0, 1e-5))


def domain_of(sizes: tuple[int, ...]) -> Domain:
    return Domain.of(
        Attribute(f"c{j}", "truth" if size == 2 else "categorical", tuple(range(size)), public=True)
        for j, size in enumerate(sizes)
    )


def test_noise_on_asia_is_what_the_theory_says() -> None:
    domain = load_sample("asia").domain
    found = noise_by_family(domain, SPEC, degree=2)
    lines = {each.family: each for each in found}
    assert (lines["Walsh functions"].l1, lines[PUBLISHED].l1, lines["tables"].l1, lines["conjunctions"].l1) == (
        40,
        74,
        56,
        36,
    )
    assert lines["Walsh functions"].at(20_000) == pytest.approx(math.sqrt(2) * 40 / 20_000)
    # Of shares, which chance moves by at most 1/(2√n), as of averages of ±1, which it moves by up to 1/√n.
    for family, least in (("Walsh functions", 3_200), ("tables", 25_088), ("conjunctions", 10_368)):
        assert lines[family].drowned_below == pytest.approx(least)
        assert lines[family].at(least) == pytest.approx(least**-0.5)
    gaussian = noise_by_family(domain, PrivacySpec(1.0, 1e-5), degree=2)
    assert {each.family: each.l2 for each in gaussian}["Walsh functions"] == pytest.approx(2 * math.sqrt(20))
    assert [each.at(1) for each in found] == sorted(each.at(1) for each in found)


@pytest.mark.parametrize("neighbouring", get_args(Neighbouring))
@pytest.mark.parametrize("degree", [1, 2, 3])
def test_noise_is_what_the_mechanism_of_that_family_draws(degree: int, neighbouring: Neighbouring) -> None:
    """Gaussian noise by zCDP, of which the exact law of the loss saves some."""
    domain = load_sample("asia").domain
    for delta in (0.0, 1e-5):
        spec = PrivacySpec(1.0, delta, neighbouring)
        found = {each.family: each for each in noise_by_family(domain, spec, degree=degree)}
        for name, statistics in (("tables", "contingency"), ("Walsh functions", "walsh"), ("conjunctions", "conjunctions")):
            config = dpsyn.NoisyReweighting(
                degree=degree, statistics=statistics, noise="gaussian" if delta else "laplace", allocation="equal"
            )
            drawn = config.calibrate(spec, domain, n=1000)
            own = drawn.statistics
            assert (found[name].l1, found[name].l2) == (own.l1(neighbouring), pytest.approx(own.l2(neighbouring)))
            saved = drawn.spreads.max() / found[name].deviation
            assert 0.9 < saved < 1 if delta else saved == pytest.approx(1)


@pytest.mark.parametrize("n", [1, 10, 20_000, 10**9])
@pytest.mark.parametrize("degree", [1, 2, 3])
def test_noise_draws_at_every_size(n: int, degree: int) -> None:
    for sizes, bits in (((2,), 1), ((9, 16, 7, 15), 47), ((1, 1), 2)):
        families = noise_by_family(domain_of(sizes), SPEC, degree=degree)
        counts = {each.family: each.statistics for each in families}
        assert counts["Walsh functions"] == walsh_dimension(bits, degree)
        assert draw_noise(families, n).to_dict()["layer"]


SETTINGS: dict[Density, dict[str, object]] = {
    "entropy": {},
    "centre": {"objective": "max"},
    "vertex": {"objective": "max", "vertex": True},
}


@pytest.mark.parametrize("density", SETTINGS)
@pytest.mark.parametrize("name", ["asia", "car", "breast_cancer"])
@pytest.mark.parametrize("delta", [0.0, 1e-5])
def test_it_shows_a_real_run_with_the_same_seed(name: str, delta: float, density: Density) -> None:
    table = load_sample(name)
    degree, columns = {"asia": (2, 6), "car": (2, 3), "breast_cancer": (1, 5)}[
        name
    ]  # of the last all points are too many to list
    table = table.project(table.domain.names[:columns])
    spec = PrivacySpec(50.0 if name == "breast_cancer" else 1.0, delta)  # louder noise leaves it the bins of the domain
    inside = run_of(table, spec, degree=degree, seed=5)
    config = dpsyn.NoisyReweighting(degree=degree, noise="gaussian" if delta else "laplace", **SETTINGS[density])
    mechanism = config.calibrate(spec, table.domain, n=table.n)
    release = mechanism(np.random.default_rng(5), table)
    seen = release.diagnostics
    scales = {entry["scale"] for entry in release.settings["ledger"] if entry["name"] != HISTOGRAMS}
    assert sorted(set(inside.mechanism.scales)) == pytest.approx(sorted(scales))
    if name == "asia" and not delta:
        assert sorted(scales) == pytest.approx([56 / 3, 28])
    np.testing.assert_array_equal(inside.noisy, seen["noisy_statistics"])
    np.testing.assert_array_equal(inside.fitted(density).statistics, seen["fitted_statistics"])
    np.testing.assert_array_equal(inside.fitted(density).density, seen["density"])
    assert int((inside.fitted(density).density > 0).sum()) == seen["support"]
    deviation = np.abs(inside.fitted(density).statistics - inside.noisy).max()
    assert deviation == seen["largest_deviation_from_noisy_statistics"]
    assert np.abs(inside.noisy - inside.exact).max() == pytest.approx(seen["largest_noise"])
    # The errors, from the rows alone and from the density and points of the release; in the bins of the run.
    codes = seen["fit"].encoding.codes(table)
    assert np.array_equal(codes, table.codes) is (name != "breast_cancer")
    exact = mechanism.statistics.sums(codes) / table.n
    before, after = (
        float(np.sqrt(((seen[which] - exact) ** 2).mean())) for which in ("noisy_statistics", "fitted_statistics")
    )
    assert inside.errors(density) == pytest.approx((before, after))
    tables = TableFamily.all_of_degree(table.domain.shape, degree)
    shares = tables.matrix(seen["points"]) @ seen["density"]
    apart = np.abs(shares - tables.sums(codes) / table.n)
    wanted = [apart[group.start : group.stop].sum() / 2 for group in tables.groups]
    assert inside.table_errors(inside.fitted(density).cells) == pytest.approx(wanted, abs=1e-5)


def test_a_run_keeps_what_it_is_made_of(asia: Inside) -> None:
    assert asia.mechanism.family == "walsh"
    assert len(asia.masses("entropy")) == asia.table.domain.size
    # Functions of order 1 take part in more tables and get twice the weight.
    by_order = {len(group.columns): asia.deviations[group.start] for group in asia.mechanism.statistics.groups}
    assert by_order == pytest.approx({1: math.sqrt(2) * 25 / asia.table.n, 2: math.sqrt(2) * 50 / asia.table.n})
    for density in DENSITIES:
        masses = asia.masses(density)
        assert masses.min() >= 0
        assert masses.sum() == pytest.approx(1)
    # Both solve the same program, so neither is nearer in the largest deviation.
    vertex, centre = (np.abs(asia.fitted(o).statistics - asia.noisy).max() for o in ("vertex", "centre"))
    assert vertex == pytest.approx(centre, abs=2e-6)
    assert np.abs(asia.fitted("entropy").statistics - asia.noisy).max() >= vertex - 1e-6


def test_the_same_seed_gives_the_same_run_and_another_one_does_not(asia: Inside) -> None:
    table = load_sample("asia")
    np.testing.assert_array_equal(run_of(table).noisy, asia.noisy)
    assert (run_of(table, seed=1).noisy != asia.noisy).any()


def test_statistics_and_their_labels(asia: Inside, categories: Inside) -> None:
    shown = pictures._statistics(asia, "entropy")
    assert len(shown) == 36 == len(asia.noisy)
    assert "asia · tub" in set(shown["label"])
    off = shown["noisy"] - shown["true"]
    assert asia.errors("entropy")[0] == pytest.approx(math.sqrt((off**2).mean()))
    assert "buying = vhigh, safety = low" in set(pictures._statistics(categories, "entropy")["label"])
    before, after = categories.errors("entropy")
    assert after < before
    for run in (asia, categories):
        assert "two standard deviations" in draw_statistics(run, "entropy").to_json(ensure_ascii=False)


def test_the_worst_table_comes_first(asia: Inside, categories: Inside) -> None:
    shown = pictures._worst_tables(categories, "entropy")
    assert list(shown["fitted"]) == sorted(shown["fitted"], reverse=True)
    assert "noisy" in shown
    cells = categories.fitted("entropy").cells
    errors = categories.table_errors(cells)
    assert shown["fitted"][0] == errors.max()
    # By hand, for one table.
    group = categories.tables.groups[0]
    shares = cells[group.start : group.stop]
    assert errors[0] == pytest.approx(np.abs(shares - categories.true_cells[group.start : group.stop]).sum() / 2)
    assert "noisy" not in pictures._worst_tables(asia, "vertex")
    for run, density in ((categories, "entropy"), (asia, "vertex")):
        assert draw_worst_tables(run, density).to_dict()["layer"]


def test_a_vertex_has_few_points_and_entropy_many(asia: Inside, categories: Inside) -> None:
    for run in (asia, categories):
        assert run.carrying("vertex") <= run.mechanism.statistic_count + 1
        assert run.carrying("entropy") > run.carrying("vertex")
        for density in DENSITIES:
            assert 1 <= run.effective(density) <= run.carrying(density) + 1
            highest = pictures._support(run, density)["y"][0]
            assert 10**highest == pytest.approx(run.masses(density).max() * len(run.masses(density)))
        assert draw_support(run).to_dict()["layer"]


def test_low_variance_draws_add_less_than_independent_ones(categories: Inside) -> None:
    found = categories.draws("entropy", k=1_000, seed=0)
    independent, systematic = found.values()
    assert 1_000 in independent
    assert systematic[1_000] < independent[1_000]
    assert systematic[100_000] < 0.3 * independent[100_000]
    # Independent draws of k rows miss by about √(2 p (1-p)/(π k)) in each cell, half of which is total variation.
    cells = categories.fitted("entropy").cells
    expected = np.sqrt(2 * cells * (1 - cells) / (math.pi * 100_000)).sum() / 2 / len(categories.tables.groups)
    assert independent[100_000] == pytest.approx(expected, rel=0.25)
    assert draw_draws(categories, "entropy", k=1_000).to_dict()["layer"]


@pytest.mark.parametrize("delta", [0.0, 1e-5])
def test_the_budget_is_the_ledger(delta: float) -> None:
    table = load_sample("car")
    mechanism = dpsyn.NoisyReweighting(degree=2).calibrate(PrivacySpec(1.0, delta), table.domain, n=table.n)
    facts = mechanism.facts()
    spent = "rho" if delta else "epsilon"
    assert facts["ledger"] == mechanism.ledger.entries
    drawn = draw_budget(facts, mechanism.guarantee).to_json(ensure_ascii=False)
    assert ("exact law" in drawn) == (delta > 0)
    assert sum(entry["share"] for entry in facts["ledger"]) == pytest.approx(1)
    assert f'"title": "{"ρ" if delta else "ε"}"' in drawn
    total = sum(entry[spent] for entry in facts["ledger"])
    assert f"together {'ρ' if delta else 'ε'} = {short(total, 4)}" in drawn
    if not delta:
        assert total == pytest.approx(1)
    assert all(entry["name"] in drawn for entry in facts["ledger"])
    assert len(facts["ledger"]) > 1
    assert ("ρ = " in drawn) == (delta > 0)
    if delta:
        assert f"together ρ = {short(sum(entry['rho'] for entry in facts['ledger']), 4)}: (1, 10⁻⁵)" in drawn


@pytest.mark.parametrize("delta", [0.0, 1e-6, 1e-7])
def test_no_part_of_the_budget_is_said_to_cost_less_than_it_does(delta: float) -> None:
    table = load_sample("car")
    mechanism = dpsyn.NoisyReweighting(degree=2).calibrate(PrivacySpec(0.777777, delta), table.domain, n=table.n)
    drawn = draw_budget(mechanism.facts(), mechanism.guarantee).to_json(ensure_ascii=False)
    parts = [entry["rho" if delta else "epsilon"] for entry in mechanism.facts()["ledger"]]
    total = re.search(r"together [ρε] = (\d\.\d+)", drawn)
    assert total is not None
    shown = [total[1], *re.findall(r'"spent": "([\d.]+)"', drawn)]
    for said, true in zip(map(float, shown), [sum(parts), *parts], strict=True):
        assert true * (1 - 1e-11) <= said <= true * 1.001


def test_columns_are_as_many_as_fit_and_more_are_refused() -> None:
    digits = load_sample("digits")
    columns = columns_that_fit(digits.domain, 2)
    assert len(columns) == 8
    with pytest.raises(ParameterError, match="fewer columns"):
        run_of(digits.project(digits.domain.names[:20]))


@pytest.mark.parametrize(
    ("degree", "epsilon", "meet"), [(1, 0.5, 2048), (1, 1.0, 512), (2, 1.0, 3200), (2, 10.0, 32), (3, 1.0, 32_768)]
)
def test_where_noise_meets_sampling_is_a_whole_number(degree: int, epsilon: float, meet: int) -> None:
    """√2·L1/(ε·n) is 1/√n at n = 2·(L1/ε)²; the sensitivity L1 is 16, 40 and 128 for Walsh functions of 8 bits."""
    (best, *_) = noise_by_family(load_sample("asia").domain, PrivacySpec(epsilon), degree=degree)
    assert best.l1 == {1: 16, 2: 40, 3: 128}[degree]
    assert best.meets_at == meet == 2 * (best.l1 / epsilon) ** 2
