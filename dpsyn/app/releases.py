"""Calibrating with a memory, and showing a release."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import pandas as pd
import streamlit as st

from dpsyn import escape
from dpsyn.app import road, state
from dpsyn.attribute import Attribute
from dpsyn.errors import ParameterError
from dpsyn.evaluation.experiments import MadeRelease
from dpsyn.kit import categories, verdicts, widgets
from dpsyn.kit.visit import Dataset
from dpsyn.mechanisms.base import Config, Mechanism
from dpsyn.mechanisms.categories import Categories
from dpsyn.mechanisms.claim_formulas import claim_formulas
from dpsyn.mechanisms.registry import as_it_comes, config_class, offered
from dpsyn.notation import counted, worded
from dpsyn.privacy.spec import Guarantee, PrivacySpec
from dpsyn.units import decimals

_DIGITS, _MOST_DECIMALS = 5, 10


def form_of(name: str) -> Callable[[Dataset, float, float], tuple[Config, PrivacySpec]]:
    """The form of a mechanism, which takes ε and δ.

    One that offers none has the settings that mechanisms on categories share, or runs with those that nobody chose.
    """

    def plain(current: Dataset, epsilon: float, delta: float) -> tuple[Config, PrivacySpec]:
        of = config_class(name)
        if issubclass(of, Categories):
            settings, spec = categories.settings(current, name, epsilon, delta)
            return of(**settings), spec
        st.caption("It has no form of its own yet: it runs with the settings that it has when nobody chooses any.")
        config = as_it_comes(name, current.parts[0], current.target)
        if config is None:
            raise ParameterError("target", None, "a column to predict; choose one on the page Data")
        return config, PrivacySpec(epsilon, delta)

    found: Callable[[Dataset, float, float], tuple[Config, PrivacySpec]] | None = offered(name, "form:form")
    return plain if found is None else found


def expectations(mechanism: Mechanism) -> list[tuple[str, str]]:
    """What to expect of a run, from n and public facts only: ("caption" or "warning", sentence)."""
    facts = mechanism.calibrated()
    rows = facts.get("rows", getattr(mechanism.config, "rows", None) or mechanism.n)
    if "rows" in facts or mechanism.guarantee.neighbouring == "replace_one":
        said = [("caption", f"The run will make {counted(rows, 'row')}.")]
    else:
        said = [("caption", "The run will make as many rows as there are by a private estimate.")]
    said += [("caption", sentence) for sentence in mechanism.config.not_kept(mechanism.domain)]
    return [*said, *mechanism.expected()]


def show_claim(mechanism: str, guarantee: Guarantee, settings: Mapping[str, Any]) -> None:
    """An expander with the formulas behind the ε of a guarantee; nothing where there are none.

    Args:
        mechanism: registered name.
        guarantee: the claim.
        settings: as :func:`~dpsyn.mechanisms.claim_formulas.claim_formulas` takes them.
    """
    verdicts.expander(claim_formulas(mechanism, guarantee, settings), config_class(mechanism).paper)


def show_budget(mechanism: str, settings: Mapping[str, Any], guarantee: Guarantee, key: str) -> None:
    """How the budget is shared out, planned or spent, as the mechanism draws it; nothing where it does not."""
    budget = offered(mechanism, "form:budget")
    if budget is not None:
        budget(settings, guarantee, key)


def diagnostics_table(values: Mapping[str, Any]) -> pd.DataFrame:
    """Names and short values; arrays, models and other objects are left out, and the parts of the budget, which have a
    picture and formulas of their own."""
    plain = (str, int, float, np.number, list, tuple, Mapping)
    shown = {k: v for k, v in values.items() if k != "ledger" and (v is None or isinstance(v, plain))}
    return pd.DataFrame({"quantity": [k.replace("_", " ") for k in shown], "value": [worded(v) for v in shown.values()]})


def as_shown(attribute: Attribute) -> Any:
    """How a column of a release is shown: dates as days, numbers with the decimals of their unit, or to five digits of the
    width of their public bounds; None: as it is. It follows from the domain alone.
    """
    if attribute.kind == "date":
        return st.column_config.DateColumn()
    if attribute.kind != "numeric" or attribute.is_whole:
        return None
    if attribute.unit is not None:
        return st.column_config.NumberColumn(format=f"%.{decimals(attribute.unit)}f")
    assert attribute.lower is not None
    assert attribute.upper is not None
    places = _DIGITS - 1 - math.floor(math.log10(attribute.upper - attribute.lower))
    return st.column_config.NumberColumn(format=f"%.{max(0, places)}f" if places <= _MOST_DECIMALS else "%.6g")


def csv_guard() -> None:
    """Whether text in a CSV is guarded against spreadsheets: one switch for all releases."""
    st.toggle(
        "Safe to open in Excel",
        True,
        key="csv_guard",
        bind="query-params",
        help="Text that a spreadsheet would run as a formula (it, or what follows a semicolon or a tab in it, begins with "
        "=, +, - or @) is written after an apostrophe; numbers stay as they are. Switch it off where a program reads the "
        "file.",
    )


def show_release(made: MadeRelease, *, newest: bool = False) -> None:
    """How good a release is, its rows, downloads, what it promises, and the diagnostics apart; ``newest``: just made."""
    release, found = made.release, state.comparison() if newest else None
    report = None if found is None else found["reports"].get(made.label)
    checked = release.guarantee.status != "stated"
    if release.guarantee.status != "proven":
        st.badge("not for publication", icon=":material/warning:", color="orange")
    if report is not None:
        road.score_card(report)
    for sentence in release.notes:
        st.warning(widgets.said(sentence), icon=":material/warning:")
    _downloads(made, newest)
    _rows(made)
    if report is not None:
        st.caption(
            ("Publish the rows and the record, not this card. " if release.guarantee.status == "proven" else "")
            + "Read some rows: the score card cannot tell whether a row makes sense."
        )
    with st.expander("What is guaranteed", icon=":material/verified_user:", key=f"guaranteed_{made.number}"):
        widgets.guarantee_card(release.guarantee, before=False)
        if checked:  # and with it the settings
            show_claim(release.mechanism, release.guarantee, release.settings)
            show_budget(release.mechanism, release.settings, release.guarantee, f"budget_{made.number}")
    with st.popover("Diagnostics (not private)", icon=":material/lock_open:", key=f"diagnostics_{made.number}"):
        st.caption("These numbers depend on the private data. They are for teaching: never publish them.")
        st.dataframe(diagnostics_table(release.diagnostics), hide_index=True)


def _rows(made: MadeRelease) -> None:
    rows = made.release.rows
    st.dataframe(
        rows.head(100),
        column_config={a.name: column for a in made.domain.attributes if (column := as_shown(a)) is not None},
        hide_index=True,
        height=min(36 * (min(len(rows), 100) + 1) + 4, 260),
    )
    rounded = any(a.kind == "numeric" and a.unit is None for a in made.domain.attributes)
    st.caption(
        f"{counted(len(rows), 'row')}, made in {made.seconds:.1f} s from {escape.markdown(made.dataset)}."
        + (
            " Numbers are shown to five digits of the width of their public bounds; the CSV has all of them."
            if rounded
            else ""
        )
    )


def _downloads(made: MadeRelease, newest: bool) -> None:
    release = made.release
    stem = f"{widgets.file_stem(made.dataset)}_{release.mechanism}_{made.number}"
    guarded = bool(st.session_state.get("csv_guard", True))
    with st.container(horizontal=True, vertical_alignment="center"):
        widgets.download(
            "Rows as CSV", lambda: escape.csv(release.rows, guarded=guarded), f"{stem}.csv", key=f"csv_{made.number}",
            type="primary" if newest else "secondary",
        )  # fmt: skip
        widgets.download(
            "Record of the run as JSON",
            json.dumps(release.record(), indent=2, default=str, ensure_ascii=False),
            f"{stem}.json",
            key=f"record_{made.number}",
            icon="description",
        )
        if release.diagnostics.get("noisy_tables"):
            widgets.download(
                "Noisy tables as CSV",
                lambda: escape.csv(pd.concat(release.tables.values(), ignore_index=True), guarded=guarded),
                f"{stem}_tables.csv",
                key=f"tables_{made.number}",
                icon="table",
            )
        if newest:
            st.page_link("comparison.py", label="Compare in detail", icon=":material/compare:")
            csv_guard()
