"""Noisy reweighting (Boedihardjo, Strohmer, Vershynin 2021b): noisy statistics, then a density on a reduced space."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from typing import Any, ClassVar, Literal, get_args

import numpy as np

from dpsyn import checks
from dpsyn.calendar import with_calendar
from dpsyn.domain import Domain
from dpsyn.errors import CalibrationError, ParameterError, quoted
from dpsyn.mechanisms.base import DEGREE, ROWS, SPACE_SIZE, Axis, Config, check_request
from dpsyn.mechanisms.encoding import HISTOGRAMS, checked_share
from dpsyn.mechanisms.noisy_reweighting import _spaces
from dpsyn.mechanisms.noisy_reweighting._choice import MOST_PAIRS, ChoosingMechanism, parts_of_choice
from dpsyn.mechanisms.noisy_reweighting._fit import Plan, SpaceKind
from dpsyn.mechanisms.noisy_reweighting._ledger import (
    FLOATING_POINT,
    MARGINALS,
    Ledger,
    NoiseKind,
    Part,
    Parts,
    assumptions_of,
    calibrated_ledger,
    parts_of,
    published_part,
    source_of,
    with_count,
    with_counts,
)
from dpsyn.mechanisms.noisy_reweighting._mechanism import NoisyReweightingMechanism
from dpsyn.mechanisms.noisy_reweighting._merging import MergingMechanism, parts_of_merging
from dpsyn.mechanisms.noisy_reweighting.families import ConjunctionFamily, Family, TableFamily, WalshFamily
from dpsyn.mechanisms.noisy_reweighting.merged_tables import merges
from dpsyn.notation import counted as in_words
from dpsyn.notation import gigabytes
from dpsyn.privacy.histograms import Histograms
from dpsyn.privacy.spec import Guarantee, PrivacySpec
from dpsyn.solvers.contingency import contingency_cells, require_countable
from dpsyn.table import Table
from dpsyn.theory.formulas import Paper

__all__ = ["FLOATING_POINT", "Ledger", "NoisyReweighting", "NoisyReweightingMechanism", "Part"]

Statistics = Literal["auto", "walsh", "contingency", "conjunctions"]
Noise = Literal["auto", "laplace", "gaussian", "as_published"]
Allocation = Literal["by_size", "equal"]
Objective = Literal["max_entropy", "least_squares", "max"]
ReducedSpace = Literal["auto", "whole", "uniform", "marginals", "tree", "public"]
Steps = Literal["by_misfit", "even"]
Rounding = Literal["low_variance", "independent"]

_CHOSEN_BINS = ", bins chosen by noisy histograms that came before (adaptive composition)"
_CHOSEN_TABLES = ", tables of two columns chosen by noisy scores that came before (adaptive composition)"
_MERGED_CODES = ", wide tables on codes merged by the noisy tables that came before (adaptive composition)"
_MOST_COUNTED = 2_000_000
_NAMED = 3
_DEFAULT_SHARE = 0.1
_COUNT_SHARE = 0.05
_DEFAULT_DRAWS, _DEFAULT_LOOK_UPS = 50_000, 4_000_000
_MOST_DRAWS = 100_000
_NOISE_THAT_HIDES_POINTS = 0.12
"""Half of the deviations of a table's cells, in shares of the rows; below it more points are drawn."""
_DRAWS_FOR_EVEN_STEPS = 100_000
_DRAWS_FOR_THE_PROGRAM = 3_000
_MOST_DENSE = 60_000_000
_LOOK_UPS = 20_000_000
_CHOICES: dict[str, tuple[str, ...]] = {
    "statistics": get_args(Statistics),
    "noise": get_args(Noise),
    "allocation": get_args(Allocation),
    "objective": get_args(Objective),
    "reduced_space": get_args(ReducedSpace),
    "steps": get_args(Steps),
    "rounding": get_args(Rounding),
}


