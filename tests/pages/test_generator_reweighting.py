"""Noisy reweighting's form: every choice reaches the configuration, the ledger is a bar, public rows, numbers in bins."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import dpsyn
from dpsyn.data.samples import load_sample
from dpsyn.evaluation.experiments.script import releases_script
from dpsyn.privacy.spec import PrivacySpec
from tests.pages.conftest import charts, finish_job, messages, other_rows, quiet


def at(open_page, sample="car"):
    return open_page("generator", data=sample, mechanism="Noisy reweighting")


def run(app):
    quiet(app.button(key="run").click().run())
    app = quiet(finish_job(app))
    return app, app.session_state["releases"][-1]


def planned(app) -> tuple[dpsyn.NoisyReweighting, PrivacySpec]:
    """What the form made of its widgets, from the code that the page offers."""
    _, code = app.session_state["_code_on_screen"]
    lines = code().splitlines()
    found: dict[str, Any] = {"dpsyn": dpsyn, "public": None}
    for line in lines:
        if line.startswith(("config =", "spec =")):
            exec(line, found)  # what the page tells its readers to run
    return found["config"], found["spec"]


@pytest.mark.parametrize("sample", ["asia", "car", "breast_cancer"])
def test_untouched_it_is_the_default(open_page, sample):
    app = at(open_page, sample)
    config, spec = planned(app)
    assert config == dpsyn.NoisyReweighting(degree=2)
    assert spec == PrivacySpec(1.0, 1e-5)


CHOICES = {
    "degree": ("slider", "degree", 1, {"degree": 1}),
    "rows": ("number_input", "nr_rows_car", 77, {"rows": 77}),
    "tables": ("selectbox", "nr_statistics", "contingency", {"statistics": "contingency"}),
    "conjunctions": ("selectbox", "nr_statistics", "conjunctions", {"statistics": "conjunctions"}),
    "laplace": ("segmented_control", "nr_noise", "laplace", {"noise": "laplace"}),
    "published noise": ("segmented_control", "nr_noise", "as_published", {"noise": "as_published"}),
    "allocation": ("selectbox", "nr_allocation", "equal", {"allocation": "equal"}),
    "whole": ("selectbox", "nr_space", "whole", {"reduced_space": "whole"}),
    "uniform": ("selectbox", "nr_space", "uniform", {"reduced_space": "uniform"}),
    "marginals": ("selectbox", "nr_space", "marginals", {"reduced_space": "marginals"}),
    "tree": ("selectbox", "nr_space", "tree", {"reduced_space": "tree"}),
    "refinements": ("number_input", "nr_refinements", 3, {"refinements": 3}),
    "least squares": ("selectbox", "nr_objective", "least_squares", {"objective": "least_squares"}),
    "vertex": ("selectbox", "nr_objective", "vertex", {"objective": "max", "vertex": True}),
    "centre": ("selectbox", "nr_objective", "centre", {"objective": "max"}),
    "rounding": ("selectbox", "nr_rounding", "independent", {"rounding": "independent"}),
    "own marginals": ("toggle", "nr_own", True, {"marginal_share": 0.2}),
}


@pytest.mark.parametrize("choice", CHOICES)
def test_every_choice_reaches_the_mechanism(open_page, choice):
    kind, key, value, expected = CHOICES[choice]
    app = at(open_page)
    getattr(app, kind)(key=key).set_value(value)
    quiet(app.run())
    assert "Cannot run" not in messages(app)
    config, spec = planned(app)
    assert config == dpsyn.NoisyReweighting(**expected)
    assert spec.delta == (0.0 if "noise" in expected else 1e-5)
    assert charts(app) == 1  # the planned ledger


def test_size_and_neighbours(open_page):
    app = at(open_page)
    app.toggle(key="nr_default_m").set_value(False)
    quiet(app.run())
    app.number_input(key="nr_m").set_value(300)
    app.selectbox(key="nr_neighbouring").set_value("add_remove")
    quiet(app.run())
    config, spec = planned(app)
    assert config == dpsyn.NoisyReweighting(reduced_space_size=300)
    assert spec == PrivacySpec(1.0, 1e-5, "add_remove")
    assert any("by a private estimate" in c.value for c in app.caption)
    _, made = run(app)
    assert made.release.guarantee.neighbouring == "add_remove"


def test_chosen_tables(open_page):
    app = at(open_page)
    app.toggle(key="nr_some").set_value(True)
    quiet(app.run())
    assert "none chosen" in messages(app)
    assert app.button(key="run").disabled
    tables = app.multiselect(key="nr_tables_car_2")
    assert "buying · safety" in tables.options
    tables.set_value([("buying", "safety"), ("class",)])
    quiet(app.run())
    config, _ = planned(app)
    assert config == dpsyn.NoisyReweighting(tables=(("buying", "safety"), ("class",)))
    app, made = run(app)
    assert sum(part["count"] for part in made.release.settings["ledger"]) == 4 * 3 + 4


def test_as_published(open_page):
    app = at(open_page)
    app.segmented_control(key="nr_way").set_value("as_published")
    app.slider(key="degree").set_value(1)
    quiet(app.run())
    config, spec = planned(app)
    assert config == dpsyn.NoisyReweighting.as_published(degree=1)
    assert spec == PrivacySpec(1.0)
    assert "proven in exact arithmetic only" in app.warning[0].value
    assert not app.success
    assert charts(app) == 1
    app, made = run(app)
    assert made.release.diagnostics["support"] <= made.release.settings["statistic_count"] + 1


def test_the_ledger_is_a_bar_before_the_run_and_with_the_release(open_page):
    app = at(open_page)
    assert charts(app) == 1
    app, made = run(app)
    assert charts(app) == 1
    app = other_rows(app)
    assert charts(app) == 2  # planned, and that of the earlier release
    assert "accounting" in made.release.settings
    app.segmented_control(key="mechanism").set_value("private_sampling")
    quiet(app.run())
    assert charts(app) == 1  # that of the release; private sampling has no ledger


def public_csv(rows: int, seed: int = 0) -> bytes:
    domain = load_sample("car").domain
    generator = np.random.default_rng(seed)
    codes = generator.integers(0, domain.shape, (rows, len(domain)), dtype=np.int32)
    return domain.decode(codes, generator).to_csv(index=False).encode()


def test_public_rows_are_the_reduced_space(open_page):
    app = at(open_page)
    app.selectbox(key="nr_space").set_value("public")
    quiet(app.run())
    assert "upload one" in messages(app)
    assert app.button(key="run").disabled
    app.file_uploader(key="nr_public").upload("survey.csv", b"buying,maint\nno,such\n", "text/csv")
    quiet(app.run())
    assert "survey.csv" in messages(app)
    assert app.button(key="run").disabled
    assert app.number_input(key="nr_refinements").disabled  # drawn all the same, so that nothing jumps
    app.file_uploader(key="nr_public").upload("older.csv", public_csv(200), "text/csv")
    quiet(app.run())
    assert any("The rows of the reduced space were public" in m.value for m in app.markdown)
    _, code = app.session_state["_code_on_screen"]
    assert "public = dpsyn.read_table('older.csv', domain=table.domain)\nconfig = dpsyn.NoisyReweighting(" in code()
    assert "reduced_space='public', public=public)" in code()
    app, made = run(app)
    assert made.release.settings["public"] == "older, 200 rows"
    known = load_sample("car").domain.encode(made.config.public.frame)
    points = made.release.diagnostics["points"]
    assert {tuple(p) for p in points} <= {tuple(p) for p in known}
    # Another file with as many rows is another reduced space, although the settings read the same.
    app = other_rows(app)
    assert not app.button(key="run").disabled  # the file is still there
    app.file_uploader(key="nr_public").upload("older.csv", public_csv(200, seed=1), "text/csv")
    quiet(app.run())
    app, other = run(app)
    assert not np.array_equal(other.config.public.codes, made.config.public.codes)
    assert not np.array_equal(other.release.diagnostics["points"], points)
    # Rows of one's own cannot be written down as text: the comparison's script names such releases and leaves them out.
    data = app.session_state["dataset"].source
    script = releases_script(app.session_state["releases"], data, target=None, degrees=(1,), models=())
    assert "Not in it" in script
    assert made.label in script


def test_numbers_are_drawn_in_their_bins_within_public_bounds(open_page):
    app = at(open_page, "breast_cancer")
    assert any("30 columns of numbers or dates, each in 10 bins" in c.value for c in app.caption)
    app.slider(key="degree").set_value(1)
    app.number_input(key="nr_rows_breast_cancer").set_value(300)
    app.slider(key="nr_histograms").set_value(0.0)
    quiet(app.run())
    config, _ = planned(app)
    assert config == dpsyn.NoisyReweighting(degree=1, rows=300, histogram_share=0.0)
    app, made = run(app)
    rows, domain = made.release.rows, made.domain
    assert len(rows) == 300
    for attribute in domain.attributes:
        if attribute.kind == "numeric":
            values = rows[attribute.name].to_numpy(dtype=float)
            assert (values >= attribute.lower).all()
            assert (values <= attribute.upper).all()
            assert len(np.unique(values)) > attribute.effective_bins  # inside the bins, not at their middles


def test_without_numbers_there_are_no_histograms_to_pay_for(open_page):
    app = at(open_page)
    assert not [slider for slider in app.slider if slider.key == "nr_histograms"]
    assert any("No column here holds numbers" in c.value for c in app.caption)


def test_settings_that_no_mechanism_has_say_why(open_page):
    app = at(open_page)
    app.selectbox(key="nr_statistics").set_value("walsh")
    quiet(app.run())
    assert "has 4 values; Walsh functions need two" in messages(app)
    app.selectbox(key="nr_statistics").set_value("auto")
    app.segmented_control(key="nr_noise").set_value("as_published")
    app.selectbox(key="nr_neighbouring").set_value("add_remove")
    quiet(app.run())
    assert "replacing one of n rows" in messages(app)
    assert app.button(key="run").disabled
