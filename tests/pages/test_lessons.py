"""Every step of every lesson opens, sets what it says, and shows the same numbers when it is opened again."""

from __future__ import annotations

import re
from urllib.parse import parse_qs, urlsplit

import pytest

from dpsyn.app.lessons import LESSONS, Step
from dpsyn.kit.verdicts import DOCS, DOCUMENTS
from dpsyn.mechanisms.noisy_reweighting import NoisyReweighting
from dpsyn.mechanisms.noisy_reweighting.inside import Inside
from dpsyn.privacy.spec import PrivacySpec
from tests.pages.test_share import at

STEPS = {f"{name} {i}": step for name, steps in LESSONS.items() for i, step in enumerate(steps, start=1)}


def opened(step: Step):
    url = urlsplit(step.address)
    app = at(url.path, **parse_qs(url.query))
    # A parameter that fits no widget is dropped: then the step would not show what it talks about.
    for name, values in parse_qs(url.query).items():
        found = app.session_state["dataset"].sample if name == "data" else app.session_state[name]
        shown = (
            [str(value) for value in found]
            if isinstance(found, list)
            else [f"{found:g}" if isinstance(found, float) else str(found)]
        )
        if name not in ("inside_mechanism",):
            assert [s.replace(",", "") for s in shown] == [
                f"{float(v):g}" if v.replace(".", "").isdigit() else v for v in values
            ]
    return app


def numbers(app) -> list[str]:
    """What the page says, but for how long it took."""
    said = [m.value for m in app.metric] + [c.value for c in app.caption] + [m.value for m in app.markdown]
    return [re.sub(r"in [\d.e-]+ s\b", "in some time", text) for text in said]


@pytest.mark.parametrize("name", STEPS)
def test_a_step_opens_with_its_settings_and_the_same_numbers(name):
    step = STEPS[name]
    app = opened(step)
    assert not app.exception
    assert not app.error
    assert numbers(app) == numbers(opened(step))


def test_mixing_digits_says_what_each_setting_does_to_the_noise():
    """The second step changes l alone; the third T and ε, named with the noise that each leaves."""
    first, more, stays = LESSONS["Mixing digits"][:3]
    assert {**first.query, "order": "64"} == more.query
    assert {k for k, v in stays.query.items() if more.query.get(k) != v} == {"in_cda_rows_digits", "epsilon"}

    def sigma(**query):
        app = at("inside", data="digits", **query)
        return float(next(m.value for m in app.metric if m.label == "σ, exact accounting"))

    assert "from about 0.29 to 0.12" in more.text
    assert sigma(**first.query) == pytest.approx(0.29, abs=0.005)
    assert sigma(**more.query) == pytest.approx(0.12, abs=0.005)
    assert "falls to about 0.04." in stays.text
    assert sigma(**more.query, in_cda_rows_digits="100") == pytest.approx(0.04, abs=0.005)
    assert "falls to about 0.008." in stays.text
    assert sigma(**stays.query) == pytest.approx(0.008, abs=0.0006)


def test_the_fit_is_nearer_to_the_truth_with_nearly_every_seed():
    """Step 3 of “Noise against n”: with the columns that its link opens, and about every other time with four."""
    step = LESSONS["Noise against n"][2]
    app = at("inside", data="asia", **step.query)
    (shown,) = app.session_state["reweighting_runs"].values()
    rows = app.session_state["dataset"].parts[0]

    def nearer(columns):
        table = rows.project(columns)
        mechanism = NoisyReweighting(degree=2, noise="laplace").calibrate(PrivacySpec(0.1), table.domain, n=table.n)
        found = [Inside(mechanism, table, seed).errors("entropy") for seed in range(5, 13)]
        return sum(after < before for before, after in found)

    assert len(shown.table.domain.names) == 8
    before, after = shown.errors("entropy")
    assert after < before
    assert nearer(shown.table.domain.names) >= 6
    assert 2 <= nearer(["smoke", "lung", "bronc", "dysp"]) <= 6


def test_the_cube_says_which_columns_its_histogram_has():
    def said(**query):
        app = at("inside", **{"data": "asia", "inside_mechanism": "Private sampling", "is_section": "3 · Density", **query})
        return next(c.value for c in app.caption if c.value.startswith("λ = "))

    three = ["smoke", "lung", "bronc"]
    assert said(is_columns_asia=three, is_cube_asia=three).endswith("for these columns; as for the histogram.")
    fewer = said(is_columns_asia=[*three, "dysp"], is_cube_asia=three)
    assert fewer.endswith("for these columns alone, each as one bit; the histogram has the 4 columns chosen above.")


def test_the_page_offers_every_lesson_with_its_links():
    for name, steps in LESSONS.items():
        app = at("lessons", lesson=name)
        links = [element.proto.url for element in app.get("link_button")]
        assert links == [step.address for step in steps]


def test_links_keep_the_larger_type_while_it_is_on():
    app = at("lessons", present="true")
    links = [element.proto.url for element in app.get("link_button")]
    assert links == [f"{step.address}&present=true" for step in LESSONS["The cube"]]
    url = urlsplit(links[0])
    assert at(url.path, **parse_qs(url.query)).session_state["present"] is True
    app.toggle(key="present").set_value(False).run()
    assert "present" not in " ".join(element.proto.url for element in app.get("link_button"))


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
