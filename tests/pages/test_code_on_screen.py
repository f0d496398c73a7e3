"""The code of every page and view runs as it is, and prints the numbers that the view shows."""

from __future__ import annotations

import ast
import re
import runpy
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from streamlit.testing.v1 import AppTest

from dpsyn.app.explorer import sections
from dpsyn.app.lab.planner import NO_TARGET
from dpsyn.kit.widgets import humanise
from dpsyn.mechanisms.dp_cda.panels import VIEWS as MIXING
from dpsyn.mechanisms.noisy_reweighting.panels import VIEWS as REWEIGHTING
from dpsyn.mechanisms.private_sampling.panels.sections import SECTIONS as SAMPLING
from tests.pages.conftest import finish_job
from tests.pages.test_share import at, code_of

FEASIBILITY = sections()

Query = dict[str, str | list[str]]
_NUMBER = r"-?\d[\d,]*(?:\.\d+)?(?:e[+-]?\d+)?"
_SUPERSCRIPTS = str.maketrans("⁻⁰¹²³⁴⁵⁶⁷⁸⁹−", "-0123456789-")


def words(app: AppTest) -> str:
    """Everything that the page says in words, without what keeps them from being mark-up."""
    said = (e.value for kind in (app.markdown, app.caption, app.success, app.warning, app.error) for e in kind)
    return "\n".join(said).replace("\N{NO-BREAK SPACE}", " ").replace("\\", "")


def metrics(app: AppTest, *labels: str) -> list[str]:
    """The figures that stand under these labels."""
    found = {metric.label: str(metric.value).replace("\N{NO-BREAK SPACE}", " ") for metric in app.metric}
    return [found[label] for label in labels]


def inside(text: str, pattern: str) -> list[str]:
    """The numbers that a sentence of the page gives."""
    match = re.search(pattern, text)
    assert match, f"{pattern!r} is not on the page: {text}"
    return list(match.groups())


def plain(shown: str) -> tuple[float, float]:
    """A number as the page writes it, and half a unit of its last digit."""
    text = re.sub(r" × 10([⁻⁰¹²³⁴⁵⁶⁷⁸⁹]+)", lambda m: "e" + m[1].translate(_SUPERSCRIPTS), shown).translate(_SUPERSCRIPTS)
    digits = text.strip("+% ").replace(",", "")
    mantissa, _, exponent = digits.partition("e")
    unit = 10.0 ** (int(exponent or 0) - len(mantissa.partition(".")[2]))
    share = 0.01 if shown.endswith("%") else 1.0
    return float(digits) * share, unit * share / 2


def is_printed(shown: str, output: str) -> bool:
    """Whether the output has the number that the page shows, to all digits that it shows, or rounded up to them."""
    value, half = plain(shown)
    printed = [float(text.replace(",", "")) for text in re.findall(_NUMBER, output)]
    less, rounding = half * (1 + 1e-6) + 1e-12, half + 1e-12
    return any(-less <= value - number <= less + rounding for number in printed)


