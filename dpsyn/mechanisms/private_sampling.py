"""Private sampling (Boedihardjo, Strohmer, Vershynin 2021a): a few rows drawn from a density squeezed into a public box."""

from __future__ import annotations

import math
import time
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import pandas as pd

from dpsyn.basis.contrasts import ContrastBasis
from dpsyn.data.table import Table
from dpsyn.domain import Domain
from dpsyn.errors import CalibrationError, ParameterError, SolverError
from dpsyn.mechanisms._reduced_space import ReducedSpace, SpaceSize, draw_space, space_size
from dpsyn.mechanisms.base import PUBLIC_DOMAIN_ASSUMPTION, Config, Mechanism, Progress
from dpsyn.optim.closest import ClosestSolution, closest_to_uniform
from dpsyn.optim.matching import Floats, MatchingProblem
from dpsyn.optim.shrinkage import least_shrinkage
from dpsyn.privacy.certificates import (
    SMALLEST_RATIO,
    bounded_ratio_epsilon,
    box_for,
    check_box,
    is_degenerate,
    largest_rows,
    measured_geometry,
    stability_epsilon,
    theorem_4_1_log_epsilon,
    whole_cube_geometry,
)
from dpsyn.privacy.exact_draws import bounded_distribution
from dpsyn.privacy.noise import NoiseSource
from dpsyn.privacy.spec import Guarantee, PrivacySpec, rounded_up

MOST_ROWS = 100_000
"""Rows drawn at most when ``rows`` is None and n is not public."""

RATIO_SOURCE = "bounded ratio: each draw has probability in [floor, ceiling]/m whatever the data (k ln(ceiling/floor))"
THEOREM_SOURCE = "Theorem 4.1 of Boedihardjo, Strohmer, Vershynin 2021a"
DEGENERATE_SOURCE = "degenerate box: the density is uniform whatever the data"
BOX_ASSUMPTION = "Floor and ceiling were chosen without looking at the data."
EXACT_ASSUMPTION = (
    "Theorem 4.1 is about exact optima. Here both programs are solved in floating point, to a residual of 1e-8, and the "
    "uniform density stands in for a solver that fails: it is taken for granted that neither matters."
)
N_ASSUMPTION = "The number of rows n is public."
IGNORES_DATA = "The output ignores the data: at this floor and ceiling only the uniform density fits (λ = 1)."

_INFLATIONS = (1e-9, 1e-7, 1e-5)
_SOLVER_FAULTS = (SolverError, ArithmeticError, ValueError, RuntimeError)


