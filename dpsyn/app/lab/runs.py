"""The releases of a visit as a list: names, removal, and a file that takes them and the experiments elsewhere."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import datetime
from typing import Any

import pandas as pd
import streamlit as st

from dpsyn.app import state
from dpsyn.app.lab import experiments
from dpsyn.app.lab.experiments import Experiment
from dpsyn.data.source import DataSource
from dpsyn.domain import Domain
from dpsyn.errors import DataError, ParameterError
from dpsyn.evaluation.experiments.archive import archive_text, claim_of, measures_of, read_archive
from dpsyn.evaluation.experiments.plan import config_from_dict, config_to_dict
from dpsyn.evaluation.experiments.workspace import StoredGrid, StoredRun
from dpsyn.kit import visit, widgets
from dpsyn.mechanisms.base import Config, Release
from dpsyn.mechanisms.registry import title
from dpsyn.notation import readable
from dpsyn.privacy.spec import Guarantee, rounded_up

FROM_A_FILE = "It was read from a file: the claim and the rows are what the file says."
_LONGEST = 100


def plain(config: Config | None) -> dict[str, Any] | None:
    """The configuration as plain data, or None where it holds functions or rows of its own."""
    if config is None:
        return None
    data = config_to_dict(config)
    try:
        return data if config_from_dict(json.loads(json.dumps(data))) == config else None
    except (TypeError, ParameterError):
        return None


def as_stored(made: state.Made) -> StoredRun:
    """A release as a workspace or a file keeps it: without its diagnostics, which are private."""
    record = {
        "record": made.release.record(seed=made.seed),
        "seed": made.seed,
        "domain": made.domain.to_dict(),
        "name": made.release.name,
        "seconds": made.seconds,
        "config": plain(made.config),
        "measured": made.measured,
    }
    return StoredRun(made.number, made.when, made.dataset, made.label, record, made.release.rows)


def restored_run(run: StoredRun, stored: tuple[str, int] | None) -> state.Made:
    """A release as it was kept; its diagnostics were private and are gone."""
    record = run.record["record"]
    config = run.record.get("config")
    release = Release(
        rows=run.rows,
        guarantee=claim_of(record),
        diagnostics={},
        mechanism=record["mechanism"],
        settings=record["settings"],
        seeded=record["demonstration"],
        name=run.record.get("name", ""),
    )
    number = visit.next_number("release")
    return state.Made(
        number=number,
        label=f"{number} · {_name(run.label)}",
        release=release,
        seed=run.record.get("seed"),
        dataset=run.dataset,
        domain=Domain.from_dict(run.record["domain"]),
        revision=0,
        seconds=float(run.record.get("seconds", 0.0)),
        config=config_from_dict(config) if config else None,
        stored=stored,
        measured=measures_of(run.record),
        when=run.made,
    )


def as_stored_grid(experiment: Experiment) -> StoredGrid:
    """An experiment as a workspace or a file keeps it."""
    return StoredGrid(
        experiment.number,
        experiment.when,
        experiment.dataset,
        experiment.fingerprint,
        experiment.name,
        experiment.grid,
        experiment.facts,
        list(experiment.results.values()),
    )


def restored_experiment(stored: StoredGrid, place: tuple[str, int] | None) -> Experiment:
    """An experiment as it was kept."""
    facts = stored.facts
    return Experiment(
        number=visit.next_number("experiment"),
        name=stored.name,
        dataset=stored.dataset,
        fingerprint=stored.fingerprint,
        grid=stored.grid,
        target=facts["target"],
        degrees=tuple(facts["degrees"]),
        classifiers=tuple(facts["classifiers"]),
        references=facts["references"],
        results={result.key: result for result in stored.results},
        stored=place,
        data=None if facts.get("data") is None else DataSource.from_dict(facts["data"]),
        when=stored.made,
    )


def _name(label: str) -> str:
    return label.split(" · ", 1)[-1]


def _place(made: state.Made) -> int:
    return [other.number for other in state.made()].index(made.number)


def rename(made: state.Made, name: str) -> None:
    """Call a release something else, wherever it is named; its number stays."""
    new = replace(made, label=f"{made.number} · {name.strip()[:_LONGEST]}")
    releases = state.made()
    releases[_place(made)] = new
    found = st.session_state.get("comparison")
    if found is not None:
        found["reports"] = {new.label if k == made.label else k: v for k, v in found["reports"].items()}
    experiments.in_workspace(made.stored, lambda workspace, number: workspace.rename_run(number, new.label))


def remove(made: state.Made) -> None:
    """Forget a release, in the workspace too."""
    del state.made()[_place(made)]
    found = st.session_state.get("comparison")
    if found is not None:
        found["reports"].pop(made.label, None)
        if not found["reports"]:
            st.session_state.pop("comparison")
    experiments.in_workspace(made.stored, lambda workspace, number: workspace.remove_run(number))


def export_bytes(releases: list[state.Made], tried: list[Experiment]) -> bytes:
    """Releases and experiments as one file. It reads no session: Streamlit calls it outside the visit."""
    return archive_text([as_stored(made) for made in releases], [as_stored_grid(e) for e in tried]).encode()


def import_file(data: bytes) -> str:
    """Take in what a file holds and this visit has not yet; what came of it, in a sentence.

    Raises:
        DataError: something in the file is wrong; then nothing of it is taken in.
    """
    runs, grids = read_archive(data)
    mine = {_mark(as_stored(made)) for made in state.made()}
    new_runs = [run for run in map(_marked_as_read, runs) if _mark(run) not in mine]
    there = {(e.when, e.fingerprint, json.dumps(e.grid.to_dict())) for e in experiments.all_experiments()}
    new_grids = [g for g in grids if (g.made, g.fingerprint, json.dumps(g.grid.to_dict())) not in there]
    for run in new_runs:
        made = restored_run(run, None)
        state.made().append(replace(made, stored=state.store(made)))
    for grid in new_grids:
        experiment = restored_experiment(grid, None)
        experiments.all_experiments().append(experiment)
        experiments.keep(experiment)
    here = len(runs) + len(grids) - len(new_runs) - len(new_grids)
    said = f"Read {_count(len(new_runs), 'release')} and {_count(len(new_grids), 'experiment')}"
    return said + (f"; {here} were here already." if here else ".")


def _count(number: int, what: str) -> str:
    return f"{number} {what}{'s' * (number != 1)}"


def _mark(run: StoredRun) -> str:
    record = run.record["record"]
    claim = {k: v for k, v in record["guarantee"].items() if k != "assumptions"}
    return json.dumps([run.made, run.dataset, record["settings"], claim, run.rows.to_csv(index=False)], default=str)


def _marked_as_read(run: StoredRun) -> StoredRun:
    """The same release with a sentence in its claim that says where it comes from, once."""
    record = run.record["record"]
    assumptions = list(record["guarantee"]["assumptions"])
    if FROM_A_FILE not in assumptions:
        assumptions.append(FROM_A_FILE)
    guarantee = record["guarantee"] | {"assumptions": assumptions}
    return replace(run, record=run.record | {"record": record | {"guarantee": guarantee}})


def runs_table(releases: list[state.Made]) -> pd.DataFrame:
    """One line per release."""
    return pd.DataFrame(
        [
            {
                "Name": made.label,
                "Mechanism": title(made.release.mechanism),
                "ε": _number(made.release.guarantee, made.release.guarantee.epsilon, 4),
                "δ": _number(made.release.guarantee, made.release.guarantee.delta, 3),
                "Status": _status(made),
                "Rows": len(made.release.rows),
                "Made": datetime.fromisoformat(made.when).strftime("%Y-%m-%d %H:%M UTC"),
                "Seconds": round(made.seconds, 1),
            }
            for made in releases
        ]
    )


def _number(claim: Guarantee, value: float, digits: int) -> str:
    return "none" if claim.status == "published_but_wrong" else readable(rounded_up(value, digits))


def _status(made: state.Made) -> str:
    words = {
        "unconfirmed_domain": "domain not confirmed",
        "real_arithmetic": "real arithmetic only",
        "published_but_wrong": "no guarantee",
    }
    status = made.release.guarantee.status
    return words.get(status, status) + (", demonstration" if made.release.seeded else "")


def runs_panel(releases: list[state.Made]) -> None:
    """The list, with the names to edit."""
    st.dataframe(widgets.with_thousands(runs_table(releases)), hide_index=True)
    edit_popover(releases)


def edit_popover(releases: list[state.Made], place: str = "") -> None:
    """Rename or remove one of these releases; ``place`` tells these widgets from those of other lists."""
    with st.popover("Rename or remove", icon=":material/edit:", key=f"runs_edit{place}"):
        _editor(releases, place)


def transfer() -> None:
    """Download everything as one file, or read such a file."""
    releases, tried = state.made(), experiments.all_experiments()
    if releases or tried:
        st.download_button(
            "Export",
            lambda: export_bytes(releases, tried),
            "dpsyn_runs.json",
            "application/json",
            icon=":material/download:",
            on_click="ignore",
            key="runs_export",
            help="All releases and experiments of this visit in one file: settings, claims, released rows and measures. "
            "No private row is in it, but measures come from private rows: guard the file as you guard them.",
        )
    with st.popover("Import", icon=":material/upload:"):
        st.caption("A file that “Export” has made, here or elsewhere. Everything in it is checked first.")
        attempt = st.session_state.setdefault("_import", 0)
        file = st.file_uploader("File of runs", type=["json"], key=f"runs_import_{attempt}")
        if file is not None and st.button("Read it", type="primary", key="runs_read"):
            try:
                said = import_file(file.getvalue())
            except DataError as fault:
                st.warning(f"Nothing was read. {fault}.", icon=":material/block:")
                return
            st.session_state["_import"] = attempt + 1
            st.toast(said, icon=":material/check:")
            st.rerun()


def _editor(releases: list[state.Made], place: str) -> None:
    by_number = {made.number: made for made in releases}
    chosen = st.selectbox("Release", list(by_number), format_func=lambda n: by_number[n].label, key=f"runs_which{place}")
    made = by_number.get(chosen, releases[0])
    name = st.text_input("Name", _name(made.label), max_chars=_LONGEST, key=f"runs_name{place}_{made.number}")
    with st.container(horizontal=True):
        if st.button("Rename", key=f"runs_rename{place}", disabled=not name.strip() or name == _name(made.label)):
            rename(made, name)
            st.rerun()
        if st.button("Remove", icon=":material/delete:", key=f"runs_remove{place}"):
            remove(made)
            st.rerun()
