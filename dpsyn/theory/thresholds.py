"""Where a condition begins to hold, rounded to the side on which it does; and the main obstacle, in plain words."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from operator import itemgetter

from dpsyn.theory.conditions import Condition, Remedy
from dpsyn.theory.logarithms import Side, format_log

LARGEST_P = 10**7
_SAFE = 1e-12
"""Step in the logarithm by which a large or real threshold is moved to the side on which its condition holds."""
_COUNTABLE = math.log(1e6)
_EQUAL = 1e-14
_FAR, _STEP, _MOST_STEPS = 1e12, 1e-15, 300


def _safe(log_bound: float, side: Side) -> float:
    step = _SAFE * max(1.0, abs(log_bound))
    return log_bound + (step if side == "at_least" else -step)


def whole(log_bound: float, side: Side) -> float | None:
    """ln of the whole number >= 1 next to a real bound, on the side where the condition holds; None where there is none.

    Exact up to 10^6; above, at most a relative 10^-10 to the safe side, because the bound itself carries rounding errors.
    """
    if log_bound > _COUNTABLE:
        bound = _safe(log_bound, side)
        if bound > 53 * math.log(2):
            return bound
        return math.log(math.ceil(math.exp(bound)) if side == "at_least" else math.floor(math.exp(bound)))
    bound = math.exp(log_bound)
    if side == "at_least":
        return math.log(max(1, math.ceil(bound * (1 - _EQUAL))))
    value = math.floor(bound * (1 + _EQUAL))
    return math.log(value) if value >= 1 else None


def whole_threshold(parameter: str, side: Side, log_bound: float, log_current: float) -> Remedy:
    """The remedy in a parameter that is a whole number >= 1."""
    value = whole(log_bound, side)
    reason = "" if value is not None else "it would be below 1"
    return Remedy(parameter, side, value, log_current, integer=True, reason=reason)


def threshold(
    parameter: str, side: Side, log_bound: float, log_current: float, *, reason: str = "", strict: bool = False
) -> Remedy:
    """The remedy in a real parameter; a ``reason`` says that no value does."""
    if reason:
        return Remedy(parameter, side, None, log_current, reason=reason)
    return Remedy(parameter, side, _safe(log_bound, side), log_current, strict=strict)


def fewest_bits(log_max_frequency: float) -> int:
    """The smallest p for rows of which so large a share is equal: 2^p ≥ 1/‖f‖∞."""
    return math.ceil(-log_max_frequency / math.log(2) - 1e-9)


def p_threshold(side: Side, holds: Callable[[int], bool], *, p: int, smallest: int) -> Remedy:
    """The last p (at_most) or the first p (at_least) at which a condition that changes once holds, by bisection."""
    low, high, now = smallest, LARGEST_P, math.log(p)

    def remedy(value: int | None, reason: str = "", caveat: str = "") -> Remedy:
        log_value = None if value is None else math.log(value)
        return Remedy("p", side, log_value, now, integer=True, reason=reason, caveat=caveat)

    if side == "at_most":
        if not holds(low):
            return remedy(None, f"not even p = {low} is small enough")
        if holds(high):
            return remedy(high, caveat="and perhaps more: the search ends there")
    elif holds(low):
        return remedy(low)
    elif not holds(high):
        return remedy(None, f"not even p = {high} is large enough")
    while high - low > 1:
        middle = (low + high) // 2
        if holds(middle) == (side == "at_most"):
            low = middle
        else:
            high = middle
    return remedy(low if side == "at_most" else high)


def monotone_root(slack: Callable[[float], float], low: float, high: float) -> tuple[float, Side] | None:
    """Where a monotone function becomes >= 0, and on which side of that it is; None where it has one sign throughout.

    False position, every third step a bisection: the slack of a power law is linear in logarithms, and found at once.
    """

    def at(x: float) -> float:
        return max(-_FAR, min(_FAR, slack(x)))

    left, right = at(low), at(high)
    if (left >= 0) == (right >= 0):
        return None
    side: Side = "at_least" if right >= 0 else "at_most"
    x = low
    for step in range(1, _MOST_STEPS):
        previous = x
        near, missing = (low, left) if abs(left) < abs(right) else (high, right)  # the step from here is the shorter one
        x = (low + high) / 2 if step % 3 == 0 else near - missing * (high - low) / (right - left)
        value = at(x)
        if value == 0 or abs(x - previous) <= _STEP * max(1.0, abs(x)):
            break
        if (value >= 0) == (right >= 0):
            high, right = x, value
        else:
            low, left = x, value
    return min(((x, value), (low, left), (high, right)), key=lambda end: abs(end[1]))[0], side


Evaluate = Callable[[str, float], Sequence[Condition]]
"""All conditions with one parameter changed to e^(log_value)."""


def summarise(conditions: Sequence[Condition], promise: str, change: Remedy | None, *, provided: str = "") -> str:
    """What holds; else what is missed most and the cheapest single ``change`` that makes everything true, if there is one.

    ``provided`` is what nobody knows and all of it rests on: "if …".
    """
    missed = sorted((c for c in conditions if not c.holds), key=lambda c: c.slack_orders)
    if not missed:
        return f"Every condition holds{provided and f' {provided}'}: {promise}."
    return _missed(conditions, missed, change) + (f" It is so {provided}." if provided else "")


def _missed(conditions: Sequence[Condition], missed: Sequence[Condition], change: Remedy | None) -> str:
    worst = missed[0]
    bound = {">=": ("at least", "more than"), "<=": ("at most", "less than")}[worst.relation][worst.strict]
    side: Side = "at_least" if worst.relation == ">=" else "at_most"
    needs = f"needs {bound} {format_log(worst.log_required, side=side)}"
    factor = format_log(-worst.slack_orders * math.log(10))
    by = f", missed by a factor of {factor}" if worst.slack_orders < 0 and math.isfinite(worst.slack_orders) else ""
    obstacle = f'"{worst.label}" {needs}, there is {format_log(worst.log_actual)}{by}'
    count = (
        f"{len(missed)} of {len(conditions)} conditions fail. Main obstacle" if len(missed) > 1 else "One condition fails"
    )
    if change is not None:
        return f"{count}: {obstacle}. The cheapest change that is enough: {change}."
    usable = [r for r in worst.remedies if r.log_value is not None and not r.caveat]
    if len(missed) == 1 or not usable:
        return f"{count}: {obstacle}. {_nothing(worst, usable)}."
    nearest = min(usable, key=lambda r: r.orders)
    alone = f"the cheapest for this condition alone: {nearest}"
    return f"{count}: {obstacle}. No single change that was tried is enough; {alone}."


def _nothing(worst: Condition, usable: Sequence[Remedy]) -> str:
    if usable:
        nearest = min(usable, key=lambda r: r.orders)
        return f"The cheapest change for it, {nearest}, breaks another condition"
    return "No single parameter that was tried makes it true"


def contradictions(remedies: Iterable[Remedy]) -> list[str]:
    """A sentence for each parameter of which no value meets all of these remedies."""
    usable = [(remedy.log_value, remedy) for remedy in remedies if remedy.log_value is not None]
    found = []
    for parameter in dict.fromkeys(remedy.parameter for _, remedy in usable):
        own = [pair for pair in usable if pair[1].parameter == parameter]
        low = max((pair for pair in own if pair[1].side == "at_least"), key=itemgetter(0), default=None)
        high = min((pair for pair in own if pair[1].side == "at_most"), key=itemgetter(0), default=None)
        if low and high and low[0] > high[0]:
            found.append(f"{replace(high[1], caveat='')} and {replace(low[1], caveat='')}: no {parameter} alone will do.")
    return found


def single_change(conditions: Sequence[Condition], evaluate: Evaluate) -> Remedy | None:
    """The smallest change of one parameter, in orders of magnitude, that makes every condition true; None: no parameter of
    which the conditions have remedies does it alone (whole settings, such as the degree, are not tried)."""
    missed = [c for c in conditions if not c.holds]
    candidates: dict[str, Remedy] = {}
    for parameter in {r.parameter for c in missed for r in c.remedies}:
        wanted = [c.remedy(parameter) for c in missed]
        usable = [r for r in wanted if r is not None and r.log_value is not None and not r.caveat]
        if len(usable) == len(missed) and len({r.side for r in usable}) == 1:
            extreme = max if usable[0].side == "at_least" else min
            candidates[parameter] = extreme(usable, key=lambda r: r.log_value or 0.0)
    for remedy in sorted(candidates.values(), key=lambda r: (r.orders, r.parameter)):
        if remedy.log_value is not None and all(c.holds for c in evaluate(remedy.parameter, remedy.log_value)):
            return remedy
    return None
