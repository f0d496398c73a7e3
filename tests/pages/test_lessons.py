"""Every step of every lesson opens, follows its sliders, keeps its answer back, and can be compared with a pinned state."""

from __future__ import annotations

import math
import re
from itertools import combinations, product
from urllib.parse import parse_qs, urlsplit

import numpy as np
import pytest
import vl_convert

from dpsyn.app.lessons import lessons
from dpsyn.app.lessons.histogram import column, mean_errors, noisy, off, randomised, shares
from dpsyn.app.lessons.player import PICTURES
from dpsyn.app.lessons.practice import below, gap, grown, largest_error, small, tried
from dpsyn.errors import ParameterError
from dpsyn.kit.lesson import MOST_SLIDERS, Slider, Step, rows
from dpsyn.kit.verdicts import DOCS, DOCUMENTS
from dpsyn.mechanisms.dp_cda.inside import Inside, Records
from dpsyn.mechanisms.registry import offered
from dpsyn.notation import short, signed
from dpsyn.privacy.spec import PrivacySpec
from dpsyn.privacy.zcdp import zcdp_delta
from tests.pages.test_share import at

STEPS = [(title, at) for title, lesson in lessons().items() for at in range(1, len(lesson.steps) + 1)]
ASKED = [(title, at) for title, at in STEPS if lessons()[title].steps[at - 1].question is not None]


SHARED = {"epsilon", "degree", "order"}
"""Keys that the lab has from the budget that all pages share."""


def opened(title: str, step: int, guess: str = "", **query: str):
    app = at("lessons", lesson=title, step=str(step), **query)
    if guess:
        app.pills(key=f"{lessons()[title].key}_{step}_guess").set_value(guess).run()
    assert not app.exception
    assert not app.error  # a fragment that fails shows an error in its place
    assert not app.warning
    return app


def charts(app) -> int:
    return len(app.get("vega_lite_chart")) + len(app.get("plotly_chart"))


def test_there_are_eight_lessons_with_a_picture_each():
    assert len(lessons()) >= 8
    for lesson in lessons().values():
        assert 2 <= len(lesson.steps) <= 4
        assert (PICTURES / f"{lesson.key}.png").is_file()
    app = at("lessons")
    lab, *cards = (link.proto.label for link in app.get("page_link"))
    assert lab == "Inside: every step on your data"
    assert cards == list(lessons())
    assert charts(app) == 0  # the gallery is pictures that were made before


@pytest.mark.parametrize(("title", "number"), STEPS)
def test_a_step_opens_with_one_picture_and_at_most_two_sliders(title, number):
    step = lessons()[title].steps[number - 1]
    app = opened(title, number)
    assert charts(app) == 1
    assert len(step.sliders) <= 2
    assert len(app.select_slider) == (0 if step.question else len(step.sliders))  # they come after the guess
    assert any(step.text in m.value for m in app.markdown)


@pytest.mark.parametrize(("title", "number"), STEPS)
def test_a_slider_moves_the_picture(title, number):
    lesson = lessons()[title]
    step = lesson.steps[number - 1]
    app = opened(title, number, step.question.answers[0] if step.question else "")
    before = app.caption[0].value
    for slider in step.sliders:
        shown = app.select_slider(key=f"{lesson.key}_{number}_{slider.name}")
        other = next(value for value in slider.values[::-1] if value != slider.value)
        app = shown.set_value(other).run()
        assert not app.error
    assert app.caption[0].value != before


@pytest.mark.parametrize(("title", "number"), ASKED)
def test_the_answer_comes_after_the_guess(title, number):
    lesson = lessons()[title]
    question = lesson.steps[number - 1].question
    app = opened(title, number)
    before = app.caption[0].value
    assert before.startswith("**Before your guess**. ")
    assert "material/c" not in " ".join(m.value for m in app.markdown)  # neither mark
    wrong = next(answer for at, answer in enumerate(question.answers) if at != question.right)
    app = app.pills(key=f"{lesson.key}_{number}_guess").set_value(wrong).run()
    said = " ".join(m.value for m in app.markdown)
    assert f"**No.**] **{question.answers[question.right]}.** " in said
    if isinstance(question.because, str):
        assert question.because in said
    assert not app.caption[0].value.startswith("**Before")
    if question.before.keys() != {"measured"}:  # that caption names the data only
        assert app.caption[0].value != before.removeprefix("**Before your guess**. ")
    app = app.pills(key=f"{lesson.key}_{number}_guess").set_value(question.answers[question.right]).run()
    assert "Right." in " ".join(m.value for m in app.markdown)


