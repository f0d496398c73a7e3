"""The sentence above the cards of Feasibility says what the verdicts say, whichever hold."""

from __future__ import annotations

from dataclasses import replace

import pytest

import dpsyn
from dpsyn.app.explorer import answer
from dpsyn.app.road import Offer, offers
from dpsyn.kit import visit
from dpsyn.mechanisms.feasibility import Feasibility
from dpsyn.notation import percent

ASIA = visit.bundled("asia")
NONE = "With these settings no theorem promises accuracy on these data at ε = 1"
ONE = "A theorem promises privacy and accuracy on these data at ε = 1 for noisy reweighting"
RUNS = [
    Offer("mwem"),
    Offer("private_sampling", "one row needs ε ≥ 2.08"),
    Offer("noisy_reweighting", error=(0.094, "or less")),
]
BEST = f"of these, noisy reweighting is expected to do best on the Generator: two-way error {percent(0.094)} or less."


def verdicts(*names: str, epsilon: float = 1.0, **settings: float) -> Feasibility:
    found = dpsyn.feasibility(ASIA.statistics, dpsyn.PrivacySpec(epsilon, 1e-5), **{"rows": 1000, **settings})
    return replace(found, verdicts={name: found[name] for name in names or found.verdicts})


def test_where_no_theorem_holds() -> None:
    found = answer(verdicts(), RUNS, confirmed=True)
    private = "noisy reweighting, DP-CDA and MWEM are private without such a promise"
    assert found == f"{NONE}; {private}; private sampling would need epsilon ≥ 2,080; {BEST}"
    alone = answer(verdicts("dp_cda"), [], confirmed=True)
    assert alone == f"{NONE}; DP-CDA is private without such a promise."


def test_where_some_hold_and_where_all_do() -> None:
    found = answer(verdicts("private_sampling", "noisy_reweighting", "dp_cda", accuracy=0.113), RUNS, confirmed=True)
    rest = "DP-CDA is private without such a promise; private sampling would need epsilon ≥ 2,080"
    assert found == f"{ONE}; {rest}; {BEST}"
    assert answer(verdicts("noisy_reweighting", accuracy=0.113), [], confirmed=True) == f"{ONE}."


def test_where_nothing_is_private() -> None:
    """At floor 0.6 no ε makes private sampling run."""
    assert answer(verdicts("private_sampling", floor=0.6), [], confirmed=True) == f"{NONE}."


@pytest.mark.parametrize("accuracy", [0.113, 0.125])
def test_no_privacy_before_the_domain_is_confirmed(accuracy: float) -> None:
    found = answer(verdicts("noisy_reweighting", accuracy=accuracy), [], confirmed=False)
    assert "once the domain is confirmed, " in found.lower()
    assert found.lower().index("once the domain") < found.index("noisy reweighting")


def test_what_cannot_run_on_the_columns_is_not_called_private() -> None:
    found = answer(verdicts("mwem", "dp_cda"), [Offer("mwem", "not possible", impossible="too many rows")], confirmed=True)
    assert found == f"{NONE}; DP-CDA is private without such a promise."


def test_a_large_error_to_expect_is_said_without_a_figure() -> None:
    found = verdicts(epsilon=0.001)
    runs = offers(ASIA, found.spec, found.verdicts)
    assert answer(found, runs, confirmed=True).endswith("Generator: single columns stay, pairs are mostly lost.")
