"""The first two steps: samples, uploads good and bad, the columns, the domain and where it is known from."""

from __future__ import annotations

import json

import pytest

from dpsyn.data.samples import SAMPLES
from dpsyn.kit import jobs
from tests.pages.conftest import confirm, finish_job, press


def metrics(app):
    return {m.label.split(", ")[-1]: m.value for m in app.metric}


def test_opens_on_bundled_data_with_its_statistics(open_page):
    app = open_page("data")
    assert metrics(app) == {"p": "8", "n": "20,000", "‖fₙ‖∞": "29.1\N{NO-BREAK SPACE}%", "Distinct rows": "69"}


def not_yet_public(app):
    return any("Read off these rows, not yet public" in m.value for m in app.markdown)


@pytest.mark.parametrize(("name", "p"), [("car", "25"), ("digits", "266"), ("breast_cancer", "302")])
def test_every_sample_can_be_chosen(open_page, name, p):
    app = open_page("data")
    app.pills(key="sample").set_value(name).run()
    assert not app.exception
    assert metrics(app)["p"] == p
    assert SAMPLES[name].description in [c.value for c in app.caption]


def test_what_a_run_on_other_data_said_is_over(open_page):
    app = open_page("data")
    app.session_state["job_message"] = "no class of 'x' is known"
    assert app.run().error
    app.session_state["job_note"] = "cancelled"
    app.pills(key="sample").set_value("car").run()
    assert not app.error
    assert "job_message" not in app.session_state
    assert "job_note" not in app.session_state


def test_an_upload_replaces_the_data_and_waits_for_confirmation(open_page):
    app = open_page("data")
    app.file_uploader(key="upload").upload("people.csv", b"who,ill\nann,yes\nbob,no\ncid,no\n", "text/csv").run()
    assert not app.exception
    assert metrics(app)["n"] == "3"
    assert metrics(app)["p"] == "4"
    dataset = app.session_state["dataset"]
    assert not dataset.table.domain.is_public
    assert not_yet_public(app)
    app = press(app, "Next: state the domain")
    assert [t.value for t in app.title] == ["Domain"]
    assert not app.session_state["dataset"].table.domain.is_public
    app = confirm(app, "definition")
    assert [t.value for t in app.title] == ["Generator"]
    dataset = app.session_state["dataset"]
    assert not not_yet_public(app)
    assert dataset.table.domain.is_public
    assert dataset.sources == {"who": "definition", "ill": "definition"}


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (b"", "empty"),
        (b"a,b\n1,2\n3,4,5\n", "line 3"),
        (b"a,a\n1,2\n", "'a'"),
        (b"a,b\n", "no row below"),
        (b"\x89PNG\r\n\x1a\n" + bytes(range(256)), ""),
    ],
)
def test_a_file_that_cannot_be_read_is_explained_and_loses_nothing(open_page, data, said):
    app = open_page("data")
    app.file_uploader(key="upload").upload("bad.csv", data, "text/csv").run()
    assert not app.exception
    (message,) = [e.value for e in app.error]
    assert message.startswith("bad.csv:")
    assert said in message
    assert metrics(app)["n"] == "20,000"


def test_counting_two_valued_columns_as_bits_changes_p(open_page):
    app = open_page("data")
    app.file_uploader(key="upload").upload("s.csv", b"sex,ill\nMale,yes\nFemale,no\n", "text/csv").run()
    assert metrics(app)["p"] == "3"
    form = [widget.key for kind in ("selectbox", "slider") for widget in app.get(kind)]
    next(t for t in app.toggle if "two-valued" in t.label).set_value(True).run()
    assert not app.exception
    assert metrics(app)["p"] == "2"
    # What somebody has begun to edit stays.
    assert [widget.key for kind in ("selectbox", "slider") for widget in app.get(kind)] == form
    app = app.switch_page("feasibility.py").run()
    app.segmented_control(key="f_section").set_value("Export").run()
    next(b for b in app.button if b.label == "Draw private statistics").click().run()
    ((_, drawn),) = app.session_state["published_statistics"]
    assert drawn.p == 2


def test_target_and_held_out_share_are_kept(open_page):
    app = open_page("data")
    target = next(s for s in app.selectbox if s.label.startswith("Column to predict"))
    held_out = next(s for s in app.slider if s.label.startswith("Held-out"))
    target.set_value("smoke")
    held_out.set_value(0.4)
    app = press(app, "Next")
    dataset = app.session_state["dataset"]
    assert dataset.target == "smoke"
    assert dataset.parts[1].n == 8000


