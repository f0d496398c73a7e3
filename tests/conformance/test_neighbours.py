"""What all neighbours of a small table can do to what is handed to the noise, against what was asked for.

For mechanisms on categories: everything that they learn of the rows is a question to the noise, and what the answers cost
adds up. Questions, answers and rows must not depend on the rows otherwise, so this is all that there is to know.
"""

from __future__ import annotations

from functools import cache
from itertools import product
from typing import Any

import numpy as np
import pandas as pd
import pytest

import dpsyn
from dpsyn.mechanisms.categories import Categories, OnCategories
from dpsyn.mechanisms.registry import MECHANISMS, config_class
from dpsyn.privacy.discrete_gaussian import Moved, discrete_delta
from dpsyn.privacy.zcdp import zcdp_rho
from tests.conformance.neighbours import (
    Call,
    Deaf,
    Repeating,
    Truthful,
    alike,
    asked,
    assert_same,
    called,
    neighbours,
    remember_fits,
    run,
    spent,
)

COINS = ("dp_gan",)
"""Mechanisms that see rows picked by coins, which cost less than what a neighbour moves: they have tests of their own."""
NAMES = [name for name in MECHANISMS if issubclass(config_class(name), Categories) and name not in COINS]
SELECTIONS = [("privsyn", {"selection": selection}) for selection in ("privbayes", (("a", "b"), ("b",)))]
AVERAGE = ("mwem", {"output": "average"})
MORE = [("mwem", {"start_share": 0.3}), AVERAGE, ("independent", {"degree": 2}), *SELECTIONS]
VARIANTS = [*((name, {}) for name in NAMES), *MORE]
BITS: dict[str, list[Any]] = {"a": [0, 1], "b": [0, 1], "c": [0, 1]}
MIXED: dict[str, list[Any]] = {"a": ["x", "y", "z"], "b": [0, 1], "x": [0, 4, 9]}
ATTRIBUTES = {
    "a": dpsyn.Attribute("a", "categorical", ("x", "y", "z"), public=True),
    "x": dpsyn.Attribute("x", "numeric", lower=0, upper=9, bins=2, integer=True, public=True),
    "alike": dpsyn.Attribute("alike", "categorical", (0,), public=True),
}
SETTINGS: dict[str, dict[str, Any]] = {
    "privbayes": {"usefulness": 1e-6},  # parents, although there are few rows
    "privsyn": {"rounds": 2},
    "mwem": {"replays": 2},
    "dual_query": {"rounds": 3, "samples": 4},
}
TIGHT = 0.65
"""The part of the budget that the worst neighbour uses: with half of the noise on a table or choice it would be too much."""


def table_of(frame: pd.DataFrame) -> dpsyn.Table:
    attributes = [
        ATTRIBUTES[name]
        if name in ATTRIBUTES and ("x" in frame or name == "alike")
        else dpsyn.Attribute(name, "truth", (0, 1), public=True)
        for name in frame
    ]
    return dpsyn.Table(frame, dpsyn.Domain.of(attributes))


def frame_of(values: dict[str, list[Any]]) -> pd.DataFrame:
    every = list(product(*values.values()))
    return pd.DataFrame([every[at] for at in (0, 0, 1, 3, 6, len(every) - 1)], columns=list(values))


@cache
def near(bits: bool, neighbouring: str) -> list[dpsyn.Table]:
    """All neighbours of the table of bits, or of the mixed one."""
    values = BITS if bits else MIXED
    return [table_of(frame) for frame in neighbours(frame_of(values), values, neighbouring)]


def part_spent(mechanism: OnCategories, calls: list[Call], found: list[Call]) -> float:
    """The part of what was asked for that the answers to two tables tell apart at most."""
    spec, cost = mechanism.spec, spent(calls, found)
    before, how = mechanism.stage.epsilon, mechanism.calibrated()["accounting"]
    left = spec.epsilon - before
    if how == "pure":
        assert not any(call.kind == "gaussian" for call in calls)
        return cost.epsilon / spec.epsilon
    assert cost.laplace <= before
    if how == "zcdp":
        return cost.rho / zcdp_rho(left, spec.delta)
    assert cost.step <= 1
    (scale,) = {call.scale for call in calls if call.kind == "gaussian"}
    return discrete_delta((Moved(max(sum(cost.moved), 1)),), scale, left) / spec.delta


