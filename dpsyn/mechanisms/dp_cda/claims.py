"""What the DP-CDA paper (Saha, Tonoy, Imtiaz 2024) claims, claim by claim, with the numbers for the user's own sizes.

Statements are paraphrased. Lower bounds ("at least") come from an attack or a dominating pair that is attained, upper bounds
from the accountants; which is which is said beside every number.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
from scipy.special import log_ndtr

from dpsyn.errors import ParameterError
from dpsyn.mechanisms.dp_cda._claim_texts import SAID, TOO_LARGE, Number, Verdict
from dpsyn.mechanisms.dp_cda.accounting.functions import dp_cda_epsilon
from dpsyn.mechanisms.dp_cda.accounting.quick import Sizes, epsilon_at, sigma_for
from dpsyn.mechanisms.dp_cda.counterexamples import (
    corrected_rdp_epsilon,
    published_epsilon,
    published_sigma,
    remark_2,
    z_score_attack_epsilon,
)

PAPER_EPSILON = 10.0
"""A target of the paper's experiments."""
PAPER_ORDERS = tuple(2**i for i in range(10))
"""The l of its experiments, from which the best is picked."""
_LARGEST_ATTACKED_CLASS = 10_000


@dataclass(frozen=True)
class Claim:
    """One claim of the paper.

    Attributes:
        key: short name for programs.
        source: where it is made.
        statement: what is claimed, in our words.
        verdict: ``"holds"``, ``"half right"`` or ``"fails"``.
        by_how_much: one or two sentences with the numbers.
        why: the reason.
        fix: what to do instead.
        numbers: the numbers by name; None where they are not defined (l larger than the smallest class, say).
    """

    key: str
    source: str
    statement: str
    verdict: Verdict
    by_how_much: str
    why: str
    fix: str
    numbers: Mapping[str, Number]

    def to_dict(self) -> dict[str, Any]:
        """Plain data, fit for JSON: infinite numbers are None."""
        numbers = {k: v if v is not None and math.isfinite(v) else None for k, v in self.numbers.items()}
        text = {name: getattr(self, name) for name in ("key", "source", "statement", "verdict", "by_how_much", "why", "fix")}
        return text | {"numbers": numbers}


def claims(
    *,
    n: int,
    classes: int,
    smallest_class: int,
    order_of_mixture: int,
    sigma: float,
    rows: int,
    delta: float,
    features: int,
    clip_norm: float = 1.0,
) -> list[Claim]:
    """Every claim that dpsyn had to check, the fatal ones first.

    Args:
        n: N, all records.
        classes: K.
        smallest_class: lower bound on every N_k.
        order_of_mixture: l.
        sigma: σ of the features.
        rows: T, rows in all; T_k = max(1, T // K).
        delta: privacy δ, in (0, 1).
        features: number of numeric features, d in the z-score attack.
        clip_norm: c.

    Raises:
        ParameterError: an argument is out of range. l larger than the smallest class is not: its numbers are None.
    """
    sizes = Sizes.stated(n, classes, smallest_class, rows, delta, clip_norm)
    if order_of_mixture < 1:
        raise ParameterError("order_of_mixture", order_of_mixture, "at least 1 record per average")
    if features < 1:
        raise ParameterError("features", features, "at least 1")
    if not (math.isfinite(sigma) and sigma > 0):
        raise ParameterError("sigma", sigma, "a finite number > 0")
    numbers = _numbers(_Facts(sizes, n, classes, order_of_mixture, sigma, features))
    too_large = order_of_mixture > smallest_class
    return [
        Claim(
            key=key,
            source=said.source,
            statement=said.statement,
            verdict=said.verdict,
            by_how_much=TOO_LARGE if too_large and said.needs_a_mixture else said.by_how_much(numbers[key]),
            why=said.why,
            fix=said.fix,
            numbers=numbers[key],
        )
        for key, said in SAID.items()
    ]


@dataclass(frozen=True)
class _Facts:
    """The user's sizes, and the l, σ and d that the claims are held against."""

    sizes: Sizes
    n: int
    classes: int
    order: int
    sigma: float
    features: int


