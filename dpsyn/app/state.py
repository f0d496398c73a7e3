"""What one visitor's session holds beside the dataset: releases, experiments and the job that runs one, the workspace."""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial
from itertools import combinations
from typing import Any, TypeVar

import streamlit as st

from dpsyn.errors import DataError, WorkspaceError
from dpsyn.evaluation.experiments import CellResult, Experiment, MadeRelease, Workspace
from dpsyn.evaluation.experiments.marks import fingerprint, is_of
from dpsyn.kit import jobs, visit, visitor
from dpsyn.kit.jobs import Job
from dpsyn.kit.scheduler import scheduler
from dpsyn.mechanisms.base import Release
from dpsyn.notation import counted, readable
from dpsyn.privacy.private_statistics import PrivateStatistics
from dpsyn.privacy.spec import BETWEEN, delta_up, rounded_up, together

T = TypeVar("T")
_CONDITIONS = {
    "real_arithmetic": ", in exact arithmetic",
    "stated": ", if what their files state is true",
    "unconfirmed_domain": ", if the domain is confirmed as public",
    "experimental": ", if what is not proven holds",
}
"""What a total rests on, by the status of a claim in it."""
Kept = MadeRelease | Experiment


def workspace() -> Workspace | None:
    """The folder that the user named to keep releases and experiments in."""
    found: Workspace | None = st.session_state.get("workspace")
    return found


def with_workspace(do: Callable[[Workspace], T]) -> T | None:
    """What ``do`` makes of the open workspace; None without one. If it fails it is closed, and page Comparison says more."""
    folder = workspace()
    if folder is None:
        return None
    try:
        return do(folder)
    except WorkspaceError as fault:
        st.session_state.pop("workspace")
        st.session_state["workspace_lost"] = str(fault)
        st.toast("The workspace was closed: see page Comparison.", icon=":material/error:")
        return None


def drawn_statistics() -> list[tuple[int, PrivateStatistics]]:
    """Private statistics drawn in this visit, each with the revision of the dataset that it is of."""
    drawn: list[tuple[int, PrivateStatistics]] = st.session_state.setdefault("published_statistics", [])
    return drawn


def statistics_of(name: str) -> list[PrivateStatistics]:
    """Those of the data of this name, however often they were opened."""
    return [found for _, found in drawn_statistics() if found.name == name]


def made() -> list[MadeRelease]:
    """All releases of this visit, oldest first."""
    releases: list[MadeRelease] = st.session_state.setdefault("releases", [])
    return releases


def mark() -> str:
    """The fingerprint of the rows that are open, which are hashed once."""
    current = visit.dataset()
    found: tuple[int, str] | None = st.session_state.get("mark")
    if found is None or found[0] != current.revision:
        found = st.session_state["mark"] = current.revision, fingerprint(*current.parts)
    return found[1]


def comparable() -> list[MadeRelease]:
    """The releases of the rows that are open, with the same columns, domain and held-out share.

    One that an earlier version kept does not say which rows it was made from: its name and its domain have to do.
    """
    current = visit.dataset()
    alike = [m for m in made() if m.domain == current.table.domain and m.dataset == current.table.name]
    return [m for m in alike if not m.fingerprint or is_of(m.fingerprint, mark())]


def experiments() -> list[Experiment]:
    """Those of this session, oldest first."""
    found: list[Experiment] = st.session_state.setdefault("experiments", [])
    return found


def of_its_kind(thing: Kept) -> list[Any]:
    """All releases, or all experiments."""
    return made() if isinstance(thing, MadeRelease) else experiments()


def add(thing: Kept) -> None:
    """Add a release or an experiment to the session, and to the workspace if there is one."""
    of_its_kind(thing).append(thing)
    with_workspace(lambda folder: folder.keep(thing))


def change(thing: Kept, new: Kept | None) -> None:
    """Put what a release or an experiment has become in its place, or forget it; in the workspace too."""
    every = of_its_kind(thing)
    at = [other.key for other in every].index(thing.key)
    every[at : at + 1] = [] if new is None else [new]
    with_workspace(lambda folder: folder.remove(thing) if new is None else folder.keep(new, thing))


def rename(thing: Kept, name: str) -> None:
    """Call it something else."""
    if isinstance(thing, MadeRelease):
        return change(thing, replace(thing, name=name))
    _alter(thing, with_workspace, name=name)


def _alter(experiment: Experiment, in_workspace: Callable[[Callable[[Workspace], Any]], Any], **new: Any) -> None:
    """Set fields of an experiment where it stands, as a job may be filling it; in the workspace too."""
    before = replace(experiment)
    for field, value in new.items():
        setattr(experiment, field, value)
    in_workspace(partial(Workspace.keep, thing=experiment, before=before))


def comparisons() -> dict[str, dict[str, Any]]:
    """What was measured last in this visit, by the fingerprint of the rows that it is of."""
    found: dict[str, dict[str, Any]] = st.session_state.setdefault("comparisons", {})
    return found


