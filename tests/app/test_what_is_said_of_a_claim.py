"""What pages say of a claim: whether it is proven, all its assumptions, and no cost less than it is."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from typing import Any, get_args

import pytest
from streamlit.testing.v1 import AppTest

import dpsyn
from dpsyn import escape
from dpsyn.app.lab import releases
from dpsyn.app.state import _release_of
from dpsyn.evaluation.experiments import MadeRelease
from dpsyn.kit import widgets
from dpsyn.kit.visit import Dataset
from dpsyn.mechanisms.base import Release
from dpsyn.privacy.spec import FROM_A_FILE, Status

EPSILON, DELTA = 1.00041, 1.0041e-5
"""Numbers that would be less than they are if they were rounded as usual, to 1 or 1.004."""
TABLE = dpsyn.load_sample("asia").take(range(200))


def release_of(status: Status = "proven", *more: str) -> Release:
    mechanism = dpsyn.MWEM(rounds=2, rows=20).calibrate(dpsyn.PrivacySpec(EPSILON, DELTA), TABLE.domain, TABLE.n)
    release = mechanism(None, TABLE)
    assumptions = (*release.guarantee.assumptions, *more)
    epsilon = math.inf if status == "published_but_wrong" else EPSILON
    claim = replace(release.guarantee, epsilon=epsilon, delta=DELTA, status=status, assumptions=assumptions)
    return replace(release, guarantee=claim)


def made(release: Release) -> MadeRelease:
    return MadeRelease(1, "mine", release, None, "asia", TABLE.domain, config=release.config)


def page(one) -> None:
    from dpsyn.app.releases import show_release

    show_release(one)


@pytest.mark.parametrize("status", get_args(Status))
def test_a_release_is_for_publication_if_its_claim_is_proven(status: Status, monkeypatch: pytest.MonkeyPatch) -> None:
    handed: dict[str, Any] = {}
    monkeypatch.setattr(widgets, "download", lambda label, data, *_, **__: handed.update({label: data}))
    release = release_of(status, "A further one.", "The last one.")
    app = AppTest.from_function(page, default_timeout=60, args=(made(release),)).run()
    assert not app.exception
    texts = [element.value for element in app.markdown]
    assert any("not for publication" in text for text in texts) == (status != "proven")
    assert len(app.success) == (status == "proven")
    shown = "\n".join(element.value for element in (*app.markdown, *app.error))
    assert all(escape.markdown(assumption) in shown for assumption in release.guarantee.assumptions)
    assert json.loads(handed["Record of the run as JSON"]) == json.loads(json.dumps(release.record()))


def test_names_and_lists_of_releases_round_up_and_say_what_was_read_from_a_file() -> None:
    context = {"title": "MWEM", "table": TABLE, "seed": None, "seconds": 1.0, "fingerprint": ""}
    assert _release_of(context, release_of(), 1).name == "MWEM · ε = 1.01"
    assert _release_of(context, release_of("published_but_wrong"), 1).name == "MWEM · no guarantee"
    assert _release_of(context, replace(release_of(), seeded=True), 1).name == "MWEM · ε = 1.01 · demonstration"
    for epsilon, said in ((1000.0, "1000"), (20_790.1, "20,800"), (2e7, "2 × 10⁷")):
        claim = replace(release_of().guarantee, epsilon=epsilon)
        assert _release_of(context, replace(release_of(), guarantee=claim), 1).name == f"MWEM · ε = {said}"
    line = releases._line(made(release_of()))
    assert (line["ε"], line["δ"], line["Status"]) == ("1.001", "1.01 × 10⁻⁵", "proven")
    of_ten = replace(release_of(), guarantee=replace(release_of().guarantee, delta=1e-4))
    assert releases._line(made(of_ten))["δ"] == "10⁻⁴"
    line = releases._line(made(release_of("published_but_wrong")))
    assert (line["ε"], line["δ"]) == ("none", "none")
    assert releases._line(made(release_of("proven", FROM_A_FILE)))["Status"] == "proven, read from a file"


def test_a_panel_uses_public_facts_if_every_column_is_confirmed() -> None:
    for unconfirmed in (0, 1, len(TABLE.domain)):
        attributes = [replace(a, public=at >= unconfirmed) for at, a in enumerate(TABLE.domain.attributes)]
        table = TABLE.with_domain(dpsyn.Domain.of(attributes))
        assert widgets.reads_domain(Dataset(table=table, full=table)) == (unconfirmed > 0)
