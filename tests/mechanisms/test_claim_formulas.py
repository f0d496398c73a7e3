"""Formulas behind a claim: the numbers in them, worked out again, give the ε that is claimed."""

from __future__ import annotations

import math
import re
from dataclasses import replace
from pathlib import Path
from statistics import NormalDist

import numpy as np
import pandas as pd
import pytest

import dpsyn
from dpsyn.domain import Attribute, Domain
from dpsyn.mechanisms.claim_formulas import claim_formulas
from dpsyn.mechanisms.noisy_reweighting.user_functions import FunctionFamily
from dpsyn.mechanisms.private_sampling.formulas import certificate_formulas, threshold_formula
from dpsyn.mechanisms.registry import DEMONSTRATIONS, MECHANISMS, config_class, offered
from dpsyn.privacy.mixing import exact as mixing
from dpsyn.privacy.zcdp import zcdp_delta
from dpsyn.table import Table
from dpsyn.theory.formulas import OTHERS, is_corrected, paper_of, power, up
from tests.conftest import cube

PAPERS = {name: config_class(name).paper for name in MECHANISMS}
N = 20_000
CUBE = cube(8)
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
    """Both sides of "letter = working = result", or of "letter = working <= result"."""
    *_, working, result = re.split(r" = | \\le ", filled)
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


@pytest.mark.parametrize(
    ("config", "epsilon"),
    [
        (dpsyn.Contingency(histogram_share=0.3), 2.0),
        (dpsyn.PrivateSampling(degree=1, rows=2, histogram_share=0.3), 12.0),
    ],
)
def test_what_histograms_cost_is_added_to_the_rest(config, epsilon):
    domain = Domain.of([Attribute("age", "numeric", lower=0, upper=99, integer=True, public=True)])
    mechanism, lines = lines_of(config, dpsyn.PrivacySpec(epsilon), domain)
    *_, before, last = lines
    total, result = sides(last.filled)
    assert value(last.filled.split(" = ")[1].split(" + ")[1]) == pytest.approx(0.3 * epsilon, rel=1e-3)
    assert total == pytest.approx(mechanism.guarantee.epsilon, rel=1e-3)
    assert result >= mechanism.guarantee.epsilon * (1 - 1e-12)
    assert value(before.filled.split(" = ")[-1]) == pytest.approx(mechanism.guarantee.epsilon - 0.3 * epsilon, rel=1e-3)
    without = lines_of(replace(config, histogram_share=0.0), dpsyn.PrivacySpec(epsilon), domain)[1]
    assert "histograms" not in "".join(line.label for line in without)


@pytest.mark.parametrize("name", ["contingency", "private_sampling", "dp_gan"])
def test_no_line_before_the_last_has_the_epsilon_of_the_histograms_in_it(name):
    """Gaussian noise too, where the ε of a line is not worked out but put in."""
    domain = Domain.of(
        [
            Attribute("age", "numeric", lower=0, upper=99, integer=True, public=True),
            Attribute("b", "truth", (0, 1), public=True),
        ]
    )
    config = replace(config_class(name).as_it_comes(100, "b"), histogram_share=0.3)
    if name == "private_sampling":
        config = replace(config, degree=1, rows=1)
    spec = dpsyn.PrivacySpec(12.0 if name == "private_sampling" else 2.0, 1e-5 if name == "dp_gan" else 0.0)
    mechanism, (*lines, last) = lines_of(config, spec, domain)
    whole, spent = mechanism.guarantee.epsilon, mechanism.facts()["epsilon_for_histograms"]
    assert spent == pytest.approx(0.3 * spec.epsilon)
    assert last.filled == rf"\varepsilon = {up(whole - spent)} + {up(spent)} = {up(whole)}"
    assert up(whole - spent) in lines[-1].filled
    numbers = {found for line in lines for found in re.findall(r"[\d.]+", line.filled)}
    assert up(whole) not in numbers - {up(1), up(2)}


