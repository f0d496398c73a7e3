"""What the DP-CDA paper (Saha, Tonoy, Imtiaz 2024) claims, claim by claim, with the numbers for the user's own sizes.

Statements are paraphrased. Lower bounds ("at least") come from an attack or a dominating pair that is attained, upper bounds
from the accountants; which is which is said beside every number. Each function below computes one claim's numbers and the
sentence with them; its words stand above it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import lru_cache, partial
from typing import Any, Literal

from dpsyn import checks
from dpsyn.mechanisms.dp_cda.accounting.quick import Sizes, epsilon_at, sigma_for
from dpsyn.mechanisms.dp_cda.counterexamples import (
    attacked_epsilon,
    corrected_rdp_epsilon,
    noise_on_mnist,
    printed_third_moment,
    published_epsilon,
    refuted_on_one_class,
    remark_2,
)
from dpsyn.notation import short
from dpsyn.privacy.spec import rounded_down, rounded_up

PAPER_EPSILON = 10.0
"""A target of the paper's experiments."""
PAPER_ORDERS = tuple(2**i for i in range(10))
"""The l of its experiments, from which the best is picked."""

Verdict = Literal["holds", "half right", "fails"]
Numbers = dict[str, float | None]


@dataclass(frozen=True)
class Claim:
    """One claim of the paper.

    Attributes:
        key: short name for programs.
        verdict: ``"holds"``, ``"half right"`` or ``"fails"``.
        source: where it is made.
        statement: what is claimed, in our words.
        why: the reason.
        fix: what to do instead.
        by_how_much: one or two sentences with the numbers.
        numbers: the numbers by name; None where they are not defined (l larger than the smallest class, say).
    """

    key: str
    verdict: Verdict
    source: str
    statement: str
    why: str
    fix: str
    by_how_much: str = ""
    numbers: Mapping[str, float | None] = field(default_factory=dict)


@dataclass(frozen=True)
class _Setting:
    """The user's sizes, and the l, σ and d that the claims are held against."""

    sizes: Sizes
    n: int
    classes: int
    order: int
    sigma: float
    features: int

    @property
    def mixable(self) -> bool:
        """Whether every class holds l records."""
        return self.order <= self.sizes.smallest

    def epsilon(self, sizes: Sizes, sigma: float) -> float | None:
        """By the exact accountant; None where a class is too small."""
        tolerance = 1e-2 if self.sizes.is_quick else 0.1
        return epsilon_at(sizes, self.order, sigma, tolerance=tolerance) if self.order <= sizes.smallest else None

    @property
    def exact(self) -> float | None:
        """ε by the exact accountant."""
        return self.epsilon(self.sizes, self.sigma)

    @property
    def published(self) -> float | None:
        """ε by the paper's formula."""
        return epsilon_at(self.sizes, self.order, self.sigma, "published") if self.order <= self.n else None

    def meant(self, *, by_class: bool, **change: Any) -> float | None:
        """The bound that the paper meant, which knows no change of the label: of a class, or of the whole table."""
        population, rows = (
            (self.sizes.smallest, self.sizes.most_rows) if by_class else (self.n, self.sizes.published["rows"])
        )
        if self.order > population:
            return None
        shared: dict[str, Any] = {"order_of_mixture": self.order, "sigma": self.sigma, "clip_norm": self.sizes.clip_norm}
        return corrected_rdp_epsilon(population=population, rows=rows, delta=self.sizes.delta, **shared, **change)


_Measure = Callable[[_Setting], tuple[Numbers, str]]
_CLAIMS: list[tuple[Claim, _Measure, bool]] = []


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
    order_of_mixture = checks.whole("order_of_mixture", order_of_mixture, why="records per average")
    sigma, features = checks.number("sigma", sigma, above=0.0), checks.whole("features", features)
    return list(_measured(_Setting(sizes, n, classes, order_of_mixture, sigma, features)))


@lru_cache(maxsize=64)
def _measured(at: _Setting) -> tuple[Claim, ...]:
    found = []
    for claim, measure, mixes in _CLAIMS:
        numbers, said = measure(at)
        if mixes and not at.mixable:
            said = "Not defined for your data: l is larger than the smallest class."
        found.append(replace(claim, by_how_much=said, numbers=numbers))
    return tuple(found)


