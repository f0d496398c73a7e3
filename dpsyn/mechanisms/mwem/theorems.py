"""What MWEM promises: Theorems 2.1 and 2.2 of Hardt, Ligett and McSherry (2012).

With probability at least 1 - 2T/|Q|, every one of |Q| counts is off by at most 2n√(ln|D|/T) + 10·T·ln|Q|/ε, where T is the
number of rounds and |D| that of possible rows. In parts of n it depends on n and ε through n·ε alone.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, cast

import pandas as pd

from dpsyn.errors import InputError, ParameterError
from dpsyn.mechanisms.encoding import HISTOGRAMS
from dpsyn.notation import counted
from dpsyn.privacy.spec import PrivacySpec, rounded_down, rounded_up
from dpsyn.solvers.contingency import contingency_cells
from dpsyn.statistics import DatasetStatistics
from dpsyn.theory.conditions import NEXT_TO_NOTHING, Condition, Headline, Remedy, Verdict
from dpsyn.theory.logarithms import Side, exp_of, format_log, nearest_float
from dpsyn.theory.thresholds import single_change, summarise, threshold, whole_threshold

_MOST_POINTS = 2**22
"""Rows of the domain: a weight is kept for each."""
_FURTHEST = 600.0
"""ln of the largest n·ε that is looked at, and its negative the smallest."""


def too_many(points: int, most: int = _MOST_POINTS, does: str = "keeps a weight for") -> ParameterError | None:
    """Why there is no run where so many rows are possible, or None."""
    if points <= most:
        return None
    return ParameterError("possible rows", points, f"at most {most:,}, because MWEM {does} each. Leave out columns or bins")


def log_error(rows_times_epsilon: float, rounds: int, log_points: float, log_queries: float) -> float:
    """ln of 2√(ln|D|/T) + 10·T·ln|Q|/(nε), the largest error of a cell in parts of n (Theorem 2.2)."""
    return math.log(2 * math.sqrt(log_points / rounds) + 10 * rounds * log_queries / rows_times_epsilon)


def best_rounds(rows_times_epsilon: float, log_points: float, log_queries: float, *, most: int) -> int:
    """The T from 1 to ``most`` with the smallest bound: near (n·ε·√ln|D| / (10·ln|Q|))^{2/3}.

    Args:
        rows_times_epsilon: n·ε.
        log_points: ln|D|.
        log_queries: ln|Q|.
        most: the largest T.
    """
    near: float = (rows_times_epsilon * math.sqrt(log_points) / (10 * log_queries)) ** (2 / 3)
    below = max(1, math.floor(min(near, most)))
    return min((below, min(below + 1, most)), key=lambda t: log_error(rows_times_epsilon, t, log_points, log_queries))


@dataclass(frozen=True)
class _Setting:
    """What the bound depends on; n as its natural logarithm, ``promise`` is 8·accuracy, ``rounds`` None: the best T; and why
    there is no run."""

    log_n: float
    epsilon: float
    promise: float
    failure_probability: float
    log_points: float
    queries: int
    rounds: int | None
    n_is_public: bool
    fault: ParameterError | None = None

    @property
    def rows_times_epsilon(self) -> float:
        return math.exp(min(max(self.log_n + math.log(self.epsilon), -_FURTHEST), _FURTHEST))

    @property
    def log_queries(self) -> float:
        return max(math.log(self.queries), math.log(2))

    @property
    def used_rounds(self) -> int:
        """T; the best one with which the promise is as likely as asked for, or 1."""
        if self.rounds is not None:
            return self.rounds
        return best_rounds(self.rows_times_epsilon, self.log_points, self.log_queries, most=self.most_rounds)

    @property
    def most_rounds(self) -> int:
        """The largest T with which the promise is as likely as asked for, or 1."""
        return max(1, math.floor(self.failure_probability * self.queries / 2))

    @property
    def is_capped(self) -> bool:
        """Whether more rounds would lower the bound, but make it too unlikely."""
        best = best_rounds(self.rows_times_epsilon, self.log_points, self.log_queries, most=self.most_rounds + 1)
        return self.rounds is None and best > self.most_rounds

    @property
    def log_error(self) -> float:
        """ln of the bound at T."""
        return log_error(self.rows_times_epsilon, self.used_rounds, self.log_points, self.log_queries)

    def changed(self, parameter: str, log_value: float) -> _Setting:
        if parameter == "n":
            return replace(self, log_n=log_value)
        value = nearest_float(log_value)
        if parameter == "accuracy":
            return replace(self, promise=8 * value)
        if parameter == "epsilon":
            return replace(self, epsilon=value)
        if parameter == "rounds":
            return replace(self, rounds=round(value))
        return replace(self, failure_probability=value)


def verdict(
    stats: DatasetStatistics,
    spec: PrivacySpec,
    *,
    degree: int = 2,
    floor: float = 0.25,
    accuracy: float | None = None,
    failure_probability: float = 0.125,
    rounds: int | None = None,
) -> Verdict:
    """The verdict on MWEM for one dataset.

    Args:
        stats: p, n and the columns of the data; where the columns are not known, p bits.
        spec: ε and the neighbours.
        degree: d, columns of the tables whose cells are the queries.
        floor: of private sampling, which promises 4·floor; it matters only where there is no ``accuracy``.
        accuracy: what is asked for is every cell within 8·accuracy; None takes floor/2, so that all theorems promise alike.
        failure_probability: the largest 2T/|Q| that is accepted.
        rounds: T; None takes the best that keeps it.
    """
    if rounds is not None and rounds < 1:
        raise ParameterError("rounds", rounds, "at least 1")
    if not 0 < failure_probability < 1:
        raise ParameterError("failure_probability", failure_probability, "0 < failure_probability < 1")
    name, promised = ("floor", floor) if accuracy is None else ("accuracy", accuracy)
    if promised <= 0:
        raise ParameterError(name, promised, "a finite number > 0")
    if not 1 <= degree <= stats.p:
        raise ParameterError("degree", degree, f"a whole number from 1 to p = {stats.p}")
    sizes = (2,) * stats.p if stats.sizes is None else stats.sizes
    setting = _Setting(
        log_n=math.log(stats.n),
        epsilon=spec.epsilon,
        promise=4 * floor if accuracy is None else 8 * accuracy,
        failure_probability=failure_probability,
        log_points=stats.log_possible_rows or math.log(2),
        queries=contingency_cells(sizes, min(degree, len(sizes))),
        rounds=rounds,
        n_is_public=spec.neighbouring == "replace_one",
        fault=None if stats.sizes is None else too_many(math.prod(stats.sizes)),
    )
    found = _conditions(setting)
    used, error = setting.used_rounds, exp_of(setting.log_error)
    success = max(0.0, 1 - 2 * used / setting.queries)
    budget = format_log(math.log(spec.epsilon), side="at_least")
    promise = (
        f"{used:,} rounds are ε = {budget} private, and with probability at least {rounded_down(success, 3)} "
        f"every cell of a table of {degree} columns is within {rounded_up(error, 3)} of the true share"
    )
    change = single_change(found, lambda parameter, value: _conditions(setting.changed(parameter, value)))
    return Verdict(
        mechanism="mwem",
        title="MWEM",
        conditions=found,
        summary=summarise(found, promise, change),
        headline=_headline(setting, found, degree),
        change=change,
        facts={
            "rounds": used,
            "queries": setting.queries,
            "cell_error": error,
            "success_probability": success,
            "log10_possible_rows": setting.log_points / math.log(10),
        },
        notes=(
            "The theorem is about cells, each measurement used once, and the average over all rounds; by default the "
            "mechanism measures whole tables and re-uses them, which is better in practice and has no theorem.",
            "Where there are numbers or dates, fine histograms take a tenth of ε first, unless you say otherwise: the bound "
            "is about the ε that is left to the rounds.",
            "Privacy needs only the noise: any number of rows is equally private.",
        ),
        symbols={
            r"\varepsilon": math.log(spec.epsilon),
            r"\gamma": math.log(failure_probability),
            "|D|": setting.log_points,
            "|Q|": math.log(setting.queries),
            "T": math.log(used),
            "n": setting.log_n,
            r"\alpha": math.log(setting.promise / 8),
        },
    )


def _headline(setting: _Setting, found: tuple[Condition, ...], degree: int) -> Headline:
    """The error of a cell by Theorem 2.2, or why there is no run."""
    if setting.fault is not None:
        rows = counted(cast(int, setting.fault.value), "possible row")
        said = f"Not possible for these columns: {rows}, {setting.fault.allowed}."
        return Headline("—", said, "bad")
    if not setting.n_is_public:
        return Headline("no promise", "Private, but the theorem on the error needs replace-one neighbours.", "open")
    of = f"cell of a table of {counted(degree, 'column')}"
    within = rounded_up(exp_of(setting.log_error), 3)
    used = setting.used_rounds
    likely = f"with probability {rounded_down(max(0.0, 1 - 2 * used / setting.queries), 3)}"
    if all(c.holds for c in found):
        if setting.log_error >= math.log(NEXT_TO_NOTHING):
            return Headline.of_little(within, f"{likely} every {of}")
        return Headline(f"± {within}", f"Private, and {likely} every {of} is within {within} of the true share.", "good")
    if 2 * used >= setting.queries:
        said = f"Private, but after {counted(used, 'round')} the bound on a cell's error has probability 0."
        return Headline("no promise", said, "open")
    if setting.log_error < 0 and within != "1":
        missed = {c.key for c in found if not c.holds}
        but = (
            "a smaller error was asked for" if "error" in missed
            else "the error that was asked for says nothing" if "promise" in missed
            else "a higher probability was asked for"
        )  # fmt: skip
        return Headline(f"± {within}", f"Private, and {likely} every {of} is so close, but {but}.", "open")
    fits = f": {setting.queries:,} cells allow only {counted(used, 'round')}" if setting.is_capped else ""
    return Headline("no promise", f"Private, but the bound on a cell's error, {within}, says nothing{fits}.", "open")


def of_release(
    settings: Mapping[str, Any], _released: pd.DataFrame, stats: DatasetStatistics, _real: pd.DataFrame
) -> tuple[PrivacySpec, dict[str, Any], str]:
    """The ε of a release's rounds, its settings as :func:`verdict` takes them (d, T), and these in words.

    The accuracy stays at 1/8.

    Raises:
        InputError: no theorem is about such a release: whole tables, another start, Gaussian noise.
    """
    usual = {
        "measured": ("cells", "measuring cells, and this release measured whole tables"),
        "start_share": (0.0, "equal weights at the start, and this release started from noisy counts"),
        "accounting": ("pure", "pure ε, and this release has Gaussian noise"),
    }
    for name, (proven, words) in usual.items():
        if settings.get(name, proven) != proven:
            raise InputError(f"Theorem 2.2 is about {words}")
    asked = {"degree": min(settings["degree"], stats.p), "rounds": settings["rounds"]}
    words = f"d = {asked['degree']}, {asked['rounds']:,} rounds, accuracy 1/8 in the theorem"
    histograms = [part for part in settings.get("ledger", ()) if part["name"] == HISTOGRAMS]
    spec, spent = PrivacySpec(**settings["requested"]), sum(float(part["epsilon"]) for part in histograms)
    if spent:
        words += f", ε = {rounded_up(spent, 4)} for histograms of numbers and dates, which leaves the rounds the rest"
    return replace(spec, epsilon=spec.epsilon - spent), asked, words


def _conditions(setting: _Setting) -> tuple[Condition, ...]:
    log_epsilon, log_promise = math.log(setting.epsilon), math.log(setting.promise)
    log_failure = math.log(2 * setting.used_rounds / setting.queries)
    log_asked = math.log(setting.failure_probability)
    hopeless = "at 1 and above Theorem 2.2 promises nothing" if log_failure >= 0 else ""
    log_most = log_asked + math.log(setting.queries) - math.log(2)
    fewer = () if setting.rounds is None else (whole_threshold("rounds", "at_most", log_most, math.log(setting.rounds)),)
    found = [
        Condition("parts", "Every round takes its part of ε",
                  r"T\left(\frac{\varepsilon}{2T} + \frac{\varepsilon}{2T}\right) = \varepsilon", "Theorem 2.1",
                  "<=", log_epsilon, log_epsilon, "privacy", assumed=True),
        Condition("success", "The bound is likely enough", r"\frac{2T}{|Q|} \le \gamma", "Theorem 2.2", "<=",
                  log_asked, log_failure, "accuracy",
                  (threshold("failure_probability", "at_least", log_failure, log_asked, reason=hopeless), *fewer)),
        Condition("error", "Every cell is close enough",
                  r"2\sqrt{\frac{\ln|D|}{T}} + \frac{10T\ln|Q|}{n\varepsilon} \le 8\alpha", "Theorem 2.2", "<=",
                  log_promise, setting.log_error, "accuracy", _error_remedies(setting)),
        Condition("promise", "The bound is informative (below 1)", r"8\alpha < 1", "Theorem 2.2", "<=", 0.0, log_promise,
                  "accuracy",
                  (threshold("accuracy", "at_most", -math.log(8), log_promise - math.log(8), strict=True),), strict=True,
                  note="Shares of cells lie in [0, 1]: any rows at all are within 1."),
    ]  # fmt: skip
    if setting.fault is not None:
        most, how = math.log(_MOST_POINTS), "leave out columns or bins"
        limit = Remedy("possible rows", "at_most", most, setting.log_points, integer=True, caveat=how)
        found.append(
            Condition("possible", "A weight can be kept for every possible row", f"|D| \\le {_MOST_POINTS}", "our limit",
                      "<=", most, setting.log_points, "validity", (limit,))
        )  # fmt: skip
    if not setting.n_is_public:
        found.append(
            Condition("public_n", "The number of rows is public", "replace-one neighbours", "Theorem 2.2", ">=",
                      0.0, -math.inf, "validity", note="Ask for replace-one neighbours.")
        )  # fmt: skip
    return tuple(found)


def _error_remedies(setting: _Setting) -> tuple[Remedy, ...]:
    """The bound falls with n·ε, and at the best T; below 2√(ln|D|/T) it does not get at a fixed or limited T."""
    log_epsilon, wanted = math.log(setting.epsilon), math.log(setting.promise)
    accuracy = threshold("accuracy", "at_least", setting.log_error - math.log(8), wanted - math.log(8))

    def too_far(log_product: float) -> bool:
        return setting.changed("n", log_product - log_epsilon).log_error > wanted

    low, high = -_FURTHEST, _FURTHEST
    if too_far(high):
        reason = "not even noiseless counts are close enough after so few rounds"
        return (
            Remedy("n", "at_least", None, setting.log_n, integer=True, reason=reason),
            Remedy("epsilon", "at_least", None, log_epsilon, reason=reason),
            accuracy,
            *_other_rounds(setting),
        )
    while high - low > 1e-12 * max(1.0, abs(high)):
        middle = (low + high) / 2
        low, high = (middle, high) if too_far(middle) else (low, middle)
    return (
        whole_threshold("n", "at_least", high - log_epsilon, setting.log_n),
        threshold("epsilon", "at_least", high - setting.log_n, log_epsilon),
        accuracy,
        *_other_rounds(setting),
    )


def _other_rounds(setting: _Setting) -> tuple[Remedy, ...]:
    """Where the bound is too large at a given T, the nearest T that is enough; at the best T that γ allows, the γ that
    allows as many rounds as the bound needs. Nothing where no T < |Q|/2 is enough."""
    missed = setting.rounds is not None and setting.log_error > math.log(setting.promise)
    if not (missed or setting.is_capped) or setting.queries < 3:  # at γ = 1 nothing is promised
        return ()

    def enough(rounds: int) -> bool:
        return replace(setting, rounds=rounds).log_error <= math.log(setting.promise)

    now, every = setting.used_rounds, (setting.queries - 1) // 2
    best = best_rounds(setting.rows_times_epsilon, setting.log_points, setting.log_queries, most=every)
    if not enough(best):
        return ()
    near, far = best, setting.rounds or 0
    while abs(far - near) > 1:
        middle = (near + far) // 2
        near, far = (middle, far) if enough(middle) else (near, middle)
    if setting.rounds is None:
        log_now = math.log(setting.failure_probability)
        return (threshold("failure_probability", "at_least", math.log(2 * near / setting.queries), log_now),)
    side: Side = "at_least" if best > now else "at_most"
    return (Remedy("rounds", side, math.log(near), math.log(now), integer=True),)