def awkward() -> bytes:
    """An identifier, a constant, a class, a column with empty cells and a number."""
    rows = "".join(f"{i + 1},here,{'yes' if i % 3 else 'no'},{'a' if i % 2 else ''},{i}.5\n" for i in range(120))
    return ("id,place,ill,kind,dose\n" + rows).encode()


def test_the_target_says_which_columns_it_leaves_out_and_why(open_page):
    app = open_page("data")
    app.file_uploader(key="upload").upload("awkward.csv", awkward(), "text/csv").run()
    assert not app.exception
    assert next(s for s in app.selectbox if s.label.startswith("Column to predict")).options == ["ill"]
    (said,) = [c.value.partition("Not among the choices")[2] for c in app.caption if "Not among the choices" in c.value]
    assert "dose (numbers or dates)" in said
    assert "id" not in said.split()
    assert "place" not in said  # left out when it was read
    assert "kind (cells may be empty)" in said
    assert "ill" not in said


def notes(app):
    """What is said of the columns, open or folded."""
    folded = [m.value for e in app.expander if e.label.endswith("notes on these columns") for m in e.markdown]
    return " ".join([*(i.value for i in app.info), *folded])


def test_numbers_and_dates_have_bins_and_not_values(open_page):
    labels = [column.get("label") for column in json.loads(open_page("data").get("data_editor")[0].proto.columns).values()]
    assert "Values or bins" in labels


def test_the_first_rows_stand_beside_their_columns_as_they_were_read(open_page):
    app = open_page("data")
    rows = "31.12.2024;04109;1,50;\n01.02.2025;00815;2,25;x\n" + "02.02.2025;00815;2,75;y\n" * 30
    app.file_uploader(key="upload").upload("s.csv", f"day;code;pay;note\n{rows}".encode(), "text/csv").run()
    grid = app.get("data_editor")[0]
    assert list(grid.proto.column_order) == ["use", "column", "kind", "rows", "values", "cost"]
    assert grid.value["rows"].map(list).tolist() == [
        ["2024-12-31", "2025-02-01", "2025-02-02"],
        ["04109", "00815", "00815"],
        ["1.5", "2.25", "2.75"],
        ["", "x", "y"],
    ]


@pytest.mark.parametrize(
    ("cells", "shown"),
    [
        (("u", "v"), ["column", "kind", "categories", "missing", "source"]),
        (
            ("2.5", "0.75"),
            ["column", "kind", "categories", "lower", "upper", "unit", "missing", "source", "bins"],
        ),
    ],
)
def test_the_domain_has_bounds_units_and_bins_where_a_column_has_them(open_page, cells, shown):
    app = open_page("data")
    rows = "".join(f"{cells[0]}{i % 7},x\n{cells[1]}{i % 5},y\n" for i in range(40))
    app.file_uploader(key="upload").upload("s.csv", f"a,ill\n{rows}".encode(), "text/csv").run()
    app = press(app, "Next: state the domain")
    assert list(app.get("data_editor")[0].proto.column_order) == shown


def test_what_looks_read_off_is_warned_of_once_with_the_way_on(open_page):
    rows = "".join(f"{20 + 7 * i % 31},{'yes' if i % 2 else 'no'}\n" for i in range(62))
    app = open_page("data")
    app.file_uploader(key="upload").upload("s.csv", f"age,ill\n{rows}".encode(), "text/csv").run()
    app = press(app, "Next: state the domain").switch_page("domain.py").run()
    next(control for control in app.segmented_control if control.key.startswith("source_")).set_value("code book")
    app = press(app, "Next: choose a mechanism")
    (warned,) = [w.value for w in app.warning]
    assert "Stated bounds of 'age' are the smallest or the largest value in these rows" in warned
    assert warned.endswith("If it is right as it is, press Next.")
    assert [t.value for t in app.title] == ["Domain"]
    assert [t.value for t in press(app, "Next: choose a mechanism").title] == ["Generator"]


@pytest.mark.parametrize(("columns", "folded"), [(2, False), (3, True)])
def test_more_than_two_notes_are_folded_above_the_table(open_page, columns, folded):
    rows = "\n".join(",".join([*[f"0{100 + i % 3}"] * columns, "ab"[i % 2]]) for i in range(12))
    data = f"{','.join('xyz'[:columns])},ill\n{rows}\n".encode()
    app = open_page("data")
    app.file_uploader(key="upload").upload("codes.csv", data, "text/csv").run()
    assert notes(app).count("start with a 0 that a number would lose, as postcodes do") == columns
    assert (len(app.info) == 0) == folded
    assert any("Cost: a column's share of all cells" in c.value for c in app.caption)


def test_one_column_is_in_no_table_of_two(open_page):
    app = open_page("data")
    app.file_uploader(key="upload").upload("fruit.csv", b"fruit\n" + b"a\nb\n" * 6, "text/csv").run()
    assert not app.exception
    assert not any("Cost:" in c.value for c in app.caption)