def comparison() -> dict[str, Any] | None:
    """What was measured in this visit of releases of the data as they are now: ``reports`` by label, and what was asked."""
    found = comparisons().get(mark())
    if found is None:
        return None
    reports = {one.label: found["reports"][one.number] for one in made() if one.number in found["reports"]}
    return {**found, "reports": reports} if reports else None


def take_release(context: Mapping[str, Any], release: Release) -> None:
    """A ``done`` of a job that made a release; ``context`` says what it was made from, and holds as ``made`` what is kept
    already: by the workspace, as nobody looked when the job ended, or by another visit."""
    number, kept = visit.next_number("release"), context["made"].get(context["title"])
    if kept is None:
        context["made"][context["title"]] = new = _release_of(context, release, number)
        add(new)
    else:
        made().append(replace(kept, number=number))
    st.session_state["newest"], st.session_state["settings_of_newest"] = number, context.get("said", {})


def keep_releases(folder: Workspace, job: Job) -> None:
    """Put what became of a job that made a release, or one by every mechanism, into the workspace, while nobody looks."""
    if job.running:
        return
    outcome = job.outcome()
    if outcome.error is None:
        found = outcome.value if isinstance(outcome.value, Mapping) else {job.context["title"]: (outcome.value, job.seconds)}
        for title, (release, seconds) in found.items():
            if not isinstance(release, str):
                new = _release_of({**job.context, "title": title, "seconds": seconds}, release, 0)
                with suppress(WorkspaceError):
                    folder.keep(new)
                    job.context["made"][title] = new


def _release_of(context: Mapping[str, Any], release: Release, number: int) -> MadeRelease:
    claim = f"ε = {readable(rounded_up(release.guarantee.epsilon, 3))}"
    if release.guarantee.status == "published_but_wrong":
        claim = "no guarantee"
    name = f"{context['title']} · {claim}" + (" · demonstration" if release.seeded else "")
    table, seed, seconds = context["table"], context["seed"], context["seconds"]
    return MadeRelease(
        number, name, release, seed, table.name, table.domain, seconds, release.config, fingerprint=context["fingerprint"]
    )


def kept_by_workspace(keep: Callable[[Workspace, Job], None]) -> dict[str, Any]:
    """What the context of a job holds by which it goes on without its visitor, if a workspace is open."""
    folder = workspace()
    return {} if folder is None else {"kept_in": folder.place, "keep": partial(keep, folder)}


def close_workspace() -> None:
    """Keep nothing there any more; what runs ends with this visit again."""
    st.session_state.pop("workspace")
    job = visit.job()
    if job is not None:
        job.kept_in = job.keep = None


def left_behind(folder: Workspace) -> Job | None:
    """A job that goes on without its visitor because of this workspace; from now on it is this visitor's."""
    job = scheduler().left_behind(folder.place)
    if job is not None:
        job.visitor = visitor.current()
    return job


def watch_again(job: Job) -> None:
    """Follow a job that was :func:`left_behind`; of an experiment take in all that it has found."""
    if "experiment" in job.context:
        key = job.context["experiment"].key
        found = next((experiment for experiment in experiments() if experiment.key == key), None)
        if found is None:
            job.cancel()
            return
        job.context |= {"experiment": found, "taken": 0}
    visit.set_job(job)


def experiments_by_data() -> tuple[list[Experiment], list[Experiment]]:
    """Those about the current dataset as it is now, and all others; newest first."""
    current = visit.dataset()
    own = [e for e in reversed(experiments()) if is_of(e.fingerprint, mark())]
    for experiment in own:
        if experiment.data is None:
            # It was kept without its columns. They are those of the same rows.
            _alter(experiment, with_workspace, data=current.source)
    return own, [e for e in reversed(experiments()) if not is_of(e.fingerprint, mark())]


def start(experiment: Experiment) -> None:
    """Run the cells that are missing, here and in the workspace, in the background.

    Raises:
        DataError: the data that is open is other data than the experiment's: its rows must not be mixed.
    """
    learn, held_out = visit.dataset().parts
    if not is_of(experiment.fingerprint, mark()):
        raise DataError(
            f"{experiment.name} is about other rows or columns than those that are open: open {experiment.dataset}"
        )
    experiment.results |= with_workspace(lambda folder: folder.results(experiment)) or {}  # another visit may have run it
    if experiment.results and not experiment.missing:
        return
    visit.set_job(
        jobs.start(
            "dpsyn.evaluation.experiments.pool:run_experiment",
            label=experiment.name,
            context={
                "experiment": experiment,
                "taken": 0,
                "take_in": take_in,
                "done": _crashed,
                "cancelled": f"The experiment “{experiment.name}” was cancelled; its finished cells are kept.",
                **kept_by_workspace(_keep_results),
            },
            cells=experiment.missing,
            table=learn,
            holdout=held_out,
            target=experiment.target,
            degrees=experiment.degrees,
            models=experiment.models,
            workers=min(2, os.cpu_count() or 1),
        )
    )


def take_in(job: Job) -> None:
    """Move what the job has handed out since the last time into its experiment, and into the workspace."""
    _take_in(job, with_workspace)


