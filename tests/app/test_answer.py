"""The sentence above the cards of Feasibility says what the verdicts say, whichever hold."""

from __future__ import annotations

from dataclasses import replace

import dpsyn
from dpsyn.app.explorer import answer
from dpsyn.app.road import Offer, offers
from dpsyn.kit import visit
from dpsyn.mechanisms.feasibility import Feasibility
from dpsyn.notation import percent

ASIA = visit.bundled("asia")
NONE = "With these settings no theorem promises accuracy."
ONE = "With these settings a theorem promises privacy and accuracy for noisy reweighting."
GOOD = {"rows": 10_000, "accuracy": 0.05}
RUNS = [
    Offer("mwem"),
    Offer("private_sampling", "one row needs ε ≥ 2.08"),
    Offer("noisy_reweighting", noise=(0.094, "before the fit")),
]
BEST = f"Likely best on the Generator: noisy reweighting (noise on two-way tables {percent(0.094)} before the fit)."


def verdicts(*names: str, epsilon: float = 1.0, **settings: float) -> Feasibility:
    found = dpsyn.feasibility(ASIA.statistics, dpsyn.PrivacySpec(epsilon, 1e-5), **{"rows": 1000, **settings})
    return replace(found, verdicts={name: found[name] for name in names or found.verdicts})


def test_where_no_theorem_holds() -> None:
    assert answer(verdicts(), RUNS, confirmed=True) == f"{NONE} {BEST}"
    assert answer(verdicts("dp_cda"), [], confirmed=True) == NONE
    assert answer(verdicts("private_sampling", floor=0.6), [], confirmed=True) == NONE


def test_where_some_hold_and_where_all_do() -> None:
    found = answer(verdicts("private_sampling", "noisy_reweighting", "dp_cda", **GOOD), RUNS, confirmed=True)
    assert found == f"{ONE} {BEST}"
    assert answer(verdicts("noisy_reweighting", **GOOD), [], confirmed=True) == ONE


def test_no_privacy_before_the_domain_is_confirmed() -> None:
    found = answer(verdicts("noisy_reweighting", **GOOD), [], confirmed=False)
    assert found == ONE.replace("With these settings", "Once the domain is confirmed,")
    for accuracy in (0.113, 0.125):  # within 0.904 it says next to nothing, and within 1 nothing
        assert answer(verdicts("noisy_reweighting", accuracy=accuracy), [], confirmed=False) == NONE


def test_nothing_is_promised_for_what_cannot_run_on_the_columns() -> None:
    runs = [Offer("noisy_reweighting", "not possible", impossible="too many columns")]
    assert answer(verdicts("noisy_reweighting", **GOOD), runs, confirmed=True) == NONE


def test_much_noise_is_said_without_a_figure() -> None:
    found = verdicts(epsilon=0.001)
    runs = offers(ASIA, found.spec, found.verdicts)
    assert answer(found, runs, confirmed=True).endswith("(noise may drown most pairs).")
