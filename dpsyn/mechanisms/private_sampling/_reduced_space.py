"""The reduced space S of private sampling: how large it is, what fits, its points, and the functions on them."""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property, partial

import numpy as np
import numpy.typing as npt

from dpsyn.domain import Codes, Domain
from dpsyn.errors import FailureError, ParameterError, TooLargeError, quoted
from dpsyn.mechanisms.base import Progress, no_progress
from dpsyn.memory import available_memory
from dpsyn.notation import counted, gigabytes
from dpsyn.solvers.contingency import contrast_dimension, require_countable
from dpsyn.solvers.executors import Executor, available_processors
from dpsyn.solvers.memory import operator_bytes, solver_bytes
from dpsyn.solvers.operator import LARGEST_BLOCK, BlockOperator, DenseOperator, PointOperator
from dpsyn.solvers.spectrum import conditioning, spectrum

Integers = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]

MOST_DRAWS_OF_S = 20
"""Reduced spaces drawn before the algorithm's "Failure" is the outcome of a run."""
_MERGED_SHARE = 64
_SPECTRUM_WORK = 3e11
"""m·C² up to which all eigenvalues are computed."""
_MERGED_UP_TO = 1 << 22
"""Draws among which equal ones are merged. Merging saves work where many coincide and changes nothing else."""
WHOLE_DOMAIN_AT_MOST = 65_536
_FEWEST_DRAWS = 2_000
_DRAWS_PER_FUNCTION = 4
"""m = 4·C generic draws put the smallest singular value near √m/2, far above the threshold √m/(2e^d)."""
SPACES = ("cube", "product")
_SECONDS, _POWER = 1.2e-6, 0.9
"""Through measured runs of 10, 14, 46 and 189 s at C = 2,139, 2,798, 4,417 and 9,885, each within a quarter; the
linear program is most of it."""
_DENSE_UP_TO = 4_000_000
"""Entries of W up to which it is kept as an array."""


@dataclass(frozen=True)
class SpaceSize:
    """How large the reduced space is going to be; from public facts.

    Attributes:
        shape: number of codes of each column.
        degree: d.
        dimension: C, the number of functions.
        m: number of draws, or of rows of the domain.
        whole: S is the whole product domain.
        space: ``"cube"`` where every column has two values, else ``"product"``.
    """

    shape: tuple[int, ...]
    degree: int
    dimension: int
    m: int
    whole: bool
    space: str = "product"


def space_size(
    domain: Domain,
    degree: int,
    reduced_space_size: int | None,
    space: str | None = None,
    *,
    elsewhere: bool = False,
) -> SpaceSize:
    """The size that the settings ask for, or that fits: the whole domain if it is small, else :func:`default_draws`.

    Args:
        domain: of the rows.
        degree: d.
        reduced_space_size: m, or None for the default.
        space: ``"cube"``, ``"product"``, or None for the one that suits the domain.
        elsewhere: the points live on the workers of a cluster, and only what does not grow with m has to fit here.

    Raises:
        ParameterError: the space is not one of the domain, there are fewer points than functions, or the memory does not
            suffice; the message has the estimate and says what would fit.
    """
    shape = domain.shape
    kind = _kind(domain, space)
    require_countable(shape, degree)
    dimension = contrast_dimension(shape, degree)
    most = _default_size(shape, degree) if reduced_space_size is None else reduced_space_size
    whole = domain.size <= most
    m = domain.size if whole else most
    if not whole and m < dimension:
        raise ParameterError(
            "reduced_space_size",
            m,
            f"{dimension:,} functions cannot be independent on fewer points than that; take about "
            f"{default_draws(shape, degree):,}",
        )
    _require_memory(shape, degree, m, elsewhere, available_memory())
    return SpaceSize(shape, degree, dimension, m, whole, kind)


def rough_seconds(size: SpaceSize) -> float:
    """About how long a run takes on two cores, right to a factor of a few: 1.2e-6 s · 4C · C^0.9 · (m/4C)^e.

    e is 1 up to m = 4C and 1/2 beyond. Measured at m = 4C on columns of Adult, d = 2, as _SECONDS says; for larger m the
    square root is that of docs/measurements.md, and gives 460 s where 621 s were measured (C = 1,082, m = 1.2e8) and 850 s
    for 563 s (1,486, 1.66e8). How many steps the linear program takes depends on the data too, which this must not look at.
    """
    usual = _DRAWS_PER_FUNCTION * size.dimension
    return _SECONDS * min(usual, size.m) * math.sqrt(max(1.0, size.m / usual)) * math.pow(size.dimension, _POWER)


def _bytes_needed(shape: Sequence[int], degree: int, m: int, *, elsewhere: bool = False) -> int:
    """Memory of a run at most: the points, Gram matrices, the solvers, and the density while rows are drawn."""
    dimension = contrast_dimension(shape, degree)
    points = min(m, LARGEST_BLOCK) if elsewhere else m
    weighted = not elsewhere and m <= _MERGED_UP_TO
    operator = operator_bytes(shape, degree, points, available_processors(), weighted=weighted)
    return operator + solver_bytes(dimension, points, dense=dimension * points <= _DENSE_UP_TO)