def test_dp_gan_replaces_a_row_or_adds_one():
    """Which pairs of distributions are told apart, by hand: a replaced row is in two cells of each of eight columns."""
    for spec, cells in ((BOTH, 16), (ADD_REMOVE, 8)):
        mechanism, (step, counts, _) = lines_of(dpsyn.DPGAN(steps=30, sampling_rate=0.02, clip_norm=0.25), spec)
        noise = mechanism.facts()["noise_scale"]
        first, second = step.filled.split(r",\quad Q' = ")
        centres = [re.findall(r"N\}\((-?[\d.]+),\\ ([\d.]+)\^2\)", side) for side in (first, second)]
        moved = [("0", "-0.25"), ("0",)][spec is ADD_REMOVE]
        assert [[centre for centre, _ in side] for side in centres] == [["0", "0.25"], list(moved)]
        assert all(float(sigma) == pytest.approx(noise, rel=1e-3) for side in centres for _, sigma in side)
        assert [side.count("0.02") for side in (first, second)] == [2, 2 * (len(moved) - 1)]
        assert rf"R = \mathcal{{N}}(\sqrt{{{cells}}}," in counts.filled
        assert counts.note.endswith("and a replaced one moves two." if cells == 16 else "each of the m columns.")


@pytest.mark.parametrize("rows", [1, None])
@pytest.mark.parametrize("n", [1_000, 1_000_000])
def test_the_last_line_of_private_sampling_is_the_claim_whichever_certificate_is_smaller(rows, n):
    """By a million rows Theorem 4.1 is far below ln 8; where one row was asked for, ε = 3 pays for ln 8: that is claimed."""
    domain = Domain.of([Attribute(name, "truth", (0, 1), public=True) for name in "ab"])
    config = dpsyn.PrivateSampling(degree=1, rows=rows)
    mechanism = config.calibrate(dpsyn.PrivacySpec(3.0), domain, n=n)
    *_, theorem, claim = claim_formulas(config.name, mechanism.guarantee, mechanism.facts())
    ratio = mechanism.facts()["rows"] * math.log(8)
    assert (value(theorem.filled.split(" = ")[-1]) < ratio) is (n == 1_000_000)
    assert mechanism.guarantee.epsilon <= value(claim.filled.split(" = ")[-1]) <= 1.001 * mechanism.guarantee.epsilon
    assert (mechanism.guarantee.epsilon == pytest.approx(ratio)) is (rows == 1 or n == 1_000)
    assert ("exact arithmetic" in claim.note) is (n == 1_000_000)


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
    assert result == pytest.approx(sum(entry["rho"] for entry in mechanism.ledger.entries), rel=1e-3)
    assert mechanism.calibrated()["accounting"] == "exact"
    assert r"\mathbb{E}" in claim.formula
    assert paper_of(claim.source, PAPERS["noisy_reweighting"]) is OTHERS[1]

    mechanism, (shift, claim) = lines_of(dpsyn.NoisyReweighting(degree=2), dpsyn.PrivacySpec(5.0, 1e-12))
    assert mechanism.calibrated()["accounting"] == "zcdp"
    working, result = sides(shift.filled)
    exact = sum(entry["rho"] for entry in mechanism.ledger.entries)
    assert working == pytest.approx(exact, rel=1e-3)
    assert exact <= result <= exact * 1.00001
    # δ(ε) is at most the infimum, not equal to it, and the ρ that is written gives the δ that is written.
    assert claim.formula.startswith(r"\delta(\varepsilon) \le \inf")
    assert claim.filled.startswith(r"\delta(5) \le \inf")
    *_, bound, rho = re.split(r",\\qquad \\rho \\le |\\le ", claim.filled)
    assert value(bound) == 1e-12
    assert value(rho) == result
    assert zcdp_delta(exact, 5.0) <= 1e-12
    assert zcdp_delta(value(rho), 5.0) <= 1e-12 * 1.001


OWN = FunctionFamily([lambda codes: 0.7 * codes[:, 0], lambda codes: codes[:, 1] - 0.5], CUBE.shape)


def test_few_digits_of_rho_would_say_too_much():
    mechanism, (shift, claim) = lines_of(dpsyn.NoisyReweighting(family=OWN), dpsyn.PrivacySpec(1.0, 1e-5))
    assert mechanism.calibrated()["accounting"] == "zcdp"
    assert zcdp_delta(value(claim.filled.split(r"\rho \le ")[1]), 1.0) <= 1e-5 * 1.0001
    assert "at most" in shift.note


