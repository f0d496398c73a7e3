"""What the certificates promise, and what a neighbour that the visitor picks gives away."""

from __future__ import annotations

from typing import Any

import numpy as np
import streamlit as st

from dpsyn import escape
from dpsyn.kit import jobs, verdicts, visit, widgets
from dpsyn.kit.show import show_chart
from dpsyn.kit.visit import Dataset
from dpsyn.kit.widgets import empty, panel
from dpsyn.mechanisms.private_sampling import PrivateSampling
from dpsyn.mechanisms.private_sampling.certificates import is_degenerate
from dpsyn.mechanisms.private_sampling.figures.density import OBSERVED, THEOREM, Claim, claims, draw_log_ratios, draw_privacy
from dpsyn.mechanisms.private_sampling.formulas import certificate_formulas
from dpsyn.mechanisms.private_sampling.local_loss import Change, LocalLoss, LossMeter, NeighbourLoss
from dpsyn.mechanisms.private_sampling.panels.controls import Settings, box_note, config_of, privacy_code, remembered, run_of
from dpsyn.mechanisms.private_sampling.small_run import SmallRun
from dpsyn.notation import counted
from dpsyn.privacy.spec import rounded_down

THIS, WORST = "This neighbour", "Worst one found"
_FOUND = "inside_sampling_search"
_LISTED = 500
_TRIES = 200


def show_privacy(current: Dataset, settings: Settings) -> None:
    """Certificates for k rows beside the exact loss of one neighbour, and of the worst that a search found."""
    floor, ceiling = settings.floor, settings.ceiling
    loss: NeighbourLoss | None = None
    with panel(
        "What is promised, and what a neighbour really gives away",
        badge=True,
        caption="The certificates hold for every dataset. The loss of a neighbour, k·max |ln h*(θ)/h'*(θ)|, is exact for "
        "these rows and this S; the largest over all neighbours is what the true ε cannot be below.",
    ):
        box_note(settings)
        if not settings.box_exists:
            empty("No density fits: the ceiling must be at least 1 + floor.")
            return
        run = run_of(current, settings)
        left, right = st.columns([2, 3], gap="large")
        with left:
            rows = int(st.number_input("k (rows drawn)", 1, 100_000, 1, key="is_rows", bind="query-params"))
            change = _pick(current, settings, run)
            # The seed draws the same S again.
            meter = remembered(
                ("meter", current.revision, settings),
                lambda: LossMeter(config_of(settings, run.table), run.table, generator=np.random.default_rng(settings.seed)),
            )
            key = ("loss", current.revision, settings, change)
            loss = remembered(key, lambda: meter.loss(change, measure_uncertainty=False))
            st.metric(f"Exact loss of {counted(rows, 'row')}", widgets.number(rows * loss.loss))
            before, after = (f"{shrinkage:.4f}" for shrinkage in (loss.shrinkage, loss.other_shrinkage))
            moved = f"λ moves from {before} to {after}" if before != after else f"λ stays at {before}"
            st.caption(f"Worst at *{escape.markdown(_text(run, loss.point))}*. {moved}.")
        found = _found(current, settings)
        search = _TRIES if found is not None else None
        visit.offer(lambda: privacy_code(current, settings, rows=rows, change=change, search=search))
        observed = [Claim(THIS, rows * loss.loss, OBSERVED, f"worst at {_text(run, loss.point)}")]
        if found is not None:
            observed.append(Claim(WORST, rows * found.lower_bound, OBSERVED, f"a lower bound on the true ε of {_of(found)}"))
        cube = run.table.domain.is_binary
        bounds = claims(meter.certificates, rows=rows, cube=cube, degenerate=is_degenerate(floor, ceiling))
        with right:
            show_chart(draw_privacy(bounds, observed, rows=rows), key="is_claims")
            if not cube:
                st.caption("Theorem 4.1 and the stability bound are stated for the Boolean cube: not every column is a bit.")
            theorem = next(claim.epsilon for claim in bounds if claim.name == THEOREM)
            lines = certificate_formulas(
                floor=floor,
                ceiling=ceiling,
                rows=rows,
                degree=run.space.size.degree,
                functions=run.space.size.dimension,
                reduced_space_size=run.space.m,
                theorem=None if theorem is None else (run.table.n, theorem),
            )
            verdicts.expander(lines, PrivateSampling.paper)
            _search(current, settings, run, found, rows)
    if loss is None:
        return
    with panel("Where this neighbour's loss comes from", badge=True):
        show_chart(draw_log_ratios(loss.log_ratios, ceiling / floor), key="is_log_ratios")


