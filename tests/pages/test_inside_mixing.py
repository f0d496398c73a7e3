"""The inside of DP-CDA: every view, with data that fit and data that do not."""

from __future__ import annotations

from pathlib import Path
from urllib.parse import parse_qs

import pytest

import dpsyn
from dpsyn.mechanisms.dp_cda.panels import VIEWS
from dpsyn.mechanisms.dp_cda.panels._views import MEASURED
from tests.pages.conftest import pictures, quiet, words


def at(open_page, sample="asia"):
    """At the ε of the lessons: at 1, the theorem of the paper says nothing."""
    return open_page("inside", data=sample, inside_mechanism="DP-CDA", epsilon="10", order="4")


def upload(open_page, text):
    app = open_page("data")
    app.file_uploader(key="upload").upload("s.csv", text.encode(), "text/csv").run()
    app.query_params["inside_mechanism"] = "DP-CDA"
    return quiet(app.switch_page("inside.py").run())


def view(app, name):
    return quiet(app.segmented_control(key="in_cda_view").set_value(name).run())


def metrics(app):
    return {m.label: m.value for m in app.metric}


@pytest.mark.parametrize("sample", ["asia", "car", "digits", "breast_cancer"])
def test_every_view_draws_for_every_sample(open_page, sample):
    app = at(open_page, sample)
    for name in VIEWS:
        view(app, name)
        assert not app.error
        assert pictures(app) >= 1
        assert not app.info


def test_sliders_move_the_noise(open_page):
    app = at(open_page, "digits")
    before = metrics(app)
    assert float(before["σ, exact accounting"]) > float(before["σ, published but wrong"])
    quiet(app.select_slider(key="order").set_value(16).run())
    after = metrics(app)
    assert float(after["σ, exact accounting"]) < float(before["σ, exact accounting"])
    assert float(after["Signal to noise of a row"]) > float(before["Signal to noise of a row"])
    quiet(app.select_slider(key="epsilon").set_value(1.0).run())
    assert metrics(app)["σ, published but wrong"] == "—"
    quiet(app.slider(key="in_cda_clip").set_value(0.5).run())
    assert float(metrics(app)["σ, exact accounting"]) < 10
    assert "100\N{NO-BREAK SPACE}% of the records" in words(app)


def test_draw_again_changes_the_draw_and_nothing_else(open_page):
    app = view(at(open_page, "digits"), "What mixing does")
    before = metrics(app)
    assert "Draw 1:" in words(app)
    quiet(app.button(key="in_cda_seed_again").click().run())
    assert "Draw 2:" in words(app)
    assert metrics(app) == before
    quiet(app.segmented_control(key="in_cda_show").set_value("Points").run())
    assert "of the variance in all" in words(app)


def test_the_digits_are_one_click_away(open_page):
    app = view(at(open_page), "What mixing does")
    quiet(app.button(key="in_cda_digits").click().run())
    assert app.session_state["dataset"].table.name == "digits"


def test_the_attack_is_worth_thousands_on_digits(open_page):
    app = view(at(open_page, "digits"), "Against the paper")
    found = metrics(app)
    assert found["The paper claims"] == "ε = 10"
    assert int(found["Proven from this pair"].removeprefix("ε ≥ ").replace(",", "")) >= 1795


def test_no_class_column(open_page):
    app = upload(open_page, "x,y\n" + "".join(f"{i}.5,{i * i}.25\n" for i in range(60)))
    assert pictures(app) == 0
    assert "no column that can be one" in words(app)
    quiet(app.button(key="in_cda_digits").click().run())
    assert app.session_state["dataset"].table.name == "digits"


def test_a_rare_class_is_left_out_and_named(open_page):
    rows = "".join(f"{i % 7},{i % 3},{'rare' if i < 2 else 'often' if i % 2 else 'usual'}\n" for i in range(200))
    app = upload(open_page, "x,y,kind\n" + rows)
    quiet(app.selectbox[0].set_value("kind").run())
    for name in VIEWS:
        view(app, name)
        assert any("rare" in w.value for w in app.warning)
        assert pictures(app) >= 1


def test_one_row_is_survived(open_page):
    assert upload(open_page, "x,kind\n3,a\n").info


