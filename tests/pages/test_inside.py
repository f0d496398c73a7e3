"""Private sampling from the inside: every section for every kind of data, sliders in place, words instead of tracebacks."""

from __future__ import annotations

import math

import pytest

import dpsyn
from dpsyn.data.samples import SAMPLES
from dpsyn.mechanisms.private_sampling import PrivateSampling
from dpsyn.mechanisms.private_sampling.panels.sections import SECTIONS
from tests.pages.conftest import confirm, finish_job, pictures, quiet

SPACE, SHRINKAGE, DENSITY, PRIVACY = SECTIONS


def badges(app):
    return [m.value for m in app.markdown if "-badge[" in m.value]


def words(app):
    return " ".join(e.value for kind in (app.markdown, app.caption, app.info, app.warning, app.error) for e in kind)


def section(app, name):
    return quiet(app.segmented_control(key="is_section").set_value(name).run())


def upload(app, data):
    quiet(app.file_uploader(key="upload").upload("s.csv", data, "text/csv").run())
    return app.switch_page("inside.py").run()


def test_each_section_draws_and_says_what_it_reads(open_page):
    app = open_page("inside")
    assert pictures(app) == 3  # it opens where something is to be seen, λ, also of a whole domain
    for name, drawn, panels in ((SPACE, 1, 1), (SHRINKAGE, 3, 2), (DENSITY, 4, 3), (PRIVACY, 2, 2)):
        section(app, name)
        assert pictures(app) == drawn
        said = [badge for badge in badges(app) if "eads private data" in badge or "Public facts" in badge]
        assert len(said) == panels
        assert all(("Public facts" in badge) == (name == SPACE) for badge in said)


@pytest.mark.parametrize("sample", sorted(SAMPLES))
def test_every_sample_opens_in_every_section(open_page, sample):
    app = open_page("inside", data=sample)
    for name in SECTIONS:
        section(app, name)
        assert not app.error
        assert pictures(app) >= 1 or len(app.dataframe) == 1


def test_lambda_follows_the_sliders_as_the_mechanism_says(open_page):
    app = section(open_page("inside"), SHRINKAGE)
    app.slider(key="is_floor").set_value(0.1)
    app.slider(key="is_ceiling").set_value(4.0).run()
    assert not app.exception
    dataset = app.session_state["dataset"]
    mechanism = PrivateSampling(floor=0.1, ceiling=4.0, rows=1).calibrate(
        dpsyn.PrivacySpec(10.0), dataset.table.domain, dataset.parts[0].n
    )
    release = mechanism(None, dataset.parts[0])
    assert f"**λ = {release.diagnostics['least_shrinkage']:.4f}**" in words(app)


@pytest.mark.parametrize("box", [(0.5, 2.0), (0.25, 1.25), (0.4, 1.05), (0.01, 10.0)])
def test_boxes_at_the_ends_are_said(open_page, box):
    app = open_page("inside")
    app.slider(key="is_floor").set_value(box[0])
    app.slider(key="is_ceiling").set_value(box[1]).run()
    for name in SECTIONS:
        section(app, name)
        assert not app.error
        if name in (SHRINKAGE, DENSITY, PRIVACY) and box != (0.01, 10.0):
            assert "degenerate" in words(app) or "must be at least 1 + floor" in words(app)


def test_s_is_drawn_again_with_another_seed(open_page):
    app = section(open_page("inside"), SPACE)
    app.segmented_control(key="is_space").set_value("m uniform draws").run()
    first = app.metric[0].value
    app.button(key="is_seed_again").click().run()
    assert app.number_input(key="is_seed").value == 2
    assert app.metric[0].value != first


def test_a_failing_space_stops_the_other_sections_in_words(open_page):
    app = open_page("inside")
    app.segmented_control(key="is_space").set_value("m uniform draws").run()
    next(s for s in app.select_slider if s.label.startswith("m (")).set_value(20).run()
    assert "Failure" in words(app)
    for name in (SHRINKAGE, DENSITY, PRIVACY):
        section(app, name)
        assert "The data were not looked at" in words(app)


def test_the_neighbours_loss_scales_with_the_rows(open_page):
    app = section(open_page("inside"), PRIVACY)
    one = float(app.metric[0].value.replace(" × 10⁻⁴", "e-4"))
    app.number_input(key="is_rows").set_value(1000).run()
    assert not app.exception
    assert float(app.metric[0].value) == pytest.approx(1000 * one, rel=1e-2)
    assert 0 < 1000 * one < 1000 * math.log(8)


