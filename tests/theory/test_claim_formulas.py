"""Formulas behind a claim: the numbers in them, worked out again, give the ε that is claimed."""

from __future__ import annotations

import math
import re

import numpy as np
import pandas as pd
import pytest

import dpsyn
from dpsyn.data.table import Table
from dpsyn.domain import Attribute, Domain
from dpsyn.mechanisms.registry import DEMONSTRATIONS, MECHANISMS, config_class
from dpsyn.privacy import mixing
from dpsyn.privacy.zcdp import zcdp_delta
from dpsyn.theory.claim_formulas import claim_formulas, threshold_formula
from dpsyn.theory.papers import PAPERS, is_corrected, paper_of

N = 20_000
CUBE = Domain.of(Attribute(f"b{j}", "truth", (0, 1), public=True) for j in range(8))
WIDE = Domain.of(
    [Attribute("a", "categorical", ("x", "y", "z"), public=True), Attribute("b", "truth", (0, 1), public=True)],
)
BOTH = dpsyn.PrivacySpec(3.0, 1e-5)
ADD_REMOVE = dpsyn.PrivacySpec(3.0, 1e-5, "add_remove")


def lines_of(config, spec=BOTH, domain=CUBE):
    mechanism = config.calibrate(spec, domain, n=N)
    return mechanism, claim_formulas(config.name, mechanism.guarantee, mechanism.facts())


def value(latex: str) -> float:
    """A product, quotient, sum, logarithm or power in LaTeX as a number: only what these formulas write."""
    text = latex.replace(r"\,", "").replace(r"\left", "").replace(r"\right", "")
    text = re.sub(r"\\times 10\^\{(-?\d+)\}", r"*10**\1", text)
    text = re.sub(r"(?<!\d)10\^\{(-?\d+)\}", r"10**\1", text)
    text = re.sub(r"\\sqrt\{([^{}]*)\}", r"((\1)**0.5)", text).replace(r"\sqrt2", "*2**0.5")
    text = re.sub(r"e\^\{([^{}]*)\}", r" *math.exp(\1)", text)
    text = re.sub(r"\^\{([^{}]*)\}", r"**(\1)", text).replace("^2", "**2")
    for _ in range(3):
        text = re.sub(r"\\ln\\frac\{([^{}]*)\}\{([^{}]*)\}", r" *math.log((\1)/(\2))", text)
        text = re.sub(r"\\frac\{([^{}]*)\}\{([^{}]*)\}", r"((\1)/(\2))", text)
    text = text.replace(r"\cdot", "*").replace(")(", ")*(")
    text = re.sub(r"\* +\*(?!\*)", "*", re.sub(r"(\d)\(", r"\1*(", text))
    return float(eval(text, {"math": math}))


def sides(filled: str) -> tuple[float, float]:
    """Both sides of "letter = working = result"."""
    *_, working, result = filled.split(" = ")
    return value(working), value(result)


@pytest.mark.parametrize("rows", [1, 3])
@pytest.mark.parametrize(("floor", "ceiling"), [(0.25, 2.0), (0.1, 7.5)])
def test_both_certificates_of_private_sampling(rows, floor, ceiling):
    config = dpsyn.PrivateSampling(rows=rows, floor=floor, ceiling=ceiling)
    mechanism, (ratio, theorem, claim) = lines_of(config, dpsyn.PrivacySpec(50.0))
    for line in (ratio, theorem):
        working, result = sides(line.filled)
        assert result == pytest.approx(working, rel=2e-3)
    assert sides(ratio.filled)[1] >= rows * math.log(ceiling / floor)
    exact = mechanism.calibrated()["theorem_4_1_epsilon"]
    assert exact <= sides(theorem.filled)[1] <= exact * 1.001
    assert claim.filled.endswith(ratio.filled.split(" = ")[-1])
    assert mechanism.guarantee.epsilon <= value(claim.filled.split(" = ")[-1])


def test_theorem_4_1_decides_where_it_is_smaller():
    config = dpsyn.PrivateSampling(rows=1)
    mechanism = config.calibrate(dpsyn.PrivacySpec(2.0), CUBE, n=10**10)
    *_, claim = claim_formulas(config.name, mechanism.guarantee, mechanism.facts())
    assert mechanism.guarantee.epsilon < math.log(8)
    assert value(claim.filled.split(" = ")[-1]) == pytest.approx(mechanism.guarantee.epsilon, rel=1e-3)


