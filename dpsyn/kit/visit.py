"""What a visit holds that forms and panels need: the dataset, the running job, what its address keeps."""

from __future__ import annotations

import hashlib
import json
import zlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property, wraps
from typing import Any, ParamSpec, Protocol, TypeVar

import numpy as np
import streamlit as st
from streamlit.runtime.scriptrunner import get_script_run_ctx
from streamlit.runtime.state.query_params import parse_url_param

from dpsyn.data.counted import AnyTable
from dpsyn.data.in_place import Connection
from dpsyn.data.samples import SAMPLES, load_sample
from dpsyn.data.source import DataSource
from dpsyn.domain import Attribute, Domain
from dpsyn.errors import DataError
from dpsyn.kit import faults, jobs, reading
from dpsyn.kit.jobs import Job
from dpsyn.privacy.spec import PrivacySpec
from dpsyn.statistics import DatasetStatistics
from dpsyn.table import Table

DEFAULT_SAMPLE = "asia"
SAMPLE_KEY = "sample"
"""Of the widget that chooses a bundled dataset; the session may set it."""
FAULT_KEY = "upload_fault"
"""In the session while the last file that was given could not be read: what was wrong with it."""
OWN_LOST = "own_lost"
"""In the session while the address speaks of a table of the user's own that is not there, and nothing else was loaded."""
MOST_CLASSES = 50
"""Of a column that can be predicted."""
SPLIT_SEED = 0
HELD_OUT = 0.25
_REMEMBERED = 50
M_co = TypeVar("M_co", covariant=True)
Thing = TypeVar("Thing")
P = ParamSpec("P")


class Calibrates(Protocol[M_co]):
    """A configuration of a mechanism."""

    def calibrate(self, spec: PrivacySpec, domain: Domain, n: int) -> M_co: ...


