"""Which points a configuration takes, and whether that fits into memory and time."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from dpsyn.domain import Domain
from dpsyn.errors import ParameterError
from dpsyn.mechanisms.noisy_reweighting import _spaces
from dpsyn.mechanisms.noisy_reweighting._fit import Plan, SpaceKind
from dpsyn.mechanisms.noisy_reweighting.families import Family, TableFamily
from dpsyn.notation import gigabytes

if TYPE_CHECKING:
    from dpsyn.mechanisms.noisy_reweighting._config import NoisyReweighting, ReducedSpace

DEFAULT_DRAWS = 100_000
DRAWS_FOR_THE_PROGRAM = 3_000
MOST_DENSE = 60_000_000
_LOOK_UPS = 20_000_000
_MEASURES: dict[ReducedSpace, SpaceKind] = {
    "auto": "marginals",
    "whole": "marginals",
    "uniform": "uniform",
    "marginals": "marginals",
    "tree": "tree",
    "public": "public",
}


def planned(config: NoisyReweighting, domain: Domain, family: Family) -> Plan:
    """The reduced space and what is fitted on it.

    Raises:
        ParameterError: more than memory or time allow; the message has the estimate.
    """
    shape, size = domain.shape, domain.size
    tables = _table_count(family)
    program = config.objective == "max"
    dense = family.name == "functions" or program
    pairs = not dense and all(len(table) <= 2 for table in _tables(family))
    if dense:
        whole = size <= _spaces.LISTED_AT_MOST and size * family.count <= MOST_DENSE
        listed = True
    else:
        unlisted = pairs and size <= _spaces.WHOLE_AT_MOST and _spaces.halves_fit(shape)
        listed = not unlisted
        whole = unlisted or size * tables <= _LOOK_UPS
    if config.reduced_space == "whole" and not whole:
        raise ParameterError(
            "reduced_space", "whole", f"fewer points: the domain has {size:,} rows, too many for {tables:,} tables"
        )
    takes_whole = config.reduced_space_size is None and config.reduced_space in ("auto", "uniform", "marginals", "whole")
    space: SpaceKind = "whole" if whole and takes_whole else _MEASURES[config.reduced_space]
    m = size if space == "whole" else config.reduced_space_size or _default_size(tables, dense=program)
    public = config.public.with_domain(domain).codes if config.public is not None else None
    if public is not None:
        m = min(config.reduced_space_size or len(public), len(public))
    if space != "whole" and not dense and m * tables > 4 * _spaces.LOOK_UPS_AT_MOST:
        seconds = m * tables * 1.2e-6
        raise ParameterError(
            "reduced_space_size",
            m,
            f"fewer points or tables: {m:,} points in {tables:,} tables would take about {gigabytes(m * tables * 16)} and "
            f"{seconds / 60:.0f} minutes",
        )
    if dense and m * (family.count if family.name != "contingency" else tables) > MOST_DENSE:
        raise ParameterError(
            "degree" if config.reduced_space_size is None else "reduced_space_size",
            config.degree if config.reduced_space_size is None else config.reduced_space_size,
            f"{family.count:,} statistics on {m:,} points are too many for one matrix; lower the degree, the number of "
            "columns, bins or categories, or reduced_space_size",
        )
    uniform = config.reduced_space == "uniform"
    return Plan(family, space, m, listed, config.objective, config.refinements, uniform, public, config.vertex)


def _default_size(tables: int, *, dense: bool) -> int:
    return DRAWS_FOR_THE_PROGRAM if dense else max(10_000, min(DEFAULT_DRAWS, _spaces.LOOK_UPS_AT_MOST // tables))


def _tables(family: Family) -> tuple[tuple[int, ...], ...]:
    if isinstance(family, TableFamily):
        return family.tables
    degree = int(getattr(family, "degree", 2))
    return ((0,) * min(degree, len(family.sizes)),)


def _table_count(family: Family) -> int:
    if isinstance(family, TableFamily):
        return len(family.tables)
    return math.comb(len(family.sizes), min(int(getattr(family, "degree", 2)), len(family.sizes)))
