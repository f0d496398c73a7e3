"""Widgets and small displays that several pages share, the frame of a panel, and uploading a file."""

from __future__ import annotations

import itertools
import math
import random
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from threading import Thread, Timer
from types import SimpleNamespace
from typing import Any, Literal, TypeVar

import pandas as pd
import streamlit as st
from pandas.io.formats.style import Styler
from streamlit.runtime import get_instance
from streamlit.runtime.scriptrunner import add_script_run_ctx

from dpsyn import escape, notation
from dpsyn.errors import DpsynError, InputError
from dpsyn.kit import visit
from dpsyn.kit.visit import Dataset
from dpsyn.notation import counted, duration, readable, short, superscript
from dpsyn.privacy.spec import PUBLIC_DOMAIN_ASSUMPTION, Guarantee, PrivacySpec

T = TypeVar("T")
_FETCHED = 20.0
"""Seconds within which a browser begins to fetch a file that was made for it."""
_FILES = itertools.count()
number = notation.number
EPSILONS = tuple(float(f"{10 ** (i / 10):.3g}") for i in range(-30, 31))
DELTAS = tuple(float(f"1e-{i}") for i in range(12, 1, -1))

COUNTS = tuple(dict.fromkeys(round(10 ** (i / 10)) for i in range(61)))
SIZES = ("smallest allowed", *(f"{float(f'{10 ** (i / 4):.2g}'):.12g}" for i in range(4, 49)))
CEILINGS = (*(round(1.05 + 0.05 * i, 2) for i in range(40)), *(float(f"{10 ** (0.5 + i / 10):.3g}") for i in range(26)))


def power_of_ten(log10: float) -> str:
    """10^log10 for people, however large or small."""
    if math.isnan(log10):
        return "not defined"
    if math.isinf(log10):
        return "∞" if log10 > 0 else "0"
    if -300 < log10 < 300:
        return number(float(f"{10.0**log10:.12g}"), 3)
    exponent = math.floor(log10)
    return f"{10 ** (log10 - exponent):.2f} × 10{superscript(exponent)}"


_SYMBOLS = {
    "max_frequency": "‖fₙ‖∞",
    "degree = ": "d = ",
    "epsilon": "ε",
    "failure_probability": "γ",
    "reduced_space_size": "m",
    "order_of_mixture": "l",
    "noise_scale": "σ",
    "raise ε or count_share": "raise ε or the share of ε for the class sizes",
    "smallest_class": "Nₖ",
    "noise_sampler='exact'": "OpenDP's exact sampler",
}


def humanise(text: str) -> str:
    """The same sentence with the page's letters for parameters and with :func:`~dpsyn.notation.readable` numbers."""
    for name, symbol in _SYMBOLS.items():
        text = text.replace(name, symbol)
    return readable(text)


def said(text: str) -> str:
    """A sentence of the library as :func:`humanise` makes it, in Markdown that shows as it is what it quotes of the data."""
    return escape.markdown(humanise(text))


EPSILON, DELTA, DEGREE, ORDER = "epsilon", "delta", "degree", "order"
"""Of the settings that all pages share, in the address and in the session."""
USUAL: Mapping[str, Any] = {EPSILON: 1.0, DELTA: 1e-5, DEGREE: 2, ORDER: 8}
"""What they are until somebody moves them."""
AFTERWARDS = "Release to update."
"""Of a slider that no picture follows while it is dragged."""
SHARED: Mapping[str, Any] = {"bind": "query-params", "persist_state": "session"}
"""How a widget keeps them from page to page."""
DEGREES = (1, 2, 3, 4)
ORDERS = tuple(2**i for i in range(10))


def epsilon_slider(key: str = EPSILON, *, value: float = USUAL[EPSILON], why: str = "") -> float:
    """ε from 0.001 to 1000, logarithmic: the one that all pages share, unless ``key`` is another, which ``why`` explains."""
    with st.container(key=f"ends_{key}", gap="xsmall"):
        chosen = st.select_slider(
            "ε (privacy budget)",
            EPSILONS,
            value=value,
            format_func=lambda e: f"{e:g}",
            key=key,
            help=f"Smaller is more private. Each step multiplies ε by about 1.26. {why}".rstrip(),
            **SHARED,
        )
        with st.container(horizontal=True, horizontal_alignment="distribute"):
            st.caption("← more private", width="content")
            st.caption("less private →", width="content")
    return float(chosen)