@dataclass(frozen=True)
class PrivateSampling(Config):
    """Settings of private sampling.

    Args:
        degree: d, the order of the marginals that are matched.
        floor, ceiling: δ and Δ of the paper, bounds on m·h, the density relative to uniform on the reduced space;
            0 < floor, 2·floor <= 1 <= ceiling - floor. Both must be chosen without looking at the data.
        rows: k, how many rows to draw; None draws as many as the guarantee allows, at most n (100,000 where n is not
            public).
        reduced_space_size: m independent uniform draws from the product domain; None takes the whole domain when it has
            at most 65,536 rows, otherwise about 4·C draws and at least 2,000.

    Raises:
        ParameterError: a value is outside its range.
    """

    degree: int = 2
    floor: float = 0.25
    ceiling: float = 2.0
    rows: int | None = None
    reduced_space_size: int | None = None

    name: ClassVar[str] = "private_sampling"
    title: ClassVar[str] = "Private sampling"
    paper: ClassVar[str] = "Boedihardjo, Strohmer, Vershynin 2021a"

    def __post_init__(self) -> None:
        check_box(self.floor, self.ceiling)
        for name in ("degree", "rows", "reduced_space_size"):
            value = getattr(self, name)
            if value is None and name != "degree":
                continue
            if isinstance(value, bool) or not isinstance(value, (int, np.integer)) or value < 1:
                raise ParameterError(name, value, "a whole number, at least 1")

    def calibrate(self, spec: PrivacySpec, domain: Domain, n: int) -> PrivateSamplingMechanism:
        """k draws with the smallest of two certificates, k·ln(ceiling/floor) and, on the Boolean cube, Theorem 4.1.

        The first holds for all pairs of datasets, hence for either neighbouring relation; the second for replacing one of n.

        Raises:
            CalibrationError: ``rows`` draws, or even one, cost more than ε; the message says what would fit.
            ParameterError: n < 1, or the functions do not fit in memory.
        """
        if n < 1:
            raise ParameterError("n", n, "at least 1 row")
        size = space_size(domain, self.degree, self.reduced_space_size)
        ratio = bounded_ratio_epsilon(rows=1, floor=self.floor, ceiling=self.ceiling)
        theorem = self._theorem_per_row(spec, domain, n, size)
        by_theorem = theorem is not None and theorem < ratio
        per_row = theorem if theorem is not None and theorem < ratio else ratio
        fitting = largest_rows(epsilon=spec.epsilon, epsilon_per_row=per_row)
        if fitting is not None and fitting < (self.rows or 1):
            raise CalibrationError(self._too_much(spec, per_row, fitting))
        most = n if spec.neighbouring == "replace_one" else MOST_ROWS
        rows = self.rows or (most if fitting is None else min(fitting, most))
        assumptions = [PUBLIC_DOMAIN_ASSUMPTION, BOX_ASSUMPTION]
        source = RATIO_SOURCE
        if is_degenerate(self.floor, self.ceiling):
            source = DEGENERATE_SOURCE
            assumptions.append(IGNORES_DATA)
        elif by_theorem:
            source = THEOREM_SOURCE
            assumptions += [N_ASSUMPTION, EXACT_ASSUMPTION]
        return PrivateSamplingMechanism(
            config=self,
            spec=spec,
            domain=domain,
            n=n,
            guarantee=Guarantee(rows * per_row, 0.0, spec.neighbouring, source, tuple(assumptions)),
            settings=self,
            rows=int(rows),
            size=size,
            theorem_4_1_per_row=theorem,
        )

    def _theorem_per_row(self, spec: PrivacySpec, domain: Domain, n: int, size: SpaceSize) -> float | None:
        if not domain.is_binary or spec.neighbouring != "replace_one":
            return None
        log_epsilon = theorem_4_1_log_epsilon(
            log_rows=0.0,
            floor=self.floor,
            ceiling=self.ceiling,
            degree=self.degree,
            log_dimension=math.log(size.dimension),
            log_m=math.log(size.m),
            log_n=math.log(n),
        )
        return math.exp(min(log_epsilon, 700.0))

    def _too_much(self, spec: PrivacySpec, per_row: float, fitting: int) -> str:
        asked = self.rows or 1
        total, one = rounded_up(asked * per_row, 4), rounded_up(per_row, 4)
        box = box_for(epsilon=spec.epsilon, rows=asked, floor=self.floor, ceiling=self.ceiling)
        if box is None:
            remedy = (
                f"No floor and ceiling allow {asked} at ε = {spec.epsilon:g}: their ratio stays above {SMALLEST_RATIO:g}, "
                f"so every row costs more than ln 3 = {math.log(SMALLEST_RATIO):.4g}"
            )
        else:
            remedy = f"floor = {box[0]:.4g} and ceiling = {box[1]:.4g} would allow {asked} at ε = {spec.epsilon:g}"
        return (
            f"private sampling certifies ε = {total} for {asked} {'row' if asked == 1 else 'rows'} at floor = "
            f"{self.floor:g} and ceiling = {self.ceiling:g}, more than the ε = {spec.epsilon:g} asked for. The largest "
            f"number of rows that fits is {fitting}; one row needs ε >= {one}. {remedy}"
        )