def test_off_the_cube_the_ratio_alone_counts_and_a_degenerate_box_costs_nothing():
    _, lines = lines_of(dpsyn.PrivateSampling(rows=1), domain=WIDE)
    assert [line.label for line in lines] == ["Bounded ratio"]
    _, lines = lines_of(dpsyn.PrivateSampling(rows=1), ADD_REMOVE)
    assert [line.label for line in lines] == ["Bounded ratio"]
    _, (line,) = lines_of(dpsyn.PrivateSampling(rows=1, floor=0.5))
    assert line.filled.endswith(r"\varepsilon = 0")


@pytest.mark.parametrize("spec", [BOTH, ADD_REMOVE])
@pytest.mark.parametrize("statistics", ["walsh", "contingency", "conjunctions"])
@pytest.mark.parametrize("degree", [1, 2, 3])
def test_laplace_shares_add_up_to_epsilon(spec, statistics, degree):
    mechanism, (claim,) = lines_of(dpsyn.NoisyReweighting(degree=degree, statistics=statistics, noise="laplace"), spec)
    working, result = sides(claim.filled)
    assert result == mechanism.guarantee.epsilon == 3.0
    assert working == pytest.approx(3.0, rel=2e-3)


def test_every_part_of_the_ledger_is_in_the_sum():
    sizes = (2, 3, 5, 9, 17, 33, 65)
    domain = Domain.of(Attribute(f"c{s}", "categorical", tuple(map(str, range(s))), public=True) for s in sizes)
    config = dpsyn.NoisyReweighting(degree=2, noise="laplace", marginal_share=0.2, reduced_space="marginals")
    mechanism, (claim,) = lines_of(config, dpsyn.PrivacySpec(1.0), domain)
    assert claim.filled.count(r"\frac") == len(mechanism.ledger.parts) == 8
    assert sides(claim.filled)[0] == pytest.approx(1.0, rel=2e-3)


def test_gaussian_shift_and_the_two_ways_to_account():
    mechanism, (shift, claim) = lines_of(dpsyn.NoisyReweighting(degree=2))
    working, result = sides(shift.filled)
    assert result == pytest.approx(working, rel=2e-3)
    assert result == pytest.approx(sum(entry.spent for entry in mechanism.ledger.entries), rel=1e-3)
    assert mechanism.calibrated()["accounting"] == "exact"
    assert r"\mathbb{E}" in claim.formula
    assert paper_of(claim.source, "noisy_reweighting") is PAPERS["discrete_gaussian"]

    mechanism, (shift, claim) = lines_of(dpsyn.NoisyReweighting(degree=2), dpsyn.PrivacySpec(5.0, 1e-12))
    assert mechanism.calibrated()["accounting"] == "zcdp"
    assert r"\inf" in claim.formula
    assert zcdp_delta(sides(shift.filled)[0] * 0.999, 5.0) <= 1e-12 * 1.02


def test_as_published_is_two_f_over_n_sigma():
    mechanism, (line,) = lines_of(dpsyn.NoisyReweighting.as_published(degree=2), dpsyn.PrivacySpec(0.7))
    working, result = sides(line.filled)
    assert working == pytest.approx(0.7, rel=1e-3)
    assert result == mechanism.guarantee.epsilon == 0.7
    assert paper_of(line.source, "noisy_reweighting") is PAPERS["noisy_reweighting"]


@pytest.mark.parametrize("variant", ["fixed_size", "poisson"])
@pytest.mark.parametrize("spec", [BOTH, ADD_REMOVE])
def test_dp_cda_with_public_sizes(variant, spec):
    sizes = {0: 9000, 1: 7000}
    config = dpsyn.DPCDA(target="b0", rows=1000, class_sizes=sizes, variant=variant, order_of_mixture=4)
    mechanism, (moved, row, rows) = lines_of(config, spec)
    working, result = sides(moved.filled)
    assert working == result == mechanism.sensitivity
    found = re.search(r"A_k = \(1 - \(([^()]*)\)\)\\,Q [^Q]*N\}\(([\d.]+),\\ ([\d.]+)\^2\)", row.filled)
    assert found is not None
    rate, step, sigma = value(found[1]), float(found[2]), float(found[3])
    assert rate == pytest.approx(4 / 7000, rel=2e-3)
    assert step == mechanism.sensitivity
    # The noise that is written there gives the ε that is written there, by the accountant itself.
    epsilon = mixing.change_epsilon(
        spec.neighbouring,
        mixing.mixed_classes(4, [9000, 7000], [500, 500], variant),
        mixing.checked_multiplier(4, sigma * 1.0005, 1.0, 1e-5, variant),
        1e-5,
        variant=variant,
    )
    claimed = re.search(r"\\left\((\d[\d.]*);\\ P_k\^\{\\otimes (\d+)\}", rows.filled)
    assert claimed is not None
    assert (float(claimed[1]), int(claimed[2])) == (3.0, 500)
    assert 2.9 < epsilon <= 3.0


