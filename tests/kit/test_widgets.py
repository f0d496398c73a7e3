"""Numbers for people, at every size."""

from __future__ import annotations

import math
from itertools import product
from types import SimpleNamespace

import pandas as pd
import pytest
from streamlit.runtime.media_file_manager import MediaFileManager
from streamlit.runtime.media_file_storage import MediaFileStorageError
from streamlit.runtime.memory_media_file_storage import MemoryMediaFileStorage
from streamlit.testing.v1 import AppTest

from dpsyn.domain import NOT_YET_TRUE
from dpsyn.kit import widgets
from dpsyn.kit.widgets import (
    CEILINGS,
    COUNTS,
    DELTAS,
    EPSILONS,
    SIZES,
    humanise,
    number,
    power_of_ten,
    said,
    time_left,
    with_thousands,
)
from dpsyn.privacy.spec import PUBLIC_DOMAIN_ASSUMPTION, Guarantee, Status


@pytest.mark.parametrize(
    ("seconds", "share", "text"),
    [
        (60, 0.0, ""),
        (37, 0.02, ""),  # a first step of which little is known
        (2.0, 0.5, ""),
        (9, 0.1, ", about 80 s left"),
        (80, 0.1, ", about 12 min left"),
        (60, 0.8, ", about 15 s left"),
    ],
)
def test_the_time_left_is_said_once_enough_is_done_to_tell(seconds, share, text):
    assert time_left(seconds, share) == text


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0, "0"),
        (8, "8"),
        (20000, "20,000"),
        (0.29115, "0.291"),
        (0.25, "0.25"),
        (1234.56, "1,234.6"),
        (1e6, "1.00 × 10⁶"),
        (2.3456e-12, "2.35 × 10⁻¹²"),
        (math.inf, "∞"),
        (-math.inf, "−∞"),
        (math.nan, "not defined"),
        (None, "—"),
    ],
)
def test_numbers(value, text):
    assert number(value) == text


@pytest.mark.parametrize(
    ("log10", "text"),
    [
        (0.0, "1"),
        (math.log10(20000), "20,000"),
        (2998.301, "2.00 × 10²⁹⁹⁸"),
        (-5000.0, "1.00 × 10⁻⁵⁰⁰⁰"),
        (-math.inf, "0"),
        (math.inf, "∞"),
    ],
)
def test_powers_of_ten(log10, text):
    assert power_of_ten(log10) == text


def test_sentences():
    # What the slider is called, "d (columns of a table)".
    assert (
        humanise("degree = 2 is not possible: these would fit: degree = 1")
        == "d = 2 is not possible: these would fit: d = 1"
    )
    assert humanise("raise epsilon or count_share") == "raise ε or the share of ε for the class sizes"
    assert humanise("n ≥ 4.138e6 or 1e-05, not x1e5 nor 2e") == "n ≥ 4.138 × 10⁶ or 10⁻⁵, not x1e5 nor 2e"

    assert said("*column* 'epsilon' at 1e-05") == r"\*column\* 'ε' at 10⁻⁵"


def test_text_in_a_table_stays_text_and_a_number_its_sign():
    def page():
        import pandas as pd

        from dpsyn.kit.widgets import text_table

        text_table(pd.DataFrame({"a_*": ["≥ 4.14 × 10⁶", "ε ≥ 2,080", "<b> $a$"]}))

    table = AppTest.from_function(page).run().table[0].value
    assert table.columns.tolist() == [r"a\_\*"]
    assert table.iloc[:, 0].str.replace("\N{NO-BREAK SPACE}", "·").tolist() == ["≥·4.14·×·10⁶", "ε·≥·2,080", r"\<b\>·\$a\$"]


def test_slider_values_are_increasing_and_hold_the_defaults():
    for values in (EPSILONS, DELTAS, COUNTS, CEILINGS, tuple(float(s) for s in SIZES[1:])):
        assert list(values) == sorted(set(values))
    assert EPSILONS[0] == 0.001
    assert EPSILONS[-1] == 1000
    assert {1.0, 3.16, 10.0} <= set(EPSILONS)
    assert 1e-5 in DELTAS
    assert {1, 1000, 10**6} <= set(COUNTS)
    assert {1.25, 2.0} <= set(CEILINGS)


def test_tables_are_written_with_thousands_and_keep_their_values():
    frame = pd.DataFrame({"Name": ["a", "b"], "Rows": [20000, 7], "ε": [1e-5, 1234.5]})
    shown = with_thousands(frame)
    assert shown.data.equals(frame)
    words = shown.to_html()
    assert all(f">{text}<" in words for text in ("20,000", "7", "10⁻⁵", "1,234"))


