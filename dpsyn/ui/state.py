"""What one visitor's session holds: the dataset, the releases made from it, the running job."""

from __future__ import annotations

import json
import zlib
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from functools import cached_property
from typing import Any, TypeVar

import numpy as np
import streamlit as st

from dpsyn.data.read import read_with_notes
from dpsyn.data.samples import SAMPLES, load_sample
from dpsyn.data.statistics import DatasetStatistics
from dpsyn.data.table import Table
from dpsyn.domain import Domain
from dpsyn.errors import WorkspaceError
from dpsyn.evaluation.experiments.script import DataSource
from dpsyn.evaluation.experiments.workspace import Workspace
from dpsyn.mechanisms.base import Config, Release
from dpsyn.privacy.private_statistics import PrivateStatistics
from dpsyn.privacy.spec import rounded_up
from dpsyn.ui.jobs import Job

DEFAULT_SAMPLE = "asia"
SAMPLE_KEY = "sample"
"""Of the widget that chooses a bundled dataset; the session may set it."""
OWN_LOST = "own_lost"
"""In the session while the address speaks of a table of the user's own that is not there, and nothing else was loaded."""
MOST_CLASSES = 50
"""Of a column that can be predicted."""
SPLIT_SEED = 0
HELD_OUT = 0.25
T = TypeVar("T")


@dataclass(frozen=True)
class Dataset:
    """The dataset of the session.

    Attributes:
        table: all rows over the current domain; columns left out are not in it.
        full: all rows and columns as read, with the domain as first inferred or given.
        notes: what reading it had to decide.
        target: the column to predict and, for DP-CDA, the class; None if there is no suitable one.
        held_out: share of the rows kept for testing; mechanisms never see them.
        two_valued_as_bit: whether every two-valued column counts as one bit.
        sample: name of the bundled dataset, or None for the user's own.
    """

    table: Table
    full: Table
    notes: tuple[str, ...] = ()
    target: str | None = None
    held_out: float = HELD_OUT
    two_valued_as_bit: bool = False
    sample: str | None = None
    revision: int = field(default_factory=lambda: next_number("revision"))

    @cached_property
    def statistics(self) -> DatasetStatistics:
        """Statistics of all rows."""
        return self.table.statistics(two_valued_as_bit=self.two_valued_as_bit)

    @cached_property
    def balance(self) -> tuple[int, int | None]:
        """Classes of the target and rows of the smallest one, read from the rows; two and None without a target."""
        if self.target is None:
            return 2, None
        return self.table.domain[self.target].size, self.table.smallest_class(self.target)

    @cached_property
    def parts(self) -> tuple[Table, Table | None]:
        """Rows to learn from and held-out rows. The split is fixed, so every release is compared on the same rows."""
        if self.table.n < 2:
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
        facts = [self.target, self.held_out, [[a.name, a.kind, a.size] for a in self.table.domain.attributes]]
        mark = f"{zlib.crc32(json.dumps(facts, default=str).encode()):08x}"
        if self.sample is not None and self.held_out == HELD_OUT and self.table.domain == self.full.domain:
            return self.sample if self.target == SAMPLES[self.sample].target else f"own_{mark}"
        return f"own_{mark}"

    @property
    def classes(self) -> tuple[str, ...]:
        """Columns that can be predicted: truth or categorical with 2 to 50 categories, and never empty."""
        every = self.table.domain.attributes
        return tuple(a.name for a in every if not a.is_binned and not a.missing and 2 <= a.size <= MOST_CLASSES)

    def changed(self, **changes: Any) -> Dataset:
        """A new revision; a target that is gone is replaced by the last suitable column."""
        new = replace(self, **changes, revision=next_number("revision"))
        return new if new.target in new.classes else replace(new, target=new.classes[-1] if new.classes else None)


@dataclass(frozen=True)
class Made:
    """A release of this visit and what it was made from; ``measured`` is what the last comparison found of it."""

    number: int
    label: str
    release: Release
    seed: int | None
    dataset: str
    domain: Domain
    revision: int
    seconds: float
    config: Config | None = None
    stored: tuple[str, int] | None = None
    measured: dict[str, Any] | None = None
    when: str = field(default_factory=lambda: datetime.now(UTC).isoformat(timespec="seconds"))


def next_number(counter: str) -> int:
    """1, 2, 3, … for everything of a kind that this session makes."""
    key = f"_{counter}"
    st.session_state[key] = st.session_state.get(key, 0) + 1
    return int(st.session_state[key])


def workspace() -> Workspace | None:
    """The folder that the user named to keep runs and experiments in."""
    found: Workspace | None = st.session_state.get("workspace")
    return found


def with_workspace(do: Callable[[Workspace], T]) -> T | None:
    """What ``do`` makes of the open workspace; None without one. If it fails it is closed, and page Comparison says so."""
    folder = workspace()
    if folder is None:
        return None
    try:
        return do(folder)
    except WorkspaceError as fault:
        st.session_state.pop("workspace")
        st.session_state["workspace_lost"] = str(fault)
        return None


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
    """Make this the session's dataset."""
    st.session_state.pop(OWN_LOST, None)
    st.session_state["dataset"] = new


def use_sample(name: str) -> None:
    """Load a bundled dataset; its domain is public."""
    use(bundled(name))
    st.session_state[SAMPLE_KEY] = name


def bundled(name: str) -> Dataset:
    """A bundled dataset as it comes."""
    table = load_sample(name)
    return Dataset(table=table, full=table, target=SAMPLES[name].target, sample=name)


