"""Calibrating with a memory, and showing a release."""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Mapping
from itertools import product
from typing import Any

import numpy as np
import pandas as pd
import streamlit as st

from dpsyn.attribute import Attribute
from dpsyn.evaluation.experiments import MadeRelease as Made
from dpsyn.kit import formulas, widgets
from dpsyn.kit.charts import show_chart
from dpsyn.mechanisms.base import Mechanism
from dpsyn.mechanisms.claim_formulas import claim_formulas
from dpsyn.mechanisms.noisy_reweighting import NoisyReweighting, NoisyReweightingMechanism
from dpsyn.mechanisms.noisy_reweighting.figures.budget import budget_info, draw_budget
from dpsyn.mechanisms.private_sampling._mechanism import PrivateSamplingMechanism
from dpsyn.mechanisms.private_sampling._space_size import SpaceSize, rough_seconds
from dpsyn.privacy.spec import Guarantee

_DIGITS, _MOST_DECIMALS = 5, 10
_SHORT_WAIT = 30.0
"""Seconds of a run from which on the page says how long it will take."""
_DROWNED = 2.0
"""Noise on the cells of a table, in parts of all rows, from which on relations between columns are mostly lost in it."""


def budget_bar(settings: Mapping[str, Any], guarantee: Guarantee, key: str) -> None:
    """The ledger of noisy reweighting, planned or spent, as a bar.

    Args:
        settings: what calibration made of them, with the ledger and how it was accounted.
        guarantee: of the whole.
        key: of the chart.
    """
    info = budget_info(
        settings["ledger"], epsilon=guarantee.epsilon, delta=guarantee.delta, accounting=settings["accounting"]
    )
    show_chart(draw_budget(info, line_length=120), key=key)


def expectations(mechanism: Mechanism) -> list[tuple[str, str]]:
    """What to expect of a run, from n and public facts only: ("caption" or "warning", sentence)."""
    facts = mechanism.calibrated()
    said = []
    rows = facts.get("rows", getattr(mechanism.config, "rows", None) or mechanism.n)
    if "rows" in facts or mechanism.guarantee.neighbouring == "replace_one":
        said.append(("caption", f"The run will make {rows:,} row{'' if rows == 1 else 's'}."))
    else:
        said.append(("caption", "The run will make as many rows as there are by a private estimate."))
    if isinstance(mechanism, PrivateSamplingMechanism):
        said += _how_long(mechanism.size)
    if isinstance(mechanism, NoisyReweightingMechanism):
        noise = float(mechanism.spreads.max()) * mechanism.statistics.unit / mechanism.n
        sentence = (
            f"Noise of standard deviation {widgets.number(noise)} {'or less ' if len(set(mechanism.scales)) > 1 else ''}"
            f"goes on each of {mechanism.statistic_count:,} averages"
        )
        degree, total = noise_on_tables(mechanism)
        if total > _DROWNED:
            columns = f"{degree} column{'' if degree == 1 else 's'}"
            said.append(
                (
                    "warning",
                    f"{sentence}. On the cells of a table of {columns} it adds up to about {widgets.number(total, 2)} times "
                    "all the rows. Fitting averages part of it away, but little of the data will be left: lower the degree, "
                    "drop columns or bins, or raise ε.",
                )
            )
        else:
            said.append(("caption", f"{sentence}."))
    return said


def _how_long(size: SpaceSize) -> list[tuple[str, str]]:
    """About how long private sampling takes and what would make it shorter, where that is more than a short wait."""
    seconds = rough_seconds(size)
    if seconds <= _SHORT_WAIT:
        return []
    minutes = max(1, round(seconds / 60))
    about = f"{minutes} minute{'s' * (minutes != 1)}" if minutes < 120 else f"{minutes / 60:,.0f} hours"
    return [
        (
            "caption",
            f"It will take about {about}, perhaps a few times that: C = {size.dimension:,} functions are matched on "
            f"m = {size.m:,} points. Fewer columns, fewer bins or categories, or a lower d make it shorter.",
        )
    ]


def noise_on_tables(mechanism: NoisyReweightingMechanism) -> tuple[int, float]:
    """How many columns the largest tables have, and Σ E|noise| over the cells of such a table, in parts of n.

    It is twice the total variation that the noise alone would cause, on average over these tables, before the fit averages.
    0 for functions of the user's own, which are of no table.
    """
    family = mechanism.statistics
    spreads = mechanism.spreads * family.unit / mechanism.n
    degree = max((len(group.columns) for group in family.groups), default=0)
    largest = [group for group in family.groups if len(group.columns) == degree]
    if family.name == "functions" or degree == 0:
        return degree, 0.0
    mean = math.sqrt(2 / math.pi)  # E|z| of a standard normal z
    if family.name == "contingency":
        sums = np.add.reduceat(spreads, [group.start for group in family.groups])
        return degree, mean * float(np.mean([sums[i] for i, g in enumerate(family.groups) if len(g.columns) == degree]))
    if family.name == "walsh":
        # A cell of the 2^d is 2^-d times the sum of all functions of its columns, with signs; equal noise within an order.
        by_order = {len(group.columns): spreads[group.start] for group in family.groups}
        return degree, mean * math.sqrt(sum(math.comb(degree, j) * by_order[j] ** 2 for j in range(1, degree + 1)))
    sizes = Counter(tuple(sorted(family.sizes[j] for j in group.columns)) for group in largest)
    cells = sum(count * _root_terms(shape) for shape, count in sizes.items()) / len(largest)
    return degree, mean * float(spreads.max()) * cells


