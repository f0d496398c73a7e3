"""A claim that was made smaller by hand is found out from the record alone, and an honest one holds, for every mechanism."""

from __future__ import annotations

import copy
import json
import math
import re
from dataclasses import replace
from itertools import product
from typing import Any, get_args

import numpy as np
import pandas as pd
import pytest

import dpsyn
from dpsyn.domain import NOT_YET_TRUE
from dpsyn.errors import DataError, DpsynError, ParameterError, shown
from dpsyn.mechanisms import records
from dpsyn.mechanisms.dp_cda import PublishedDPCDA
from dpsyn.mechanisms.records import verify
from dpsyn.mechanisms.registry import MECHANISMS, config_class
from dpsyn.privacy.spec import FROM_A_FILE, Guarantee, Status
from tests.conformance.test_every_mechanism import CASES, TABLE

SMALLER = (1 - 1e-6, 0.9, 0.01)
"""Parts of the ε or δ of a record that somebody writes in its place."""


@pytest.fixture(scope="module", params=sorted(CASES))
def record(request: pytest.FixtureRequest) -> dict[str, Any]:
    case = CASES[request.param]
    release = case.config.calibrate(case.spec, TABLE.domain, n=TABLE.n)(None, TABLE)
    found: dict[str, Any] = json.loads(json.dumps(release.record(), allow_nan=False))
    return found


def changed(record: dict[str, Any], **values: Any) -> dict[str, Any]:
    """A copy with other values; ``guarantee__epsilon`` is the ε of the guarantee."""
    new = copy.deepcopy(record)
    for name, value in values.items():
        *path, last = name.split("__")
        at = new
        for part in path:
            at = at[part]
        at[last] = value
    return new


def test_an_honest_record_holds(record: dict[str, Any]) -> None:
    found = verify(record)
    assert found.holds, str(found)
    assert found.config == CASES[record["mechanism"]].config
    assert found.found is not None
    assert found.found.epsilon == pytest.approx(record["guarantee"]["epsilon"], rel=1e-9)


def test_a_record_that_states_less_than_is_true_holds_and_is_said_to(record: dict[str, Any]) -> None:
    assert "stronger" not in str(verify(record))
    for name in ("epsilon", "delta"):
        weaker = verify(changed(record, **{f"guarantee__{name}": 1.5 * record["guarantee"][name] + 1e-3}))
        assert weaker.holds
        assert weaker.found is not None
        assert f"give {weaker.found.claim}, which is stronger than what the record states, {weaker.stated}" in str(weaker)


def test_settings_of_earlier_versions_count_as_what_these_did_and_no_other_value_of_them_holds(
    record: dict[str, Any],
) -> None:
    kind = config_class(record["mechanism"])
    for name, value in kind.added_later.items():
        lacking = copy.deepcopy(record)
        del lacking["config"][name]
        assert getattr(verify(lacking).config, name) == value
    for name, value in kind.removed.items():
        for parts in (("config",), ("settings",), ("config", "settings")):
            assert verify(changed(record, **{f"{part}__{name}": value for part in parts})).holds
            for other in (not value, None, str(value), [value]):
                try:
                    said = str(verify(changed(record, **{f"{part}__{name}": other for part in parts})))
                except DpsynError as fault:
                    said = str(fault)
                assert name in said
                assert "HOLDS" not in said


def test_every_mechanism_is_tried(record: dict[str, Any]) -> None:
    assert sorted(CASES) == sorted(MECHANISMS)
    assert record["mechanism"] in MECHANISMS


@pytest.mark.parametrize("part", SMALLER)
def test_a_smaller_epsilon_is_refuted(record: dict[str, Any], part: float) -> None:
    less = part * record["guarantee"]["epsilon"]
    assert "REFUTED" in str(verify(changed(record, guarantee__epsilon=less)))
    both = changed(record, guarantee__epsilon=less, settings__requested__epsilon=less)
    assert not verify(both).holds
    assert verify(both).contradiction


@pytest.mark.parametrize("part", [*SMALLER, 1e-100, 0.0])
def test_a_smaller_delta_is_refuted(record: dict[str, Any], part: float) -> None:
    less = part * record["guarantee"]["delta"]
    if record["guarantee"]["delta"]:
        assert "REFUTED" in str(verify(changed(record, guarantee__delta=less)))
        both = changed(record, guarantee__delta=less, settings__requested__delta=less)
        assert verify(both).contradiction


