"""The gallery, and a lesson as one screen: the picture, the text beside it, two sliders, a guess, a pinned state."""

from __future__ import annotations

import base64
from collections.abc import Sequence
from functools import partial
from typing import Any
from urllib.parse import urlencode

import altair as alt
import streamlit as st

from dpsyn.app import address
from dpsyn.app.lessons import lessons
from dpsyn.kit import show, verdicts, visit
from dpsyn.kit.lesson import Lesson, Step, plain

LESSON, STEP = "lesson", "step"
PICTURES = verdicts.DOCS / "images" / "lessons"
_PIN, _LEFT, _WHOLE = "_lesson_pinned", "_lesson_left_at", "_lesson_whole_page"
_RULES = """<style>
[class*='st-key-lesson_picture'] {flex: none !important; height: calc(100vh - 13.2rem); min-height: 20rem}
.st-key-lesson_text {gap: 0.55rem}
.st-key-lesson_text h2 {padding: 0 !important}
.st-key-lesson_text p {line-height: 1.45}
.st-key-lesson_top h1 {font-size: 1.25rem !important; padding: 0 !important}
[data-testid='stMainBlockContainer']:has(.st-key-lesson_top, .st-key-gallery) {padding-top: 4rem; padding-bottom: 1rem}
.st-key-gallery h1 {font-size: 1.6rem !important; padding: 0 !important}
.st-key-gallery [data-testid='stPageLink'] p {font-weight: 600}
.st-key-gallery img {width: 100%; height: 6.3rem; object-fit: contain}
[class*='st-key-lesson_picture_pair'] {height: calc(100vh - 15.5rem)}
[class*='st-key-lesson_picture_pair']:has([data-testid='stPlotlyChart']) {height: 22rem}
@media (max-width: 62rem) {[class*='st-key-lesson_picture'] {height: 24rem}}
</style>"""
_STAGE = """<style>
[data-testid='stHeader'], .st-key-tools {display: none}
[data-testid='stMainBlockContainer'] {padding: 1rem 1.5rem 0 !important}
/* The picture takes what the words and the sliders leave of the screen. */
[data-testid='stVerticalBlock']:has(> [data-testid='stLayoutWrapper'] > .st-key-stage_picture)
  {height: calc(100vh - 3.1rem); flex: none; flex-wrap: nowrap; gap: 0.5rem}
[data-testid='stLayoutWrapper']:has(> .st-key-stage_picture) {flex: 1 1 0 !important; min-height: 0; container-type: size}
[class*='st-key-lesson_picture'] {height: 100cqh !important; min-height: 0}
[class*='st-key-lesson_picture_pair'] {height: calc(100cqh - 4rem) !important}
[class*='st-key-lesson_picture'] :is(.vega-embed :is(.role-axis-label, .role-axis-title, .role-legend-label) text,
  .js-plotly-plot :is(.xtick, .ytick, .g-xtitle, .g-ytitle, .legend) text) {fill: light-dark(#22272e, #eef1f4) !important}
.st-key-lesson_caption p {font-size: 1.1rem; line-height: 1.35}
.st-key-lesson_caption {gap: 0.1rem}
.st-key-lesson_corner {flex-wrap: nowrap}
@media (min-width: 100rem) {
  html {font-size: 29px !important}
  [class*='st-key-lesson_picture'] > [data-testid='stElementContainer']
    {zoom: 1.4; height: 71.4% !important; flex: none !important}
  /* Vega measures what is seen, so that it makes up for the zoom twice. */
  [class*='st-key-lesson_picture'] > [data-testid='stElementContainer']:has([data-testid='stVegaLiteChart'])
    {width: 71.4% !important}
}
</style>"""

_WORDS = 19.5
"""Pixels of every word of a chart on the stage: 2.5 % of the height of a projector."""
_SIZES = {"labelFontSize": _WORDS, "titleFontSize": _WORDS}
_STAGE_WORDS: dict[str, Any] = {"text": {"fontSize": _WORDS}, "axis": _SIZES, "legend": _SIZES}


