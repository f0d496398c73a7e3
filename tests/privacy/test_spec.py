"""The specification refuses what is not a guarantee, and the claim reads as a sentence."""

import math
from typing import get_args

import numpy as np
import pandas as pd
import pytest

from dpsyn.domain import NOT_YET_TRUE
from dpsyn.errors import DataError, ParameterError
from dpsyn.mechanisms.base import Release
from dpsyn.notation import readable
from dpsyn.privacy.spec import (
    _OF_EARLIER_VERSIONS,
    DEMO_ASSUMPTION,
    SYSTEM_NOISE,
    Guarantee,
    PrivacySpec,
    Status,
    delta_up,
    rounded_down,
    rounded_up,
    together,
    worded_fact,
)


@pytest.mark.parametrize(
    ("field", "values"),
    [
        ("epsilon", {"epsilon": 0}),
        ("epsilon", {"epsilon": -1.0}),
        ("epsilon", {"epsilon": math.nan}),
        ("epsilon", {"epsilon": math.inf}),
        ("epsilon", {"epsilon": "1"}),
        ("delta", {"epsilon": 1.0, "delta": 1.0}),
        ("delta", {"epsilon": 1.0, "delta": -1e-9}),
        ("neighbouring", {"epsilon": 1.0, "neighbouring": "swap"}),
        ("unit", {"epsilon": 1.0, "unit": "user"}),
    ],
)
def test_wrong_values_are_named(field, values):
    with pytest.raises(ParameterError) as caught:
        PrivacySpec(**values)
    assert caught.value.field == field


def test_a_claim_reads_as_a_sentence():
    pure = Guarantee(1.0, 0.0, "replace_one", "Theorem")
    assert pure.claim == "1-differentially private under replacing one row"
    approximate = Guarantee(0.5, 1e-5, "add_remove", "Theorem")
    assert approximate.claim == "(0.5, 10⁻⁵)-differentially private under adding or removing one row"
    assert pure.to_dict()["status"] == "proven"


@pytest.mark.parametrize(
    ("value", "digits", "expected"),
    [
        (math.log(8), 4, "2.08"),  # 2.0794…: 2.079 would claim more than is proven
        (0.12341, 4, "0.1235"),
        (0.1 + 0.2, 4, "0.3"),
        (1.00001e-5, 3, "1.01e-05"),
        (99.999, 3, "100"),
        (1000.0, 3, "1000"),
        (123456.0, 4, "123500"),
        (999999.0, 4, "1e+06"),
        (0.0, 4, "0"),
        (math.inf, 4, "inf"),
    ],
)
def test_claims_are_rounded_up(value, digits, expected):
    assert rounded_up(value, digits) == expected
    assert float(expected) >= value * (1 - 1e-12)


@pytest.mark.parametrize(
    ("value", "digits", "expected"),
    [
        (math.log(1e5) / 3, 4, "3.837"),  # 3.83764…: 3.838 is not stayed above
        (0.1 + 0.2, 4, "0.3"),
        (0.3 - 4e-17, 4, "0.3"),
        (99.999, 3, "99.9"),
        (0.0, 4, "0"),
        (math.inf, 4, "inf"),
    ],
)
def test_what_is_stayed_above_is_rounded_down(value, digits, expected):
    assert rounded_down(value, digits) == expected
    assert float(expected) <= value * (1 + 1e-12)


def test_facts_of_a_record_never_say_less_than_they_cost():
    assert worded_fact("bounded_ratio_epsilon", math.log(8)) == "2.08"
    assert worded_fact("requested", {"epsilon": 1.00004, "delta": 1.00004e-5}) == "epsilon: 1.001, delta: 1.001 × 10⁻⁵"
    assert worded_fact("overstated_probability", 1.00004e-5) == "1.001 × 10⁻⁵"
    assert [worded_fact("noise_scale", 1.00004), worded_fact("rows", 20_000), worded_fact("epsilon", None)] == [
        "1", "20,000", "—",
    ]  # fmt: skip


def test_the_sentence_never_claims_less_than_the_number():
    claim = Guarantee(3 * math.log(8), 1.234e-6, "replace_one", "Theorem")
    assert str(claim) == "(6.239, 1.24 × 10⁻⁶)-differentially private under replacing one row (proven)"