def test_next_leads_through_the_lesson_and_on_to_the_next_one():
    title, following = list(lessons())[:2]
    app = opened(title, 1)
    assert app.button(key="lesson_back").disabled
    for step in range(2, len(lessons()[title].steps) + 1):
        app = app.button(key="lesson_next").click().run()
        assert str(step) in app.query_params["step"]
    app = app.button(key="lesson_next").click().run()
    assert following in app.query_params["lesson"]
    assert "step" not in app.query_params
    app = app.button(key="lesson_leave").click().run()
    assert "lesson" not in app.query_params
    assert app.get("page_link")


def test_a_pinned_state_stays_beside_the_live_one_until_it_is_unpinned():
    app = opened("Noise against n", 1)
    app = app.button(key="lesson_pin").click().run()
    app = app.select_slider(key="noise_1_epsilon").set_value(0.1).run()
    assert charts(app) == 2
    pinned, now = (c.value for c in app.caption[:2])
    assert pinned.startswith("**Pinned**, step 1, n, rows 10,000, ε 1.")
    assert now.startswith("**Now**. At n = 10,000")
    app = app.button(key="lesson_next").click().run()
    assert charts(app) == 2  # from one step to the next
    app = app.button(key="lesson_pin").click().run()
    assert charts(app) == 1


def test_a_presentation_is_the_picture_its_sliders_and_one_caption():
    app = opened("Noise against n", 1, present="true")
    assert charts(app) == 1
    assert len(app.select_slider) == 2
    text = [m.value for m in app.markdown if not m.value.startswith("<style>")]
    assert text[:2] == ["# Noise against n: Noise falls faster than chance", "Step 1 of 4"]
    assert len(text) == 3
    assert text[2].startswith("At n = 10,000")
    assert charts(app.button(key="lesson_pin").click().run()) == 2
    app = app.button(key="lesson_unpresent").click().run()
    assert app.session_state["present"] is False


def test_a_link_carries_the_step_and_its_sliders_and_no_guess():
    app = opened("What ε does", 2, "Half")
    app = app.select_slider(key="histogram_2_epsilon").set_value(2.0).run()
    assert not any("guess" in name for name in app.query_params)
    app = opened("What ε does", 2, "Half", histogram_2_epsilon="2")
    assert app.select_slider(key="histogram_2_epsilon").value == 2.0


def test_a_link_to_a_lesson_of_before_opens_it_and_a_wrong_one_is_named():
    assert any("Three bits are a cube" in m.value for m in at("lessons", lesson="The cube").markdown)
    for query, named in (({"lesson": "The moon"}, "lesson"), ({"lesson": "The cube", "step": "9"}, "step")):
        app = at("lessons", **query)
        assert f"link: {named}." in app.warning[0].value


@pytest.mark.parametrize(("title", "number"), STEPS)
def test_the_lab_opens_with_the_settings_of_the_step(title, number):
    step = lessons()[title].steps[number - 1]
    if step.lab is None:
        return
    query = step.in_lab({slider.name: slider.value for slider in step.sliders})
    app = at("inside", **query)
    assert not app.error
    assert "Not taken from the link" not in " ".join(w.value for w in app.warning)
    for slider in step.sliders:
        if slider.lab and (slider.lab in app.session_state or slider.lab not in SHARED):
            assert float(app.session_state[slider.lab]) == float(slider.value)


def test_the_lab_leads_back_to_the_step():
    app = opened("The cube", 2).switch_page("inside.py").run()
    back = next(link.proto for link in app.get("page_link") if "Back to" in link.proto.label)
    assert back.label == "Back to The cube, step 2"
    assert parse_qs(back.query_string) == {"lesson": ["The cube"], "step": ["2"]}


def test_a_step_of_three_sliders_or_too_many_words_is_refused():
    slider = Slider("a", "a", (1, 2), 1)
    with pytest.raises(ParameterError, match="sliders"):
        Step("", "", lambda: None, (slider,) * (MOST_SLIDERS + 1))
    with pytest.raises(ParameterError, match="text"):
        Step("", "word " * 61, lambda: None)
    with pytest.raises(ParameterError, match="value"):
        Slider("a", "a", (1, 2), 3)


def test_captions_fit_in_two_lines():
    for title, number in STEPS:
        step = lessons()[title].steps[number - 1]
        if title != "No free lunch":
            assert len(step.picture(**{s.name: s.value for s in step.sliders})[1]) <= 125


