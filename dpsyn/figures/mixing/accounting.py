"""σ and ε for pictures that follow a slider: the public functions of :mod:`dpsyn.privacy.dp_cda`, quick and remembered."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

from dpsyn.errors import CalibrationError
from dpsyn.privacy._mixing_rdp import rdp_limit
from dpsyn.privacy.dp_cda import Accountant, Change, Variant, dp_cda_epsilon, dp_cda_noise_scale
from dpsyn.theory.mixing_noise import MixingFacts, first_guess, smallest_sigma

TOLERANCE = 0.02
"""About the relative excess of ε, and of σ: what is shown is never less private than it says."""
_FINE, _CERTAIN = 1e-3, 1.01
"""Tolerance of an ε that is to refute a claim, and more than the discretisation can add to it then."""
_NEAR = 0.1
"""Times the first guess: so little noise is called enough. δ nearly covers everything there, and accounting is slow."""
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


@lru_cache(maxsize=4096)
def needed_sigma(
    sizes: Sizes, accountant: Accountant, order_of_mixture: int, epsilon: float, tolerance: float = TOLERANCE
) -> float | None:
    """The smallest σ for (ε, δ) under replace-one, rounded up; None where there is none.

    There is none if l is larger than the smallest class, if the accountant stays above ε at every σ, or if it does not
    cover the variant (all but the exact one: drawing without replacement only).
    """
    if order_of_mixture > sizes.smallest or (accountant != "exact" and sizes.variant != "fixed_size"):
        return None
    if accountant == "rdp" and epsilon <= 1.01 * rdp_limit(sizes.delta):
        return None
    if accountant == "published":
        try:
            return dp_cda_noise_scale(
                epsilon, sizes.delta, order_of_mixture, sizes.clip, sizes.counts, sizes.rows, accountant
            )
        except CalibrationError:
            return None

    guess = _guess(sizes, order_of_mixture, epsilon)

    def epsilon_of(sigma: float) -> float:
        found = spent_epsilon(sizes, order_of_mixture, sigma, accountant=accountant, tolerance=tolerance)
        if sigma < _NEAR * guess and found <= epsilon:
            raise _Enough(sigma)
        return found

    try:
        return smallest_sigma(epsilon_of, epsilon, guess, tolerance)
    except _Enough as enough:
        return enough.sigma


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

    The pair attains the label-change bound (:mod:`dpsyn.privacy.mixing`): all other records of both classes lie at -c·u and
    the one that moves at c·u.

    Raises:
        ParameterError: an argument is out of range; two classes are needed.
    """
    return spent_epsilon(sizes, order_of_mixture, sigma, "label_change", tolerance=_FINE) / _CERTAIN