def test_notes_are_about_the_columns_in_use(open_page):
    app = open_page("data")
    app.file_uploader(key="upload").upload("awkward.csv", awkward(), "text/csv").run()
    said = notes(app)
    assert "Column 'id' was left out as an identifier: 120 different values in 120 rows" in said
    assert "Column 'place' was left out: it has one value only." in said
    current = app.session_state["dataset"]
    app.session_state["dataset"] = current.changed(table=current.full)
    app.run()
    assert not app.exception
    said = notes(app)
    assert "'id'" not in said
    assert "Column 'place': one value only: it says nothing; leave it out." in said
    app.session_state["dataset"] = current.changed(table=current.full.project(["ill", "kind", "dose"]))
    app.run()
    assert "'id' was left out" in notes(app)
    assert "'place' was left out" in notes(app)


def test_columns_of_one_value_are_left_out_and_told(open_page):
    app = open_page("data")
    app.file_uploader(key="upload").upload("same.csv", b"a,b,c\n" + b"x,2.5,u\nx,2.5,v\n" * 20, "text/csv").run()
    said = notes(app)
    assert "Column 'a' was left out: it has one value only." in said
    assert "Column 'b' was left out: it has one value only." in said
    current = app.session_state["dataset"]
    assert current.table.domain.names == ("c",)
    app.session_state["dataset"] = current.changed(table=current.full)
    said = notes(app.run())
    assert "Columns 'a', 'b': one value only: they say nothing; leave them out." in said


def test_categories_that_differ_only_in_capitals_or_blanks_are_named(open_page):
    cells = ["Y", "y", "N", "Old  town", "old town", "new"]
    rows = "\n".join(f"{cells[i % 3]},{cells[3 + i % 3]},{'ab'[i % 2]}" for i in range(30))
    app = open_page("data")
    app.file_uploader(key="upload").upload("s.csv", f"ill,where,other\n{rows}\n".encode(), "text/csv").run()
    said = notes(app).replace("\N{NO-BREAK SPACE}", " ")
    assert (
        "Column 'ill': categories that differ only in capitals, blanks or what is not seen count as different: 'Y', 'y'."
        in said
    )
    assert "'Old  town', 'old town'" in said
    assert "'other'" not in said


def said_of_reading(app):
    return [info.value for info in app.info if "being read" in info.value]


def test_a_larger_file_is_read_in_the_background(open_page):
    names = ",".join(f"c{j}" for j in range(400))
    data = f"{names}\n{','.join('01' * 200)}\n{','.join('10' * 200)}\n".encode()
    app = open_page("data")
    app.file_uploader(key="upload").upload("wide.csv", data, "text/csv").run()
    assert app.session_state["dataset"].sample == "asia"
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(jobs.Job, "running", True)
        for page in ("data", "feasibility", "generator", "inside", "lessons", "comparison"):
            app = app.switch_page(f"{page}.py").run()
            assert not app.exception
            assert said_of_reading(app) == ["Your file is still being read: until that is done, all pages show asia."]
            assert [b.label for b in app.button if b.key == "cancel"] == ["Cancel"]
    app = finish_job(app)
    assert not said_of_reading(app)
    assert app.session_state["dataset"].table.name == "wide"
    app = app.switch_page("data.py").run()
    current = app.session_state["dataset"]
    assert (current.table.name, current.table.n, len(current.table.domain)) == ("wide", 2, 400)
    assert app.session_state["sample"] is None
    assert "and the first 200 of 400 columns" in " ".join(c.value for c in app.caption)
    app = press(app, "Next")
    assert app.session_state["dataset"].table.domain == current.table.domain


def test_a_larger_file_that_is_no_table_leaves_the_data_as_they_were(open_page):
    data = b",".join(b"c%d" % j for j in range(400)) + b"\n1,2\n"
    app = open_page("data")
    app.file_uploader(key="upload").upload("wide.csv", data, "text/csv").run()
    app = finish_job(app)
    assert app.session_state["dataset"].sample == "asia"
    assert any("Reading wide.csv: line 2 has 2 values" in e.value for e in app.error)


def test_a_larger_file_waits_while_something_runs(open_page):
    app = open_page("data")
    app.session_state["job"] = running = jobs.start("tests.kit.tasks:linger", label="Something")
    app.file_uploader(key="upload").upload("wide.csv", b",".join([b"x"] * 400), "text/csv").run()
    assert app.session_state["job"] is running
    assert any("where something runs: wait for it, or cancel it" in e.value for e in app.error)
    running.cancel()