_STATUSES = (
    ("proven", "(proven)"),
    ("real_arithmetic", "(proven in exact arithmetic only)"),
    ("unconfirmed_domain", "(not yet true: nobody confirmed the domain as public)"),
    ("experimental", "(experimental: not proven)"),
    ("demonstration", "a demonstration without a guarantee"),
    ("published_but_wrong", "no guarantee"),
    ("stated", "(stated by the file, not checked by us)"),
)


@pytest.mark.parametrize(("status", "words"), _STATUSES)
def test_whoever_prints_a_claim_prints_its_status(status, words):
    assert {status for status, _ in _STATUSES} == set(get_args(Status))
    claim = Guarantee(math.inf if status == "published_but_wrong" else 1.0, 0.0, "replace_one", "Theorem", status=status)
    assert words in f"{claim}"
    assert (str(claim) == claim.claim) is (status in ("demonstration", "published_but_wrong"))
    assert words in " ".join(repr(claim).split())


@pytest.mark.parametrize(
    ("delta", "said"),
    [
        *((0.0, "0"), (1e-5, "1e-05"), (9 * 1e-5, "9e-05"), (10 * 1e-5, "1e-04"), (11 * 1e-5, "1.1e-04"), (1e-3, "1e-03")),
        *(
            (9.99e-3, "9.99e-03"),
            (9.991e-3, "0.01"),
            (0.01, "0.01"),
            (0.5, "0.5"),
            (1.0001e-5, "1.01e-05"),
            (1e-300, "1e-300"),
        ),
    ],
)
def test_a_delta_is_a_power_of_ten_below_a_hundredth_and_never_rounded_down(delta, said):
    assert delta_up(delta) == said
    claim = Guarantee(1.0, delta, "replace_one", "Theorem").claim
    assert claim.startswith(f"(1, {readable(said)})-" if delta else "1-")


@pytest.mark.parametrize("delta", [5e-324, 1e-100, 1e-12])
def test_a_small_delta_is_never_left_out_of_the_sentence(delta):
    assert f", {readable(rounded_up(delta, 3))})-differentially" in str(Guarantee(1.0, delta, "replace_one", "Theorem"))


@pytest.mark.parametrize("status", ["proven", "real_arithmetic", "unconfirmed_domain", "experimental", "demonstration"])
def test_nothing_that_a_seed_undoes_keeps_its_status(status):
    assert Guarantee(1.0, 0.0, "replace_one", "Theorem", status=status).of_a_demonstration().status == "demonstration"


@pytest.mark.parametrize("status", ["published_but_wrong", "stated"])
def test_what_is_no_claim_of_ours_stays_what_it_is(status):
    claim = Guarantee(math.inf, 1e-5, "replace_one", "Paper", status=status)
    assert claim.of_a_demonstration() == claim


@pytest.mark.parametrize("delta", [0.0, 1e-5])
def test_a_release_of_a_given_generator_claims_nothing_whoever_makes_it(delta):
    claim = Guarantee(1.0, delta, "replace_one", "Theorem")
    made = [Release(pd.DataFrame({"a": [1]}), claim, {}, "mwem", {}, seeded) for seeded in (True, False)]
    assert [release.guarantee.status for release in made] == ["demonstration", "proven"]


@pytest.mark.parametrize(
    "field", ["rows", "guarantee", "diagnostics", "mechanism", "settings", "seeded", "name", "config", "domain"]
)
def test_no_release_has_a_field_that_cannot_be(field):
    claim = Guarantee(1.0, 0.0, "replace_one", "Theorem")
    with pytest.raises(ParameterError) as caught:
        Release(
            **{
                "rows": pd.DataFrame(),
                "guarantee": claim,
                "diagnostics": {},
                "mechanism": "mwem",
                "settings": {},
                "seeded": False,
                field: 1,
            }
        )
    assert caught.value.field == field


def test_a_record_holds_public_facts_alone():
    """Whoever adds a field has to say here that it does not follow from the rows."""
    release = Release(pd.DataFrame({"a": [1]}), Guarantee(1.0, 0.0, "replace_one", "T"), {"secret": 1}, "mwem", {}, False)
    record = release.record()
    assert record.keys() == {
        "mechanism", "settings", "config", "domain", "guarantee", "rows", "columns", "demonstration", "versions",
    }  # fmt: skip
    assert record["domain"] is None  # nobody has confirmed one