def test_gaussian_parts_are_what_the_worst_neighbour_moves():
    """At p = 8, d = 2 it flips 5 coordinates, so 5 and 15 functions by 2; by themselves the orders could move 8 and 16."""
    _, (shift, _) = lines_of(dpsyn.NoisyReweighting(degree=2), dpsyn.PrivacySpec(1.0, 1e-5))
    assert re.findall(r"\\frac\{(\d+)\}", shift.filled) == ["20", "60"]
    assert "the worst neighbour" in shift.note
    assert "sensitivity" not in shift.note
    assert "at most" not in shift.note
    own = dpsyn.NoisyReweighting(degree=2, reduced_space="marginals", reduced_space_size=50, marginal_share=0.2)
    for spec in (BOTH, dpsyn.PrivacySpec(1.0)):
        assert "at most the worst neighbour" in lines_of(own, spec)[1][0].note


@pytest.mark.parametrize("noise", ["laplace", "gaussian"])
def test_where_nothing_moves_epsilon_is_zero(noise):
    still = Domain.of(Attribute(name, "categorical", ("x",), public=True) for name in "ab")
    _, (line,) = lines_of(dpsyn.NoisyReweighting(noise=noise), BOTH, still)
    assert line.filled == r"\varepsilon = 0 \le 3"
    assert "no neighbour moves any statistic" in line.note


@pytest.mark.parametrize("delta", [1.2345e-6, 1.2345678e-6, 3.337e-7])
@pytest.mark.parametrize(
    "config",
    [
        dpsyn.NoisyReweighting(degree=2),
        dpsyn.NoisyReweighting(family=OWN),
        dpsyn.DPCDA(target="b0", rows=50),
        dpsyn.DPCDA(target="b0", rows=50, variant="poisson"),
        dpsyn.DPCDA(target="b0", rows=50, class_sizes=5000),
    ],
)
def test_no_epsilon_or_delta_is_rounded_down(config, delta):
    epsilon, rounding = 0.71237891, 1 - 1e-11
    mechanism, lines = lines_of(config, dpsyn.PrivacySpec(epsilon, delta))
    shown = [line.filled for line in lines if line.label.startswith(("The claim", "All rows")) and line.filled]
    assert shown
    for filled in shown:
        tail = filled.split(r",\qquad")[0]
        if tail.endswith(")") and ",\\ " in tail:
            first, rest, *deltas = (value(x) for x in re.split(r" \+ |,\\ |\) = \(", tail[1:-1])[:-2])
            budget = mechanism.budget
            assert first >= budget.epsilon_for_counts * rounding
            assert rest >= budget.epsilon * rounding
            assert deltas[-1] >= budget.delta * rounding
            assert len(deltas) == 1 or deltas[0] >= budget.overstated_probability * rounding
            claimed = tail.split(" = ")[1][1:-1].split(",\\ ")
            assert epsilon * rounding <= value(claimed[0]) <= 1.002 * epsilon
            tail = claimed[1]
        else:
            tail = tail.split(r"\le ")[-1]
        assert delta * rounding <= value(tail) <= 1.01 * delta


def test_numbers_that_are_claimed_are_rounded_up():
    random = np.random.default_rng(0)
    numbers = 10 ** random.uniform(-15, 15, 20_000)
    for number in [*numbers, *(float(f"{x:.{i % 7}e}") for i, x in enumerate(numbers)), 1234.5, 20_250.5, 999_999.5]:
        shown = value(up(number))
        assert number * (1 - 1e-11) <= shown <= number * 1.0011, number
    assert up(0.56214) == "0.56214"
    assert up(0.562141) == "0.562141"
    assert up(0.5621411) == "0.5622"
    assert up(1e-5) == "10^{-5}"
    assert up(9e-6) == r"(9 \times 10^{-6})"


def test_no_number_with_a_power_in_it_has_another():
    for size in (10**6, 10**7, 12_345_678, 256):
        lines = certificate_formulas(
            floor=0.25, ceiling=2.0, rows=1, degree=2, functions=10**8, reduced_space_size=size, theorem=(20_000, 1.7e9)
        )
        assert not any(re.search(r"\}\^", line.filled) for line in lines)
        exact = 4 * math.sqrt(2) * 8**1.5 * math.e * 100 * size**0.75 / math.sqrt(20_000)
        assert value(lines[1].filled.split(" = ")[1]) == pytest.approx(exact, rel=2e-3)
    assert power("10^{7}", "3/4") == "(10^{7})^{3/4}"
    assert power(r"20\,000", "2") == r"(20\,000)^2"
    assert power("0.5", "2") == "0.5^2"
    assert power("(1.2 \\times 10^{7})", "2") == "(1.2 \\times 10^{7})^2"
    # Scales of 10⁶ and above, where a part's square stands below the line.
    _, (shift, _) = lines_of(dpsyn.NoisyReweighting(family=OWN), dpsyn.PrivacySpec(1e-3, 1e-5))
    assert not re.search(r"(?<!\))\}\^", shift.filled)