def _root_terms(sizes: tuple[int, ...]) -> float:
    """Σ over the cells of a table of √(how many noisy conjunctions its count is the alternating sum of)."""
    total = 0.0
    for first in product((True, False), repeat=len(sizes)):
        # Where a cell has the first code of a column, it is a difference: all rows less those with any other code.
        terms = math.prod(size for size, is_first in zip(sizes, first, strict=True) if is_first)
        same = math.prod(size - 1 for size, is_first in zip(sizes, first, strict=True) if not is_first)
        total += same * math.sqrt(terms - all(first))
    return total


def diagnostics_table(values: Mapping[str, Any]) -> pd.DataFrame:
    """Names and short values; arrays are left out."""
    shown = {k: v for k, v in values.items() if not isinstance(v, np.ndarray | pd.DataFrame)}
    return pd.DataFrame({"quantity": [k.replace("_", " ") for k in shown], "value": [_short(v) for v in shown.values()]})


def _short(value: Any) -> str:
    if isinstance(value, bool) or value is None:
        return {True: "yes", False: "no", None: "—"}[value]
    if isinstance(value, int | float | np.number):
        return widgets.number(float(value), 4)
    if isinstance(value, Mapping):
        return ", ".join(f"{k}: {_short(v)}" for k, v in value.items())
    if isinstance(value, list | tuple):
        return ", ".join(_short(v) for v in value)
    return str(value)


def absent_classes(made: Made) -> list[str]:
    """Classes that DP-CDA was to make rows of and did not: read from the release itself, so it is no secret."""
    target = str(made.release.settings.get("target"))
    if made.release.mechanism != "dp_cda" or target not in made.domain:
        return []
    there = set(made.release.rows[target])
    return [str(c) for c in made.domain[target].categories if c not in there]


def as_shown(attribute: Attribute) -> Any:
    """How a column of a release is shown: dates as days, numbers that are not whole to five digits of the width of their
    public bounds; None: as it is. It follows from the domain alone.
    """
    if attribute.kind == "date":
        return st.column_config.DateColumn()
    if attribute.kind != "numeric" or attribute.integer:
        return None
    assert attribute.lower is not None
    assert attribute.upper is not None
    decimals = _DIGITS - 1 - math.floor(math.log10(attribute.upper - attribute.lower))
    return st.column_config.NumberColumn(format=f"%.{max(0, decimals)}f" if decimals <= _MOST_DECIMALS else "%.6g")


def show_release(made: Made) -> None:
    """Preview, downloads, the guarantee, and the diagnostics apart."""
    release = made.release
    publishable = release.guarantee.status == "proven" and not release.seeded
    widgets.badge("release" if publishable else True)
    widgets.guarantee_card(release.guarantee, before=False, seeded=release.seeded)
    formulas.expander(claim_formulas(release.mechanism, release.guarantee, release.settings), release.mechanism)
    left_out = absent_classes(made)
    if left_out:
        st.warning(
            f"No row of the classes {', '.join(left_out)}: by the private counts they may have too few records to mix. "
            "Lower l, give the counts a larger share of ε, or state a public lower bound.",
            icon=":material/warning:",
        )
    st.dataframe(
        release.rows.head(100),
        column_config={a.name: column for a in made.domain.attributes if (column := as_shown(a)) is not None},
        hide_index=True,
        height=min(36 * (min(len(release.rows), 100) + 1) + 4, 300),
    )
    count = len(release.rows)
    rounded = any(a.kind == "numeric" and not a.integer for a in made.domain.attributes)
    st.caption(
        f"{count:,} row{'' if count == 1 else 's'}, made in {made.seconds:.1f} s from {made.dataset}."
        + (
            " Numbers are shown to five digits of the width of their public bounds; the CSV has all of them."
            if rounded
            else ""
        )
    )
    stem = f"{release.mechanism}_{made.number}"
    with st.container(horizontal=True):
        st.download_button(
            "Rows as CSV",
            release.rows.to_csv(index=False).encode(),
            f"{stem}.csv",
            "text/csv",
            key=f"csv_{made.number}",
            icon=":material/download:",
            on_click="ignore",
        )
        st.download_button(
            "Record of the run as JSON",
            json.dumps(release.record(seed=made.seed), indent=2, default=str),
            f"{stem}.json",
            "application/json",
            key=f"record_{made.number}",
            icon=":material/description:",
            on_click="ignore",
        )
    if release.mechanism == NoisyReweighting.name and {"ledger", "accounting"} <= set(release.settings):
        budget_bar(release.settings, release.guarantee, f"budget_{made.number}")
    with st.popover("Diagnostics (not private)", icon=":material/lock_open:"):
        widgets.badge(True)
        st.caption("These numbers depend on the private data. They are for teaching: never publish them.")
        st.dataframe(diagnostics_table(release.diagnostics), hide_index=True)
