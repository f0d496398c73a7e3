"""The generator: guarantee before and after, runs in the background, faults in words."""

from __future__ import annotations

import json
import re
from dataclasses import replace

import pytest

from dpsyn.kit.widgets import humanise
from dpsyn.mechanisms.registry import MECHANISMS, THE_THREE, title
from tests.pages.conftest import finish_job, last_measured, other_rows


def messages(app):
    return [m.value.replace("\\", "") for m in (*app.success, *app.warning)]


def run(app):
    app.button(key="run").click().run()
    assert not app.exception
    return finish_job(app)


@pytest.mark.parametrize("name", MECHANISMS)
def test_each_mechanism_states_its_guarantee_runs_and_is_kept(open_page, name):
    app = open_page("generator", epsilon="10")
    app.segmented_control(key="mechanism").set_value(name).run()
    assert not app.exception
    (before,) = [m for m in messages(app) if "The release will be" in m]
    assert "This guarantee is proven" in before
    app = run(app)
    (made,) = app.session_state["releases"]
    assert made.release.mechanism == name
    assert not made.release.seeded
    dataset = app.session_state["dataset"]
    dataset.table.domain.encode(made.release.rows)
    assert any(f"The release is **{humanise(made.release.guarantee.claim)}**" in m for m in messages(app))
    assert f"## {made.name}" in [m.value for m in app.markdown]
    assert made.label not in [e.label for e in app.expander]
    app = other_rows(app)
    assert app.segmented_control(key="mechanism").value == name
    assert made.label in [e.label for e in app.expander]
    record = made.release.record()
    assert "seed" not in json.loads(json.dumps(record))


def test_the_best_is_chosen_at_first_and_links_of_two_groups_still_lead_there(open_page):
    app = open_page("generator")
    assert app.segmented_control(key="mechanism").value == "noisy_reweighting"
    assert app.segmented_control(key="mechanism").options[:3] == [title(name) for name in THE_THREE]
    for name in ("mst", "dp_cda"):
        app.segmented_control(key="mechanism").set_value(name).run()
        assert not app.exception
        assert app.segmented_control(key="mechanism").value == name
    assert open_page("generator", field="MWEM").segmented_control(key="mechanism").value == "mwem"


def test_a_demonstration_is_repeatable_and_says_so(open_page):
    app = open_page("generator")
    app.segmented_control(key="mechanism").set_value("noisy_reweighting").run()
    app.toggle(key="demo").set_value(True).run()
    app = run(app)
    assert "not for publication" in " ".join(m.value for m in app.markdown)
    app = run(other_rows(app))
    first, second = app.session_state["releases"]
    assert first.release.rows.equals(second.release.rows)
    assert (first.seed, first.release.guarantee.status) == (7, "demonstration")
    assert any("demonstration" in m for m in messages(app))


def test_settings_without_a_guarantee_cannot_run(open_page):
    app = open_page("generator", mechanism="Private sampling")
    app.select_slider(key="epsilon").set_value(1.0).run()
    assert not app.exception
    (warning,) = [w.value for w in app.warning]
    assert "Cannot run with these settings" in warning
    assert app.button(key="run").disabled


def test_an_inferred_domain_is_marked(open_page):
    app = open_page("data")
    rows = b"".join(b"yes,a\nno,b\n" for _ in range(200))
    app.file_uploader(key="upload").upload("s.csv", b"ill,kind\n" + rows, "text/csv").run()
    app = app.switch_page("generator.py").run()
    (before,) = [m for m in messages(app) if "The release will be" in m]
    assert "only once the domain is confirmed" in before
    links = {link.proto.label: link.proto.page for link in app.get("page_link")}
    assert links["Confirm it on the page Domain"] == "domain"
    (assumed,) = [m.value for m in app.markdown if "NOT YET TRUE" in m.value]
    assert "nobody confirmed it as public" in assumed
    assert "was known without looking" not in assumed
    assert not app.success