def _written(delta: float) -> str:
    return f"{delta:.0e}".replace("e-0", "e-")


def delta_slider(*, value: float = USUAL[DELTA], disabled: bool = False, why: str = "") -> float:
    """The δ of the privacy budget, logarithmic, which all pages share."""
    chosen = st.select_slider(
        "δ (privacy slack)",
        DELTAS,
        value=value,
        format_func=_written,
        key=DELTA,
        help="What may be added to e^ε times a probability when a row changes. Take it far below 1/n: the loss of privacy "
        f"exceeds ε with a probability that is several times δ. {why}".rstrip(),
        disabled=disabled,
        **SHARED,
    )
    return float(chosen)


def budget() -> PrivacySpec:
    """The ε and δ that all pages share, for a page that does not show the sliders."""
    epsilon, delta = (float(st.session_state.get(name, USUAL[name])) for name in (EPSILON, DELTA))
    return PrivacySpec(epsilon, delta)


def budget_in_link() -> dict[str, list[str]]:
    """What an address says of :func:`budget`: nothing where it is the usual one."""
    spec = budget()
    return {
        EPSILON: [f"{spec.epsilon:g}"] if spec.epsilon != USUAL[EPSILON] else [],
        DELTA: [_written(spec.delta)] if spec.delta != USUAL[DELTA] else [],
    }


def degree_slider(why: str = "", *, value: int = USUAL[DEGREE]) -> int:
    """d, which all pages share."""
    return int(
        st.slider(
            "d (columns of a table)",
            DEGREES[0],
            DEGREES[-1],
            value,
            key=DEGREE,
            help=f"How many columns a table looks at. More keep more structure, but cost noise and time. {why}".rstrip(),
            **SHARED,
        )
    )


def order_slider(why: str = "", *, value: int = USUAL[ORDER]) -> int:
    """l, which all pages share."""
    return int(
        st.select_slider(
            "l (order of mixture)",
            ORDERS,
            value,
            key=ORDER,
            help=f"How many records of a class DP-CDA averages into one synthetic row. {why}".rstrip(),
            **SHARED,
        )
    )


def seed_control(key: str, what: str = "Draw again") -> int:
    """A seed in the address: it stays until somebody draws again, or is new after every change while it is not frozen."""
    if not st.session_state.get(f"{key}_frozen", True):
        st.session_state[key] = random.randrange(1, 10**6)

    def next_seed() -> None:
        st.session_state[key] = int(st.session_state.get(key, 1)) + 1

    with st.container(horizontal=True, vertical_alignment="bottom", width="content"):
        seed = st.number_input("Seed", 1, 10**6, key=key, bind="query-params", width=130)
        st.button(what, icon=":material/casino:", key=f"{key}_again", on_click=next_seed)
        st.toggle(
            "Freeze",
            True,
            key=f"{key}_frozen",
            bind="query-params",
            help="Frozen, the same seed draws the same numbers, so that only the sliders change something. Otherwise every "
            "change draws new ones.",
        )
    return int(seed)


def badge(reads: bool | Literal["release"]) -> None:
    """What the panel beside it shows: True if it reads the private rows, and so is not for publication; False if it follows
    from public facts; "release" if it shows a private release, which may be published under its guarantee."""
    if reads == "release":
        st.badge("Private release", icon=":material/verified_user:", color="blue")
    elif reads:
        st.badge("Reads private data: not for publication", icon=":material/lock_open:", color="orange")
    else:
        st.badge("Public facts only", icon=":material/public:", color="green")


def heading(title: str, reads: bool | Literal["release"]) -> None:
    """A heading of the second order with its :func:`badge`."""
    with st.container(horizontal=True, vertical_alignment="center", horizontal_alignment="distribute"):
        st.markdown(f"## {title}", width="content", anchors=False)
        badge(reads)


