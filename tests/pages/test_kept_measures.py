"""Releases and what was measured of them outlive a visit: found again, whatever data and columns are open."""

from __future__ import annotations

import shutil
from dataclasses import replace
from functools import cache

import numpy as np
import pytest

from dpsyn.data.samples import load_sample
from dpsyn.evaluation.experiments import Workspace
from tests.pages.conftest import confirm, file_of_runs, finish_job, last_measured, press

ROWS = load_sample("asia").take(np.arange(600)).frame


def upload(open_page):
    app = open_page("data")
    app.file_uploader(key="upload").upload("people.csv", ROWS.to_csv(index=False).encode(), "text/csv").run()
    assert not app.exception
    return app


def open_workspace(app, folder):
    app = app.switch_page("comparison.py").run()
    app.text_input(key="workspace_folder").set_value(str(folder)).run()
    app = app.button(key="workspace_open").click().run()
    job = app.session_state.get("job", None)
    return finish_job(app) if job is None or job.context.get("folder") is not None else app  # else one that went on there


def said(app):
    found = " ".join(e.value for kind in (app.info, app.caption, app.markdown, app.warning) for e in kind)
    return found.replace("\\", "")


@pytest.fixture(scope="module")
def kept_once(open_page, tmp_path_factory):
    """A folder with a release of an uploaded file, its columns confirmed or not, and what was measured of it."""

    @cache
    def make(confirmed: bool):
        folder = tmp_path_factory.mktemp("kept")
        app = upload(open_page)
        if confirmed:
            confirm(app)
        app = open_workspace(app, folder)
        app = app.switch_page("generator.py").run()
        app.segmented_control(key="mechanism").set_value("noisy_reweighting").run()
        app = finish_job(app.button(key="run").click().run())
        app = app.switch_page("comparison.py").run()
        app = finish_job(press(app, "Measure"))
        return folder, last_measured(app.session_state)["reports"]

    return make


@pytest.fixture
def kept(kept_once, tmp_path):
    """A copy of such a folder, for one test."""

    def copy(*, confirmed: bool):
        folder, reports = kept_once(confirmed)
        return shutil.copytree(folder, tmp_path / "kept"), reports

    return copy


def test_after_a_reload_the_page_says_what_is_kept_and_sets_the_columns_again(kept, open_page):
    folder, reports = kept(confirmed=True)
    (report,) = reports.values()
    app = open_workspace(upload(open_page), folder)
    assert "There is no release of this data yet" in said(app)
    assert "**people**: 1 release. Columns: asia, tub," in said(app)
    assert "Target: " in said(app)
    assert "What differs from the data as it is now: the columns asia, tub," in said(app)
    (line,), beside = (shown.value.to_dict("records") for shown in app.dataframe[:2])
    assert "rows of other data or another held-out share" in line["Measured against"]
    assert line["2-way error, mean"] == pytest.approx(report.marginals[2].mean, abs=1e-4)
    # What is no release stands in a table of its own.
    fresh = report.fresh.each[2].values()
    measured = {each["Name"]: each["2-way error, mean"] for each in beside}
    assert measured["fresh real rows, 450"] == pytest.approx(sum(fresh) / len(fresh), abs=1e-4)
    assert {"real data", "majority class", "columns shuffled, 450"} <= set(measured)
    assert line["Settings"].startswith("dpsyn.NoisyReweighting(")
    assert (line["Mechanism"], line["ε"], line["Status"]) == ("Noisy reweighting", "1", "proven")
    app = app.button(key="kept_columns_0").click().run()
    assert not app.exception
    assert app.session_state["dataset"].table.domain.is_public
    # Comparable again, and nothing has to be measured to see what was.
    assert "What was measured before stands in the list." in said(app)
    (measures,) = (shown.value for shown in app.dataframe if "Settings" in shown.value)
    assert measures["2-way error, mean"].iloc[0] == pytest.approx(report.marginals[2].mean, abs=1e-4)
    assert "real rows" in measures["Measured against"].iloc[0]


def test_with_other_data_open_the_kept_releases_are_listed(kept, open_page):
    folder, reports = kept(confirmed=True)
    app = open_workspace(open_page("data"), folder)
    assert "The data that is open is asia." in said(app)
    assert [link.proto.page for link in app.get("page_link")][-1:] == ["data"]
    assert app.dataframe[0].value["2-way error, mean"].iloc[0] == pytest.approx(
        next(iter(reports.values())).marginals[2].mean, abs=1e-4
    )
    assert not [b for b in app.button if b.key == "kept_columns_0"]


def test_what_was_read_off_the_data_is_not_kept_as_public(kept, open_page):
    folder, _ = kept(confirmed=False)
    (made,) = Workspace(folder).read().releases
    assert [column.public for column in made.domain.attributes] == [False] * 8
    assert made.release.guarantee.status == "unconfirmed_domain"
    app = upload(open_page)
    confirm(app)
    app = open_workspace(app, folder)
    assert "are not confirmed as public here" in said(app)
    assert "the columns asia, tub," in said(app)
    app = app.button(key="kept_columns_0").click().run()
    assert not any(a.public for a in app.session_state["dataset"].table.domain.attributes)