def test_dp_cda_with_private_sizes_adds_up():
    mechanism, lines = lines_of(dpsyn.DPCDA(target="b0", rows=1000))
    by_label = {line.label: line for line in lines}
    counts = by_label["Class sizes, estimated with discrete Laplace noise"]
    working, result = sides(counts.filled)
    assert result == pytest.approx(working, rel=1e-3)
    assert result == pytest.approx(mechanism.budget.epsilon_for_counts)
    found = re.match(r"\(([\d.]+) \+ ([\d.]+),\\ (.*) \+ (.*)\) = \(([\d.]+),\\ (.*)\)$", by_label["The claim"].filled)
    assert found is not None
    first, rest, beta, delta, epsilon, total = (value(part) for part in found.groups())
    assert first + rest == pytest.approx(epsilon)
    assert epsilon == 3.0
    assert beta + delta == pytest.approx(total)
    assert total == pytest.approx(1e-5)
    assert by_label["All rows, by privacy-loss distributions"].filled == ""


@pytest.mark.parametrize(
    "config", [dpsyn.PrivateSampling(rows=1), dpsyn.NoisyReweighting(), dpsyn.DPCDA(target="b0", rows=50)]
)
def test_a_release_says_the_same_as_before_the_run(config):
    mechanism, before = lines_of(config)
    codes = (np.random.default_rng(0).random((N, 8)) < 0.4).astype(int)
    release = mechanism(np.random.default_rng(1), Table(pd.DataFrame(codes, columns=CUBE.names), CUBE))
    assert claim_formulas(release.mechanism, release.guarantee, release.settings) == before


def test_every_mechanism_has_formulas_and_the_refuted_one_says_so():
    assert set(MECHANISMS) | set(DEMONSTRATIONS) == {
        "private_sampling",
        "noisy_reweighting",
        "dp_cda",
        "dp_cda_as_published",
    }
    _, (line,) = lines_of(dpsyn.DPCDA.as_published(target="b0"), dpsyn.PrivacySpec(10.0, 1e-5))
    assert line.note.startswith("It is no guarantee")
    assert line.filled == ""
    assert is_corrected(line.source)
    assert claim_formulas("another", lines_of(dpsyn.PrivateSampling(rows=1))[0].guarantee, {}) == ()
    assert claim_formulas("dp_cda", lines_of(dpsyn.PrivateSampling(rows=1))[0].guarantee, {"rows": 1}) == ()


@pytest.mark.parametrize(("smallest", "sign"), [(16.0, r"\ge"), (1.0, "<")])
def test_step_2(smallest, sign):
    threshold = math.sqrt(256) / (2 * math.e**2)
    line = threshold_formula(reduced_space_size=256, degree=2, cube=True, smallest=smallest, threshold=threshold)
    left, rest = line.filled.split(f" {sign} ")
    assert value(left) == smallest
    working, result = (value(part) for part in rest.replace("2e^", "2 e^").split(" = "))
    assert working == pytest.approx(result, rel=5e-3) == pytest.approx(threshold, rel=5e-3)
    other = threshold_formula(reduced_space_size=256, degree=2, cube=False, smallest=smallest, threshold=0.5)
    assert r"2\cdot 16" in other.filled
    assert is_corrected(other.source)


def test_sources_name_their_paper():
    stats = dpsyn.load_sample("asia").statistics()
    ours = set()
    for verdict in dpsyn.feasibility(stats, BOTH, degree=2, floor=0.2, rows=10):
        for condition in (*verdict.conditions, *verdict.alternatives):
            paper = paper_of(condition.source, verdict.mechanism)
            if paper is None:
                ours.add(condition.source)
            else:
                assert paper is PAPERS[verdict.mechanism]
    assert ours == {"Bounded ratio", "Stability (experimental)", "Gaussian noise", "Exact accountant"}
    assert {config_class(name).paper for name in MECHANISMS} == {PAPERS[name].name for name in MECHANISMS}
    assert all(re.fullmatch(r"https://arxiv\.org/abs/\d{4}\.\d{5}", paper.address) for paper in PAPERS.values())