def test_what_the_claim_rests_on_can_neither_be_left_out_nor_hidden(record: dict[str, Any]) -> None:
    facts = set(record["settings"]) - set(record["config"]) - {"requested"}
    assert ("n" in facts) == (record["guarantee"]["neighbouring"] == "replace_one")
    assert facts
    for fact in facts:
        lacking = copy.deepcopy(record)
        del lacking["settings"][fact]
        assert verify(lacking).contradiction, fact
    for rows in (10 * record["rows"], record["rows"] - 1, 0):
        assert verify(changed(record, rows=rows)).contradiction
    assert verify(changed(record, guarantee__neighbouring="add_remove")).contradiction
    for columns in (record["columns"][1:], record["columns"][::-1]):
        assert verify(changed(record, columns=columns)).contradiction
    with pytest.raises(DpsynError, match="rows = -1"):
        verify(changed(record, rows=-1))
    assert "source" in verify(changed(record, guarantee__source="me")).contradiction
    assert "'epsilon'" in verify(changed(record, epsilon=0.01)).contradiction
    assert "'least_epsilon'" in verify(changed(record, guarantee__least_epsilon=0.01)).contradiction
    assert "'epsilon_'" in verify(changed(record, settings__epsilon_=0.01)).contradiction
    assumed = record["guarantee"]["assumptions"]
    for one in assumed:
        lacking = changed(record, guarantee__assumptions=[other for other in assumed if other != one])
        assert one in verify(lacking).contradiction
    for one in ("Also epsilon is 0.1 per person.", f"{NOT_YET_TRUE}: epsilon is 0.1.", f"{assumed[0]} ", ""):
        refuted = verify(changed(record, guarantee__assumptions=[*assumed, one]))
        assert refuted.contradiction == f"among its assumptions its settings do not give {shown(one)}"
    # As the app writes it of a release that it has imported.
    assert verify(changed(record, guarantee__assumptions=[*assumed, FROM_A_FILE])).holds
    # As an earlier version may have written it, before there was a proof without it.
    weaker = changed(record, guarantee__status="real_arithmetic", guarantee__assumptions=[*assumed, "Real arithmetic."])
    assert not verify(weaker).contradiction


def test_what_is_proven_in_exact_arithmetic_says_no_more_than_its_settings_give_either() -> None:
    domain = dpsyn.Domain.of([dpsyn.Attribute(name, "truth", ("n", "y")) for name in "ab"])
    mechanism = dpsyn.NoisyReweighting(noise="as_published", rows=9).calibrate(dpsyn.PrivacySpec(5.0, 1e-5), domain, n=40)
    table = dpsyn.Table(domain.decode(np.zeros((40, 2), dtype=np.int32), np.random.default_rng(0)), domain)
    record = json.loads(json.dumps(mechanism(None, table).record()))
    assumed = record["guarantee"]["assumptions"]
    assert assumed[0] == domain.warning
    for known in (domain, domain.confirmed()):
        assert str(verify(record, known)).startswith("NOT TRUE YET")
        assert verify(changed(record, guarantee__assumptions=[*assumed, "It is exact."]), known).contradiction


def test_a_record_with_a_domain_is_of_no_other(record: dict[str, Any]) -> None:
    same = [replace(attribute, public=False) for attribute in TABLE.domain.attributes]
    assert verify(record, dpsyn.Domain.of(same)).holds
    narrower = [replace(one, categories=one.categories[:-1]) if one.size > 2 and one.categories else one for one in same]
    others = [same[:-1], same[::-1], [replace(same[0], name="another"), *same[1:]], narrower]
    for other in others:
        assert other != same
        assert "its domain is not the one given" in verify(record, dpsyn.Domain.of(other)).contradiction
    with pytest.raises(DpsynError):
        verify(changed(record, domain={"columns": [{"name": "x"}]}), TABLE.domain)


def test_a_record_without_its_domain_takes_it_from_outside(record: dict[str, Any]) -> None:
    bare = changed(record, domain=None)
    with pytest.raises(DataError, match="schema"):
        verify(bare)
    assert verify(bare, TABLE.domain).holds
    with pytest.raises(DataError, match="settings"):
        verify(changed(record, config=None))