def test_a_demonstration_says_what_it_is_and_takes_nothing_for_granted_about_noise_that_it_has_not():
    told = ("a", f"{SYSTEM_NOISE}, in floating point.", _OF_EARLIER_VERSIONS, "b")
    found = Guarantee(1.0, 0.0, "replace_one", "Theorem", assumptions=told).of_a_demonstration()
    assert found.assumptions == (DEMO_ASSUMPTION, "a", "b")
    assert found.of_a_demonstration() == found
    assert "without a seed, and if its assumptions hold: 1-differentially" in str(found)
    assert str(found).startswith("a demonstration without a guarantee")


def test_a_promise_that_protects_hardly_anybody_says_so():
    for epsilon, delta, said in ((19.9, 0.0099, None), (20.0, 1e-5, "ε"), (1.0, 0.01, "δ")):
        words = Guarantee(epsilon, delta, "replace_one", "a proof").status_in_words
        assert words == ("proven" if said is None else f"proven, but {said} is so large that it protects hardly anybody")
    unsure = Guarantee(50.0, 0.0, "replace_one", "a proof", status="unconfirmed_domain")
    assert unsure.status_in_words.startswith("not yet true")


NOT_YET, EXACT = "not yet true: nobody confirmed the domain as public", "proven in exact arithmetic only"
IN_WORDS: dict[Status, tuple[str, str]] = {
    "proven": ("proven", "proven"),
    "unconfirmed_domain": (NOT_YET, NOT_YET),
    "real_arithmetic": (EXACT, f"{NOT_YET}, and then {EXACT}"),
    "experimental": ("experimental: not proven",) * 2,
    "demonstration": ("demonstration",) * 2,
    "published_but_wrong": ("no guarantee",) * 2,
    "stated": ("stated by the file, not checked by us",) * 2,
}
"""What is said of a status: of a domain that somebody confirmed, and of one that nobody did."""


@pytest.mark.parametrize("delta", [0.0, 1e-10, 1e-3])
@pytest.mark.parametrize("epsilon", [0.0, 1.0, 19.0])
@pytest.mark.parametrize("status", get_args(Status))
def test_what_a_status_means_hangs_on_the_domain_and_on_nothing_else(status, epsilon, delta):
    epsilon = math.inf if status == "published_but_wrong" else epsilon
    told, not_yet = "That it is so.", f"{NOT_YET_TRUE}: the domain of x was inferred."
    lists = (((), (told,)), ((not_yet,), (not_yet, told), (told, not_yet)))
    for words, assumed in zip(IN_WORDS[status], lists, strict=True):
        for assumptions in assumed:
            claim = Guarantee(epsilon, delta, "replace_one", "a proof", assumptions, status)
            assert claim.status_in_words == words
            assert claim.unconfirmed == (not_yet in assumptions)
            if status not in ("published_but_wrong", "demonstration"):
                assert str(claim) == f"{claim.claim} ({words})"


@pytest.mark.parametrize(
    ("field", "value"),
    [
        *(("epsilon", wrong) for wrong in (-1e-9, math.nan, -math.inf, True, "1", None, np.ones(2))),
        *(("delta", wrong) for wrong in (1.5, 1 + 1e-9, -1e-9, math.nan, True, "0")),
        *(("neighbouring", wrong) for wrong in ("foo", None)),
        *(("status", wrong) for wrong in ("PROVEN", None)),
        *(("source", wrong) for wrong in (1, None)),
        *(("assumptions", wrong) for wrong in ("public", (1,), ("public", None))),
        *(("unit", wrong) for wrong in (["no unit"], None)),
    ],
)
def test_no_claim_has_a_field_that_cannot_be(field, value):
    with pytest.raises(ParameterError) as caught:
        Guarantee(**{"epsilon": 1.0, "delta": 0.0, "neighbouring": "replace_one", "source": "Theorem", field: value})
    assert caught.value.field == field


def test_a_claim_may_have_every_number_that_can_be():
    for epsilon, delta in ((0, 0), (0.0, 1.0), (math.inf, 1), (np.float64(2.0), 0.0)):
        assert Guarantee(epsilon, delta, "add_remove", "Theorem").claim