@visit.fragment
def show_lessons() -> None:
    """The lesson that the address names, or the gallery."""
    if st.session_state.pop(_WHOLE, False):  # what the page has around a lesson comes back, too
        st.rerun()
    st.html(_RULES)
    title = st.query_params.get(LESSON)
    if title not in lessons():
        visit.write(LESSON, None)
        visit.write(STEP, None)
        if title is not None:
            address.refuse([LESSON])
        _gallery()
        return
    lesson, asked = lessons()[title], st.query_params.get(STEP, "1")
    at = int(asked) if asked in map(str, range(1, len(lesson.steps) + 1)) else 1
    if str(at) != asked:
        visit.write(STEP, None)
        address.refuse([STEP])
    st.session_state[_LEFT] = {LESSON: title, STEP: str(at)}
    (_stage if visit.presenting() else _screen)(lesson, at)


def way_back() -> dict[str, str]:
    """Where the lesson was left, as the address has it; empty if none was open in this visit."""
    left: dict[str, str] = st.session_state.get(_LEFT, {})
    return left


def _gallery() -> None:
    with st.container(key="gallery", gap="small"):
        with st.container(horizontal=True, horizontal_alignment="distribute", vertical_alignment="center"):
            st.markdown("# Learn", anchors=False, width="content")
            st.page_link("inside.py", label="Inside: every step on your data", icon=":material/biotech:")
        every = list(lessons().values())
        for first in range(0, len(every), 4):
            for column, lesson in zip(st.columns(4, gap="small"), every[first : first + 4], strict=False):
                with column.container(border=True, height="stretch", gap="xsmall"):
                    st.html(_image(lesson.key))
                    query = {LESSON: lesson.title, **visit.presenting()}
                    st.page_link("lessons.py", label=lesson.title, query_params=query)
                    st.caption(lesson.promise)
    verdicts.show()


def _image(key: str) -> str:
    file = PICTURES / f"{key}.png"
    return f'<img alt="" src="data:image/png;base64,{base64.b64encode(file.read_bytes()).decode()}">'


def _screen(lesson: Lesson, at: int) -> None:
    step = lesson.steps[at - 1]
    with st.container(key="lesson_top", horizontal=True, vertical_alignment="center"):
        st.button(
            "All lessons", icon=":material/grid_view:", key="lesson_leave", on_click=_go, args=("", 0), type="tertiary"
        )
        st.markdown(f"# {lesson.title}", width="content", anchors=False)
        st.markdown(f"Step {at} of {len(lesson.steps)}", width="stretch")
        _turn(lesson, at)
    left, right = st.columns([2, 1], gap="medium")
    with right.container(key="lesson_text", gap="small"):
        st.markdown(f"## {step.title}", anchors=False)
        st.markdown(step.text)
        guess, answer = _question(lesson, at, step), st.container()
        chosen = _sliders(lesson, at, step, guessed=guess is not None)
        with answer:
            _reveal(step, guess, chosen)
        with st.container(horizontal=True, vertical_alignment="center"):
            settings = step.settings(chosen, guessed=guess is not None)
            _pin(lesson, at, settings)
            if step.lab is not None:
                _lab(step, chosen)
        if lesson.reads:
            st.caption(f":material/lock_open: For teaching: {lesson.reads}")
    with left:
        _pictures(lesson, at, settings, guessed=guess is not None)


