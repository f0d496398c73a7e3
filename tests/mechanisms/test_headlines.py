"""A verdict in one number and one sentence claims no more than the conditions."""

from __future__ import annotations

import math
import re
from typing import Any

import pytest

import dpsyn
from dpsyn.privacy.spec import PrivacySpec
from dpsyn.statistics import DatasetStatistics
from dpsyn.theory.datasets import BUILT_IN

LARGE = DatasetStatistics(p=49, n=10**15, max_frequency=2.0**-49 * 1.5, name="large")
SETTINGS: list[dict[str, Any]] = [
    {},
    {"rows": 1000},
    {"rows": 10**6, "accuracy": 0.1},
    {"rows": 1000, "accuracy": 0.12, "floor": 0.2},
    {"degree": 1, "failure_probability": 0.24},
    {"failure_probability": 0.01, "rows": 10**5, "accuracy": 0.05},
    {"floor": 0.6},
]


@pytest.mark.parametrize("name", ["large", *BUILT_IN])
@pytest.mark.parametrize("epsilon", [0.01, 1.0, 100.0, 10_000.0])
@pytest.mark.parametrize("settings", SETTINGS, ids=str)
def test_good_means_that_every_condition_holds(name: str, epsilon: float, settings: dict[str, Any]) -> None:
    stats = LARGE if name == "large" else BUILT_IN[name]
    for verdict in dpsyn.feasibility(stats, PrivacySpec(epsilon, 1e-6), exact_accounting=False, **settings):
        headline = verdict.headline
        assert headline is not None
        certified = verdict.holds_in("privacy") and (
            verdict.mechanism == "noisy_reweighting" or verdict.holds_in("validity")
        )
        if headline.level == "good":
            assert verdict.holds
            assert verdict.mechanism != "dp_cda"
            assert f"with probability {verdict.facts['success_probability']:.3g}"[:19] in headline.sentence
        elif headline.level == "open":
            assert certified or verdict.mechanism == "mwem"
        else:
            assert "private" in headline.sentence or "Not possible" in headline.sentence
            assert not (verdict.holds_in("privacy") and verdict.holds_in("validity"))
        assert headline.level == "bad" or headline.sentence.startswith("Private")
        if headline.number.startswith("± "):
            assert float(headline.number.removeprefix("± ")) < 1


@pytest.mark.parametrize("p", [1, 4, 9, 49])
@pytest.mark.parametrize("failure", [0.001, 0.05, 0.125, 0.24, 0.3])
def test_theorems_hold_with_the_probabilities_of_their_papers(p: int, failure: float) -> None:
    """Theorem 4.2 but for 4γ + 2^{-p/2}, Theorem 2.3 but for 4γ, MWEM's but for 2T/|Q|; one rounded up would be false."""
    stats = DatasetStatistics(p=p, n=10**15, max_frequency=0.5**p, name="cube")
    found = dpsyn.feasibility(stats, PrivacySpec(1.0), degree=1, failure_probability=failure, rows=1000, floor=0.24)
    rounds = found["mwem"].facts["rounds"]
    sure = {
        "private_sampling": 1 - 4 * failure - 1 / math.sqrt(2**p),
        "noisy_reweighting": 1 - 4 * failure,
        "mwem": 1 - 2 * rounds / (2 * p),
    }
    for name, probability in sure.items():
        assert found[name].facts["success_probability"] == pytest.approx(max(0.0, probability), abs=1e-12)
        for text in (found[name].summary, found[name].headline.sentence):  # type: ignore[union-attr]
            for said in re.findall(r"with probability (?:at least )?([\d.e-]*\d)", text):
                assert max(0.0, probability) - 1e-3 <= float(said) <= max(0.0, probability) + 1e-12
    assert ("promises nothing" in " ".join(found["private_sampling"].notes)) is (sure["private_sampling"] <= 0)


def test_neighbours_that_a_theorem_on_the_error_does_not_cover_are_private_without_a_bound() -> None:
    spec, table = PrivacySpec(1.0, 1e-6, "add_remove"), dpsyn.load_sample("asia")
    found = dpsyn.feasibility(BUILT_IN["ASIA"], spec, exact_accounting=False)
    for name, config in (("noisy_reweighting", dpsyn.NoisyReweighting()), ("mwem", dpsyn.MWEM())):
        headline, claim = found[name].headline, config.calibrate(spec, table.domain, n=table.n).guarantee
        assert headline is not None
        assert (headline.level, headline.number) == ("open", "no promise")
        assert (claim.status, claim.neighbouring) == ("proven", "add_remove")
        assert claim.epsilon <= 1


@pytest.mark.parametrize(("degree", "said"), [(1, "error, 4.72, says nothing: 16 cells allow only 1 round."), (4, None)])
def test_mwem_says_that_few_cells_allow_few_rounds(degree: int, said: str | None) -> None:
    headline = dpsyn.feasibility(BUILT_IN["ASIA"], PrivacySpec(1.0), degree=degree)["mwem"].headline
    assert headline is not None
    assert headline.number == ("± 0.809" if said is None else "no promise")
    assert said is None or headline.sentence.endswith(said)


def test_the_smallest_error_within_reach_can_be_asked_for() -> None:
    stats = BUILT_IN["ASIA"]
    verdict = dpsyn.feasibility(stats, PrivacySpec(1.0, 1e-5), rows=1000).noisy_reweighting
    assert verdict.headline is not None
    assert verdict.headline.level == "open"
    assert verdict.change is not None
    assert verdict.change.parameter == "accuracy"
    reached = float(verdict.headline.number.removeprefix("± ")) / 8
    asked = dpsyn.feasibility(stats, PrivacySpec(1.0, 1e-5), rows=1000, accuracy=reached).noisy_reweighting
    assert asked.holds
    assert not dpsyn.feasibility(stats, PrivacySpec(1.0, 1e-5), rows=1000, accuracy=reached * 0.99).noisy_reweighting.holds