def _claim(
    verdict: Verdict, source: str, statement: str, *, why: str, fix: str, mixes: bool = False
) -> Callable[[_Measure], _Measure]:
    """The words of the claim whose numbers the function below finds. ``mixes``: it needs l records in every class."""

    def keep(measure: _Measure) -> _Measure:
        _CLAIMS.append((Claim(measure.__name__.strip("_"), verdict, source, statement, why, fix), measure, mixes))
        return measure

    return keep


def _n(value: float | None, rounded: Callable[[float, int], str] | None = None) -> str:
    """Three digits, or what there is instead of a number; ``rounded`` keeps all digits before the point."""
    if value is None:
        return "undefined"
    if math.isinf(value):
        return "∞" if value > 0 else "-∞"
    return short(value if rounded is None else float(rounded(value, max(3, len(str(math.floor(value)))))), 3)


_down = partial(_n, rounded=rounded_down)
"""Never more than it is: what ε is at least."""
_up = partial(_n, rounded=rounded_up)
"""Never less than it is: an ε that is guaranteed, a σ that is enough."""


@_claim(
    "fails",
    "Algorithm 1, lines 2 to 5",
    "Features may be standardised by the data's own mean and standard deviation; Theorem 1 covers the whole algorithm.",
    why="One record moves mean and deviation, and so every other scaled record: if all but one are equal, moving "
    "that one to the other side turns all signs. The proof bounds its effect on one average and forgets the others.",
    fix="Scale by public bounds, as dpsyn does; or estimate mean and deviation privately and pay for it.",
)
def _z_score(at: _Setting) -> tuple[Numbers, str]:
    noise: dict[str, Any] = {"order_of_mixture": at.order, "sigma": at.sigma}
    facts: dict[str, Any] = {"n": at.n, "classes": at.classes, "features": at.features, "delta": at.sizes.delta}
    attacked, said = attacked_epsilon(clip_norm=at.sizes.clip_norm, **noise, **facts), None
    if at.order <= at.n:
        said = published_epsilon(**noise, **at.sizes.published | {"rows": at.n})
    numbers: Numbers = {"epsilon_at_least": attacked, "published": said}
    if attacked is None:
        return numbers, "Not computed at this size."
    return numbers, f"With as many rows as records ε is at least {_down(attacked)} on some data; Theorem 1 says {_n(said)}."


@_claim(
    "fails",
    "Theorem 1",
    "The formula's ε is an upper bound on the privacy loss of T rows.",
    why="A misprinted factor and a sampling rate over the whole table make it too small; its two usable orders make it too "
    "large for small ε, where it cannot fall below ln(1/δ)/3.",
    fix="Account class by class with privacy loss distributions, as dpsyn does. The formula is shown and never used.",
)
def _published_bound(at: _Setting) -> tuple[Numbers, str]:
    said, exact, example = at.published, at.exact, refuted_on_one_class()
    mine = ""
    if exact is not None:
        side = "below it" if said is not None and said < exact else "above it"
        mine = (
            f"At your σ it says ε = {_n(said)}; the exact accountant's guarantee, with public scaling, is {_up(exact)}: the "
            f"formula is {side}. "
        )
    return {"published": said, "exact": exact, **example}, (
        f"{mine}A pair of datasets refutes it (N = T = 1,797, l = 1, σ = 0.809, δ = 10⁻⁵, one class, no label noise): it "
        f"says {_n(example['example_published'])}, the pair has at least {_down(example['example_attained'])}."
    )


@_claim(
    "fails",
    "Theorem 1",
    "The bound may be minimised over all Rényi orders from 3 up, with B(⌈j/2⌉) under the root.",
    why="The lemma that is quoted (Wang, Balle, Kasiviswanathan 2019) has B(2⌈j/2⌉). The printed B(3) at j = 5 is negative "
    "and its root imaginary, so that only the orders 3 and 4 exist, and these take B(2) in place of B(4).",
    fix="Put B(2⌈j/2⌉) back and start at order 2.",
)
def _misprinted_factor(at: _Setting) -> tuple[Numbers, str]:
    found: Numbers = {
        "printed_moment": printed_third_moment(order_of_mixture=at.order, sigma=at.sigma, clip_norm=at.sizes.clip_norm),
        "published": at.published,
        "with_the_right_factor": at.meant(by_class=False, smallest_order=3),
        "and_order_2": at.meant(by_class=False),
    }
    moment, printed, right, two = (_n(value) for value in found.values())
    return found, (
        f"At your σ and l the printed B(3) is {moment}. ε is {printed} with the printed factor, {right} with the right one, "
        f"{two} if order 2 is tried too, as the lemma allows."
    )