@dataclass(frozen=True)
class Dataset:
    """The dataset of the session.

    Attributes:
        table: all rows over the current domain; columns left out are not in it. They are in memory, or an engine counts
            them where they lie: then what pages ask of them was counted already, in a background job.
        full: all rows and columns as read, with the domain as first inferred or given.
        notes: what reading it had to decide.
        target: the column to predict and, for DP-CDA, the class; None if there is no suitable one.
        held_out: share of the rows kept for testing; mechanisms never see them.
        two_valued_as_bit: whether every two-valued column counts as one bit.
        sample: name of the bundled dataset, or None for the user's own.
        sources: by column where its categories, bounds and unit are known from, as far as somebody said so.
        left_out: what columns were, by name, before they were left out.
    """

    table: AnyTable
    full: AnyTable
    notes: tuple[str, ...] = ()
    target: str | None = None
    held_out: float = HELD_OUT
    two_valued_as_bit: bool = False
    sample: str | None = None
    sources: Mapping[str, str] = field(default_factory=dict)
    left_out: Mapping[str, Attribute] = field(default_factory=dict)
    revision: int = field(default_factory=lambda: next_number("revision"))

    @cached_property
    def statistics(self) -> DatasetStatistics:
        """Statistics of the rows that mechanisms see."""
        return self.parts[0].statistics(two_valued_as_bit=self.two_valued_as_bit)

    @cached_property
    def balance(self) -> tuple[int, int | None]:
        """Classes of the target, and of the rows that mechanisms see those of the smallest one; two and None without one."""
        if self.target is None:
            return 2, None
        return self.table.domain[self.target].size, self.parts[0].smallest_class(self.target)

    @property
    def in_memory(self) -> bool:
        """Whether the rows are here, and not counted where they lie."""
        return isinstance(self.table, Table)

    @cached_property
    def drawn(self) -> Dataset:
        """The same with rows in memory, for pictures of rows: itself, or with the rows that the engine drew."""
        return self if self.in_memory else replace(self, table=self.table.drawn, full=self.table.drawn)

    @property
    def rows_made(self) -> int:
        """How many rows a release has when nobody says: as many as a mechanism sees and memory holds."""
        return self.parts[0].drawn.n

    @cached_property
    def parts(self) -> tuple[AnyTable, Table | None]:
        """Rows to learn from and held-out rows. The split is fixed, so every release is compared on the same rows.

        Nothing is held out of rows that an engine counts.
        """
        if self.table.n < 2 or not isinstance(self.table, Table):
            return self.table, None
        return self.table.split(self.held_out, np.random.default_rng(SPLIT_SEED))

    @property
    def source(self) -> DataSource:
        """Where the rows come from and how they are split: what a script has to know."""
        name, sample = self.sample or self.table.name, self.sample is not None
        return DataSource(name, self.table.domain, sample, self.held_out, SPLIT_SEED)

    @cached_property
    def tag(self) -> str:
        """A short name for these columns, the same in every visit: settings that depend on them carry it in their key."""
        facts: list[Any] = [self.target, self.held_out, [[a.name, a.kind, a.size] for a in self.table.domain.attributes]]
        if self.sample is None:  # another file may have other values in columns of the same names
            facts.append([a.categories for a in self.table.domain.attributes])
        mark = f"{zlib.crc32(json.dumps(facts, default=str).encode()):08x}"
        if self.sample is not None and self.held_out == HELD_OUT and self.table.domain == self.full.domain:
            return self.sample if self.target == SAMPLES[self.sample].target else f"own_{mark}"
        return f"own_{mark}"

    @property
    def kept(self) -> dict[str, Any]:
        """How a widget keeps its value whose key or choices tell of the columns: in the address while they are those of a
        bundled dataset, and in the session alone while they are the user's own."""
        return {"bind": "query-params"} if self.sample is not None else {"persist_state": "session"}

    @cached_property
    def classes(self) -> tuple[str, ...]:
        """Columns that can be a class: truth or categorical with 2 to 50 categories, and never empty."""
        every = self.table.domain.attributes
        return tuple(a.name for a in every if not a.is_binned and not a.missing and 2 <= a.size <= MOST_CLASSES)

    @cached_property
    def predictable(self) -> tuple[str, ...]:
        """Columns that a model can be asked for: the classes, numbers and dates."""
        classes = set(self.classes)
        return tuple(a.name for a in self.table.domain.attributes if a.is_binned or a.name in classes)

    @property
    def single_valued(self) -> list[str]:
        """Columns of one value: in the domain, or, of the user's own with more than one row, in all rows."""
        bundled = self.sample is not None
        return [a.name for a in self.table.domain.attributes if a.is_constant] if bundled else self.table.single_valued

    def changed(self, **changes: Any) -> Dataset:
        """A new revision; a target that is gone is replaced by the last suitable column, and what columns were that are left
        out is remembered."""
        table = changes.get("table", self.table)
        known = {**self.left_out, **{attribute.name: attribute for attribute in self.table.domain.attributes}}
        left_out = {name: attribute for name, attribute in known.items() if name not in table.domain}
        new = replace(self, **changes, left_out=left_out, revision=next_number("revision"))
        return new if new.target in new.classes else replace(new, target=new.classes[-1] if new.classes else None)

    def counted(self, *, two_valued_as_bit: bool) -> Dataset:
        """The same revision, its bits counted in this way: what somebody has begun to edit stays."""
        return replace(self, two_valued_as_bit=two_valued_as_bit)


def next_number(counter: str) -> int:
    """1, 2, 3, … for everything of a kind that this session makes."""
    key = f"_{counter}"
    st.session_state[key] = st.session_state.get(key, 0) + 1
    return int(st.session_state[key])


def dataset() -> Dataset:
    """The current dataset; the first call loads the bundled one."""
    if not has_dataset():
        use_sample(DEFAULT_SAMPLE)
    current: Dataset = st.session_state["dataset"]
    return current


def has_dataset() -> bool:
    """Whether this visit has loaded anything yet."""
    return "dataset" in st.session_state


def use(new: Dataset) -> None:
    """Make this the session's dataset; what was said of runs on another one is over."""
    for said in (OWN_LOST, "job_message", "job_note"):
        st.session_state.pop(said, None)
    st.session_state["dataset"] = new


def use_sample(name: str) -> None:
    """Load a bundled dataset; its domain is public."""
    use(bundled(name))


def bundled(name: str) -> Dataset:
    """A bundled dataset as it comes."""
    table = load_sample(name)
    return Dataset(table=table, full=table, target=SAMPLES[name].target, sample=name)