def test_a_class_column_that_is_not_there_is_said(open_page):
    app = open_page("data")
    app.file_uploader(key="upload").upload(
        "s.csv", b"x,y\n" + b"".join(b"%d.5,%d.25\n" % (i, i * i) for i in range(50)), "text/csv"
    ).run()
    app = app.switch_page("generator.py").run()
    app.segmented_control(key="mechanism").set_value("dp_cda").run()
    assert not app.exception
    assert any("target" in w.value for w in app.warning)
    assert app.button(key="run").disabled


@pytest.mark.parametrize("name", ["private_sampling", "noisy_reweighting", "dp_cda", "aim", "dp_gan"])
def test_one_row_and_one_column_are_survived(open_page, name):
    app = open_page("data")
    app.file_uploader(key="upload").upload("s.csv", b"only\nyes\n", "text/csv").run()
    app = app.switch_page("generator.py").run()
    app.segmented_control(key="mechanism").set_value(name).run()
    assert not app.exception
    assert title(name)
    if not app.button(key="run").disabled:
        run(app)


def card(app):
    """Names, figures and grades of the score card."""
    names = ("Error of tables", "Prediction", "Columns of numbers")
    return {metric.label: metric.value for metric in app.metric if metric.label in names}


def test_the_score_card_of_a_release_is_measured_by_itself_and_kept_for_the_comparison(open_page, score_cards):
    app = open_page("generator", data="car", mechanism="Noisy reweighting", data_columns='{"doors":null,"persons":null}')
    assert not card(app)
    app = run(app)
    first = card(app)
    assert list(first) == ["Error of tables", "Prediction"]
    assert any("1,296 fresh real rows by about" in c.value for c in app.caption)
    assert any(re.search(r"guessing[^.]* 0\.\d", c.value) for c in app.caption)
    assert any("**:primary[3 Generator]**" in m.value for m in app.markdown)
    assert any("not this card. Read some rows" in c.value for c in app.caption)
    app = other_rows(app)
    assert not card(app)
    assert any("**:primary[3 Generator]**" in m.value for m in app.markdown)
    app.segmented_control(key="mechanism").set_value("mwem").run()
    app.toggle(key="demo").set_value(True).run()
    app = run(app)
    assert card(app) != first
    (said,) = (c.value for c in app.caption if "Read some rows" in c.value)
    assert "Publish" not in said  # whoever knows the seed takes the noise off
    found = last_measured(app.session_state)["reports"]
    assert list(found) == [made.number for made in app.session_state["releases"]]
    app = app.switch_page("comparison.py").run()
    said = " ".join(m.value for m in app.markdown)
    assert any(words in said for words in ("closest to the real rows", "about as close", "None of these is close"))
    assert all(made.label in said.replace("\\", "") for made in app.session_state["releases"])
    assert not app.info
    app.session_state["dataset"] = replace(app.session_state["dataset"], target="safety")
    (said,) = (i.value for i in app.run().info)
    assert said.startswith("Measured for predicting **class**. The page Data has **safety** as the column to predict")
    del found[app.session_state["releases"][0].number]
    above = [e.value for e in app.run().main if e.type in ("info", "markdown")]
    headline = next(i for i, value in enumerate(above) if value.startswith(":material/arrow_forward:"))
    assert [value[:8] for value in above[headline - 2 : headline]] == ["Measured", "Noisy re"]


def test_other_data_have_no_score_card_of_these(open_page, score_cards):
    app = run(open_page("generator", data="car", mechanism="MWEM"))
    assert card(app)
    assert "Noisy tables as CSV" in {button.label for button in app.get("download_button")}
    app = app.switch_page("data.py").run()
    app.pills(key="sample").set_value("asia").run()
    app = app.switch_page("generator.py").run()
    assert not card(app)
    assert app.button(key="run")  # the settings for these data, and not the rows of the others