@_claim(
    "fails",
    "Theorem 1",
    "Each row samples l of all N records, so sampling amplifies privacy by p = l/N over T rows.",
    why="The l records come from one class: a record is used with probability l/Nₖ, K times as often in balanced data, "
    "though only by the Tₖ rows of its class.",
    fix="p = l/Nₖ over Tₖ rows, for the smallest class; and count a record that changes its class in both.",
    mixes=True,
)
def _sampling_rate(at: _Setting) -> tuple[Numbers, str]:
    found: Numbers = {
        "published_rate": at.order / at.n,
        "true_rate": at.order / at.sizes.smallest if at.mixable else None,
        "epsilon_published_rate": at.meant(by_class=False, label_sigma=math.inf),
        "epsilon_true_rate": at.meant(by_class=True, label_sigma=math.inf),
    }
    rate, true, wrong, right = (_n(value) for value in found.values())
    return found, (
        f"Yours: p = {rate} published, {true} in the smallest class. The bound that the paper meant, without label noise, "
        f"is ε = {wrong} with the former over T rows and {right} with the latter over Tₖ rows."
    )


@_claim(
    "fails",
    "Section 4",
    "The noise chosen by Theorem 1 reaches the ε aimed at.",
    why="That the bound is loose hides its errors for small l, not for large l.",
    fix="Calibrate σ by the exact accountant.",
)
def _published_sigma(at: _Setting) -> tuple[Numbers, str]:
    sigma, mnist = sigma_for(at.sizes, at.order, PAPER_EPSILON, "published"), noise_on_mnist(PAPER_EPSILON)
    true = None if sigma is None else at.epsilon(at.sizes, sigma)
    mine = f"For ε = 10 the formula takes σ = {_n(sigma)}; the exact accountant's ε there is {_up(true)}. "
    return {"sigma": sigma, "true_epsilon": true, **mnist}, (mine if sigma is not None else "") + (
        f"MNIST with l = 64: σ = {_n(mnist['mnist_sigma'])} is meant to give 10 and gives {_n(mnist['mnist_add_remove'])} "
        f"for adding or removing a record and up to {_n(mnist['mnist_replace_one'])} for replacing one."
    )


@_claim(
    "fails",
    "Algorithm 1",
    "The classes and their sizes may be used as they are.",
    why="The true sampling rate l/Nₖ depends on Nₖ, and the output shows which classes exist. Both are private, and the "
    "smallest class decides.",
    fix="A public list of classes with public lower bounds on their sizes; or private counts with a margin, paid from ε.",
    mixes=True,
)
def _class_counts(at: _Setting) -> tuple[Numbers, str]:
    size, smallest, exact = at.n // at.classes, at.sizes.smallest, at.exact
    even = at.epsilon(replace(at.sizes, counts=(size,) * len(at.sizes.counts)), at.sigma)
    said = f"At your σ ε is {_up(even)} for balanced classes of {_n(size)} records and {_up(exact)} for your smallest, "
    if size == smallest:
        said = f"At your σ ε is {_up(exact)}, and larger for smaller classes, so this size must be public: "
    return {
        "smallest_class": float(smallest),
        "balanced_class": float(size),
        "epsilon_balanced": even,
        "epsilon_smallest": exact,
    }, f"{said}{_n(smallest)}."


@_claim(
    "half right",
    "Section 4",
    "l is a free parameter, tried up to 512.",
    why="l different records of a class must exist. A class of one record is averaged with nothing and shows that record.",
    fix="Refuse l above the smallest class, by public or private counts.",
)
def _any_order(at: _Setting) -> tuple[Numbers, str]:
    most, tried = at.sizes.smallest, PAPER_ORDERS[-1]
    return {"order_of_mixture": float(at.order), "largest_order": float(most), "largest_of_the_paper": float(tried)}, (
        f"Your l = {_n(at.order)} {'fits' if at.mixable else 'does not fit'}: the smallest class has {_n(most)} records. "
        f"The paper's largest, {tried}, {'fits' if tried <= most else 'does not'}."
    )


