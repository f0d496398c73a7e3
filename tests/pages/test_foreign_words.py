"""What came from data, archives and file names is shown as it is on every page, and none of it is in any link."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from copy import copy
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import pytest
from google.protobuf.message import Message
from streamlit.testing.v1 import AppTest

import dpsyn
from dpsyn import escape
from dpsyn.app.lab.report import report_bytes
from dpsyn.app.state import fingerprint
from dpsyn.evaluation.experiments import CellResult, Experiment, Grid, MadeRelease
from dpsyn.evaluation.report import compare
from dpsyn.kit import widgets
from dpsyn.kit.visit import Dataset, bundled
from dpsyn.mechanisms.feasibility import feasibility, verdict_markdown
from dpsyn.mechanisms.registry import MECHANISMS
from tests.pages.conftest import ROOT, confirm, last_measured
from tests.pages.test_settings_in_links import FEASIBILITY, MIXING, REWEIGHTING, SAMPLING, bound, protos
from tests.pages.test_settings_in_links import STATES as OF_LINKS
from tests.pages.test_share import at

PICTURE = "![i](http://evil.example/x)"
COLUMNS = (f"q {PICTURE}", "q **b**|`c` :smile:", "q :violet-badge[Public domain]", "q $x$ <b>y</b> %{z}")
FILE = "q <b>f</b> **g** :rainbow[h] $k$ :material-bug:"
MARK = f"q {PICTURE} **b** :rainbow[h] $k$ <b>y</b> :material/bug_report:"
MARK_UP = re.compile(
    r"!\[i\]|\*\*[bg]\*\*|`c`|(?<!\\):(violet|rainbow)"
    r"|:(smile|material-bug|material/bug)|(?<!\\)\$[xk]\$|(?<!\\)<b>|http:/"
)
"""What of these words a page would read as mark-up."""
IN_A_CHART = re.compile(r"<b>|%\{z\}")
AS_IT_IS = {
    "Selectbox.options", "MultiSelect.options", "Code.code_text", "TextInput.default", "TextInput.value",
}  # fmt: skip
"""Fields that the browser shows as they are."""
ON_A_CANVAS = ("Dataframe", "VegaLiteChart")
UNSEEN = ("id", "form_id", "url", "query_param_key", "spec_id", "element_id")
FIRST = {"f_section": FEASIBILITY, "is_section": SAMPLING, "in_nr_view": REWEIGHTING, "in_cda_view": MIXING}
STATES: list[tuple[str, dict[str, Any]]] = [
    ("data", {"upload_fault": MARK}),
    ("domain", {}),
    ("generator", {"newest": 1}),
    *(("feasibility", {"f_section": name}) for name in FEASIBILITY),
    ("feasibility", {"f_section": next(iter(FEASIBILITY)), "f_data": ["Loaded data", "Typed in"]}),
    *(("generator", {"mechanism": name}) for name in MECHANISMS),
    ("generator", {"mechanism": "noisy_reweighting", "nr_statistics": "contingency", "nr_some": True}),
    ("generator", {"mechanism": "dp_cda", "cda_by_class_{tag}": True}),
    *(("inside", {"inside_mechanism": "private_sampling", "is_section": name}) for name in SAMPLING),
    *(("inside", {"inside_mechanism": "noisy_reweighting", "in_nr_view": name}) for name in REWEIGHTING),
    *(("inside", {"inside_mechanism": "dp_cda", "in_cda_view": name}) for name in MIXING),
    ("lessons", {}),
    ("comparison", {"comparison_what": "Releases", "job_message": MARK, "workspace_lost": MARK}),
    ("comparison", {"comparison_what": "Experiments", "lab_wish_on_1": True}),
]


def rows(n: int = 60) -> pd.DataFrame:
    first, second, third, fourth = COLUMNS
    return pd.DataFrame(
        {
            first: [("q **b** yes", "q no $x$")[i % 2] for i in range(n)],
            second: [("q <b>red</b>", f"q {PICTURE}", "q :rainbow[blue]")[i % 3] for i in range(n)],
            third: [("=2+2", "q `c`")[i // 2 % 2] for i in range(n)],
            fourth: [i % 7 + 0.5 for i in range(n)],
        }
    )


@pytest.fixture(scope="module")
def visit() -> AppTest:
    """A visit with such a table, and with releases, measures and experiments of it and of other data."""
    app = at("data")
    app.file_uploader(key="upload").upload(f"{FILE}.csv", rows().to_csv(index=False).encode(), "text/csv").run()
    app = confirm(app)
    current: Dataset = app.session_state["dataset"]
    releases = [release(current, number, name) for number, name in ((1, current.table.name), (2, MARK))]
    give(app, measured(current, releases))
    app.session_state["experiments"] = [experiment(1, current), experiment(2, None)]
    return app


def give(app: AppTest, contents: dict[str, Any]) -> None:
    """Put copies of these into the visit, which may add to them."""
    for key, value in contents.items():
        app.session_state[key] = copy(value)


def measured(current: Dataset, releases: list[MadeRelease]) -> dict[str, Any]:
    """What a visit holds of releases, the first of which is measured beside these data."""
    learn, held_out = current.parts
    reports = compare(
        {releases[0].label: releases[0].release.rows}, learn, holdout=held_out, target=current.target, degrees=(1, 2),
        models=("logistic regression",), progress=lambda *_: None,
    )  # fmt: skip
    found = {
        "reports": {1: reports[releases[0].label]}, "target": current.target,
        "degrees": (1, 2), "models": ("logistic regression",),
    }  # fmt: skip
    return {"releases": releases, "comparisons": {fingerprint(learn, held_out): found}}


def release(current: Dataset, number: int, of: str) -> MadeRelease:
    learn, spec, config = current.parts[0], dpsyn.PrivacySpec(10.0), dpsyn.NoisyReweighting(degree=1, rows=20)
    made = config.calibrate(spec, learn.domain, n=learn.n)(np.random.default_rng(number), learn)
    claim = replace(made.guarantee, source=MARK, assumptions=(*made.guarantee.assumptions, MARK))
    return MadeRelease(number, MARK, replace(made, guarantee=claim), number, of, learn.domain, 0.1, config)


def experiment(number: int, current: Dataset | None) -> Experiment:
    grid = Grid(
        {MARK: dpsyn.NoisyReweighting(degree=1)}, dpsyn.PrivacySpec(1.0, 1e-5), "epsilon", [1.0, 2.0, 3.0], repeats=2
    )
    results = {}
    for place, cell in enumerate(grid.cells()):
        done = CellResult.of(cell, "done") if cell.value < 3 else CellResult.of(cell, "failed", MARK)
        measures = ({"2-way error, mean": 0.1 + place / 100, MARK: 0.2},) if cell.value < 3 else ()
        claim = {"epsilon": 1.0, "delta": 0.0, "neighbouring": "replace_one"}
        results[cell.key] = replace(done, guarantee=claim, measures=measures)
    return Experiment(
        number=number, name=MARK, dataset=MARK, grid=grid, target=MARK, degrees=(1, 2), results=results,
        models=("logistic regression",), data=None if current is None else current.source,
        fingerprint="of other rows" if current is None else fingerprint(*current.parts),
    )  # fmt: skip


def shown(visit: AppTest, page: str, state: dict[str, Any]) -> AppTest:
    tag = visit.session_state["dataset"].tag
    for key, value in ({"newest": None} | state).items():
        visit.session_state[key.format(tag=tag)] = value
    visit.switch_page(f"{page}.py").run()
    assert not visit.exception, visit.exception
    return visit


def words(message: Message) -> Iterator[tuple[str, str]]:
    """Every text in a message to the browser, and where it stands."""
    kind = message.DESCRIPTOR.name
    if kind in ON_A_CANVAS:
        return
    for field, value in message.ListFields():
        where = f"{kind}.{field.name}"
        if field.name in UNSEEN or where in AS_IT_IS:
            continue
        for part in value if field.is_repeated and not hasattr(value, "items") else [value]:
            if isinstance(part, Message):
                yield from words(part)
            elif isinstance(part, str):
                yield where, part
            elif isinstance(part, bytes) and kind == "ArrowData":
                yield where, part.decode("utf-8", errors="replace")


def texts(figure: Any, key: str = "") -> Iterator[str]:
    """Every text of a Plotly figure that it draws."""
    if isinstance(figure, dict):
        for name, part in figure.items():
            yield from texts(part, name)
    elif isinstance(figure, list):
        for part in figure:
            yield from texts(part, key)
    elif isinstance(figure, str) and key not in ("legendgroup", "uid"):
        yield figure


def read_as_mark_up(message: Message) -> list[str]:
    if message.DESCRIPTOR.name == "PlotlyChart":
        return [text for text in texts(json.loads(message.spec)) if IN_A_CHART.search(text)]
    return [f"{where}: {text[:300]}" for where, text in words(message) if MARK_UP.search(text)]


def in_the_address(message: Message) -> list[str]:
    """What of a widget could come into a link: its key, and what can be chosen."""
    if not bound(message):
        return []
    options = [str(getattr(option, "content", option)) for option in getattr(message, "options", [])]
    return [text for text in (bound(message), *options) if MARK_UP.search(text) or "own_" in text or text.startswith("q ")]


@pytest.mark.parametrize(("name", "state"), STATES, ids=lambda part: str(part)[:60])
def test_no_word_of_the_data_is_mark_up_or_in_a_link(visit: AppTest, name: str, state: dict[str, Any]) -> None:
    app = shown(visit, name, state)
    every = list(protos(app._tree))
    assert [found for message in every for found in read_as_mark_up(message)] == []
    assert [found for message in every for found in in_the_address(message)] == []
    address = str(dict(app.query_params))
    assert not MARK_UP.search(address)
    assert "own_" not in address


def own(rows: int, categories: int, further: int) -> Dataset:
    """A class, a number, and further columns of two values."""
    places = range(rows)
    columns: dict[str, Any] = {
        "class": [f"c{i % categories}" for i in places],
        "number": [i * 37 % rows / 7 for i in places],
    }
    columns |= {f"yes{j}": ["yes" if i // (j + 2) % 2 else "no" for i in places] for j in range(further)}
    table = dpsyn.read_table(pd.DataFrame(columns))
    return Dataset(table, table, target="class")


FEW_AND_MANY = own(80, 2, 0), own(900, 37, 3)
"""Of one's own: whatever differs on a page between them tells of the data."""
OF_SAMPLES = ("data", "domain", "cda_by_class_asia", "in_cda_x_breast_cancer_diagnosis", "nr_tables_car_2")