def _stage(lesson: Lesson, at: int) -> None:
    """The title, the picture, what it says, its sliders, and the question if there is one, for a projector."""
    step = lesson.steps[at - 1]
    st.html(_STAGE)
    with st.container(key="lesson_top", horizontal=True, vertical_alignment="center"):
        st.markdown(f"# {lesson.title}: {step.title}", width="content", anchors=False)
        st.markdown(f"Step {at} of {len(lesson.steps)}", width="content")
    picture, caption = st.container(key="stage_picture"), st.container(key="lesson_caption", gap="xsmall")
    with st.container(key="stage_sliders"):
        *places, corner = st.columns([*[1.0] * len(step.sliders), 1.5], gap="medium", vertical_alignment="bottom")
    with caption:
        result = st.empty()
        guess = _question(lesson, at, step)
    chosen = _sliders(lesson, at, step, guessed=guess is not None, places=places)
    with caption:
        _reveal(step, guess, chosen)
    settings = step.settings(chosen, guessed=guess is not None)
    with picture:
        said = _pictures(lesson, at, settings, guessed=guess is not None, caption=False)
    result.markdown(said)
    with corner.container(key="lesson_corner", horizontal=True, gap="xsmall", horizontal_alignment="right"):
        _pin(lesson, at, settings)
        _turn(lesson, at)
        st.button("Leave", key="lesson_unpresent", on_click=_unpresent)


def _unpresent() -> None:
    st.session_state[visit.PRESENT], st.session_state[_WHOLE] = False, True


def _go(title: str, at: int) -> None:
    visit.write(LESSON, title or None)
    visit.write(STEP, str(at) if at > 1 else None)


def _again() -> None:
    """The first step of the first lesson, and no guess of any lesson kept."""
    for lesson in lessons().values():
        for at, step in enumerate(lesson.steps, 1):
            if step.question is not None:
                st.session_state.pop(_key(lesson, at, "guess"), None)
    _go(next(iter(lessons())), 1)


def _turn(lesson: Lesson, at: int) -> None:
    last, titles = at == len(lesson.steps), list(lessons())
    st.button("Back", key="lesson_back", disabled=at == 1, on_click=_go, args=(lesson.title, at - 1))
    if last and lesson.title == titles[-1]:
        st.button("Start again", key="lesson_again", on_click=_again)
        st.button("All lessons", key="lesson_next", type="primary", on_click=_go, args=("", 0))
        return
    to = (titles[titles.index(lesson.title) + 1], 1) if last else (lesson.title, at + 1)
    st.button("Next lesson" if last else "Next", key="lesson_next", type="primary", on_click=_go, args=to)


def _key(lesson: Lesson, at: int, name: str) -> str:
    return f"{lesson.key}_{at}_{name}"


def _question(lesson: Lesson, at: int, step: Step) -> str | None:
    """The guess; None while the picture keeps its answer back, and no words where there is nothing to guess."""
    question = step.question
    if question is None:
        return ""
    large = bool(visit.presenting())
    with st.container(horizontal=large, vertical_alignment="center"):
        if large:
            st.markdown(question.ask, width="content")
        guess = st.pills(
            question.ask, question.answers, key=_key(lesson, at, "guess"),
            label_visibility="collapsed" if large else "visible",
        )  # fmt: skip
    return guess


def _reveal(step: Step, guess: str | None, chosen: dict[str, Any]) -> None:
    if step.question is None or guess is None:
        return
    right = step.question.answers[step.question.right]
    mark = (
        ":green[:material/check_circle: **Right.**]" if guess == right else f":red[:material/cancel: **No.**] **{right}.**"
    )
    st.markdown(f"{mark} {step.question.reveal(chosen)}")


def _sliders(lesson: Lesson, at: int, step: Step, *, guessed: bool, places: Sequence[Any] = (st, st)) -> dict[str, Any]:
    """The values that the sliders have; they come after the guess."""
    if not guessed:
        return {slider.name: slider.value for slider in step.sliders}
    return {
        slider.name: place.select_slider(
            slider.label, slider.values, slider.value, format_func=plain, key=_key(lesson, at, slider.name),
            bind="query-params",
        )
        for slider, place in zip(step.sliders, places, strict=False)
    }  # fmt: skip


def _pin(lesson: Lesson, at: int, settings: dict[str, Any]) -> None:
    state = None if _pinned(lesson) else (lesson.title, at, settings)
    st.button(
        "Pin to compare" if state else "Unpin",
        icon=":material/keep:" if state else ":material/keep_off:",
        key="lesson_pin",
        on_click=st.session_state.__setitem__,
        args=(_PIN, state),
    )


