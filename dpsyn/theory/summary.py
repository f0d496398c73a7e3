"""One sentence or two in plain words: what binds, and the cheapest change."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

from dpsyn.theory.conditions import Condition, Remedy
from dpsyn.theory.logarithms import format_log

Evaluate = Callable[[str, float], Sequence[Condition]]
"""All conditions with one parameter changed to e^(log_value)."""


def summarise(conditions: Sequence[Condition], promise: str, evaluate: Evaluate, *, provided: str = "") -> str:
    """What holds; else what is missed most and the cheapest single change that makes everything true, if there is one.

    ``provided`` is what nobody knows and all of it rests on: "if …".
    """
    missed = sorted((c for c in conditions if not c.holds), key=lambda c: c.slack_orders)
    if not missed:
        return f"Every condition holds{provided and f' {provided}'}: {promise}."
    return _missed(conditions, missed, evaluate) + (f" It is so {provided}." if provided else "")


def _missed(conditions: Sequence[Condition], missed: Sequence[Condition], evaluate: Evaluate) -> str:
    worst = missed[0]
    bound = {">=": ("at least", "more than"), "<=": ("at most", "less than")}[worst.relation][worst.strict]
    needs = f"needs {bound} {format_log(worst.log_required)}"
    by = f", missed by a factor of {_factor(worst)}" if worst.slack_orders < 0 and math.isfinite(worst.slack_orders) else ""
    binds = f'"{worst.label}" {needs}, there is {format_log(worst.log_actual)}{by}'
    count = (
        f"{len(missed)} of {len(conditions)} conditions fail; what binds most" if len(missed) > 1 else "One condition fails"
    )
    change = _single_change(conditions, evaluate)
    if change is not None:
        return f"{count}: {binds}. The cheapest change that is enough: {change}."
    usable = [r for r in worst.remedies if r.log_value is not None and not r.caveat]
    if len(missed) == 1 or not usable:
        return f"{count}: {binds}. {_nothing(worst, usable)}."
    nearest = min(usable, key=lambda r: r.orders)
    return f"{count}: {binds}. No single change is enough; the cheapest for this condition alone: {nearest}."


def _factor(condition: Condition) -> str:
    return format_log(-condition.slack_orders * math.log(10))


def _nothing(worst: Condition, usable: Sequence[Remedy]) -> str:
    if usable:
        nearest = min(usable, key=lambda r: r.orders)
        return f"The cheapest change for it, {nearest}, breaks another condition"
    return "No value of a single parameter makes it true"


def _single_change(conditions: Sequence[Condition], evaluate: Evaluate) -> Remedy | None:
    """The smallest change of one parameter, in orders of magnitude, that makes every condition true; None: there is none."""
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
