"""σ and ε for pictures that follow a slider: the public functions of :mod:`functions`, quick and remembered."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

from dpsyn.errors import CalibrationError
from dpsyn.mechanisms.dp_cda.accounting import exact as mixing
from dpsyn.mechanisms.dp_cda.accounting._classes import mixed_classes
from dpsyn.mechanisms.dp_cda.accounting._rdp import rdp_limit
from dpsyn.mechanisms.dp_cda.accounting.functions import Accountant, Change, Variant, dp_cda_epsilon, dp_cda_noise_scale
from dpsyn.mechanisms.dp_cda.mixing_noise import MixingFacts, first_guess, smallest_sigma

TOLERANCE = 0.02
"""About the relative excess of ε, and of σ: what is shown is never less private than it says."""
_FINE, _CERTAIN = 1e-3, 1.01
"""Tolerance of an ε that is to refute a claim, and more than the discretisation can add to it then."""
_NEAR = 0.1
"""Times the first guess: so little noise is called enough. δ nearly covers everything there, and accounting is slow."""
_LITTLE, _MUCH = 0.7, 1.5
"""Shares of the ε asked for outside which a search needs no close ε."""
_LOOSEST = 0.3
"""Tolerance of what the Rényi accountant has above its limit."""
ROUGH = 0.03
"""The same for lines of many points."""

VARIANT_NAMES: dict[Variant, str] = {"fixed_size": "exactly l records", "poisson": "about l records (Poisson)"}


@dataclass(frozen=True)
class Sizes:
    """What the accountants have to know beside l, ε and σ.

    Attributes:
        counts: N_k of the classes that rows are made from.
        rows: T_k, the same for every class.
        delta: privacy δ.
        clip: c.
        variant: how records are drawn.
    """

    counts: tuple[int, ...]
    rows: int
    delta: float
    clip: float = 1.0
    variant: Variant = "fixed_size"

    @property
    def smallest(self) -> int:
        """The smallest N_k."""
        return min(self.counts)

    @property
    def label(self) -> str:
        """For subtitles."""
        return f"{self.rows:,} rows a class, smallest class {self.smallest:,}"


class _Enough(Exception):
    """A σ that meets the target and is far below what was expected: the search may end."""

    def __init__(self, sigma: float) -> None:
        super().__init__(sigma)
        self.sigma = sigma


def needed_sigma(
    sizes: Sizes, accountant: Accountant, order_of_mixture: int, epsilon: float, tolerance: float = TOLERANCE
) -> float | None:
    """The smallest σ for (ε, δ) under replace-one, rounded up; None where there is none.

    There is none if l is larger than the smallest class, if the accountant stays above ε at every σ, or if it does not
    cover the variant (all but the exact one: drawing without replacement only).
    """
    found = needed_and_spent(sizes, accountant, order_of_mixture, epsilon, tolerance)
    return None if found is None else found[0]


@lru_cache(maxsize=4096)
def needed_and_spent(
    sizes: Sizes, accountant: Accountant, order_of_mixture: int, epsilon: float, tolerance: float
) -> tuple[float, float] | None:
    """:func:`needed_sigma`, and ε at it by the same accountant: at most what was asked for."""
    if order_of_mixture > sizes.smallest or (accountant != "exact" and sizes.variant != "fixed_size"):
        return None
    # What the Rényi accountant has above its limit falls like a power of σ.
    limit = rdp_limit(sizes.delta) if accountant == "rdp" else 0.0
    if epsilon <= 1.01 * limit:
        return None
    if accountant == "published":
        try:
            return dp_cda_noise_scale(
                epsilon, sizes.delta, order_of_mixture, sizes.clip, sizes.counts, sizes.rows, accountant
            ), epsilon
        except CalibrationError:
            return None
    guess = _guess(sizes, order_of_mixture, epsilon)
    spent: dict[float, float] = {}

    def epsilon_of(sigma: float) -> float:
        spent[sigma] = _near_target(sizes, accountant, order_of_mixture, sigma, epsilon, tolerance)
        if sigma < _NEAR * guess and spent[sigma] <= epsilon:
            raise _Enough(sigma)
        return spent[sigma] - limit

    above = epsilon - limit
    try:
        found = smallest_sigma(epsilon_of, above, guess, min(tolerance * epsilon / above, _LOOSEST))
    except _Enough as enough:
        found = enough.sigma
    return found, spent[found]


def _near_target(
    sizes: Sizes, accountant: Accountant, order_of_mixture: int, sigma: float, epsilon: float, tolerance: float
) -> float:
    """ε at σ, an upper bound; only where it is near the ε asked for does the exact accountant find it closely."""
    if accountant != "exact":
        return spent_epsilon(sizes, order_of_mixture, sigma, accountant=accountant)
    return mixing.change_epsilon(
        "replace_one",
        mixed_classes(order_of_mixture, sizes.counts, sizes.rows, sizes.variant),
        mixing.checked_multiplier(order_of_mixture, sigma, sizes.clip, sizes.delta, sizes.variant),
        sizes.delta,
        variant=sizes.variant,
        tolerance=tolerance,
        enough=_LITTLE * epsilon,
        too_much=_MUCH * epsilon,
    )


def _guess(sizes: Sizes, order_of_mixture: int, epsilon: float) -> float:
    """About σ; a Poisson sum needs about half of it."""
    classes = len(sizes.counts)
    facts = MixingFacts(
        n=sizes.smallest * classes,
        classes=classes,
        smallest_class=sizes.smallest,
        rows=sizes.rows * classes,
        delta=sizes.delta,
        clip_norm=sizes.clip,
    )
    return first_guess(facts, order_of_mixture, epsilon) / (2 if sizes.variant == "poisson" else 1)


@lru_cache(maxsize=4096)
def spent_epsilon(
    sizes: Sizes,
    order_of_mixture: int,
    sigma: float,
    change: Change = "replace_one",
    accountant: Accountant = "exact",
    tolerance: float = TOLERANCE,
) -> float:
    """ε at δ of a change of one record; the exact one is too large by ``tolerance`` at most."""
    return dp_cda_epsilon(
        sigma,
        sizes.delta,
        order_of_mixture,
        sizes.clip,
        sizes.counts,
        sizes.rows,
        accountant,
        change,
        variant=sizes.variant,
        tolerance=tolerance,
    )


def attained_epsilon(sizes: Sizes, order_of_mixture: int, sigma: float) -> float:
    """Not more than the ε at δ of two datasets that differ in one record and its label; no accounting can give less.

    The pair attains the label-change bound (:mod:`exact`): all other records of both classes lie at -c·u and
    the one that moves at c·u.

    Raises:
        ParameterError: an argument is out of range; two classes are needed.
    """
    return spent_epsilon(sizes, order_of_mixture, sigma, "label_change", tolerance=_FINE) / _CERTAIN