@pytest.fixture(scope="module")
def few_and_many() -> list[dict[str, Any]]:
    """What two visits hold that are alike but for the data."""
    return [{"dataset": current} | measured(current, [release(current, 1, current.table.name)]) for current in FEW_AND_MANY]


def settings_in_links(contents: dict[str, Any], page: str, query: dict[str, Any]) -> dict[str, Any]:
    """What a page could say of its settings in a link: keys, and what is chosen at first and can be chosen."""
    app = AppTest.from_file(str(ROOT / "pages" / "_router.py"), default_timeout=120)
    give(app, contents)
    app.query_params.update({name: said for name, said in query.items() if name not in OF_SAMPLES} | {"data": "own"})
    app.switch_page(f"{page}.py").run()
    assert not app.exception, app.exception
    fields = ("default", "options", "min", "max", "step", "value")
    return {
        bound(proto): [str(getattr(proto, field, "")) for field in fields] for proto in protos(app._tree) if bound(proto)
    } | {"address": dict(app.query_params)}


@pytest.mark.parametrize("name", OF_LINKS)
def test_no_setting_in_a_link_tells_how_many_rows_columns_or_categories_there_are(
    few_and_many: list[dict[str, Any]], name: str
) -> None:
    few, many = (settings_in_links(contents, *OF_LINKS[name]) for contents in few_and_many)
    assert few == many