def test_numbers_of_other_kinds_become_pythons_and_its_own_stay():
    spec = PrivacySpec(np.int64(2), np.float32(0.5))
    assert (spec.epsilon, type(spec.epsilon), spec.delta, type(spec.delta)) == (2.0, float, 0.5, float)
    kept = PrivacySpec(2, 0)
    assert (type(kept.epsilon), type(kept.delta)) == (int, int)


def test_a_claim_keeps_what_it_takes_for_granted_for_itself():
    assumed = ["the domain is public"]
    claim = Guarantee(1.0, 0.0, "replace_one", "Theorem", assumed)
    assumed.append("the moon is green")
    assert claim.assumptions == ("the domain is public",)
    assert hash(claim) == hash(Guarantee(1.0, 0.0, "replace_one", "Theorem", ("the domain is public",)))


def test_a_status_that_is_no_text_is_no_claim():
    claim = Guarantee(1.0, 0.0, "replace_one", "Theorem").to_dict()
    for epsilon in (1.0, None):
        with pytest.raises(DataError, match="guarantee"):
            Guarantee.from_dict(claim | {"status": np.array([1, 2]), "epsilon": epsilon})


def test_a_claim_is_read_as_it_was_written():
    claim = Guarantee(0.5, 1e-5, "add_remove", "Theorem", ("public",))
    assert claim.to_dict()["epsilon"] == 0.5
    assert Guarantee.from_dict(claim.to_dict()) == claim
    refuted = Guarantee(math.inf, 0.0, "replace_one", "Paper", status="published_but_wrong")
    assert refuted.to_dict()["epsilon"] is None
    assert Guarantee.from_dict(refuted.to_dict()) == refuted
    for wrong in ({"epsilon": None}, {"status": "published_but_wrong"}, {"delta": 2.0}):
        with pytest.raises((DataError, ParameterError)):
            Guarantee.from_dict(claim.to_dict() | wrong)
    lost = claim.to_dict()
    del lost["neighbouring"]
    with pytest.raises(DataError, match="'neighbouring'"):
        Guarantee.from_dict(lost)


def claim(epsilon=1.0, delta=0.0, neighbouring="replace_one"):
    return Guarantee(epsilon, delta, neighbouring, "a proof")


def test_claims_of_one_kind_add_up():
    assert together([claim(0.5, 1e-6), claim(0.25, 2e-6)]) == (0.75, 3e-6, "replace_one")
    assert together([claim(0.5, 1e-6, "add_remove")] * 2) == (1.0, 2e-6, "add_remove")
    for many in (3, 7, 101, 1_000):
        assert together([claim(0.5, 0.5**20)] * many) == (0.5 * many, many * 0.5**20, "replace_one")
        both = together([*[claim(0.5, 0.5**20)] * many, claim(1.0, 0.0, "add_remove")])
        assert both == (0.5 * many + 2, many * 0.5**20, "replace_one")


def test_replacing_a_row_is_removing_one_and_adding_one():
    epsilon, delta, neighbouring = together([claim(1.0, 1e-6), claim(0.5, 1e-5, "add_remove")])
    assert neighbouring == "replace_one"
    assert epsilon == 2.0
    assert delta == pytest.approx(1e-6 + 1e-5 * (1 + math.exp(0.5)), rel=1e-14)
    assert together([claim(1.0), claim(1e9, 0.0, "add_remove")]) == (2e9 + 1, 0.0, "replace_one")
    assert together([claim(1.0), claim(1e9, 1e-300, "add_remove")])[1] >= 1
    for epsilon in (0.1, 0.99, 1.0, 1.5, 7.0):
        both = together([claim(1.0), claim(epsilon, 1e-7, "add_remove")])
        assert both[1] == pytest.approx(1e-7 * (1 + math.exp(epsilon)), rel=1e-11)
    for large, small, exact in ((720.0, 1e-310, 492.07), (710.0, 1e-310, 0.022339947661617), (900.0, 5e-324, 1.0)):
        assert together([claim(1.0), claim(large, small, "add_remove")])[1] == pytest.approx(min(exact, 1.0), rel=1e-4)