def test_what_is_no_guarantee_is_not_said_to_hold(record: dict[str, Any]) -> None:
    for status in get_args(Status):
        if status not in ("proven", "published_but_wrong"):
            found = verify(changed(record, guarantee__status=status))
            assert not found.contradiction
            assert not found.holds
            assert str(found).startswith("NOT TRUE YET: ")
            assert found.stated.status_in_words in str(found) or status == "demonstration"
    seeded = changed(record, demonstration=True, guarantee__status="demonstration")
    assert "without a guarantee" in str(verify(seeded))
    assert verify(changed(record, demonstration=True)).contradiction


def test_what_holds_in_real_arithmetic_is_not_said_to_be_proven() -> None:
    config = dpsyn.DPCDA(target="smokes", order_of_mixture=4, rows=20, noise_sampler="system")
    mechanism = config.calibrate(dpsyn.PrivacySpec(5.0, 1e-15), TABLE.domain, n=TABLE.n)
    record = json.loads(json.dumps(mechanism(None, TABLE).record()))
    assert record["guarantee"]["status"] == "real_arithmetic"
    assert not verify(record).contradiction
    said = verify(changed(record, guarantee__status="proven"))
    assert not said.holds
    assert "real_arithmetic" in said.contradiction


def test_numbers_are_alike_but_for_rounding_and_all_else_is_alike_or_not() -> None:
    for stated, found in product((1, 1 + 1e-12, 1 - 1e-12), repeat=2):
        assert records._alike(stated, found)
        assert not records._alike(stated, 1.001 * found)
    assert not any(records._alike(1, found) for found in (2, None, "1", [1], {"a": 1}))
    assert records._alike({"a": 1, "b": 2}, {"b": 2, "a": 1})
    assert not records._alike({"a": 1}, {"a": 1, "b": 2})
    assert not records._alike({"a": 1, "b": 3}, {"a": 1, "b": 2})
    assert not records._alike({"a": 1, "b": 2}, {"a": 1})
    lists: list[tuple[Any, Any]] = [
        ([1], 1), (None, [1]), ([1], [1, 1]), ([1, 1], [1]), ([{"a": 1}], [3]), ([3], [{"a": 1}]), ([{"a": 1}], [{"b": 1}]),
        ([{"a": 1}], [{"a": 1, "b": 2}]), ([{"a": 1, "b": 2}], [{"a": 1}]), ([{"a": 1}, {}], [{"a": 1}]),
    ]  # fmt: skip
    assert not any(records._alike(stated, found) for stated, found in lists)


def test_a_claim_is_less_where_more_than_rounding_is_missing() -> None:
    claim = Guarantee(2.0, 1e-5, "replace_one", "a source", ())
    for name in ("epsilon", "delta"):
        least = getattr(claim, name) * (1 - 1e-9)
        assert not records._less(replace(claim, **{name: least}), claim)
        assert records._less(replace(claim, **{name: math.nextafter(least, 0)}), claim)


def test_a_record_that_does_not_say_how_many_rows_there_are_has_one() -> None:
    for rows in (1, 2):
        config = dpsyn.Independent(rows=rows)
        record = config.calibrate(dpsyn.PrivacySpec(1.0), TABLE.domain, n=TABLE.n)(None, TABLE).record()
        said = {name: value for name, value in json.loads(json.dumps(record)).items() if name != "rows"}
        assert verify(said).holds is (rows == 1)


def test_a_ledger_has_every_line_and_every_number_of_it(record: dict[str, Any]) -> None:
    ledger = record["settings"].get("ledger")
    if ledger is None:
        return
    forged = [ledger[:at] + ledger[at + 1 :] for at in range(len(ledger))]
    forged += [[], [*ledger, ledger[-1]], None]
    for at, line in enumerate(ledger):
        for name in line:
            lacking = {key: value for key, value in line.items() if key != name}
            forged += [[*ledger[:at], other, *ledger[at + 1 :]] for other in (lacking, {**line, name: None})]
    for other in forged:
        assert verify(changed(record, settings__ledger=other)).contradiction, other


def test_what_follows_from_the_settings_is_not_left_empty(record: dict[str, Any]) -> None:
    calibrated = set(record["settings"]) - set(record["config"]) - {"requested", "n"}
    for name in calibrated:
        if record["settings"][name] is not None:
            assert verify(changed(record, **{f"settings__{name}": None})).contradiction, name


