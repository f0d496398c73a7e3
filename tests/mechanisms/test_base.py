"""What every mechanism does around its own run: what is checked before, and what a release says after it."""

from __future__ import annotations

import math
import re
import sys
from dataclasses import dataclass, replace
from typing import Any, ClassVar, get_args

import numpy as np
import pandas as pd
import pytest

import dpsyn
from dpsyn.display import PRIVATE, PUBLIC, RELEASED
from dpsyn.domain import Attribute, Domain
from dpsyn.errors import DomainError, InputError, ParameterError
from dpsyn.mechanisms import base
from dpsyn.mechanisms.base import ROWS_ASSUMPTION, Config, Mechanism, check_request
from dpsyn.privacy.noise import NoiseSource
from dpsyn.privacy.spec import Guarantee, PrivacySpec, Status
from dpsyn.table import Table
from dpsyn.theory.formulas import Paper

DOMAIN = Domain.of(
    [
        Attribute("a", "categorical", ("x", "y"), public=True),
        Attribute("v", "numeric", lower=0, upper=9, public=True),
        Attribute("d", "date", lower=0, upper=99, keep=("weekday",), public=True),
    ]
)
FRAME = pd.DataFrame({"a": ["x", "y", "x"], "v": [0.0, 4.0, 9.0], "d": pd.to_datetime([0, 50, 99], unit="D")})
TABLE = Table(FRAME, DOMAIN)
CLAIM = Guarantee(1.0, 1e-5, "replace_one", "nowhere", ("first",))


@dataclass(frozen=True)
class Plain(Config):
    """It claims what it is told to claim."""

    rows: int | None = None

    name: ClassVar[str] = "plain"
    title: ClassVar[str] = "Plain"
    paper: ClassVar[Paper] = Paper("Nobody", "Nothing", "")

    def calibrate(self, spec: PrivacySpec, domain: Domain, n: int) -> PlainMechanism:
        return PlainMechanism(self, spec, domain, n, replace(CLAIM, neighbouring=spec.neighbouring))


@dataclass(frozen=True)
class Filling(Plain):
    """No number or date of its rows is empty."""

    fills_empty_numbers: ClassVar[bool] = True


@dataclass(frozen=True)
class PlainMechanism(Mechanism):
    def calibrated(self) -> dict[str, Any]:
        return {"scale": 7.0}

    def _run(self, noise: NoiseSource, table: Any, progress: Any) -> tuple[pd.DataFrame, dict[str, Any]]:
        progress("halfway", 0.5)
        return table.frame.head(1), {"table": table, "noise": noise}


def mechanism_of(neighbouring: Any = "replace_one", domain: Domain = DOMAIN, **settings: Any) -> PlainMechanism:
    return Plain(**settings).calibrate(PrivacySpec(1.0, 1e-5, neighbouring), domain, 3)


# --- before the run ---------------------------------------------------------------------------------------------------


def test_bounds_may_be_as_close_as_arithmetic_can_scale_by() -> None:
    spec, least = PrivacySpec(1.0), sys.float_info.min * 2.0**64
    for kind, lower, upper, allowed in (
        ("numeric", 0.0, least, True),
        ("numeric", 0.0, math.nextafter(least, 0), False),
        ("numeric", -least, 0.0, True),
        ("numeric", -least / 2, least / 4, False),
        ("numeric", 1.0, math.nextafter(1.0, 2.0), True),
        ("numeric", -3.0, -2.0, True),
        ("numeric", least, 2 * least, True),
        ("numeric", least, math.nextafter(2 * least, 0), False),
        ("numeric", -2 * least, -least, True),
        ("numeric", math.nextafter(-2 * least, 0), -least, False),
        ("date", 7, 8, True),
    ):
        domain = Domain.of([DOMAIN["a"], Attribute("w", kind, lower=lower, upper=upper, bins=1, public=True)])  # type: ignore[arg-type]
        if allowed:
            assert check_request(spec, domain, 5, None) == 5
        else:
            with pytest.raises(DomainError, match="wider bounds") as caught:
                check_request(spec, domain, 5, None)
            assert caught.value.column == "w"


def test_rows_that_are_asked_for_are_to_fit_into_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[tuple[Any, ...]] = []
    monkeypatch.setattr(base, "require_memory", lambda *said: asked.append(said))
    assert [check_request(PrivacySpec(1.0), DOMAIN, 5, rows) for rows in (None, 10)] == [5, 5]
    assert asked == [("rows", 10, 16 * 3 * 10)]


