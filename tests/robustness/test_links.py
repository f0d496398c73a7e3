"""Links: whatever an address says, no page fails, and what no setting can have is named."""

from __future__ import annotations

import ast
import math
import os
import re
import zlib
from pathlib import Path
from typing import Any

import pytest
from streamlit.runtime.state.query_params import QueryParams
from streamlit.testing.v1 import AppTest

from dpsyn.app.address import _fit, _says
from dpsyn.app.lab.planner import values_of
from dpsyn.app.share import NAMES
from dpsyn.errors import DataError
from dpsyn.evaluation.experiments import read_archive
from tests.pages.test_settings_in_links import STATES
from tests.robustness.test_archives import OLD

ROOT = Path(__file__).parents[2]
BAD: list[list[str]] = [
    ["inf"], ["nan"], ["-inf"], ["1e400"], ["-1"], ["-1e400"], [""], ["x" * 20_000], ["9" * 5_000], ["1,2," * 2_000], ["0"],
    ["1e300"], ["½", "\0"], ["\u202e∞ ε"], ["1", "2", "1"], ["", ""], ["**b** ![i](http://example.org/x) <b>"], ["true"],
    ["None"], ["[" * 5_000], ["1; DROP"], ["2024-01-01"], ["0x10"], ["99999999999999999999"], ["0.123456789"],
]  # fmt: skip
ALL = os.environ.get("DPSYN_FUZZ") == "random"
MORE: dict[str, tuple[str, dict[str, str | list[str]]]] = {
    "a release": ("comparison", {}),
}
NOTHING_OF_THEIR_OWN = {
    "data", "data, numeric", "domain", "feasibility, Verdict", "feasibility, DP-CDA", "private sampling, all of it",
    "noisy reweighting, marginals", "dp-cda, class by class", "inside sampling, 1 · Reduced space",
    "inside sampling, 2 · Why λ",
    "inside reweighting, Fitted statistics",
    "inside mixing, Noise and budget", "inside mixing, What mixing does",
    "inside mixing, Order of mixture", "comparison",
}  # fmt: skip
"""States all of whose settings another one shows, too."""
TRIED = {name: state for name, state in (STATES | MORE).items() if ALL or name not in NOTHING_OF_THEIR_OWN}
asked: set[str] = set()
"""Keys that pages have asked an address for."""


