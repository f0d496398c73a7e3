"""The feasibility page shows what dpsyn.feasibility says, for any data and any slider."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import dpsyn
from dpsyn.app.road import offers
from dpsyn.mechanisms.feasibility import verdict_of
from dpsyn.notation import percent
from dpsyn.theory.datasets import BUILT_IN
from tests.notebook import read
from tests.pages.conftest import charts, confirm


def verdict_titles(app):
    return [m.value.removeprefix("## ") for m in app.markdown if m.value.startswith("## ")][:3]


def metric(app, label):
    return next(m.value for m in app.metric if label in m.label)


def test_three_verdicts_and_two_charts_for_the_loaded_data(open_page):
    app = open_page("feasibility")
    assert verdict_titles(app) == ["Private sampling", "Noisy reweighting", "DP-CDA"]
    assert charts(app) == 2


def test_sliders_change_the_verdict_as_the_library_does(open_page):
    app = open_page("feasibility")
    app.select_slider(key="epsilon").set_value(10.0)
    app.slider(key="degree").set_value(1)
    app.slider(key="f_floor").set_value(0.2)
    app.select_slider(key="f_rows").set_value(1).run()
    assert not app.exception
    stats = app.session_state["dataset"].statistics
    expected = dpsyn.feasibility(
        stats, dpsyn.PrivacySpec(10.0, 1e-5), degree=1, floor=0.2, ceiling=2.0, rows=1, failure_probability=0.125
    )
    table = app.table[0].value
    assert list(table["Condition"]) == [c.label for c in expected.private_sampling.conditions]
    assert [float(text.replace("−", "-")) for text in table["Orders of magnitude"]] == pytest.approx(
        [c.slack_orders for c in expected.private_sampling.conditions], abs=0.005
    )
    assert [mark.startswith("✓") for mark in table[""]] == [c.holds for c in expected.private_sampling.conditions]


@pytest.mark.parametrize("name", sorted(BUILT_IN))
def test_the_papers_datasets_are_built_in(open_page, name):
    app = open_page("feasibility")
    app.pills(key="f_data").set_value([name]).run()
    assert not app.exception
    assert metric(app, "Bits") == str(BUILT_IN[name].p)


def test_typed_in_statistics(open_page):
    app = open_page("feasibility")
    app.pills(key="f_data").set_value(["Typed in"]).run()
    app.number_input(key="f_p").set_value(10_000)
    app.number_input(key="f_n").set_value(10**15)
    app.number_input(key="f_max").set_value(1e-12).run()
    assert not app.exception
    assert metric(app, "Bits") == "10,000"
    assert app.table[0].value["Required"].str.contains("10[⁰¹²³⁴⁵⁶⁷⁸⁹]{3}").any()
    assert [m.label.split(",")[0] for m in app.metric][:2] == ["Rows", "Bits of a row"]  # nobody knows the columns
    assert not [caption for caption in app.caption if "is taken" in caption.value]
    app.number_input(key="f_p").set_value(1).run()
    assert [caption for caption in app.caption if caption.value.endswith("at least 1/n and 2⁻ᵖ: 0.5 is taken.")]
    assert metric(app, "Commonest row").startswith("50")  # of the rows of one bit, half are equal at least


@pytest.mark.parametrize(("epsilon", "floor"), [(0.001, 0.01), (1000.0, 0.01), (1000.0, 0.5)])
def test_the_ends_of_the_sliders_give_a_page(open_page, epsilon, floor):
    app = open_page("feasibility")
    app.select_slider(key="epsilon").set_value(epsilon)
    app.slider(key="f_floor").set_value(floor)
    app.select_slider(key="f_ceiling").set_value(1.05)
    app.slider(key="degree").set_value(4)
    app.select_slider(key="f_rows").set_value(10**6).run()
    assert not app.exception
    assert len(verdict_titles(app)) == 3


@pytest.mark.parametrize("confirmed", [False, True])
def test_no_green_privacy_before_the_domain_is_confirmed(open_page, confirmed):
    app = open_page("data")
    text = "who,ill\n" + "ann,yes\nbob,no\ncid,no\n" * 100
    app.file_uploader(key="upload").upload("people.csv", text.encode(), "text/csv").run()
    if confirmed:
        app = confirm(app)
        assert app.session_state["dataset"].table.domain.is_public
    app = app.switch_page("feasibility.py").run()
    app.select_slider(key="epsilon").set_value(1000.0)
    app.select_slider(key="f_rows").set_value(1).run()
    assert not app.exception
    said = [m.value for m in app.markdown] + [c.value for c in app.caption]
    green = sum(text.startswith(("Private,", "Private:", "Private.", "Private with", "Private if")) for text in said)
    waits = sum(text.startswith("Once the domain is confirmed, this is private") for text in said)
    caveats = sum("The domain of who, ill was inferred" in text for text in said)
    assert (green > 0, waits > 0, caveats) == ((True, False, 0) if confirmed else (False, True, 1))


def numbers(app):
    return [m.value.split(":] ")[1] for m in app.markdown if m.value.startswith("### :")]


def test_a_card_has_the_number_of_the_library(open_page):
    app = open_page("feasibility")
    current = app.session_state["dataset"]
    classes, smallest = current.balance
    found = dpsyn.feasibility(
        current.statistics,
        dpsyn.PrivacySpec(1.0, 1e-5),
        degree=2,
        rows=1000,
        accuracy=0.125,
        order_of_mixture=8,
        classes=classes,
        smallest_class=smallest,
    )
    assert numbers(app) == [verdict.headline.number for verdict in found]
    assert found.dp_cda.headline.level != "good"
    run = dpsyn.DPCDA(target=current.target, rows=1000, order_of_mixture=8, class_sizes=smallest)
    # The scale is that of a run with as many rows of each class, as the verdict assumes, and not a hundred times as much.
    scale = run.calibrate(dpsyn.PrivacySpec(1.0, 1e-5), current.table.domain, n=current.table.n).calibrated()["noise_scale"]
    assert float(found.dp_cda.headline.number.removeprefix("σ = ")) == pytest.approx(scale, rel=0.1)
    assert any(m.value.startswith("Private if class sizes are public. ") for m in app.markdown)


SLIDERS = {"f_rows": 1, "f_floor": 0.2, "f_ceiling": 1.5, "f_gamma": 0.2, "f_m": "100000", "degree": 1, "order": 64}


@pytest.fixture
def verdicts_of_notebook(monkeypatch):
    """What the cell on theorems shows of the notebook that a visit takes along."""
    files: dict[str, Any] = {}

    def keep(_label, data, file, **_options):
        files[file.rsplit(".")[-1]] = data

    monkeypatch.setattr("dpsyn.kit.widgets.download", keep)

    def shown():
        cells = ["".join(cell["source"]) for cell in read(files["ipynb"]())["cells"] if cell["cell_type"] == "code"]
        names: dict[str, Any] = {"np": np, "dpsyn": dpsyn}
        (asked,) = (cell for cell in cells if "\ndpsyn.feasibility(" in cell)
        exec(next(cell for cell in cells if "train, test = " in cell), names)
        exec(asked.replace("dpsyn.feasibility(", "found = dpsyn.feasibility("), names)
        return [verdict.headline.number for verdict in names["found"]]

    return shown


@pytest.mark.parametrize("moved", [{}, SLIDERS])
def test_the_notebook_of_the_visit_says_what_the_page_says(open_page, verdicts_of_notebook, moved):
    app = open_page("feasibility", data="asia", epsilon="10", **{key: str(v) for key, v in moved.items()})
    app.session_state["share"] = True
    app.run()
    assert not app.exception
    said = numbers(app)
    assert not [warning for warning in app.warning if "Not taken from the link" in warning.value]
    assert verdicts_of_notebook() == said
    app = app.switch_page("data.py").run()
    assert verdicts_of_notebook() == said  # what the visit has seen, wherever it takes the notebook along


def test_the_notebook_of_a_visit_that_has_not_seen_the_page_says_what_it_would_say(open_page, verdicts_of_notebook):
    app = open_page("data", data="asia", epsilon="10", degree="1", order="64")
    app.session_state["share"] = True
    app.run()
    said = verdicts_of_notebook()
    assert said == numbers(app.switch_page("feasibility.py").run())


def test_the_answer_stands_above_the_cards(open_page):
    app = open_page("feasibility")
    said = [m.value for m in app.markdown]
    first = next(i for i, text in enumerate(said) if text.startswith("**With these settings no theorem promises accuracy"))
    assert first < said.index("## Private sampling")
    assert "Likely best on the Generator: noisy reweighting (" in said[first]
    app.number_input(key="f_accuracy").set_value(0.113).run()
    said = [m.value for m in app.markdown]
    assert any(text.startswith("Private. A theorem promises little: with probability 0.5") for text in said)
    assert any(text.startswith("**With these settings no theorem promises accuracy") for text in said)
    app.select_slider(key="f_rows").set_value(10**4)
    app.number_input(key="f_accuracy").set_value(0.05).run()
    assert any(m.value.startswith("**With these settings a theorem promises privacy and accuracy") for m in app.markdown)


def test_cards_of_the_loaded_data_say_what_a_run_is_expected_to_do(open_page):
    app = open_page("feasibility")
    found = {offer.name: offer for offer in offers(app.session_state["dataset"], dpsyn.PrivacySpec(1.0, 1e-5))}
    noise, bound = found["noisy_reweighting"].noise
    captions = [c.value for c in app.caption]
    said = f"Likely best on the Generator: noisy reweighting (noise on two-way tables {percent(noise)} {bound})."
    assert any(m.value.endswith(f"{said}**") for m in app.markdown)  # and its card does not say it again
    assert not any(text.startswith(("A run:", "A run's")) for text in captions)
    assert any(text.startswith("Generator: one row needs") for text in captions)
    app.pills(key="f_data").set_value(["ADULT"]).run()
    assert not any(c.value.startswith("A run") for c in app.caption)


def test_a_card_says_what_a_larger_epsilon_would_buy(open_page):
    app = open_page("feasibility", f_data="MUSHROOM")
    said = next(c.value for c in app.caption if "n is large enough for the noise" in c.value)
    assert said.endswith(" n is large enough for the noise to be small; other conditions still fail.")
    needed = float(said.removeprefix("At ε ≥ ").split()[0])
    for epsilon in (0.99 * needed, needed):
        spec = dpsyn.PrivacySpec(epsilon, 1e-5)
        verdict = verdict_of("noisy_reweighting", BUILT_IN["MUSHROOM"], spec, accuracy=0.125, rows=1000)
        assert verdict["n_noise"].holds == (epsilon == needed)


def test_a_button_makes_every_condition_hold(open_page):
    app = open_page("feasibility")
    button = app.button(key="set_noisy_reweighting")
    assert button.label == "Set accuracy to 0.113"
    button.click().run()
    assert not app.exception
    assert app.number_input(key="f_accuracy").value == 0.113
    assert numbers(app)[1] == "± 0.904"
    assert not any(b.key == "set_noisy_reweighting" for b in app.button)
    marks = app.table[1].value
    assert all(mark.startswith("✓") for mark in marks[""]), marks


@pytest.mark.parametrize("epsilon", [1.0, 15.8])
def test_a_mechanism_that_cannot_run_on_these_columns_has_no_number_and_no_remedy(open_page, epsilon):
    app = open_page("data")
    rows = b"".join(b",".join(b"ab"[(i >> j % 5) % 2 :][:1] for j in range(30)) + b"\n" for i in range(200))
    header = b",".join(b"c%d" % j for j in range(30)) + b"\n"
    app.file_uploader(key="upload").upload("wide.csv", header + rows, "text/csv").run()
    app = app.switch_page("feasibility.py").run()
    app.select_slider(key="epsilon").set_value(epsilon).run()
    assert not app.exception
    start = next(i for i, m in enumerate(app.markdown) if m.value == "## MWEM")
    number, why = [m.value for m in app.markdown][start + 1 : start + 3]
    assert number == "### :red[:material/cancel:] Not possible for these columns"
    assert why.endswith("at most 4,194,304, because MWEM keeps a weight for each. Leave out columns or bins.")
    assert not any(c.value.startswith("Not possible for these") or "close enough" in c.value for c in app.caption)
    assert {b.key for b in app.button}.isdisjoint({"set_mwem", "why_mwem"})
    app.pills(key="f_data").set_value(["ADULT"]).run()
    assert "why_mwem" in {b.key for b in app.button}  # nobody asks for a run on these


def test_only_settings_of_the_section_stand_outside(open_page):
    outside = {
        "Verdict": {"epsilon", "delta", "degree", "f_rows", "order"},
        "DP-CDA": {"epsilon", "delta", "f_rows", "order"},
        "The papers' tables": set(),
    }
    every = {"epsilon", "delta", "degree", "f_rows", "order", "f_floor", "f_ceiling", "f_gamma", "f_m", "f_accuracy"}
    for section, expected in outside.items():
        app = open_page("feasibility", f_section=section)
        sidebar = app.sidebar
        inside = {w.key for e in sidebar.expander for w in (*e.select_slider, *e.slider, *e.number_input)}
        found = {w.key for w in (*sidebar.select_slider, *sidebar.slider, *sidebar.number_input)}
        assert found == every
        assert found - inside == expected, section


def test_without_a_column_of_classes_nothing_is_said_of_their_sizes(open_page):
    app = open_page("data")
    rows = "".join(f"{i % 37},{i * 7 % 11}.5\n" for i in range(300))
    app.file_uploader(key="upload").upload("numbers.csv", f"a,b\n{rows}".encode(), "text/csv").run()
    app = app.switch_page("feasibility.py").run()
    assert not app.exception
    assert app.session_state["dataset"].target is None
    shown = [m.value for m in app.markdown]
    start = shown.index("## DP-CDA")
    assert shown[start + 1 : start + 3] == [
        "### :red[:material/cancel:] Not possible for these columns",
        "It needs a column of classes.",
    ]
    assert not [text for text in shown if "n/K" in text]
    assert [tab.label for tab in app.tabs] == ["Private sampling", "Noisy reweighting", "MWEM"]
    app.pills(key="f_data").set_value(["Loaded data", "CAR"]).run()
    assert not app.exception
    (beside,) = (table.value["DP-CDA"] for table in app.table if "DP-CDA" in table.value)
    assert beside.iloc[0] == "—"
    app.pills(key="f_data").set_value(["CAR"]).run()
    assert "DP-CDA" in [tab.label for tab in app.tabs]
    app.pills(key="f_data").set_value(["Loaded data"]).run()
    app.segmented_control(key="f_section").set_value("DP-CDA").run()
    assert [i.value for i in app.info if i.value.startswith("DP-CDA mixes records of one class, and this table has no")]
    assert not app.exception
