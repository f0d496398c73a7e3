"""The releases of a visit as a list: claims, settings, what was measured of them; names, removal, and a script of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from functools import partial
from typing import Any

import pandas as pd
import streamlit as st

from dpsyn import escape
from dpsyn.app import state
from dpsyn.data.samples import SAMPLES
from dpsyn.domain import Domain, listed
from dpsyn.errors import InputError
from dpsyn.evaluation.baseline import DEGREES
from dpsyn.evaluation.experiments import Experiment, MadeRelease
from dpsyn.evaluation.experiments.archive import now
from dpsyn.evaluation.experiments.marks import is_of
from dpsyn.evaluation.experiments.results import MOST_MEASURES, checked_lines
from dpsyn.evaluation.experiments.script import releases_script
from dpsyn.evaluation.prediction import DEFAULT_MODELS
from dpsyn.evaluation.report import Report, flat_measures, references
from dpsyn.kit import code, visit, widgets
from dpsyn.kit.visit import Dataset
from dpsyn.mechanisms.registry import title
from dpsyn.notation import counted, percent, readable
from dpsyn.privacy.spec import FROM_A_FILE, Guarantee, delta_up, rounded_up

_LONGEST = 100
_FIRST = ("Name", "ε", "δ", "Status")
_AROUND, _LETTER, _SETTINGS = 30, 7, 700
"""Pixels around the heading of a measure and of a letter of it, and of a column of settings."""
_listed = partial(listed, most=12)


def _line(made: MadeRelease) -> dict[str, Any]:
    claim = made.release.guarantee
    return {
        "Name": made.label,
        "Mechanism": title(made.release.mechanism),
        "ε": _number(claim, rounded_up(claim.epsilon, 4)),
        "δ": _number(claim, delta_up(claim.delta)),
        "Status": claim.status_in_words + (", read from a file" if FROM_A_FILE in claim.assumptions else ""),
        "Rows": len(made.release.rows),
        "Made": _moment(made.when),
        "Seconds": round(made.seconds, 1),
    }


def _number(claim: Guarantee, rounded: str) -> str:
    return "none" if claim.status == "published_but_wrong" else readable(rounded)


def _moment(when: str) -> str:
    return datetime.fromisoformat(when).strftime("%Y-%m-%d %H:%M UTC")


def edit(things: Sequence[MadeRelease] | Sequence[Experiment], key: str, *, busy: bool = False) -> None:
    """Rename one of these, or remove it unless it is busy; ``key`` tells these widgets from those of other lists."""
    with st.popover("Rename or remove", icon=":material/edit:", key=f"{key}_edit"):
        names, at = [f"{thing.name} (no. {thing.number})" for thing in things], 0
        if len(things) > 1:
            at = st.selectbox("Release", range(len(things)), format_func=names.__getitem__, key=f"{key}_which") or 0
        name = st.text_input("Name", things[at].name, max_chars=_LONGEST, key=f"{key}_name_{things[at].number}").strip()
        with st.container(horizontal=True):
            if st.button("Rename", key=f"{key}_rename", disabled=name in ("", things[at].name)):
                state.rename(things[at], name)
                st.rerun(scope="app")
            of_rows = (
                "Its cost leaves the total of privacy, too: if others have its rows, note it."
                if isinstance(things[at], MadeRelease)
                else None
            )
            if st.button("Remove", icon=":material/delete:", key=f"{key}_remove", disabled=busy, help=of_rows):
                state.change(things[at], None)
                st.rerun(scope="app")


def take_comparison(context: Mapping[str, Any], reports: Mapping[str, Report]) -> None:
    """Show what a comparison found, beside what was found of the same data before, and add it to the releases."""
    before = state.comparisons().get(context["fingerprint"])
    kept = before["reports"] if before and all(before[k] == context[k] for k in ("target", "degrees", "models")) else {}
    new = {context["numbers"][label]: report for label, report in reports.items()}
    state.comparisons()[context["fingerprint"]] = {**context, "reports": {**kept, **new}}
    for made in [made for made in state.made() if made.number in new]:
        report = new[made.number]
        measured = {
            "when": now(),
            "fingerprint": context["fingerprint"],
            "rows": report.n,
            "target": context["target"],
            "measures": flat_measures(report),
            "references": references(report),
        }
        state.change(made, replace(made, measured=measured))


def listing(releases: Sequence[MadeRelease], key: str = "runs") -> None:
    """One line per release: settings, guarantee, and what was measured of it; below, what that is held against; and names to
    edit, with widgets under ``key``."""
    lines: list[dict[str, Any]] = []
    beside: dict[str, dict[str, Any]] = {}
    measures: dict[str, None] = {}
    for made in releases:
        found = made.measured or {"measures": {}, "references": {}, "target": None}
        facts = {"Measured against": "nothing yet", "Predicted": found["target"], "Settings": _settings(made)}
        if made.measured is not None:
            whose = (
                "real rows" if is_of(found["fingerprint"], state.mark()) else "rows of other data or another held-out share"
            )
            facts["Measured against"] = f"{found['rows']:,} {whose}, {_moment(found['when'])}"
        line = _line(made) | facts
        # A file that was read may call its measures as it likes.
        values = {name: round(value, 4) for name, value in found["measures"].items() if name not in line}
        measures |= dict.fromkeys(values)
        lines.append(line | values)
        for measure, heights in checked_lines("measured", found["references"]).items():
            for name, height in heights.items():
                # The same was measured with every release: it has one line for every data and target.
                if measure in values:
                    which = f"{name}, {found['fingerprint']}, {found['target']}"
                    beside.setdefault(which, {"Name": name, "Predicted": found["target"]})[measure] = round(height, 4)
    shown = [*measures][:MOST_MEASURES]
    others = [name for name in lines[0] if name not in measures and name not in _FIRST]
    _table(lines, [*_FIRST, *shown, *others], shown)
    if beside:
        st.caption("What these errors and scores are held against:")
        _table(list(beside.values()), ["Name", "Predicted", *shown], shown)
    edit(releases, key)


def _table(lines: Sequence[Mapping[str, Any]], columns: Sequence[str], measures: Sequence[str]) -> None:
    """Measures are as wide as their names."""
    table = pd.DataFrame(lines).reindex(columns=[*columns])
    widths = {name: st.column_config.Column(width=_AROUND + _LETTER * len(name)) for name in measures}
    wide = {"Name": st.column_config.Column(pinned=True), "Settings": st.column_config.Column(width=_SETTINGS)}
    st.dataframe(widgets.with_thousands(table), hide_index=True, placeholder="—", column_config=widths | wide)


def _settings(made: MadeRelease) -> str:
    if made.config is not None:
        return code.written(made.config)
    plain = {k: v for k, v in made.release.settings.items() if isinstance(v, str | int | float)}
    return ", ".join(f"{name} = {value}" for name, value in plain.items())


@dataclass(frozen=True)
class Asked:
    """What a comparison measures: the column to predict, numbers of columns of the tables, models."""

    target: str | None
    degrees: tuple[int, ...]
    models: tuple[str, ...]


def asked_of(current: Dataset) -> Asked:
    """What the last comparison of this data measured; before there is one, what it would."""
    found = state.comparison()
    if found is None:
        return Asked(current.target, tuple(d for d in DEGREES if d <= len(current.table.domain)), DEFAULT_MODELS)
    return Asked(found["target"], tuple(found["degrees"]), tuple(found["models"]))


def code_of(current: Dataset, releases: list[MadeRelease]) -> str:
    """The script that makes the releases again and measures them; those that it cannot make are named in it."""
    asked = asked_of(current)
    return releases_script(releases, current.source, target=asked.target, degrees=asked.degrees, models=asked.models)


@dataclass(frozen=True)
class _OtherData:
    """What releases or an experiment are of; None of releases, which do not say."""

    name: str
    domain: Domain
    target: str | None
    held_out: float | None = None
    sample: bool | None = None


def other_releases(current: Dataset, releases: list[MadeRelease]) -> None:
    """Releases of other rows, or of these with other columns: what they are, and what to do."""
    groups: dict[tuple[str, Domain], list[MadeRelease]] = {}
    for made in releases:
        groups.setdefault((made.dataset, made.domain), []).append(made)
    if not groups:
        return
    st.subheader("Releases of other data, other columns or another held-out share", anchor=False)
    for at, ((name, public), group) in enumerate(groups.items()):
        # What an imported file calls public nobody here has said to be.
        read = any(FROM_A_FILE in made.release.guarantee.assumptions for made in group)
        of_file = read and not visit.is_bundled(name, public)
        domain = public.unconfirmed() if of_file else public
        with st.container(border=True):
            widgets.badge(any(made.measured is not None for made in group) or not domain.is_public)
            count = counted(len(group), "release")
            other = _OtherData(name, domain, _target(group))
            st.markdown(
                f"**{escape.markdown(name)}**: {count}. {escape.markdown(_columns(public, of_file=of_file))}"
                + (f" Target: {escape.markdown(other.target)}." if other.target else "")
            )
            st.caption(escape.markdown(_what_differs(current, other)))
            listing(group, f"runs_{group[0].number}")
            _open_button(current, other, key=f"kept_columns_{at}", what="in these releases")


def of_other_data(current: Dataset, experiment: Experiment) -> None:
    """Which data an experiment is of, that it cannot be run here, and how to get to that data."""
    name, data, other = experiment.dataset, experiment.data, None
    said = f"**Not of the data that is open.** It is of {escape.markdown(of_which_data(experiment))}"
    do = f"Its columns were not kept: open {name} with the columns and the held-out share as they were."
    if data is not None:
        other = _OtherData(name, data.domain, experiment.target, data.held_out, data.sample)
        do = _what_differs(current, other)
    cannot = "It is shown as it was kept; until that data is open it cannot be resumed or run again."
    st.info(f"{said}\n\n{escape.markdown(f'{cannot} {do}')}", icon=":material/database:")
    _open_button(current, other, key=f"lab_columns_{experiment.number}", what="in this experiment")


def of_which_data(experiment: Experiment) -> str:
    """The data of an experiment in a sentence: name, columns, what is predicted, the share held out."""
    said = f"{experiment.dataset}."
    if experiment.data is not None:
        said += f" {_columns(experiment.data.domain)} Held out: {percent(experiment.data.held_out)} of the rows."
    return said + (f" Predicted: {experiment.target}." if experiment.target else "")


def _open_button(current: Dataset, other: _OtherData | None, *, key: str, what: str) -> None:
    """The button that sets the columns, or opens a bundled sample with them; or a link to where data is opened."""
    data = None if other is None else _at_hand(current, other)
    if data is None or other is None:
        st.page_link("data.py", label="Open its data on the page Data", icon=":material/table_rows:")
        return
    things = "columns" if other.held_out is None else "columns and the held-out share"
    label = (
        f"Set the {things} as {what}"
        if data is current
        else f"Open {escape.markdown(other.name)} with the {things} as {what}"
    )
    icon = ":material/undo:" if data is current else ":material/table_rows:"
    if st.button(label, icon=icon, key=key, disabled=visit.job() is not None):
        try:
            table = data.full.with_domain(other.domain)
        except InputError as fault:
            st.warning(f"Nothing was changed: {escape.markdown(fault)}", icon=":material/block:")
            return
        share = data.held_out if other.held_out is None else other.held_out
        visit.use(data.changed(table=table, target=other.target or data.target, held_out=share))
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


def _columns(domain: Domain, *, of_file: bool = False) -> str:
    """The columns of releases in a sentence, and which of them nobody has confirmed; of a file, what it says of that."""
    unconfirmed = [a.name for a in domain.attributes if not a.public]
    said = f"Columns: {_listed(domain.names)}."
    if len(unconfirmed) == len(domain):
        return said + " Their categories and bounds are not confirmed as public here."
    if of_file:
        but = f", except {_listed(unconfirmed)}," if unconfirmed else ""
        said += f" The file says that they{but} were confirmed as public in the visit that made them;"
        return f"{said} here its word does not count."
    return said + (f" Not confirmed as public: {_listed(unconfirmed)}." if unconfirmed else " All are confirmed as public.")


def _what_differs(current: Dataset, other: _OtherData) -> str:
    """Why what was made of the other data cannot be compared with the current data."""
    domain, held_out = other.domain, other.held_out
    if other.name != current.table.name:
        return f"The data that is open is {current.table.name}."
    lost = [c for c in domain.names if c not in current.full.domain]
    if lost:
        return f"The file that is open has no column {_listed(lost)}."
    then, now = ({a.name: a for a in each.attributes} for each in (domain, current.table.domain))
    others = [name for name in {**then, **now} if then.get(name) != now.get(name)]
    found = [f"the column{'s' * (len(others) > 1)} {_listed(others)}"] if others else []
    if not found and domain != current.table.domain:
        found = ["the order of the columns"]
    if held_out is not None and held_out != current.held_out:
        found.append(f"held out: {percent(held_out)} of the rows then, {percent(current.held_out)} now")
    if not found:
        same = "The columns are the same; the rows of the file that is open are others"
        same += "" if held_out is not None else ", or another share of them is held out"
        if current.table.domain.is_public:
            return f"{same}."
        return f"{same}, or the columns were confirmed as public there, which nobody has done here: page Domain asks."
    return f"What differs from the data as it is now: {'; '.join(found)}."
