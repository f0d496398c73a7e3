"""DP-CDA by three accountants: ε at a given σ, and the σ that a given ε needs.

``"published"`` is Theorem 1 as printed, which is wrong; ``"rdp"`` the bound of Wang, Balle and Kasiviswanathan (2019) that
it meant, for replacing a record inside its class and without noise on the labels; ``"exact"`` the accounting by privacy loss
distributions that certifies releases. Nothing here certifies: the tolerances are those of a picture.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal

from dpsyn.errors import CalibrationError, ParameterError
from dpsyn.mechanisms.dp_cda.counterexamples import corrected_rdp_epsilon, published_epsilon, published_sigma
from dpsyn.privacy.zcdp import zcdp_rho

Accountant = Literal["published", "rdp", "exact"]
ACCOUNTANTS: tuple[Accountant, ...] = ("published", "rdp", "exact")
QUICK = 60_000
"""Records and rows of a class up to which exact accounting is quick: about 0.2 s for a σ. At a million it takes a second."""
PICTURE_TOLERANCE = 0.03
"""For axes that span decades: the exact accountant's ε is never too small and was at most 6 % too large where measured."""

_LARGEST_ORDER = 256
_FLATTEST, _LONGEST_STEP, _MOST_STEPS = -0.3, 1.5, 80
_LOWEST = math.log(1e-4)


