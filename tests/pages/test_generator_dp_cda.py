"""DP-CDA's form: variants, scaling, rows class by class, and the published algorithm as a demonstration."""

from __future__ import annotations

import json

import pytest

from dpsyn.mechanisms.dp_cda.form import WAYS
from tests.pages.conftest import finish_job, messages, other_rows, quiet


def at(open_page, sample="breast_cancer"):
    return open_page("generator", data=sample, mechanism="DP-CDA", epsilon="3.16")


def run(app):
    quiet(app.button(key="run").click().run())
    app = quiet(finish_job(app))
    (made,) = app.session_state["releases"]
    return app, made


def test_rows_that_do_not_divide_among_the_classes_are_said(open_page):
    app = at(open_page)
    tag = app.session_state["dataset"].tag
    app = quiet(app.number_input(key=f"cda_rows_{tag}").set_value(427).run())
    assert any("known once the counts are released" in c.value for c in app.caption)
    assert not any("do not divide" in c.value for c in app.caption)
    app = quiet(app.segmented_control(key="cda_rows_by").set_value("equal").run())
    assert not any("known once the counts are released" in c.value for c in app.caption)
    assert any("each gets 213, 426 in all" in c.value for c in app.caption)
    app = quiet(app.number_input(key=f"cda_rows_{tag}").set_value(426).run())
    assert not any("do not divide" in c.value for c in app.caption)


@pytest.mark.parametrize("way", ["fixed_size", "poisson"])
def test_both_variants_are_proven_and_run(open_page, way):
    app = at(open_page)
    quiet(app.segmented_control(key="cda_way").set_value(way).run())
    assert "This guarantee is proven" in messages(app)
    app, made = run(app)
    assert made.release.settings["variant"] == way
    assert made.release.guarantee.status == "proven"


def test_as_published_is_a_demonstration_only(open_page):
    app = at(open_page)
    quiet(app.select_slider(key="epsilon").set_value(10.0).run())
    quiet(app.segmented_control(key="cda_way").set_value("as_published").run())
    assert "A demonstration without any guarantee" in messages(app)
    assert "never release this" in messages(app)
    assert not app.success
    toggle = app.toggle(key="demo_only")
    assert toggle.value
    assert toggle.disabled
    app, made = run(app)
    assert made.release.seeded
    assert made.release.guarantee.status == "published_but_wrong"
    assert "no guarantee · demonstration" in made.label
    assert "publishing it costs everything" in " ".join(c.value for c in app.caption)
    assert json.loads(json.dumps(made.release.record(), default=str))["guarantee"]["epsilon"] is None
    app = other_rows(app)
    assert app.segmented_control(key="cda_way").value == "as_published"
    quiet(app.segmented_control(key="cda_way").set_value("poisson").run())
    assert not app.toggle(key="demo").value


def test_as_published_says_where_its_formula_ends(open_page):
    app = at(open_page)
    quiet(app.select_slider(key="epsilon").set_value(1.0).run())
    quiet(app.segmented_control(key="cda_way").set_value("as_published").run())
    assert "Cannot run with these settings" in messages(app)
    assert app.button(key="run").disabled


def test_a_private_mean_and_deviation_is_on_the_ledger(open_page):
    app = at(open_page)
    quiet(app.select_slider(key="epsilon").set_value(10.0).run())
    quiet(app.selectbox(key="cda_scaling").set_value("private").run())
    app, made = run(app)
    assert "means and deviations" in [part["name"] for part in made.release.settings["ledger"]]


def test_rows_are_made_class_by_class(open_page):
    app = at(open_page)
    quiet(app.toggle(key="cda_estimate").set_value(False).run())
    next(t for t in app.toggle if t.label == "Set rows and sizes class by class").set_value(True)
    quiet(app.run())
    assert "This guarantee is proven" in messages(app)
    app, made = run(app)
    assert made.release.settings["rows_per_class"] == {"malignant": 213, "benign": 213}
    assert made.release.settings["class_sizes"] == {"malignant": 100, "benign": 100}


def test_the_table_of_classes_begins_with_the_bound_that_was_stated(open_page):
    app = at(open_page)
    app.toggle(key="cda_estimate").set_value(False).run()
    app.number_input(key="cda_sizes").set_value(2).run()
    for _ in range(2):
        assert "class_sizes = 2 is not possible" in messages(app) or "2} is not possible" in messages(app)
        assert "proven" not in messages(app)
        next(t for t in app.toggle if t.label == "Set rows and sizes class by class").set_value(True)
        quiet(app.run())


def test_every_way_has_a_name():
    assert set(WAYS) == {"fixed_size", "poisson", "as_published"}