def _pinned(lesson: Lesson) -> tuple[int, dict[str, Any]] | None:
    title, *state = st.session_state.get(_PIN) or ("",)
    return (state[0], state[1]) if title == lesson.title else None


def _lab(step: Step, chosen: dict[str, Any]) -> None:
    query = step.in_lab(chosen)
    if visit.dataset().sample is None:  # Inside would put its data in the place of the user's own
        st.link_button("Open Inside", f"inside?{urlencode(query, doseq=True)}", icon=":material/open_in_new:")
    else:
        st.page_link("inside.py", label="Open Inside", icon=":material/biotech:", query_params=query)


def _pictures(lesson: Lesson, at: int, settings: dict[str, Any], *, guessed: bool, caption: bool = True) -> str:
    """The picture, beside the pinned one if there is one, and what it says."""
    figure, said = _pictured(lesson, at, settings)
    if not guessed:
        said = f"**Before your guess**. {said}"
    pinned = _pinned(lesson)
    places = st.columns(2) if pinned else [st.container()]
    if pinned:
        kept, before = pinned
        old, words = _pictured(lesson, kept, before, "pinned_")
        _draw(places[0], old, "pair_pinned", f"**Pinned**, step {kept}{_named(lesson.steps[kept - 1], before)}. {words}")
    _draw(places[-1], figure, "pair_now" if pinned else "now", f"{'**Now**. ' if pinned else ''}{said}" if caption else "")
    return said


def _pictured(lesson: Lesson, at: int, settings: dict[str, Any], stays: str = "") -> tuple[Any, str]:
    """The figure and its sentence. One that ``stays`` has the axes of one that follows the sliders, but none to follow."""
    step = lesson.steps[at - 1]
    live = {"live": {stays + _key(lesson, at, slider.name): slider for slider in step.sliders}} if step.follows else {}
    return step.picture(**settings, **live)


def _named(step: Step, settings: dict[str, Any]) -> str:
    return "".join(f", {slider.label} {plain(settings[slider.name])}" for slider in step.sliders)


def _draw(place: Any, figure: Any, key: str, caption: str) -> None:
    """A figure without its own title, as high as the screen allows."""
    large = visit.presenting()
    with place:
        with st.container(key=f"lesson_picture_{key}"):
            if hasattr(figure, "update_layout"):
                drawn = show.larger_figure(figure, _WORDS / show.SMALL) if large else figure
                above = {"margin_t": 10} if drawn.layout.title.text else {}
                drawn.update_layout(title=None, height=None, **above)
                st.plotly_chart(drawn, height="stretch", config={"displayModeBar": False}, key=f"lesson_{key}")
            else:
                drawn = show.larger_chart(figure, _WORDS / show.SMALL) if large else figure.copy(deep=False)
                if large:
                    _for_stage(drawn, 3 if key == "now" else 2)
                    drawn["config"] = alt.Config(**_STAGE_WORDS)
                drawn["title"], drawn["height"] = alt.Undefined, "container"
                # As in show.show_chart: the check against the schema takes a third of the time.
                object.__setattr__(drawn, "to_dict", partial(drawn.to_dict, validate=False))
                st.altair_chart(drawn, height="stretch", key=f"lesson_{key}")
        if caption:
            st.caption(caption)


def _for_stage(chart: Any, columns: int) -> None:
    """Legends beside each other, as a projector is wide and the picture needs the height; no label over another one."""
    for layer in getattr(chart, "layer", None) or [chart]:
        for channel in ("color", "shape", "strokeDash", "fill", "y"):
            encoded = alt.Undefined if layer.encoding is alt.Undefined else layer.encoding[channel]
            if encoded is alt.Undefined:
                continue
            if channel == "y" and isinstance(encoded["axis"], alt.Axis):
                if encoded["axis"]["labelOverlap"] is False:  # every row has a name: smaller words
                    encoded["axis"]["labelFontSize"] = _WORDS * 0.8
                else:
                    encoded["axis"]["labelOverlap"] = "greedy"
            elif channel != "y" and isinstance(encoded["legend"], alt.Legend):
                encoded["legend"]["columns"] = columns
