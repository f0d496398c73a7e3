"""Formulas beside verdicts and claims: with their numbers, and with a link to where they are proven."""

from __future__ import annotations

import pytest

import dpsyn
from dpsyn.mechanisms.registry import config_class
from dpsyn.theory.formulas import OTHERS


def texts(app):
    assert not app.exception, app.exception
    return "\n".join(block.value for block in app.markdown)


@pytest.mark.parametrize(
    ("mechanism", "formula", "link"),
    [
        ("private_sampling", r"\varepsilon_{\text{ratio}} = 1 \cdot \ln\frac{2}{0.25} = 2.08", "private_sampling"),
        ("noisy_reweighting", r"\mathbb{E}\,L = \rho \le ", "discrete_gaussian"),
        ("dp_cda", r"\Delta = \frac{2 \cdot 1}{8} = 0.25", "dp_cda"),
    ],
)
def test_the_generator_works_out_the_claim(open_page, mechanism, formula, link):
    app = open_page("generator", epsilon="3.16")
    shown = texts(app.segmented_control(key="mechanism").set_value(mechanism).run())
    assert formula in shown
    paper = OTHERS[1] if link == "discrete_gaussian" else config_class(link).paper
    assert f"]({paper.address})" in shown
    assert ("](lessons?read=What+is+guaranteed)" in shown) is (mechanism != "noisy_reweighting")


def test_every_condition_of_a_verdict_has_a_link(open_page):
    app = open_page("feasibility")
    mechanisms = ("private_sampling", "noisy_reweighting", "dp_cda")
    assert "](https" not in texts(app)
    shown = {name: texts(app.button(key=f"why_{name}").click().run()) for name in mechanisms}
    for name in mechanisms:
        assert f"]({config_class(name).paper.address})" in shown[name]
    assert "](lessons?read=Where+the+papers+are+wrong)" in "".join(shown.values())
    assert "[Theorem 4.2, Boedihardjo, Strohmer, Vershynin 2021a](" in shown["private_sampling"]


def test_what_fails_comes_first_and_what_holds_is_folded(open_page):
    app = open_page("feasibility").button(key="why_private_sampling").click().run()
    assert not app.exception
    current = app.session_state["dataset"]
    verdict = dpsyn.feasibility(current.statistics, dpsyn.PrivacySpec(1.0, 1e-5), rows=1000).private_sampling
    (dialog,) = app.get("dialog")
    labels = [m.value.split("**")[1] for m in dialog.markdown if m.value.startswith("**")]
    held = [c.label for c in verdict.conditions if c.holds]
    assert held
    assert labels == [c.label for c in (*verdict.missed, *(c for c in verdict.conditions if c.holds), *verdict.alternatives)]
    folded, beside = dialog.expander
    assert folded.label == "The conditions that hold"
    assert [m.value.split("**")[1] for m in folded.markdown] == held
    assert [m.value.split("**")[1] for m in beside.markdown] == [c.label for c in verdict.alternatives]
    # δ is the privacy slack in the sidebar.
    assert dialog.caption[0].value == "Formulas, with the numbers filled in. δ: floor, Δ: ceiling of the density."


def test_inside_the_step_and_the_certificates_are_worked_out(open_page):
    app = open_page("inside", epsilon="10", order="4", is_section="1 · Reduced space")
    assert r"16 \ge \frac{\sqrt{256}}{2e^{2}} = 1.08" in texts(app)
    app.segmented_control(key="is_section").set_value("4 · Privacy")
    assert r"\varepsilon = \min(2.08,\ " in texts(app.run())
    app.segmented_control(key="inside_mechanism").set_value("dp_cda")
    assert r"\mathcal{N}(0.5,\ " in texts(app.run())
