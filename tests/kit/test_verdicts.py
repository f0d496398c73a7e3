"""What a verdict's card and table say of its conditions."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import pytest

from dpsyn.kit.verdicts import _LEVELS, _bought, _formulas, conditions_table, show_formulas, verdict_card
from dpsyn.theory.conditions import Condition, Headline, Remedy, Verdict


def condition(actual: float, required: float, **more: Any) -> Condition:
    return Condition("c", "Enough rows", "a", "a theorem", ">=", math.log(required), math.log(actual), **more)


def larger_epsilon(value: float) -> tuple[Remedy, ...]:
    return (Remedy("epsilon", "at_least", math.log(value), log_current=0.0),)


def test_each_condition_holds_fails_or_is_assumed() -> None:
    assumed = [condition(2, 1, assumed=True), condition(1, 2, assumed=True)]
    table = conditions_table([condition(2, 1), condition(1, 2), *assumed])
    assert list(table[""]) == ["✓ holds", "✗ fails", "◇ assumed", "◇ assumed"]
    assert list(table["Actual"])[2:] == ["—", "—"]
    assert table["Orders of magnitude"].dropna().tolist() == pytest.approx([math.log10(2), -math.log10(2)])


def test_what_is_required_is_more_than_or_as_much_as_a_number() -> None:
    found = [replace(condition(2, 10, strict=strict), relation=of) for of in (">=", "<=") for strict in (True, False)]
    table = conditions_table(found)
    assert table["Required"].tolist() == ["> 10", "≥ 10", "< 10", "≤ 10"]
    assert set(table["Actual"]) == {"2"}


@pytest.mark.parametrize(("level", "waits"), [("good", True), ("open", True), ("bad", False)])
def test_nothing_is_private_before_the_domain_is_confirmed(level: Any, waits: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    said: list[str] = []
    monkeypatch.setattr("dpsyn.kit.verdicts.st.markdown", lambda text, **_: said.append(text))
    verdict = Verdict("m", "M", (condition(2, 1),), "", headline=Headline("ε = 1", "Private, and close.", level))
    for warning in ("", "NOT YET TRUE"):
        verdict_card(verdict, warning, None, None, "")
        waiting = waits and bool(warning)
        assert said[-2].startswith(f"### {_LEVELS['open' if waiting else level]} ")
        assert said[-1] == ("Once the domain is confirmed, this is private" if waiting else "Private") + ", and close."


def test_the_formulas_that_are_shown_first_are_those_of_conditions_that_fail(monkeypatch: pytest.MonkeyPatch) -> None:
    said: list[str] = []
    monkeypatch.setattr("dpsyn.kit.verdicts.st.markdown", said.append)
    held, missed = replace(condition(2, 1), label="held"), replace(condition(1, 2), label="missed")
    for found, first in (((held, missed), "missed"), ((held,), "held")):
        said.clear()
        show_formulas(Verdict("m", "M", found, ""), None)
        assert said[0].startswith(f"**{first}**")


def test_beside_the_numbers_of_a_formula_stands_whether_it_holds(monkeypatch: pytest.MonkeyPatch) -> None:
    said: list[str] = []
    monkeypatch.setattr("dpsyn.kit.verdicts.st.markdown", said.append)
    found = (condition(2, 1), condition(1, 2), condition(1, 2, assumed=True), condition(1, 2, experimental=True))
    _formulas(found, Verdict("m", "M", found, "", symbols={"a": "7"}), None)
    lines = [text.split("  \n")[1:-1] for text in said]
    assert lines == [["$a$", "$7$ — ✓ holds"], ["$a$", "$7$ — ✗ fails"], ["$a$"], ["$a$"]]


@pytest.mark.parametrize("needed", [(2.0, 5.0), (5.0, 2.0)])
def test_the_epsilon_that_is_named_makes_all_it_speaks_of_true(needed: tuple[float, float]) -> None:
    first, second = (condition(1, 2, remedies=larger_epsilon(value)) for value in needed)
    private = Verdict("m", "M", (first, condition(1, 2, group="privacy", remedies=larger_epsilon(3.0)), second), "")
    said = _bought(private)
    assert said.startswith("At epsilon ≥ 5 ")
    assert "other conditions" not in said
    assert _bought(Verdict("m", "M", (private.conditions[1],), "")) == ""  # the card's number is that ε
    assert said.endswith(" enough rows and enough rows.")
    more = Verdict("m", "M", (*private.conditions, condition(1, 2)), "")  # which no ε makes true
    assert _bought(more) == said.removesuffix(".") + "; other conditions still fail."


@pytest.mark.parametrize(
    ("privacy", "validity", "private"), [(True, True, True), (True, False, False), (False, True, False)]
)
def test_what_is_not_valid_is_not_private(privacy: bool, validity: bool, private: bool) -> None:
    found = (condition(2, 1 if privacy else 3, group="privacy"), condition(2, 1 if validity else 3, group="validity"))
    for accurate in (True, False):
        said = Verdict("m", "M", (*found, condition(2, 1 if accurate else 3)), "").to_dict()
        assert (said["private"], said["accurate"], said["holds"]) == (private, accurate, private and accurate)