def _keep_results(folder: Workspace, job: Job) -> None:
    """:func:`take_in` while nobody looks; nor could anybody let it go on. Where its experiment was removed, it ends."""
    if job.paused and job.running:
        job.pause(False)
    try:
        if not folder.holds(job.context["experiment"]):
            job.cancel()
            return
        _take_in(job, lambda do: do(folder))
    except WorkspaceError as fault:
        job.end(str(fault))


def _take_in(job: Job, in_workspace: Callable[[Callable[[Workspace], Any]], Any]) -> None:
    experiment: Experiment = job.context["experiment"]
    records = job.records()
    for record in records[job.context["taken"] :]:
        if "references" in record:
            _alter(experiment, in_workspace, references=record["references"])
        elif "result" in record:
            result = CellResult.from_dict(record["result"])
            experiment.results[result.key] = result
            if in_workspace(partial(Workspace.add_result, experiment=experiment, result=result)) is False:
                # Another visit has removed it from the workspace; this one goes on with it.
                in_workspace(lambda workspace: workspace.keep(experiment))
    job.context["taken"] = len(records)


def _crashed(context: Mapping[str, Any], _count: int) -> str | None:
    """What to say of the cells whose process died."""
    crashed = sum(result.status == "crashed" for result in context["experiment"].results.values())
    return f"{counted(crashed, 'run')} crashed; resume to repeat." if crashed else None


def running_of(experiment: Experiment) -> Job | None:
    """The job that runs this experiment now."""
    job = visit.job()
    return job if job is not None and job.context.get("experiment") is experiment else None


def runs_elsewhere(experiment: Experiment) -> bool:
    """Whether another visit on the workspace runs it now."""
    folder = workspace()
    jobs_of = () if folder is None else scheduler().kept_in(folder.place)
    same = (job for job in jobs_of if getattr(job.context.get("experiment"), "key", None) == experiment.key)
    return any(job is not visit.job() for job in same)


def total_claim(releases: Sequence[MadeRelease], drawn: Sequence[PrivateStatistics] = ()) -> str:
    """What publishing all these releases and private statistics together would cost, one sentence per dataset."""
    sentences = []
    groups = _of_the_same_rows(releases, dict.fromkeys([*(m.dataset for m in releases), *(found.name for found in drawn)]))
    for names in groups:
        name, same = " and ".join(names), ", which share rows," if len(names) > 1 else ""
        every = {
            ("release", "releases"): [made.release.guarantee for made in releases if made.dataset in names],
            ("draw of statistics", "draws of statistics"): [found.guarantee for found in drawn if found.name in names],
        }
        promised = {
            words: [claim for claim in claims if claim.status not in ("published_but_wrong", "demonstration")]
            for words, claims in every.items()
        }
        if promised != every:
            sentences.append(
                f"{name}: what was made as published, or with a seed, has no guarantee; publishing it costs everything"
            )
        claims = [claim for some in promised.values() for claim in some]
        if not claims:
            continue
        epsilon, delta, neighbouring = together(claims)
        if delta >= 1:
            total = "everything, as their δ add up to 1 or more"
        elif math.isinf(epsilon):
            total = "everything, as their ε add up beyond all numbers"
        else:
            total = f"ε = {rounded_up(epsilon, 4)}" + (f", δ = {delta_up(delta)}" if delta else "")
            total += f" under {BETWEEN[neighbouring]}"
        kinds = [
            f"the one {one}" if len(some) == 1 else f"the {len(some)} {more}"
            for (one, more), some in promised.items()
            if some
        ]
        cost = f"costs {total}" if len(claims) == 1 else f"together cost {total}"
        found = {claim.status for claim in claims} | {"unconfirmed_domain" for claim in claims if claim.unconfirmed}
        conditions = [words for status, words in _CONDITIONS.items() if status in found]
        sentences.append(f"{' and '.join(kinds)} of {name}{same} {cost}{''.join(conditions)}")
        if len({claim.neighbouring for claim in claims}) > 1 and delta < 1:
            sentences.append("under adding or removing one row, those made for replacing one promise nothing")
    if len(groups) > 1:
        sentences.append("where these are of the same people, they add up, too")
    lead = "Privacy adds up over what is published:" if len(releases) + len(drawn) > 1 else "If published,"
    return f"{lead} {'; '.join(sentences)}."


def _of_the_same_rows(releases: Sequence[MadeRelease], names: Iterable[str]) -> list[list[str]]:
    """The names of data, in one list those that a release of each shows to be the same rows."""
    groups = [[name] for name in names]
    marks = dict.fromkeys((made.dataset, made.fingerprint) for made in releases if made.fingerprint)
    for (one, mark_of_one), (other, mark_of_other) in combinations(marks, 2):
        if is_of(mark_of_one, mark_of_other) or is_of(mark_of_other, mark_of_one):
            first, *further = [group for group in groups if one in group or other in group]
            for group in further:
                first += group
                groups.remove(group)
    return groups
