"""What passes a check is a plain value, whatever class of the caller's it came as."""

from __future__ import annotations

import copy
import json
import math
import pickle
from dataclasses import fields, replace
from typing import Any

import numpy as np
import pytest

import dpsyn
from dpsyn import checks
from dpsyn.data.code_books import code_book
from dpsyn.errors import ParameterError
from dpsyn.mechanisms.registry import config_class
from dpsyn.privacy import dp_cda_epsilon
from tests.conformance.test_every_mechanism import CASES, TABLE


class Liar(str):
    """A text that says to be every other one."""

    __slots__ = ()

    def __eq__(self, other: object) -> bool:
        return True

    def __ne__(self, other: object) -> bool:
        return False

    __hash__ = str.__hash__

    def __str__(self) -> str:
        return "something else"


class NoNumber(float):
    def __float__(self) -> float:
        raise RuntimeError("no number")


def test_a_text_is_what_its_characters_are() -> None:
    for found in (checks.choice("x", Liar("a"), ["b", "a"]), checks.text("x", Liar("a"), "a text")):
        assert (type(found), found) == (str, "a")
    assert type(checks.choice("x", np.str_("a"), ["a"])) is str
    with pytest.raises(ParameterError, match="x"):
        checks.choice("x", Liar("a"), ["b", "c"])


def test_truth_values_and_durations_are_no_numbers() -> None:
    for value in (True, np.True_, np.timedelta64(5, "s"), "5", None):
        for check in (checks.whole, checks.number, checks.scale):
            with pytest.raises(ParameterError, match="x"):
                check("x", value)
    assert (checks.whole("x", np.int64(5)), checks.number("x", np.float32(0.5))) == (5, 0.5)


@pytest.mark.parametrize(
    ("check", "inside", "outside"),
    [
        (lambda value: checks.whole("x", value, 2, 5), (2, 5), (1, 6)),
        (lambda value: checks.number("x", value, 2.0, 5.0), (2.0, 5.0), (1.9, 5.1, math.inf, math.nan)),
        (lambda value: checks.number("x", value, above=2.0, below=5.0), (2.1, 4.9), (2.0, 5.0)),
        (lambda value: checks.share("x", value), (1e-9, 0.999), (9e-10, 1.0)),
        (lambda value: checks.scale("x", value), (1e-100, 1e100), (0.0, 9e-101, 1.1e100)),
        (lambda value: checks.file_name("x", value), ("a.csv", "b"), ("", "..", "a/b", "a\\b", "a\0b")),
    ],
)
def test_the_ends_of_what_is_allowed_are_allowed_and_no_more(check: Any, inside: Any, outside: Any) -> None:
    for value in inside:
        assert check(value) == value
    for value in outside:
        with pytest.raises(ParameterError, match="x = "):
            check(value)


def test_what_takes_a_choice_takes_no_liar() -> None:
    liar = Liar("x")
    wrong = [
        lambda: dpsyn.PrivacySpec(1.0, neighbouring=liar),
        lambda: dpsyn.PrivacySpec(1.0, unit=liar),
        lambda: dpsyn.Guarantee(1.0, 0.0, liar, "a source"),
        lambda: dpsyn.Guarantee(1.0, 0.0, "replace_one", "a source", status=liar),
        lambda: dpsyn.load_sample(liar),
        lambda: code_book(TABLE.domain, liar),
        lambda: config_class(liar),
        lambda: dpsyn.LossMeter(dpsyn.PrivateSampling(), TABLE, neighbouring=liar),
        lambda: dp_cda_epsilon(1.0, 1e-5, 2, 1.0, 50, 20, variant=liar),
        lambda: dp_cda_epsilon(1.0, 1e-5, 2, 1.0, 50, 20, neighbouring=liar),
        lambda: dp_cda_epsilon(1.0, 1e-5, 2, 1.0, 50, 20, accountant=liar),
    ]
    for call in wrong:
        with pytest.raises(ParameterError, match="'x'"):
            call()
    assert type(dpsyn.PrivacySpec(1.0, neighbouring=Liar("add_remove")).neighbouring) is str
    claim = dpsyn.Guarantee(1.0, 0.0, Liar("add_remove"), Liar("s"), [Liar("a")], Liar("proven"), Liar("row"))
    assert {type(said) for said in (claim.neighbouring, claim.source, *claim.assumptions, claim.status, claim.unit)} == {str}


@pytest.mark.parametrize("name", sorted(CASES))
def test_settings_are_plain_texts(name: str) -> None:
    config = CASES[name].config
    for field in fields(config):
        value = getattr(config, field.name)
        if isinstance(value, str):
            assert type(getattr(replace(config, **{field.name: Liar(value)}), field.name)) is str, field.name


def test_a_number_that_raises_is_refused() -> None:
    with pytest.raises(ParameterError, match="epsilon"):
        dpsyn.PrivacySpec(NoNumber(1.0))


def test_a_mapping_of_a_configuration_stays_as_it_was_checked() -> None:
    sizes = {"no": 50, "yes": 50}
    config = dpsyn.DPCDA(target="smokes", order_of_mixture=2, rows=20, class_sizes=sizes)
    mechanism = config.calibrate(dpsyn.PrivacySpec(5.0, 1e-5), TABLE.domain, n=TABLE.n)
    sizes["no"] = 900
    kept = config.class_sizes
    assert isinstance(kept, dict)
    for change in (
        lambda: kept.__setitem__("no", 900),
        lambda: kept.__delitem__("no"),
        lambda: kept.__ior__({"no": 900}),
        lambda: kept.update(no=900),
        lambda: kept.setdefault("other", 900),
        lambda: kept.pop("no"),
        kept.popitem,
        kept.clear,
    ):
        with pytest.raises(TypeError, match="cannot be changed"):
            change()
    assert mechanism.facts()["class_sizes"] == {"no": 50, "yes": 50} == json.loads(json.dumps(kept))
    for same in (pickle.loads(pickle.dumps(config)), copy.copy(config), copy.deepcopy(config), replace(config)):
        assert same == config
        assert hash(same) == hash(config)
        with pytest.raises(TypeError, match="cannot be changed"):
            same.class_sizes["no"] = 900


def test_a_release_has_fields_of_their_kinds_and_plain_names() -> None:
    case = CASES["independent"]
    release = case.config.calibrate(case.spec, TABLE.domain, n=TABLE.n)(None, TABLE)
    for name in ("rows", "guarantee", "diagnostics", "settings", "mechanism", "name", "config", "domain"):
        with pytest.raises(ParameterError, match=f"^{name} = "):
            replace(release, **{name: 3})
    assert type(replace(release, name=Liar("mine")).name) is str