def data_notices() -> None:
    """Say above the data of a page that a table of the user's own did not survive the reload, until anything is loaded or
    chosen; and that a file is being read, until it takes the place of what the page shows."""
    shown = escape.markdown(visit.dataset().table.name)
    if visit.OWN_LOST in st.session_state:
        st.warning(
            "The table that you had loaded is gone: a reload of the page, or a link, does not bring it along. Load it "
            f"again; until then {shown} stands in its place.",
            icon=":material/warning:",
        )
        st.page_link("data.py", label="Load it on the page Data", icon=":material/table:")
    if visit.reads_upload():
        st.info(f"Your file is still being read: until that is done, all pages show {shown}.", icon=":material/info:")
        _follow_job()


def dataset_bar() -> visit.Dataset:
    """One line that says which dataset the app holds."""
    current = visit.dataset()
    data_notices()
    with st.container(horizontal=True, vertical_alignment="center"):
        name, columns = escape.markdown(current.table.name), counted(len(current.table.domain), "column")
        st.markdown(f"**{name}** · {counted(current.table.n, 'row')} · {columns}")
        if not current.table.domain.is_public:
            st.badge("Read off these rows, not yet public", icon=":material/warning:", color="orange")
    return current


def guarantee_card(guarantee: Guarantee, *, before: bool) -> None:
    """The exact claim, whether it holds, and its source and assumptions, to be opened."""
    if guarantee.status == "published_but_wrong":
        reasons = "\n".join(f"- {escape.markdown(reason)}" for reason in guarantee.assumptions)
        st.error(
            f"**No guarantee {'will hold' if before else 'holds'}: never release this.** Source: "
            f"{said(guarantee.source)}\n\n{reasons}",
            icon=":material/gpp_bad:",
        )
        return
    title = {
        "proven": "This guarantee is proven",
        "unconfirmed_domain": "This guarantee holds only once the domain is confirmed as public",
        "real_arithmetic": "This guarantee is proven in exact arithmetic only: floating point can break it",
        "experimental": "Experimental: not proven",
        "stated": "This guarantee is stated by the file, not checked by us",
        "demonstration": "No guarantee: whoever knows the seed can take the noise off",
    }[guarantee.status]
    if guarantee.status == "real_arithmetic" and guarantee.unconfirmed:
        title = "This guarantee holds only once the domain is confirmed as public, and then in exact arithmetic only"
    sound = guarantee.status == "proven" and not guarantee.weak
    title += f", but {guarantee.weak}" if guarantee.status == "proven" and guarantee.weak else ""
    show = st.success if sound else st.warning
    tense = "The release will be" if before else "The release is"
    icon = ":material/verified_user:" if sound else ":material/gpp_maybe:"
    show(f"**{title}.** {tense} **{said(guarantee.claim)}**.", icon=icon)
    with st.expander("Source and assumptions"):
        # Of a domain that waits to be confirmed it is said already, and that it was known is not true.
        assumed = [a for a in guarantee.assumptions if not (guarantee.unconfirmed and a == PUBLIC_DOMAIN_ASSUMPTION)]
        st.markdown("\n".join([f"{said(guarantee.source)}.", "", *[f"- {said(a)}" for a in assumed]]))


def confirm_link() -> None:
    """The way to where a domain is confirmed as public."""
    st.page_link("domain.py", label="Confirm it on the page Domain", icon=":material/fact_check:")


def facts(values: Mapping[str, str]) -> None:
    """A row of named figures."""
    for column, (name, value) in zip(st.columns(len(values)), values.items(), strict=True):
        column.metric(name, value)


def text_table(frame: pd.DataFrame) -> None:
    """A table of text whose cells are wrapped, never cut, and not between a sign and its number; all is shown as it is."""
    plain = frame.astype(str).map(_in_table)
    plain.columns = pd.Index([_in_table(str(name)) for name in frame.columns])
    st.table(plain, border="horizontal", hide_index=True)


def _in_table(text: str) -> str:
    return escape.markdown(re.sub(r"(?<=[≥≤<>×✓✗◇]) | (?=[×≥≤] )", "\N{NO-BREAK SPACE}", text))