@lru_cache(maxsize=64)
def _numbers(facts: _Facts) -> dict[str, dict[str, Number]]:
    sizes, n, order, sigma = facts.sizes, facts.n, facts.order, facts.sigma
    fine = 1e-2 if sizes.is_quick else 0.1
    balanced_class, mixable, fits = n // facts.classes, order <= sizes.smallest, order <= n
    balanced = Sizes.stated(n, facts.classes, balanced_class, sizes.total or 1, sizes.delta, sizes.clip_norm)
    exact = epsilon_at(sizes, order, sigma, tolerance=fine) if mixable else None
    if_balanced = epsilon_at(balanced, order, sigma, tolerance=fine) if order <= balanced_class else None
    published = epsilon_at(sizes, order, sigma, "published") if fits else None
    of_paper = sigma_for(sizes, order, PAPER_EPSILON, "published")

    def meant(population: int, rows: int, **change: Any) -> float:
        """The bound that the paper meant, which knows no change of the label."""
        shared: dict[str, Any] = {"order_of_mixture": order, "sigma": sigma, "delta": sizes.delta, **change}
        return corrected_rdp_epsilon(population=population, rows=rows, clip_norm=sizes.clip_norm, **shared)

    whole = (n, sizes.total or 1)
    by_class = (sizes.smallest, sizes.rows)
    return {
        "z_score": {
            "epsilon_at_least": _attack(facts),
            "published": published_epsilon(order_of_mixture=order, sigma=sigma, **sizes.published | {"rows": n})
            if fits else None,
        },
        "published_bound": {"published": published, "exact": exact, **_fixed_example()},
        "misprinted_factor": {
            "printed_moment": printed_third_moment(order_of_mixture=order, sigma=sigma, clip_norm=sizes.clip_norm),
            "published": published,
            "with_the_right_factor": meant(*whole, smallest_order=3) if fits else None,
            "and_order_2": meant(*whole) if fits else None,
        },
        "sampling_rate": {
            "published_rate": order / n,
            "true_rate": order / sizes.smallest if mixable else None,
            "epsilon_published_rate": meant(*whole, label_sigma=math.inf) if fits else None,
            "epsilon_true_rate": meant(*by_class, label_sigma=math.inf) if mixable else None,
        },
        "published_sigma": {
            "sigma": of_paper,
            "true_epsilon": None if of_paper is None else epsilon_at(sizes, order, of_paper, tolerance=fine),
            **_mnist_example(),
        },
        "class_counts": {
            "smallest_class": float(sizes.smallest),
            "balanced_class": float(balanced_class),
            "epsilon_balanced": if_balanced,
            "epsilon_smallest": exact,
        },
        "any_order": {
            "order_of_mixture": float(order),
            "largest_order": float(sizes.smallest),
            "largest_of_the_paper": float(PAPER_ORDERS[-1]),
        },
        "label_noise": {
            "epsilon_with_label_noise": meant(*by_class) if mixable else None,
            "epsilon_without": meant(*by_class, label_sigma=math.inf) if mixable else None,
        },
        "picked_order": {
            "tried": float(len(PAPER_ORDERS)),
            "epsilon_each": exact,
            "epsilon_together": None if exact is None else len(PAPER_ORDERS) * exact,
        },
        "tight_analysis": {
            "rdp": epsilon_at(sizes, order, sigma, "rdp") if mixable else None,
            "exact": exact,
            "sigma_rdp": sigma_for(sizes, order, exact, "rdp") if exact and exact < math.inf else None,
            "sigma": sigma if mixable else None,
        },
        "remark_2": {f"epsilon_l_{order}": epsilon for order, epsilon in _remark_2().items()},
        "sensitivity": {"sensitivity": 2 * sizes.clip_norm / order, "clip_norm": sizes.clip_norm},
    }  # fmt: skip


def printed_third_moment(*, order_of_mixture: int, sigma: float, clip_norm: float = 1.0) -> float:
    """B(3) = -(e^{2ε(3)} - 3e^{ε(2)} + 2) with σ_y = σ_x, the factor printed under the root at j = 5. Negative for every σ.

    With ε(α) = αu: e^{6u} - 1 - 3(e^{2u} - 1) is positive because (e^{2u})³ is convex in e^{2u} and 3(e^{2u} - 1) is its
    tangent at u = 0.
    """
    unit = (2 * clip_norm**2 + 1) / (sigma * order_of_mixture) ** 2
    if unit > 100:
        return -math.inf
    difference = math.expm1(2 * unit)
    return -(difference**3 + 3 * difference**2)


def _attack(facts: _Facts) -> Number:
    """ε that the z-score attack refutes, for T = N rows as in the paper; None where there is nothing to mix."""
    size, sizes = facts.n // facts.classes, facts.sizes
    if size < facts.order or facts.n < 2:
        return None
    if size <= _LARGEST_ATTACKED_CLASS:
        return z_score_attack_epsilon(
            n=facts.n,
            features=facts.features,
            order_of_mixture=facts.order,
            sigma=facts.sigma,
            delta=sizes.delta,
            clip_norm=sizes.clip_norm,
            classes=facts.classes,
        )
    if facts.classes == 1:
        return None
    common = min(sizes.clip_norm, math.sqrt(facts.features / (facts.n - 1)))
    return gaussian_attack(math.sqrt((facts.classes - 1) * size) * 2 * common / facts.sigma, sizes.delta)


def gaussian_attack(shift: float, delta: float) -> float:
    """The largest ε that a threshold test refutes for N(0, 1) against N(``shift``, 1): a lower bound on ε at δ.

    The rows of the classes without the odd record in :func:`z_score_attack_epsilon` are such a pair.
    """
    thresholds = np.linspace(-8.0, 8.0, 801)
    hits = log_ndtr(thresholds)
    usable = hits > math.log(delta)
    with np.errstate(over="ignore"):
        refuted = hits[usable] + np.log1p(-np.exp(math.log(delta) - hits[usable])) - log_ndtr(thresholds[usable] - shift)
    return max(0.0, float(refuted.max()))


_remark_2 = lru_cache(maxsize=1)(remark_2)


@lru_cache(maxsize=1)
def _fixed_example() -> dict[str, float]:
    """N = T = 1797, l = 1, σ = 0.809, δ = 1e-5, one class, no label noise: "all equal but one record" exceeds the claim."""
    attained = dp_cda_epsilon(0.809, 1e-5, 1, 1.0, [1797], [1797], neighbouring="add_remove", tolerance=1e-4)
    shared: dict[str, Any] = {"order_of_mixture": 1, "sigma": 0.809, "n": 1797, "rows": 1797, "delta": 1e-5}
    return {"example_published": published_epsilon(label_sigma=math.inf, **shared), "example_attained": attained}


@lru_cache(maxsize=1)
def _mnist_example() -> dict[str, float]:
    """N = T = 60,000, K = 10, l = 64, δ = 1e-5: the σ that the paper would use for ε = 10, and its true ε."""
    sigma = published_sigma(epsilon=PAPER_EPSILON, order_of_mixture=64, n=60_000, delta=1e-5)
    return {
        "mnist_sigma": sigma,
        "mnist_add_remove": dp_cda_epsilon(sigma, 1e-5, 64, 1.0, 6000, 6000, neighbouring="add_remove"),
        "mnist_replace_one": dp_cda_epsilon(sigma, 1e-5, 64, 1.0, 6000, 6000),
    }