def test_randomised_answers_are_without_bias_and_as_private_as_they_say():
    values, codes = column()
    draws = [randomised(codes, len(values), 1.0, np.random.default_rng(seed)) for seed in range(400)]
    assert np.mean(draws, axis=0) == pytest.approx(shares(), abs=0.004)
    # One value alone: how often each answer is given, by the true value, never differs by more than e^ε.
    said = [randomised(np.full(40_000, value), 3, 1.0, np.random.default_rng(value)) for value in (0, 1)]
    given = [found * (np.e - 1) / (np.e + 2) + 1 / (np.e + 2) for found in said]
    assert given[0] / given[1] == pytest.approx([np.e, 1 / np.e, 1], rel=0.05)


def test_what_the_lessons_say_of_their_numbers():
    values, codes = column()
    worst = [off(randomised(codes, len(values), 0.5, np.random.default_rng(s))) for s in range(40)]
    added = [off(noisy(0.5, np.random.default_rng(s))[0]) for s in range(40)]
    assert np.mean(worst) > 10 * np.mean(added)  # "a tenth or less"
    assert all(asked > 10 * added for asked, added in map(mean_errors, EPSILONS.values))
    one, hundred = (off(noisy(0.02, np.random.default_rng(5), k).mean(axis=0)) for k in (1, 100))
    assert 4 < one / hundred < 25  # "ten times better"
    records = Records(rows("digits"), "digit")
    sigma = {order: Inside(records, 10.0, 1e-5, order, 1_259).sigma for order in (4, 64)}
    assert sigma == {4: pytest.approx(0.29, abs=0.005), 64: pytest.approx(0.12, abs=0.005)}
    claim = lessons()["The published DP-CDA claim"].steps[1]
    assert "1,953" in claim.picture(order=4, epsilon=10.0)[1]
    fits = [
        re.findall(r"[\d.]+", lessons()["Noise against n"].steps[3].picture(epsilon=0.1, seed=s)[1]) for s in range(1, 9)
    ]
    assert sum(float(after.rstrip(".")) < float(before) for before, after, *_ in fits) >= 6  # "in nearly every draw"
    for box, shrinkage in (((0.25, 2.0), "0.67"), ((0.25, 4.0), "0.49"), ((0.25, 8.0), "0.49")):
        assert f"λ = {shrinkage}" in lessons()["What λ does"].steps[2].picture(floor=box[0], ceiling=box[1])[1]


def test_what_many_draws_cost_is_never_less_than_the_rules_give():
    step = lessons()["Privacy adds up"].steps[1]
    for draws, epsilon in product(*(slider.values for slider in step.sliders)):
        said = step.picture(draws=draws, epsilon=epsilon)[1]
        added, squared = (
            float(found.replace(",", "")) for found in re.search(r": ([\d.,]+) by adding ε, ([\d.]+) with", said).groups()
        )
        assert added == pytest.approx(draws * epsilon)
        assert zcdp_delta(draws * epsilon**2 / 2, squared) <= 1e-5
        assert zcdp_delta(draws * epsilon**2 / 2, 0.99 * squared) > 1e-5
        curves = step.picture(draws=draws, epsilon=epsilon)[0].layer[0].data
        assert all(float(told) >= 10**y * (1 - 1e-9) for told, y in zip(curves["total"], curves["y"], strict=True))


def test_what_a_row_of_the_box_costs_is_never_said_to_be_less():
    step = lessons()["What λ does"].steps[2]
    for floor, ceiling in product(*(slider.values for slider in step.sliders)):
        picture, words = step.picture(floor=floor, ceiling=ceiling)
        assert picture.layer[0].data["x"].max() == step.sliders[1].values[-1]
        said = re.search(r"each row costs ε = ln\((.+)/(.+)\) = ([\d.]+)\.$", words)
        assert (float(said[1]), float(said[2])) == (ceiling, floor)
        assert math.log(ceiling / floor) * (1 - 1e-9) <= float(said[3]) <= math.log(ceiling / floor) + 0.01


def test_no_count_is_more_likely_than_the_lesson_says():
    step = lessons()["What ε does"].steps[2]
    for epsilon in step.sliders[0].values:
        most = float(re.search(r"more than e\^ε = ([\d.]+) times", step.picture(epsilon=epsilon)[1])[1])
        assert math.exp(epsilon) <= most <= 1.01 * math.exp(epsilon)


EPSILONS = lessons()["What ε does"].steps[1].sliders[0]
COMPUTED = [
    (title, at)
    for title, at in ASKED
    if callable(lessons()[title].steps[at - 1].question.because) and title != "No free lunch"
]


