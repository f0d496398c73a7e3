"""Where releases and experiments live: in this visit only, in a workspace folder that the user names, or in a file."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import replace
from datetime import datetime
from typing import Any

import streamlit as st

from dpsyn import escape
from dpsyn.app import state
from dpsyn.app.state import Kept
from dpsyn.errors import DpsynError
from dpsyn.evaluation.experiments import Experiment, MadeRelease, Workspace, archive_text, read_archive
from dpsyn.evaluation.experiments.archive import Archive
from dpsyn.kit import jobs, visit, widgets
from dpsyn.kit.local import is_local
from dpsyn.notation import counted
from dpsyn.privacy.spec import FROM_A_FILE

_SHOWN = 5
_IMPORT = "import_box"
"""A box has a key: without one what stands beside it decides which box is open."""


def workspace_bar() -> None:
    """One line: what would be lost by a reload, and how to keep it."""
    workspace = state.workspace()
    lost = st.session_state.get("workspace_lost")
    if lost is not None:
        st.error(
            f"{escape.markdown(lost)}. The workspace was closed. Everything is still in this visit: open a workspace again, "
            "in this folder or another, to keep it.",
            icon=":material/error:",
        )
    set_aside: list[str] = st.session_state.get("set_aside", [])
    if set_aside:
        first, others = set_aside[:_SHOWN], set_aside[_SHOWN:]
        lines = "\n".join(f"- {escape.markdown(said)}" for said in first)
        st.warning(f"Set aside, since it cannot be read; all else was read:\n{lines}", icon=":material/block:")
        if others:
            with st.expander("What else was set aside"):
                st.code("\n".join(map(escape.plain, others)), language=None, height=200, wrap_lines=True)
    if workspace is None:
        st.caption(
            "Reloading the page deletes releases and experiments. "
            + ("Name a workspace folder to keep them." if is_local() else "Download what you want to keep.")
        )
    else:
        idle = visit.job() is None  # of what runs the folder may have what this visit has not yet
        more = state.with_workspace(lambda folder: folder.more_than(state.made())) if idle else None
        elsewhere = f" Other visits have made {counted(more, 'release')} there: open it again." if more else ""
        st.caption(
            f":material/folder: Releases and experiments are kept in {escape.markdown(workspace.folder)}; private rows "
            "never are. Runs and experiments go on when this page is closed. After a reload, open the workspace again."
            f"{elsewhere}"
        )


def workspace_button() -> None:
    """A popover in which to open a workspace; only where the app runs locally."""
    if is_local():
        with st.popover("Workspace", icon=":material/folder_open:", key="workspace_box", on_change="rerun"):
            _chooser(state.workspace())


def _chooser(workspace: Workspace | None) -> None:
    st.caption(
        "A folder on this machine. The app keeps releases, settings and measures in files there (JSON, as an export holds "
        "them), and nothing else on disk. Measures come from private rows: guard the folder as you guard them. So may "
        "categories and bounds that you have not confirmed; they are kept with a release and an experiment, marked as not "
        "public."
    )
    folder = st.text_input(
        "Folder", str(workspace.folder) if workspace else "", key="workspace_folder", placeholder="/home/me/dpsyn"
    )
    if st.button("Open", icon=":material/folder_open:", key="workspace_open", disabled=visit.job() is not None):
        try:
            _open(Workspace(folder.strip()))
        except DpsynError as fault:
            st.warning(escape.markdown(fault), icon=":material/block:")
            return
        st.rerun(scope="app")
    if workspace is not None and st.button("Close", icon=":material/close:", key="workspace_close"):
        state.close_workspace()
        st.rerun(scope="app")


def _open(folder: Workspace) -> None:
    """At once where nothing is kept yet, or where a job of the folder goes on, which another one might wait for."""
    job = state.left_behind(folder)
    if job is not None or folder.is_empty:
        _take_over({"folder": folder}, folder.read())
        if job is not None:
            state.watch_again(job)
        return
    _read(folder, f"Opening {folder.folder}", {"done": _take_over, "folder": folder})


def _read(source: Workspace | bytes, label: str, context: dict[str, Any]) -> None:
    st.session_state.pop("set_aside", None)
    visit.set_job(jobs.start("dpsyn.app.lab.workspace:read", label=label, context=context, source=source))


def read(source: Workspace | bytes, progress: Callable[[str, float], None]) -> Archive:
    """Task of a background job, since a folder or a file may hold any number of claims, and each is calibrated again.

    Raises:
        DpsynError: it cannot be read.
    """
    progress("computing its claims again", 0.0)
    return source.read() if isinstance(source, Workspace) else read_archive(source)


def _take_over(context: Mapping[str, Any], found: Archive) -> None:
    """The workspace's releases and experiments join the session's, and the other way about."""
    before, folder = state.workspace(), context["folder"]
    again = before is not None and before.folder == folder.folder
    st.session_state["workspace"] = folder
    st.session_state.pop("workspace_lost", None)
    theirs: dict[str, Kept] = {made.key: made for made in found.releases}
    theirs |= {experiment.key: experiment for experiment in found.experiments}
    mine: list[Kept] = [*state.made(), *state.experiments()]
    here, others = {thing.key for thing in mine}, {thing.when for thing in mine if thing.key not in theirs}
    copies = {_content(other): other for other in theirs.values() if other.when in others}
    for thing in mine:
        every = state.of_its_kind(thing)
        if thing.key in theirs:
            # It may have been measured, renamed or run while the workspace was closed, or by another visit.
            every[every.index(thing)] = _joined(thing, theirs[thing.key], theirs=again)
        elif copies and (other := copies.get(_content(thing))) is not None:
            # It was imported from an export of the same release or experiment.
            joined = replace(_joined(other, thing, theirs=False), number=thing.number, name=thing.name)
            every[(at := every.index(thing)) : at + 1] = [] if other.key in here else [joined]
            here.add(other.key)
    new = _new(found, lambda thing: thing.key)
    mine = [*state.made(), *state.experiments()]

    def keep(workspace: Workspace) -> None:
        for thing in mine:
            workspace.keep(thing)

    state.with_workspace(keep)
    for thing in new:
        state.of_its_kind(thing).append(thing)


def _joined(mine: Any, other: Any, *, theirs: bool) -> Any:
    """What this visit has of something, with what is known of it elsewhere; ``theirs``: where both differ, that counts."""
    counts, else_ = (other, mine) if theirs else (mine, other)
    if isinstance(mine, MadeRelease):
        measured = [made.measured for made in (counts, else_) if made.measured is not None]
        newest = max(measured, key=lambda found: datetime.fromisoformat(found["when"]), default=None)
        return replace(mine, name=counts.name, measured=newest)
    results, known = {**else_.results, **counts.results}, counts.references or else_.references
    return replace(mine, name=counts.name, references=known, results=results)


def _new(found: Archive, mark: Callable[[Kept], str]) -> list[Kept]:
    """What this visit has not yet, by such a mark, with numbers of this visit; the page says what was set aside."""
    st.session_state["set_aside"] = found.set_aside
    mine: list[Kept] = [*state.made(), *state.experiments()]
    every: list[Kept] = [*found.releases, *found.experiments]
    here = {mark(thing) for thing in mine}
    kinds = {MadeRelease: "release", Experiment: "experiment"}
    new: list[Kept] = []
    for thing in every:
        if (own := mark(thing)) not in here:  # nor is it twice in what was found
            here.add(own)
            new.append(replace(thing, number=visit.next_number(kinds[type(thing)])))
    return new


def transfer() -> None:
    """Download everything as one file, or read such a file."""
    releases, tried = state.made(), state.experiments()
    if releases or tried:
        widgets.download(
            "Export",
            lambda: archive_text(releases, tried).encode(),
            "dpsyn_runs.json",
            key="runs_export",
            help="All releases and experiments of this visit in one file: settings, claims, released rows and measures. "
            "No private row is in it, but measures come from private rows: guard the file as you guard them.",
        )
    with st.popover("Import", icon=":material/upload:", key=_IMPORT, on_change="rerun"):
        st.caption(
            "A file that “Export” has made, here or elsewhere. What cannot be read is set aside. The claim of a "
            "release is computed again from the settings beside it, or shown as the file's. All else is what the file says."
        )
        attempt = st.session_state.setdefault("_import", 0)
        file = st.file_uploader("File of runs", type=["json"], key=f"runs_import_{attempt}")
        busy = visit.job() is not None
        if file is not None and st.button("Read it", type="primary", key="runs_read", disabled=busy, on_click=_close_import):
            st.session_state["_import"] = attempt + 1
            _read(file.getvalue(), f"Reading {file.name}", {"done": _take_in})
            st.rerun()


def _close_import() -> None:
    st.session_state[_IMPORT] = False


def _take_in(_context: Mapping[str, Any], found: Archive) -> None:
    """Take in what this visit has not yet, and say what that was."""
    here = {_content(experiment): experiment for experiment in state.experiments()}
    new = _new(found, _content)
    for thing in new:
        state.add(_marked(thing) if isinstance(thing, MadeRelease) else _stated(thing))
    said = f"Releases and experiments that are new: {len(new)}"
    if known := len(found.releases) + len(found.experiments) - len(new):
        said += f"; {known} were here already"
    got = 0
    for one in found.experiments:
        which = _content(one)
        if which in here:  # cells that have no result yet get the file's, which may have the experiment twice
            mine = here[which]
            here[which] = _joined(mine, _stated(one), theirs=False)
            if more := len(here[which].results) - len(mine.results):
                state.change(mine, here[which])
                got += more
    if got:
        said += f", which got {counted(got, 'result')} more"
    st.toast(f"{said}.", icon=":material/check:")


def _marked(made: MadeRelease) -> MadeRelease:
    claim = made.release.guarantee
    assumptions = tuple(dict.fromkeys((*claim.assumptions, FROM_A_FILE)))
    return replace(made, release=replace(made.release, guarantee=replace(claim, assumptions=assumptions)))


def _stated(experiment: Experiment) -> Experiment:
    """With runs whose claims, and columns whose being public, are the file's word, which nobody checks."""
    found = {
        key: replace(one, guarantee={**one.guarantee, "status": "stated"}) if one.guarantee else one
        for key, one in experiment.results.items()
    }
    data = experiment.data
    if data is not None and not (data.sample and visit.is_bundled(data.name, data.domain)):
        data = replace(data, domain=data.domain.unconfirmed())
    return replace(experiment, results=found, data=data)


def _content(thing: Kept) -> str:
    """Tells what a release or an experiment is, whatever it is called and wherever it was kept."""
    data = thing.to_dict()
    if isinstance(thing, Experiment):
        return json.dumps([data["made"], data["dataset"], data["grid"]], default=str)
    record = data["record"]["record"]
    claim = {k: v for k, v in record["guarantee"].items() if k != "assumptions"}
    return json.dumps([data["made"], data["dataset"], record["settings"], claim, data["rows"]], default=str)