def with_thousands(frame: pd.DataFrame) -> Styler | pd.DataFrame:
    """The table for ``st.dataframe``, whole numbers written as 20,000 and others with four digits; it sorts by value. A very
    large one stays as it is."""
    if frame.size > pd.get_option("styler.render.max_elements"):
        return frame
    formats: dict[Any, Any] = {}
    for place, name in enumerate(frame.columns):
        if pd.api.types.is_integer_dtype(frame.dtypes.iloc[place]):
            formats[name] = "{:,}"
        elif pd.api.types.is_float_dtype(frame.dtypes.iloc[place]):
            formats[name] = lambda value: short(value, 4)
    return frame.style.format(formats, na_rep="—")


_MIMES = {
    "csv": "text/csv",
    "json": "application/json",
    "py": "text/x-python",
    "html": "text/html",
    "ipynb": "application/x-ipynb+json",
    "md": "text/markdown",
    "png": "image/png",
    "svg": "image/svg+xml",
}


WORDS = "_words"
"""Of the session: what addresses say for the values of a setting, by its key."""


def view_of(views: Iterable[str], key: str, label: str = "View") -> str:
    """Which of several views of a page is shown; the first one until another is chosen. The address keeps it."""
    return one_of(label, list(views), key=key, label_visibility="collapsed")


def one_of(label: str, options: Sequence[T] | Mapping[T, str], *, key: str, default: T | None = None, **further: Any) -> T:
    """Buttons of which one is always chosen, by default the first; a mapping has the words of each. A link that chooses none
    leaves the usual one. The address keeps it."""
    if isinstance(options, Mapping):
        further["format_func"] = _worded(options, key)
    values = list(options)
    usual = values[0] if default is None else default
    chosen: T | None = st.segmented_control(
        label, values, default=usual, required=True, key=key, bind="query-params", **further
    )
    return usual if chosen is None else chosen


def pick(label: str, options: Mapping[T, str], *, key: str, **further: Any) -> T:
    """As :func:`one_of`, as a list that opens: for long words, or many."""
    found: T = st.selectbox(label, list(options), format_func=_worded(options, key), key=key, bind="query-params", **further)
    return found


def _worded(options: Mapping[T, str], key: str) -> Callable[[T], str]:
    st.session_state.setdefault(WORDS, {})[key] = options
    return options.__getitem__


def file_stem(name: str) -> str:
    """The name of data as part of a file's name: letters and digits, 40 of them at most."""
    return "".join(c if c.isalnum() else "_" for c in name)[:40] or "report"


def download(label: str, data: Any, file: str, *, key: str, icon: str = "download", **options: Any) -> None:
    """A button that saves a file; if ``data`` is a function, Streamlit calls it outside the visit: it reads no session."""
    mime = _MIMES[file.rsplit(".", 1)[-1]]
    if callable(data):
        data = partial(_made, data, file, mime)
    st.download_button(label, data, file, mime, key=key, icon=f":material/{icon}:", on_click="ignore", **options)


def _made(make: Callable[[], str | bytes], file: str, mime: str) -> bytes:
    """What a function makes, kept till a browser has fetched it: Streamlit drops a file that no page names once any two
    pages have been drawn, of whatever visit."""
    found = make()
    data = found.encode() if isinstance(found, str) else found
    files = get_instance().media_file_mgr
    # As of a visit of its own, which can be ended by itself.
    visit_of_file: Any = SimpleNamespace(session_id=f"file {next(_FILES)}")
    thread = Thread(target=files.add, args=(data, mime, file, file, True))
    add_script_run_ctx(thread, visit_of_file)
    thread.start()
    thread.join()
    fetched = Timer(_FETCHED, files.clear_session_refs, [visit_of_file.session_id])
    fetched.daemon = True
    fetched.start()
    return data


def watch_job() -> None:
    """Progress of the running job, whose result goes to the session when it ends; or what became of the last one, if it did
    not succeed; once, that it was cancelled. The progress of an upload stands beside the name of the data
    (:func:`data_notices`)."""
    if not visit.reads_upload():
        _follow_job()
    if note := st.session_state.pop("job_note", None):
        st.caption(escape.markdown(note))
    if message := st.session_state.get("job_message"):
        st.error(said(message), icon=":material/error:")