def use_upload(data: bytes, name: str) -> None:
    """Read an uploaded file.

    Raises:
        InputError: it cannot be read; the session keeps the dataset it had.
    """
    table, notes = read_with_notes(data, name=name, wide="leave_out")
    new = Dataset(table=table, full=table, notes=notes)
    use(replace(new, target=new.classes[-1] if new.classes else None))


def read_statistics() -> dict[str, DatasetStatistics]:
    """Statistics of files that were counted without loading them, by name."""
    found: dict[str, DatasetStatistics] = st.session_state.setdefault("read_statistics", {})
    return found


def published_statistics() -> list[tuple[int, PrivateStatistics]]:
    """Private statistics drawn in this visit, each with the revision of the dataset that it is of."""
    drawn: list[tuple[int, PrivateStatistics]] = st.session_state.setdefault("published_statistics", [])
    return drawn


def made() -> list[Made]:
    """All releases of this visit, oldest first."""
    releases: list[Made] = st.session_state.setdefault("releases", [])
    return releases


def comparable() -> list[Made]:
    """The releases whose columns and domain are those of the current dataset."""
    current = dataset()
    return [m for m in made() if m.domain == current.table.domain and m.dataset == current.table.name]


def keep(release: Release, context: dict[str, Any], seconds: float) -> Made:
    """Add a release to the session; ``context`` says what it was made from."""
    number = next_number("release")
    claim = f"ε = {rounded_up(release.guarantee.epsilon, 3)}"
    if release.guarantee.status == "published_but_wrong":
        claim = "no guarantee"
    label = f"{number} · {context['title']} · {claim}" + (" · demonstration" if release.seeded else "")
    table: Table = context["table"]
    config, revision = context.get("config"), context["revision"]
    new = Made(number, label, release, context["seed"], table.name, table.domain, revision, seconds, config)
    new = replace(new, stored=store(new))
    made().append(new)
    return new


def store(release: Made) -> tuple[str, int] | None:
    """Keep a release in the workspace, if there is one: the workspace's path and its number there."""
    from dpsyn.ui.lab.runs import as_stored

    run = as_stored(release)
    return with_workspace(
        lambda folder: (str(folder.path), folder.add_run(run.dataset, run.label, run.record, run.rows, made=run.made))
    )


def total_claim(releases: list[Made]) -> str:
    """What publishing all these releases together would cost, by basic composition, one sentence a dataset."""
    sentences = []
    for name in dict.fromkeys(made.dataset for made in releases):
        every = [made.release.guarantee for made in releases if made.dataset == name]
        claims = [claim for claim in every if claim.status != "published_but_wrong"]
        if len(claims) < len(every):
            sentences.append(f"{name}: what was made as published has no guarantee; publishing it costs everything")
        if not claims:
            continue
        epsilon, delta = sum(c.epsilon for c in claims), sum(c.delta for c in claims)
        total = rounded_up(epsilon, 4) if delta == 0 else f"({rounded_up(epsilon, 4)}, {rounded_up(delta, 3)})"
        total += " in real arithmetic" if any(c.status == "real_arithmetic" for c in claims) else ""
        count = "Its one release" if len(claims) == 1 else f"All {len(claims)} releases together"
        sentences.append(f"{name}: {count} cost {total}".replace("release cost", "release costs"))
    return "Privacy adds up over what is published. " + "; ".join(sentences) + "."


def job() -> Job | None:
    """The running or just finished job."""
    current: Job | None = st.session_state.get("job")
    return current


def set_job(new: Job) -> None:
    """Watch this job from now on."""
    st.session_state["job"] = new
    st.session_state.pop("job_message", None)


def cancel_job() -> None:
    """Kill the running job; what it has handed out is taken in first, if whoever started it said how."""
    current = st.session_state.pop("job", None)
    if current is None:
        return
    take_in = current.context.get("take_in")
    if take_in is not None:
        take_in(current)
    current.cancel()
    kept = (
        "what it had finished is kept: resume it"
        if take_in is not None
        else "nothing of it was kept, everything else is still here"
    )
    st.session_state["job_message"] = f"{current.label} was cancelled; {kept}."


def finish_job() -> None:
    """Store what a finished job brought: a release, reports, or a message that says why not.

    Whoever starts a job may put two functions into its context: ``take_in(job)`` takes what it hands out on its way, and
    ``done(context, value)`` takes its value and gives a message or None.
    """
    current: Job | None = st.session_state.pop("job", None)
    if current is None:
        return
    context = current.context
    if "take_in" in context:
        current.process.wait()
        context["take_in"](current)
    seconds, outcome = current.seconds, current.outcome()
    if outcome.error is not None:
        kept = " What it had finished is kept: resume it." if "take_in" in context else ""
        st.session_state["job_message"] = f"{current.label}: {outcome.error}{kept}"
    elif "done" in context:
        message = context["done"](context, outcome.value)
        if message is not None:
            st.session_state["job_message"] = f"{current.label}: {message}"
    elif context["kind"] == "statistics":
        read_statistics()[f"{outcome.value.statistics.name} (counted)"] = outcome.value.statistics
    elif context["kind"] == "calibration":
        st.session_state["calibration"] = outcome.value
    elif context["kind"] == "kept":
        # Whatever a panel of the page "Inside" asked for, with what it was asked about: the panel decides if it still fits.
        st.session_state[context["key"]] = {**context, "value": outcome.value}
    else:
        st.session_state["newest"] = keep(outcome.value, context, seconds).number
