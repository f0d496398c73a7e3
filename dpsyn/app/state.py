"""What one visitor's session holds beside the dataset and the running job: the releases made, and the workspace."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeVar

import streamlit as st

from dpsyn.errors import WorkspaceError
from dpsyn.evaluation.experiments import MadeRelease, Workspace
from dpsyn.kit import visit
from dpsyn.mechanisms.base import Release
from dpsyn.privacy.private_statistics import PrivateStatistics
from dpsyn.privacy.spec import rounded_up

T = TypeVar("T")


def workspace() -> Workspace | None:
    """The folder that the user named to keep releases and experiments in."""
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


def published_statistics() -> list[tuple[int, PrivateStatistics]]:
    """Private statistics drawn in this visit, each with the revision of the dataset that it is of."""
    drawn: list[tuple[int, PrivateStatistics]] = st.session_state.setdefault("published_statistics", [])
    return drawn


def made() -> list[MadeRelease]:
    """All releases of this visit, oldest first."""
    releases: list[MadeRelease] = st.session_state.setdefault("releases", [])
    return releases


def comparable() -> list[MadeRelease]:
    """The releases whose columns and domain are those of the current dataset."""
    current = visit.dataset()
    return [m for m in made() if m.domain == current.table.domain and m.dataset == current.table.name]


def add(new: MadeRelease) -> MadeRelease:
    """Add a release to the session, and to the workspace if there is one."""
    made().append(new)
    with_workspace(lambda folder: folder.keep(new))
    return new


def take_release(context: Mapping[str, Any], release: Release) -> None:
    """A ``done`` of a job that made a release; ``context`` says what it was made from."""
    claim = f"ε = {rounded_up(release.guarantee.epsilon, 3)}"
    if release.guarantee.status == "published_but_wrong":
        claim = "no guarantee"
    name = f"{context['title']} · {claim}" + (" · demonstration" if release.seeded else "")
    number, table, seed = visit.next_number("release"), context["table"], context["seed"]
    new = MadeRelease(
        number, name, release, seed, table.name, table.domain, seconds=context["seconds"], config=context["config"]
    )
    st.session_state["newest"] = add(new).number


def total_claim(releases: list[MadeRelease]) -> str:
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
