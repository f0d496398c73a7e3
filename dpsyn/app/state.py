"""What one visitor's session holds: the dataset, the releases made from it, the running job."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import Any, TypeVar

import streamlit as st

from dpsyn.domain import Domain
from dpsyn.errors import WorkspaceError
from dpsyn.evaluation.experiments.workspace import Workspace
from dpsyn.kit import visit
from dpsyn.mechanisms.base import Config, Release
from dpsyn.privacy.private_statistics import PrivateStatistics
from dpsyn.privacy.spec import rounded_up
from dpsyn.table import Table

T = TypeVar("T")


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
    current = visit.dataset()
    return [m for m in made() if m.domain == current.table.domain and m.dataset == current.table.name]


def keep(release: Release, context: dict[str, Any], seconds: float) -> Made:
    """Add a release to the session; ``context`` says what it was made from."""
    number = visit.next_number("release")
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
    from dpsyn.app.lab.runs import as_stored

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


def take_release(context: dict[str, Any], release: Release) -> None:
    """A ``done`` of a job that made a release."""
    st.session_state["newest"] = keep(release, context, context["seconds"]).number
