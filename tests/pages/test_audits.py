"""Audits of every mechanism, in the background, on the page Inside."""

from __future__ import annotations

import pytest

from dpsyn.app.audits import _line
from dpsyn.mechanisms.audit import CALIBRATED, HALVED
from dpsyn.mechanisms.registry import MECHANISMS
from dpsyn.privacy.audit import Audit
from tests.pages.conftest import charts, finish_job, press, words


def opened(open_page, **chosen):
    return open_page("inside", inside_mechanism="Audits of all", audit_runs="1,000", **chosen)


@pytest.mark.parametrize("name", ["DP-CDA", "Noisy reweighting", "Random projection"])
def test_an_audit_runs_in_the_background_and_refutes_what_is_false(open_page, name):
    app = opened(open_page, audit_mechanism=name)
    assert "Nothing has been audited yet" in words(app)
    app = finish_job(press(app, "Run the audit"))
    assert not app.error
    said = app.table[0].value
    # Others, like the published DP-CDA, are refuted in most visits only: the page draws its runs anew.
    assert list(said["Under audit"][:2]) == [CALIBRATED, HALVED]
    assert list(said["The claim"][:2]) == ["stands", "is refuted"]
    assert charts(app) == 1
    assert f"{name}, 1,000 runs per side" in words(app)


def test_no_number_says_more_than_the_runs_do():
    audit = Audit(1.239, 1e-5, 0.99, 100, 3.00001, "above", 0.0, 10, 1, 50, 4.0)
    line = _line("as calibrated", audit)
    assert line["By the runs"] == "ε ≥ 1.23"
    assert line["Claimed"] == "ε = 3.001"
    assert "ε ≥ 1.23" in line["Where a fault shows best"]


def test_all_mechanisms_can_be_chosen(open_page):
    assert len(opened(open_page).selectbox(key="audit_mechanism").options) == len(MECHANISMS)


def test_a_claim_that_cannot_be_made_is_said(open_page):
    app = opened(open_page, audit_mechanism="Private sampling", audit_epsilon="2.0")
    app = finish_job(press(app, "Run the audit"))
    assert "more than the ε = " in " ".join(e.value for e in (*app.error, *app.warning, *app.info))