@pytest.mark.parametrize("shift", range(len(BAD)) if ALL else (6,))
@pytest.mark.parametrize("name", TRIED)
def test_bad_values_for_every_setting_of_a_page(name: str, shift: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every setting that the page has is given one bad value or another by the address, whatever the setting is called."""
    page, query = TRIED[name]
    of_link = QueryParams.get_initial_value

    def bad(params: QueryParams, key: str) -> str | list[str] | None:
        asked.add(key)
        if key in query:
            return of_link(params, key)
        texts = BAD[(zlib.crc32(f"{key} {name}".encode()) + shift) % len(BAD)]
        return (texts if len(texts) > 1 else texts[0]) if all(map(_fit, texts)) else None

    monkeypatch.setattr(QueryParams, "get_initial_value", bad)
    app = opened(page, releases=name == "a release", **query)
    assert query.keys() <= app.query_params.keys(), "this state is not what its name says"


def opened(page: str, *, releases: bool = False, **query: str | list[str]) -> AppTest:
    app = AppTest.from_file(str(ROOT / "pages" / "_router.py"), default_timeout=120)
    if releases:
        app.session_state["releases"] = read_archive(OLD.read_bytes()).releases
    app.query_params.update(query)
    app = app.switch_page(f"{page}.py").run()
    assert not app.exception, (query, app.exception)
    assert not any("Traceback" in error.value for error in app.error)
    return app


def said(app: AppTest) -> str:
    return " ".join(warning.value for warning in app.warning).replace("\\", "")


def test_every_setting_in_the_source_was_asked_for() -> None:
    """Whoever adds a setting that no state above shows has to add a state."""
    if not asked:
        pytest.skip("it needs the pages above")
    unseen = []
    # Once something has been measured or released, which takes a job; classes of more than any sample has.
    asked.update(("comparison_column_of_data", "csv_guard", "in_cda_classes_of_many"))
    for path in [*(ROOT / "pages").glob("*.py"), *(ROOT / "dpsyn").rglob("*.py")]:
        for call in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if not isinstance(call, ast.Call):
                continue
            given = {keyword.arg: keyword.value for keyword in call.keywords}
            key, bound = given.get("key"), "bind" in given or ast.unparse(call.func) in ("widgets.one_of", "widgets.pick")
            if bound and isinstance(key, ast.Constant | ast.JoinedStr):
                parts = key.values if isinstance(key, ast.JoinedStr) else [key]
                pattern = "".join(re.escape(part.value) if isinstance(part, ast.Constant) else ".+" for part in parts)
                if not any(re.fullmatch(pattern, one) for one in asked):
                    unseen.append(f"{path.relative_to(ROOT)}:{call.lineno} {pattern}")
    assert unseen == []


@pytest.mark.parametrize(
    ("query", "epsilon", "refused"),
    [
        ({"epsilon": "10", "ps_epsilon": "0.1"}, 10.0, "ps_epsilon"),
        ({"ps_epsilon": "0.1", "epsilon": "10"}, 10.0, "ps_epsilon"),
        ({"nr_epsilon": "0.1", "ps_epsilon": "10"}, 0.1, "ps_epsilon"),
        ({"epsilon": "10", "ps_epsilon": "x"}, 10.0, "ps_epsilon"),
        ({"nr_epsilon": "0.1", "ps_epsilon": "0.1"}, 0.1, ""),
        ({"present": "1"}, 1.0, "present"),
        ({"present": "true"}, 1.0, ""),
    ],
)
def test_of_two_names_of_one_setting_one_counts_and_the_other_is_named(query, epsilon: float, refused: str) -> None:
    app = opened("generator", **query)
    assert app.session_state["epsilon"] == epsilon
    assert (f"Not taken from the link: {refused}." if refused else "") in said(app)
    assert bool(refused) == ("Not taken" in said(app))
    assert app.query_params.get("epsilon", "1") == str(epsilon).removesuffix(".0")
    assert "ps_epsilon" not in app.query_params


ENDLESS = {
    "generator": [
        ({"demo": "true"}, ["seed"]),
        ({"ps_most": "false", "ps_whole": "false"}, ["ps_m", "ps_rows"]),
        ({"mechanism": "Noisy reweighting", "nr_more": "true"}, ["nr_rows_asia", "nr_refinements"]),
        ({"mechanism": "DP-CDA", "cda_estimate": "false"}, ["cda_rows_asia", "cda_sizes"]),
    ],
    "comparison": [({"comparison_what": "Experiments"}, ["lab_seed", "lab_repeats", "lab_values_epsilon_asia"])],
    "inside": [({"inside_mechanism": "Noisy reweighting"}, ["in_nr_seed"])],
}


@pytest.mark.parametrize(
    ("mechanism", "words"),
    [
        ("Private sampling", {"ps_space": "whatever fits"}),
        ("Noisy reweighting", {"nr_way": "With every improvement"}),
        ("DP-CDA", {"cda_way": "Exactly l records", "cda_rows_by": "in proportion to their sizes"}),
    ],
)
def test_what_is_usual_may_stand_in_an_address(mechanism: str, words: dict[str, str]) -> None:
    assert "Not taken" not in said(opened("generator", mechanism=mechanism, **words))
    others = opened("generator", mechanism=mechanism, **dict.fromkeys(words, "whatever"))
    assert f"Not taken from the link: {', '.join(words)}." in said(others)


@pytest.mark.parametrize(
    ("chosen", "refused"), [("Noisy reweighting,DP-CDA", False), (["Noisy reweighting", "DP-CDA"], False), ("MST,AIM", True)]
)
def test_a_usual_list_may_stand_in_an_address_in_one_text(chosen: str | list[str], refused: bool) -> None:
    app = opened("comparison", data="car", comparison_what="Experiments", lab_mechanisms_car=chosen)
    assert app.multiselect(key="lab_mechanisms_car").value == ["Noisy reweighting", "DP-CDA"]
    assert ("Not taken from the link: lab_mechanisms_car." in said(app)) == refused


@pytest.mark.parametrize("text", ["inf", "nan"])
@pytest.mark.parametrize("page", ENDLESS)
def test_numbers_without_end_are_dropped_and_named(page: str, text: str) -> None:
    for query, keys in ENDLESS[page]:
        app = opened(page, **query, **dict.fromkeys(keys, text))
        assert not set(keys) & set(app.query_params)
        assert f"Not taken from the link: {', '.join(keys)}." in said(app)


def test_what_a_widget_cannot_have_is_named_and_its_default_is_not() -> None:
    app = opened("generator", mechanism="Private sampling", degree="-1", ps_floor="0.25", epsilon="x", ps_most="true")
    assert "link: degree, epsilon." in said(app)
    assert "degree" in said(app.run())
    fraction = opened("generator", demo="true", seed="1.5")
    assert fraction.number_input(key="seed").value == 1
    assert "Not taken from the link: seed." in said(fraction)
    two = opened("generator", demo=["true", "true"], seed=["7", "8"], mechanism=["MST", "MWEM"], ps_floor="0.25")
    assert "Not taken from the link: demo, seed, mechanism." in said(two)
    assert "Not taken from the link: data." in said(opened("generator", data=["car", "asia"]))
    gone = opened("inside", inside_mechanism="DP-CDA", in_cda_view="Against the paper", in_cda_sizes="This data")
    assert "Not taken from the link: in_cda_sizes." in said(gone)
    assert "Not taken from the link" not in said(app.switch_page("lessons.py").run())


@pytest.mark.parametrize(
    ("query", "named"),
    [
        ({"data": "../../etc/passwd"}, "data"),
        ({"data_target": "zzz"}, "data_target"),
        ({"data": "own", "data_target": "zzz"}, "data_target"),
        (
            {"data": "car", "data_target": "zzz", "data_held_out": "0.9", "data_bits": "7", "data_columns": "[]"},
            "data_columns, data_target, data_held_out, data_bits",
        ),
    ],
)
def test_what_the_address_says_of_the_data_is_taken_or_named(query: dict[str, str], named: str) -> None:
    app = opened("lessons", **query)
    assert f"Not taken from the link: {named}." in said(app)


def test_what_a_link_may_say_of_the_data_is_no_refusal() -> None:
    good = {"data_target": "safety", "data_held_out": "0.25", "data_bits": "false", "data_columns": "{}"}
    assert "Not taken from the link" not in said(opened("lessons", data="car", **good))
    assert "Not taken from the link" not in said(opened("lessons", data="own"))


def test_a_setting_that_goes_back_to_its_default_is_no_refusal() -> None:
    app = opened("generator", degree="3")
    app.slider(key="degree").set_value(2).run()
    app.query_params.pop("degree", None)
    assert "Not taken from the link" not in said(app.run())


def test_a_key_that_nobody_has_is_left_alone() -> None:
    app = opened("data", utm_source="x", **{"__proto__": "1", "𝔘": "ü"})
    assert "Not taken from the link" not in said(app)
    long = opened("data", **{"k" * 20_000: "1"})
    assert "link: " + "k" * 60 + "." in said(long)


@pytest.mark.parametrize("key", NAMES)
def test_bad_values_about_the_data(key: str) -> None:
    app = AppTest.from_file(str(ROOT / "pages" / "_router.py"), default_timeout=120)
    hostile = [
        '{"doors":{"public":"no"}}',
        '{"doors":[]}',
        '{"doors":{"lower":1e400}}',
        '{"doors":{"bins":' + "9" * 400 + "}}",
    ]
    hostile += [
        '{"doors":{"kind":"numeric","lower":0,"upper":' + "9" * 400 + "}}",
        "[" * 9_000,
        '{"\\ud800":null}',
        "null",
        "3",
    ]
    for texts in [[text] for text in hostile] if key == "data_columns" else BAD[::4]:
        app.query_params = {"data": "car", key: texts}
        app.run()
        assert not app.exception, (key, texts, app.exception)


def test_the_door_itself() -> None:
    assert [_fit(text) for text in ("", "3", "1e300", "asia", "x" * 10_000)] == [True] * 5
    assert [_fit(text) for text in ("inf", " NaN ", "-Infinity", "1e309", "9" * 400, "x" * 10_001)] == [False] * 6
    same: list[tuple[str, Any]] = [
        ("TRUE", True),
        ("2", 2),
        ("1,000", 1000),
        ("1e-5", 1e-5),
        ("Private sampling", "private_sampling"),
    ]
    assert all(_says([text], value) for text, value in same)
    assert not any(_says([text], value) for text, value in [("-1", 2), ("x", 2), ("false", True), ("colour", "epsilon")])
    assert _says(["a", "b"], ["a", "b"])
    assert not _says(["a"], ["a", "b"])
    assert _says(["Noisy reweighting,DP-CDA"], ["Noisy reweighting", "DP-CDA"])
    assert not _says(["DP-CDA,MST"], ["Noisy reweighting", "DP-CDA"])


@pytest.mark.parametrize("text", ["inf", "1, nan", "1, 10, 1e1", "1e400", "1 2 x", "0x10", " ".join(["1"] * 51)])
def test_values_of_an_experiment_are_finite_numbers(text: str) -> None:
    with pytest.raises(DataError):
        values_of(text)
    with pytest.raises(DataError, match="too large"):  # what was typed is not shown as another number
        values_of("1, 1e400")
    with pytest.raises(DataError, match=r"^10 stands there twice: write every value once"):
        values_of("1, 10, 1e1")
    assert all(map(math.isfinite, values_of("1, 2; 3e300")))
