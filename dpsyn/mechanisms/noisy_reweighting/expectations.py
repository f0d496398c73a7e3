"""What to expect of a run of noisy reweighting, before it starts: how much of the data its noise leaves."""

from __future__ import annotations

import math
from collections import Counter
from itertools import product

import numpy as np

from dpsyn.domain import Domain
from dpsyn.mechanisms.base import Release
from dpsyn.mechanisms.categories import DROWNED
from dpsyn.mechanisms.noisy_reweighting import NoisyReweighting
from dpsyn.mechanisms.noisy_reweighting._choice import ChoosingMechanism
from dpsyn.mechanisms.noisy_reweighting._ledger import Ledger
from dpsyn.mechanisms.noisy_reweighting._mechanism import NoisyReweightingMechanism
from dpsyn.mechanisms.noisy_reweighting._merging import MergingMechanism
from dpsyn.notation import counted, number

_MISSED = 9.0
"""Mean square of what the fit misses averages by, in deviations of their noise."""
_BEGUN, _USUAL_REFINEMENTS = 2.0, 10
_A_LOOK_UP, _A_REPAIR, _A_POINT = 2.2e-7, 2e-7, 3e-6
"""Seconds of a processor for a point in a table in a round (Adult's 15 columns: 6 s together), for a row in a table, and for
a point of a whole domain (Adult's eight columns: 6 s)."""


def table_noise(mechanism: NoisyReweightingMechanism) -> tuple[float, str] | None:
    """Mean total variation that the noise alone causes in a table of two columns, or of one where there are no two, before
    the fit. That averages part of it away and adds an error of its own, as do bins and rounding to rows. None where the
    largest tables that it releases are others."""
    degree, total = noise_on_tables(mechanism)
    return (total / 2, "before the fit") if total and degree == min(2, len(mechanism.domain)) else None


def seconds(mechanism: NoisyReweightingMechanism) -> float:
    """About how long a run takes, right to a factor of a few."""
    config = mechanism.config
    assert isinstance(config, NoisyReweighting)
    tables = len(mechanism.statistics.groups)
    if isinstance(mechanism, ChoosingMechanism):
        tables += mechanism.most_chosen
    if isinstance(mechanism, MergingMechanism):
        tables += len(mechanism.wide)
    found = _BEGUN + _A_REPAIR * (config.rows or mechanism.n) * tables
    if mechanism.plan.space == "whole":
        return found + _A_POINT * mechanism.plan.size
    return found + _A_LOOK_UP * (1 + min(config.refinements, _USUAL_REFINEMENTS)) * tables * mechanism.plan.size


def of_release(release: Release, domain: Domain) -> list[str]:
    """That the fit ended far from the noisy averages, which are all that it follows from."""
    misfit = release.diagnostics.get("misfit", 0.0)
    if not isinstance(misfit, float) or misfit <= _MISSED:
        return []
    said = f"The fit ended {number(math.sqrt(misfit), 2)} times as far from the noisy averages as their noise explains"
    return [f"{said}, so part of ε bought nothing: fewer columns or bins, or MST, may give better rows."]


def of_run(mechanism: NoisyReweightingMechanism) -> list[tuple[str, str]]:
    """How much noise goes on every average; a warning where little of the data will be left."""
    noise = float(mechanism.spreads.max()) * mechanism.statistics.unit / mechanism.n
    sentence = (
        f"Noise of standard deviation {number(noise)} {'or less ' if len(set(mechanism.spreads)) > 1 else ''}"
        f"goes on {'' if mechanism.statistic_count == 1 else 'each of '}{counted(mechanism.statistic_count, 'average')}"
    )
    if isinstance(mechanism, ChoosingMechanism):
        sentence += f" of single columns; noisy scores choose up to {mechanism.most_chosen} tables of two columns"
    if isinstance(mechanism, MergingMechanism):
        wide = len(mechanism.wide)
        sentence += f"; {wide} wider table{'s follow' if wide > 1 else ' follows'} with rare codes merged"
    degree, total = noise_on_tables(mechanism)
    if total <= DROWNED:
        return [("caption", f"{sentence}.")]
    columns = counted(degree, "column")
    remedies = f"{'lower the degree, ' * (degree > 1)}drop{' columns or' * (len(mechanism.domain) > 1)}"
    return [
        (
            "warning",
            f"{sentence}. On the cells of a table of {columns} it adds up to about {number(total, 2)} times "
            "all the rows. Fitting averages part of it away, but little of the data will be left: "
            f"{remedies} bins, or raise ε.",
        )
    ]


def noise_on_tables(mechanism: NoisyReweightingMechanism) -> tuple[int, float]:
    """How many columns the largest tables have, and Σ E|noise| over the cells of such a table, in parts of n.

    It is twice the total variation that the noise alone would cause, on average over these tables, before the fit averages.
    0 for functions of the user's own, which are of no table.
    """
    if isinstance(mechanism, ChoosingMechanism):
        return 2, mechanism.noise_on_a_table / mechanism.n
    family, ledger = mechanism.statistics, mechanism.ledger
    scales = mechanism.scales[: mechanism.statistic_count] * family.unit / mechanism.n
    degree = max((len(group.columns) for group in family.groups), default=0)
    largest = [group for group in family.groups if len(group.columns) == degree]
    if family.name == "functions" or degree == 0:
        return degree, 0.0
    if family.name == "contingency":
        sums = np.add.reduceat(scales, [group.start for group in family.groups])
        mean = float(np.mean([sums[i] for i, g in enumerate(family.groups) if len(g.columns) == degree]))
        return degree, ledger.mean_error(mean)
    if family.name == "walsh":
        # A cell of the 2^d is 2^-d times the sum of all functions of its columns, with signs; equal noise within an order.
        by_order = {len(group.columns): scales[group.start] for group in family.groups}
        squares, terms = sum(math.comb(degree, j) * by_order[j] ** 2 for j in range(1, degree + 1)), 2**degree - 1
        return degree, ledger.mean_error(math.sqrt(squares / terms), terms)
    sizes = Counter(tuple(sorted(family.sizes[j] for j in group.columns)) for group in largest)
    scale = float(scales.max())
    total = sum(tables * _noise_of(shape, ledger, scale) for shape, tables in sizes.items())
    return degree, total / len(largest)


def _noise_of(sizes: tuple[int, ...], ledger: Ledger, scale: float) -> float:
    """Σ E|noise| over the cells of a table, each of whose counts is an alternating sum of noisy conjunctions."""
    total = 0.0
    for first in product((True, False), repeat=len(sizes)):
        # Where a cell has the first code of a column, it is a difference: all rows less those with any other code.
        terms = math.prod(size for size, is_first in zip(sizes, first, strict=True) if is_first) - all(first)
        same = math.prod(size - 1 for size, is_first in zip(sizes, first, strict=True) if not is_first)
        total += same * ledger.mean_error(scale, terms) if terms else 0.0
    return total