def _require_memory(shape: tuple[int, ...], degree: int, m: int, elsewhere: bool, allowed: int) -> None:
    needed = _bytes_needed(shape, degree, m, elsewhere=elsewhere)
    if needed <= allowed:
        return

    def fits(points: int | None, shape: Sequence[int] = shape, degree: int = degree) -> bool:
        points = _default_size(shape, degree) if points is None else points
        return _bytes_needed(shape, degree, points, elsewhere=elsewhere) <= allowed

    low = contrast_dimension(shape, degree)
    says = f"with C = {counted(low)} functions it needs about {gigabytes(needed)}, and {gigabytes(allowed)} may be used"
    if not fits(low):
        raise TooLargeError("degree", degree, f"{says} (m = {counted(m)}). {_what_fits(shape, degree, partial(fits, None))}")
    high = m
    while high - low > max(1, low // 100):
        middle = (low + high) // 2
        low, high = (middle, high) if fits(middle) else (low, middle)
    rounded = int(float(f"{low:.1e}"))
    raise TooLargeError("reduced_space_size", m, f"{says}; at most about {rounded if rounded <= low else low:,} points fit")


def _what_fits(shape: Sequence[int], degree: int, fits: Callable[[Sequence[int], int], bool]) -> str:
    """Which lower degree, fewer columns or fewer bins would do, each with the rest as it is."""
    advice = []
    lower = _largest(1, degree, lambda d: fits(shape, d))
    if lower is not None:
        advice.append(f"degree = {lower}")
    by_size = sorted(shape)
    columns = _largest(1, len(shape), lambda q: fits(by_size[:q], degree))
    if columns is not None:
        advice.append(f"the {f'{columns} columns' if columns > 1 else 'column'} with the fewest values")
    bins = _largest(2, max(shape), lambda b: fits([min(b, s) for s in shape], degree))
    if bins is not None:
        advice.append(f"at most {bins} bins or categories a column")
    return "These would fit: " + ", or ".join(advice) if advice else "No lower degree fits: leave columns out"


def _largest(low: int, high: int, fits: Callable[[int], bool]) -> int | None:
    """The largest number from ``low``, and below ``high``, that fits, where what is smaller fits too; None if none does."""
    found = bisect_left(range(low, high), True, key=lambda number: not fits(number))
    return low + found - 1 if found else None


def _kind(domain: Domain, space: str | None) -> str:
    if space == "cube" and not domain.is_binary:
        other = next(a for a in domain.attributes if a.size != 2)
        raise ParameterError(
            "space",
            space,
            f"the paper's cube needs columns of two values, and {quoted(other.name)} has {other.size}. Take space "
            "= 'product': as one-hot bits almost no point of the cube would be a row",
        )
    # On two-valued columns the contrasts are the Walsh functions: the product is the cube, and its theorem holds.
    return "cube" if domain.is_binary else "product"


def norm_comparison(shape: Sequence[int], degree: int) -> float:
    """B with ‖f‖₂ <= B ‖f‖₁ for every combination f of the contrasts, under the uniform distribution on the domain.

    B is the product of the d largest (c-1)^{c/(2(c-2))} over the columns of c > 1 values; that is e for c = 2, so that
    B = e^d on the cube. Derived in docs/guarantees.md.
    """
    varied = sorted((c for c in shape if c > 1), reverse=True)[:degree]
    return math.exp(sum(1.0 if c == 2 else c * math.log(c - 1) / (2 * (c - 2)) for c in varied))


def failure_threshold(shape: Sequence[int], degree: int, m: int) -> float:
    """√m/(2B), B from :func:`norm_comparison`: the paper's √m/(2e^d) on the cube, and its like for other products."""
    return math.sqrt(m) / (2 * norm_comparison(shape, degree))


def _default_size(shape: Sequence[int], degree: int) -> int:
    """The whole domain if it has at most WHOLE_DOMAIN_AT_MOST rows or no more than would be drawn, else default_draws."""
    size = math.prod(shape)
    return size if size <= WHOLE_DOMAIN_AT_MOST else min(size, default_draws(shape, degree))


def default_draws(shape: Sequence[int], degree: int) -> int:
    """max(2000, 4·C, M·(ln C + 7)), M the cells of the largest d-way table: so many that no cell is likely to stay empty."""
    dimension = contrast_dimension(shape, degree)
    largest_table = math.prod(sorted(shape)[-degree:])
    each = math.log(dimension) + 7
    filled = math.ceil(largest_table * each) if largest_table < 2**53 else largest_table * math.ceil(each)
    return max(_FEWEST_DRAWS, _DRAWS_PER_FUNCTION * dimension, filled)


def safe_draws(shape: Sequence[int], degree: int) -> int:
    """m with C·(e^{t-1}/t^t)^{m/C} <= 1e-6 at t = 1/(4 B²): then step 2 fails no more often than that.

    Matrix Chernoff bound (Tropp 2012, Theorem 1.1): every column of W has squared norm C, because the contrasts of a
    column and the constant make an orthogonal matrix, and W Wᵀ has mean m·I.
    """
    dimension = contrast_dimension(shape, degree)
    t = 1 / (4 * norm_comparison(shape, degree) ** 2)
    return math.ceil(dimension * math.log(dimension / 1e-6) / (1 - t + t * math.log(t)))


@dataclass(frozen=True, eq=False)
class ReducedSpace:
    """m points of the product domain, with the functions on them; it knows nothing of the data.

    Attributes:
        size: what was asked for.
        operator: W on the s points that are told apart, each with its share of the m draws as weight.
        counts: how often each of them was drawn, with sum m, shape (s,); None where all count once.
        spectrum: eigenvalues of W diag(p) Wᵀ in ascending order, shape (C,): those of W Wᵀ/m over all m draws; None where S
            is so large that the smallest was only bounded.
        smallest_singular_value: of W on all m points; where there is no spectrum, a proven lower bound on it.
        passes: it reaches the threshold of step 2; else the draw is a "Failure".
        redraws: spaces that were drawn before and failed.
    """

    size: SpaceSize
    operator: BlockOperator
    counts: Integers | None
    spectrum: Floats | None
    smallest_singular_value: float
    passes: bool = True
    redraws: int = 0

    @property
    def m(self) -> int:
        """Number of draws, or of rows of the whole domain."""
        return self.size.m

    @property
    def threshold(self) -> float:
        """Below it the draw counts as a "Failure"; see :func:`failure_threshold`."""
        return failure_threshold(self.size.shape, self.size.degree, self.size.m)

    @property
    def points(self) -> int:
        """s."""
        return self.operator.shape[1]

    @property
    def weights(self) -> Floats:
        """p, shape (s,)."""
        return self.operator.weights

    @property
    def multiplicity(self) -> Integers:
        """How often each point was drawn, shape (s,)."""
        return np.ones(self.points, dtype=np.int64) if self.counts is None else self.counts

    @cached_property
    def codes(self) -> Codes:
        """All points, shape (s, number of columns): for small spaces."""
        return self.operator.codes(np.arange(self.points))

    @cached_property
    def functions(self) -> Floats:
        """W as an array, shape (C, s): for small spaces."""
        return self.operator.functions.basis.matrix(self.codes)

    @cached_property
    def solved_on(self) -> PointOperator:
        """W as the solvers take it: kept as an array where that is small."""
        count, points = self.operator.shape
        return self.operator if count * points > _DENSE_UP_TO else DenseOperator(self.functions, self.weights)


def draw_space(
    size: SpaceSize,
    generator: np.random.Generator,
    executor: Executor | None = None,
    progress: Progress = no_progress,
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
    for redraws in range(MOST_DRAWS_OF_S):
        space = draw_once(size, generator, executor, progress, redraws)
        if space.passes:
            return space
    raise FailureError(
        f"Failure (step 2 of the algorithm, decided without the data): in {MOST_DRAWS_OF_S} draws of S the smallest "
        f"singular value of the {size.dimension:,} functions on {size.m:,} points was below {space.threshold:.3g}. Take a "
        f"larger reduced_space_size: at {safe_draws(size.shape, size.degree):,} a draw fails at most once in a million"
    )


def draw_once(
    size: SpaceSize,
    generator: np.random.Generator,
    executor: Executor | None = None,
    progress: Progress = no_progress,
    redraws: int = 0,
) -> ReducedSpace:
    """One draw of S, tested: arguments as in :func:`draw_space`, which takes the first that passes."""
    if size.whole:
        operator = BlockOperator.whole(size.shape, size.degree, executor)
        # The functions are orthonormal under the uniform measure, so W Wᵀ = m·I.
        return ReducedSpace(size, operator, None, np.ones(size.dimension), math.sqrt(size.m))
    operator, counts = _draw(size, generator, executor)
    again = f" (draw {redraws + 1})" if redraws else ""
    progress(f"testing whether {size.dimension:,} functions are independent on {size.m:,} points{again}", 0.01)
    threshold = failure_threshold(size.shape, size.degree, size.m)
    if operator.shape[1] * size.dimension**2 <= _SPECTRUM_WORK:
        values = spectrum(operator)
        smallest = math.sqrt(size.m * max(0.0, float(values[0])))
        return ReducedSpace(size, operator, counts, values, smallest, smallest >= threshold, redraws)
    test = conditioning(operator, threshold / math.sqrt(size.m))
    return ReducedSpace(size, operator, counts, None, test.smallest * math.sqrt(size.m), test.passes, redraws)


def _draw(
    size: SpaceSize, generator: np.random.Generator, executor: Executor | None
) -> tuple[BlockOperator, Integers | None]:
    cells = math.prod(size.shape)
    if size.m > _MERGED_UP_TO or size.m * _MERGED_SHARE < cells:
        return BlockOperator.uniform(size.shape, size.degree, size.m, generator, executor), None
    drawn, counts = np.unique(generator.integers(0, cells, size.m), return_counts=True)
    codes = np.stack(np.unravel_index(drawn, size.shape), axis=1).astype(np.int32)
    multiplicity = counts.astype(np.int64)
    return BlockOperator.from_codes(size.shape, size.degree, codes, multiplicity / size.m, executor), multiplicity