@pytest.mark.parametrize(
    ("spec", "domain", "n", "field"),
    [
        (1.0, DOMAIN, 5, "spec"),
        (PrivacySpec(1.0), ["a"], 5, "domain"),
        (PrivacySpec(1.0), DOMAIN, 0, "n"),
        (PrivacySpec(1.0), DOMAIN, 2.5, "n"),
    ],
)
def test_what_is_no_request_is_refused(spec: Any, domain: Any, n: Any, field: str) -> None:
    with pytest.raises(ParameterError) as caught:
        check_request(spec, domain, n, None)
    assert caught.value.field == field


def test_a_number_of_rows_is_a_plain_number() -> None:
    found = check_request(PrivacySpec(1.0), DOMAIN, np.int64(5), None)
    assert (found, type(found)) == (5, int)


def test_another_table_is_refused() -> None:
    mechanism = mechanism_of()
    with pytest.raises(ParameterError, match=re.escape("mechanism(None, table)")) as caught:
        mechanism(None, FRAME)  # type: ignore[arg-type]
    assert caught.value.field == "table"
    with pytest.raises(InputError, match="calibrate again"):
        mechanism(None, Table(FRAME, DOMAIN.replace("v", upper=10)))
    for rows in ([0, 1], [0, 1, 2, 2]):
        with pytest.raises(ParameterError, match="calibrated to 3 rows") as caught:
            mechanism(None, TABLE.take(np.array(rows)))
        assert (caught.value.field, caught.value.value) == ("n", len(rows))
    # A mechanism that keeps weekdays was calibrated to a domain that has them as columns.
    wider = base.with_calendar(DOMAIN)
    assert len(wider) == 4
    assert mechanism_of(domain=wider)(None, TABLE).domain is DOMAIN


# --- the claim --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("neighbouring", ["replace_one", "add_remove"])
@pytest.mark.parametrize("rows", [None, 4])
def test_whoever_asks_for_rows_where_n_is_a_secret_takes_on_that_they_say_nothing(neighbouring: Any, rows: Any) -> None:
    mechanism = mechanism_of(neighbouring, rows=rows)
    said = neighbouring == "add_remove" and rows is not None
    assert mechanism.guarantee.assumptions == (("first", ROWS_ASSUMPTION) if said else ("first",))
    # Where a claim speaks of it already, once is enough.
    for words in ("The Number of Rows was declared.", ROWS_ASSUMPTION):
        told = replace(mechanism, guarantee=replace(CLAIM, neighbouring=neighbouring, assumptions=("first", words)))
        assert told.guarantee.assumptions == ("first", words)


@pytest.mark.parametrize(
    ("status", "after"),
    [
        ("proven", "unconfirmed_domain"),
        ("real_arithmetic", "real_arithmetic"),
        ("demonstration", "demonstration"),
        ("published_but_wrong", "published_but_wrong"),
    ],
)
def test_a_domain_that_nobody_confirmed_is_the_first_that_a_claim_assumes(status: Any, after: str) -> None:
    inferred = DOMAIN.replace("v", public=False)
    epsilon = math.inf if status == "published_but_wrong" else 1.0
    told = replace(mechanism_of(domain=inferred), guarantee=replace(CLAIM, status=status, epsilon=epsilon))
    assert told.guarantee.status == after
    warned = status in ("proven", "real_arithmetic")
    assert told.guarantee.assumptions == ((inferred.warning, "first") if warned else ("first",))
    again = replace(told, guarantee=replace(CLAIM, status=status, epsilon=epsilon, assumptions=("first", inferred.warning)))
    assert again.guarantee.assumptions == ((inferred.warning, "first") if warned else ("first", inferred.warning))
    confirmed = replace(mechanism_of(), guarantee=replace(CLAIM, status=status, epsilon=epsilon))
    assert (confirmed.guarantee.status, confirmed.guarantee.assumptions) == (status, ("first",))


@pytest.mark.parametrize("more", [{"epsilon": 1 + 1e-8}, {"delta": 1e-5 + 1e-13}, {"epsilon": math.inf}])
def test_no_claim_is_above_what_was_asked_for(more: dict[str, float]) -> None:
    with pytest.raises(ParameterError) as caught:
        replace(mechanism_of(), guarantee=replace(CLAIM, **more))
    assert caught.value.field == "guarantee"
    # Rounding is free, and so is a smaller claim; what is refuted claims nothing.
    for less in ({"epsilon": 1 + 1e-10}, {"delta": 1e-5 + 1e-15}, {"epsilon": 0.5}, {"delta": 0.0}):
        replace(mechanism_of(), guarantee=replace(CLAIM, **less))
    replace(mechanism_of(), guarantee=replace(CLAIM, status="published_but_wrong", **(more | {"epsilon": math.inf})))


