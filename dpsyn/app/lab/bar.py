"""Where runs and experiments live: in this visit only, or in a workspace folder that the user names."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

import streamlit as st

from dpsyn.app import state
from dpsyn.app.lab.experiments import all_experiments, in_workspace, keep, keep_again
from dpsyn.app.lab.runs import as_stored, restored_experiment, restored_run
from dpsyn.errors import DpsynError
from dpsyn.evaluation.experiments import Workspace
from dpsyn.evaluation.experiments.workspace import StoredGrid, StoredRun
from dpsyn.kit import visit
from dpsyn.kit.uploads import is_local


def workspace_bar() -> None:
    """One line: what would be lost by a reload, and how to keep it."""
    workspace = state.workspace()
    _lost()
    with st.container(horizontal=True, vertical_alignment="center"):
        if workspace is None:
            st.caption(
                ":material/warning: Runs and experiments live in this visit: a reload of the page loses them. "
                + ("Name a workspace folder to keep them." if is_local() else "Download what you want to keep.")
            )
        else:
            st.caption(
                f":material/folder: Runs and experiments are kept in `{workspace.path}`; private rows never are. "
                "After a reload of the page, open it again."
            )
        if is_local():
            with st.popover("Workspace", icon=":material/folder_open:"):
                _chooser(workspace)


def _lost() -> None:
    """Say that the workspace failed, until one is opened again."""
    lost = st.session_state.get("workspace_lost")
    if lost is None:
        return
    st.error(
        f"{lost}. The workspace was closed. Everything is still in this visit: open a workspace again, in this folder or "
        "another, to keep it.",
        icon=":material/error:",
    )


def _chooser(workspace: Workspace | None) -> None:
    st.caption(
        "A folder on this machine. The app keeps releases, settings and measures in one file there (SQLite), and nothing "
        "else on disk. Measures come from private rows: guard the folder as you guard them. So may categories and bounds "
        "that you have not confirmed; they are kept with a release and an experiment, marked as not public."
    )
    folder = st.text_input(
        "Folder", str(workspace.folder) if workspace else "", key="workspace_folder", placeholder="/home/me/dpsyn"
    )
    if st.button("Open", icon=":material/folder_open:", key="workspace_open", disabled=visit.job() is not None):
        try:
            opened = Workspace(folder.strip())
            runs, grids = opened.runs(), opened.grids()
        except DpsynError as fault:
            st.warning(str(fault), icon=":material/block:")
            return
        _take_over(opened, runs, grids)
        st.rerun(scope="app")
    if workspace is not None and st.button("Close", icon=":material/close:", key="workspace_close"):
        st.session_state.pop("workspace")
        st.rerun(scope="app")


def _take_over(opened: Workspace, runs: list[StoredRun], grids: list[StoredGrid]) -> None:
    """The workspace's runs and experiments join the session's, and the other way about."""
    st.session_state["workspace"] = opened
    st.session_state.pop("workspace_lost", None)
    path = str(opened.path)
    releases, there = state.made(), {(path, run.number) for run in runs}
    for at, made in enumerate(releases):
        if made.stored in there:
            # It may have been measured or renamed while the workspace was closed.
            in_workspace(made.stored, partial(_keep_again, made))
        else:
            releases[at] = replace(made, stored=state.store(made))
    here = {made.stored for made in releases}
    releases += [restored_run(run, (path, run.number)) for run in runs if (path, run.number) not in here]
    mine, there = all_experiments(), {(path, grid.number) for grid in grids}
    for experiment in mine:
        if experiment.stored in there:
            # It may have been renamed, or run, while the workspace was closed.
            in_workspace(experiment.stored, partial(keep_again, experiment))
        else:
            keep(experiment)
    held = {experiment.stored for experiment in mine}
    mine += [restored_experiment(grid, (path, grid.number)) for grid in grids if (path, grid.number) not in held]


def _keep_again(made: state.Made, workspace: Workspace, number: int) -> None:
    workspace.set_record(number, as_stored(made).record)
    workspace.rename_run(number, made.label)