def test_as_published_is_two_f_over_n_sigma():
    mechanism, (line,) = lines_of(dpsyn.NoisyReweighting.as_published(degree=2), dpsyn.PrivacySpec(0.7))
    working, result = sides(line.filled)
    assert working == pytest.approx(0.7, rel=1e-3)
    assert result == mechanism.guarantee.epsilon == 0.7
    assert paper_of(line.source, PAPERS["noisy_reweighting"]) is PAPERS["noisy_reweighting"]
    mechanism, (line,) = lines_of(dpsyn.NoisyReweighting(family=OWN, noise="as_published"), dpsyn.PrivacySpec(0.7))
    assert sides(line.filled) == (pytest.approx(0.7, rel=1e-3), 0.7)


FIELD = [
    dpsyn.MWEM(),
    dpsyn.MWEM(measured="cells", start_share=0.2),
    dpsyn.Independent(),
    dpsyn.MST(),
    dpsyn.AIM(),
    dpsyn.PrivBayes(),
    dpsyn.Contingency(),
    dpsyn.PrivSyn(),
    dpsyn.DualQuery(),
]
SPECS = [dpsyn.PrivacySpec(1.0), dpsyn.PrivacySpec(1.0, 1e-5), dpsyn.PrivacySpec(1.0, 1e-5, "add_remove")]


@pytest.mark.parametrize("spec", SPECS, ids=str)
@pytest.mark.parametrize("config", FIELD, ids=lambda config: config.name)
def test_the_parts_of_the_field_add_up_to_the_claim(config, spec):
    mechanism, (*shift, claim) = lines_of(config, spec)
    ledger, pure = mechanism.calibrated()["ledger"], mechanism.guarantee.delta == 0
    filled = (claim if pure else shift[0]).filled
    if config.name == "aim":  # its rounds cost no more than their part
        cost = r"M}{b_t} + \frac{2 \Delta}{s_t" if pure else r"M}{2 b_t^2} + \frac{\Delta^2}{2 s_t^2"
        assert [line.label for line in (*shift, claim) if cost in line.formula] == [
            "The claim" if pure else "What all rounds cost together"
        ]
        filled = re.sub(r"\\sum.*(?= \\le)", lambda _: str(ledger[-1]["epsilon" if pure else "rho"]), filled)
    working, result = sides(filled)
    if pure:
        assert result == mechanism.guarantee.epsilon == 1.0
        assert working == pytest.approx(1.0, rel=2e-3)
        return
    rho = sum(entry["rho"] for entry in ledger)
    assert working == pytest.approx(rho, rel=2e-3)
    assert rho <= result <= rho * 1.001
    if mechanism.calibrated()["accounting"] == "zcdp":
        assert zcdp_delta(rho, 1.0) <= 1e-5
        shown = value(claim.filled.split(r"\rho \le ")[1])
        assert rho <= shown
        assert zcdp_delta(shown, 1.0) <= 1e-5 * 1.001


def test_what_histograms_cost_is_in_the_first_part_of_aim():
    domain = Domain.of([Attribute("age", "numeric", lower=0, upper=99, integer=True, public=True)])
    mechanism, (added, law) = lines_of(dpsyn.AIM(histogram_share=0.3), BOTH, domain)
    source, stage = mechanism.guarantee.source.split(", after ")
    assert law.source == source
    assert "fine histograms" in stage
    *before, _ = mechanism.facts()["ledger"]
    assert value(added.filled.split(" + ")[0]) == pytest.approx(sum(part["rho"] for part in before), rel=1e-3)