def is_bundled(name: str, domain: Domain) -> bool:
    """Whether these are columns of a bundled dataset as it comes, so that what of them is public is our own word."""
    return name in SAMPLES and set(domain.attributes) <= set(load_sample(name).domain.attributes)


def use_upload(data: bytes, name: str) -> None:
    """Read an uploaded file: at once if that is quick, else as a job.

    Raises:
        InputError: it cannot be read, or not while another job runs; the session keeps the dataset it had.
    """
    most = reading.most_cells()
    if reading.is_quick(data):
        _take_upload({}, reading.read(data, name, most, quietly))
        return
    if job() is not None:
        raise DataError("this file is read in the background, where something runs: wait for it, or cancel it")
    done = {"done": _take_upload}
    set_job(jobs.start("dpsyn.kit.reading:read", label=f"Reading {name}", context=done, data=data, name=name, most=most))


def _take_upload(_context: dict[str, Any], found: reading.Read) -> None:
    new = Dataset(table=found.table, full=found.full, notes=found.notes)
    st.session_state.pop(FAULT_KEY, None)
    use(replace(new, target=new.classes[-1] if new.classes else None))


def use_source(source: str | Connection, name: str) -> None:
    """Have an engine count rows where they lie, as a job, and make them the session's dataset.

    Args:
        source: path of a file or a folder on the server's machine, or a table of a database.
        name: how to call it.
    """
    done = {"done": _take_upload}
    set_job(jobs.start("dpsyn.kit.reading:open_source", label=f"Counting {name}", context=done, source=source, name=name))


def quietly(step: str, share: float) -> None:
    """Report nothing."""


def job() -> Job | None:
    """The running or just finished job."""
    current: Job | None = st.session_state.get("job")
    return current


def reads_upload() -> bool:
    """Whether that job reads a file which is to replace the dataset."""
    current = job()
    return current is not None and current.context.get("done") is _take_upload


def set_job(new: Job) -> None:
    """Watch this job from now on."""
    st.session_state["job"] = new
    for said in ("job_message", "job_note"):
        st.session_state.pop(said, None)


def cancel_job() -> None:
    """Kill the running job; what it has handed out is taken in first, if whoever started it said how, and said in the words
    that its context has for that as ``cancelled``."""
    current = st.session_state.pop("job", None)
    if current is None:
        return
    take_in = current.context.get("take_in")
    if take_in is not None:
        take_in(current)
    current.cancel()
    nothing = f"{current.label} was cancelled; nothing of it was kept, everything else is still here."
    st.session_state["job_note"] = current.context.get("cancelled", nothing)


def finish_job() -> None:
    """Hand what a finished job brought to whoever started it, or say why nothing came of it.

    The job's context holds two functions: ``done(context, value)`` takes its value and gives a message or None, with the
    ``seconds`` that it took in the context; ``take_in(job)``, if there is one, takes what it hands out on its way.
    """
    current: Job | None = st.session_state.pop("job", None)
    if current is None:
        return
    context = current.context
    if "take_in" in context:
        current.wait()
        context["take_in"](current)
    seconds, outcome = current.seconds, current.outcome()
    if outcome.details is not None:
        faults.LOG.error("A job stopped unexpectedly, %s", outcome.details)
    if outcome.error is not None:
        kept = " What it had finished is kept: resume it." if "take_in" in context else ""
        st.session_state["job_message"] = f"{current.label}: {outcome.error}{kept}"
        return
    message = context["done"]({**context, "seconds": seconds}, outcome.value)
    if message is not None:
        st.session_state["job_message"] = f"{current.label}: {message}"


def keep_value(context: dict[str, Any], value: Any) -> None:
    """A ``done`` of a job: its value and what it was asked about lie in the session under ``context["key"]``; who asked
    decides if they still fit."""
    st.session_state[context["key"]] = {**context, "value": value}


def remembered(place: str, most: int, key: object, make: Callable[[], Thing]) -> Thing:
    """``make()``, kept at a place of the session under the key; the oldest is forgotten where there are ``most``."""
    memory: dict[object, Thing] = st.session_state.setdefault(place, {})
    if key not in memory:
        made = make()
        while len(memory) >= most:
            memory.pop(next(iter(memory)))
        memory[key] = made
    return memory[key]