def test_releases_of_other_data_are_renamed_and_removed_where_they_are_listed(kept, open_page):
    folder, _ = kept(confirmed=True)
    app = open_workspace(open_page("data"), folder)
    (made,) = app.session_state["releases"]
    Workspace(folder).remove(made)  # by another visit; what is renamed here is kept
    app.text_input(key=f"runs_{made.number}_name_{made.number}").set_value("of the people").run()
    app.button(key=f"runs_{made.number}_rename").click().run()
    assert not app.exception
    assert app.dataframe[0].value["Name"].iloc[0] == f"of the people (no. {made.number})"
    assert [kept.name for kept in Workspace(folder).read().releases] == ["of the people"]
    app.button(key=f"runs_{made.number}_remove").click().run()
    assert not app.exception
    assert app.session_state["releases"] == []
    assert Workspace(folder).read().releases == []


def test_two_visits_in_one_workspace_lose_nothing_of_each_other(kept, open_page):
    folder, _ = kept(confirmed=True)
    app = open_workspace(open_page("data"), folder)
    (made,) = app.session_state["releases"]
    measured = {**made.measured, "when": "2099-01-01T00:00:00+00:00", "measures": {"of another visit": 0.5}}
    Workspace(folder).keep(replace(made, measured=measured))
    app.text_input(key=f"runs_{made.number}_name_{made.number}").set_value("of the people").run()
    app.button(key=f"runs_{made.number}_rename").click().run()
    (found,) = Workspace(folder).read().releases
    assert (found.name, found.measured["measures"]) == ("of the people", measured["measures"])
    Workspace(folder).keep(replace(found, name="of all"))
    app = open_workspace(app, folder)
    (mine,) = app.session_state["releases"]
    assert (mine.name, mine.measured["measures"]) == ("of all", measured["measures"])
    assert mine.release.diagnostics == made.release.diagnostics
    assert [one.name for one in Workspace(folder).read().releases] == ["of all"]


def test_the_total_says_that_another_visit_has_made_more(kept, open_page):
    folder, _ = kept(confirmed=True)
    app = open_workspace(open_page("data"), folder).switch_page("generator.py").run()
    assert "in the workspace" in said(app)
    assert "Other visits" not in said(app)
    (made,) = app.session_state["releases"]
    Workspace(folder).keep(replace(made, key="0" * 32))
    assert "Other visits have made 1 release there" in said(app.run())
    app = app.switch_page("comparison.py").run()
    assert "Other visits have made 1 release there: open it again." in said(app)
    Workspace(folder).remove(replace(made, key="0" * 32))
    assert "Other visits" not in said(app.run())


def test_a_workspace_that_holds_what_was_imported_opens_without_copies(kept, open_page):
    folder, _ = kept(confirmed=True)
    app = open_workspace(open_page("data"), folder)
    (kept_one,) = app.session_state["releases"]
    runs = file_of_runs(app)
    app = open_page("data").switch_page("comparison.py").run()
    app.session_state["import_box"] = True
    app.file_uploader(key="runs_import_0").upload("runs.json", runs, "application/json").run()
    app = finish_job(app.button(key="runs_read").click().run())
    assert not app.session_state["import_box"]
    (made,) = app.session_state["releases"]
    app.text_input(key=f"runs_{made.number}_name_{made.number}").set_value("imported").run()
    app.button(key=f"runs_{made.number}_rename").click().run()
    app = open_workspace(app, folder)
    (one,) = app.session_state["releases"]
    assert (one.key, one.name, one.number) == (kept_one.key, "imported", made.number)
    assert one.release.guarantee == kept_one.release.guarantee  # computed from what the workspace holds, not the file's word
    assert [found.name for found in Workspace(folder).read().releases] == ["imported"]


def test_columns_that_a_file_calls_public_are_not_so_by_its_word(kept, open_page):
    folder, _ = kept(confirmed=True)
    runs = file_of_runs(open_workspace(upload(open_page), folder))
    app = upload(open_page).switch_page("comparison.py").run()
    app.file_uploader(key="runs_import_0").upload("runs.json", runs, "application/json").run()
    app = finish_job(app.button(key="runs_read").click().run())
    assert "The file says that they were confirmed as public in the visit that made them" in said(app)
    assert "are not confirmed as public" not in said(app)
    assert "confirmed as public there, which nobody has done here" in said(app)
    assert not [b for b in app.button if b.key == "kept_columns_0"]
    current = app.session_state["dataset"]
    app.session_state["dataset"] = current.changed(table=current.full.project(["asia", "tub"]))
    app = app.run()
    app = app.button(key="kept_columns_0").click().run()
    assert not app.exception
    domain = app.session_state["dataset"].table.domain
    assert not any(attribute.public for attribute in domain.attributes)
    (made,) = app.session_state["releases"]
    assert domain.confirmed() == made.domain