@pytest.mark.parametrize("config", [dpsyn.LocalPerturbation(), dpsyn.RandomProjection()], ids=lambda config: config.name)
@pytest.mark.parametrize("spec", [BOTH, dpsyn.PrivacySpec(0.5, 1e-7)], ids=str)
def test_the_numbers_of_one_gaussian_give_the_delta_that_is_claimed(config, spec):
    mechanism, (claim,) = lines_of(config, spec)
    left, delta = claim.filled.split(r" \le ")
    first, epsilon, second = re.match(r"\\Phi(.*) - e\^\{(.*)\}\\,\\Phi(.*)", left).groups()
    law = NormalDist().cdf
    # The shift has four digits, and δ falls steeply in it.
    assert law(value(first)) - math.exp(value(epsilon)) * law(value(second)) == pytest.approx(spec.delta, rel=0.02)
    assert (value(epsilon), value(delta)) == (spec.epsilon, spec.delta)
    shift = re.search(r"\{(.*?)\}", left)[1]
    assert value(shift) == pytest.approx(mechanism.facts()["sensitivity"] / mechanism.facts()["noise_scale"], rel=1e-3)
    letters = claim.formula.split(r" \le ")[0].replace(r"e^\varepsilon", r"e^{\varepsilon}")
    assert letters.replace(r"\varepsilon", epsilon).replace(r"\mu", shift) == left


def test_the_numbers_of_all_rows_of_dp_mix_give_the_epsilon_that_is_claimed():
    _, (row, claim) = lines_of(dpsyn.DPMix(rows=50))
    rate, moved, sigma = re.search(r"\+ (.*)\\,\\mathcal\{N\}\((.*?),\\ (.*?)\^2\),", row.filled).groups()
    epsilon, rows, delta = re.fullmatch(
        r"\\delta\\left\((.*);\\ P\^\{\\otimes (.*)\}\\right\) \\le (.*)", claim.filled
    ).groups()
    classes = mixing.mixed_classes(round(value(rate) * N), [N], [int(rows)], "fixed_size")
    # The scale has four digits.
    found = mixing.change_epsilon(
        "replace_one", classes, 1.0005 * float(sigma) / float(moved), value(delta), variant="fixed_size"
    )
    assert (value(epsilon), value(delta)) == (3.0, 1e-5)
    assert 2.9 < found <= 3.0


def test_the_threshold_of_the_whole_table():
    wide = cube(20)
    for spec in SPECS[1:]:
        mechanism, (passed, claim) = lines_of(dpsyn.Contingency(), spec, wide)
        power_, scale = (float(x) for x in re.search(r"q\^\{(\d+)\}.*q = e\^\{-1/([\d.]+)\}", passed.filled).groups())
        assert (power_, scale) == (mechanism.threshold - 1, pytest.approx(mechanism.release.scale))
        ratio = math.exp(-1 / scale)
        assert ratio**power_ / (1 + ratio) <= 1e-5 * (1 + 1e-9) < ratio ** (power_ - 1) / (1 + ratio)
        assert sides(claim.filled)[1] == 1.0


def test_theorem_2_2_is_named_for_replacing_one_record_only():
    for spec, cited in ((dpsyn.PrivacySpec(1.0), True), (dpsyn.PrivacySpec(1.0, neighbouring="add_remove"), False)):
        _, (line,) = lines_of(dpsyn.NoisyReweighting(noise="laplace"), spec)
        assert ("Theorem 2.2" in line.source) is cited
        assert "our proof" in line.source or cited


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
        mixing.mixed_classes(4, [9000, 7000], [563, 437], variant),
        mixing.checked_multiplier(4, sigma * 1.0005, 1.0, 1e-5, variant),
        1e-5,
        variant=variant,
    )
    claimed = re.search(r"\\left\((\d[\d.]*);\\ P_k\^\{\\otimes (\d+)\}", rows.filled)
    assert claimed is not None
    assert (float(claimed[1]), int(claimed[2])) == (3.0, 437)
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


def test_poisson_with_estimated_sizes_has_one_name_for_each_epsilon():
    _, lines = lines_of(dpsyn.DPCDA(target="b0", rows=1000, variant="poisson"))
    by_label = {line.label: line for line in lines}
    assert r"\varepsilon_2;" in by_label["All rows, by privacy-loss distributions"].formula
    assert by_label["All rows, by privacy-loss distributions"].formula.endswith(r"\le \delta")
    claim = by_label["The claim"]
    assert claim.formula == r"(\varepsilon,\ \delta) = (\varepsilon_1 + \varepsilon_2,\ \delta)"
    assert claim.filled == r"(0.3 + 2.7,\ 10^{-5}) = (3,\ 10^{-5})"
    assert not any("β" in line.note or "beta" in line.formula for line in lines)