CONFIRM = "This guarantee holds only once the domain is confirmed as public"
TITLES: dict[Status, tuple[str, str]] = {
    "proven": ("This guarantee is proven",) * 2,
    "unconfirmed_domain": (CONFIRM,) * 2,
    "real_arithmetic": (
        "This guarantee is proven in exact arithmetic only: floating point can break it",
        f"{CONFIRM}, and then in exact arithmetic only",
    ),
    "experimental": ("Experimental: not proven",) * 2,
    "stated": ("This guarantee is stated by the file, not checked by us",) * 2,
    "demonstration": ("No guarantee: whoever knows the seed can take the noise off",) * 2,
}
"""How a card begins: of a domain that somebody confirmed, and of one that nobody did."""

WEAK = [(1.00041, 0.0, ""), (1.0, 1e-5, ""), (20.0, 0.0, "ε"), (20.0, 0.1, "ε"), (1.0, 0.01, "δ")]
"""ε, δ and which of them is so large that a claim is worth little."""


def cards(claims, before):
    from dpsyn.kit.widgets import guarantee_card

    for claim in claims:
        guarantee_card(claim, before=before)


@pytest.mark.parametrize("before", [True, False])
def test_a_card_says_whether_the_claim_holds_and_all_that_it_takes_for_granted(before):
    claims, expected = [], []
    told, not_yet = "That it is so.", f"{NOT_YET_TRUE}: the domain of x was inferred."
    for status, unconfirmed in product(TITLES, (False, True)):
        for epsilon, delta, weak in (
            (1.00041, 0.0, ""),
            (1.0, 1e-5, ""),
            (20.0, 0.0, "ε"),
            (20.0, 1e-5, "ε"),
            (1.0, 0.01, "δ"),
        ):
            known = PUBLIC_DOMAIN_ASSUMPTION
            assumptions = (known, told, not_yet, "The last one.") if unconfirmed else (known, told, "The last one.")
            claim = Guarantee(epsilon, delta, "add_remove", "a proof", assumptions, status)
            title = TITLES[status][unconfirmed]
            if status == "proven" and weak:
                title += f", but {weak} is so large that it protects hardly anybody"
            tense = "The release will be" if before else "The release is"
            claims.append(claim)
            expected.append((status == "proven" and not weak, f"**{title}.** {tense} **{said(claim.claim)}**."))
    app = AppTest.from_function(cards, default_timeout=60, args=(claims, before)).run()
    assert not app.exception
    assert [one.value for one in app.success] == [text for sound, text in expected if sound]
    assert [one.value for one in app.warning] == [text for sound, text in expected if not sound]
    granted = [one.value for one in app.markdown]
    assert len(granted) == len(claims)
    for text, claim in zip(granted, claims, strict=True):
        # Where nobody confirmed the domain, that it was known is not said beside it.
        taken = claim.assumptions[1:] if claim.unconfirmed else claim.assumptions
        assert text.splitlines() == ["a proof.", "", *(f"- {said(one)}" for one in taken)]


@pytest.mark.parametrize("before", [True, False])
def test_a_card_of_no_guarantee_gives_all_reasons_and_no_number(before):
    claim = Guarantee(math.inf, 1e-5, "replace_one", "a paper", ("First.", "Second.", "Third."), "published_but_wrong")
    app = AppTest.from_function(cards, default_timeout=60, args=([claim], before)).run()
    (text,) = [one.value for one in app.error]
    assert text.startswith(f"**No guarantee {'will hold' if before else 'holds'}: never release this.** Source: a paper")
    assert text.endswith("- First.\n- Second.\n- Third.")
    assert [*app.success, *app.warning] == []


def test_a_file_that_is_made_when_it_is_asked_for_stays_till_it_is_fetched(monkeypatch, caplog):
    storage = MemoryMediaFileStorage("/media")
    files = MediaFileManager(storage)
    monkeypatch.setattr(widgets, "get_instance", lambda: SimpleNamespace(media_file_mgr=files))
    buttons, timers = [], []
    monkeypatch.setattr(widgets.st, "download_button", lambda *given, **_: buttons.append(given))
    monkeypatch.setattr(widgets, "Timer", lambda *given: timers.append(given) or SimpleNamespace(start=lambda: None))
    for text in ("a,b\n1,2\n", "c\n3\n"):
        widgets.download("Rows", lambda text=text: text, "rows.csv", key="rows")
    drawn = [files.add_deferred(made, mime, str(at), file_name=file) for at, (_, made, file, mime) in enumerate(buttons)]
    caplog.clear()
    pressed = [files.execute_deferred(button) for button in drawn]
    for _ in range(3):  # other pages are drawn
        files.remove_orphaned_files()

    def fetched():
        return [storage.get_file(url.rsplit("/")[-1]).content for url in pressed]

    assert fetched() == [b"a,b\n1,2\n", b"c\n3\n"]
    assert not caplog.records
    for left, (seconds, let_go, given) in zip((1, 0), timers, strict=True):
        assert seconds == 20
        let_go(*given)
        for _ in range(2):
            files.remove_orphaned_files()
        with pytest.raises(MediaFileStorageError):
            storage.get_file(pressed.pop(0).rsplit("/")[-1])
        assert len(fetched()) == left