# --- the release ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("seeded", [False, True])
def test_a_release_holds_what_was_made_and_what_is_claimed(seeded: bool) -> None:
    mechanism, steps = mechanism_of(rows=4), []
    generator = np.random.default_rng(1) if seeded else None
    release = mechanism(generator, TABLE, lambda step, share: steps.append((step, share)))
    pd.testing.assert_frame_equal(release.rows, FRAME.head(1))
    assert release.diagnostics["table"] is TABLE
    assert release.diagnostics["noise"].seeded is release.seeded is seeded
    assert not seeded or release.diagnostics["noise"].generator is generator
    assert (release.mechanism, release.config, release.domain) == ("plain", mechanism.config, DOMAIN)
    assert steps == [("halfway", 0.5), ("handing over the rows", 1.0)]
    assert release.settings == mechanism.facts()
    status = "demonstration" if seeded else "proven"
    assert release.guarantee == mechanism.claim(seeded=seeded)
    assert release.guarantee.status == mechanism.claim(seeded=seeded).status == status
    assert ("first" in release.guarantee.assumptions, len(release.guarantee.assumptions)) == (True, 1 + seeded)
    # A claim that somebody hands over by hand is a demonstration's, too.
    for delta in (0.0, 1e-5):
        kept = replace(release, guarantee=replace(CLAIM, delta=delta), seeded=seeded)
        assert (kept.guarantee.status, kept.guarantee.delta) == (status, delta)


def test_facts_hold_the_number_of_rows_where_it_is_public() -> None:
    for neighbouring in ("replace_one", "add_remove"):
        facts = mechanism_of(neighbouring, rows=4).facts()
        asked = {"epsilon": 1.0, "delta": 1e-5, "neighbouring": neighbouring, "unit": "row"}
        n = {"n": 3} if neighbouring == "replace_one" else {}
        assert facts == {"requested": asked, **n, "rows": 4, "scale": 7.0}


