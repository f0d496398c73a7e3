"""What a release shows of its claim: formulas and budget are of its settings, and are shown where these were checked."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from streamlit.testing.v1 import AppTest

import dpsyn
from dpsyn.evaluation.experiments import MadeRelease


def page(made):
    from dpsyn.app.releases import show_release

    show_release(made)


@pytest.mark.parametrize("status", ["proven", "stated"])
def test_formulas_and_the_budget_are_shown_where_the_claim_was_checked(status: str) -> None:
    """What a file states of its settings is nobody's word, as is its claim."""
    table = dpsyn.load_sample("asia").take(np.arange(200))
    mechanism = dpsyn.NoisyReweighting(degree=1, rows=5).calibrate(dpsyn.PrivacySpec(2.0, 1e-5), table.domain, n=200)
    release = mechanism(None, table)
    release = replace(release, guarantee=replace(release.guarantee, status=status))
    made = MadeRelease(1, "mine", release, None, "asia", table.domain)
    app = AppTest.from_function(page, args=(made,)).run()
    assert not app.exception
    shown = ["What is guaranteed", "Source and assumptions", "Formulas, with the numbers filled in"]
    assert [one.label for one in app.expander] == shown[: 3 if status == "proven" else 2]
    assert len(app.expander[0].children) == (
        4 if status == "proven" else 2
    )  # with the formulas and the picture of the budget