@pytest.mark.parametrize(
    ("sizes", "rows", "worst"),
    [
        ((9000, 1000), (5000, 1), 0),  # the second class has the larger rate, and the first the larger ε
        ((9000, 1000), (5000, 400), 1),
        ((1000, 9000), (2, 5000), 1),
        ((9000, 7000), (500, 500), 1),
        ((400, 9000), (0, 500), 1),
    ],
)
@pytest.mark.parametrize("neighbouring", ["replace_one", "add_remove"])
@pytest.mark.parametrize("variant", ["fixed_size", "poisson"])
def test_the_class_in_numbers_is_the_one_that_binds(sizes, rows, worst, neighbouring, variant):
    spec = dpsyn.PrivacySpec(1.0, 1e-5, neighbouring)
    config = dpsyn.DPCDA(target="b0", rows=dict(enumerate(rows)), class_sizes=dict(enumerate(sizes)), variant=variant)
    mechanism, lines = lines_of(config, spec)
    line = lines[-1]
    assert f"class {worst}" in line.note
    shown = int(re.search(r"\\otimes ([\d\\,]+)", line.filled)[1].replace("\\,", ""))
    multiplier = mechanism.calibrated()["noise_scale"] / mechanism.sensitivity
    change = "add_remove" if neighbouring == "add_remove" else "replace_same_class"
    costs = [
        mixing.change_epsilon(change, mixing.mixed_classes(4, [n], [t], variant), multiplier, 1e-5, variant=variant)
        if t
        else 0
        for n, t in zip(sizes, rows, strict=True)
    ]
    assert costs.index(max(costs)) == worst
    assert shown == rows[worst]
    assert costs[worst] <= 1.0


def test_private_scaling_is_composed_in_the_inequality():
    numbers = Domain.of(
        [
            Attribute("y", "truth", (0, 1), public=True),
            *(Attribute(f"x{j}", "numeric", lower=0, upper=1, public=True) for j in range(3)),
        ]
    )
    config = dpsyn.DPCDA(target="y", rows=100, class_sizes=7000, scaling="private")
    for spec, sensitivity in ((BOTH, "2√q"), (ADD_REMOVE, "√(2q + 1)")):
        _, lines = lines_of(config, spec, numbers)
        assert r"G \otimes P_k^{\otimes T_k}" in lines[-1].formula
        assert r"G \otimes P_k^{\otimes 50}" in lines[-1].filled
        assert sensitivity in lines[-1].note
    _, lines = lines_of(dpsyn.DPCDA(target="y", rows=100, class_sizes=7000), BOTH, numbers)
    assert r"G \otimes" not in lines[-1].formula


def test_letters_are_said_to_be_what_they_are():
    declared = {"class_sizes": {0: 9000, 1: 7000}}
    for settings, meaning in (
        (declared, "declared to hold at least"),
        (declared | {"variant": "poisson"}, "stated for class k"),
        ({}, "noisy count of class k, less the margin"),
        ({"variant": "poisson"}, "noisy count of class k."),
    ):
        _, lines = lines_of(dpsyn.DPCDA(target="b0", rows=100, **settings))
        notes = " ".join(line.note for line in lines)
        for letter in (f"Nₖ is {meaning}", "Tₖ is the number of rows", "σ is the scale"):
            assert letter.split(" is ")[0] in notes
            assert letter.split(" is ")[1] in notes
        assert ("class k, in proportion to its noisy count" in notes) is ("class_sizes" not in settings)
        # A record that comes into a class is drawn at another rate, unless rates are stated beforehand.
        assert ("l/(N + 1)" in notes) is (settings.get("variant") != "poisson")
    _, (_, theorem, _) = lines_of(dpsyn.PrivateSampling(rows=1))
    for letter in ("d is", "p the number of columns", "binomial coefficient", "m the number of points"):
        assert letter in theorem.note


