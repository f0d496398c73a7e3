"""What the sections of the report read, by their badges, and that their claims and costs are whole."""

from __future__ import annotations

import html
import math
import re
from dataclasses import replace
from functools import cache
from typing import get_args

import pytest

import dpsyn
from dpsyn.app.lab.report import budget_parts, report_bytes
from dpsyn.display import PRIVATE, PUBLIC, RELEASED
from dpsyn.evaluation.experiments import Experiment, Grid, MadeRelease, run_grid
from dpsyn.evaluation.report import compare
from dpsyn.kit.visit import Dataset
from dpsyn.mechanisms.base import no_progress
from dpsyn.privacy.private_statistics import private_statistics
from dpsyn.privacy.spec import Status

EPSILON, DELTA = 1.2341, 1.2341e-5
"""Numbers that would be less than they are if they were rounded as usual, to 1.234."""


def asia(*unconfirmed: str) -> Dataset:
    table = dpsyn.load_sample("asia")
    attributes = [replace(a, public=a.name not in unconfirmed) for a in table.domain.attributes]
    table = table.with_domain(dpsyn.Domain.of(attributes))
    return Dataset(table=table, full=table, revision=1)


@cache
def made() -> MadeRelease:
    learn = asia().parts[0]
    release = dpsyn.MST(rows=50).calibrate(dpsyn.PrivacySpec(EPSILON, DELTA), learn.domain, learn.n)(None, learn)
    return MadeRelease(1, "mine", release, None, learn.name, learn.domain, config=release.config)


@cache
def experiment() -> Experiment:
    grid = Grid({"one": dpsyn.Independent(rows=20)}, dpsyn.PrivacySpec(1.0, 1e-5), values=(1.0,), repeats=1, draws=1)
    learn, held_out = asia().parts
    found = run_grid(grid, learn, holdout=held_out, backend="here", target=None, degrees=(1,), models=())
    return Experiment(1, "tried", "asia", "", grid, None, (1,), (), results={result.key: result for result in found})


def sections(text: bytes) -> dict[str, tuple[str, str]]:
    """Badge and mark-up by heading."""
    found = re.findall(r'<section><h2>(.*?)</h2><span class="badge \w+">(.*?)</span>(.*?)</section>', text.decode(), re.S)
    return {html.unescape(heading): (html.unescape(badge), html.unescape(rest)) for heading, badge, rest in found}


@pytest.mark.parametrize("unconfirmed", [(), ("dysp",), dpsyn.load_sample("asia").domain.names], ids=len)
def test_what_was_read_from_the_rows_is_badged_as_private(unconfirmed: tuple[str, ...]) -> None:
    current, release = asia(*unconfirmed), made()
    learn, held_out = current.parts
    reports = compare({release.label: release.release.rows}, learn, no_progress, holdout=held_out)
    expected = {
        "The data": PRIVATE if unconfirmed else PUBLIC,
        "Do the theorems apply?": PRIVATE,
        release.label: RELEASED,
        "Releases beside the real rows": PRIVATE,
        "Experiment 1: tried": PRIVATE,
        "What publishing all of it would cost": PUBLIC,
        "Experiment 1, of other data (asia): tried": PRIVATE,
    }
    text = report_bytes(current, [release], {"reports": reports}, [experiment()], [experiment()])
    assert {heading: badge for heading, (badge, _) in sections(text).items()} == expected
    before = {heading: badge for heading, (badge, _) in sections(report_bytes(current, [], None, [])).items()}
    assert before == {heading: expected[heading] for heading in ("The data", "Do the theorems apply?")}


def test_n_is_no_public_fact_beside_a_claim_that_keeps_it_secret() -> None:
    current, spec = asia(), dpsyn.PrivacySpec(1.0, neighbouring="add_remove")
    learn = current.parts[0]
    release = dpsyn.Independent(rows=50).calibrate(spec, learn.domain, learn.n)(None, learn)
    secret = MadeRelease(1, "mine", release, None, learn.name, learn.domain, config=release.config)
    drawn = [private_statistics(current.table, spec)]
    for text in (report_bytes(current, [made(), secret], None, []), report_bytes(current, [made()], None, [], (), drawn)):
        assert sections(text)["The data"][0] == PRIVATE


@pytest.mark.parametrize("status", get_args(Status))
def test_a_release_is_one_if_its_claim_is_proven_and_has_all_its_assumptions(status: Status) -> None:
    release = made().release
    assumptions = (*release.guarantee.assumptions, *(f"Number {i} is granted." for i in range(9)), "The <last> one.")
    epsilon = math.inf if status == "published_but_wrong" else EPSILON
    claim = replace(release.guarantee, epsilon=epsilon, status=status, assumptions=assumptions)
    current = replace(made(), release=replace(release, guarantee=claim))
    badge, text = sections(report_bytes(asia(), [current], None, []))[current.label]
    assert badge == (RELEASED if status == "proven" else PRIVATE)
    assert claim.claim in text
    assert claim.status_in_words in text
    assert all(assumption in text for assumption in assumptions)


def test_costs_are_added_up_with_statistics_and_rounded_up() -> None:
    drawn = [private_statistics(asia().table, dpsyn.PrivacySpec(0.5))]
    found = sections(report_bytes(asia(), [made()], None, [], (), drawn))
    _, total = found["What publishing all of it would cost"]
    assert "the one release and the one draw of statistics of asia together cost ε = 1.735, δ = 1.24 × 10⁻⁵" in total
    _, release = found[made().label]
    for number in ("1.235", "1.235 × 10⁻⁵"):
        assert number in release.replace("\N{NO-BREAK SPACE}", " ")
    assert "1.234" not in release
    (_, table) = budget_parts({"ledger": [{"name": "a", "share": 1.0, "epsilon": EPSILON, "delta": DELTA, "rho": EPSILON}]})
    assert table[["ε", "δ", "ρ"]].iloc[0].tolist() == ["1.235", "1.235 × 10⁻⁵", "1.235"]
