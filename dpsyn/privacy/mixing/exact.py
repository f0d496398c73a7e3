"""Exact accounting for averages of records of one class plus Gaussian noise (DP-CDA).

One synthetic row of a class is the average of l of its N_k records, drawn without replacement, plus N(0, σ²I)
(``variant="fixed_size"``), or the sum of the records that independent coins of probability l/N_k pick, divided by l, plus
the same noise (``"poisson"``). Records lie in a ball of radius c. Exchanging one of the l moves an average by at most Δ =
2c/l; leaving one out of a Poisson sum moves it by at most Δ = c/l. Everything below depends on the noise multiplier z = σ/Δ,
the sampling rates p_k = l/N_k and the numbers of rows T_k, which are public. Throughout Q = N(0, 1), P = N(1/z, 1), P' =
N(-1/z, 1), A_p = (1-p)Q + pP and A'_p = (1-p)Q + pP'.

**What dominates one row, drawn without replacement.** Let x be the record that matters, R the law of a row that does not use
x and S that of one that does. Exchanging x for another record couples S with R (and with S', where another record stands in
the place of x), and the Gaussians of a coupled pair are at most Δ apart.

* One record more or fewer: the rows have laws (1-p)R + pS and R, p = l/N_k for the larger N_k. By joint convexity
  (A_p, Q) dominates in one direction ("remove") and (Q, A_p) in the other ("add"). Attained, hence exact.
* One record replaced inside a class: (1-p)R + pS against (1-p)R + pS'. By advanced joint convexity (Balle, Barthe, Gaboardi
  2018, Theorem 2) δ(ε) ≤ p·δ_Gauss(ln(1 + (e^ε - 1)/p)) for ε ≥ 0, which is the δ(ε) of "remove"; the same holds with the
  two datasets exchanged, which fixes δ(ε) for ε < 0 and with it a symmetric dominating pair ("replace"). An upper bound.
* One record moved from class a to class b: class a loses a record (rate l/N_a) and class b gains one (rate l/(N_b + 1)), so
  that T_a rows are dominated by "remove" and T_b rows by "add", or the other way about for the datasets exchanged.

**What dominates one row of a Poisson sum.** The coins of the other records have the same law in both datasets; given them,
the row is N(s, σ²I) with probability 1-p and N(s + x/l, σ²I) with probability p, and a mixture over s is dominated by its
worst part, which does not depend on s (joint convexity, and shifts change no divergence).

* One record more or fewer, or moved between classes: as above, with p = l/N_k as it was fixed beforehand, in both datasets.
* One record x replaced by y: (1-p)N(0) + pN(x/l) against (1-p)N(0) + pN(y/l), ‖x‖, ‖y‖ ≤ c. The pair (A_p, A'_p), x = -y of
  norm c, dominates ("swap"); it is attained, hence exact. Proof: let v = x/l, w = y/l, f the difference of the first density
  and e^ε times the second, and F = {f > 0}; δ(ε) = ∫_F f. The boundary of F moves no mass to first order, so the derivative
  of δ(ε) along a motion w' of w is e^ε p ∫_F ∇φ(x - w)·w' dx = e^ε p ∮_∂F φ(x - w) w'·n, n the outward normal. On ∂F the
  ratio of f to the density of N(0) is rising inwards along p·e^(…)·v - e^ε p·e^(…)·w, with positive factors. If w turns away
  from v with its length kept, then w'·w = 0 and w'·v < 0, so w'·n > 0 everywhere: δ(ε) grows until w points against v. There
  a longer w (w' = w) or a longer v has the same sign. So δ(ε) is largest for v = -w of length c/l, for every ε.

**Classes without rows** cost nothing. A record that moves to or from one changes a class with rows by one record; "replace"
and "swap" cover that too: put S' = R above (the same theorem bounds both orders), and y = 0.

Rows are independent given the data, so their dominating pairs compose (Zhu, Dong, Wang 2022, Theorem 10).

**Every ε here decreases when a class grows**, so a public lower bound on class sizes is enough. Proof: for p < p' the law
A_p is the mixture (1 - p/p')Q + (p/p')A_{p'}; divergences are jointly convex and vanish (take their smallest value) on
(Q, Q), so (A_p, Q) is dominated by (A_{p'}, Q), likewise (Q, A_p), (A_p, A'_p) and the symmetric pair; products of dominated
pairs are dominated. For the same reason ε grows with T_k, and it falls with σ, because more noise is post-processing.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import lru_cache

from dpsyn import checks
from dpsyn.privacy.mixing.pairs import (
    Change,
    MixedClass,
    Variant,
    check_clip_norm,
    dominating,
    mixed_classes,
)
from dpsyn.privacy.mixing.pld import Part, composed_epsilon, gaussian_multiplier, smallest_multiplier

TOLERANCE = 1e-3
"""About the relative excess of ε that the discretisation causes, and of σ that a calibration has."""

_ROUGH = 0.02
_NEAR = 1.05
_LITTLE, _MUCH = 0.7, 1.5
"""Shares of a target outside which a calibration needs no close ε."""


def noise_multiplier(*, order_of_mixture: int, sigma: float, clip_norm: float, variant: Variant = "fixed_size") -> float:
    """z, the standard deviation of the noise over the sensitivity: σ·l/(2c) of an average, σ·l/c of a Poisson sum."""
    return sigma * order_of_mixture / ((1 if variant == "poisson" else 2) * clip_norm)


def change_epsilon(
    change: Change,
    classes: Sequence[MixedClass],
    multiplier: float,
    delta: float,
    *,
    variant: Variant = "fixed_size",
    tolerance: float = TOLERANCE,
    beside: Sequence[Part] = (),
) -> float:
    """ε at δ of one kind of change to a dataset, at noise multiplier z.

    Args:
        change: one record replaced, added or removed, replaced inside its class, or given another label.
        classes: as :func:`mixed_classes` makes them.
        multiplier: z.
        delta: privacy δ, in (0, 1).
        variant: how records are drawn.
        tolerance: about the relative excess of ε by the discretisation; the result is an upper bound for every value.
        beside: what else is released from the same records, dominated by these pairs; composed with the rows.
    """
    candidates = [[*parts, *beside] for parts in dominating(classes, change, variant)]
    return worst_epsilon(candidates, multiplier, delta, tolerance)


def calibrate_sigma(
    *,
    epsilon: float,
    delta: float,
    order_of_mixture: int,
    clip_norm: float,
    class_sizes: int | Sequence[int],
    rows: int | Sequence[int],
    neighbouring: Change = "replace_one",
    tolerance: float = TOLERANCE,
    variant: Variant = "fixed_size",
    beside: Sequence[Part] = (),
) -> float:
    """The smallest σ, up to a factor 1 + ``tolerance``, whose computed ε at δ is at most ``epsilon``: it meets the target.

    Args:
        epsilon: the target, > 0.
        delta: privacy δ > 0.
        order_of_mixture: l, records per average.
        clip_norm: c, largest Euclidean norm of a scaled record.
        class_sizes: N_k, or public lower bounds on them, of the classes that rows are made from, in any order.
        rows: T_k, one number for every class or one for each.
        neighbouring: ``"replace_one"`` for the full guarantee, ``"add_remove"`` for one record more or fewer; or one part of
            the former, ``"replace_same_class"`` or ``"label_change"``.
        tolerance: relative, for σ and for the discretisation of ε.
        variant: how records are drawn.
        beside: what else is released from the same records and has to be covered by ε and δ.

    Raises:
        ParameterError: an argument is out of range.
        CalibrationError: no noise level reaches the target.
    """
    epsilon, delta = checks.number("epsilon", epsilon, above=0.0), checked_delta(delta)
    classes = mixed_classes(order_of_mixture, class_sizes, rows, variant)
    checked_multiplier(order_of_mixture, 1.0, clip_norm, delta, variant)
    candidates = tuple((*parts, *beside) for parts in dominating(classes, neighbouring, variant))
    multiplier = calibrated_multiplier(candidates, epsilon, delta, tolerance)
    # The last factor covers the way back from σ to the multiplier.
    clip_norm, order_of_mixture = float(clip_norm), int(order_of_mixture)
    return multiplier * (1 if variant == "poisson" else 2) * clip_norm / order_of_mixture * (1 + 1e-12)


@lru_cache(maxsize=512)
def calibrated_multiplier(candidates: tuple[tuple[Part, ...], ...], epsilon: float, delta: float, tolerance: float) -> float:
    """The smallest z, up to a factor 1 + ``tolerance``, at which no composition has more than ``epsilon`` at δ.

    Raises:
        CalibrationError: there is none.
    """
    guess = max(likely_multiplier(parts, epsilon, delta) for parts in candidates)
    binding, fine = list(candidates[:3]), _ROUGH

    def search(guess: float, tolerance: float) -> float:
        def epsilon_of(multiplier: float) -> float:
            return worst_epsilon(binding, multiplier, delta, fine, _LITTLE * epsilon, _MUCH * epsilon)

        return smallest_multiplier(epsilon_of, epsilon, guess, tolerance)

    multiplier = search(guess, max(tolerance, _ROUGH))
    if tolerance < _ROUGH:  # then with the composition that binds there; all of them are checked at the end
        rough = [composed_epsilon(parts, multiplier, delta, _ROUGH) for parts in candidates]
        here = max(rough)
        binding = [candidates[rough.index(here)]]
        # Where ε falls steeply with the noise it need not be known as well: an excess moves the noise by a fraction of it.
        there = composed_epsilon(binding[0], multiplier / _NEAR, delta, _ROUGH)
        slope = math.log(there / here) / math.log(_NEAR) if 0 < here <= there < math.inf else 1.0
        fine = min(tolerance * max(1.0, slope / 3), _ROUGH)
        multiplier = search(multiplier, tolerance)
    while missed := [
        parts
        for parts in candidates
        if parts not in binding and composed_epsilon(parts, multiplier, delta, fine, enough=epsilon) > epsilon
    ]:
        binding += missed
        multiplier = search(multiplier, tolerance)
    return multiplier


def likely_multiplier(parts: Sequence[Part], epsilon: float, delta: float) -> float:
    """About the z that is needed, from the central limit of the privacy loss. A start for a search, not a bound.

    The losses of mixed rows add up to nearly that of one Gaussian mechanism with μ² = Σ p²(e^{1/z²} - 1), and to no more
    than without sampling, μ² = Σ 1/z² (four times as much where both laws are mixed).
    """
    mixed = [(part.rows * part.distance**2, part.rate) for part in parts if part.multiplier is None]
    beside = [math.sqrt(part.rows) * part.distance * part.shift(0.0) for part in parts if part.multiplier is not None]
    held, drawn = sum(rows for rows, _ in mixed), sum(rows * rate**2 for rows, rate in mixed)
    without_sampling = gaussian_multiplier(epsilon, delta, held, math.hypot(*beside))
    return min(without_sampling, 1 / math.sqrt(math.log1p(held / without_sampling**2 / drawn)))


def checked_multiplier(
    order_of_mixture: int, sigma: float, clip_norm: float, delta: float, variant: Variant = "fixed_size"
) -> float:
    """The noise multiplier of arguments that are in range."""
    order_of_mixture = checks.whole("order_of_mixture", order_of_mixture, why="records per average")
    sigma = checks.number("sigma", sigma, 0.0)
    clip_norm = check_clip_norm("clip_norm", clip_norm)
    checked_delta(delta)
    return noise_multiplier(order_of_mixture=order_of_mixture, sigma=sigma, clip_norm=clip_norm, variant=variant)


def checked_delta(delta: float) -> float:
    """δ, which Gaussian noise needs."""
    why = "Gaussian noise gives no pure epsilon-differential privacy"
    return checks.number("delta", delta, above=0.0, below=1.0, why=why)


def worst_epsilon(
    candidates: Sequence[Sequence[Part]],
    multiplier: float,
    delta: float,
    tolerance: float,
    enough: float = 0.0,
    too_much: float = math.inf,
) -> float:
    """The largest ε of several compositions; those that cannot be the largest are not refined."""
    found = 0.0
    for parts in candidates:
        least = max(found, enough)
        found = max(found, composed_epsilon(parts, multiplier, delta, tolerance, enough=least, too_much=too_much))
    return found