@dataclass(frozen=True)
class PrivateSamplingMechanism(Mechanism):
    """Calibrated private sampling.

    Attributes:
        settings: the configuration.
        rows: k.
        size: of the reduced space.
        theorem_4_1_per_row: ε of one row by Theorem 4.1, or None off the Boolean cube and for add_remove.
    """

    settings: PrivateSampling
    rows: int
    size: SpaceSize
    theorem_4_1_per_row: float | None

    def calibrated(self) -> dict[str, Any]:
        """Number of rows, size of the problem, and every certificate that public facts give."""
        config = self.settings
        experimental = None
        if self.size.whole and self.domain.is_binary and self.spec.neighbouring == "replace_one":
            experimental = self._stability(whole_cube_geometry(len(self.domain), min(config.degree, len(self.domain))))
        theorem = self.theorem_4_1_per_row
        return {
            "rows": self.rows,
            "reduced_space_size": self.size.m,
            "whole_domain": self.size.whole,
            "functions": self.size.dimension,
            "bounded_ratio_epsilon": bounded_ratio_epsilon(rows=self.rows, floor=config.floor, ceiling=config.ceiling),
            "theorem_4_1_epsilon": None if theorem is None else theorem * self.rows,
            "experimental_stability_epsilon": experimental,
        }

    def _stability(self, geometry: Any) -> float | None:
        value = stability_epsilon(
            rows=self.rows, floor=self.settings.floor, ceiling=self.settings.ceiling, n=self.n, geometry=geometry
        )
        return value if math.isfinite(value) else None

    def _run(self, noise: NoiseSource, table: Table, progress: Progress) -> tuple[pd.DataFrame, dict[str, Any]]:
        clock = _Clock(progress)
        config = self.settings
        clock("drawing the reduced space", 0.0)
        basis = ContrastBasis(self.domain.shape, config.degree)
        space = draw_space(self.domain, basis, self.size, noise.generator)
        found: dict[str, Any]
        if is_degenerate(config.floor, config.ceiling):
            ratio = np.ones(len(space.codes))
            found = {"shrinkage": 1.0, "linear_program": "skipped", "quadratic_program": "skipped", "note": IGNORES_DATA}
            problem = None
        else:
            clock("measuring the marginals of the data", 0.1)
            problem = _problem(basis, space, table, config)
            ratio, found = _solve(problem, config, clock)
        clock("drawing rows", 0.95)
        distribution = bounded_distribution(ratio, space.multiplicity, config.floor, config.ceiling)
        drawn = distribution.draw(noise.generator, self.rows)
        rows = self.domain.decode(space.codes[drawn], noise.generator)
        density = distribution.probabilities
        if problem is not None:
            found["residual"] = problem.residual(density / problem.weights, found["shrinkage"])
        if self.domain.is_binary and not self.size.whole and self.spec.neighbouring == "replace_one":
            geometry = measured_geometry(
                space.functions, space.multiplicity, len(self.domain), min(config.degree, len(self.domain))
            )
            found["experimental_stability_epsilon"] = self._stability(geometry)
        return rows, {
            **self.calibrated(),
            **found,
            "distinct_points": len(space.codes),
            "smallest_singular_value": space.smallest_singular_value,
            "failure_threshold": space.threshold,
            "failure_threshold_note": "√m/(2e^d) is stated for the Boolean cube; the same test is kept for other domains",
            "points": space.codes,
            "multiplicity": space.multiplicity,
            "density": density,
            "seconds": clock.seconds(),
        }


def _problem(basis: ContrastBasis, space: ReducedSpace, table: Table, config: PrivateSampling) -> MatchingProblem:
    return MatchingProblem(
        functions=space.functions,
        weights=space.multiplicity / space.m,
        target=basis.means(table.codes),
        lower=config.floor,
        upper=config.ceiling,
        sparse_functions=basis.sparse_matrix(space.codes),
        sparse_target=basis.sparse_means(table.codes),
    )


def _solve(problem: MatchingProblem, config: PrivateSampling, clock: _Clock) -> tuple[Floats, dict[str, Any]]:
    """Steps 3 and 4. A failure of a solver gives the uniform density: it lies in the box, and an exception would tell.

    Whatever a solver raises on numbers that it cannot handle counts as its failure, for the same reason.
    """
    clock("linear program", 0.2)
    try:
        linear = least_shrinkage(problem.with_box(2 * config.floor, config.ceiling - config.floor))
    except _SOLVER_FAULTS as fault:
        return _uniform(problem), {"shrinkage": 1.0, "linear_program": str(fault), "quadratic_program": "not reached"}
    found: dict[str, Any] = {
        "linear_program": f"{linear.status} ({linear.solver})",
        "linear_program_residual": linear.residual,
        "linear_program_gap": linear.gap,
        "least_shrinkage": linear.shrinkage,
    }
    clock("quadratic program", 0.7)
    reasons = []
    for inflation in _INFLATIONS:
        shrinkage = min(1.0, linear.shrinkage + inflation)
        try:
            closest: ClosestSolution = closest_to_uniform(problem, shrinkage)
        except _SOLVER_FAULTS as fault:
            reasons.append(str(fault))
            continue
        return closest.ratio, found | {
            "shrinkage": shrinkage,
            "quadratic_program": f"{closest.status} ({closest.solver}, {closest.iterations} iterations)",
            "quadratic_program_residual": closest.residual,
            "quadratic_program_gap": closest.gap,
        }
    return _uniform(problem), found | {"shrinkage": 1.0, "quadratic_program": "; ".join(reasons)}


def _uniform(problem: MatchingProblem) -> Floats:
    return np.ones(len(problem.weights))


class _Clock:
    """Tells of progress, and keeps how long each step took."""

    def __init__(self, progress: Progress) -> None:
        self._progress = progress
        self._steps: list[tuple[str, float]] = []

    def __call__(self, step: str, share: float) -> None:
        self._steps.append((step, time.perf_counter()))
        self._progress(step, share)

    def seconds(self) -> dict[str, float]:
        """Seconds by step, up to now."""
        ends = [start for _, start in self._steps[1:]] + [time.perf_counter()]
        return {step: end - start for (step, start), end in zip(self._steps, ends, strict=True)}
