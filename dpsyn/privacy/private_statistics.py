"""n and ‖f_n‖∞ with differential privacy, for those who want to publish a verdict that was computed from them."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from dpsyn import checks
from dpsyn.data.counted import AnyTable
from dpsyn.display import PRIVATE, RELEASED, Shown
from dpsyn.domain import NOT_YET_TRUE, Domain
from dpsyn.errors import DomainError, ParameterError
from dpsyn.notation import counted
from dpsyn.privacy.noise import NoiseSource
from dpsyn.privacy.spec import PUBLIC_DOMAIN_ASSUMPTION, Guarantee, PrivacySpec
from dpsyn.statistics import DatasetStatistics, bits_of

CONFIDENCE = 0.95
_MOST_ROWS = 2**51
_SMALLEST_EPSILON = 1e-12
_SOURCE = (
    "discrete Laplace mechanism (Ghosh, Roughgarden, Sundararajan 2009; Dwork and Roth 2014, Theorem 3.6) on counts of "
    "sensitivity 1"
)


@dataclass(frozen=True, repr=False)
class PrivateStatistics(Shown):
    """What may be published of a dataset under ``guarantee``: p from the public domain, the rest noisy.

    Attributes:
        p: number of bits after binarisation.
        n: number of rows; exact where one row is replaced, since n is public then.
        max_frequency: ‖f_n‖∞, the largest share of equal rows, in (0, 1].
        n_interval: holds the true n with probability at least 95 % over the noise.
        max_frequency_interval: holds the true ‖f_n‖∞ with probability at least 95 % over the noise.
        epsilon: the privacy spent, by this release alone.
        scale: scale of the noise of each count, in rows.
        guarantee: the exact claim.
        sizes: number of codes of every column, where the domain is known.
        name: how to call the dataset on a page.
    """

    p: int
    n: int
    max_frequency: float
    n_interval: tuple[int, int]
    max_frequency_interval: tuple[float, float]
    epsilon: float
    scale: float
    guarantee: Guarantee
    sizes: tuple[int, ...] | None = None
    name: str = "data"

    def _shown(self) -> tuple[str, list[str]]:
        (least, most), (low, high) = self.n_interval, self.max_frequency_interval
        secret = self.guarantee.neighbouring == "add_remove"
        about = f"{least:,} to {most:,} with 95 % confidence" if secret else "which is public"
        lines = [
            f"{self.name}: {counted(self.p, 'bit')}; {'n and ' * secret}the largest share of equal rows, with noise",
            f"  n: {self.n:,}, {about}",
            f"  largest share of equal rows: {self.max_frequency:.4g}, {low:.4g} to {high:.4g} with 95 % confidence",
            *(f"  {line}" for line in self.guarantee._shown()[1][:2]),
        ]
        return RELEASED if self.guarantee.status == "proven" else PRIVATE, lines

    def statistics(self) -> DatasetStatistics:
        """The noisy values in the place of the exact ones: what is computed from them needs no further privacy."""
        return DatasetStatistics(self.p, self.n, self.max_frequency, sizes=self.sizes, name=self.name)


def private_statistics(
    source: AnyTable | DatasetStatistics,
    spec: PrivacySpec,
    noise: NoiseSource | np.random.Generator | None = None,
    *,
    domain: Domain | None = None,
) -> PrivateStatistics:
    """n and ‖f_n‖∞ under ε-differential privacy (δ is not used).

    Let c_x be the number of rows equal to x, L = max_x c_x = n·‖f_n‖∞ and R = n - L.

    Replacing one row lowers one count by 1 and raises another by 1, so |c'_x - c_x| ≤ 1 for all x and |L' - L| ≤ 1: if x
    attains L, then L' ≥ c'_x ≥ L - 1, and the other way round. n is public. L + Z is released.

    Adding a row x raises c_x alone. If c_x = L, then L' = L + 1 and R' = R; else L' = L and R' = R + 1. Exactly one of L
    and R changes, by 1, so the pair (L, R) has L1 sensitivity 1 under adding or removing a row. L + Z and R + Z' are
    released, and n as their sum: both for one ε, where n and L released side by side would need two.

    Z and Z' are discrete Laplace with scale 1/ε: P(Z = z) ∝ exp(-ε|z|). What is impossible is clipped away: counts below
    0, L above n, and L below n / (number of possible rows). Clipping and dividing read the noisy counts only.

    Args:
        source: a table, or exact statistics of one, such as those of a large file.
        spec: ε and the neighbouring relation.
        noise: where the noise comes from: None (or an unseeded source) draws on the system's entropy, exactly; a
            generator makes the release repeatable, hence a demonstration.
        domain: the domain behind ``source`` if that is statistics; a table brings its own. Unless it is confirmed as
            public, the guarantee is marked as unconfirmed, because bounds and categories read from the data change with
            the data.

    Raises:
        ParameterError: n is 2^51 or more, or ε is below 1e-12: such numbers do not fit whole-number noise.
        DomainError: ``domain`` does not belong to ``source``.
    """
    checks.instance("spec", spec, PrivacySpec, "a dpsyn.PrivacySpec")
    checks.instance("domain", domain, Domain, "a dpsyn.Domain, or None", optional=True)
    statistics, known = _facts(source, domain)
    if statistics.n >= _MOST_ROWS:
        raise ParameterError("n", statistics.n, "fewer than 2^51 rows")
    if spec.epsilon < _SMALLEST_EPSILON:
        raise ParameterError("epsilon", spec.epsilon, f"at least {_SMALLEST_EPSILON:g}")
    checks.instance(
        "noise",
        noise,
        NoiseSource | np.random.Generator,
        "a numpy.random.Generator, or None for the system's entropy",
        optional=True,
    )
    draw = noise if isinstance(noise, NoiseSource) else NoiseSource(noise)
    # Rounded up, so that 1/scale is never above ε.
    scale = math.nextafter(1 / spec.epsilon, math.inf)
    largest = round(statistics.n * statistics.max_frequency)
    possible = known.size if known is not None else 2**statistics.p
    if spec.neighbouring == "replace_one":
        noisy = int(draw.discrete_laplace(np.array([largest], dtype=np.int64), scale)[0])
        released = _of_public_rows(statistics.n, noisy, _half_width(spec.epsilon, 1 - CONFIDENCE), possible)
    else:
        pair = draw.discrete_laplace(np.array([largest, statistics.n - largest], dtype=np.int64), scale)
        released = _of_pair(int(pair[0]), int(pair[1]), spec.epsilon, possible)
    n, max_frequency, n_interval, interval = released
    # What is impossible is clipped from a value and from the upper end of its interval in different ways.
    n_interval = (n_interval[0], max(n, n_interval[1]))
    interval = (interval[0], max(max_frequency, interval[1]))
    return PrivateStatistics(
        p=statistics.p,
        n=n,
        max_frequency=max_frequency,
        n_interval=n_interval,
        max_frequency_interval=interval,
        epsilon=spec.epsilon,
        scale=scale,
        guarantee=_guarantee(spec, known, seeded=draw.seeded),
        sizes=known.shape if known is not None else None,
        name=statistics.name,
    )


def _facts(source: AnyTable | DatasetStatistics, domain: Domain | None) -> tuple[DatasetStatistics, Domain | None]:
    if isinstance(source, AnyTable):
        if domain is not None and domain.confirmed() != source.domain.confirmed():
            raise DomainError("the domain is not the table's own; make a table over it with with_domain")
        return source.statistics(), domain or source.domain
    checks.instance("source", source, DatasetStatistics, "a dpsyn.Table, or statistics of one")
    if domain is not None:
        bits = {sum(bits_of(a, two_valued_as_bit=as_bit) for a in domain.attributes) for as_bit in (False, True)}
        if source.p not in bits or source.sizes not in (None, domain.shape):
            raise DomainError("the domain is not the one that the statistics were computed over")
    return source, domain


_Released = tuple[int, float, tuple[int, int], tuple[float, float]]


def _least(n: int, possible: int) -> int:
    """The smallest largest count that n rows can have: some row comes up at least n / possible times."""
    return max(1, -(-n // possible))


def _of_public_rows(n: int, noisy: int, width: int, possible: int) -> _Released:
    least = _least(n, possible)

    def share(count: int) -> float:
        return min(max(count, least), n) / n

    return n, share(noisy), (n, n), (share(noisy - width), share(noisy + width))


def _of_pair(largest: int, rest: int, epsilon: float, possible: int) -> _Released:
    n = max(1, max(largest, 0) + max(rest, 0))
    count = min(max(largest, _least(n, possible)), n)
    # The sum of two noises for n; for the share, the two counts at half the failure probability each.
    n_width = _half_width_of_sum(epsilon, 1 - CONFIDENCE)
    width = _half_width(epsilon, (1 - CONFIDENCE) / 2)
    n_low = max(1, largest + rest - n_width)
    n_interval = (n_low, max(n_low, largest + rest + n_width))

    def share(some: int, others: int) -> float:
        equal, remaining = max(some, 1), max(others, 0)
        return max(equal / (equal + remaining), 1 / possible)

    return n, count / n, n_interval, (share(largest - width, rest + width), share(largest + width, rest - width))


def _half_width(epsilon: float, failure_probability: float) -> int:
    """Smallest t with P(|Z| > t) = 2 r^{t+1} / (1 + r) at most the failure probability; r = exp(-ε)."""
    target = math.log(failure_probability * (1 + math.exp(-epsilon)) / 2)
    t = max(0, math.floor(-target / epsilon) - 1)
    while -epsilon * (t + 1) > target:
        t += 1
    return t


def _half_width_of_sum(epsilon: float, failure_probability: float) -> int:
    """Smallest t with P(|Z + Z'| > t) at most the failure probability.

    P(Z + Z' = k) = ((1-r)/(1+r))² r^|k| (|k| + (1+r²)/(1-r²)); summed over |k| > t this is
    2 r^{t+1} / (1+r)² · ((t+1)(1-r) + r + (1+r²)/(1+r)).
    """
    r, gap = math.exp(-epsilon), -math.expm1(-epsilon)

    def log_tail(t: int) -> float:
        return math.log(2) - epsilon * (t + 1) - 2 * math.log1p(r) + math.log((t + 1) * gap + r + (1 + r * r) / (1 + r))

    target = math.log(failure_probability)
    low, high = -1, 1
    while log_tail(high) > target:
        low, high = high, 2 * high
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if log_tail(middle) > target else (low, middle)
    return high


def _guarantee(spec: PrivacySpec, domain: Domain | None, *, seeded: bool) -> Guarantee:
    assumptions = [
        "This release is counted beside every other release of the same data: the epsilons add up.",
        PUBLIC_DOMAIN_ASSUMPTION,
    ]
    if spec.neighbouring == "replace_one":
        assumptions.append("The number of rows is public.")
    confirmed = domain is not None and domain.is_public
    if not confirmed:
        assumptions.insert(0, f"{NOT_YET_TRUE}: nobody confirmed that the domain is public.")
    found = Guarantee(
        spec.epsilon,
        0.0,
        spec.neighbouring,
        _SOURCE,
        tuple(assumptions),
        "proven" if confirmed else "unconfirmed_domain",
        spec.unit,
    )
    return found.of_a_demonstration() if seeded else found
