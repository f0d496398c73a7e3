"""Inside noisy reweighting: every view on every kind of data, sliders in place, awkward tables without a traceback."""

from __future__ import annotations

import pytest

from dpsyn.mechanisms.noisy_reweighting.panels import VIEWS
from tests.pages.conftest import charts, quiet


def opened(open_page, data="asia"):
    if isinstance(data, str):
        return open_page("inside", data=data, inside_mechanism="Noisy reweighting")
    app = open_page("data")
    app.file_uploader(key="upload").upload("s.csv", data, "text/csv").run()
    app.query_params["inside_mechanism"] = "Noisy reweighting"
    return quiet(app.switch_page("inside.py").run())


def view(app, name):
    return quiet(app.segmented_control(key="in_nr_view").set_value(name).run())


EXPECTED = {"Noise": 1, "Fitted statistics": 2, "Support and rows": 2}


@pytest.mark.parametrize("sample", ["asia", "car", "digits"])
def test_every_view_draws(open_page, sample):
    app = opened(open_page, sample)
    for name in VIEWS:
        view(app, name)
        assert charts(app) == EXPECTED[name], name


def test_the_noise_table_follows_the_sliders(open_page):
    app = opened(open_page)
    before = app.dataframe[0].value
    assert before["Family"].iloc[0] == "Walsh functions"
    app.select_slider(key="epsilon").set_value(0.1).run()
    after = app.dataframe[0].value
    first, second = (dict(zip(f["Family"], f["Noise at n"], strict=True)) for f in (before, after))
    assert float(second["Walsh functions"]) == pytest.approx(10 * float(first["Walsh functions"]), rel=0.01)
    app.segmented_control(key="in_nr_noise").set_value("gaussian").run()
    assert not app.exception
    assert not app.select_slider(key="delta").disabled


def test_the_same_settings_draw_the_same_noise_until_one_asks_for_new(open_page):
    app = view(opened(open_page), "Support and rows")
    first = app.dataframe[0].value
    view(view(app, "Noise"), "Support and rows")
    assert app.dataframe[0].value.equals(first)
    app.button(key="in_nr_seed_again").click().run()
    assert not app.exception
    assert not app.dataframe[0].value.equals(first)


def test_a_vertex_sits_on_fewer_points_than_maximum_entropy(open_page):
    app = view(opened(open_page, "car"), "Support and rows")
    points = [int(text.replace(",", "")) for text in app.dataframe[0].value["Points"]]
    assert points[0] < 300 < points[2]


AWKWARD = {
    "one row": b"only\nyes\n",
    "one row of two columns": b"a,b\nx,y\n",
    "constant columns": b"a,b,c\n" + b"x,y,z\n" * 30,
    "numbers": b"u,v\n" + b"".join(b"%d.5,%d.25\n" % (i, i * i) for i in range(60)),
    "300 categories": b"who,what\n" + b"".join(b"p%d,q%d\n" % (i, i % 3) for i in range(300)) * 2,
    "15 mixed columns": b",".join(b"c%d" % j for j in range(15))
    + b"\n"
    + b"".join(b",".join(b"%d" % (i * (j + 1) % (j + 2)) for j in range(15)) + b"\n" for i in range(80)),
}


@pytest.mark.parametrize("name", AWKWARD)
def test_awkward_data_never_breaks_a_view(open_page, name):
    app = opened(open_page, AWKWARD[name])
    for each in VIEWS:
        view(app, each)
    for degree in (1, 3):
        quiet(app.slider(key="degree").set_value(degree).run())


def test_without_columns_it_says_what_to_do(open_page):
    app = opened(open_page)
    app.multiselect[0].set_value([]).run()
    assert not app.exception
    assert any("at least one column" in message.value for message in app.info)