@dataclass(frozen=True)
class MixingFacts:
    """What the accountants have to know besides l and σ.

    Args:
        n: N, all records.
        classes: K.
        smallest_class: lower bound on every N_k.
        rows: T, rows in all; T_k = max(1, T // K) of each class.
        delta: privacy δ, in (0, 1).
        clip_norm: c.
    """

    n: int
    classes: int
    smallest_class: int
    rows: int
    delta: float
    clip_norm: float = 1.0

    def __post_init__(self) -> None:
        for field, value in (("n", self.n), ("classes", self.classes), ("rows", self.rows)):
            if value < 1:
                raise ParameterError(field, value, "at least 1")
        if not 0 <= self.smallest_class <= self.n // self.classes:
            allowed = f"at least 0 and at most n / classes = {self.n // self.classes}"
            raise ParameterError("smallest_class", self.smallest_class, allowed)
        if not 0 < self.delta < 1:
            raise ParameterError("delta", self.delta, "a number with 0 < delta < 1")
        if not (math.isfinite(self.clip_norm) and self.clip_norm > 0):
            raise ParameterError("clip_norm", self.clip_norm, "a finite number > 0")

    @property
    def rows_per_class(self) -> int:
        """T_k."""
        return max(1, self.rows // self.classes)

    @property
    def is_quick(self) -> bool:
        """Whether exact accounting is quick enough for a slider."""
        return max(self.smallest_class, self.rows_per_class) <= QUICK

    @property
    def class_sizes(self) -> list[int]:
        """The two smallest classes, as small as they may be: larger ones need no more noise."""
        return [self.smallest_class] * min(self.classes, 2)


@lru_cache(maxsize=8192)
def epsilon_at(
    facts: MixingFacts,
    accountant: Accountant,
    order_of_mixture: int,
    sigma: float,
    tolerance: float = PICTURE_TOLERANCE,
) -> float:
    """ε of T rows under replace-one, cached. ``tolerance`` concerns the exact accountant, whose result is an upper bound.

    Raises:
        ParameterError: an argument is out of range, or l is larger than the smallest class.
    """
    if not 1 <= order_of_mixture <= facts.smallest_class:
        allowed = f"from 1 to the records of the smallest class, {facts.smallest_class}"
        raise ParameterError("order_of_mixture", order_of_mixture, allowed)
    if accountant == "published":
        return published_epsilon(
            order_of_mixture=order_of_mixture,
            sigma=sigma,
            n=facts.n,
            delta=facts.delta,
            rows=facts.rows,
            clip_norm=facts.clip_norm,
        )
    if accountant == "rdp":
        return corrected_rdp_epsilon(
            order_of_mixture=order_of_mixture,
            sigma=sigma,
            population=facts.smallest_class,
            rows=facts.rows_per_class,
            delta=facts.delta,
            clip_norm=facts.clip_norm,
            label_sigma=math.inf,
            largest_order=_LARGEST_ORDER,
        )
    if accountant != "exact":
        raise ParameterError("accountant", accountant, f"one of {', '.join(ACCOUNTANTS)}")
    from dpsyn.mechanisms.dp_cda.accounting import exact as mixing

    return mixing.replace_one_epsilon(
        order_of_mixture=order_of_mixture,
        sigma=sigma,
        clip_norm=facts.clip_norm,
        class_sizes=facts.class_sizes,
        rows=facts.rows_per_class,
        delta=facts.delta,
        tolerance=tolerance,
    )


@lru_cache(maxsize=1024)
def sigma_for(
    facts: MixingFacts,
    accountant: Accountant,
    order_of_mixture: int,
    epsilon: float,
    tolerance: float = PICTURE_TOLERANCE,
) -> float | None:
    """About the smallest σ whose ε by this accountant is at most ``epsilon`` (:func:`smallest_sigma`), cached.

    None where there is none: l is larger than the smallest class, or the accountant stays above ``epsilon`` at every σ
    (published: ln(1/δ)/3, because its last order is 4; rdp: ln(1/δ)/255).

    Raises:
        ParameterError: an argument is out of range.
    """
    if not (math.isfinite(epsilon) and epsilon > 0):
        raise ParameterError("epsilon", epsilon, "a finite number > 0")
    if order_of_mixture > facts.smallest_class:
        return None
    if accountant == "published":
        try:
            return published_sigma(
                epsilon=epsilon,
                order_of_mixture=order_of_mixture,
                n=facts.n,
                delta=facts.delta,
                rows=facts.rows,
                clip_norm=facts.clip_norm,
            )
        except CalibrationError:
            return None
    if accountant == "rdp" and epsilon <= 1.01 * math.log(1 / facts.delta) / (_LARGEST_ORDER - 1):
        return None

    def epsilon_of(sigma: float) -> float:
        return epsilon_at(facts, accountant, order_of_mixture, sigma, tolerance)

    return smallest_sigma(epsilon_of, epsilon, first_guess(facts, order_of_mixture, epsilon), tolerance)


def first_guess(facts: MixingFacts, order_of_mixture: int, epsilon: float) -> float:
    """About the σ that is needed, from the central limit of the privacy loss. A start for a search, not a bound.

    The losses of the 2T_k rows that a moved record can touch add up to nearly that of one Gaussian mechanism with
    μ = p·√(2T_k(e^{1/z²} - 1)), z = σl/(2c), and to no more than without sampling, μ = √(2T_k)/z. μ²/2 is about the ρ of ε.
    """
    rate = order_of_mixture / facts.smallest_class
    touched = facts.rows_per_class * min(facts.classes, 2)
    squared = 1.2 * 2 * zcdp_rho(epsilon, facts.delta) / touched
    multiplier = min(1 / math.sqrt(squared), 1 / math.sqrt(math.log1p(squared / rate**2)))
    return multiplier * 2 * facts.clip_norm / order_of_mixture


def smallest_sigma(epsilon_of: Callable[[float], float], epsilon: float, guess: float, tolerance: float) -> float:
    """A σ with epsilon_of(σ) ≤ ε that falls short of ε by at most ``tolerance``, or is that close to a σ that exceeds it.

    Secant steps in ln σ against ln ε, kept inside what is known to bracket the answer: two or three evaluations from a good
    guess. The bracket is halved where two steps have not done so, because ε leaps. What is returned has been evaluated and
    meets the target. Where hardly any noise is needed, because δ alone covers the chance that a record is drawn at all, the
    search ends at 1/10,000 of the guess.

    Raises:
        CalibrationError: the target is not met after 80 steps.
    """
    x, last = math.log(guess), None
    low, high = -math.inf, math.inf
    before = (math.inf, math.inf)
    for _ in range(_MOST_STEPS):
        height = math.log(min(max(epsilon_of(math.exp(x)) / epsilon, 1e-9), 1e9))
        if -tolerance <= height <= 0 or (height <= 0 and x <= math.log(guess) + _LOWEST):
            return math.exp(x)
        low, high = (x, high) if height > 0 else (low, x)
        if high - low <= tolerance:
            return math.exp(high)
        slope = -2.0 if last is None or last[0] == x else min((height - last[1]) / (x - last[0]), _FLATTEST)
        last = (x, height)
        step = -(height + tolerance / 2) / slope
        x += min(max(step, -_LONGEST_STEP), _LONGEST_STEP)
        if math.isfinite(high - low):
            tenth = (high - low) / 10
            x = (low + high) / 2 if high - low > before[0] / 2 else min(max(x, low + tenth), high - tenth)
        before = before[1], high - low
    raise CalibrationError(f"no noise level was found that gives epsilon = {epsilon:g}")