@dataclass(frozen=True)
class NoisyReweighting(Config):
    """Settings of noisy reweighting.

    Args:
        degree: d, the order of the statistics that are matched.
        statistics: ``"walsh"`` (binary domains), ``"contingency"`` (tables, any domain), ``"conjunctions"`` (monotone ones,
            any domain), or ``"auto"``: Walsh where the domain is binary, tables elsewhere.
        tables: lists of column names whose contingency tables are matched, instead of all d-way tables. Where there are more
            than 300 pairs of columns, noisy scores choose among them unless they are named here (degree 2, maximum entropy).
        family: statistics of one's own (:mod:`families`, :mod:`user_functions`), instead of the
            above.
        noise: ``"laplace"`` (discrete, pure ε), ``"gaussian"`` (discrete, needs δ > 0), ``"auto"``: Gaussian where δ > 0;
            or ``"as_published"``: continuous Laplace noise of scale 2|F|/(nε) on every average, the constant included, for
            functions with values in [-1, 1].
        allocation: ``"by_size"`` gives tables with more cells a larger part of the budget, ``"equal"`` all the same noise.
            Noise as published is the same for all in any case.
        rows: k, how many rows to release; None releases n (under add/remove, its noisy estimate).
        reduced_space: where the points come from: ``"whole"`` domain, ``"uniform"`` draws (the paper), draws from the
            product of noisy ``"marginals"`` or from a ``"tree"`` of noisy two-way tables, ``"public"`` rows, or ``"auto"``:
            the whole domain where that is affordable, by its points or by the cliques of a junction tree of the tables,
            whichever is quicker; else marginals.
        reduced_space_size: m, how many points to draw; None decides by the number of tables, and takes all public rows.
        public: rows known to everybody, for ``reduced_space="public"``.
        refinements: how often at most the space is drawn again around the fitted density (post-processing; maximum entropy
            only).
        marginal_share: share of the budget for one-way marginals of their own; None takes them from the noisy statistics
            where they say them, and spends 0.1 on them otherwise. Nothing is spent where they are not used.
        objective: ``"max"`` (the paper's linear program), ``"least_squares"`` with a stop at the noise, ``"max_entropy"``.
        vertex: of the many optima that the linear program may have, take a vertex, on |F| + 1 points at most (the paper);
            otherwise one from the inside, on many. Only with ``objective="max"``.
        steps: with ``"by_misfit"`` maximum entropy goes further towards tables that it misses by more than their noise;
            ``"even"`` goes alike towards all, and draws 100,000 points by default, not 50,000 (fewer with many tables).
        rounding: ``"independent"`` draws (the paper), or ``"low_variance"``: systematic draws, repaired towards the tables
            of the fitted density.
        histogram_share: share of the budget for fine histograms of numbers and dates (:mod:`dpsyn.privacy.histograms`): they
            choose the bins, and say what is drawn inside one. With ``family`` or ``public`` the bins stay those of the
            domain, and nothing of the calendar is kept. 0 takes bins of equal width and draws uniformly. Nothing is spent
            where there is no such column, or as published.

    Raises:
        ParameterError: a value is outside its range.
    """

    degree: int = 2
    statistics: Statistics = "auto"
    tables: tuple[tuple[str, ...], ...] | None = None
    family: Family | None = None
    noise: Noise = "auto"
    allocation: Allocation = "by_size"
    rows: int | None = None
    reduced_space: ReducedSpace = "auto"
    reduced_space_size: int | None = None
    public: Table | None = field(default=None, repr=False, compare=False)
    refinements: int = 40
    marginal_share: float | None = None
    objective: Objective = "max_entropy"
    vertex: bool = False
    steps: Steps = "by_misfit"
    rounding: Rounding = "low_variance"
    histogram_share: float = 0.1

    name: ClassVar[str] = "noisy_reweighting"
    title: ClassVar[str] = "Noisy reweighting"
    paper: ClassVar[Paper] = Paper(
        "Boedihardjo, Strohmer, Vershynin 2021b",
        "Privacy of synthetic data: a statistical framework",
        "https://arxiv.org/abs/2109.01748",
    )
    added_later: ClassVar[Mapping[str, Any]] = {"histogram_share": 0.0, "steps": "even"}
    removed: ClassVar[Mapping[str, Any]] = {"smooth_bins": False}
    axes: ClassVar[Mapping[str, Axis]] = {"degree": DEGREE, "reduced_space_size": SPACE_SIZE, "rows": ROWS}

    @classmethod
    def as_published(
        cls,
        degree: int = 2,
        *,
        statistics: Statistics = "auto",
        rows: int | None = None,
        reduced_space_size: int | None = None,
    ) -> NoisyReweighting:
        """The paper's algorithm: Laplace(2|F|/(nε)) on every average, uniform Ω*, a vertex of the minimax program, and
        independent draws.

        Theorem 2.2 makes it ε-DP in real arithmetic. Where the domain has at most 8,192 rows and no size is given, Ω* is
        all of it.
        """
        return cls(
            degree=degree,
            statistics=statistics,
            noise="as_published",
            allocation="equal",
            rows=rows,
            reduced_space="uniform",
            reduced_space_size=reduced_space_size,
            refinements=0,
            objective="max",
            vertex=True,
            rounding="independent",
        )

    def __post_init__(self) -> None:
        for name, allowed in _CHOICES.items():
            self._set(name, checks.choice(name, getattr(self, name), allowed))
        self._set("degree", checks.whole("degree", self.degree))
        self._set("refinements", checks.whole("refinements", self.refinements, 0, 10_000))
        for name in ("rows", "reduced_space_size"):
            self._set(name, checks.whole_or_none(name, getattr(self, name)))
        if self.marginal_share is not None:
            self._set("marginal_share", checks.share("marginal_share", self.marginal_share))
        self._set("vertex", checks.flag("vertex", self.vertex))
        if self.family is not None and not isinstance(self.family, Family):
            raise ParameterError("family", self.family, "a family of statistics, such as FunctionFamily")
        checks.instance("public", self.public, Table, "a dpsyn.Table of public rows", optional=True)
        self._set("histogram_share", checked_share(self.histogram_share))
        if self.vertex and self.objective != "max":
            raise ParameterError("vertex", True, f"objective='max': the optimum of {self.objective!r} is a single density")
        if self.public is not None and self.public.n == 0:
            raise ParameterError("public", "0 rows", "at least 1 row")
        if (self.reduced_space == "public") != (self.public is not None):
            raise ParameterError("public", self.public is not None, "a table exactly where reduced_space='public'")
        if self.tables is not None:
            why = "lists of column names, such as (('age', 'smokes'), ('age',))"
            sets = [checks.items("tables", table, why) for table in checks.items("tables", self.tables, why)]
            self._set("tables", tuple(tuple(checks.text("tables", name, why) for name in table) for table in sets))

    @property
    def keeps_calendar(self) -> bool:
        """Whether its rows have what dates of the domain are to keep of the calendar."""
        return self.family is None and self.public is None

    def settings(self) -> dict[str, Any]:
        """The configuration as plain data; a family and public rows by their names."""
        plain = {f.name: getattr(self, f.name) for f in fields(self)}
        plain["tables"] = [list(table) for table in self.tables] if self.tables is not None else None
        plain["family"] = self.family.name if self.family is not None else None
        plain["public"] = f"{self.public.name}, {self.public.n} rows" if self.public is not None else None
        return plain

    def calibrate(self, spec: PrivacySpec, domain: Domain, n: int) -> NoisyReweightingMechanism:
        """Noise scales that make the release (ε, δ)-DP.

        Laplace: discrete noise of scale L1/ε on the whole-number sums (Theorem 2.2 with the exact L1 in place of 2|F|; for
        add/remove, of which it says nothing, the same with the L1 of one record more).
        Gaussian: discrete noise with the exact law of its privacy loss (:mod:`dpsyn.privacy.discrete_gaussian`), or zCDP
        where that law is out of reach. Marginals released on their own compose with the statistics; the ledger has every
        part. Under add/remove nothing depends on n: the sums get their noise as counts, and n is estimated from them.

        Raises:
            CalibrationError: Gaussian noise without δ, or add/remove for what only makes sense with a public n.
            ParameterError: Walsh statistics on a domain that is not binary, a table that is not there, or more than memory
                or time allow; the message has the estimate.
        """
        n = check_request(spec, domain, n, self.rows)
        if self.keeps_calendar:
            domain = with_calendar(domain)
        kind = self._kind(spec)
        chooses = self._chooses(domain, kind)
        of: type[NoisyReweightingMechanism] = NoisyReweightingMechanism
        family: Family
        if chooses:
            family, found = parts_of_choice(domain.shape, spec.neighbouring, kind)
            plan = _planned(self, domain, family, tables=MOST_PAIRS + len(domain))
            of = ChoosingMechanism
        else:
            family = self._family(domain, spec)
            plan = _planned(self, domain, family)
            by_size = self.allocation == "by_size" and kind != "continuous_laplace"
            found = parts_of(family, spec.neighbouring, kind, by_size=by_size, whole=plan.space == "whole")
        if not chooses and self._decides(kind) and plan.space == "marginals" and merges(domain.shape):
            family, found = parts_of_merging(domain.shape, spec.neighbouring, kind)
            plan, of = replace(plan, family=family), MergingMechanism
        if kind == "continuous_laplace":
            found = replace(found, parts=(published_part(found.parts[0].name, family),))
        marginals = self._marginals(domain, family, plan)
        if marginals is not None:
            if kind == "continuous_laplace":
                raise ParameterError(
                    "reduced_space",
                    self.reduced_space,
                    "a space that needs no marginals of their own: noise='as_published' spends all of epsilon on the "
                    "statistics. Leave marginal_share at None and match tables of every column, or take 'uniform', 'whole' "
                    "or 'public'",
                )
            moved = marginals.l1(spec.neighbouring)
            found = with_counts(found, MARGINALS, marginals.count, moved, kind, self.marginal_share or _DEFAULT_SHARE)
        histograms = None
        if self.histogram_share and kind != "continuous_laplace":
            histograms = Histograms.of(domain, fixed_bins=self.family is not None or self.public is not None)
        if histograms is not None:
            # The codes, and with them what a neighbour moves of the statistics, follow from the noisy histograms.
            moved = histograms.moved(spec.neighbouring)
            found = with_counts(found.whatever_the_codes(), HISTOGRAMS, 0, moved, kind, self.histogram_share)
        counted = spec.neighbouring == "add_remove" and family.name == "functions"
        if counted:
            found = with_count(found, kind, _COUNT_SHARE)
        ledger = calibrated_ledger(found, kind, spec)
        if spec.neighbouring == "replace_one" and not chooses:
            plan = _with_points_for_the_noise(plan, found, ledger, n)
        return of(
            config=self,
            spec=spec,
            domain=domain,
            n=n,
            guarantee=Guarantee(
                epsilon=spec.epsilon,
                delta=spec.delta if kind == "gaussian" else 0.0,
                neighbouring=spec.neighbouring,
                source=source_of(ledger, spec)
                + (_CHOSEN_BINS if histograms is not None else "")
                + (_CHOSEN_TABLES if chooses else "")
                + (_MERGED_CODES if of is MergingMechanism else ""),
                assumptions=assumptions_of(
                    family, kind, spec, public_rows=self.public is not None, public_tables=self.tables is not None
                ),
                status="real_arithmetic" if kind == "continuous_laplace" else "proven",
            ),
            statistics=family,
            plan=plan,
            ledger=ledger,
            part_of=found.part_of,
            scale=ledger.base,
            marginals=marginals,
            histograms=histograms,
            count_part=counted,
        )

    def _kind(self, spec: PrivacySpec) -> NoiseKind:
        if self.noise == "as_published":
            if spec.neighbouring != "replace_one":
                raise CalibrationError("Theorem 2.2 is about replacing one of n rows: ask for neighbouring='replace_one'")
            return "continuous_laplace"
        if self.noise == "gaussian" and spec.delta == 0:
            raise CalibrationError("Gaussian noise gives no pure differential privacy: set delta > 0 or noise='laplace'")
        return "gaussian" if spec.delta > 0 and self.noise != "laplace" else "laplace"

    def _chooses(self, domain: Domain, kind: NoiseKind) -> bool:
        """Whether noisy scores choose the tables of two columns: where there are many, and nothing else was asked for."""
        return self._decides(kind) and math.comb(len(domain), 2) > MOST_PAIRS

    def _decides(self, kind: NoiseKind) -> bool:
        """Whether nothing was asked for that names the statistics, or how they are measured."""
        free = self.family is None and self.tables is None and self.statistics in ("auto", "contingency")
        plain = self.degree == 2 and self.objective == "max_entropy" and self.allocation == "by_size"
        own = self.marginal_share is not None or self.reduced_space in ("whole", "public")
        return free and plain and not own and kind != "continuous_laplace"

    def _family(self, domain: Domain, spec: PrivacySpec) -> Family:
        shape = domain.shape
        if self.family is not None:
            if tuple(self.family.sizes) != shape:
                raise ParameterError("family", self.family.sizes, f"a family over the domain, whose sizes are {shape}")
            return self.family
        if self.tables is not None:
            return TableFamily(shape, [[domain.index(name) for name in table] for table in self.tables])
        # The sum of the constant is n: it needs noise only where n is a secret. The paper adds noise to it in any case.
        constant = spec.neighbouring == "add_remove" or self.noise == "as_published"
        walsh = self.statistics == "walsh" or (self.statistics == "auto" and domain.is_binary)
        wide = next((a for a in domain.attributes if a.size != 2), None)
        if walsh and wide is not None:
            has = in_words(wide.size, "value")
            allowed = f"column {quoted(wide.name)} has {has}; Walsh functions need two, use 'contingency'"
            raise ParameterError("statistics", "walsh", allowed)
        require_countable(shape, self.degree)
        count = contingency_cells(shape, self.degree)
        if count > _MOST_COUNTED:
            widest = sorted(domain.attributes, key=lambda a: a.size, reverse=True)[:_NAMED]
            named = ", ".join(f"{quoted(a.name)} has {a.size:,} values" for a in widest)
            raise ParameterError(
                "degree",
                self.degree,
                f"{in_words(count)} statistics are too many (at most {_MOST_COUNTED:,}); lower the degree, leave out or "
                f"group columns ({named}), or choose tables",
            )
        if walsh:
            return WalshFamily(len(domain), self.degree, constant=constant)
        if self.statistics == "conjunctions":
            if not constant and max(shape) == 1:
                allowed = "no column has two values, so that no conjunction tells rows apart; use 'contingency'"
                raise ParameterError("statistics", "conjunctions", allowed)
            return ConjunctionFamily(shape, self.degree, constant=constant)
        return TableFamily.all_of_degree(shape, self.degree)

    def _marginals(self, domain: Domain, family: Family, plan: Plan) -> TableFamily | None:
        """One-way tables to release on their own: where asked for, or where the measure needs what the statistics lack."""
        if plan.space != "marginals" and not (plan.space == "tree" and self.marginal_share):
            return None
        if self.marginal_share is None:
            if family.name in ("walsh", "conjunctions"):
                return None
            covered = {j for group in family.groups for j in group.columns}
            if len(covered) == len(domain):
                return None
        return TableFamily(domain.shape, [(j,) for j in range(len(domain))])


