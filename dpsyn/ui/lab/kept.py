"""What was measured of releases, kept with them; and the releases of other data or other columns, with what they hold."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, datetime
from functools import partial
from typing import Any

import pandas as pd
import streamlit as st

from dpsyn.domain import Domain
from dpsyn.domain import listed as listed_names
from dpsyn.errors import InputError
from dpsyn.evaluation.experiments.run import flat_measures, report_references
from dpsyn.evaluation.report import Report
from dpsyn.ui import code, state, widgets
from dpsyn.ui.lab.experiments import Experiment, all_experiments, fingerprint, number_in
from dpsyn.ui.lab.runs import as_stored, runs_table
from dpsyn.ui.state import Dataset, Made

_listed = partial(listed_names, most=12)


def keep_measures(context: Mapping[str, Any], reports: Mapping[str, Report]) -> None:
    """Add what a comparison found to the releases that it was about, in the workspace too."""
    by_number = {context["numbers"][label]: report for label, report in reports.items()}
    releases, workspace = state.made(), state.workspace()
    for at, made in enumerate(releases):
        report = by_number.get(made.number)
        if report is None:
            continue
        releases[at] = new = replace(made, measured=_measured(report, context))
        number = number_in(workspace, new.stored)
        if workspace is not None and number is not None:
            workspace.set_record(number, as_stored(new).record)


def _measured(report: Report, context: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "when": datetime.now(UTC).isoformat(timespec="seconds"),
        "fingerprint": context["fingerprint"],
        "rows": report.n,
        "target": context["target"],
        "measures": flat_measures(report),
        "references": report_references(report),
    }


def kept_table(releases: list[Made]) -> pd.DataFrame:
    """One line per release: settings, guarantee, and what was measured of it; below, what it was measured beside."""
    lines: list[dict[str, Any]] = []
    beside: dict[str, dict[str, Any]] = {}
    for made, line in zip(releases, runs_table(releases).to_dict("records"), strict=True):
        found = made.measured or {"measures": {}, "references": {}, "target": None}
        facts = {"Settings": _settings(made), "Measured against": "nothing yet", "Predicted": found["target"]}
        if made.measured is not None:
            facts["Measured against"] = f"{found['rows']:,} real rows, {_moment(found['when'])}"
        lines.append({str(k): v for k, v in line.items()} | facts | {k: round(v, 4) for k, v in found["measures"].items()})
        for measure, heights in found["references"].items():
            for name, height in heights.items():
                # The same floor was measured with every release: it has one line for every data and target.
                key = f"{name}, {found['fingerprint']}, {found['target']}"
                beside.setdefault(key, {"Name": name, "Predicted": found["target"]})[measure] = round(height, 4)
    table = pd.DataFrame([*lines, *beside.values()])
    measures = list(dict.fromkeys(m for made in releases if made.measured for m in made.measured["measures"]))
    first = ["Name", "ε", "δ", "Status", "Settings", *measures]
    return table[[*first, *(name for name in table.columns if name not in first)]]


def _show(releases: list[Made]) -> None:
    pinned = {"Name": st.column_config.TextColumn(pinned=True)}
    st.dataframe(kept_table(releases), hide_index=True, placeholder="—", column_config=pinned)


def _settings(made: Made) -> str:
    if made.config is not None:
        return code.written(made.config)
    plain = {k: v for k, v in made.release.settings.items() if isinstance(v, str | int | float)}
    return ", ".join(f"{name} = {value}" for name, value in plain.items())


def _moment(when: str) -> str:
    return datetime.fromisoformat(when).strftime("%Y-%m-%d %H:%M UTC")


def kept_measures(current: Dataset, releases: list[Made]) -> bool:
    """What was measured of these releases before this visit; False if nothing was."""
    measured = [made for made in releases if made.measured is not None]
    if not measured:
        return False
    mark = fingerprint(*current.parts)
    others = sum(made.measured is not None and made.measured["fingerprint"] != mark for made in measured)
    with st.container(border=True):
        widgets.heading("Measures as they were kept", True)
        st.caption(
            "Measured before this data was opened here, so there are numbers and no pictures. Press **Measure** to "
            "compare anew."
            + (
                f" {others} of {len(measured)} were measured against other rows, or another held-out share."
                if others
                else ""
            )
        )
        _show(measured)
    return True


def elsewhere(current: Dataset, releases: list[Made]) -> None:
    """Releases of other data, or of this data with other columns: how many, of which columns, and what to do."""
    groups: dict[tuple[str, Domain], list[Made]] = {}
    for made in releases:
        groups.setdefault((made.dataset, made.domain), []).append(made)
    if not groups:
        return
    st.subheader("Releases of other data or other columns", anchor=False)
    for at, ((name, domain), group) in enumerate(groups.items()):
        with st.container(border=True):
            widgets.badge(any(made.measured is not None for made in group) or not domain.is_public)
            count = f"{len(group)} release{'s' * (len(group) != 1)}"
            target = _target(group)
            st.markdown(
                f"**{widgets.plain_text(name)}**: {count}. {widgets.plain_text(columns_of(domain))}"
                + (f" Target: {widgets.plain_text(target)}." if target else "")
            )
            st.caption(widgets.plain_text(what_differs(current, name, domain)))
            _show(group)
            if name == current.table.name and all(column in current.full.domain for column in domain.names):
                if st.button("Set the columns as in these releases", icon=":material/undo:", key=f"kept_columns_{at}"):
                    _set_columns(current, domain, target)
            else:
                st.page_link("app_pages/home.py", label="Open other data", icon=":material/table_rows:")


def other_experiments(shown: list[Experiment]) -> None:
    """Say which experiments are about other rows or columns than the current ones."""
    others = [e for e in all_experiments() if not any(e is own for own in shown)]
    if not others:
        return
    names = "; ".join(f"{e.name} ({e.dataset}, {_moment(e.when)})" for e in others)
    one = len(others) == 1
    st.info(
        f"{len(others)} experiment{' is' if one else 's are'} kept of other data, other columns or another held-out share: "
        f"{widgets.plain_text(names)}. Open that data, with the columns as they were (Comparison, Releases, can set them), "
        f"to see {'it' if one else 'them'}.",
        icon=":material/info:",
    )


def _set_columns(current: Dataset, domain: Domain, target: str | None) -> None:
    try:
        table = current.full.with_domain(domain)
    except InputError as fault:
        st.warning(f"Nothing was changed: {fault}", icon=":material/block:")
        return
    state.use(current.changed(table=table, target=target or current.target))
    st.rerun()


def _target(group: list[Made]) -> str | None:
    """The one column that these releases have as class, or that was predicted to measure them."""
    found = {getattr(made.config, "target", None) or (made.measured or {}).get("target") for made in group} - {None}
    return str(found.pop()) if len(found) == 1 else None


def columns_of(domain: Domain) -> str:
    """The columns of releases in a sentence, and which of them nobody has confirmed."""
    unconfirmed = [a.name for a in domain.attributes if not a.public]
    said = f"Columns: {_listed(domain.names)}."
    if len(unconfirmed) == len(domain):
        return said + " Their categories and bounds were read off the data and are not confirmed as public."
    return said + (f" Not confirmed as public: {_listed(unconfirmed)}." if unconfirmed else " All are confirmed as public.")


def what_differs(current: Dataset, name: str, domain: Domain) -> str:
    """Why releases over this domain cannot be compared with the current data, and what to do."""
    if name != current.table.name:
        return f"The data that is open is {current.table.name}: open {name} on the page Data to compare these anew."
    now, lost = current.table.domain, [c for c in domain.names if c not in current.full.domain]
    if lost:
        return f"The file that is open has no column {_listed(lost)}: open the file that these releases were made from."
    both = [c for c in domain.names if c in now]
    pairs = [(domain[c], now[c]) for c in both]
    differing = {
        "left out now": [c for c in domain.names if c not in now],
        "left out in these releases": [c for c in now.names if c not in domain],
        "of another kind, or with other categories, bounds or bins": [
            a.name for a, b in pairs if replace(a, public=b.public) != b
        ],
        "confirmed as public then and not now": [a.name for a, b in pairs if a.public and not b.public],
        "confirmed as public now and not then": [a.name for a, b in pairs if b.public and not a.public],
    }
    said = "; ".join(f"{why}: {_listed(names)}" for why, names in differing.items() if names) or "the order of the columns"
    return (
        f"What differs from the columns as they are now: {said}. The button sets kinds, categories, bounds and what you had "
        "confirmed as public as they were; check them on the page Data."
    )
