"""The one door for what comes from an address: what no setting can have is dropped before any widget reads it, and named."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, NoReturn

import streamlit as st
from streamlit.runtime.scriptrunner import get_script_run_ctx

from dpsyn import escape
from dpsyn.kit import widgets

_LONGEST = 10_000
_OPTIONS: dict[str, Sequence[float]] = {
    widgets.EPSILON: widgets.EPSILONS,
    widgets.DELTA: widgets.DELTAS,
    widgets.DEGREE: widgets.DEGREES,
    widgets.ORDER: widgets.ORDERS,
}
_EARLIER = {
    f"{page}_{name}": name for name in _OPTIONS for page in ("f", "ps", "nr", "mwem", "cda", "is", "in_nr", "in_cda", "lab")
} | {"csv_guardothers": "csv_guard", "field": "mechanism"}
"""What settings were called in links while every page, list, or group of mechanisms had its own."""
_GONE = ("in_cda_sizes", "in_cda_lines_", "in_cda_claim", "in_cda_runs", "in_nr_factor")
"""How names of settings begin that are no more."""
_ASKED, _REFUSED, _RENAMED = "_asked_by_link", "_refused_of_link", "_renamed_in_link"


def admit() -> None:
    """Drop what is unfit from the address. To be called before anything reads it."""
    context = get_script_run_ctx()
    if context is not None:
        # A page that is left leaves entries without its settings in the browser's history. On a step back they are what they
        # were: what the entry says counts, and Streamlit would take all that it does not say for the default.
        context.is_history_navigation = False
    address = {name: st.query_params.get_all(name) for name in st.query_params}
    unfit = [name for name, texts in address.items() if name.startswith(_GONE) or not all(map(_fit, (name, *texts)))]
    earlier = [name for name in address if name in _EARLIER and name not in unfit]
    said = {name: texts for name, texts in address.items() if name not in unfit and name not in earlier}
    for name in earlier:  # today's name counts before earlier ones, and of these the first
        if said.setdefault(_EARLIER[name], address[name]) != address[name]:
            unfit.append(name)
    if (unfit or earlier) and context is not None:
        # st.query_params keeps what a widget is bound to, and widgets read what the address said at first.
        with context.session_state.query_params() as params:
            for name in (*unfit, *earlier):
                params.remove_param(name)
            for name in {_EARLIER[name] for name in earlier}:
                params.set_with_no_forward_msg(name, said[name])
            params.set_initial_query_params_from_current()
    # What a widget has said already is no link's word any more.
    asked = {name: texts for name, texts in said.items() if name not in st.session_state}
    st.session_state[_ASKED] = asked, unfit
    st.session_state[_RENAMED] = bool(earlier)


def refuse(names: Iterable[str]) -> None:
    """Have :func:`refusals` name settings of the address that are no widget's and make no sense."""
    st.session_state[_ASKED][1].extend(names)


def go(page: Any, *, keep: bool = False) -> NoReturn:
    """Switch to a page, with an empty address; ``keep``: with what it says and no widget has taken up.

    Streamlit refuses to clear the address where a widget of all pages is bound to it, but not to put another in its place.
    """
    kept = [name for name in st.query_params if name not in st.session_state] if keep else []
    st.switch_page(page, query_params={name: st.query_params.get_all(name) for name in kept})


def hold(settings: Mapping[str, list[str]]) -> None:
    """Have the address say this of settings that the page has not drawn; Streamlit takes away what a widget held that goes.

    Args:
        settings: what it says by name; nothing takes a setting away.
    """
    context = get_script_run_ctx()
    if context is None:
        return
    # Every message is an entry of the browser's history: one for all.
    with context.session_state.query_params() as params:
        mine = [name for name in settings if name not in context.shared.widget_user_keys_this_run]
        changed = st.session_state.get(_RENAMED) or any(settings[name] != params.get_all(name) for name in mine)
        for name in mine:
            if (binding := params.get_binding_for_param(name)) is not None:
                params.unbind_widget(binding.widget_id)
            if settings[name]:
                params.set_with_no_forward_msg(name, settings[name])
            else:
                params.discard_param_no_forward_msg(name)
        if changed:
            params._send_query_param_msg()


def hold_budget() -> None:
    """The same of the budget that all pages share, on one that spends it and has no slider of it; a link's counts first."""
    keep_shared()
    budget = widgets.budget_in_link()
    refuse([name for name in budget if name in st.query_params and name not in st.session_state])
    hold(budget)


def drop_shared() -> None:
    """Take what :func:`hold` said of settings that all pages share out of the address: they may be others by now."""
    hold({name: [] for name in _OPTIONS})


def keep_shared() -> None:
    """Keep what the address says of the settings that all pages share for the pages that show them. To be called after all
    widgets of them."""
    for name, options in _OPTIONS.items():
        if name not in st.session_state:
            texts = st.query_params.get_all(name)
            found = [option for option in options if _says(texts, option)]
            if found:
                st.session_state[name] = found[0]


def _fit(text: str) -> bool:
    """Whether any setting could have it: it is not endless in any sense."""
    if len(text) > _LONGEST:
        return False
    try:
        return math.isfinite(float(text))
    except ValueError:
        return True


@contextmanager
def refusals(page: str) -> Iterator[None]:
    """Around a page: above it stands which settings of the address it did not take, until another page is opened."""
    place = st.empty()
    try:
        yield
    finally:  # a page may end early
        asked, unfit = st.session_state[_ASKED]
        # Streamlit takes away what a widget cannot have, and what is its default; of a fraction it keeps the whole part, of
        # several values one.
        taken = {name: st.session_state[name] for name in asked if name in st.session_state}
        gone = [name for name, v in taken.items() if name not in st.query_params or isinstance(v, int) or asked[name][1:]]
        before = st.session_state.get(_REFUSED, ("", []))
        names = [*(before[1] if before[0] == page else ()), *unfit]
        words = st.session_state.get(widgets.WORDS, {})
        taken |= {name: words[name].get(taken[name]) for name in taken if name in words}
        names += [name for name in gone if not _says(asked[name], taken[name])]
        st.session_state[_REFUSED] = page, list(dict.fromkeys(names))
        if names:
            said = ", ".join(escape.markdown(name[:60]) for name in dict.fromkeys(names))
            place.warning(
                f"Not taken from the link: {said}. No setting has such a value or name.", icon=":material/link_off:"
            )


def _says(texts: list[str], value: Any) -> bool:
    """Whether a link's words for a setting may be those for this value; options are written as people read them."""
    if isinstance(value, list | tuple):
        texts = texts[0].split(",") if len(texts) == 1 < len(value) else texts
        return len(texts) == len(value) and all(_says([text], part) for text, part in zip(texts, value, strict=True))
    if len(texts) != 1:
        return False
    said, number = texts[0].casefold(), isinstance(value, int | float) and not isinstance(value, bool)
    try:
        return float(said.replace(",", "")) == value if number else _letters(said) == _letters(str(value).casefold())
    except ValueError:
        return False


def _letters(text: str) -> str:
    return "".join(filter(str.isalnum, text))