@pytest.mark.parametrize(
    ("values", "neighbouring", "epsilon", "delta"),
    [
        (BITS, "replace_one", 1.7, 0.0),
        (MIXED, "replace_one", 1.7, 1e-5),
        (MIXED, "add_remove", 1.7, 0.0),
        (BITS, "add_remove", 1.7, 1e-5),
        (MIXED, "add_remove", 50.0, 0.0),
    ],
    ids=["bits, replace, pure", "mixed, replace", "mixed, add, pure", "bits, add", "mixed, add, chosen bins"],
)
@pytest.mark.parametrize(("name", "settings"), VARIANTS, ids=str)
def test_no_neighbour_costs_more_than_was_asked_for(
    name: str,
    settings: dict[str, Any],
    values: dict[str, list[Any]],
    neighbouring: Any,
    epsilon: float,
    delta: float,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    remember_fits(monkeypatch)
    table, spec = table_of(frame_of(values)), dpsyn.PrivacySpec(epsilon, delta, neighbouring)
    config = config_class(name)(rows=3, **SETTINGS.get(name, {}), **settings)
    mechanism = config.calibrate(spec, table.domain, table.n)
    assert isinstance(mechanism, OnCategories)
    calls, rows = run(mechanism, table)
    worst = 0.0
    for theirs in near(values is BITS, neighbouring):
        # Under add_remove n is a secret, of which calibration must know nothing.
        found, same = run(config.calibrate(spec, theirs.domain, theirs.n), theirs)
        assert_same(rows, same)
        worst = max(worst, part_spent(mechanism, calls, found))
    assert worst <= 1
    assert worst > (TIGHT if epsilon < 2 else 0.2)  # DualQuery's steps are as many as they are
    claim = mechanism.guarantee
    assert ("The number of rows n is public." in claim.assumptions) is (neighbouring == "replace_one")
    assert (claim.epsilon, claim.neighbouring) == (spec.epsilon, neighbouring)
    assert claim.delta == (0.0 if mechanism.calibrated()["accounting"] == "pure" else delta)


@pytest.mark.parametrize("epsilon", [1e-5, 1e-11])
@pytest.mark.parametrize(("name", "settings"), VARIANTS, ids=str)
def test_noise_grows_without_an_end_as_epsilon_shrinks(
    name: str, settings: dict[str, Any], epsilon: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Scales far beyond 2³², of choices too."""
    remember_fits(monkeypatch)
    table, spec = table_of(frame_of(BITS)), dpsyn.PrivacySpec(epsilon)
    mechanism = config_class(name)(rows=3, **SETTINGS.get(name, {}), **settings).calibrate(spec, table.domain, table.n)
    assert isinstance(mechanism, OnCategories)
    calls, _ = run(mechanism, table)
    assert calls
    worst = max(part_spent(mechanism, calls, run(mechanism, other)[0]) for other in near(True, "replace_one"))
    assert TIGHT < worst <= 1


@pytest.mark.parametrize("name", NAMES)
def test_nothing_is_said_of_a_secret_number_of_rows(name: str) -> None:
    table = table_of(frame_of(MIXED))
    spec = dpsyn.PrivacySpec(1.0, 1e-5, "add_remove")
    found = [config_class(name)().calibrate(spec, table.domain, n).facts() for n in (1, 6, 10**6)]
    assert found[0] == found[1] == found[2]
    assert "n" not in found[0]
    assert "rows" not in {k for k, v in found[0].items() if v is not None}


# With little noise answers have a say in where the bins of numbers lie.
@pytest.mark.parametrize(("values", "epsilon"), [(BITS, 1.0), (MIXED, 50.0)], ids=["bits", "mixed"])
@pytest.mark.parametrize("name", NAMES)
def test_where_their_number_is_a_secret_as_many_rows_are_made_as_the_noise_says(
    name: str, values: dict[str, list[Any]], epsilon: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    remember_fits(monkeypatch)
    spec = dpsyn.PrivacySpec(epsilon, 1e-5, "add_remove")
    frame, made, config = frame_of(values), [], config_class(name)(**SETTINGS.get(name, {}))
    for rows in (frame, frame.drop(index=[0, 3]), pd.concat([frame] * 9)):
        table = table_of(rows.reset_index(drop=True))
        made.append(run(config.calibrate(spec, table.domain, table.n), table)[1])
    assert_same(made[0], made[1])
    assert_same(made[0], made[2])


@cache
def special_tables(neighbouring: str) -> list[dpsyn.Table]:
    """Beside a column of one value nothing is off, all is alike, all depends, some do, or some columns have one value, too.

    A secret n is from 1 to many.
    """
    every = pd.DataFrame(list(product(*BITS.values())), columns=list(BITS)).assign(alike=0)
    corners = [every.iloc[[at] * 8] for at in (0, 7)]
    spread = every.iloc[np.random.default_rng(3).integers(0, 8, 8)]
    some = [every.iloc[[*at, *at]] for at in ((0, 1, 6, 7), (0, 2, 5, 7), (0, 3, 4, 7), (0, 3, 5, 6))]
    some += [every.iloc[[*at, *at]] for at in ((0, 1, 2, 3), (2, 3, 6, 7), (0, 2, 4, 6), (4, 4, 4, 5))]
    frames = [every, *corners, spread, every.iloc[[0, 0, 0, 0, 7, 7, 7, 7]], *some]
    if neighbouring == "add_remove":
        frames += [
            every.iloc[[3]],
            every.iloc[[1, 6]],
            pd.concat([spread] * 9),
            pd.concat([spread] * 900),
            corners[0].iloc[:4],
        ]
    return [table_of(frame.reset_index(drop=True)) for frame in frames]


@pytest.mark.parametrize(
    ("neighbouring", "answers"),
    [
        *(("add_remove", answers) for answers in ("none", "few", "many", "those of even rows", "those of equal rows")),
        *(("replace_one", answers) for answers in ("few", "those of even rows")),
    ],
)
@pytest.mark.parametrize(("name", "settings"), VARIANTS, ids=str)
def test_questions_and_rows_follow_from_answers_however_far_from_the_truth(
    name: str, settings: dict[str, Any], neighbouring: Any, answers: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    remember_fits(monkeypatch)
    config = config_class(name)(**SETTINGS.get(name, {}), **settings)
    tables, found = special_tables(neighbouring), []
    spec = dpsyn.PrivacySpec(1.0, 1e-5, neighbouring)
    even = tables[0 if answers == "those of even rows" else 1]
    known, _ = asked(Truthful(), config.calibrate(spec, even.domain, even.n), even)
    for table in tables:
        mechanism = config.calibrate(spec, table.domain, table.n)
        noise = (
            Repeating(known)
            if answers.startswith("those")
            else Deaf(0, *{"few": (0,), "many": (300,), "none": (0, 1)}[answers])
        )
        release = called(noise, mechanism, table)
        found.append((noise.calls, release.rows, release.tables))
    for calls, rows, released in found[1:]:
        assert alike(found[0][0], calls)
        assert_same(found[0][1], rows)
        # Tables may be published, too: they are what the noise answered, and nothing else.
        assert released.keys() == found[0][2].keys()
        for names, one in released.items():
            assert_same(found[0][2][names], one)


@pytest.mark.parametrize("name", NAMES)
def test_noise_that_drowns_all_rows_is_survived(name: str) -> None:
    table = table_of(frame_of(MIXED))
    for epsilon, delta in ((1e-14, 0.0), (1e-14, 1e-300), (1e-3, 1e-5), (1e80, 0.0)):
        mechanism = config_class(name)(rows=9, **SETTINGS.get(name, {})).calibrate(
            dpsyn.PrivacySpec(epsilon, delta), table.domain, table.n
        )
        assert len(mechanism(np.random.default_rng(0), table).rows) == 9


@pytest.mark.parametrize("name", NAMES)
def test_all_is_measured_in_whole_numbers_and_one_column_is_enough(name: str) -> None:
    table = table_of(pd.DataFrame({"only": [0, 1, 1, 0]}))
    for neighbouring in ("replace_one", "add_remove"):
        for delta in (0.0, 1e-6):
            spec = dpsyn.PrivacySpec(20.0, delta, neighbouring)
            made = config_class(name)(**SETTINGS.get(name, {})).calibrate(spec, table.domain, table.n)(
                np.random.default_rng(0), table
            )
            assert made.rows["only"].isin([0, 1]).all()
            assert 2 <= len(made.rows) <= 6