def _planned(config: NoisyReweighting, domain: Domain, family: Family, tables: int | None = None) -> Plan:
    """The reduced space and what is fitted on it; for so many tables, where they are chosen in the run.

    Raises:
        ParameterError: more than memory or time allow; the message has the estimate.
    """
    shape, size = domain.shape, domain.size
    if tables is None:
        tables = len(family.tables) if isinstance(family, TableFamily) else math.comb(len(shape), _degree(family))
    program = config.objective == "max"
    dense = family.name == "functions" or program
    widest = max(map(len, family.tables)) if isinstance(family, TableFamily) else _degree(family)
    if dense:
        whole = size <= _spaces.LISTED_AT_MOST and size * family.count <= _MOST_DENSE
        listed = True
    else:
        few = size * tables <= _LOOK_UPS
        halved = widest <= 2 and size <= _spaces.WHOLE_AT_MOST and _spaces.halves_fit(shape)
        listed = not halved or (few and not _spaces.halves_are_quicker(shape, tables))
        whole = halved or few
    if config.reduced_space == "whole" and not whole:
        raise ParameterError(
            "reduced_space", "whole", f"fewer points: the domain has {size:,} rows, too many for {tables:,} tables"
        )
    takes_whole = config.reduced_space_size is None and config.reduced_space in ("auto", "uniform", "marginals", "whole")
    measure = config.reduced_space
    drawn: SpaceKind = "marginals" if measure == "auto" or measure == "whole" else measure  # noqa: PLR1714 (for mypy)
    space: SpaceKind = "whole" if whole and takes_whole else drawn
    m = size if space == "whole" else config.reduced_space_size or _default_size(tables, config.steps, dense=program)
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
    if dense and m * (family.count if family.name != "contingency" else tables) > _MOST_DENSE:
        raise ParameterError(
            "degree" if config.reduced_space_size is None else "reduced_space_size",
            config.degree if config.reduced_space_size is None else config.reduced_space_size,
            f"{family.count:,} statistics on {m:,} points are too many for one matrix; lower the degree, the number of "
            "columns, bins or categories, or reduced_space_size",
        )
    return Plan(config, family, space, m, listed, public)


