"""Releases and experiments of other data, other columns or another held-out share: of what they are, how to get there."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial

import streamlit as st

from dpsyn.app.lab.releases import edit_popover, measures_table
from dpsyn.data.samples import SAMPLES
from dpsyn.domain import Domain
from dpsyn.domain import listed as listed_names
from dpsyn.errors import InputError
from dpsyn.evaluation.experiments import Experiment, MadeRelease
from dpsyn.kit import visit, widgets
from dpsyn.kit.visit import Dataset

_listed = partial(listed_names, most=12)


@dataclass(frozen=True)
class _OtherData:
    """What releases or an experiment are of; None of releases, which do not say."""

    name: str
    domain: Domain
    target: str | None
    held_out: float | None = None
    sample: bool | None = None


def other_releases(current: Dataset, releases: list[MadeRelease]) -> None:
    """Releases of other data, or of this data with other columns: what they are, and what to do."""
    groups: dict[tuple[str, Domain], list[MadeRelease]] = {}
    for made in releases:
        groups.setdefault((made.dataset, made.domain), []).append(made)
    if not groups:
        return
    st.subheader("Releases of other data or other columns", anchor=False)
    for at, ((name, domain), group) in enumerate(groups.items()):
        with st.container(border=True):
            widgets.badge(any(made.measured is not None for made in group) or not domain.is_public)
            count = f"{len(group)} release{'s' * (len(group) != 1)}"
            other = _OtherData(name, domain, _target(group))
            st.markdown(
                f"**{widgets.plain_text(name)}**: {count}. {widgets.plain_text(_columns(domain))}"
                + (f" Target: {widgets.plain_text(other.target)}." if other.target else "")
            )
            st.caption(widgets.plain_text(f"{_what_differs(current, other)} {_way_back(current, other)}"))
            measures_table(group)
            with st.container(horizontal=True, vertical_alignment="center"):
                edit_popover(group, f"_{group[0].number}")
                _open_button(current, other, key=f"kept_columns_{at}", what="in these releases")


def of_other_data(current: Dataset, experiment: Experiment) -> None:
    """Which data an experiment is of, that it cannot be run here, and how to get to that data."""
    name, data, other = experiment.dataset, experiment.data, None
    said = f"**Not of the data that is open.** It is of {widgets.plain_text(of_which_data(experiment))}"
    do = f"Its columns were not kept: open {name} with the columns and the held-out share as they were."
    if data is not None:
        other = _OtherData(name, data.domain, experiment.target, data.held_out, data.sample)
        do = f"{_what_differs(current, other)} {_way_back(current, other)}"
    cannot = "It is shown as it was kept; until that data is open it cannot be resumed or run again."
    st.info(f"{said}\n\n{widgets.plain_text(f'{cannot} {do}')}", icon=":material/database:")
    _open_button(current, other, key=f"lab_columns_{experiment.number}", what="in this experiment")


def of_which_data(experiment: Experiment) -> str:
    """The data of an experiment in a sentence: name, columns, what is predicted, the share held out."""
    said = f"{experiment.dataset}."
    if experiment.data is not None:
        said += f" {_columns(experiment.data.domain)} Held out: {experiment.data.held_out:.0%} of the rows."
    return said + (f" Predicted: {experiment.target}." if experiment.target else "")


def _open_button(current: Dataset, other: _OtherData | None, *, key: str, what: str) -> None:
    """The button that sets the columns, or opens a bundled sample with them; or a link to where data is opened."""
    data = None if other is None else _at_hand(current, other)
    if data is None or other is None:
        st.page_link("home.py", label="Open other data", icon=":material/table_rows:")
        return
    things = "columns" if other.held_out is None else "columns and the held-out share"
    label = f"Set the {things} as {what}" if data is current else f"Open {other.name} with the {things} as {what}"
    icon = ":material/undo:" if data is current else ":material/table_rows:"
    if st.button(label, icon=icon, key=key, disabled=visit.job() is not None):
        try:
            table = data.full.with_domain(other.domain)
        except InputError as fault:
            st.warning(f"Nothing was changed: {fault}", icon=":material/block:")
            return
        share = data.held_out if other.held_out is None else other.held_out
        visit.use(data.changed(table=table, target=other.target or data.target, held_out=share))
        st.session_state[visit.SAMPLE_KEY] = data.sample
        st.rerun(scope="app")


def _at_hand(current: Dataset, other: _OtherData) -> Dataset | None:
    """What these columns can be set on: the data that is open, or a bundled sample."""
    there = other.name == current.table.name and other.sample in (None, current.sample is not None)
    if there and all(column in current.full.domain for column in other.domain.names):
        as_they_are = other.domain == current.table.domain and other.held_out in (None, current.held_out)
        return None if as_they_are else current
    return visit.bundled(other.name) if other.sample and not there and other.name in SAMPLES else None


def _target(group: list[MadeRelease]) -> str | None:
    """The one column that these releases have as class, or that was predicted to measure them."""
    found = {getattr(made.config, "target", None) or (made.measured or {}).get("target") for made in group} - {None}
    return str(found.pop()) if len(found) == 1 else None


def _columns(domain: Domain) -> str:
    """The columns of releases in a sentence, and which of them nobody has confirmed."""
    unconfirmed = [a.name for a in domain.attributes if not a.public]
    said = f"Columns: {_listed(domain.names)}."
    if len(unconfirmed) == len(domain):
        return said + " Their categories and bounds were read off the data and are not confirmed as public."
    return said + (f" Not confirmed as public: {_listed(unconfirmed)}." if unconfirmed else " All are confirmed as public.")


def _what_differs(current: Dataset, other: _OtherData) -> str:
    """Why what was made of the other data cannot be compared with the current data."""
    domain, held_out = other.domain, other.held_out
    if other.name != current.table.name:
        return f"The data that is open is {current.table.name}."
    now, lost = current.table.domain, [c for c in domain.names if c not in current.full.domain]
    if lost:
        return f"The file that is open has no column {_listed(lost)}."
    both = [c for c in domain.names if c in now]
    pairs = [(domain[c], now[c]) for c in both]
    differing = {
        "left out now": [c for c in domain.names if c not in now],
        "used now and not then": [c for c in now.names if c not in domain],
        "of another kind, or with other categories, bounds or bins": [
            a.name for a, b in pairs if replace(a, public=b.public) != b
        ],
        "confirmed as public then and not now": [a.name for a, b in pairs if a.public and not b.public],
        "confirmed as public now and not then": [a.name for a, b in pairs if b.public and not a.public],
    }
    found = [f"{why}: {_listed(names)}" for why, names in differing.items() if names]
    if not found and domain != now:
        found = ["the order of the columns"]
    if held_out is not None and held_out != current.held_out:
        found.append(f"held out: {held_out:.0%} of the rows then, {current.held_out:.0%} now")
    if not found:
        return "The columns are the same; the rows of the file that is open are others."
    return f"What differs from the data as it is now: {'; '.join(found)}."


def _way_back(current: Dataset, other: _OtherData) -> str:
    """What to do to go on with what was made of the other data."""
    data, name = _at_hand(current, other), other.name
    if data is not None:
        does = "sets" if data is current else f"opens the bundled data {name} and sets"
        share = "" if other.held_out is None else ", the held-out share"
        return (
            f"The button {does} kinds, categories, bounds{share} and what you had confirmed as public as they were; check "
            "them on the page Data."
        )
    return (
        "Open the file that it was made from." if name == current.table.name else f"Open {name} on the page Data to go on."
    )