def test_a_column_of_ones_own_is_not_in_the_link_of_the_bundled_data_that_are_opened_next() -> None:
    app = at("data")
    for current, column in ((FEW_AND_MANY[1], "yes1"), (bundled("car"), "buying")):
        app.session_state["dataset"] = current
        give(app, measured(current, [release(current, 1, current.table.name)]))
        app.switch_page("comparison.py").run()
        assert not app.exception, app.exception
        assert "yes1" not in str(dict(app.query_params))
        (chosen,) = (box for box in app.selectbox if box.key.startswith("comparison_column"))
        assert chosen.value == current.table.domain.names[0]
        chosen.set_value(column).run()
        app.switch_page("data.py").run()


def test_numbers_of_dp_cda_by_class_are_not_in_a_link(visit: AppTest) -> None:
    app = shown(visit, "generator", {"mechanism": "dp_cda", "cda_by_class_{tag}": True})
    ((key, kept),) = app.session_state["cda_tables"].items()
    kept[:] = [kept[0].assign(rows=3)] * 2
    app.run()
    assert app.session_state["cda_tables"][key][1]["rows"].tolist() == [3] * len(kept[0])
    assert "cda_table" not in str(dict(app.query_params))


def test_rows_as_csv_are_guarded_until_somebody_switches_it_off(visit: AppTest, monkeypatch: pytest.MonkeyPatch) -> None:
    files: dict[str, Any] = {}
    monkeypatch.setattr(widgets, "download", lambda _label, data, file, **_: files.update({file: data}))
    for newest, key in ((None, "csv_guard"), (1, "csv_guard")):
        app = shown(visit, "generator", {"mechanism": "mwem", "newest": newest})
        (made, _) = app.session_state["releases"]
        assert (made.release.rows[COLUMNS[2]] == "=2+2").any()
        for guarded in (True, False):
            app.toggle(key=key).set_value(guarded).run()
            (rows,) = (data for file, data in files.items() if file.endswith("_noisy_reweighting_1.csv"))
            assert rows() == escape.csv(made.release.rows, guarded=guarded)


def test_exports_hold_no_mark_up_of_the_data(visit: AppTest) -> None:
    current = visit.session_state["dataset"]
    releases, experiments = visit.session_state["releases"], visit.session_state["experiments"]
    found = {"reports": {releases[0].label: last_measured(visit.session_state)["reports"][1]}}
    text = report_bytes(current, releases, found, experiments).decode()
    outside = re.sub(r"<script.*?</script>", "", text, flags=re.DOTALL)
    assert "<b>" not in outside
    assert "&lt;b&gt;" in outside
    found = [feasibility(replace(current.statistics, name=MARK), dpsyn.PrivacySpec(1.0, 1e-5), classes=2)]
    assert not MARK_UP.search(verdict_markdown(found, {"about": MARK}, private=True))
