"""What the feasibility page is about: which data, which privacy, which parameters. All of it is in the page's address."""

from __future__ import annotations

from typing import Any

import streamlit as st

from dpsyn.kit import visit, widgets
from dpsyn.kit.explorer import Chosen, Explorer, Slider
from dpsyn.mechanisms.base import domain_warning
from dpsyn.mechanisms.feasibility import Feasibility, feasibility
from dpsyn.mechanisms.registry import MECHANISMS, offered
from dpsyn.privacy.spec import PrivacySpec
from dpsyn.statistics import DatasetStatistics
from dpsyn.theory.datasets import BUILT_IN

YOURS, TYPED = "Loaded data", "Typed in"
_COUNTED = "NOT YET TRUE: the columns' values were inferred from the file, and nobody confirmed them as public."


def verdicts(explorer: Explorer, chosen: Chosen, **further: Any) -> Feasibility:
    """``dpsyn.feasibility`` for one of the datasets; ``further`` settings are those that a section asks for itself."""
    return feasibility(chosen.stats, explorer.spec, **{**explorer.settings_of(chosen), "exact_accounting": False, **further})


def offers(place: str) -> dict[str, Any]:
    """What the mechanisms offer at a place of ``panels.feasibility``, by registered name."""
    found = {name: offered(name, f"panels.feasibility:{place}") for name in MECHANISMS}
    return {name: offer for name, offer in found.items() if offer is not None}


def choose() -> Explorer:
    """Draw the sliders and the choice of data, and return what they say."""
    with st.sidebar:
        st.header("Settings")
        epsilon = widgets.epsilon_slider("f_epsilon", bind="query-params")
        sliders: dict[str, Slider] = {s.setting: s for each in offers("SLIDERS").values() for s in each}
        settings = {name: slider.draw() for name, slider in sliders.items()}
        delta = widgets.delta_slider("f_delta", bind="query-params")
    return Explorer(_datasets(), PrivacySpec(epsilon, delta), settings)


def described(explorer: Explorer) -> dict[str, Any]:
    """The settings as plain data, for an export."""
    spec, settings = explorer.spec, explorer.settings_of(explorer.focus)
    shown = {name: settings[name] for name in explorer.settings if settings[name] is not None}
    return {"epsilon": spec.epsilon, "delta": spec.delta, "neighbouring": spec.neighbouring, **shown}


def _datasets() -> tuple[Chosen, ...]:
    current = visit.dataset()
    read = visit.read_statistics()
    names = st.pills(
        f"Data, one or several side by side (loaded: {current.table.name})",
        [YOURS, *read, *BUILT_IN, TYPED],
        selection_mode="multi",
        default=[YOURS],
        key="f_data",
        bind="query-params",
    )
    names = [name for name in names if name in (YOURS, TYPED, *read, *BUILT_IN)] or [YOURS]
    if len(names) > 1:
        focus = st.segmented_control(
            "Details for", names, default=names[0], required=True, key="f_focus", bind="query-params"
        )
        names.sort(key=lambda name: name != focus)
    return tuple(_typed() if name == TYPED else _known(name) for name in names)


def _known(name: str) -> Chosen:
    current = visit.dataset()
    read = visit.read_statistics()
    if name == YOURS:
        classes, smallest = current.balance
        return Chosen(
            current.statistics,
            True,
            loaded=True,
            classes=classes,
            smallest_class=smallest,
            domain_warning=domain_warning(current.table.domain),
        )
    if name in read:
        return Chosen(read[name], private=True, domain_warning=_COUNTED)
    return Chosen(BUILT_IN[name], private=False)


def _typed() -> Chosen:
    left, middle, right = st.columns(3)
    p = left.number_input("p (bits)", 1, 10_000, 20, key="f_p", bind="query-params")
    n = middle.number_input("n (rows)", 1, 10**15, 100_000, key="f_n", bind="query-params")
    share = right.number_input(
        "‖fₙ‖∞ (largest share of equal rows)", 1e-15, 1.0, 0.001, format="%.3g", key="f_max", bind="query-params"
    )
    return Chosen(DatasetStatistics(int(p), int(n), max(float(share), 1 / int(n)), name="typed in"), False)
