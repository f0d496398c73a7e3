"""The trade-off in floor: privacy wants it large, the promised error 4·floor wants it small.

Every condition of private sampling is monotone in floor, so each side leaves an interval.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

from dpsyn.mechanisms.private_sampling.accuracy import promise_conditions, theorem_4_2
from dpsyn.mechanisms.private_sampling.setting import PrivateSamplingSetting
from dpsyn.mechanisms.private_sampling.theorems import privacy_condition


@dataclass(frozen=True)
class FloorWindow:
    """Where floor may lie, all other parameters fixed.

    Attributes:
        end: min(1/2, ceiling - 1), the largest floor that the algorithm accepts; there the output ignores the data. At
            most 0 where no floor is accepted.
        private_from: smallest floor below ``end`` at which the certified ε is at most the one asked for, or None.
        accurate_from: smallest floor at which all conditions of Theorem 4.2 hold, or None.
        accurate_below: 1/4, below which the promised error is less than 1.
        blocked_by: keys of the accuracy conditions that no floor makes true.
    """

    end: float
    private_from: float | None
    accurate_from: float | None
    accurate_below: float
    blocked_by: tuple[str, ...]

    @property
    def both(self) -> tuple[float, float] | None:
        """The interval in which a run is private and its accuracy promised; its upper end does not belong to it."""
        if self.private_from is None or self.accurate_from is None:
            return None
        low, high = max(self.private_from, self.accurate_from), min(self.end, self.accurate_below)
        return (low, high) if low < high else None


def floor_window(setting: PrivateSamplingSetting) -> FloorWindow:
    """The intervals of floor for privacy, for accuracy and for both; the setting's own floor does not matter."""
    end = min(0.5, setting.ceiling - 1)
    if end <= 0:
        return FloorWindow(end, None, None, 0.25, ("box",))
    inside = replace(setting, floor=min(0.2, end / 2))
    remedy = privacy_condition(inside).remedy("floor")
    usable = remedy is not None and remedy.log_value is not None and not remedy.caveat
    private = math.exp(remedy.log_value) if usable and remedy is not None and remedy.log_value is not None else None
    blocked = []
    lower = 0.0
    for condition in (*theorem_4_2(inside), *promise_conditions(inside)):
        if condition.key == "promise":
            continue
        found = condition.remedy("floor")
        if found is not None and found.log_value is not None:
            lower = max(lower, math.exp(found.log_value))
        elif found is not None or not condition.holds:
            blocked.append(condition.key)
    accurate = None if blocked or lower >= min(end, 0.25) else lower
    if not blocked and accurate is None:
        blocked.append("promise")
    return FloorWindow(end, private, accurate, min(0.25, end), tuple(blocked))