def test_a_search_finds_a_lower_bound(open_page):
    app = open_page("data")
    rows = b"".join(b"yes,no\nno,no\nno,yes\n" for _ in range(5))
    app = section(upload(app, b"a,b\n" + rows), PRIVACY)
    app.button(key="is_search").click().run()
    assert not app.exception
    finish_job(app)
    assert "inside_sampling_search" in app.session_state
    found = app.session_state["inside_sampling_search"]["value"]
    assert 0 < found.lower_bound <= math.log(8)
    assert "the true ε of the rows is at least" in words(app)
    app.slider(key="is_floor").set_value(0.2).run()
    assert "the true ε is at least" not in words(app)


AWKWARD = {
    "one row": b"only,kind\nyes,a\n",
    "constant columns": b"a,b\n" + b"x,7\n" * 30,
    "one constant, one not": b"a,b\n" + b"x,yes\nx,no\n" * 30,
    "300 categories": b"place,ill\n" + b"".join(b"place %d,%s\n" % (i, b"yes" if i % 3 else b"no") for i in range(300)) * 2,
    "15 mixed columns": b",".join(b"c%d" % j for j in range(15))
    + b"\n"
    + b"".join(
        b",".join(b"%d" % ((i * (j + 3)) % (j + 2)) if j % 2 else b"v%d" % (i % (j + 2)) for j in range(15)) + b"\n"
        for i in range(200)
    ),
    "numbers only": b"x,y\n" + b"".join(b"%d.5,%d.25\n" % (i, i * i) for i in range(50)),
}


@pytest.mark.parametrize("kind", AWKWARD)
def test_awkward_data_are_answered_in_words(open_page, kind):
    app = upload(open_page("data"), AWKWARD[kind])
    assert not app.exception
    if kind == "constant columns" or not app.get("multiselect"):
        assert "single value" in words(app)
        return
    for name in SECTIONS:
        section(app, name)
        assert pictures(app) or app.info or len(app.dataframe)


def test_too_many_columns_are_refused_in_words(open_page):
    app = open_page("inside", data="digits")
    columns = next(m for m in app.multiselect if m.label == "Columns that take part")
    columns.set_value(app.session_state["dataset"].table.domain.names[:40]).run()
    assert not app.exception
    assert "choose fewer columns" in words(app)
    columns = next(m for m in app.multiselect if m.label == "Columns that take part")
    columns.set_value([]).run()
    assert not app.exception
    assert "at least one column" in words(app)


def test_the_form_describes_the_space(open_page):
    app = open_page("generator", mechanism="Private sampling", epsilon="3.16")
    assert "256 points, C = 37" in words(app)
    app.toggle(key="ps_whole").set_value(False).run()
    app.number_input(key="ps_m").set_value(150).run()
    assert "m = 150 uniform draws from the cube" in words(app)
    app.slider(key="ps_floor").set_value(0.5).run()
    assert "degenerate" in words(app)
    app.slider(key="ps_ceiling").set_value(1.05).run()
    assert "Cannot run" in words(app)


def test_the_cube_is_refused_for_categories(open_page):
    app = open_page("generator", data="car", mechanism="Private sampling", epsilon="3.16")
    app.segmented_control(key="ps_space").set_value("cube").run()
    assert not app.exception
    assert "Cannot run" in words(app)
    app.segmented_control(key="ps_space").set_value("product").run()
    assert "Cannot run" not in words(app)


def kinds(app):
    return [
        "public" if "Public facts" in badge else "private"
        for badge in badges(app)
        if "eads private data" in badge or "Public facts" in badge
    ]


def test_what_uses_the_domain_alone_reads_private_data_until_the_domain_is_confirmed(open_page):
    rows = "\n".join(f"{'ab'[i % 2]},{'cde'[i % 3]},{i % 2}" for i in range(60))
    app = open_page("data")
    app.file_uploader(key="upload").upload("s.csv", f"a,b,c\n{rows}\n".encode(), "text/csv").run()
    for expected in ("private", "public"):
        app = app.switch_page("inside.py").run()
        app.segmented_control(key="inside_mechanism").set_value("private_sampling").run()
        assert kinds(section(app, SPACE)) == [expected]
        app.segmented_control(key="inside_mechanism").set_value("noisy_reweighting").run()
        assert kinds(app) == [expected]
        app.segmented_control(key="inside_mechanism").set_value("dp_cda").run()
        app.segmented_control(key="in_cda_view").set_value("Against the paper").run()
        assert kinds(app) == [expected]
        app = app.switch_page("feasibility.py").run()
        app.segmented_control(key="f_section").set_value("Export").run()
        release = [badge for badge in badges(app) if "Private release" in badge]
        assert bool(release) == (expected == "public")
        app = confirm(app) if expected == "private" else app