@pytest.mark.parametrize(("title", "number"), COMPUTED)
def test_a_reveal_says_what_its_picture_shows_wherever_the_sliders_are(title, number):
    step = lessons()[title].steps[number - 1]
    for values in product(*(slider.values for slider in step.sliders)):
        chosen = dict(zip((slider.name for slider in step.sliders), values, strict=True))
        said, caption = step.question.reveal(chosen), step.picture(**chosen)[1]
        if title == "The cube":
            data = float(re.search(r"([+−][\d.]+) in the data", caption)[1].replace("−", "-"))
            assert "agree more often than they differ" in said
            assert ("more often" in said.split("Now: ")[-1]) == (data > 0)
            assert said.endswith(f"{signed(data, 3)}.")
        elif title == "Noise against n":
            before, after = (float(found) for found in re.findall(r"0\.\d+", caption))
            assert ("less error" in said) == (after <= before)
            assert float(re.match(r"[\d.]+", said)[0]) == pytest.approx(100 * abs(1 - after / before), abs=1.2)
        else:
            asked, added = (float(found) for found in re.findall(r"([\d.]+)\N{NO-BREAK SPACE}%", said))
            assert added < asked / 10  # "a tenth or less"
            assert f"At ε = {chosen['epsilon']:g}".lower() in said.lower()


def test_the_reveals_on_the_loaded_data_name_the_mechanism_that_differs():
    table = small(rows("asia"), 3)
    few = table.take(np.arange(0, table.n, 100))
    whole, part = tried(table, 3.0, 2), tried(few, 3.0, 2)
    by_name = {one.name: (one, other) for one, other in zip(whole, part, strict=True)}
    assert all(other.measured > one.measured for name, (one, other) in by_name.items() if name != "Private sampling")
    one, other = by_name["Private sampling"]
    assert one.rows == other.rows == 1
    assert "makes only 1 row)" in below(whole)
    errors = [short(found.measured, 2) for found in by_name["MWEM as used"]]
    assert f"MWEM as used {errors[0]} → {errors[1]}" in grown(whole, part, 0.01)
    one = by_name["Noisy reweighting"][0]
    said = gap("n", [(150.0, part), (15_000.0, whole)])
    factor = short(one.promised / one.measured, 2)
    assert f"Noisy reweighting: no promise at n = 150, {factor} times below its promise at 15,000." in said
    assert "MWEM as printed: a bound of 1 and above all along." in said
    for epsilon, columns in product((0.1, 30.0), (2, 6)):  # the guess is about noisy reweighting
        found = {one.name: one for one in tried(small(rows("asia"), columns), epsilon, 2)}["Noisy reweighting"]
        assert found.measured * 5 < found.promised


def test_mwem_as_used_is_far_better_than_as_printed_and_has_no_promise():
    printed, used = (one for one in tried(small(rows("asia"), 4), 3.0, 2) if one.name.startswith("MWEM"))
    assert used.measured * 5 < printed.measured < printed.promised < used.promised == math.inf


def test_the_largest_error_is_that_of_a_cell_in_any_table():
    table, made = small(rows("asia"), 3), small(rows("asia"), 3).take(np.arange(50))
    shares = [
        side.frame.groupby(list(names)).size() / side.n
        for names in combinations(table.domain.names, 2)
        for side in (table, made)
    ]
    expected = max(real.sub(other, fill_value=0).abs().max() for real, other in zip(shares[::2], shares[1::2], strict=True))
    assert largest_error(table, made, 2) == pytest.approx(expected)


def test_the_last_step_of_all_leads_to_the_gallery_or_starts_again_without_guesses():
    title, lesson = list(lessons().items())[-1]
    app = opened("What ε does", 2, "Half")
    app.query_params["lesson"], app.query_params["step"] = title, str(len(lesson.steps))
    app = app.run().button(key="lesson_again").click().run()
    assert "What ε does" in app.query_params["lesson"]
    app = app.button(key="lesson_next").click().run()
    assert app.pills(key="histogram_2_guess").value is None
    app = opened(title, len(lesson.steps)).button(key="lesson_next").click().run()
    assert "lesson" not in app.query_params


SURE = {"noisy_reweighting": 0.5, "mwem": 0.875}
"""With which probability theorems hold, as the lesson says."""


