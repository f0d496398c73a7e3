"""What publishing everything together costs: a sentence that adds the claims up."""

from __future__ import annotations

from itertools import combinations
from types import SimpleNamespace
from typing import Any

import pytest

from dpsyn.app import state
from dpsyn.app.state import total_claim
from dpsyn.domain import NOT_YET_TRUE
from dpsyn.evaluation.experiments.marks import salted
from dpsyn.privacy.spec import Guarantee, Status


def claim(epsilon: float = 1.0, delta: float = 0.0, neighbouring: Any = "replace_one", **more: Any) -> Guarantee:
    return Guarantee(epsilon, delta, neighbouring, "a proof", **more)


def release(guarantee: Guarantee, name: str, mark: str = "") -> Any:
    return SimpleNamespace(dataset=name, fingerprint=mark, release=SimpleNamespace(guarantee=guarantee))


def total(*claims: Guarantee, drawn: Any = (), name: str = "asia") -> str:
    releases = [release(each, name) for each in claims]
    lead = "Privacy adds up over what is published: " if len(releases) + len(drawn) > 1 else "If published, "
    said = total_claim(releases, drawn)
    assert said.startswith(lead)
    return said.removeprefix(lead)


@pytest.mark.parametrize(
    ("claims", "said"),
    [
        ([claim()], "the one release of asia costs ε = 1 under replacing one row."),
        ([claim(0.12341)], "the one release of asia costs ε = 0.1235 under replacing one row."),
        ([claim(0.12341, 1.0004e-5)], "the one release of asia costs ε = 0.1235, δ = 1.01e-05 under replacing one row."),
        ([claim(0.1), claim(0.2)], "the 2 releases of asia together cost ε = 0.3 under replacing one row."),
        (
            [claim(1, 1e-5, "add_remove"), claim(2, 1e-5, "add_remove")],
            "the 2 releases of asia together cost ε = 3, δ = 2e-05 under adding or removing one row.",
        ),
        ([claim(0.1, 1e-5)] * 10, "the 10 releases of asia together cost ε = 1, δ = 1e-04 under replacing one row."),
        (
            [claim(), claim(neighbouring="add_remove")],
            "the 2 releases of asia together cost ε = 3 under replacing one row; under adding or removing one row, those "
            "made for replacing one promise nothing.",
        ),
        (
            [claim(1, 0.5), claim(1, 0.5), claim(neighbouring="add_remove")],
            "the 3 releases of asia together cost everything, as their δ add up to 1 or more.",
        ),
        (
            [claim(1e308), claim(1e308)],
            "the 2 releases of asia together cost everything, as their ε add up beyond all numbers.",
        ),
        (
            [claim(), claim(status="demonstration")],
            "asia: what was made as published, or with a seed, has no guarantee; publishing it costs everything; "
            "the one release of asia costs ε = 1 under replacing one row.",
        ),
    ],
)
def test_the_total_is_a_sentence(claims: list[Guarantee], said: str) -> None:
    assert total(*claims) == said


EXACT, STATED = "in exact arithmetic", "if what their files state is true"
CONFIRMED, PROVEN = "if the domain is confirmed as public", "if what is not proven holds"
RESTS_ON: dict[tuple[Status, bool], set[str]] = {
    ("proven", False): set(),
    ("unconfirmed_domain", True): {CONFIRMED},
    ("unconfirmed_domain", False): {CONFIRMED},  # as an earlier version kept it
    ("real_arithmetic", False): {EXACT},
    ("real_arithmetic", True): {EXACT, CONFIRMED},
    ("stated", False): {STATED},
    ("stated", True): {STATED, CONFIRMED},
    ("experimental", False): {PROVEN},
    ("experimental", True): {PROVEN, CONFIRMED},
}
"""By the status of a claim, and whether it assumes a domain that nobody confirmed."""