@_claim(
    "fails",
    "Algorithm 1, lines 12 and 13",
    "The average of the one-hot labels needs Gaussian noise of its own.",
    why="All l records have the label k for which the row is made, and Tₖ is public: the label says nothing about a record. "
    "Noise on it costs ε in the accounting and makes labels wrong.",
    fix="Release the class without noise. A record that changes its class is accounted for in the rows of both.",
    mixes=True,
)
def _label_noise(at: _Setting) -> tuple[Numbers, str]:
    noised, plain = at.meant(by_class=True), at.meant(by_class=True, label_sigma=math.inf)
    return {"epsilon_with_label_noise": noised, "epsilon_without": plain}, (
        f"At your σ the bound that the paper meant is {_n(noised)} with label noise and {_n(plain)} without."
    )


@_claim(
    "half right",
    "Section 4",
    "There is a best l, found by comparing the accuracy of models for l = 1, 2, 4, …, 512.",
    why="There is one, but each trial is a release of the same records, and picking by accuracy reads them again. The "
    "stated ε is that of one run with l, c and σ fixed beforehand. A published seed would undo the noise altogether.",
    fix="Fix l and c without the data, or compose the trials; draw noise from the system's entropy.",
    mixes=True,
)
def _picked_order(at: _Setting) -> tuple[Numbers, str]:
    tried, each = len(PAPER_ORDERS), at.exact
    together = None if each is None else tried * each
    return {"tried": float(tried), "epsilon_each": each, "epsilon_together": together}, (
        f"One run costs ε = {_up(each)}; {tried} like it add up to {_up(together)} (and {tried}δ) by basic composition."
    )


@_claim(
    "half right",
    "Remark 1",
    "The Rényi analysis is tighter than that of the method that it follows.",
    why="It does lose the factor of the dimension. But the general subsampling bound and the conversion from Rényi "
    "divergences still overstate ε, even when corrected.",
    fix="Privacy loss distributions of the subsampled Gaussian mechanism.",
    mixes=True,
)
def _tight_analysis(at: _Setting) -> tuple[Numbers, str]:
    exact = at.exact
    rdp = epsilon_at(at.sizes, at.order, at.sigma, "rdp") if at.mixable else None
    needed = sigma_for(at.sizes, at.order, exact, "rdp") if exact and exact < math.inf else None
    more = "" if needed is None else f" To certify the latter it would need σ = {_up(needed)}."
    return {"rdp": rdp, "exact": exact, "sigma_rdp": needed, "sigma": at.sigma if at.mixable else None}, (
        f"At your σ = {_n(at.sigma)} the corrected Rényi bound is {_up(rdp)}, the exact accountant's {_up(exact)}.{more}"
    )


@_claim(
    "half right",
    "Remark 2",
    "At fixed noise the privacy risk grows with l; hence larger l needs less noise.",
    why="An average of l records moves by at most 2c/l, which outweighs that each record is used more often: the premise is "
    "the wrong way round, and the conclusion follows from the opposite.",
    fix="Read it as: at fixed noise the risk falls with l.",
)
def _remark_2(at: _Setting) -> tuple[Numbers, str]:
    found = remark_2()
    orders, values = ", ".join(map(str, found)), ", ".join(_n(value) for value in found.values())
    return {f"epsilon_l_{order}": epsilon for order, epsilon in found.items()}, (
        f"σ = 0.05, N = 60,000, ten classes, one record more or fewer: ε = {values} for l = {orders}."
    )


@_claim(
    "holds",
    "Proof of Theorem 1",
    "One record of norm at most c moves an average of l by at most 2c/l.",
    why="Two vectors of norm at most c are at most 2c apart. It needs scaling that does not depend on the data.",
    fix="Nothing to fix.",
)
def _sensitivity(at: _Setting) -> tuple[Numbers, str]:
    moved = 2 * at.sizes.clip_norm / at.order
    return {"sensitivity": moved, "clip_norm": at.sizes.clip_norm}, f"Yours: 2c/l = {_n(moved)}."
