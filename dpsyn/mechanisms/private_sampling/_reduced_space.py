"""The reduced space S of private sampling: its points, and the Walsh or contrast functions on them."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from dpsyn.domain import Codes
from dpsyn.errors import FailureError
from dpsyn.mechanisms.base import Progress
from dpsyn.mechanisms.private_sampling._space_size import MERGED_UP_TO, SpaceSize, failure_threshold, safe_draws
from dpsyn.solvers.executors import Executor
from dpsyn.solvers.operator import BlockOperator, DenseOperator, PointOperator
from dpsyn.solvers.spectrum import conditioning, spectrum

Integers = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]

MOST_DRAWS_OF_S = 20
"""Reduced spaces drawn before the algorithm's "Failure" is the outcome of a run."""
_MERGED_SHARE = 64
_SPECTRUM_WORK = 3e11
"""m·C² up to which all eigenvalues are computed."""
_DENSE_ENTRIES = 4_000_000


@dataclass(frozen=True, eq=False)
class ReducedSpace:
    """m points of the product domain, with the functions on them.

    Attributes:
        operator: W on the s points that are told apart, each with its share of the m draws as weight.
        counts: how often each of them was drawn, with sum m, shape (s,); None where all count once.
        m: number of draws, or of rows of the whole domain.
        spectrum: eigenvalues of W diag(p) Wᵀ in ascending order, shape (C,): those of W Wᵀ/m over all m draws; None where S
            is so large that the smallest was only bounded.
        smallest_singular_value: of W on all m points; where there is no spectrum, a proven lower bound on it.
        threshold: below it the draw counts as a "Failure"; see :func:`failure_threshold`.
        redraws: spaces that were drawn before and failed.
    """

    operator: BlockOperator
    counts: Integers | None
    m: int
    spectrum: Floats | None
    smallest_singular_value: float
    threshold: float
    redraws: int = 0

    @property
    def points(self) -> int:
        """s."""
        return self.operator.shape[1]

    @property
    def multiplicity(self) -> Integers:
        """How often each point was drawn, shape (s,)."""
        return np.ones(self.points, dtype=np.int64) if self.counts is None else self.counts

    @property
    def codes(self) -> Codes:
        """All points, shape (s, number of columns): for small spaces."""
        return self.operator.codes(np.arange(self.points))

    @cached_property
    def solved_on(self) -> PointOperator:
        """W as the solvers take it: kept as an array where that is small."""
        count, points = self.operator.shape
        if count * points > _DENSE_ENTRIES:
            return self.operator
        return DenseOperator(self.operator.functions.basis.matrix(self.codes), self.operator.weights)


def draw_space(
    size: SpaceSize, generator: np.random.Generator, executor: Executor | None = None, progress: Progress | None = None
) -> ReducedSpace:
    """Step 1 and step 2 of the algorithm; neither looks at the data.

    A draw that fails is replaced by a new one, at most MOST_DRAWS_OF_S in all. That costs no privacy: whether S fails
    depends on S alone, so the density is a function of the data and of a space that knows nothing of them.

    Args:
        size: of S, from public facts.
        generator: of the draws.
        executor: where sums over the points are computed; None for threads.
        progress: is told which part begins.

    Raises:
        FailureError: in every draw the smallest singular value of W is below the threshold: the algorithm's own outcome
            "Failure".
    """
    threshold = failure_threshold(size.shape, size.degree, size.m)
    if size.whole:
        operator = BlockOperator.whole(size.shape, size.degree, executor)
        # The functions are orthonormal under the uniform measure, so W Wᵀ = m·I.
        return ReducedSpace(operator, None, size.m, np.ones(size.dimension), math.sqrt(size.m), threshold)
    largest = 0.0
    for redraws in range(MOST_DRAWS_OF_S):
        operator, counts = _draw(size, generator, executor)
        if progress is not None:
            again = f" (draw {redraws + 1})" if redraws else ""
            progress(f"testing whether {size.dimension:,} functions are independent on {size.m:,} points{again}", 0.01)
        values: Floats | None = None
        if operator.shape[1] * size.dimension**2 <= _SPECTRUM_WORK:
            values = spectrum(operator)
            smallest = math.sqrt(size.m * max(0.0, float(values[0])))
            passes = smallest >= threshold
        else:
            test = conditioning(operator, threshold / math.sqrt(size.m))
            smallest, passes = test.smallest * math.sqrt(size.m), test.passes
        if passes:
            return ReducedSpace(operator, counts, size.m, values, smallest, threshold, redraws)
        largest = max(largest, smallest)
    raise FailureError(
        f"Failure (step 2 of the algorithm, decided without the data): in {MOST_DRAWS_OF_S} draws of S the smallest "
        f"singular value of the {size.dimension:,} functions on {size.m:,} points was at most {largest:.3g}, below "
        f"{threshold:.3g}. Take a larger reduced_space_size: at {safe_draws(size.shape, size.degree):,} a draw fails "
        "at most once in a million"
    )


def _draw(
    size: SpaceSize, generator: np.random.Generator, executor: Executor | None
) -> tuple[BlockOperator, Integers | None]:
    cells = math.prod(size.shape)
    if size.m > MERGED_UP_TO or size.m * _MERGED_SHARE < cells:
        return BlockOperator.uniform(size.shape, size.degree, size.m, generator, executor), None
    drawn, counts = np.unique(generator.integers(0, cells, size.m), return_counts=True)
    codes = np.stack(np.unravel_index(drawn, size.shape), axis=1).astype(np.int32)
    multiplicity = counts.astype(np.int64)
    return BlockOperator.from_codes(size.shape, size.degree, codes, multiplicity / size.m, executor), multiplicity