def test_theorems_promise_more_than_runs_need_on_the_bundled_data():
    facts = [offered(name, "theorems:verdict")(rows("asia").statistics(), PrivacySpec(3.0)).facts for name in SURE]
    assert all(fact["success_probability"] >= sure for fact, sure in zip(facts, SURE.values(), strict=True))
    for name in ("asia", "car"):
        found = tried(small(rows(name), 4), 3.0, 2)
        assert {one.name for one in found} == {"Private sampling", "Noisy reweighting", "MWEM as printed", "MWEM as used"}
        for one in found:
            if one.name != "Private sampling":  # which makes one row
                assert one.measured * 5 < one.promised
    assert tried(small(rows("asia"), 4), 1.0, 2)[0].measured is None  # not even one row


def test_data_without_columns_of_few_values_are_replaced_by_asia():
    assert small(rows("digits"), 4, "digit").name == "asia"
    assert small(rows("car"), 3, "class").domain.names[0] == "class"


def test_the_last_lesson_is_about_a_table_of_ones_own_whose_names_are_shown_as_they_are():
    rows = [f"{'no' if i % 3 else 'yes'},{'red' if i % 2 else 'blue'},{i / 7:.3f}" for i in range(200)]
    app = at("data")
    app.file_uploader(key="upload").upload("own.csv", "\n".join(["*ill*,<b>c</b>,x", *rows]).encode(), "text/csv").run()
    app.query_params["lesson"] = "No free lunch"
    app = app.switch_page("lessons.py").run()
    assert not app.error
    assert app.caption[0].value.startswith("**Before your guess**. own: 150 rows of ")
    assert r"\*ill\*" in app.caption[0].value
    assert "<b>" not in app.caption[0].value.replace(r"\<b>", "")
    assert r", \*ill\* (no other column is small enough), ε = 3." in app.caption[0].value  # of four
    assert charts(app) == 1


def test_the_last_lesson_says_where_it_is_not_about_the_data_at_hand():
    for numbers, said in (
        (False, ", bronchitis, ε = 3."),
        (True, ", bronchitis (your data have no two columns of 2 to 12 "),
    ):
        app = at("data")
        if numbers:
            table = "\n".join(["x,dysp", *(f"{i / 7:.3f},{i % 90}" for i in range(200))])
            app.file_uploader(key="upload").upload("own.csv", table.encode(), "text/csv").run()
        app.query_params["lesson"] = "No free lunch"
        caption = app.switch_page("lessons.py").run().caption[0].value
        assert "ASIA: 15,000 rows of short of breath, " in caption
        assert said in caption


@pytest.mark.parametrize("title", DOCUMENTS)
def test_every_document_opens_and_its_links_lead_to_others_in_the_app(title):
    app = at("lessons", read=title, present="true")
    written = (DOCS / DOCUMENTS[title]).read_text(encoding="utf-8").strip()
    (text,) = [m.value for m in app.markdown if m.value.startswith("#" + written.splitlines()[0])]
    assert len(text) > len(written)
    links = re.findall(r"\]\(([^)]*)\)", text)
    for link in links:
        url = urlsplit(link)
        assert url.path == "lessons"
        opened = at(url.path, **parse_qs(url.query))
        assert opened.session_state["read"] in set(DOCUMENTS) - {title}
        assert opened.session_state["present"] is True
    assert links or title == "What is guaranteed"


def test_no_document_is_open_at_first():
    app = at("lessons")
    assert max(len(m.value) for m in app.markdown) < 1000


def test_the_help_is_one_page():
    assert len((DOCS / DOCUMENTS["Which mechanism, when?"]).read_text(encoding="utf-8").split()) < 700


@pytest.mark.parametrize("epsilon", [0.1, 0.5])
def test_every_bar_of_the_histogram_and_its_label_are_in_the_picture(epsilon):
    for draw in range(1, 11):
        chart, _ = lessons()["What ε does"].steps[0].picture(epsilon=epsilon, draw=draw)
        drawn = vl_convert.vegalite_to_svg(chart.properties(width=600).to_dict())
        bars = re.findall(r'share: (−?)[\d.]+; series: [^;"]*" [^>]*"bar" d="M[-\d.]+,([-\d.]+)h[\d.]+v([-\d.]+)h', drawn)
        labels = map(float, re.findall(r'"text mark"[^>]*translate\([-\d.]+,([-\d.]+)\)', drawn))
        bottom = float(re.search(r'class="background"[^>]* d="M0.5,0.5h[\d.]+v([\d.]+)h', drawn)[1])
        assert len(bars) == 8
        for (negative, top, height), label in zip(bars, labels, strict=True):
            assert label > float(top) + float(height) if negative else label < float(top)
            assert 9 < label < bottom
