"""Every setting of every page is in the page's address: the pages are walked, and no widget is forgotten."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import Any

import pytest
from streamlit.testing.v1 import AppTest

from dpsyn.app.explorer import sections
from dpsyn.app.lab.planner import NO_TARGET
from dpsyn.data.samples import SAMPLES
from dpsyn.kit.visit import SAMPLE_KEY
from dpsyn.mechanisms.dp_cda.panels import VIEWS as MIXING
from dpsyn.mechanisms.noisy_reweighting.panels import VIEWS as REWEIGHTING
from dpsyn.mechanisms.private_sampling.panels.sections import SECTIONS as SAMPLING
from tests.pages.conftest import ROOT, finish_job, press
from tests.pages.test_share import at, code_of

FEASIBILITY = sections()
FIELD_WITH_SETTINGS = (
    "AIM",
    "PrivBayes",
    "Contingency table",
    "PrivSyn",
    "DualQuery",
    "DP-Mix",
    "Local perturbation",
    "Random projection",
    "DP-MERF",
    "DP-GAN",
    "Independent columns",
)

SETTINGS = {"Checkbox", "Slider", "NumberInput", "TextInput", "TextArea", "Selectbox", "MultiSelect", "Radio", "ButtonGroup"}
CALLS = {
    "checkbox", "toggle", "slider", "select_slider", "number_input", "text_input", "text_area", "selectbox", "multiselect",
    "radio", "pills", "segmented_control", "date_input", "time_input", "datetime_input", "color_picker", "data_editor",
    "feedback",
}  # fmt: skip

EXCEPTIONS = {
    # Kept in the address by dpsyn.app.share, once they are applied (tested below).
    rf"((state|visit)\.)?{SAMPLE_KEY}$|(state|visit)\.SAMPLE_KEY": "the bundled dataset",
    r"as_bit_": "how two-valued columns are counted",
    r"(lines|columns|\{key\})_": "the domain",
    r"source_": "where its columns are known from",
    r"roles_": "target and held-out share",
    # Kept in the address by dpsyn.app.share.keep (tested below).
    r"cda_table_": "rows and sizes of DP-CDA class by class",
    # They choose among releases and experiments of this visit, which no link brings along.
    r"comparison_releases": "releases to measure",
    r"worst_release": "release whose worst tables are shown",
    r"comparison_shown": "releases in the picture of one column",
    r"(runs|lab)_(\d+_)?(which|name)|\{key\}_(which|name)": "release or experiment to rename or remove, and its new name",
    r"lab_(measure|wish|wish_on)_\d": "an experiment's measure and wish",
    # Names of folders and files on somebody's machine do not belong into a link.
    r"workspace_folder": "folder",
    r"source_(path|name)": "file",
    # A guess is the visitor's own; who opens the link guesses for himself.
    r"\w+_guess|_key\(lesson, at, 'guess'\)": "the answer to a question of a lesson",
}


def view(key: str, name: str, names: Iterable[str], usual: int = 0) -> dict[str, str]:
    """What a link says about one of several views; nothing about the usual one."""
    return {} if name == list(names)[usual] else {key: name}


# Of the mechanisms, a link does not name the recommended one, which is noisy reweighting here.
STATES: dict[str, tuple[str, dict[str, str | list[str]]]] = {
    "data": ("data", {}),
    "data, numeric": ("data", {"data": "breast_cancer"}),
    "domain": ("domain", {}),
    **{f"feasibility, {name}": ("feasibility", view("f_section", name, FEASIBILITY)) for name in FEASIBILITY},
    "feasibility, typed in": ("feasibility", {"f_data": ["Typed in", "ADULT"]}),
    "feasibility, DP-CDA of what is typed in": ("feasibility", {"f_data": ["Typed in"], "f_section": "DP-CDA"}),
    "private sampling": ("generator", {"mechanism": "Private sampling", "epsilon": "10", "demo": "true"}),
    "private sampling, all of it": (
        "generator",
        {"mechanism": "Private sampling", "ps_most": "false", "ps_whole": "false"},
    ),
    "noisy reweighting": ("generator", {"nr_default_m": "false"}),
    "noisy reweighting, marginals": (
        "generator",
        {"nr_space": "draws from noisy one-way marginals", "nr_own": "true"},
    ),
    "noisy reweighting, some tables of public rows": (
        "generator",
        {
            "data": "car",
            "nr_statistics": "contingency tables",
            "nr_some": "true",
            "nr_tables_car_2": "buying · maint",
            "nr_space": "public rows of your own",
        },
    ),
    "noisy reweighting as published": (
        "generator",
        {"nr_way": "As published", "nr_default_m": "false"},
    ),
    "dp-cda": ("generator", {"mechanism": "DP-CDA"}),
    "dp-cda, private scaling": (
        "generator",
        {"mechanism": "DP-CDA", "cda_scaling": "by a private mean and deviation", "cda_estimate": "false"},
    ),
    "dp-cda, class by class": ("generator", {"mechanism": "DP-CDA", "cda_by_class_asia": "true"}),
    "dp-cda as published": ("generator", {"mechanism": "DP-CDA", "cda_way": "As published"}),
    **{name: ("generator", {"mechanism": name}) for name in FIELD_WITH_SETTINGS},
    "mwem": ("generator", {"mechanism": "MWEM", "mwem_best": "false"}),
    **{f"inside sampling, {name}": ("inside", view("is_section", name, SAMPLING, usual=1)) for name in SAMPLING},
    "inside sampling, draws": ("inside", {"is_space": "m uniform draws"}),
    "inside sampling, categories": ("inside", {"data": "car", "is_section": "3 · Density"}),
    **{
        f"inside reweighting, {name}": (
            "inside",
            {"inside_mechanism": "Noisy reweighting", **view("in_nr_view", name, REWEIGHTING)},
        )
        for name in REWEIGHTING
    },
    **{
        f"inside mixing, {name}": ("inside", {"inside_mechanism": "DP-CDA", **view("in_cda_view", name, MIXING)})
        for name in MIXING
    },
    "inside mixing, images": (
        "inside",
        {"data": "digits", "inside_mechanism": "DP-CDA", "in_cda_view": "What mixing does", "order": "64"},
    ),
    "inside mixing, points": (
        "inside",
        {
            "data": "breast_cancer",
            "inside_mechanism": "DP-CDA",
            "in_cda_view": "What mixing does",
            "in_cda_x_breast_cancer_diagnosis": "mean radius",
        },
    ),
    "audits": ("inside", {"inside_mechanism": "Audits of all"}),
    "lessons": ("lessons", {}),
    "a lesson": ("lessons", {"lesson": "The published DP-CDA claim", "step": "3"}),
    "comparison": ("comparison", {}),
    "experiments": ("comparison", {"comparison_what": "Experiments"}),
    "experiments against n": ("comparison", {"comparison_what": "Experiments", "lab_vary": "n (real rows learnt from)"}),
}


def protos(node: Any) -> Iterator[Any]:
    """Everything on the page, as it goes to the browser."""
    for child in getattr(node, "children", {}).values():
        if getattr(child, "proto", None) is not None:
            yield child.proto
        yield from protos(child)


def settings(app: AppTest) -> list[Any]:
    """The widgets that somebody can set."""
    return [
        proto
        for proto in protos(app._tree)
        if proto.DESCRIPTOR.name in SETTINGS
        or (proto.DESCRIPTOR.name == "Dataframe" and proto.editing_mode != proto.EditingMode.READ_ONLY)
    ]


def name_of(proto: Any) -> str:
    """The key, as Streamlit writes it at the end of the id."""
    return str(proto.id.split("-", 2)[2])


def bound(proto: Any) -> str:
    """The parameter of the address that a widget is bound to, or nothing."""
    return getattr(proto, "query_param_key", "")


def forgotten(app: AppTest) -> list[str]:
    """Settings that are neither bound to the address nor excepted."""
    return [
        name_of(proto)
        for proto in settings(app)
        if not bound(proto) and not any(re.match(one, name_of(proto)) for one in EXCEPTIONS)
    ]


def test_every_setting_of_releases_and_experiments_is_in_the_address() -> None:
    app = at("generator", data="car", mechanism="Noisy reweighting", degree="1", demo="true")
    app.button(key="run").click().run()
    app = finish_job(app).switch_page("comparison.py").run()
    next(b for b in app.button if b.label == "Measure").click().run()
    app = finish_job(app)
    assert {"comparison_models", "comparison_column_car"} <= {name_of(proto) for proto in settings(app)}
    assert forgotten(app) == []
    app.segmented_control(key="comparison_what").set_value("Experiments").run()
    app.multiselect(key="lab_mechanisms_car").set_value(["Noisy reweighting"]).run()
    app.selectbox(key="lab_target_car").set_value(NO_TARGET).run()
    app.slider(key="lab_repeats").set_value(1).run()
    app.text_input(key="lab_values_epsilon_car").set_value("1").run()
    app.button(key="lab_start").click().run()
    app = finish_job(app)
    app.toggle(key="lab_wish_on_1").set_value(True).run()
    assert any(name_of(proto).startswith("lab_wish_1_") for proto in settings(app))
    assert forgotten(app) == []


def test_no_widget_in_the_source_is_forgotten() -> None:
    """What no state above shows: a widget without ``bind`` has to be an exception by its key."""
    missing = []
    for path in [*(ROOT / "pages").glob("*.py"), *(ROOT / "dpsyn").rglob("*.py")]:
        for call in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if not (isinstance(call, ast.Call) and isinstance(call.func, ast.Attribute) and call.func.attr in CALLS):
                continue
            given = {keyword.arg: keyword.value for keyword in call.keywords}
            if "bind" in given or None in given:  # None: options that the caller hands on
                continue
            key = ast.unparse(given["key"]).removeprefix("f").strip("'\"") if "key" in given else ""
            if not any(re.match(one.replace(r"_\d", "_"), key) for one in EXCEPTIONS):
                missing.append(f"{path.relative_to(ROOT)}:{call.lineno} {ast.unparse(call)[:90]}")
    assert missing == []


def another(proto: Any) -> str | list[str] | None:
    """Some other value of a setting, as a link writes it; None if there is no other."""
    kind = proto.DESCRIPTOR.name
    if kind == "Checkbox":
        return "false" if proto.default else "true"
    if kind == "Slider" and proto.options:
        return str(proto.options[0 if proto.default[0] != 0 else -1])
    if kind == "Slider":
        return f"{proto.max if proto.default[0] != proto.max else proto.min:g}"
    if kind == "NumberInput":
        return f"{proto.min + (proto.default == proto.min):g}"
    if kind == "TextInput":
        return "2, 5"
    if kind in ("Selectbox", "ButtonGroup"):
        options = [getattr(option, "content", option) for option in proto.options]
        usual = proto.default if kind == "Selectbox" else (proto.default[0] if proto.default else -1)
        return next((str(option) for i, option in enumerate(options) if i != usual), None)
    if kind == "MultiSelect":
        options = [str(option) for option in proto.options]
        return next(([option] for i, option in enumerate(options) if [i] != list(proto.default)), None)
    raise AssertionError(f"how is {kind} set?")


@pytest.mark.parametrize("name", STATES)
def test_every_setting_is_in_the_address_and_a_link_restores_all_at_once(name: str) -> None:
    page, query = STATES[name]
    first = at(page, **query)
    assert settings(first)
    assert forgotten(first) == []
    assert query.keys() <= first.query_params.keys(), "this state is not what its name says"
    if page in ("data", "domain") or name == "lessons":
        return
    link = {bound(p): another(p) for p in settings(first) if bound(p) and bound(p) not in query}
    link = {key: value for key, value in link.items() if value is not None and key != "present"}
    app = at(page, **query, **link)
    assert not app.exception
    there = {bound(p) for p in settings(app)} & link.keys()
    assert there
    # Streamlit takes a parameter away that fits no value of its widget.
    assert {key: app.query_params.get(key) for key in there} == {
        key: value[0] if isinstance(value, list) else value for key, value in link.items() if key in there
    }


def test_what_was_set_on_the_page_data_is_in_the_link_of_every_page() -> None:
    query = {
        "data": "car",
        "data_target": "safety",
        "data_held_out": "0.4",
        "data_bits": "true",
        "data_columns": '{"doors":null,"class":{"kind":"categorical","categories":["unacc","acc","good","vgood","none"],'
        '"missing":false,"public":false}}',
    }
    app = at("data", **query)
    current = app.session_state["dataset"]
    assert (current.target, current.held_out, current.two_valued_as_bit) == ("safety", 0.4, True)
    assert "doors" not in current.table.domain
    assert current.table.domain["class"].size == 5
    assert not current.table.domain.is_public
    tag = current.tag
    app = app.switch_page("generator.py").run()
    again = at("generator", **app.query_params).session_state["dataset"]
    assert again.table.domain == current.table.domain
    assert (again.target, again.held_out, again.two_valued_as_bit, again.tag) == ("safety", 0.4, True, tag)
    assert again.parts[0].frame.equals(current.parts[0].frame)


def test_the_page_data_writes_what_is_set_there() -> None:
    app = at("data", data="car")
    next(t for t in app.toggle if "two-valued" in t.label).set_value(True).run()
    next(s for s in app.slider if s.label.startswith("Held-out")).set_value(0.3)
    next(s for s in app.selectbox if s.label.startswith("Column to predict")).set_value("safety")
    app = press(app, "Next")
    assert {key: app.query_params.get(key) for key in ("data", "data_target", "data_held_out", "data_bits")} == {
        "data": "car", "data_target": "safety", "data_held_out": "0.3", "data_bits": "true",
    }  # fmt: skip
    app = app.switch_page("data.py").run()
    app.pills(key=SAMPLE_KEY).set_value("asia").run()
    assert dict(app.query_params) == {"data": "asia"}
    app.pills(key=SAMPLE_KEY).set_value(None).run()  # the data that is open stays marked
    assert app.pills(key=SAMPLE_KEY).value == "asia"


def test_a_step_back_in_the_browser_loads_nothing_again_and_replaces_no_table_of_the_users_own() -> None:
    app = at("generator", data="car")
    current = app.session_state["dataset"]
    app = app.switch_page("start.py").run()  # whose address speaks of no data
    app.query_params.clear()
    app.run()
    app.query_params["data"] = "car"
    app = app.switch_page("generator.py").run()
    assert app.session_state["dataset"] is current
    app.query_params["data"] = "asia"
    assert app.run().session_state["dataset"].sample == "asia"
    own = app.session_state["dataset"] = replace(current, sample=None)
    for name in ("own", "asia", "car"):
        app.query_params["data"] = name
        app.run()
        assert app.session_state["dataset"] is own
        assert app.query_params["data"] == "own"


@pytest.mark.parametrize(
    "nonsense",
    [
        {"data_columns": "{"},
        {"data_columns": '["doors"]'},
        {"data_columns": '{"doors":{"kind":"colour"}}'},
        {"data_columns": '{"doors":{"categories":["2"]}}'},
        {"data_columns": "{" + ",".join(f'"{name}":null' for name in ("buying", "maint", "doors", "persons")) + ', "x":1}'},
        {"data_target": "nothing"},
        {"data_held_out": "0.99"},
        {"data_held_out": "half"},
        {"data_bits": "perhaps"},
    ],
)
def test_nonsense_about_the_data_falls_back(nonsense: dict[str, str]) -> None:
    app = at("data", data="car", **nonsense)
    assert not app.exception
    current = app.session_state["dataset"]
    assert (current.target, current.held_out, current.two_valued_as_bit) == (SAMPLES["car"].target, 0.25, False)
    assert set(current.table.domain.names) <= set(current.full.domain.names)
    assert not set(app.query_params) & (nonsense.keys() - {"data_columns"})


def test_the_classes_of_dp_cda_are_in_the_link() -> None:
    key = "cda_table_car_class_40_0"
    query = {"data": "car", "mechanism": "DP-CDA", "cda_rows_car": "40", "cda_by_class_car": "true"}
    app = at("generator", **query, **{key: "1,2,30,4"})
    assert list(app.query_params[key].split(",")) == ["1", "2", "30", "4"]
    classes = app.session_state["dataset"].table.domain["class"].categories
    assert f"rows={dict(zip(classes, (1, 2, 30, 4), strict=True))!r}" in code_of(app)
    for wrong in ("1,2", "1,2,x,4", "1;2;3;4", "-1,2,3,4", "1,2,3,99999999999"):
        app = at("generator", **query, **{key: wrong})
        assert not app.exception
        assert f"rows={dict.fromkeys(classes, 10)!r}" in code_of(app)
        assert key not in app.query_params


def test_a_setting_of_another_page_does_not_stay_in_the_address() -> None:
    key = "cda_table_car_class_40_0"
    query = {"data": "car", "mechanism": "DP-CDA", "cda_rows_car": "40", "cda_by_class_car": "true", key: "1,2,30,4"}
    app = at("generator", **query)
    app.number_input(key="cda_rows_car").set_value(80).run()
    assert key not in app.query_params
    assert not app.exception
