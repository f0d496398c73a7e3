"""How much privacy a release of private sampling loses on the data at hand: exact for a neighbour, searched over many.

Given S, h* is a function of the data alone. So for a neighbour X' of X the loss of k independent draws is
k·max_θ |ln h*(θ)/h'*(θ)|, exactly, and the largest loss that a search finds is a lower bound on the ε that any proof could
give: of the rows where S is the whole domain, and else of the rows together with S. A release holds no S, and rows alone can
lose less, as their law is a mean over S. It depends on the private rows: for teaching, and no part of a release.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Literal, get_args

import numpy as np
import numpy.typing as npt

from dpsyn import checks
from dpsyn.calendar import without_calendar
from dpsyn.display import PRIVATE, Shown
from dpsyn.domain import Codes
from dpsyn.errors import ParameterError, SolverError
from dpsyn.mechanisms.base import no_progress
from dpsyn.mechanisms.private_sampling import PrivateSampling
from dpsyn.mechanisms.private_sampling._neighbours import Change, Neighbours
from dpsyn.mechanisms.private_sampling._reduced_space import draw_space
from dpsyn.mechanisms.private_sampling._solve import Densities, Matched, match
from dpsyn.notation import counted
from dpsyn.privacy.exact_draws import ExactDistribution, bounded_distribution
from dpsyn.privacy.spec import Neighbouring, PrivacySpec, rounded_down, rounded_up
from dpsyn.solvers.closest import closest_to_uniform
from dpsyn.solvers.matching import MatchingProblem
from dpsyn.table import Table

__all__ = ["Change", "LocalLoss", "LossMeter", "NeighbourLoss", "Search", "local_loss"]

Floats = npt.NDArray[np.float64]
Search = Literal["auto", "all", "steered", "random"]

_TRIES = 200
_MOST_TRIES = 1_000_000
_LARGEST_MATRIX = 20_000_000
"""Entries of W up to which the loss is computed: the programs are solved for every neighbour."""
_LOOSE = 1e12
_SHAKES = 3
_CHECKED = 3
_LEAST_SHAKE = 1e-12


@dataclass(frozen=True, eq=False)
class NeighbourLoss:
    """The loss between the data and one neighbour.

    Attributes:
        change: what makes the neighbour.
        loss: k·|ln h*(θ)/h'*(θ)| at the θ where it is largest, of the very distributions that rows are drawn from.
        uncertainty: how far that may be from the loss of the exact optima, because programs are solved to a residual: how
            much it moves if statistics and λ are moved by what the solutions leave open. Measured, not proven; NaN if it
            was not measured.
        point: θ, codes of shape (number of columns,).
        shrinkage, other_shrinkage: λ of the data and of the neighbour.
        residual: the larger equality residual of the two solutions.
        log_ratios: ln h*(θ)/h'*(θ) at every point of S, shape (s,).
    """

    change: Change
    loss: float
    uncertainty: float
    point: Codes
    shrinkage: float
    other_shrinkage: float
    residual: float
    log_ratios: Floats

    @property
    def lower_bound(self) -> float:
        """Loss less its uncertainty, at least 0: no smaller ε is true of the rows together with S."""
        return max(0.0, self.loss - (0.0 if math.isnan(self.uncertainty) else self.uncertainty))


@dataclass(frozen=True, eq=False, repr=False)
class LocalLoss(Shown):
    """What a search over neighbours found; NOT private.

    Attributes:
        worst: the neighbour with the largest lower bound, or None if every neighbour has the same density.
        rows: k.
        neighbouring: which neighbours were tried.
        losses: of every neighbour that was tried, for k rows, in the order of ``changes``.
        changes: the neighbours.
        exhaustive: they are all there are.
        neighbours: how many there are.
        failures: neighbours left out because a solver failed and the uniform density stood in.
        whole_domain: S is the whole domain, so that the loss is one of the rows alone.
        certificates: ε of k rows by ``"bounded_ratio"``, ``"theorem_4_1"`` and ``"stability"`` (experimental); None where
            one does not apply.
    """

    worst: NeighbourLoss | None
    rows: int
    neighbouring: Neighbouring
    losses: Floats
    changes: tuple[Change, ...]
    exhaustive: bool
    neighbours: int
    failures: int
    whole_domain: bool
    certificates: dict[str, float | None]

    @property
    def lower_bound(self) -> float:
        """No ε below this is true of the rows together with this S; nor of the rows alone if S is the whole domain."""
        return 0.0 if self.worst is None else self.worst.lower_bound

    def _shown(self) -> tuple[str, list[str]]:
        """What was found, and of how many neighbours."""
        of = counted(self.rows, "row") + ("" if self.whole_domain else " together with the reduced space")
        tried = "all" if self.exhaustive else f"{len(self.changes):,} of"
        lines = [
            f"{self.neighbouring}: no epsilon below {rounded_down(self.lower_bound, 3)} is true of {of}",
            f"  {tried} {self.neighbours:,} neighbours tried",
            *(f"  {name.replace('_', ' ')}: {rounded_up(e, 3)}" for name, e in self.certificates.items() if e is not None),
        ]
        return PRIVATE, lines


class LossMeter:
    """The data's density on one reduced space, to compare with those of neighbours.

    Args:
        config: settings of private sampling, without histograms; rows=None counts as one row.
        table: X. What its dates keep of the calendar is left out.
        neighbouring: ``"replace_one"`` or ``"add_remove"``.
        generator: draws S where it is not the whole domain; None takes the system's entropy.

    Raises:
        ParameterError: the settings do not suit the table, or the problem is too large to be solved once for every
            neighbour.
        FailureError: no S passed the test of step 2.
        SolverError: the programs of the data themselves could not be solved.
    """

    def __init__(
        self,
        config: PrivateSampling,
        table: Table,
        *,
        neighbouring: Neighbouring = "replace_one",
        generator: np.random.Generator | None = None,
    ) -> None:
        checks.instance("config", config, PrivateSampling, "a dpsyn.PrivateSampling")
        checks.instance("table", table, Table, "a dpsyn.Table")
        neighbouring = checks.choice("neighbouring", neighbouring, get_args(Neighbouring))
        generator = checks.generator("generator", generator)
        table = table.with_domain(without_calendar(table.domain))
        self.rows = config.rows or 1
        self.neighbouring: Neighbouring = neighbouring
        mechanism = replace(config, rows=self.rows).calibrate(
            PrivacySpec(_LOOSE, neighbouring=neighbouring), table.domain, n=table.n
        )
        if mechanism.stage.histograms is not None:
            raise ParameterError(
                "histogram_share",
                config.histogram_share,
                "0: the loss is that of bins of equal width, and fine histograms would choose others",
            )
        size = mechanism.size
        if size.m * size.dimension > _LARGEST_MATRIX:
            raise ParameterError(
                "reduced_space_size",
                size.m,
                f"with C = {size.dimension:,} functions at most {_LARGEST_MATRIX // size.dimension:,} points: the programs "
                "are solved once for every neighbour",
            )
        self.whole_domain = size.whole
        self.space = draw_space(size, generator if generator is not None else np.random.default_rng())
        self.densities = Densities.on(self.space, config.floor, config.ceiling)
        self.neighbours = Neighbours(table, self.densities.basis)
        self._problem = self.densities.problem(self.neighbours.statistics, self.neighbours.sparse_statistics)
        self._matched = match(self._problem)
        if self._matched.failed:
            raise SolverError(f"no density was found for the data themselves: {'; '.join(self._matched.faults)}")
        self._distribution = self._distribution_of(self._matched)
        self.certificates = mechanism.certificates(self.space)

    def _distribution_of(self, matched: Matched) -> ExactDistribution:
        return bounded_distribution(matched.ratio, self.space.multiplicity, self.densities.floor, self.densities.ceiling)

    def loss(self, change: Change, *, measure_uncertainty: bool = True) -> NeighbourLoss:
        """The loss between X and the neighbour that ``change`` makes.

        Raises:
            ParameterError: the change does not make a neighbour of this table.
            SolverError: no density was found for the neighbour.
        """
        change = self.neighbours.checked(change, self.neighbouring)
        measure_uncertainty = checks.flag("measure_uncertainty", measure_uncertainty)
        problem = self.densities.problem(*self.neighbours.after(change))
        matched = match(problem, start=self._matched)
        if matched.failed:
            raise SolverError(f"no density was found for the neighbour: {'; '.join(matched.faults)}")
        other = self._distribution_of(matched)
        logs = np.log(self._distribution.counts / other.counts)
        at = int(np.abs(logs).argmax())
        uncertainty = math.nan
        if measure_uncertainty:
            shaken = self._shaken(self._problem, self._matched, at) + self._shaken(problem, matched, at)
            uncertainty = self.rows * shaken
        return NeighbourLoss(
            change=change,
            loss=self.rows * float(abs(logs[at])),
            uncertainty=uncertainty,
            point=self.space.codes[at],
            shrinkage=self._matched.shrinkage,
            other_shrinkage=matched.shrinkage,
            residual=max(self._matched.residual, matched.residual),
            log_ratios=logs,
        )

    def _shaken(self, problem: MatchingProblem, matched: Matched, at: int) -> float:
        """How far ln h*(θ) moves with the statistics and λ by what the two solutions leave open."""
        if matched.linear is None or matched.quadratic is None:
            return 0.0
        size = max(_LEAST_SHAKE, matched.linear.residual, matched.quadratic.residual)
        shrinkage = min(1.0, matched.shrinkage + max(size, matched.shrinkage - matched.linear.dual_bound))
        generator = np.random.default_rng(0)
        furthest = 0.0
        for _ in range(_SHAKES):
            # The first statistic is the total mass, which is exact.
            shift = size * generator.choice([-1.0, 1.0], len(problem.target)) * (np.arange(len(problem.target)) > 0)
            moved = MatchingProblem(problem.operator, problem.target + shift, problem.lower, problem.upper)
            try:
                ratio = closest_to_uniform(moved, shrinkage).ratio
            except SolverError:
                return math.inf
            furthest = max(furthest, abs(math.log(ratio[at] / matched.ratio[at])))
        return furthest

    def search(
        self,
        method: Search = "auto",
        *,
        tries: int = _TRIES,
        generator: np.random.Generator | None = None,
        progress: Callable[[str, float], None] = no_progress,
    ) -> LocalLoss:
        """The largest loss among neighbours.

        Args:
            method: ``"all"`` tries every distinct neighbour; ``"random"`` takes rows at random; ``"steered"`` follows the
                derivative of ln h* in the statistics to the changes that move it most, and spends a quarter of its tries at
                random; ``"auto"`` is all of them if there are at most ``tries``, else steered.
            tries: how many neighbours at most, for all methods but ``"all"``.
            generator: of the random choices; None takes the system's entropy.
            progress: told of the share that is done; what it raises ends the search.

        Raises:
            ParameterError: an unknown method, or fewer than one try.
        """
        method = checks.choice("method", method, get_args(Search))
        tries = checks.whole("tries", tries, 1, _MOST_TRIES)
        generator = checks.generator("generator", generator) or np.random.default_rng()
        checks.function("progress", progress, checks.PROGRESS)
        existing = self.neighbours.count(self.neighbouring)
        everything = method == "all" or (method == "auto" and existing <= tries)
        if everything:
            changes: Sequence[Change] = self.neighbours.all(self.neighbouring)
        elif method == "random":
            changes = self.neighbours.random(self.neighbouring, tries, generator)
        else:
            changes = self.neighbours.steered(self.neighbouring, tries, generator, self._problem, self._matched)
        losses, done, failures = [], [], 0
        for i, change in enumerate(changes):
            progress("neighbours", i / len(changes))
            try:
                found = self.loss(change, measure_uncertainty=False)
            except SolverError:
                failures += 1
                continue
            losses.append(found.loss)
            done.append(change)
        values = np.array(losses, dtype=np.float64)
        progress("uncertainty", 1.0)
        largest = [int(i) for i in np.argsort(-values, kind="stable")[:_CHECKED] if values[i] > 0]
        measured = [self.loss(done[i]) for i in largest]
        return LocalLoss(
            worst=max(measured, key=lambda one: one.lower_bound, default=None),
            rows=self.rows,
            neighbouring=self.neighbouring,
            losses=values,
            changes=tuple(done),
            exhaustive=len(done) == existing,
            neighbours=existing,
            failures=failures,
            whole_domain=self.whole_domain,
            certificates=self.certificates,
        )


def local_loss(
    config: PrivateSampling,
    table: Table,
    *,
    neighbouring: Neighbouring = "replace_one",
    method: Search = "auto",
    tries: int = _TRIES,
    generator: np.random.Generator | None = None,
    progress: Callable[[str, float], None] = no_progress,
) -> LocalLoss:
    """k·max_θ |ln h*(θ)/h'*(θ)| for the worst neighbour X' that a search finds: no ε below it is true of the rows together
    with S (:attr:`LocalLoss.lower_bound`). NOT private.

    See :class:`LossMeter` and :meth:`LossMeter.search`, which this calls, for arguments and errors.
    """
    generator = checks.generator("generator", generator) or np.random.default_rng()
    meter = LossMeter(config, table, neighbouring=neighbouring, generator=generator)
    return meter.search(method, tries=tries, generator=generator, progress=progress)