def test_one_class_alone(open_page):
    app = upload(open_page, "x,kind,flag\n" + "".join(f"{i % 60},a,{'yes' if i < 99 else 'no'}\n" for i in range(100)))
    quiet(app.selectbox[0].set_value("flag").run())
    assert "Only one class is mixed" in words(app)
    for name in VIEWS:
        view(app, name)
        assert pictures(app) >= 1


def test_fifty_classes(open_page):
    rows = "".join(f"{i % 11},{i % 3},k{i % 50:02d}\n" for i in range(3000))
    app = upload(open_page, "x,y,kind\n" + rows)
    quiet(app.selectbox[0].set_value("kind").run())
    for name in VIEWS:
        view(app, name)
        assert pictures(app) >= 1
    for order in (1, 512):
        quiet(app.select_slider(key="order").set_value(order).run())
    assert "No class has 512 records" in words(app)


def test_a_wide_table(open_page):
    header = ",".join(f"c{i}" for i in range(120)) + ",kind\n"
    rows = "".join(",".join(str((i * j) % 17) for j in range(120)) + f",{'ab'[i % 2]}\n" for i in range(150))
    app = upload(open_page, header + rows)
    for name in VIEWS:
        view(app, name)
        assert pictures(app) >= 1


def test_accuracy_against_l_is_an_experiment_of_the_page_comparison(open_page):
    app = view(at(open_page, "breast_cancer"), "Order of mixture")
    (link,) = [e.proto for e in app.get("page_link") if e.proto.label == "Measure accuracy against l"]
    settings = parse_qs(link.query_string)
    assert settings["comparison_what"] == ["Experiments"]
    other = open_page("comparison", data="breast_cancer", **settings)
    assert other.selectbox(key="lab_vary").value == "order_of_mixture"
    assert other.multiselect(key="lab_mechanisms_breast_cancer").value == ["DP-CDA"]
    assert other.select_slider(key="epsilon").value == 10.0


def test_the_best_l_for_the_signal_is_not_recommended_for_classifiers(open_page):
    app = view(at(open_page, "digits"), "Order of mixture")
    assert MEASURED in words(app)
    lines = Path(dpsyn.__file__).parents[1].joinpath("docs", "dp_cda_accuracy.md").read_text().splitlines()
    table = [[cell.strip() for cell in line.split("|")[1:-1]] for line in lines if line.startswith("| adult")]
    for epsilon, order, accuracy in (("5", "38", "0.819"), ("10", "54", "0.807"), ("20", "91", "0.755")):
        (found,) = [row for row in table if row[1:3] == [epsilon, "DP-CDA"]]
        assert (found[3], found[4].split()[0]) == (order, accuracy)
        assert f"{accuracy} of the real rows at ε = {epsilon}" in MEASURED or f"{accuracy} at ε = {epsilon}" in MEASURED
        assert f"(l = {order})" in MEASURED
    (majority,) = [row for row in table if row[2].startswith("majority")]
    assert f"right for {majority[4]}" in MEASURED


def test_fewer_rows_than_classes_and_nothing_to_mix_are_said(open_page):
    app = upload(open_page, "x,kind\n" + "".join(f"1,k{i % 20}\n" for i in range(400)))
    assert "DP-CDA mixes the other columns, and there are none" in words(app)
    app = upload(open_page, "x,kind\n" + "".join(f"{i % 7},k{i % 20}\n" for i in range(400)))
    quiet(app.selectbox[0].set_value("kind").run())
    rows = next(s for s in app.select_slider if s.label == "T (rows in all)")
    quiet(app.select_slider(key=rows.key).set_value(10).run())
    assert "fewer than the 20 classes" in words(app)
    assert pictures(app) == 0


def test_settings_at_their_ends(open_page):
    app = at(open_page, "breast_cancer")
    for epsilon, delta, variant in ((0.001, 1e-12, "fixed_size"), (1000.0, 0.01, "poisson"), (0.1, 1e-12, "fixed_size")):
        app.select_slider(key="epsilon").set_value(epsilon)
        app.select_slider(key="delta").set_value(delta)
        app.selectbox(key="in_cda_variant").set_value(variant)
        quiet(app.run())
        assert pictures(app) == 3
