"""Where runs and experiments live: in this visit only, or in a workspace folder that the user names."""

from __future__ import annotations

from dataclasses import replace

import streamlit as st

from dpsyn.errors import DpsynError
from dpsyn.evaluation.experiments import Workspace
from dpsyn.evaluation.experiments.workspace import StoredGrid, StoredRun
from dpsyn.ui import state
from dpsyn.ui.lab.experiments import all_experiments, keep
from dpsyn.ui.lab.runs import as_stored, restored_experiment, restored_run
from dpsyn.ui.uploads import is_local


def workspace_bar() -> None:
    """One line: what would be lost by a reload, and how to keep it."""
    workspace = state.workspace()
    with st.container(horizontal=True, vertical_alignment="center"):
        if workspace is None:
            st.caption(
                ":material/warning: Runs and experiments live in this visit: a reload of the page loses them. "
                + ("Name a workspace folder to keep them." if is_local() else "Download what you want to keep.")
            )
        else:
            st.caption(f":material/folder: Runs and experiments are kept in `{workspace.path}`; private rows never are.")
        if is_local():
            with st.popover("Workspace", icon=":material/folder_open:"):
                _chooser(workspace)


def _chooser(workspace: Workspace | None) -> None:
    st.caption(
        "A folder on this machine. The app keeps releases, settings and measures in one file there (SQLite), and nothing "
        "else on disk. Measures come from private rows: guard the folder as you guard them. So may categories and bounds "
        "that you have not confirmed; they are kept with a release, marked as not public."
    )
    folder = st.text_input(
        "Folder", str(workspace.folder) if workspace else "", key="workspace_folder", placeholder="/home/me/dpsyn"
    )
    if st.button("Open", icon=":material/folder_open:", key="workspace_open", disabled=state.job() is not None):
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
    path = str(opened.path)
    releases = state.made()
    for at, made in enumerate(releases):
        if made.stored is None or made.stored[0] != path:
            releases[at] = replace(made, stored=state.store(made))
        else:
            # It may have been measured while the workspace was closed.
            opened.set_record(made.stored[1], as_stored(made).record)
    here = {made.stored for made in releases}
    releases += [restored_run(run, (path, run.number)) for run in runs if (path, run.number) not in here]
    mine = all_experiments()
    for experiment in mine:
        if experiment.stored is None or experiment.stored[0] != path:
            keep(experiment)
    held = {experiment.stored for experiment in mine}
    mine += [restored_experiment(grid, (path, grid.number)) for grid in grids if (path, grid.number) not in held]
