"""An audit of a guarantee by running the mechanism: a lower bound on ε that holds with a stated confidence.

Run the mechanism many times on two neighbouring datasets D and D' and reduce each output to one number, its score. For any
set of scores S an (ε, δ)-differentially private mechanism has P(S | D) ≤ e^ε P(S | D') + δ. Which half-line S to look at is
chosen on one part of the runs; on the other part the two probabilities are bounded by Clopper and Pearson's exact intervals
(1934), each at half of the error allowed. So

    ε ≥ ln((lower bound of P(S | D) - δ) / upper bound of P(S | D'))

with that confidence, whatever the mechanism is and however the score was chosen. The likelihood ratio of the two outputs is
the best score there is (Neyman and Pearson). An audit can refute a claim; it never proves one.

One claim at a tiny δ says little about events that are seen in 20,000 runs. But the accounting behind it makes a claim for
every δ, its *profile*, and a fault shows best at some other δ: which one, is again chosen on the first part of the runs.

A score that keeps every bit of a floating-point output audits the bits as well: it refutes floating-point Laplace noise,
whose sums are rounded differently for different data (Mironov 2012). Round scores to audit the noise alone.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any, Literal, TypedDict, Unpack

import numpy as np
import numpy.typing as npt

from dpsyn import checks
from dpsyn.errors import ParameterError
from dpsyn.privacy.spec import rounded_down, rounded_up

Floats = npt.NDArray[np.float64]
Scores = Callable[[int, np.random.Generator], npt.ArrayLike]
"""(how many runs, generator) -> one score for each run, shape (runs,)."""
Claim = tuple[float, float]
"""ε and δ."""
SHARES = (0.0, 0.1, 0.2, 0.3, 0.5, 0.7)
"""Of a claimed ε, for a profile of those δ that belong to them."""
_DELTAS = (0.001, 0.01, 0.05, 0.1, 0.2)

CONFIDENCE = 0.99
_DRAWN = 200
RUNS = 20_000
_CUTS = 400
_CHUNK = 5_000
_CAUTION = 1e-3


def log_ratio(kind: str, outputs: npt.NDArray[Any], first: Any, second: Any, scales: Any) -> Floats:
    """ln P(output | first) - ln P(output | second), summed over the last axis of the outputs.

    Args:
        kind: ``"gaussian"`` noise on numbers, ``"choice"`` by scores, or any other name for Laplace noise.
        outputs: noisy numbers, or positions that were chosen, shape (…, k).
        first: the numbers of one dataset, or its scores, shape (s,).
        second: those of the other.
        scales: of the noise, or of the choice.
    """
    if kind == "choice":
        from scipy.special import log_softmax

        return np.asarray((log_softmax(first / scales) - log_softmax(second / scales))[outputs].sum(axis=-1))
    if kind == "gaussian":
        return np.asarray((((outputs - second) ** 2 - (outputs - first) ** 2) / (2 * scales**2)).sum(axis=-1))
    return np.asarray(((np.abs(outputs - second) - np.abs(outputs - first)) / scales).sum(axis=-1))


def log_ratio_if_picked(values: Floats, shift: float, rate: float, noise_scale: float) -> Floats:
    """ln of (1-p) φ(v) + p φ(v - shift) over φ(v), the density of noise alone, for every value v.

    Args:
        values: any shape.
        shift: by how much a record moves a value that it has a part in.
        rate: p, with which probability it has one.
        noise_scale: σ.
    """
    with np.errstate(divide="ignore"):
        stays = np.log1p(-rate)
    return np.asarray(np.logaddexp(stays, np.log(rate) + (shift * values - shift**2 / 2) / noise_scale**2))


@dataclass(frozen=True, eq=False)
class TradeOff:
    """What the tested runs say of every test "it was the first dataset if the score is at least so much".

    Attributes:
        false_positives: share of the runs on the second dataset that pass, ascending, shape (cuts,).
        false_negatives: share of the runs on the first one that do not.
        margin: with the audit's confidence all true shares, at all cuts at once, are no further off than that (Dvoretzky,
            Kiefer, Wolfowitz 1956; Massart 1990).
    """

    false_positives: Floats
    false_negatives: Floats
    margin: float

    @classmethod
    def of(cls, testing: tuple[Floats, Floats], confidence: float) -> TradeOff:
        """Of scores on the first and on the second dataset."""
        cuts = np.unique(np.quantile(np.concatenate(testing), np.linspace(0, 1, _DRAWN)))[::-1]
        first, second = (np.searchsorted(np.sort(scores), cuts, side="left") / len(scores) for scores in testing)
        # Two empirical laws share the error: P(one is off by more than m) ≤ 2·exp(-2·n·m²).
        margin = math.sqrt(math.log(4 / (1 - confidence)) / (2 * min(map(len, testing))))
        return cls(np.append(0.0, 1 - second), np.append(1.0, first), margin)

    def band(self, false_positives: Floats) -> tuple[Floats, Floats]:
        """Between which two the true share of false negatives lies at these false positives."""
        low, high = (
            np.interp(false_positives + side, self.false_positives, self.false_negatives) - side
            for side in (self.margin, -self.margin)
        )
        return np.maximum(low, 0.0), np.minimum(high, 1.0)


def claimed_trade_off(claims: Sequence[Claim], false_positives: Floats) -> Floats:
    """The least share of false negatives that claims allow any test: the largest of max(0, 1 - δ - e^ε·α, e^-ε·(1 - δ - α))
    at α false positives (Kairouz, Oh, Viswanath 2015; Dong, Roth, Su 2022)."""
    least = np.zeros_like(false_positives)
    for epsilon, delta in claims:
        # min: e^ε·α is infinite at an ε beyond the range of numbers.
        first = 1 - delta - np.minimum(np.exp(min(epsilon, 700.0)) * false_positives, 1.0)
        least = np.maximum(least, np.maximum(first, math.exp(-epsilon) * (1 - delta - false_positives)))
    return least


@dataclass(frozen=True)
class Audit:
    """What an audit found.

    Attributes:
        epsilon: lower bound on the true ε at ``delta``, 0 or more; true with probability ``confidence`` at least.
        delta: the δ of the claim.
        confidence: of the bound, and of :attr:`sharpest` together with it.
        runs: runs on each of the two datasets, those for choosing the set included.
        claim: the ε that was claimed, if one was.
        side, cut: the set of outputs: scores above (or below) this number.
        hits, misses: how many of ``tested`` runs per side fell into it, on the likelier dataset and on the other.
        tested: runs per side that the bound rests on.
        largest: the largest bound that this many runs can give: a mechanism without any privacy would show it.
        sharpest: the same for the claim of the profile that looked the most doubtful, if there is a profile.
        trade_off: what the tested runs attained.
        profile: the other claims of the same accounting.
    """

    epsilon: float
    delta: float
    confidence: float
    runs: int
    claim: float | None
    side: Literal["above", "below"]
    cut: float
    hits: int
    misses: int
    tested: int
    largest: float
    sharpest: Audit | None = None
    trade_off: TradeOff | None = None
    profile: tuple[Claim, ...] = ()

    @property
    def claims(self) -> tuple[Claim, ...]:
        """All that is claimed: of one mechanism, so that all must hold."""
        return (*(() if self.claim is None else ((self.claim, self.delta),)), *self.profile)

    @property
    def refuted(self) -> bool:
        """Whether a bound lies above its claim: then the accounting is false (but for the error allowed)."""
        alone = self.claim is not None and self.epsilon > self.claim
        return alone or (self.sharpest is not None and self.sharpest.refuted)

    @property
    def advantages(self) -> tuple[float, float]:
        """The largest 1 - false positives - false negatives of a test: by the runs, and the most that the claims allow."""
        if self.trade_off is None:
            return 0.0, 1.0
        across = np.linspace(0, 1, 10_001)
        attained = (self.trade_off.false_positives + self.trade_off.false_negatives).min()
        return float(1 - attained), float(1 - (across + claimed_trade_off(self.claims, across)).min())

    def __str__(self) -> str:
        bound = f"ε ≥ {math.floor(self.epsilon * 1000) / 1000:g} at δ = {self.delta:g}"
        bound += f" with {rounded_down(self.confidence, 4)} confidence"
        told = f"{bound} ({self.hits:,} against {self.misses:,} of {self.tested:,} runs)"
        if self.claim is not None:
            found = "refutes" if self.epsilon > self.claim else "does not contradict"
            told += f": {found} the claim ε = {rounded_up(self.claim, 4)}"
        return told if self.sharpest is None else f"{told}; sharpest: {self.sharpest}"


class Runs(TypedDict, total=False):
    """How a mechanism is run in an audit: arguments by name, which whoever audits one takes and passes on.

    Attributes:
        runs: on each of the two datasets, :data:`RUNS` of them by default.
        confidence: with which the bound is to hold, :data:`CONFIDENCE` by default.
        generator: randomness of the runs; None draws on the system's entropy, and audits the samplers that a release has.
        progress: told the step and the share of the work done.
    """

    runs: int
    confidence: float
    generator: np.random.Generator | None
    progress: Callable[[str, float], None] | None


def audit(
    first: Scores,
    second: Scores,
    *,
    delta: float = 0.0,
    claim: float | None = None,
    profile: Sequence[Claim] = (),
    choosing_share: float = 0.5,
    **how: Unpack[Runs],
) -> Audit:
    """Run a mechanism on two neighbouring datasets and bound its ε from below.

    Args:
        first: makes so many independent runs on D and gives the score of each.
        second: the same on D'.
        delta: δ of the claim.
        claim: the ε that is claimed.
        profile: other pairs (ε, δ) that the same accounting claims.
        choosing_share: share of the runs on which the set is chosen; the bound rests on the others.
        how: :class:`Runs`.

    Raises:
        ParameterError: an argument is out of range, or a score is no number.
    """
    for field, run in (("first", first), ("second", second)):
        if not callable(run):
            raise ParameterError(field, run, "a function that gives the score of each of so many runs")
    for name in how.keys() - Runs.__annotations__.keys():
        raise ParameterError(name, how.get(name), f"one of {', '.join(Runs.__annotations__)}")
    total = checks.whole("runs", how.get("runs", RUNS), 10, 10_000_000)
    delta, confidence, claim, profile = _claimed(delta, how.get("confidence", CONFIDENCE), claim, profile)
    choosing_share, progress = checks.share("choosing_share", choosing_share), how.get("progress")
    if progress is not None:
        checks.function("progress", progress, checks.PROGRESS)
    random = checks.generator("generator", how.get("generator")) or np.random.default_rng()
    choosing = min(max(round(total * choosing_share), 1), total - 1)
    scores: list[Floats] = []
    for at, (name, run) in enumerate((("first", first), ("second", second))):
        parts = []
        for start in range(0, total, _CHUNK):
            if progress is not None:
                progress(f"running on the {name} dataset", (at + start / total) / 2)
            parts.append(_scores(run, min(_CHUNK, total - start), random))
        scores.append(np.concatenate(parts))
    return audit_scores(
        (scores[0][:choosing], scores[1][:choosing]),
        (scores[0][choosing:], scores[1][choosing:]),
        delta=delta,
        confidence=confidence,
        claim=claim,
        profile=profile,
    )


def _scores(run: Scores, count: int, generator: np.random.Generator) -> Floats:
    try:
        found = np.asarray(run(count, generator), dtype=np.float64)
    except (TypeError, ValueError) as fault:
        raise ParameterError("scores", run, f"a function of the number of runs and a generator: {fault}") from fault
    if found.shape != (count,):
        raise ParameterError("scores", f"shape {found.shape}", f"one score for each of {count} runs")
    if np.isnan(found).any():
        raise ParameterError("scores", math.nan, "a number for each run")
    return found


def _claimed(
    delta: object, confidence: object, claim: object, profile: object
) -> tuple[float, float, float | None, tuple[Claim, ...]]:
    pairs, why = [], "pairs of an ε and a δ"
    for pair in (checks.items("profile", pair, why) for pair in checks.items("profile", profile, why)):
        if len(pair) != 2:
            raise ParameterError("profile", pair, why)
        pairs.append((checks.number("profile", pair[0], 0.0), checks.number("profile", pair[1], 0.0, below=1.0)))
    delta, confidence = checks.number("delta", delta, 0.0, below=1.0), checks.share("confidence", confidence)
    return delta, confidence, None if claim is None else checks.number("claim", claim, 0.0), tuple(pairs)


def _pair(field: str, scores: object) -> tuple[Floats, Floats]:
    why, parts = "scores on the first dataset and scores on the second one, at least one number each", []
    with suppress(Exception):  # whatever an array of the caller's raises
        parts = [np.asarray(part, dtype=np.float64) for part in checks.items(field, scores, why)]
    if len(parts) != 2 or any(part.ndim != 1 or not part.size or np.isnan(part).any() for part in parts):
        raise ParameterError(field, scores, why)
    return parts[0], parts[1]


def profile_of(epsilon_at: Callable[[float], float], delta: float) -> list[Claim]:
    """What an accounting that gives ε at δ claims at larger δ, where 20,000 runs see more."""
    return [(epsilon_at(larger), larger) for larger in _DELTAS if larger > delta]


def audit_scores(
    choosing: tuple[Floats, Floats],
    testing: tuple[Floats, Floats],
    *,
    delta: float = 0.0,
    confidence: float = CONFIDENCE,
    claim: float | None = None,
    profile: Sequence[Claim] = (),
) -> Audit:
    """The same from scores at hand: (on D, on D') for choosing the set, and others for the bound.

    Raises:
        ParameterError: a score is no number, a part is empty, or a claim or the confidence is out of range.
    """
    choosing, testing = _pair("choosing", choosing), _pair("testing", testing)
    delta, confidence, claim, profile = _claimed(delta, confidence, claim, profile)
    # Two bounds share the error, so that both hold together with the confidence asked for.
    each_at = confidence if not profile else (1 + confidence) / 2
    before = len(choosing[0])
    found = _tested(_choose(choosing, delta, each_at), testing, delta, each_at, claim, before)
    found = replace(found, trade_off=TradeOff.of(testing, confidence), profile=profile)
    if not profile:
        return found
    # Chosen with far more confidence than is asked for: of many claims and cuts the luckiest would be taken otherwise.
    sure = 1 - (1 - confidence) * _CAUTION
    chosen = [(_choose(choosing, each, sure), epsilon, each) for epsilon, each in profile]
    doubtful, epsilon, each = max(chosen, key=lambda one: one[0].bound - one[1])
    sharpest = _tested(doubtful, testing, each, each_at, epsilon, before)
    return replace(found, confidence=confidence, sharpest=replace(sharpest, confidence=confidence))


@dataclass(frozen=True)
class _Chosen:
    """A set of scores, and the bound that the runs it was chosen on would give."""

    bound: float
    side: Literal["above", "below"]
    cut: float
    likelier: Literal["first", "second"]


def _tested(
    chosen: _Chosen,
    testing: tuple[Floats, Floats],
    delta: float,
    confidence: float,
    claim: float | None,
    before: int,
) -> Audit:
    first, second = (int(_inside(scores, chosen.side, chosen.cut).sum()) for scores in testing)
    hits, misses = (first, second) if chosen.likelier == "first" else (second, first)
    on, off = (len(s) for s in (testing if chosen.likelier == "first" else testing[::-1]))
    bound = _bound(np.array([hits]), on, np.array([misses]), off, delta, confidence)[0]
    largest = _bound(np.array([on]), on, np.array([0]), off, delta, confidence)[0]
    return Audit(
        epsilon=max(0.0, float(bound)),
        delta=delta,
        confidence=confidence,
        runs=before + len(testing[0]),
        claim=claim,
        side=chosen.side,
        cut=chosen.cut,
        hits=hits,
        misses=misses,
        tested=min(on, off),
        largest=max(0.0, float(largest)),
    )


def _inside(scores: Floats, side: str, cut: float) -> npt.NDArray[np.bool_]:
    return scores >= cut if side == "above" else scores <= cut


def _choose(scores: tuple[Floats, Floats], delta: float, confidence: float) -> _Chosen:
    """The set that would give the largest bound on these runs."""
    values = np.unique(np.concatenate(scores))
    cuts = values[:-1] / 2 + values[1:] / 2 if len(values) > 1 else values
    # Evenly many scores between the cuts, and every one of the outermost, where the ratio is largest.
    ends = np.concatenate([np.arange(50), len(cuts) - 1 - np.arange(50)])
    coarse = np.union1d(np.linspace(0, len(cuts) - 1, _CUTS).round().astype(int), np.clip(ends, 0, len(cuts) - 1))
    ordered = np.sort(scores[0]), np.sort(scores[1])
    _, at = _best(ordered, cuts, coarse, delta, confidence)
    before, after = coarse[max(at - 1, 0)], coarse[min(at + 1, len(coarse) - 1)]
    return _best(ordered, cuts, np.arange(before, after + 1), delta, confidence)[0]


def _best(
    ordered: tuple[Floats, Floats], cuts: Floats, among: npt.NDArray[np.int64], delta: float, confidence: float
) -> tuple[_Chosen, int]:
    """The best set with a cut among these, and which of them it is."""
    best, best_at = _Chosen(-math.inf, "above", float(cuts[among[0]]), "first"), 0
    sides: tuple[Literal["above", "below"], ...] = ("above", "below")
    orders: tuple[tuple[Literal["first", "second"], int, int], ...] = (("first", 0, 1), ("second", 1, 0))
    for side in sides:
        below = [np.searchsorted(s, cuts[among], side="left" if side == "above" else "right") for s in ordered]
        counts = [len(s) - under if side == "above" else under for s, under in zip(ordered, below, strict=True)]
        for likelier, on, off in orders:
            bounds = _bound(counts[on], len(ordered[on]), counts[off], len(ordered[off]), delta, confidence)
            at = int(np.argmax(bounds))
            if bounds[at] > best.bound:
                best, best_at = _Chosen(float(bounds[at]), side, float(cuts[among[at]]), likelier), at
    return best, best_at


def _bound(hits: Any, runs_on: int, misses: Any, runs_off: int, delta: float, confidence: float) -> Floats:
    """ln((lower - δ)/upper) with Clopper-Pearson limits, each at half the error; -∞ where the lower limit is below δ."""
    from scipy.stats import beta

    error = (1 - confidence) / 2
    lower = np.where(hits > 0, beta.ppf(error, np.maximum(hits, 1), runs_on - hits + 1), 0.0) - delta
    upper = np.where(misses < runs_off, beta.isf(error, misses + 1, np.maximum(runs_off - misses, 1)), 1.0)
    with np.errstate(divide="ignore"):
        return np.where(lower > 0, np.log(np.maximum(lower, 1e-300)) - np.log(upper), -np.inf)