def run(text: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> str:
    """What the code prints, run as a script in an empty folder."""
    script = tmp_path / "on_screen.py"
    script.write_text(text, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    capsys.readouterr()
    runpy.run_path(str(script), run_name="__main__")
    return capsys.readouterr().out


def as_text(cell: object) -> str:
    """What a cell or heading says, without the backslashes that keep it from being read as Markdown."""
    return re.sub(r"\\(.)", r"\1", str(cell)).replace("\N{NO-BREAK SPACE}", " ")


def tables(app: AppTest) -> list[pd.DataFrame]:
    """All tables of the page, as text."""
    return [table.value.map(as_text).rename(columns=as_text) for table in [*app.table, *app.dataframe]]


def table_with(app: AppTest, column: str) -> pd.DataFrame:
    """The first table that has the column."""
    return next(table for table in tables(app) if column in table.columns)


def guarantee(app: AppTest) -> list[str]:
    return inside(
        words(app),
        r"The release will be \*\*(?:a demonstration without a guarantee \(without a seed[^:]*: )?\(?([\d.]+)",
    )


SMALL: Query = {"is_columns_asia": ["smoke", "lung", "bronc"], "is_floor": "0.1"}
FEW: Query = {"inside_mechanism": "Noisy reweighting", "in_nr_columns_asia_2": ["smoke", "lung", "bronc"], "in_nr_seed": "3"}
MIXED: Query = {"inside_mechanism": "DP-CDA", "epsilon": "10"}
EVERY_FEASIBILITY, EVERY_SAMPLING = list(FEASIBILITY), list(SAMPLING)
EVERY_REWEIGHTING, EVERY_MIXING = list(REWEIGHTING), list(MIXING)
Case = tuple[str, Query, Callable[[AppTest], Iterable[str]]]

CASES: dict[str, Case] = {
    "data": ("data", {"data": "car"}, lambda app: metrics(app, "Rows, n", "Distinct rows", "Bits of a row, p")),
    "data as set": (
        "data",
        {"data": "car", "data_bits": "true", "data_columns": '{"doors":null,"maint":null}', "data_held_out": "0.4"},
        lambda app: [
            *metrics(app, "Rows, n", "Distinct rows", "Bits of a row, p"),
            *inside(words(app), r"Mechanisms see ([\d,]+) rows; ([\d,]+)"),
        ],
    ),
    "private sampling": (
        "generator",
        {"mechanism": "Private sampling", "epsilon": "10", "ps_floor": "0.4", "demo": "true"},
        guarantee,
    ),
    "noisy reweighting": (
        "generator",
        {"data": "car", "mechanism": "Noisy reweighting", "degree": "1", "nr_noise": "Laplace", "demo": "true"},
        guarantee,
    ),
    "dp-cda": ("generator", {"mechanism": "DP-CDA", "cda_rows_asia": "40", "epsilon": "10", "demo": "true"}, guarantee),
    f"feasibility {EVERY_FEASIBILITY[1]}": (
        "feasibility",
        {"f_section": EVERY_FEASIBILITY[1], "epsilon": "10", "f_rows": "10"},
        lambda app: [text for text in table_with(app, "Smallest ε for k")["Smallest ε for k"] if text[0].isdigit()],
    ),
    f"feasibility {EVERY_FEASIBILITY[4]}": (
        "feasibility",
        {"f_section": EVERY_FEASIBILITY[4]},
        lambda app: table_with(app, "Exactly")["Exactly"][:2],
    ),
    "reduced space": (
        "inside",
        {"is_section": EVERY_SAMPLING[0], "is_space": "m uniform draws", "is_seed": "4"},
        lambda app: metrics(app, r"$\sigma_{\min}(W)$", "must reach √m/(2eᵈ)"),
    ),
    "shrinkage": (
        "inside",
        {**SMALL, "is_section": EVERY_SAMPLING[1]},
        lambda app: inside(words(app), r"\*\*λ = ([\d.]+)\*\*[\s\S]*- No density in the box scores more than ([\d.]+)"),
    ),
    "density": (
        "inside",
        {**SMALL, "is_section": EVERY_SAMPLING[2], "is_cube_asia": ["smoke", "lung", "bronc"], "is_walsh_asia": ["bronc"]},
        lambda app: [
            *metrics(app, "λ", "at the floor", "at the ceiling", "$w_J$ over the rows", "$w_J$ under h*"),
            *inside(words(app), r"λ = ([\d.]+) for these columns"),
        ],
    ),
    "density on a cube of categories": (
        "inside",
        {"data": "car", "is_section": EVERY_SAMPLING[2], "is_cube_car": ["safety", "class"], "is_bit_car_safety": "high"},
        lambda app: metrics(app, "$w_J$ over the rows", "$w_J$ under h*"),
    ),
    "privacy": (
        "inside",
        {**SMALL, "is_section": EVERY_SAMPLING[3], "is_rows": "500"},
        lambda app: [
            *metrics(app, "Exact loss of 500 rows"),
            *inside(words(app), r"λ (?:moves from|stays at) ([\d.]+\d)"),
        ],
    ),
    "noise of reweighting": (
        "inside",
        {**FEW, "in_nr_n_asia": "1,000"},
        lambda app: list(table_with(app, "Noise at n")["Noise at n"]),
    ),
    "fitted statistics": (
        "inside",
        {**FEW, "in_nr_view": EVERY_REWEIGHTING[1], "epsilon": "0.1"},
        lambda app: inside(
            words(app), r"([\d,]+) [\w ]+ of ([\d,]+) rows, noise of standard deviation (?:up to )?(\S+) on each"
        ),
    ),
    "support and rows": (
        "inside",
        {**FEW, "in_nr_view": EVERY_REWEIGHTING[2], "epsilon": "0.1"},
        lambda app: [*table_with(app, "Points")["Points"], *table_with(app, "Points")["Mean error"]],
    ),
    "noise of mixing": (
        "inside",
        {**MIXED, "data": "digits"},
        lambda app: [
            *metrics(app, "σ, exact accounting", "σ, published but wrong"),
            *inside(words(app), r"shortens ([\d.]+) % of the records"),
        ],
    ),
    "images": (
        "inside",
        {**MIXED, "data": "digits", "in_cda_view": EVERY_MIXING[1], "in_cda_seed": "5"},
        lambda app: metrics(app, "σ, exact accounting"),
    ),
    "points": (
        "inside",
        {**MIXED, "data": "breast_cancer", "in_cda_view": EVERY_MIXING[1], "in_cda_seed": "5"},
        lambda app: [
            *metrics(app, "σ, exact accounting"),
            *[f"{share}%" for share in inside(words(app), r"carry (\d+) % of the variance")],
        ],
    ),
    "order of mixture": (
        "inside",
        {**MIXED, "in_cda_view": EVERY_MIXING[2]},
        lambda app: inside(words(app), r"l = (\d+) leaves the most"),
    ),
    "against the paper": (
        "inside",
        {**MIXED, "data": "digits", "in_cda_view": EVERY_MIXING[3]},
        lambda app: [
            text.removeprefix("ε = ").removeprefix("σ = ") for text in metrics(app, "The paper claims", "With its noise")
        ],
    ),
}


def imports_what_it_uses_and_no_more(code: str) -> bool:
    tree = ast.parse(code)
    imported = {
        (alias.asname or alias.name).split(".")[0]
        for node in ast.walk(tree)
        if isinstance(node, ast.Import | ast.ImportFrom)
        for alias in node.names
    }
    used = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}
    return imported <= used


@pytest.mark.parametrize("name", CASES)
def test_the_code_prints_what_the_view_shows(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    page, query, read = CASES[name]
    app = at(page, **query)
    shown = list(read(app))
    assert shown
    assert imports_what_it_uses_and_no_more(code_of(app))
    output = run(code_of(app), tmp_path, monkeypatch, capsys)
    missing = [number for number in shown if not is_printed(number, output.replace("%", "e-2"))]
    assert not missing, f"{missing} of {shown} are not in:\n{output}"


@pytest.mark.parametrize("query", [{}, {"epsilon": "10", "f_data": ["ADULT"]}, {"f_exact": "true"}, {"f_section": "Export"}])
def test_the_code_gives_the_verdicts(
    query: Query, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    verdicts = at("feasibility", **{name: value for name, value in query.items() if name != "f_section"})
    output = run(code_of(at("feasibility", **query)), tmp_path, monkeypatch, capsys)
    summaries = [
        m[1] for m in re.finditer(r"^(?:Private sampling|Noisy reweighting|DP-CDA) (?:True|False) (.+)$", output, re.M)
    ]
    assert len(summaries) == 3
    for summary in summaries:
        assert humanise(summary) in words(verdicts)


def test_the_code_gives_the_claims_on_dp_cda(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    app = at("feasibility", f_section="DP-CDA", f_sigma="0.2", f_orders="1, 4, 16", f_class_asia="5000")
    said = [e.label for e in app.expander if " · " in e.label and e.label.startswith("**")]
    output = run(code_of(app), tmp_path, monkeypatch, capsys)
    assert len(said) >= 3
    for label in said:
        verdict, statement = label.removeprefix("**").split("** · ")
        assert f"{verdict.lower()} {statement}" in output
    for text in (m.value for m in app.markdown if "*Why:*" in m.value):
        assert text.split("\n\n")[0] in output


def test_the_code_of_noisy_reweightings_theorems(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    app = at("feasibility", f_section="Noisy reweighting", f_accuracy="0.05", epsilon="10")
    output = run(code_of(app), tmp_path, monkeypatch, capsys)
    found: dict[str, Any] = {}
    exec(code_of(app).split("print(reweighting_frame")[0], found)
    frame = found["reweighting_frame"](found["found"])
    assert frame.to_string() in output
    assert any(table.equals(frame.astype(str)) for table in tables(app))


def test_the_code_of_an_audit_audits_the_same_claim(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    chosen = {"audit_mechanism": "DP-CDA", "audit_epsilon": "5.0", "audit_runs": "1,000"}
    app = at("inside", inside_mechanism="Audits of all", **chosen)
    output = run(code_of(app), tmp_path, monkeypatch, capsys)
    assert is_printed("5.000", output)
    assert "half of the noise (on purpose): " in output
    assert "REFUTED" in output


def test_the_code_of_an_experiment_gives_its_numbers(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    columns = '{"doors":null,"persons":null,"lug_boot":null}'
    app = at("comparison", data="car", data_columns=columns, comparison_what="Experiments", lab_repeats="1")
    tag = app.session_state["dataset"].tag
    app.text_input(key=f"lab_values_epsilon_{tag}").set_value("1, 10").run()
    app.multiselect(key=f"lab_mechanisms_{tag}").set_value(["Noisy reweighting"]).run()
    app.selectbox(key=f"lab_target_{tag}").set_value(NO_TARGET).run()
    text = code_of(app)
    app.button(key="lab_start").click().run()
    app = finish_job(app)
    table = table_with(app, "Claimed ε")
    output = run(text, tmp_path, monkeypatch, capsys)
    assert len(table) == 2
    for mean in table["Mean"]:
        assert is_printed(f"{float(mean):.4f}", output)