def _default_size(tables: int, steps: Steps, *, dense: bool) -> int:
    if dense:
        return _DRAWS_FOR_THE_PROGRAM
    if steps == "even":
        return max(10_000, min(_DRAWS_FOR_EVEN_STEPS, _spaces.LOOK_UPS_AT_MOST // tables))
    return max(10_000, min(_DEFAULT_DRAWS, _DEFAULT_LOOK_UPS // tables))


def _with_points_for_the_noise(plan: Plan, found: Parts, ledger: Ledger, n: int) -> Plan:
    """More points where noise takes less of the largest table than points do: the default is too few for tables so good.

    It takes a public n.
    """
    config, family = plan.config, plan.family
    decides = config.reduced_space_size is None and config.objective == "max_entropy" and config.steps == "by_misfit"
    if plan.space not in ("marginals", "tree", "uniform") or not decides or not isinstance(family, TableFamily):
        return plan
    deviations = np.array([ledger.scale(part) for part in ledger.parts])[found.part_of[: family.count]]
    noise = np.add.reduceat(deviations, family.offsets[:-1]).max() / (2 * n)
    more = min(max(_NOISE_THAT_HIDES_POINTS / noise, 1.0), _MOST_DRAWS / _DEFAULT_DRAWS)
    return replace(plan, size=int(plan.size * more))


def _degree(family: Family) -> int:
    return min(int(getattr(family, "degree", 2)), len(family.sizes))