def _pick(current: Dataset, settings: Settings, run: SmallRun) -> Change:
    present, counts = remembered(
        ("present", current.revision, settings.columns), lambda: np.unique(run.table.codes, axis=0, return_counts=True)
    )
    order = np.argsort(counts, kind="stable")[:_LISTED]
    leaving = {f"{_text(run, present[i])} · {counts[i]:,}×": i for i in order}
    points = np.unique(run.space.codes, axis=0)
    spread = np.linspace(0, len(points) - 1, min(len(points), _LISTED)).round().astype(int)
    candidates = points[np.unique(spread)]
    coming = {_text(run, row): i for i, row in enumerate(candidates)}
    st.caption(f"One of {run.table.n:,} rows is replaced ({escape.markdown(', '.join(settings.columns))}):")
    place = f"{current.tag}_{'_'.join(settings.columns)}"
    out = st.selectbox("the row that leaves, rarest first", list(leaving), key=f"is_leaves_{place}", **current.kept)
    into = st.selectbox("the row that comes", list(coming), len(coming) - 1, key=f"is_comes_{place}", **current.kept)
    return Change(tuple(present[leaving[out]].tolist()), tuple(candidates[coming[into]].tolist()))


def _found(current: Dataset, settings: Settings) -> LocalLoss | None:
    kept: dict[str, Any] | None = st.session_state.get(_FOUND)
    if kept is None or (kept["revision"], kept["settings"]) != (current.revision, settings):
        return None
    found: LocalLoss = kept["value"]
    return found


def _search(current: Dataset, settings: Settings, run: SmallRun, found: LocalLoss | None, rows: int) -> None:
    if st.button(
        "Search for the worst neighbour", icon=":material/search:", key="is_search", disabled=visit.job() is not None,
        help="All of them if they are few, otherwise those that move h* most, and some at random.",
    ):  # fmt: skip
        visit.set_job(
            jobs.start(
                "dpsyn.mechanisms.private_sampling.local_loss:local_loss",
                label="Search over neighbours",
                context={"done": visit.keep_value, "key": _FOUND, "revision": current.revision, "settings": settings},
                config=config_of(settings, run.table),
                table=run.table,
                tries=_TRIES,
                generator=np.random.default_rng(settings.seed),
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
    pair = [escape.markdown(_text(run, row)) for row in (change.removed, change.added) if row is not None]
    st.caption(
        f"{'All' if found.exhaustive else 'Tried'} {tried}. The worst replaces *{pair[0]}* by *{pair[-1]}*: a loss of "
        f"{widgets.number(rows * found.worst.loss)}, known to {widgets.number(rows * found.worst.uncertainty)}. So the "
        f"true ε of {_of(found)} is at least {widgets.number(float(rounded_down(rows * found.lower_bound, 3)))}; other rows "
        "may lose more."
    )


def _of(found: LocalLoss) -> str:
    """What the loss is one of: a release does not hold S."""
    return "the rows" if found.whole_domain else "the rows together with S"


def _text(run: SmallRun, codes: Any) -> str:
    attributes = run.table.domain.attributes
    return ", ".join(f"{a.labels()[int(code)]}" for a, code in zip(attributes, codes, strict=True))