@pytest.mark.parametrize("alone", [False, True])
def test_rows_of_a_table_in_place_are_read_for_a_mechanism_that_needs_more_than_counts(
    alone: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    import pyarrow as pa

    from tests.data.test_in_place import in_place

    domain = Domain.of([DOMAIN["a"], DOMAIN["v"]])
    counted = in_place(pa.Table.from_pandas(FRAME[["a", "v"]]), domain)
    mechanism, steps = mechanism_of(domain=domain), []
    monkeypatch.setattr(PlainMechanism, "needs_counts_alone", alone)
    monkeypatch.setattr(PlainMechanism, "_run", lambda self, noise, table, progress: (FRAME, {"table": table}))
    release = mechanism(None, counted, lambda step, share: steps.append((step, share)))
    assert (release.diagnostics["table"] is counted) is alone
    assert isinstance(release.diagnostics["table"], Table) is not alone
    assert steps == ([] if alone else [("drawing the rows from where they lie", 0.0)]) + [("handing over the rows", 1.0)]
    assert release.domain == domain
    held = mechanism(None, Table(FRAME[["a", "v"]], domain), lambda step, share: steps.append((step, share)))
    assert isinstance(held.diagnostics["table"], Table)
    assert dpsyn.PrivacySpec(1.0, 1e-5) == mechanism.spec


@pytest.mark.parametrize(
    ("neighbouring", "confirmed", "badge"),
    [
        ("replace_one", True, PUBLIC),
        ("replace_one", False, PRIVATE),
        ("add_remove", True, PRIVATE),
        ("add_remove", False, PRIVATE),
    ],
)
def test_a_mechanism_shows_as_public_where_its_domain_and_its_number_of_rows_are(
    neighbouring: Any, confirmed: bool, badge: str
) -> None:
    domain = DOMAIN if confirmed else DOMAIN.replace("v", public=False)
    mechanism = Plain().calibrate(PrivacySpec(1.0, 1e-5, neighbouring), domain, 12_345)
    assert repr(mechanism).splitlines()[-1] == f"[{badge}]"
    found, lines = mechanism._shown()
    assert (found, lines[0]) == (badge, "Plain, calibrated to 12,345 rows of 3 columns; not run yet")
    assert lines[1:] == [
        *(f"  {line}" for line in mechanism.guarantee._shown()[1][:2]),
        "  settings: ",
        "  to run it: mechanism(None, table)",
    ]
    assert "  settings: rows 5" in replace(mechanism, config=Plain(5))._shown()[1]


def test_a_mechanism_shows_what_warns_of_a_run_and_not_what_else_there_is_to_say(monkeypatch: pytest.MonkeyPatch) -> None:
    said = [("caption", "It takes a minute."), ("warning", "Little is left.")]
    monkeypatch.setattr(PlainMechanism, "expected", lambda self: said)
    assert mechanism_of()._shown()[1][-3:] == ["  settings: ", "  Little is left.", "  to run it: mechanism(None, table)"]


@pytest.mark.parametrize("seeded", [False, True])
@pytest.mark.parametrize("confirmed", [True, False])
@pytest.mark.parametrize("status", get_args(Status))
def test_only_what_is_proven_over_a_confirmed_domain_shows_that_it_may_be_published(
    status: Status, confirmed: bool, seeded: bool
) -> None:
    domain = DOMAIN if confirmed else DOMAIN.replace("v", public=False)
    epsilon = math.inf if status == "published_but_wrong" else 1.0
    mechanism = replace(mechanism_of(domain=domain), guarantee=replace(CLAIM, status=status, epsilon=epsilon))
    release = mechanism(np.random.default_rng(0) if seeded else None, Table(FRAME, domain))
    badge, may = PRIVATE, "Nothing of it may be published yet"
    if (status, confirmed, seeded) == ("proven", True, False):
        badge, may = RELEASED, "The rows may be published under it"
    shown = [f"  {line}" for line in release.guarantee._shown()[1][:2]]
    assert release._shown() == (badge, ["plain: 1 row of 3 columns", *shown, f"  {may}; the diagnostics never."])
    assert repr(release).splitlines()[-1] == f"[{badge}]"


@pytest.mark.parametrize(("cells", "most"), [([0.0, 9.0, 9.0, 4.0], True), ([0.0, 9.0, 4.0, 5.0], False)])
@pytest.mark.parametrize("missing", [False, True])
def test_of_what_lies_on_a_bound_most_has_to_and_only_what_may_be_empty_is_said_to_be_full(
    cells: list[float], most: bool, missing: bool
) -> None:
    """Three of four cells of 'v', or two: these are half of them, and not most; no day is one of the ends."""
    release = mechanism_of(domain=DOMAIN.replace("v", missing=missing))(
        None, Table(FRAME, DOMAIN.replace("v", missing=missing))
    )
    rows = pd.DataFrame({"a": ["x"] * 4, "v": cells, "d": pd.to_datetime([1, 50, 51, 98], unit="D")})
    said = " ".join(replace(release, config=Filling(), rows=rows).notes)
    assert ("Most cells of 'v' lie on a bound" in said) is most
    assert ("No cell of 'v' is empty" in said) is missing
    assert not replace(release, config=Plain(), rows=rows).notes


@pytest.mark.parametrize("categories", [(False, True), (0.0, 1.0), (0, True)])
def test_rows_are_not_made_of_categories_that_the_table_has_in_another_type(categories: tuple[Any, Any]) -> None:
    table = Table(pd.DataFrame({"c": [0, 1, 1]}), Domain.of([Attribute("c", "categorical", (0, 1))]))
    other = table.domain.replace("c", categories=categories)
    assert other != table.domain
    with pytest.raises(InputError, match="calibrate again"):
        dpsyn.MST(rows=2).calibrate(PrivacySpec(1.0), other, n=3)(None, table)
    assert dpsyn.MST(rows=2).calibrate(PrivacySpec(1.0), other, n=3)(None, table.with_domain(other)).domain == other


@pytest.mark.parametrize(
    "config",
    [
        dpsyn.NoisyReweighting(rows=50, reduced_space="uniform"),
        dpsyn.AIM(rows=50),
        dpsyn.Contingency(rows=50),
    ],
    ids=["reweighting", "aim", "contingency"],
)
def test_what_is_too_small_for_a_double_is_0_whatever_the_caller_has_numpy_do(config: Config) -> None:
    table = dpsyn.load_sample("asia")
    with np.errstate(all="raise"):
        mechanism = config.calibrate(PrivacySpec(1.0, 1e-5), table.domain, n=table.n)
        release = mechanism(np.random.default_rng(0), table)
        mechanism.redraw(np.random.default_rng(1), release)


def test_it_is_0_in_rows_that_are_drawn_once_more_too(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(PlainMechanism, "_redraw", lambda *_: pd.DataFrame(np.exp([-1e4])))
    mechanism = Plain().calibrate(PrivacySpec(1.0, 1e-5), DOMAIN, n=3)
    with np.errstate(all="raise"):
        again = mechanism.redraw(None, mechanism(None, TABLE))
    assert again is not None
    assert again.to_numpy().tolist() == [[0.0]]
