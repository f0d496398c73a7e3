"""Where releases and experiments live: in this visit only, in a workspace folder that the user names, or in a file."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any, TypeVar

import streamlit as st

from dpsyn import escape
from dpsyn.app import state
from dpsyn.errors import DpsynError
from dpsyn.evaluation.experiments import Experiment, MadeRelease, Workspace, archive_text, read_archive
from dpsyn.evaluation.experiments.archive import FROM_A_FILE, Archive
from dpsyn.kit import jobs, visit, widgets
from dpsyn.kit.local import is_local

Kept = TypeVar("Kept", MadeRelease, Experiment)
_SHOWN = 5


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
        lines = "\n".join(f"- {escape.markdown(said)}" for said in [*set_aside[:_SHOWN], *_more(set_aside)])
        st.warning(f"Set aside, since it cannot be read; all else was read:\n{lines}", icon=":material/block:")
    if workspace is None:
        st.caption(
            "Reloading the page deletes releases and experiments. "
            + ("Name a workspace folder to keep them." if is_local() else "Download what you want to keep.")
        )
    else:
        st.caption(
            f":material/folder: Releases and experiments are kept in {escape.markdown(workspace.folder)}; private rows "
            "never are. What runs goes on when this page is closed. After a reload, open the workspace again."
        )


def workspace_button() -> None:
    """A popover in which to open a workspace; only where the app runs locally."""
    if is_local():
        with st.popover("Workspace", icon=":material/folder_open:"):
            _chooser(state.workspace())


def _more(set_aside: list[str]) -> list[str]:
    return [f"and {len(set_aside) - _SHOWN} more"] if len(set_aside) > _SHOWN else []


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
    context = {"done": _take_over, "folder": folder}
    task, label = "dpsyn.app.lab.workspace:read_folder", f"Opening {folder.folder}"
    visit.set_job(jobs.start(task, label=label, context=context, folder=folder))


def read_folder(folder: Workspace, progress: Callable[[str, float], None]) -> Archive:
    """Task of a background job, since a folder may hold any number of claims, and each is calibrated again.

    Raises:
        DpsynError: it cannot be read.
    """
    progress("computing its claims again", 0.0)
    return folder.read()


def _take_over(context: Mapping[str, Any], found: Archive) -> None:
    """The workspace's releases and experiments join the session's, and the other way about."""
    opened: Workspace = context["folder"]
    releases, tried, st.session_state["set_aside"] = found
    st.session_state["workspace"] = opened
    st.session_state.pop("workspace_lost", None)
    mine: list[MadeRelease | Experiment] = [*state.made(), *state.experiments()]
    here = {thing.key for thing in mine}

    def keep(workspace: Workspace) -> None:
        for thing in mine:
            # Of what it has already: it may have been measured, renamed or run while the workspace was closed.
            workspace.keep(thing)

    state.with_workspace(keep)
    state.made().extend(_numbered(made) for made in releases if made.key not in here)
    state.experiments().extend(_numbered(e) for e in tried if e.key not in here)


def _numbered(thing: Kept) -> Kept:
    return replace(thing, number=visit.next_number("experiment" if isinstance(thing, Experiment) else "release"))


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
    with st.popover("Import", icon=":material/upload:"):
        st.caption(
            "A file that “Export” has made, here or elsewhere. What cannot be read is set aside. A claim is computed again "
            "from the settings beside it, or shown as the file's. Rows and measures are what the file says."
        )
        attempt = st.session_state.setdefault("_import", 0)
        file = st.file_uploader("File of runs", type=["json"], key=f"runs_import_{attempt}")
        busy = visit.job() is not None
        if file is not None and st.button("Read it", type="primary", key="runs_read", disabled=busy):
            st.session_state["_import"] = attempt + 1
            label, context = f"Reading {file.name}", {"done": _take_in}
            task = "dpsyn.app.lab.workspace:read_file"
            visit.set_job(jobs.start(task, label=label, context=context, data=file.getvalue()))
            st.rerun()


def read_file(data: bytes, progress: Callable[[str, float], None]) -> Archive:
    """Task of a background job, since a file may hold any number of claims, and each is calibrated again.

    Raises:
        DataError: it is no such file.
    """
    progress("computing its claims again", 0.0)
    return read_archive(data)


def _take_in(_context: Mapping[str, Any], found: Archive) -> None:
    """Take in what this visit has not yet, and say what that was."""
    releases, tried, st.session_state["set_aside"] = found
    mine = {*map(_content, state.made()), *map(_content, state.experiments())}
    new_releases = [made for made in releases if _content(made) not in mine]
    new_experiments = [experiment for experiment in tried if _content(experiment) not in mine]
    for made in new_releases:
        claim = made.release.guarantee
        assumptions = tuple(dict.fromkeys((*claim.assumptions, FROM_A_FILE)))
        marked = replace(made.release, guarantee=replace(claim, assumptions=assumptions))
        state.add(_numbered(replace(made, release=marked)))
    for experiment in new_experiments:
        state.add_experiment(_numbered(experiment))
    here = len(releases) + len(tried) - len(new_releases) - len(new_experiments)
    said = f"Read {_count(len(new_releases), 'release')} and {_count(len(new_experiments), 'experiment')}"
    st.toast(said + (f"; {here} were here already." if here else "."), icon=":material/check:")


def _count(number: int, what: str) -> str:
    return f"{number} {what}{'s' * (number != 1)}"


def _content(thing: MadeRelease | Experiment) -> str:
    """Tells what a release or an experiment is, whatever it is called and wherever it was kept."""
    data = thing.to_dict()
    if isinstance(thing, Experiment):
        return json.dumps([data["made"], data["dataset"], data["grid"]], default=str)
    record = data["record"]["record"]
    claim = {k: v for k, v in record["guarantee"].items() if k != "assumptions"}
    return json.dumps([data["made"], data["dataset"], record["settings"], claim, data["rows"]], default=str)
