"""How long the LP and the QP take on this machine: a few small problems timed, and a power law through them."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from dpsyn.errors import ParameterError
from dpsyn.mechanisms.private_sampling.tractability import Program, log_bytes, log_quadprog_seconds
from dpsyn.solvers.closest import closest_to_uniform
from dpsyn.solvers.contrasts import ContrastBasis
from dpsyn.solvers.matching import MatchingProblem
from dpsyn.solvers.shrinkage import least_shrinkage

Progress = Callable[[str, float], None]

SIZES: tuple[tuple[int, int], ...] = ((6, 24_000), (10, 8000), (18, 4000), (10, 24_000), (18, 12_000), (14, 6000))
"""Bits and m of the calibration: C = 22 to 172, W with 0.5 to 2 million entries; about 3 s on an idle machine."""
MOST_SECONDS = 15.0
EXPONENT_OF_M = (1.0, 0.1)
EXPONENT_OF_C = (1.75, 0.25)
"""Mean and standard deviation expected of the exponents: an iteration forms W diag(x) Wᵀ, which takes m·C² steps, and
passes over the m·C entries of W, which counts while C is small."""
_REPEATS = 2
_ENOUGH = 4
_LONG = 1.0
_LEAST_SCATTER = math.log(1.3)
_ROUNDS = 20

CALIBRATE = "dpsyn.mechanisms.private_sampling.calibration:calibrate"
"""Task of a background job."""


@dataclass(frozen=True)
class Timing:
    """One program solved once: m points, C functions, and whose answer it was."""

    program: Program
    reduced_space_size: int
    dimension: int
    seconds: float
    solver: str = ""


@dataclass(frozen=True)
class CostModel:
    """t = a·m^b·C^c.

    Attributes:
        program: ``"lp"`` or ``"qp"``.
        log_a: ln a, in seconds.
        exponent_m, exponent_c: b and c.
        scatter: standard deviation of ln t about the law, at least ln 1.3.
        covariance: of (ln a, b, c), by rows.
        timings: what it was fitted to: all runs of the solver that answered most often.
        others: runs in which another solver had to step in; they take longer, and the law does not count them.
    """

    program: Program
    log_a: float
    exponent_m: float
    exponent_c: float
    scatter: float
    covariance: tuple[tuple[float, ...], ...]
    timings: tuple[Timing, ...]
    others: tuple[Timing, ...] = ()

    def log_seconds(self, log_m: float, log_dimension: float) -> float:
        """ln of the predicted seconds."""
        return self.log_a + self.exponent_m * log_m + self.exponent_c * log_dimension

    def log_factor(self, log_m: float, log_dimension: float) -> float:
        """ln of the factor by which the prediction may be off either way: two standard deviations of a new measurement.

        It grows with the distance from the sizes that were timed.
        """
        at = np.array([1.0, log_m, log_dimension])
        return 2 * math.sqrt(self.scatter**2 + float(at @ np.array(self.covariance) @ at))


@dataclass(frozen=True)
class Prediction:
    """What the two programs need at one (m, C), beside the paper's extrapolation; all as natural logarithms.

    Attributes:
        log_seconds: of each program.
        log_factor: of each program: the prediction may be off by this factor either way.
        log_bytes: peak memory of each program.
        log_quadprog_seconds: 0.1 s · (m/1000)².
    """

    log_seconds: dict[Program, float]
    log_factor: dict[Program, float]
    log_bytes: dict[Program, float]
    log_quadprog_seconds: float


@dataclass(frozen=True)
class Calibration:
    """The cost models of this machine."""

    lp: CostModel
    qp: CostModel

    def predict(self, log_m: float, log_dimension: float) -> Prediction:
        """Seconds and bytes at (m, C), given as natural logarithms."""
        models: tuple[CostModel, ...] = (self.lp, self.qp)
        return Prediction(
            log_seconds={one.program: one.log_seconds(log_m, log_dimension) for one in models},
            log_factor={one.program: one.log_factor(log_m, log_dimension) for one in models},
            log_bytes={one.program: log_bytes(one.program, log_m, log_dimension) for one in models},
            log_quadprog_seconds=log_quadprog_seconds(log_m),
        )


def small_problem(p: int, reduced_space_size: int) -> MatchingProblem:
    """Dependent bits on random points of the cube, degree 2, floor 1/4, ceiling 2: λ > 0, so that the LP has work to do."""
    generator = np.random.default_rng(20)
    level = generator.random((4000, 1)) > 0.5
    data = (generator.random((4000, p)) < np.where(level, 0.7, 0.3)).astype(np.int32)
    points = generator.integers(0, 2, (reduced_space_size, p)).astype(np.int32)
    basis = ContrastBasis((2,) * p, 2)
    return MatchingProblem.dense(
        functions=basis.matrix(points),
        weights=np.full(reduced_space_size, 1 / reduced_space_size),
        target=basis.means(data),
        lower=0.25,
        upper=2.0,
    )


def calibrate(
    *,
    sizes: Sequence[tuple[int, int]] = SIZES,
    repeats: int = _REPEATS,
    most_seconds: float = MOST_SECONDS,
    progress: Progress | None = None,
) -> Calibration:
    """Time both programs on small problems of this machine and fit a power law to each.

    Programs are run ``repeats`` times, slow ones once, and the fastest run counts: whatever else the machine does only
    ever adds time.

    Args:
        sizes: pairs of p and m, at least four with different C and m.
        repeats: runs of each.
        most_seconds: no further size is begun after this time, once there are four.
        progress: is told a step's name and the share that is done.

    Raises:
        ParameterError: too few sizes to fit three numbers.
        SolverError: a program could not be solved.
    """
    timings: list[Timing] = []
    begun = time.perf_counter()
    for i, (p, m) in enumerate(sizes):
        if i >= _ENOUGH and time.perf_counter() - begun > most_seconds:
            break
        if progress is not None:
            progress(f"timing the programs at m = {m:,}, p = {p}", i / len(sizes))
        problem = small_problem(p, m)
        inner = problem.with_box(2 * problem.lower, problem.upper - problem.lower)
        runs: list[tuple[Timing, Timing]] = []
        while len(runs) < repeats and (not runs or runs[-1][0].seconds < _LONG):
            runs.append(_run(problem, inner, m))
        timings += [min((run[j] for run in runs), key=lambda t: t.seconds) for j in (0, 1)]
    if progress is not None:
        progress("fitting", 1.0)
    return Calibration(*(fit("lp", timings), fit("qp", timings)))


def _run(problem: MatchingProblem, inner: MatchingProblem, m: int) -> tuple[Timing, Timing]:
    dimension = len(problem.target)
    start = time.perf_counter()
    first = least_shrinkage(inner)
    middle = time.perf_counter()
    second = closest_to_uniform(problem, min(1.0, first.shrinkage + 1e-9))
    end = time.perf_counter()
    return (
        Timing("lp", m, dimension, middle - start, first.solver),
        Timing("qp", m, dimension, end - middle, second.solver),
    )


def _main_solver(timings: Sequence[Timing]) -> tuple[list[Timing], list[Timing]]:
    """Runs of the solver that answered most often, and the others; all together if that leaves too few to fit."""
    solvers = [t.solver for t in timings]
    usual = max(solvers, key=solvers.count)
    mine, others = [t for t in timings if t.solver == usual], [t for t in timings if t.solver != usual]
    return (mine, others) if _determined(mine) else (list(timings), [])


def _determined(timings: Sequence[Timing]) -> bool:
    return len(timings) >= _ENOUGH and int(np.linalg.matrix_rank(_design(timings))) == 3


def _design(timings: Sequence[Timing]) -> npt.NDArray[np.float64]:
    return np.array([[1.0, math.log(t.reduced_space_size), math.log(t.dimension)] for t in timings])


def fit(program: Program, timings: Sequence[Timing]) -> CostModel:
    """Least squares of ln t on ln m and ln C, with a normal prior on the exponents: EXPONENT_OF_M and EXPONENT_OF_C.

    Small problems on a busy machine say little about exponents; then the prior does, and the uncertainty says so.

    Raises:
        ParameterError: fewer than four timings of the program, or all of one m or one C.
    """
    wanted = [t for t in timings if t.program == program]
    if not _determined(wanted):
        raise ParameterError("timings", len(wanted), "at least four, with different m and C")
    used, others = _main_solver(wanted)
    design = _design(used)
    times = np.log([t.seconds for t in used])
    # ln a is left free; the exponents are pulled towards what an iteration's arithmetic says they are.
    precision = np.diag([0.0, *(1 / spread**2 for _, spread in (EXPONENT_OF_M, EXPONENT_OF_C))])
    expected = np.array([0.0, EXPONENT_OF_M[0], EXPONENT_OF_C[0]])
    scatter = 1.0
    for _ in range(_ROUNDS):
        covariance = np.linalg.inv(design.T @ design / scatter**2 + precision)
        found = covariance @ (design.T @ times / scatter**2 + precision @ expected)
        residuals = times - design @ found
        scatter = max(math.sqrt(float(residuals @ residuals) / (len(used) - 1)), _LEAST_SCATTER)
    return CostModel(
        program=program,
        log_a=float(found[0]),
        exponent_m=float(found[1]),
        exponent_c=float(found[2]),
        scatter=scatter,
        covariance=tuple(tuple(float(x) for x in row) for row in covariance),
        timings=tuple(used),
        others=tuple(others),
    )