def test_rows_of_a_class_may_be_lacking_only_where_noise_decides_which_classes_there_are() -> None:
    for sizes, lacking in ((None, True), (5, False)):
        config = dpsyn.DPCDA(target="smokes", order_of_mixture=2, rows=20, rows_by="equal", class_sizes=sizes)
        release = config.calibrate(dpsyn.PrivacySpec(5.0, 1e-5), TABLE.domain, n=TABLE.n)(None, TABLE)
        record = json.loads(json.dumps(release.record()))
        assert verify(record).holds
        assert verify(changed(record, rows=10)).holds == lacking
        assert "it has 21 rows, and its settings give 20" in str(verify(changed(record, rows=21)))


def test_a_category_that_is_called_like_the_number_of_one_stays_what_it_is() -> None:
    """Numbers stand for categories only where a record has no domain."""
    names = ("category 2 of 'x'", "category 1 of 'x'")
    domain = dpsyn.Domain.of([dpsyn.Attribute("x", "categorical", names), dpsyn.Attribute("y", "numeric", lower=0, upper=1)])
    rows = pd.DataFrame({"x": [*names] * 150, "y": np.linspace(0, 1, 300)})
    for public in (True, False):
        table = dpsyn.Table(rows, domain.confirmed() if public else domain)
        config = dpsyn.DPCDA("x", rows={names[0]: 10, names[1]: 30}, order_of_mixture=2)
        release = config.calibrate(dpsyn.PrivacySpec(5.0, 1e-5), table.domain, n=300)(None, table)
        found = verify(json.loads(json.dumps(release.record())), None if public else table.domain)
        assert not found.contradiction
        assert found.holds == public


def test_a_category_has_one_name_in_a_record() -> None:
    config = dpsyn.DPCDA("smokes", rows=20, order_of_mixture=2, class_sizes={"no": 5, "yes": 5})
    domain = dpsyn.Domain.of(replace(a, public=False) for a in TABLE.domain.attributes)
    table = TABLE.with_domain(domain)
    record = json.loads(json.dumps(config.calibrate(dpsyn.PrivacySpec(5.0, 1e-5), domain, n=table.n)(None, table).record()))
    assert not verify(record, domain).contradiction
    for part in (record["config"], record["settings"]):
        part["class_sizes"] |= {"no": 2, "yes": 2}
    with pytest.raises(DataError, match="class_sizes names a category twice"):
        verify(record, domain)


@pytest.mark.parametrize("confirmed", [False, True])
def test_an_unconfirmed_domain_is_not_written_down(confirmed: bool) -> None:
    """Nor one of which one column is confirmed, and the other was read off the rows."""
    table = dpsyn.read_table(TABLE.frame, columns=["smokes", "dose"])
    table = table.with_domain(table.domain.replace("smokes", public=confirmed))
    release = dpsyn.NoisyReweighting(rows=5).calibrate(dpsyn.PrivacySpec(1.0), table.domain, n=table.n)(None, table)
    record = release.record()
    assert not table.domain.is_public
    assert record["domain"] is None
    assert replace(release, config=None).record() == record | {"config": None}
    assert "NOT TRUE YET" in str(verify(record, table.domain))
    assert not verify(record, table.domain.confirmed()).contradiction
    proven = changed(record, guarantee__status="proven")
    assert "unconfirmed_domain" in verify(proven, table.domain).contradiction


@pytest.mark.parametrize("name", sorted(CASES))
def test_no_record_names_a_category_of_a_domain_that_nobody_confirmed(name: str) -> None:
    case, said = CASES[name], "RARE-DISEASE-OF-BOB"
    columns = {
        a.name: replace(a, public=False, categories=tuple(said + value for value in a.categories))
        for a in TABLE.domain.attributes
    }
    frame = TABLE.frame.assign(**{a: said + TABLE.frame[a] for a in columns if columns[a].categories})
    table = dpsyn.Table(frame, dpsyn.Domain(tuple(columns.values())))
    sizes = {said + "no": 300, said + "yes": 200}
    by_class = [{"rows": sizes}, {"rows": sizes, "class_sizes": sizes}] if name == "dp_cda" else []
    for config in (case.config, *(replace(case.config, **settings) for settings in by_class)):
        record = config.calibrate(case.spec, table.domain, n=table.n)(None, table).record()
        text = json.dumps(record)
        assert said not in text
        assert "NOT TRUE YET" in str(verify(json.loads(text), table.domain))
        confirmed = changed(json.loads(text), guarantee__status="proven")
        assumed = [one for one in record["guarantee"]["assumptions"] if one != table.domain.warning]
        assert verify(changed(confirmed, guarantee__assumptions=assumed), table.domain.confirmed()).holds