@pytest.mark.parametrize("many", [1, 2, 3, len(RESTS_ON)])
def test_what_a_total_rests_on_is_said_of_every_combination(many: int) -> None:
    for kinds in combinations(RESTS_ON, many):
        claims = [
            claim(status=status, assumptions=("A first one.", f"{NOT_YET_TRUE}: x.") if unconfirmed else ())
            for status, unconfirmed in kinds
        ]
        found = set().union(*(RESTS_ON[kind] for kind in kinds))
        conditions = [condition for condition in (EXACT, STATED, CONFIRMED, PROVEN) if condition in found]
        said = ", ".join([f" ε = {many} under replacing one row", *conditions])
        assert total(*claims).endswith(f"{said}."), kinds
        drawn = [SimpleNamespace(name="asia", guarantee=each) for each in claims[1:]]
        assert total(claims[0], drawn=drawn).endswith(f"{said}."), kinds
        # What has no guarantee adds no condition of its own, and takes none away.
        assert total(claim(status="demonstration", assumptions=(f"{NOT_YET_TRUE}: x.",)), *claims).endswith(f"{said}."), (
            kinds
        )


def test_private_statistics_add_to_it() -> None:
    drawn = [SimpleNamespace(name="asia", guarantee=claim(0.1))] * 3
    said = total(claim(), drawn=drawn)
    assert said == "the one release and the 3 draws of statistics of asia together cost ε = 1.3 under replacing one row."
    assert total(claim(), drawn=drawn, name="other") == (
        "the one release of other costs ε = 1 under replacing one row; "
        "the 3 draws of statistics of asia together cost ε = 0.3 under replacing one row; "
        "where these are of the same people, they add up, too."
    )


@pytest.mark.parametrize("salts", [("", "", ""), ("", "aa", ""), ("aa", "", ""), ("aa", "aa", "aa")])
def test_the_same_rows_under_another_name_are_of_the_same_people(salts: tuple[str, ...]) -> None:
    """A browser calls a second download of clean.csv "clean (1).csv"."""
    rows = [("clean", "1"), ("asia", ""), ("clean (1)", "1"), ("asia", ""), ("clean (1)", "2"), ("c.csv", "2"), ("d", "")]
    marks = {"": "", "1": "1" * 32, "2": "2" * 32}
    salt = [salts[0], "", salts[1], "", salts[1], salts[2], ""]
    found: Any = [
        release(claim(2.0**i), name, salted(marks[mark], salt[i]) if salt[i] else marks[mark])
        for i, (name, mark) in enumerate(rows)
    ]
    drawn: Any = [SimpleNamespace(name="c.csv", guarantee=claim(0.5))]
    assert total_claim(found, drawn) == (
        "Privacy adds up over what is published: the 4 releases and the one draw of statistics of clean and clean (1) and "
        "c.csv, which share rows, together cost ε = 53.5 under replacing one row; "
        "the 2 releases of asia together cost ε = 10 under replacing one row; "
        "the one release of d costs ε = 64 under replacing one row; where these are of the same people, they add up, too."
    )


def test_two_names_of_the_same_rows_are_one_sentence_and_those_of_other_rows_are_two() -> None:
    for second, said in (
        ("1", "the 2 releases of a and b, which share rows, together cost ε = 3 under replacing one row."),
        (
            "2",
            "the one release of a costs ε = 1 under replacing one row; the one release of b costs ε = 2 under replacing one "
            "row; where these are of the same people, they add up, too.",
        ),
    ):
        found: Any = [release(claim(1.0), "a", "1" * 32), release(claim(2.0), "b", second * 32)]
        assert total_claim(found).endswith(f"published: {said}")


@pytest.mark.parametrize("many", [2, 9, 10, 11, 19, 20, 21, 49, 50, 51, 99, 100, 101, 1_000])
def test_all_of_them_are_added_up_however_many_there_are(many: int) -> None:
    assert (
        total(*[claim(0.5)] * many) == f"the {many} releases of asia together cost ε = {many / 2:g} under replacing one row."
    )
    drawn = [SimpleNamespace(name="asia", guarantee=claim(0.5))] * many
    both = (
        f"the {many} releases and the {many} draws of statistics of asia together cost ε = {many} under replacing one row."
    )
    assert total(*[claim(0.5)] * many, drawn=drawn) == both


def test_statistics_count_for_the_data_that_they_were_drawn_of(monkeypatch: pytest.MonkeyPatch) -> None:
    drawn = [(revision, SimpleNamespace(name=name)) for revision, name in ((1, "asia"), (2, "car"), (3, "asia"))]
    monkeypatch.setattr(state, "drawn_statistics", lambda: drawn)
    assert state.statistics_of("asia") == [drawn[0][1], drawn[2][1]]
    assert state.statistics_of("car") == [drawn[1][1]]
    assert state.statistics_of("people") == []
