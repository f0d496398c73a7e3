"""σ and ε for pages: the functions of :mod:`functions`, remembered, with a quicker search for the exact σ."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

from dpsyn import checks
from dpsyn.errors import CalibrationError, ParameterError
from dpsyn.mechanisms.dp_cda.accounting.functions import Accountant, dp_cda_epsilon, dp_cda_noise_scale
from dpsyn.mechanisms.dp_cda.counterexamples import published_epsilon, published_sigma
from dpsyn.privacy.mixing.exact import likely_multiplier, noise_multiplier
from dpsyn.privacy.mixing.pairs import Change, Variant, check_clip_norm, dominating, mixed_classes

QUICK = 60_000
"""Records and rows of a class up to which exact accounting is quick: about 0.2 s for a σ. At a million it takes a second."""
TOLERANCE = 0.02
"""Relative excess of the exact ε, which is never too small, and how far below a target the ε of the σ found may be."""
ROUGH = 0.03
"""The same for axes that span decades: the exact ε was at most 6 % too large where measured."""

FINE = 1e-3
"""Tolerance of a release, and of an ε that is to refute a claim."""
_CERTAIN = 1.01
"""More than the discretisation can add to such an ε."""


@dataclass(frozen=True)
class Sizes:
    """What the accountants have to know beside l, ε and σ.

    Attributes:
        counts: N_k, or lower bounds on them, of the classes that rows are made from; two of the smallest are enough.
        rows: T_k of each of these classes, or one number for all.
        delta: privacy δ.
        clip_norm: c.
        variant: how records are drawn.
        neighbouring: what may change.
        n, total: N and T of the published formula, which knows no classes; None takes the sums over the classes.
    """

    counts: tuple[int, ...]
    rows: int | tuple[int, ...]
    delta: float
    clip_norm: float = 1.0
    variant: Variant = "fixed_size"
    neighbouring: Change = "replace_one"
    n: int | None = None
    total: int | None = None

    @classmethod
    def stated(
        cls,
        n: int,
        classes: int,
        smallest_class: int | None,
        rows: int,
        delta: float,
        clip_norm: float = 1.0,
        neighbouring: Change = "replace_one",
    ) -> Sizes:
        """N records in K classes of at least so many each, and T rows in all, T_k = max(1, T // K) of each class.

        Where nobody knows the smallest class, n // K stands in, the largest that it can be.

        Raises:
            ParameterError: an argument is out of range.
        """
        n, rows = (checks.whole(name, value, most=checks.LARGEST_COUNT) for name, value in (("n", n), ("rows", rows)))
        classes = checks.whole("classes", classes)
        smallest_class = n // classes if smallest_class is None else smallest_class
        smallest_class = checks.whole("smallest_class", smallest_class, 0, n // classes, "no more than n / classes")
        delta = checks.number("delta", delta, 0.0, below=1.0, why="the accountants need delta > 0")
        clip_norm = check_clip_norm("clip_norm", clip_norm)
        counts = (smallest_class,) * min(classes, 2)
        return cls(counts, max(1, rows // classes), delta, clip_norm, neighbouring=neighbouring, n=n, total=rows)

    @property
    def smallest(self) -> int:
        """The smallest N_k."""
        return min(self.counts)

    @property
    def rows_by_class(self) -> tuple[int, ...]:
        """T_k of each class."""
        return self.rows if isinstance(self.rows, tuple) else (self.rows,) * len(self.counts)

    @property
    def most_rows(self) -> int:
        """The largest T_k."""
        return max(self.rows_by_class)

    @property
    def is_quick(self) -> bool:
        """Whether exact accounting is quick enough for a slider."""
        return max(self.smallest, self.most_rows) <= QUICK

    @property
    def known(self) -> dict[str, Any]:
        """What the functions of :mod:`functions` take beside σ or ε, l and the accountant."""
        return {
            "delta": self.delta,
            "clip": self.clip_norm,
            "class_counts": self.counts,
            "rows_per_class": self.rows,
            "neighbouring": self.neighbouring,
            "variant": self.variant,
        }

    @property
    def published(self) -> dict[str, Any]:
        """N, T, δ and c, as the published formula takes them."""
        n = sum(self.counts) if self.n is None else self.n
        total = sum(self.rows_by_class) if self.total is None else self.total
        return {"n": n, "rows": total, "delta": self.delta, "clip_norm": self.clip_norm}


@lru_cache(maxsize=8192)
def epsilon_at(
    sizes: Sizes,
    order_of_mixture: int,
    sigma: float,
    accountant: Accountant = "exact",
    tolerance: float = ROUGH,
) -> float:
    """ε at this σ, by :func:`dp_cda_epsilon`.

    Raises:
        ParameterError: an argument is out of range, or l is larger than the smallest class.
    """
    if accountant == "published":
        return published_epsilon(order_of_mixture=order_of_mixture, sigma=sigma, **sizes.published)
    chosen: dict[str, Any] = {"order_of_mixture": order_of_mixture, "accountant": accountant, "tolerance": tolerance}
    return dp_cda_epsilon(sigma, **sizes.known, **chosen)


@lru_cache(maxsize=2048)
def sigma_for(
    sizes: Sizes,
    order_of_mixture: int,
    epsilon: float,
    accountant: Accountant = "exact",
    tolerance: float = ROUGH,
) -> float | None:
    """About the smallest σ whose ε is at most ``epsilon``; with a ``tolerance`` of :data:`FINE` it is the σ of a release.

    A larger tolerance makes the exact one quicker, and it is never too small.

    None where there is none: l is larger than the smallest class, the accountant does not cover the variant, or it stays
    above ``epsilon`` at every σ (published: ln(1/δ)/3, because its last order is 4; rdp: its limit at order 256).

    Raises:
        ParameterError: an argument is out of range.
    """
    if not (math.isfinite(epsilon) and epsilon > 0):
        raise ParameterError("epsilon", epsilon, "a finite number > 0")
    if order_of_mixture > sizes.smallest or (accountant != "exact" and sizes.variant != "fixed_size"):
        return None
    try:
        if accountant == "published":
            return published_sigma(epsilon=epsilon, order_of_mixture=order_of_mixture, **sizes.published)
        # The Rényi one is quick as it is.
        chosen: dict[str, Any] = {"accountant": accountant, "tolerance": FINE if accountant == "rdp" else tolerance}
        return dp_cda_noise_scale(epsilon, order_of_mixture=order_of_mixture, **sizes.known, **chosen)
    except CalibrationError:
        return None


def attained_epsilon(sizes: Sizes, order_of_mixture: int, sigma: float) -> float:
    """Not more than the ε at δ of two datasets that differ in one record and its label; no accounting can give less.

    The pair attains the label-change bound (:mod:`exact`): all other records of both classes lie at -c·u and the one that
    moves at c·u.

    Raises:
        ParameterError: an argument is out of range; two classes are needed.
    """
    return epsilon_at(replace(sizes, neighbouring="label_change"), order_of_mixture, sigma, tolerance=FINE) / _CERTAIN


def first_guess(sizes: Sizes, order_of_mixture: int, epsilon: float) -> float:
    """About the σ that is needed (:func:`likely_multiplier`)."""
    classes = mixed_classes(order_of_mixture, sizes.counts, sizes.rows, sizes.variant)
    parts, *_ = dominating(classes, sizes.neighbouring, sizes.variant)
    unit = noise_multiplier(order_of_mixture=order_of_mixture, sigma=1.0, clip_norm=sizes.clip_norm, variant=sizes.variant)
    return likely_multiplier(parts, epsilon, sizes.delta) / unit