def calibrated(config: Calibrates[M_co], spec: PrivacySpec, table: AnyTable) -> M_co:
    """``config.calibrate(...)``, remembered within the session (from public facts only)."""
    key = repr((config, spec, table.domain.mark, table.n, _rows_of_its_own(config)))
    return remembered("calibrations", _REMEMBERED, key, lambda: config.calibrate(spec, table.domain, n=table.n))


def _rows_of_its_own(config: object) -> str:
    """Public rows that a configuration holds; its text does not show them."""
    public = getattr(config, "public", None)
    return "" if public is None else hashlib.sha256(public.mark).hexdigest()


PRESENT = "present"
_KEPT, _CODE = "_kept_in_address", "_code_on_screen"


def drop_of_other_page() -> None:
    """Take what another page kept (:func:`keep`) out of the address."""
    page, name = st.session_state.get(_KEPT, ("", ""))
    if page != page_url():
        write(name, None)


def keep(name: str, text: str | None) -> None:
    """Write the one setting of this page that no widget can be bound to into the address; None takes it away.

    Under another name it takes the place of what was kept before; on another page it goes.
    """
    _, before = st.session_state.get(_KEPT, ("", name))
    if before != name:
        write(before, None)
    write(name, text)
    st.session_state[_KEPT] = (page_url(), name)


def write(name: str, text: str | None) -> None:
    """Set a parameter of the address; None takes it away."""
    if text is None and name in st.query_params:
        del st.query_params[name]
    elif text is not None and st.query_params.get(name) != text:
        st.query_params[name] = text


def keep_in_step() -> None:
    """Write what widgets hold into the address where it says something else. To be called at the end of a run.

    Browsers do so while somebody moves a widget. But where one takes the place of another of its name, as on another form or
    when a lesson fills the screen, the one that goes may take the other's hold of the address with it.
    """
    context = get_script_run_ctx()
    if context is None:
        return
    state: Any = context.session_state._state
    with context.session_state.query_params() as params:
        for name, binding in list(params._bindings_by_param.items()):
            metadata = state._new_widget_state.widget_metadata.get(binding.widget_id)
            if metadata is None or name not in context.shared.widget_user_keys_this_run:
                continue
            value, usual = state[binding.widget_id], metadata.deserializer(None)
            said = params.get_all(name)
            if value == usual and said and not _means(metadata, said, value):
                params.remove_param(name)
            elif value != usual and not (said and _means(metadata, said, value)):
                params.set_corrected_value(name, metadata.serializer(value), metadata.value_type)


def _means(metadata: Any, said: list[str], value: Any) -> bool:
    """Whether texts of an address are a widget's value."""
    try:
        return bool(metadata.deserializer(parse_url_param(said if len(said) > 1 else said[0], metadata.value_type)) == value)
    except (ValueError, TypeError, IndexError):
        return False


def fragment(draw: Callable[P, None]) -> Callable[P, None]:
    """A part of a page that is drawn anew by itself, at whose end the address is :func:`keep_in_step`."""

    @wraps(draw)
    def whole(*args: P.args, **kwargs: P.kwargs) -> None:
        draw(*args, **kwargs)
        keep_in_step()

    return st.fragment(whole)


def offer(code: Callable[[], str] | None) -> None:
    """Say how to do in Python what the page shows, for the popover that is opened next on this page; None: nothing."""
    st.session_state[_CODE] = (page_url(), code)


def code_on_screen() -> str | None:
    """What the page offered when it was last drawn."""
    page, code = st.session_state.get(_CODE, ("", None))
    return code() if code is not None and page == page_url() else None


def page_url() -> str:
    """The address of the page that is drawn, without its settings."""
    return (st.context.url or "").split("?")[0]


def presenting() -> dict[str, str]:
    """What a link to another page of the app takes along so that larger type stays on; nothing while it is off."""
    on = st.session_state.get(
        PRESENT, st.query_params.get(PRESENT) == "true"
    )  # before the toggle is first drawn, the address
    return {PRESENT: "true"} if on else {}