@pytest.mark.parametrize(
    ("config", "changes"),
    [
        (dpsyn.PrivateSampling(rows=1), [{"rows": None}, {"floor": "x"}, {"floor": 0.7}, {"ceiling": 1.0}, {"n": 0}]),
        (
            dpsyn.NoisyReweighting(),
            [{"ledger": None}, {"ledger": [3]}, {"ledger": [{"rho": "x"}]}, {"noise": None, "ledger": 1}],
        ),
        (
            dpsyn.DPCDA(target="b0", rows=50, class_sizes=5000),
            [{"sensitivity": None}, {"order_of_mixture": 0}, {"order_of_mixture": "x"}, {"ledger": []}],
        ),
    ],
)
def test_settings_that_make_no_sense_give_no_formulas(config, changes):
    mechanism, lines = lines_of(config)
    assert lines
    for change in changes:
        assert claim_formulas(config.name, mechanism.guarantee, {**mechanism.facts(), **change}) == ()


@pytest.mark.parametrize(
    "config", [dpsyn.PrivateSampling(rows=1), dpsyn.NoisyReweighting(), dpsyn.DPCDA(target="b0", rows=50)]
)
def test_a_release_says_the_same_as_before_the_run(config):
    mechanism, before = lines_of(config)
    codes = (np.random.default_rng(0).random((N, 8)) < 0.4).astype(int)
    release = mechanism(np.random.default_rng(1), Table(pd.DataFrame(codes, columns=CUBE.names), CUBE))
    assert claim_formulas(release.mechanism, release.guarantee, release.settings) == before


def test_every_mechanism_has_formulas_and_the_refuted_one_says_so():
    for name in (*MECHANISMS, *DEMONSTRATIONS):
        assert offered(name, "formulas:claim") is not None or lines_of(config_class(name)())[1], name
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


@pytest.mark.parametrize(
    ("place", "steps"),
    [
        ("dpsyn/solvers/shrinkage.py", {"4"}),
        ("dpsyn/solvers/closest.py", {"5"}),
        ("dpsyn/mechanisms/private_sampling/panels/sections.py", {"1", "2", "4", "5"}),
        ("dpsyn/mechanisms/private_sampling/theorems.py", {"4"}),
        ("docs/shrinkage.md", {"4"}),
    ],
)
def test_steps_are_numbered_as_in_the_printed_algorithm(place, steps):
    """Algorithm 1 as Pierquin et al. print it: the linear program for λ is step 4, the quadratic program for h* step 5."""
    text = (Path(dpsyn.__file__).parents[1] / place).read_text(encoding="utf-8")
    assert set(re.findall(r"\b[Ss]tep (\d)", text)) == steps


def test_sources_name_their_paper():
    stats = dpsyn.load_sample("asia").statistics()
    ours = set()
    for verdict in dpsyn.feasibility(stats, BOTH, degree=2, floor=0.2, rows=10):
        for condition in (*verdict.conditions, *verdict.alternatives):
            paper = paper_of(condition.source, PAPERS[verdict.mechanism])
            if paper is None:
                ours.add(condition.source)
            else:
                assert paper is PAPERS[verdict.mechanism]
    assert ours == {"Bounded ratio", "Stability (experimental)", "Gaussian noise", "Exact accountant"}
    pages = r"https://(arxiv\.org/abs/\d{4}\.\d{4,5}|doi\.org/10\.\d{4,5}/\S+)"
    assert all(re.fullmatch(pages, paper.address) for paper in (*PAPERS.values(), *OTHERS))


def last_number(line) -> float:
    return value(line.filled.split(" = ")[-1])


@pytest.mark.parametrize("rounds", [1, 3, 7])
@pytest.mark.parametrize("epsilon", [0.7, math.pi, 1 / 3])
def test_no_number_on_the_way_to_a_claim_is_rounded_down(rounds, epsilon):
    domain = Domain.of([Attribute("age", "numeric", lower=0, upper=99, integer=True, public=True)])
    mechanism, lines = lines_of(dpsyn.MWEM(degree=1, rounds=rounds, histogram_share=0.3), dpsyn.PrivacySpec(epsilon), domain)
    (claim,) = lines
    # The scales are larger than they have to be by 1e-12.
    exactly = 4 / mechanism.choice_scale + 2 / mechanism.noise_scale
    assert last_number(claim) >= (mechanism.stage.epsilon + rounds * exactly) * (1 - 1e-11)
    assert last_number(claim) >= mechanism.guarantee.epsilon * (1 - 1e-11)
