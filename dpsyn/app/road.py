"""The road from data to rows: where one is on it, which mechanism to take, and how good the rows are."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any, Literal

import streamlit as st

from dpsyn import escape
from dpsyn.app import state
from dpsyn.app.lab.releases import take_comparison
from dpsyn.data.counted import AnyTable
from dpsyn.errors import CalibrationError, DpsynError, TooLargeError
from dpsyn.evaluation.conclusions import MIDDLE, Finding, advice, conclusions, ranking, yardsticks
from dpsyn.evaluation.experiments import MadeRelease
from dpsyn.evaluation.experiments.plan import mechanisms_as_they_come
from dpsyn.evaluation.prediction import DEFAULT_MODELS, Prediction
from dpsyn.evaluation.report import Report
from dpsyn.kit import jobs, visit, widgets
from dpsyn.kit.visit import Dataset, calibrated
from dpsyn.mechanisms.base import Config, Mechanism, Release
from dpsyn.mechanisms.registry import MECHANISMS, NEEDS_CLASSES, THE_FIELD, THE_THREE, as_it_comes, offered, title
from dpsyn.notation import counted, duration, percent, short
from dpsyn.privacy.spec import PrivacySpec, rounded_up
from dpsyn.table import Table

STEPS = ("Data", "Domain", "Generator")
"""The pages of the road, by their titles."""
_LOST, _SHORT_WAIT = 0.5, 15.0
_MORE = 1.1
_QUICK_DEGREES = (1, 2)
"""Columns of the tables of a score card; page Comparison measures more."""
_ABOUT = {"tables": "Error of tables", "prediction": "Prediction", "numbers": "Columns of numbers"}
_COLORS: dict[str, Literal["green", "orange", "red", "gray"]] = {
    "no fault seen": "green",
    "with care": "orange",
    "poor": "red",
    "cannot be judged": "gray",
}
_NOT_RUN = "not_run"


def head(at: str) -> None:
    """The title of a page on the road, and which of its steps it is."""
    shown = [f"**:primary[{i} {name}]**" if name == at else f"{i} {name}" for i, name in enumerate(STEPS, start=1)]
    with st.container(horizontal=True, horizontal_alignment="distribute", vertical_alignment="center"):
        st.title(at, anchor=False, width="content")
        st.markdown(" :gray[→] ".join(shown), width="content")


@dataclass(frozen=True)
class Offer:
    """One mechanism under the shared budget, before a run; from public facts only.

    Attributes:
        name: registered name.
        refused: why it cannot run, or empty.
        noise: mean error of tables that noise or few rows alone cause, and of which it is: "before the fit", or "or more"
            where the release's can be no less. None where it is known after a run only.
        rows: how many it makes, where rows cost budget.
        cost: the ε of these rows, which may be less than the budget.
        seconds: about how long a run takes, where it is known.
        impossible: the library's reason, where neither a larger ε nor more memory would help; or empty.
        way: which tables these are: of two columns, or of one where there are no two.
    """

    name: str
    refused: str = ""
    noise: tuple[float, str] | None = None
    rows: int | None = None
    cost: float | None = None
    seconds: float | None = None
    impossible: str = ""
    way: str = "two-way"


def offers(current: Dataset, spec: PrivacySpec, names: Iterable[str] = MECHANISMS) -> list[Offer]:
    """Every mechanism, or some, with the settings that it has when nobody chooses any."""
    way = "two-way" if len(current.table.domain) > 1 else "one-way"
    return [replace(_offer(name, current, spec), way=way) for name in names]


def best_of(found: Sequence[Offer]) -> str:
    """The one to recommend: that can run and has the least noise on its tables; then those of which nothing is known.
    Empty of none."""

    def order(offer: Offer) -> tuple[bool, bool, bool, float]:
        noise, bound = offer.noise or (1.0, "")
        return bool(offer.refused), offer.noise is None, bound == "or more", noise

    return min(found, key=order).name if found else ""


def _offer(name: str, current: Dataset, spec: PrivacySpec) -> Offer:
    learn = current.parts[0]
    config = as_it_comes(name, learn, current.target)
    if config is None:
        return Offer(name, NEEDS_CLASSES, impossible=f"It {NEEDS_CLASSES}")
    noise, seconds = offered(name, "expectations:table_noise"), offered(name, "expectations:seconds")
    try:
        mechanism = _within_budget(config, spec, learn)
    except DpsynError as fault:
        curable = isinstance(fault, CalibrationError | TooLargeError)
        return Offer(name, _in_short(fault, config, spec, learn), impossible="" if curable else str(fault))
    return Offer(
        name,
        noise=None if noise is None else noise(mechanism),
        rows=None if config.fewer_rows() is None else mechanism.calibrated()["rows"],
        cost=None if config.fewer_rows() is None else mechanism.guarantee.epsilon,
        seconds=None if seconds is None else seconds(mechanism),
    )


def possible(config: Config, spec: PrivacySpec, learn: AnyTable) -> Mechanism | str:
    """The mechanism, with fewer rows if so many cost too much, or in a few words why there is none."""
    try:
        return _within_budget(config, spec, learn)
    except DpsynError as fault:
        return _in_short(fault, config, spec, learn)


def _within_budget(config: Config, spec: PrivacySpec, learn: AnyTable) -> Mechanism:
    mechanism: Mechanism = calibrated(config.fewer_rows() or config, spec, learn)
    return mechanism


def _in_short(fault: DpsynError, config: Config, spec: PrivacySpec, learn: AnyTable) -> str:
    if isinstance(fault, TooLargeError):
        return "needs more memory than there is"
    if not isinstance(fault, CalibrationError):
        return "no run is possible for these columns"
    one = config.fewer_rows(1)
    with suppress(DpsynError):
        if one is not None and (needed := one.epsilon_needed(spec, learn.domain, learn.n)) is not None:
            return f"one row needs ε ≥ {rounded_up(needed[1], 3)}"
    return "no run is possible at this ε and δ"


def long_wait(mechanism: Mechanism, unknown: str = "") -> str:
    """How long a run takes where that is more than a short wait, in a few words; ``unknown`` where nobody knows."""
    seconds = offered(mechanism.config.name, "expectations:seconds")
    if seconds is None:
        return unknown
    takes = seconds(mechanism)
    return f"it takes {duration(takes)}" if takes > _SHORT_WAIT else ""


def offers_tables(found: Sequence[Offer], spec: PrivacySpec, best: str) -> None:
    """The three, and in a closed group the field; and what would help where the best of all is poor."""
    _offers_table([offer for offer in found if offer.name in THE_THREE], spec, best)
    if any(offer.noise is not None and offer.noise[1] == "before the fit" for offer in found):
        st.caption("The fit takes part of the noise away; bins, and relations that noise hides, add errors.")
    if any(offer.name == best and _is_poor(offer) for offer in found):
        fewer = ", a larger ε or fewer columns" if found[0].way == "two-way" else " or a larger ε"
        st.caption(f"Even the lowest noise is high: more rows{fewer} would help.")
    with st.expander("The field: other systems under the same budget", icon=":material/groups:", key="field_table"):
        _offers_table([offer for offer in found if offer.name in THE_FIELD], spec, best)


def _offers_table(found: Sequence[Offer], spec: PrivacySpec, best: str) -> None:
    """A line per mechanism: privacy, noise on tables, time."""
    columns = "one column" if found and found[0].way == "one-way" else "two columns"
    lines = [f"| | privacy | noise on tables of {columns} | time |", "|---|---|---|---|"]
    for offer in found:
        name = title(offer.name)
        if offer.name == best and not offer.refused and offer.noise is not None:
            name = f"**{name}** {':gray-badge[best that is known]' if _is_poor(offer) else ':green-badge[recommended]'}"
        if offer.refused:
            lines.append(f"| {name} | :gray[{escape.markdown(offer.refused)}] | – | – |")
            continue
        noise = "known after a run" if offer.noise is None else _noise(offer, *offer.noise)
        seconds = "seconds" if offer.seconds is None else duration(offer.seconds)
        rows = "" if offer.rows is None else f", {counted(offer.rows, 'row')}"
        epsilon = f"{spec.epsilon:g}" if offer.cost is None else rounded_up(offer.cost, 3)
        lines.append(f"| {name} | ε = {epsilon}{rows} | {noise} | {seconds} |")
    st.markdown("\n".join(lines))


def _is_poor(offer: Offer) -> bool:
    """Whether a score card would call tables bad that were off by as much."""
    return offer.noise is not None and offer.noise[0] > MIDDLE


def expected(offer: Offer) -> str:
    """What is known of a run before it, in a sentence; empty where nothing is."""
    if offer.refused:
        return f"Generator: {offer.refused}."
    if offer.noise is None:
        return ""
    of = "A run" if offer.rows is None else f"A run's {counted(offer.rows, 'row')} alone"
    return f"{of}: {noise_in_words(offer)}."


def noise_in_words(offer: Offer) -> str:
    """The noise on its tables, by its name; empty where it is not known."""
    if offer.noise is None:
        return ""
    what = f"{offer.way} tables " if offer.noise[1] == "or more" else f"noise on {offer.way} tables "
    return f"{'' if offer.noise[0] > _LOST else what}{_noise(offer, *offer.noise)}"


def a_tenth_more(mechanism: Mechanism, learn: Table) -> str:
    """The noise on tables under the budget as it is and a tenth more of ε, in a sentence; empty where it is not known, or
    hangs on other things."""
    noise: Callable[[Mechanism], Any] | None = offered(mechanism.config.name, "expectations:table_noise")
    now: tuple[float, str] | None = None if noise is None else noise(mechanism)
    if noise is None or now is None or now[0] > _LOST:
        return ""
    spec = replace(mechanism.spec, epsilon=_MORE * mechanism.spec.epsilon)
    then = None
    with suppress(DpsynError):
        then = noise(calibrated(mechanism.config, spec, learn))
    if then is None or percent(then[0], 3) == percent(now[0], 3):
        return ""
    columns = "two columns" if len(learn.domain) > 1 else "one column"
    return (
        f"Noise on tables of {columns} is {percent(now[0], 3)} {now[1]}; a tenth more of ε would make it "
        f"{percent(then[0], 3)}."
    )


def _noise(offer: Offer, noise: float, bound: str) -> str:
    if noise > _LOST:
        what = "pairs" if offer.way == "two-way" else "counts"
        return f"{what} are mostly lost" if bound == "or more" else f"noise may drown most {what}"
    return f"{'off by ' * (bound == 'or more')}{percent(noise)} {bound}"


def make(
    current: Dataset,
    title: str,
    made_with: int | list[int] | None,
    task: str,
    said: Mapping[str, list[str]] | None = None,
    **arguments: Any,
) -> None:
    """Start a job that makes a release; it is kept, shown, and measured in the background.

    Args:
        current: the data.
        title: what the release and the job are called.
        made_with: the seed that the release remembers, or None.
        task: the job, which takes the rows to learn from as ``table``.
        said: what the address says of its settings, if that is to stay there.
        arguments: what else it takes.
    """
    learn = current.parts[0]
    context = {
        "done": _take_and_measure,
        "title": title,
        "said": said or {},
        "seed": made_with,
        "made": {},
        "table": learn,
        "fingerprint": state.mark(),
        **state.kept_by_workspace(state.keep_releases),
    }
    visit.set_job(jobs.start(task, label=title, context=context, table=learn, **arguments))


def _take_and_measure(context: Mapping[str, Any], release: Release) -> None:
    state.take_release(context, release)
    measure([state.made()[-1]], context["fingerprint"])


def run_all_button(current: Dataset, *, first: bool) -> None:
    """The button that makes a release by every mechanism, with the budget that all pages share; ``first`` of this data."""
    kind: Literal["primary", "secondary"] = "primary" if first else "secondary"
    if st.button("Run all mechanisms", type=kind, icon=":material/play_arrow:", disabled=visit.job() is not None):
        run_all(current, widgets.budget())
        st.rerun()


def run_all(current: Dataset, spec: PrivacySpec) -> None:
    """Start a job that makes and measures one release by every mechanism that can, with the settings that nobody chose.

    Of the field only those that are quick.
    """
    learn = current.parts[0]
    mechanisms: dict[str, Any] = {}
    refused: dict[str, Any] = {}
    for label, config in mechanisms_as_they_come(learn, current.target).items():
        found = possible(config, spec, learn)
        if not isinstance(found, str) and config.name in THE_FIELD:
            found = long_wait(found, unknown="of unknown duration") or found
        (refused if isinstance(found, str) else mechanisms)[label] = found
    context = {
        "done": _take_all,
        "said": widgets.budget_in_link(),
        "seed": None,
        "made": {},
        "table": learn,
        "fingerprint": state.mark(),
        "refused": refused,
        "epsilon": spec.epsilon,
        **state.kept_by_workspace(state.keep_releases),
    }
    visit.set_job(
        jobs.start(
            "dpsyn.mechanisms.base:run_all", label="All mechanisms", context=context, mechanisms=mechanisms, table=learn
        )
    )


def _take_all(context: Mapping[str, Any], found: Mapping[str, tuple[Release | str, float]]) -> None:
    """Keep all releases and measure them; :func:`conclude` says what did not run."""
    refused: dict[str, str] = dict(context["refused"])
    before = len(state.made())
    for name, (made, seconds) in found.items():
        if isinstance(made, str):
            refused[name] = made
        else:
            state.take_release({**context, "title": name, "seconds": seconds}, made)
    measure(state.made()[before:], context["fingerprint"])
    st.session_state[_NOT_RUN] = context["fingerprint"], context["epsilon"], refused


def measure(releases: Sequence[MadeRelease], fingerprint: str) -> None:
    """Measure releases for a score card in the background; nothing while the data that are open are others."""
    current = visit.dataset()
    if state.mark() != fingerprint or visit.job() is not None or current.table.n == 0:
        return
    degrees = tuple(degree for degree in _QUICK_DEGREES if degree <= len(current.table.domain))
    compare(current, releases, "Score card", target=current.target, degrees=degrees, models=DEFAULT_MODELS)


def compare(
    current: Dataset,
    releases: Sequence[MadeRelease],
    label: str,
    *,
    target: str | None,
    degrees: tuple[int, ...],
    models: tuple[str, ...],
) -> None:
    """Start a job that compares releases with the real rows; what it finds is shown on page Comparison from then on.

    Args:
        current: the data that they are of.
        releases: to be measured.
        label: of the job.
        target: the column to predict, or None.
        degrees: numbers of columns of the tables.
        models: what predicts, as :func:`~dpsyn.evaluation.baseline.real_baseline` takes them.
    """
    learn, held_out = current.parts
    asked = {"target": target, "degrees": degrees, "models": models}
    context = {
        "done": take_comparison,
        "fingerprint": state.mark(),
        "numbers": {made.label: made.number for made in releases},
        **asked,
    }
    by_label = {made.label: made.release.rows for made in releases}
    task = "dpsyn.evaluation.report:compare"
    visit.set_job(jobs.start(task, label=label, context=context, rows=by_label, table=learn, holdout=held_out, **asked))


def score_card(report: Report) -> None:
    """A card for each finding: what was measured, how good that is, and the sentence beside the yardstick."""
    found = conclusions(report)
    for place, finding in zip(st.columns(len(found)), found, strict=True):
        with place, st.container(border=True, height="stretch"):
            with st.container(horizontal=True, horizontal_alignment="distribute"):
                st.metric(_ABOUT[finding.about], finding.figure, width="content")
                st.badge(finding.grade, color=_COLORS[finding.grade])
            st.caption(escape.markdown(finding.sentence))


def conclude(reports: Mapping[str, Report]) -> None:
    """What to do next, the releases in order with their findings, and what to hold them against."""
    st.markdown(f":material/arrow_forward: {escape.markdown(advice(reports))}")
    found = {name: {finding.about: finding for finding in conclusions(reports[name])} for name in ranking(reports)}
    closest = reports[next(iter(found))]
    heads = {kind: head.lower() for kind, head in _ABOUT.items() if any(kind in findings for findings in found.values())}
    if isinstance(closest.prediction, Prediction):
        heads["prediction"] += f" of {escape.markdown(closest.prediction.real.target)}"
    lines = [f"| rank by tables | | {' | '.join(heads.values())} |", "|---" * (len(heads) + 2) + "|"]
    for rank, (name, findings) in enumerate(found.items(), start=1):
        cells = [_cell(findings[kind]) if kind in findings else "–" for kind in heads]
        lines.append(f"| {rank} | **{escape.markdown(name)}** | {' | '.join(cells)} |")
    for name, figures in yardsticks(closest).items():
        cells = [escape.markdown(figures.get(kind, "–")) for kind in heads]
        lines.append(f"| | *{name}* | {' | '.join(cells)} |")
    st.markdown("\n".join(lines))
    fingerprint, epsilon, refused = st.session_state.get(_NOT_RUN, (None, 0.0, {}))
    if refused and fingerprint == state.mark():
        st.caption(not_run(epsilon, refused))
    if len(found) == 1:
        (findings,) = found.values()
        why = [finding.sentence for finding in findings.values() if finding.grade in ("poor", "cannot be judged")]
        st.markdown("\n".join(f"- {escape.markdown(sentence)}" for sentence in why))


def not_run(epsilon: float, refused: Mapping[str, str]) -> str:
    """Which mechanisms :func:`run_all` left out and why, by title, in a sentence or two."""
    left_out = "; ".join(f"{name} ({widgets.said(reason)})" for name, reason in refused.items())
    field = " Of the field only what is quick is run." if any(title(name) in refused for name in THE_FIELD) else ""
    return f"Not run at ε = {short(epsilon, 4)}: {left_out}.{field}"


def _cell(finding: Finding) -> str:
    return f"{escape.markdown(finding.figure)} :{_COLORS[finding.grade]}-badge[{finding.grade}]"