@pytest.mark.parametrize("categories", [(77001.0, 88002.0), (77001, 88002), (-77001.0, 1e22), ("77001.0", "88002.0")])
@pytest.mark.parametrize("variant", ["fixed_size", "as_published"])
def test_no_record_names_a_number_that_is_a_category_either(categories: tuple[Any, Any], variant: str) -> None:
    domain = dpsyn.Domain.of(
        [dpsyn.Attribute("c", "categorical", categories), dpsyn.Attribute("x", "numeric", lower=0, upper=1)]
    )
    frame = pd.DataFrame({"c": pd.Series([*categories] * 300, dtype=object), "x": np.linspace(0, 1, 600)})
    table = dpsyn.Table(frame, domain)
    whole = [f"{value:.0f}" if isinstance(value, float) else str(value) for value in categories]
    for sizes in (None, 200, dict.fromkeys(whole, 200)):
        seed = np.random.default_rng(0) if variant == "as_published" else None
        if seed is not None:
            config: Any = PublishedDPCDA(target="c", order_of_mixture=4, rows=20)
        else:
            config = dpsyn.DPCDA(target="c", order_of_mixture=4, rows=20, class_sizes=sizes)
        record = config.calibrate(dpsyn.PrivacySpec(4.0, 1e-5), domain, n=600)(seed, table).record()
        text = json.dumps(record)
        for value in (*categories, *whole):
            assert str(value).removesuffix(".0").strip("-") not in text, value
        assert not verify(json.loads(text), domain).contradiction


def test_a_domain_that_is_none_is_the_callers_mistake_and_not_that_of_the_record(record: dict[str, Any]) -> None:
    for wrong in ("schema.json", True, TABLE.domain.to_dict(), TABLE):
        with pytest.raises(ParameterError, match=r"^domain = "):
            verify(record, wrong)  # type: ignore[arg-type]


def test_no_mapping_of_settings_has_more_or_fewer_names_than_calibration_gives(record: dict[str, Any]) -> None:
    rates = dpsyn.DPCDA(target="smokes", order_of_mixture=2, rows={"no": 10, "yes": 10}, class_sizes={"no": 50, "yes": 50})
    release = rates.calibrate(dpsyn.PrivacySpec(5.0, 1e-5), TABLE.domain, n=TABLE.n)(None, TABLE)
    of_classes = json.loads(json.dumps(release.record()))
    assert verify(of_classes).holds
    for one in (record, of_classes):
        mappings = [name for name, value in one["settings"].items() if isinstance(value, dict)]
        assert "requested" in mappings
        for name in mappings:
            mapping = one["settings"][name]
            fewer = [{key: value for key, value in mapping.items() if key != lacking} for lacking in mapping]
            for other in ({**mapping, "epsilon_": 0.001}, {}, *fewer):
                assert verify(changed(one, **{f"settings__{name}": other})).contradiction, (name, other)
    assert {"class_sizes", "rows_per_class", "sampling_rates"} <= set(mappings)


def test_what_is_published_but_wrong_never_holds() -> None:
    config = dpsyn.mechanisms.dp_cda.PublishedDPCDA(target="smokes", rows=20)
    release = config.calibrate(dpsyn.PrivacySpec(5.0, 1e-5), TABLE.domain, n=TABLE.n)(np.random.default_rng(0), TABLE)
    record = json.loads(json.dumps(release.record()))
    for one in (record, changed(record, config=None)):
        assert str(verify(one)).startswith("NOT TRUE: no guarantee")
    with pytest.raises(DataError, match="published_but_wrong"):
        verify(changed(record, guarantee__status="proven", guarantee__epsilon=5.0))


ODD = (None, True, -1, 1e308, 10**400, "x", [[1]], {"a": {}})
PYTHON = re.compile("NoneType|must be real number|too large to convert|unsupported operand|not supported between")


def test_a_record_that_is_wrong_anywhere_is_refused_or_refuted_in_words(record: dict[str, Any]) -> None:
    for name in record:
        for odd in ODD:
            for new in (changed(record, **{name: odd}), *_inside(record, name, odd)):
                try:
                    said = str(verify(new))
                except DpsynError as fault:
                    said = str(fault)
                assert said
                assert not PYTHON.search(said), (name, odd, said)


def _inside(record: dict[str, Any], name: str, odd: object) -> list[dict[str, Any]]:
    return [changed(record, **{f"{name}__{part}": odd}) for part in record[name]] if isinstance(record[name], dict) else []