def _follow_job() -> None:
    every = poll_every(0.4)

    @st.fragment(run_every=every)
    def panel() -> None:
        follow(every)

    panel()


def follow(every: float | None) -> None:
    """The running job: its progress and its buttons, in a fragment that looks ``every`` so many seconds. When the job begins
    or ends, the page is drawn again."""
    job = visit.job()
    if job is None:
        return
    if not job.running:
        visit.finish_job()
        st.rerun()
    if every == _WAITING and not job.waiting:
        st.rerun()
    step, share = job.progress()
    words = f"{job.label}: {step} … ({job.seconds:.0f} s)"
    if job.paused:
        words = f"Paused: what is running is finished first. {words}"
    else:
        words += time_left(job.seconds, share)
    st.progress(share, text=escape.markdown(words))
    with st.container(horizontal=True):
        if "take_in" in job.context:  # it does one thing after another, and what is done is kept
            label, icon = ("Go on", "play_arrow") if job.paused else ("Pause", "pause")
            if st.button(label, icon=f":material/{icon}:", key="pause"):
                job.pause(not job.paused)
                st.rerun(scope="fragment")
        if st.button("Cancel", icon=":material/stop:", key="cancel"):
            visit.cancel_job()
            st.rerun()


def time_left(seconds: float, share: float) -> str:
    """How long a job still takes that has done this share of its work in so many seconds; empty while that says little."""
    if seconds <= _SOON or share < _ENOUGH:
        return ""
    return f", {duration(seconds / share * (1 - share))} left"


def poll_every(seconds: float) -> float | None:
    """How often a panel looks after the job of this visit: so often while it works, seldom while it waits for its turn."""
    job = visit.job()
    return None if job is None else _WAITING if job.waiting else seconds


@contextmanager
def panel(title: str, badge: bool, caption: str = "") -> Iterator[None]:
    """A bordered panel: ``with panel("Spectrum", badge=False, caption="…"):``. Use it inside a fragment.

    What dpsyn raises on purpose while the panel is drawn is shown in its place, so one panel never takes the page along.

    Args:
        title: a few words.
        badge: whether the panel reads private data, as :func:`dpsyn.kit.widgets.badge` says it.
        caption: one or two sentences on what is to be seen.
    """
    with st.container(border=True):
        heading(title, badge)
        if caption:
            st.caption(caption)
        with refusals():
            yield


@contextmanager
def refusals() -> Iterator[None]:
    """Inside, what dpsyn raises on purpose ends what is drawn, and is shown in its place."""
    try:
        yield
    except DpsynError as fault:
        empty(said(str(fault)))


def reads_domain(current: Dataset) -> bool:
    """Whether a panel that uses no more than the domain reads private data: yes, until the domain is confirmed as public."""
    return not current.table.domain.is_public


def empty(reason: str) -> None:
    """Why a panel has nothing to show, and what would change that."""
    st.info(reason, icon=":material/info:")


_WAITING = 2.0
_SOON, _ENOUGH = 3.0, 0.1
"""Seconds, and the share of its work, before a job says how long it will still take."""
TYPES = ("csv", "tsv", "txt", "parquet")


def uploader() -> None:
    """A file uploader; what it is given becomes the session's dataset."""
    st.file_uploader(
        "Your own table: it stays on the machine that runs this app",
        type=list(TYPES),
        key="upload",
        on_change=_take,
    )


def _take() -> None:
    file = st.session_state["upload"]
    if file is None:
        return
    st.session_state.pop(visit.FAULT_KEY, None)
    try:
        visit.use_upload(file.getvalue(), file.name)
    except InputError as fault:
        st.session_state[visit.FAULT_KEY] = f"{file.name}: {fault}"


def show_fault() -> None:
    """What was wrong with the last file."""
    fault = st.session_state.get(visit.FAULT_KEY)
    if fault:
        st.error(
            f"{escape.markdown(fault.rstrip('.'))}.  \nThe data that was loaded before is still here.",
            icon=":material/error:",
        )
