"""What the certificates promise, and what a neighbour that the visitor picks gives away."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import streamlit as st

from dpsyn.domain import Codes
from dpsyn.kit import formulas, jobs, screen, visit, widgets
from dpsyn.kit.charts import show_chart
from dpsyn.kit.panel import empty, panel
from dpsyn.kit.visit import Dataset
from dpsyn.mechanisms.private_sampling import PrivateSampling
from dpsyn.mechanisms.private_sampling.figures.instance import Instance
from dpsyn.mechanisms.private_sampling.figures.privacy import (
    OBSERVED,
    THEOREM,
    Claim,
    LocalLoss,
    certificates,
    draw_log_ratios,
    draw_privacy,
    neighbour_loss,
    privacy_info,
)
from dpsyn.mechanisms.private_sampling.formulas import PAPER, certificate_formulas
from dpsyn.mechanisms.private_sampling.panels import code
from dpsyn.mechanisms.private_sampling.panels.controls import Settings, box_note, instance_of, remembered, rows_of
from dpsyn.privacy.spec import rounded_down

if TYPE_CHECKING:
    from dpsyn.mechanisms.private_sampling.local_loss import LocalLoss as Search

THIS, WORST = "This neighbour", "Worst one found"
_FOUND = "inside_sampling_search"
_LISTED = 500
_TRIES = 200
_Row = tuple[int, ...]


def show_privacy(current: Dataset, settings: Settings) -> None:
    """Certificates for k rows beside the exact loss of one neighbour, and of the worst that a search found."""
    floor, ceiling = settings.floor, settings.ceiling
    loss: LocalLoss | None = None
    with panel(
        "What is promised, and what a neighbour really gives away",
        badge=True,
        caption="The certificates hold for every dataset. The loss of a neighbour, k·max |ln h*(θ)/h'*(θ)|, is exact for "
        "these rows and this S; the largest over all neighbours is what the true ε cannot be below.",
    ):
        box_note(settings)
        if ceiling < 1 + floor:
            empty("There is no density at this floor and ceiling.")
            return
        instance = instance_of(current, settings)
        left, right = st.columns([2, 3], gap="large")
        with left:
            rows = int(st.number_input("k (rows drawn)", 1, 100_000, 1, key="is_rows", bind="query-params"))
            leaves, comes = _pick(current, settings, instance)
            key = ("loss", current.revision, settings, leaves, comes)
            loss = remembered(key, lambda: neighbour_loss(instance, leaves, comes, floor=floor, ceiling=ceiling))
            _facts(instance, loss, rows)
        found = _found(current, settings)
        search = _TRIES if found is not None else None
        screen.offer(lambda: code.privacy(current, settings, rows=rows, leaves=leaves, comes=comes, search=search))
        observed = [Claim(THIS, rows * loss.epsilon, OBSERVED, f"worst at {_text(instance, loss.worst)}")]
        if found is not None:
            observed.append(Claim(WORST, rows * found.lower_bound, OBSERVED, "a lower bound on the true ε"))
        claims = certificates(instance, floor=floor, ceiling=ceiling, rows=rows)
        with right:
            show_chart(draw_privacy(privacy_info(claims, observed, rows=rows)), key="is_claims")
            if not instance.domain.is_binary:
                st.caption("Theorem 4.1 and the stability bound are stated for the Boolean cube: not every column is a bit.")
            theorem = next(claim.epsilon for claim in claims if claim.name == THEOREM)
            lines = certificate_formulas(
                floor=floor,
                ceiling=ceiling,
                rows=rows,
                degree=instance.space.degree,
                functions=instance.space.dimension,
                reduced_space_size=instance.space.m,
                theorem=None if theorem is None else (instance.n, theorem),
            )
            formulas.expander(lines, PAPER)
            _search(current, settings, instance, found, rows)
    if loss is None:
        return
    with panel("Where this neighbour's loss comes from", badge=True):
        show_chart(draw_log_ratios(loss, ceiling / floor), key="is_log_ratios")


def _facts(instance: Instance, loss: LocalLoss, rows: int) -> None:
    st.metric(f"Exact loss of {rows:,} row{'' if rows == 1 else 's'}", widgets.number(rows * loss.epsilon))
    st.caption(
        f"Worst at *{_text(instance, loss.worst)}*. λ moves from {loss.shrinkage[0]:.6f} to {loss.shrinkage[1]:.6f}. Both "
        f"densities meet their marginals to {widgets.number(loss.residual)}."
    )


def _pick(current: Dataset, settings: Settings, instance: Instance) -> tuple[_Row, _Row]:
    present, counts = remembered(
        ("present", current.revision, settings.columns), lambda: np.unique(instance.codes, axis=0, return_counts=True)
    )
    order = np.argsort(counts, kind="stable")[:_LISTED]
    leaving = {f"{_text(instance, present[i])} · {counts[i]:,}×": i for i in order}
    candidates = _candidates(instance)
    coming = {_text(instance, row): i for i, row in enumerate(candidates)}
    st.caption(f"One of {instance.n:,} rows is replaced ({', '.join(settings.columns)}):")
    place = f"{current.tag}_{'_'.join(settings.columns)}"
    out = st.selectbox(
        "the row that leaves, rarest first",
        list(leaving),
        key=f"is_leaves_{place}",
        bind="query-params" if current.sample else None,
    )
    into = st.selectbox(
        "the row that comes",
        list(coming),
        index=len(coming) - 1,
        key=f"is_comes_{place}",
        bind="query-params" if current.sample else None,
    )
    return _plain(present[leaving[out]]), _plain(candidates[coming[into]])


def _candidates(instance: Instance) -> Codes:
    points = instance.space.points
    chosen = np.linspace(0, len(points) - 1, min(len(points), _LISTED)).round().astype(int)
    return np.asarray(points[np.unique(chosen)])


def _found(current: Dataset, settings: Settings) -> Search | None:
    kept: dict[str, Any] | None = st.session_state.get(_FOUND)
    if kept is None or (kept["revision"], kept["settings"]) != (current.revision, settings):
        return None
    found: Search = kept["value"]
    return found


def _search(current: Dataset, settings: Settings, instance: Instance, found: Search | None, rows: int) -> None:
    if st.button(
        "Search for the worst neighbour", icon=":material/search:", key="is_search", disabled=visit.job() is not None,
        help="All of them if they are few, otherwise those that move h* most, and some at random.",
    ):  # fmt: skip
        config = PrivateSampling(
            degree=instance.space.degree, floor=settings.floor, ceiling=settings.ceiling, reduced_space_size=settings.draws,
            rows=1,
        )  # fmt: skip
        visit.set_job(
            jobs.start(
                "dpsyn.mechanisms.private_sampling.local_loss:search_neighbours",
                label="Search over neighbours",
                context={"done": visit.keep_value, "key": _FOUND, "revision": current.revision, "settings": settings},
                config=config,
                table=rows_of(current, settings.columns),
                tries=_TRIES,
                seed=settings.seed,
            )
        )
        st.rerun()
    if found is None:
        return
    tried = f"{len(found.losses):,} of {found.neighbours:,} neighbours"
    if found.worst is None:
        st.caption(f"{tried} were tried: all have the same density.")
        return
    change = found.worst.change
    pair = [_text(instance, row) for row in (change.removed, change.added) if row is not None]
    st.caption(
        f"{'All' if found.exhaustive else 'Tried'} {tried}. The worst replaces *{pair[0]}* by *{pair[-1]}*: a loss of "
        f"{widgets.number(rows * found.worst.loss)}, known to {widgets.number(rows * found.worst.uncertainty)}. So the "
        f"true ε is at least {_rounded_down(rows * found.lower_bound)}; other rows may lose more."
    )


def _rounded_down(epsilon: float) -> str:
    """A lower bound for people, never more than it is."""
    return widgets.number(float(rounded_down(epsilon, 3)))


def _plain(codes: Codes) -> _Row:
    return tuple(int(code) for code in codes)


def _text(instance: Instance, codes: Any) -> str:
    attributes = instance.domain.attributes
    return ", ".join(f"{a.labels()[int(code)]}" for a, code in zip(attributes, codes, strict=True))
