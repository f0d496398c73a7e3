"""The settings of noisy reweighting as widgets. Untouched they are ``dpsyn.NoisyReweighting(degree=2)``."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import chain, combinations
from typing import Any, Literal

import streamlit as st

from dpsyn import escape
from dpsyn.data.read import read_in_memory
from dpsyn.domain import Domain
from dpsyn.errors import InputError, ParameterError
from dpsyn.kit import bins, categories, widgets
from dpsyn.kit.show import show_chart
from dpsyn.kit.visit import Dataset
from dpsyn.kit.widgets import TYPES
from dpsyn.mechanisms.base import Config
from dpsyn.mechanisms.noisy_reweighting import (
    Allocation,
    Noise,
    NoisyReweighting,
    Objective,
    ReducedSpace,
    Rounding,
    Statistics,
    Steps,
)
from dpsyn.mechanisms.noisy_reweighting.figures import draw_budget
from dpsyn.notation import counted
from dpsyn.privacy.spec import Guarantee, Neighbouring, PrivacySpec
from dpsyn.table import Table

Fit = Literal["max_entropy", "even", "least_squares", "vertex", "centre"]

_PUBLIC, _PUBLIC_KEPT = "nr_public", "public_rows"
_WAYS: Mapping[str, str] = {"ours": "With every improvement", "as_published": "As published"}
_NOISE: Mapping[Noise, str] = {"gaussian": "Gaussian", "laplace": "Laplace", "as_published": "Laplace as published"}
_STATISTICS: Mapping[Statistics, str] = {
    "auto": "the better family here",
    "walsh": "Walsh functions",
    "contingency": "contingency tables",
    "conjunctions": "monotone conjunctions",
}
_SPACES: Mapping[ReducedSpace, str] = {
    "auto": "the whole domain, if it is small enough",
    "whole": "the whole domain",
    "uniform": "draws from the uniform measure (the paper)",
    "marginals": "draws from noisy one-way marginals",
    "tree": "draws from a tree of noisy two-way tables",
    "public": "public rows of your own",
}
_FITS: Mapping[Fit, tuple[str, Objective, bool, Steps]] = {
    "max_entropy": ("maximum entropy near the noisy statistics", "max_entropy", False, "by_misfit"),
    "even": ("maximum entropy, the same step for every table", "max_entropy", False, "even"),
    "least_squares": ("least squares, stopped at the noise", "least_squares", False, "by_misfit"),
    "vertex": ("smallest largest deviation, at a vertex (the paper)", "max", True, "by_misfit"),
    "centre": ("smallest largest deviation, inside the optimal set", "max", False, "by_misfit"),
}
_ROUNDING: Mapping[Rounding, str] = {
    "low_variance": "so that they keep the tables of the density",
    "independent": "independently (the paper)",
}
_ALLOCATION: Mapping[Allocation, str] = {
    "by_size": "more for tables with more cells",
    "equal": "the same noise for all",
}
_DRAWN: tuple[ReducedSpace, ...] = ("auto", "uniform", "marginals", "tree")
_MOST_TABLES = 3_000
"""Sets of columns that are offered to choose from."""


def form(current: Dataset, epsilon: float, delta: float) -> tuple[Config, PrivacySpec]:
    """Settings of noisy reweighting: δ > 0 with Gaussian noise, pure ε with Laplace noise."""
    left, right = st.columns(2, gap="medium")
    with left:
        degree = widgets.degree_slider()
        rows = categories.rows(current, "nr", f"By default {current.rows_made:,}.")
    with right:
        way = widgets.one_of(
            "Algorithm",
            _WAYS,
            key="nr_way",
            help="As published: Laplace noise of scale 2|F|/(nε) on every average, a uniform reduced space, a vertex of the "
            "linear program, independent draws. Its steps can also be chosen one by one.",
        )
        statistics = widgets.pick(
            "Statistics",
            _STATISTICS,
            key="nr_statistics",
            help="Walsh functions where all columns are two-valued, tables elsewhere.",
        )
        if way == "as_published":
            return _as_published(degree, statistics, rows), PrivacySpec(epsilon)
        tables = _tables(current, statistics, degree)
        noise = widgets.one_of(
            "Noise",
            _NOISE,
            key="nr_noise",
            help="On whole counts, from exact samplers: discrete Gaussian noise needs δ and is smaller where there are many "
            "statistics, discrete Laplace noise gives pure ε. As published: continuous, of scale 2|F|/(nε).",
        )
        if noise == "as_published":
            _floating_point()
    with st.expander("Budget, reduced space, fit and rows", key="nr_more", on_change="rerun", bind="query-params"):
        first, second = st.columns(2, gap="medium")
        with first:
            neighbouring, budget = _budget()
            fit = _fit()
        with second:
            space = _reduced_space(current, entropy=fit["objective"] == "max_entropy")
            rounding = _rounding(current.table.domain)
    if isinstance(space["public"], ParameterError):
        raise space["public"]
    config = NoisyReweighting(
        degree=degree,
        statistics=statistics,
        tables=tables,
        # With δ > 0 that is the default's own choice.
        noise="auto" if noise == "gaussian" else noise,
        rows=rows,
        **budget,
        **fit,
        **space,
        **rounding,
    )
    return config, PrivacySpec(epsilon, delta if noise == "gaussian" else 0.0, neighbouring)


def _as_published(degree: int, statistics: Statistics, rows: int | None) -> Config:
    _floating_point()
    st.caption("All other steps are the paper's: uniform Ω*, a vertex of the linear program, independent draws.")
    size = _size(3000, "nr_default_m_published", "nr_m_published")
    return NoisyReweighting.as_published(degree=degree, statistics=statistics, rows=rows, reduced_space_size=size)


def _floating_point() -> None:
    st.caption("Continuous Laplace noise is private in real arithmetic only: low bits of floating point give values away.")


def _tables(current: Dataset, statistics: Statistics, degree: int) -> tuple[tuple[str, ...], ...] | None:
    """Sets of columns, or None for all sets of d columns."""
    names = current.table.domain.names
    tables = statistics == "contingency" or (statistics == "auto" and not current.table.domain.is_binary)
    if not tables or not st.toggle(
        "Only some of the tables",
        False,
        key="nr_some",
        bind="query-params",
        help=f"Otherwise the tables of all sets of {degree} columns. Fewer tables have less noise each.",
    ):
        return None
    sizes = range(1, min(degree, len(names)) + 1)
    offered = list(chain.from_iterable(combinations(names, size) for size in sizes))
    if len(offered) > _MOST_TABLES:
        raise ParameterError(
            "tables",
            f"{len(offered):,} sets of columns",
            f"at most {_MOST_TABLES:,} to choose from: lower d, or use fewer columns (page Data). Python takes any",
        )
    columns = " · ".join
    chosen = st.multiselect(
        "Tables of",
        offered,
        format_func=columns,
        key=f"nr_tables_{current.tag}_{degree}",
        **current.kept,
        placeholder="Choose sets of columns",
        help="Columns in no table get noisy one-way marginals of their own where the reduced space is drawn.",
    )
    if not chosen:
        raise ParameterError("tables", "none chosen", "at least one set of columns, or all tables")
    return tuple(chosen)


def _budget() -> tuple[Neighbouring, dict[str, Any]]:
    st.markdown("**Budget**")
    neighbouring = widgets.pick(
        "Privacy protects one row being",
        categories.NEIGHBOURS,
        key="nr_neighbouring",
        help="Where rows are added or removed, n is a secret too, and is estimated from the noisy statistics. "
        + categories.OF_THESE,
    )
    allocation = widgets.pick(
        "The budget is shared among statistics",
        _ALLOCATION,
        key="nr_allocation",
        help="Errors of a table add up over its cells, so large tables deserve less noise in each.",
    )
    own = st.toggle(
        "One-way marginals get a part of their own",
        False,
        key="nr_own",
        bind="query-params",
        help="They are the measure μ that the reduced space is drawn from. Otherwise they are read off the noisy "
        "statistics, which costs nothing. Nothing is spent where the whole domain is taken.",
    )
    share = st.slider(
        "Share of the budget for marginals",
        0.05,
        0.95,
        0.2,
        0.05,
        key="nr_share",
        bind="query-params",
        disabled=not own,
        help="The rest goes to the statistics.",
    )
    return neighbouring, {"allocation": allocation, "marginal_share": share if own else None}


def _fit() -> dict[str, Any]:
    st.markdown("**Density**")
    fit = widgets.pick(
        "The density is fitted by",
        {fit: words for fit, (words, *_) in _FITS.items()},
        key="nr_objective",
        help="Maximum entropy stops where the noise begins, and goes further towards tables that it misses by more. The "
        "linear program follows the noise, and its vertices have at most |F| + 1 points.",
    )
    _, objective, vertex, steps = _FITS[fit]
    return {"objective": objective, "vertex": vertex, "steps": steps}


def _reduced_space(current: Dataset, *, entropy: bool) -> dict[str, Any]:
    st.markdown("**Reduced space Ω***")
    space = widgets.pick(
        "Reduced space",
        _SPACES,
        key="nr_space",
        help="The rows that the density may sit on. The whole domain loses nothing; draws serve large domains.",
    )
    public = _public_rows(current) if space == "public" else None
    size = None if space == "whole" else _size(50_000, "nr_default_m", "nr_m")
    refinements = st.number_input(
        "Refinements",
        0,
        200,
        40,
        key="nr_refinements",
        bind="query-params",
        disabled=not entropy or space not in _DRAWN,
        help="How often at most drawn points are drawn again around the fit: post-processing, for maximum entropy only.",
    )
    return {"reduced_space": space, "public": public, "reduced_space_size": size, "refinements": int(refinements)}


def _rounding(domain: Domain) -> dict[str, Any]:
    st.markdown("**Rows**")
    rounding = widgets.pick(
        "Rows are drawn", _ROUNDING, key="nr_rounding", help="Independent draws add the error of a sample of k rows."
    )
    binned = [attribute for attribute in domain.attributes if attribute.is_binned]
    share = bins.histogram_share(domain, "nr_histograms", 0.1, bind="query-params")
    if binned:
        counts = sorted({attribute.effective_bins for attribute in binned})
        each = f"{counts[0]:,}" if len(counts) == 1 else f"{counts[0]:,} to {counts[-1]:,}"
        count = (
            "1 column of numbers or dates:" if len(binned) == 1 else f"{len(binned)} columns of numbers or dates, each in"
        )
        st.caption(f"{count} {each} bins. Bounds and how many bins are public facts, set on the page Domain.")
    else:
        st.caption("No column here holds numbers or dates.")
    return {"rounding": rounding, "histogram_share": share}


def _size(usual: int, toggle_key: str, key: str) -> int | None:
    if st.toggle(
        "Its size m: the default",
        True,
        key=toggle_key,
        bind="query-params",
        help="All of the domain where that is affordable, else as many points as the number of tables allows.",
    ):
        return None
    return int(st.number_input("m (points of the reduced space)", 10, 1_000_000, usual, key=key, bind="query-params"))


_MOST_PUBLIC = (2_000_000, 10_000)
"""Cells and columns of a file of public rows, which is read while the visitor waits."""
_Kept = tuple[bytes, str, int, Table | str]
"""A file of this visit and its name, a revision of the data, and what the file became over it, or the fault."""


def _public_rows(current: Dataset) -> Table | ParameterError:
    """The uploader of public rows, and those of its file over the domain of the data, or why there are none."""
    st.file_uploader(
        "Public rows (CSV, TSV or Parquet)",
        type=list(TYPES),
        key=_PUBLIC,
        on_change=_take_public,
        args=(current,),
        help="Rows of the same columns that are public knowledge, for instance of an older survey. They must not come from "
        "the private table. A link to this page does not hold them.",
    )
    kept: _Kept | None = st.session_state.get(_PUBLIC_KEPT)
    if kept is None:
        return ParameterError(
            "reduced_space", "public", "there is no file of public rows yet; upload one, or choose another"
        )
    data, name, revision, found = kept
    if revision != current.revision:
        found = _keep_public(data, name, current)
    if isinstance(found, str):
        return ParameterError("public", name, f"its rows must have the columns and values of the data; {found}")
    st.caption(f"{escape.markdown(name)}: {counted(found.n, 'public row')}.")
    return found


def _take_public(current: Dataset) -> None:
    file = st.session_state[_PUBLIC]
    if file is not None:
        _keep_public(file.getvalue(), file.name, current)


def _keep_public(data: bytes, name: str, current: Dataset) -> Table | str:
    found: Table | str
    try:
        found = read_in_memory(data, domain=current.table.domain, name=name, most=_MOST_PUBLIC)
    except InputError as fault:
        found = str(fault)
    kept: _Kept = (data, name, current.revision, found)
    st.session_state[_PUBLIC_KEPT] = kept
    return found


def budget(settings: Mapping[str, Any], guarantee: Guarantee, key: str) -> None:
    """The ledger as a bar, planned or spent; nothing for a record without one.

    Args:
        settings: what calibration made of them, with the ledger and how it was accounted.
        guarantee: of the whole.
        key: of the chart.
    """
    if not {"ledger", "accounting"} <= settings.keys():
        return
    show_chart(draw_budget(settings, guarantee), key=key)
