"""The (p, n) plane: from which n on a dataset of p bits can be private, and accurate, by private sampling's theorems.

For a fixed p every condition that depends on n is monotone in it, so a column of the plane is cut at two thresholds.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Literal

from dpsyn.errors import ParameterError
from dpsyn.mechanisms.private_sampling.accuracy import missed_accuracy
from dpsyn.mechanisms.private_sampling.certificate_answers import why_not
from dpsyn.mechanisms.private_sampling.setting import PrivateSamplingSetting
from dpsyn.theory.logarithms import at_most

LN2 = math.log(2)

Spread = Literal["data", "ideal"]
Region = Literal[
    "accurate, private by Theorem 4.1",
    "accurate, private by the ratio only",
    "accurate, not certified private",
    "private by Theorem 4.1, not accurate",
    "private by the ratio only, not accurate",
    "neither",
]
REGIONS: tuple[Region, ...] = (
    "accurate, private by Theorem 4.1",
    "accurate, private by the ratio only",
    "accurate, not certified private",
    "private by Theorem 4.1, not accurate",
    "private by the ratio only, not accurate",
    "neither",
)


@dataclass(frozen=True)
class Column:
    """One p of the plane.

    Attributes:
        p: number of bits.
        log_private_n: ln of the n from which on Theorem 4.1 allows the rows; inf where no n does.
        log_accurate_n: ln of the n from which on all conditions of Theorem 4.2 hold; inf where no n does.
        ratio: the bounded ratio allows the rows (at any n).
        missing: keys of the accuracy conditions that fail at every n.
    """

    p: int
    log_private_n: float
    log_accurate_n: float
    ratio: bool
    missing: tuple[str, ...]

    def region(self, log_n: float) -> Region:
        """What holds at this n."""
        accurate, theorem = at_most(self.log_accurate_n, log_n), at_most(self.log_private_n, log_n)
        if accurate:
            return REGIONS[0] if theorem else REGIONS[1] if self.ratio else REGIONS[2]
        return REGIONS[3] if theorem else REGIONS[4] if self.ratio else REGIONS[5]


def at_p(setting: PrivateSamplingSetting, p: int, spread: Spread, *, log_n: float | None = None) -> PrivateSamplingSetting:
    """The setting at another p, and at another n.

    ``"data"`` keeps ‖f‖∞ as far as n rows in 2^p cells can have it; ``"ideal"`` spreads the rows as evenly as they can be.
    Either way ‖f‖∞ >= max(1/n, 2^{-p}), because some cell has at least that share.
    """
    if spread not in ("data", "ideal"):
        raise ParameterError("spread", spread, "'data' or 'ideal'")
    at_n = setting.log_n if log_n is None else log_n
    least = max(-at_n, -p * LN2)
    share = least if spread == "ideal" else max(least, setting.log_max_frequency)
    return replace(setting, p=p, log_n=at_n, log_max_frequency=min(share, 0.0))


def column(setting: PrivateSamplingSetting, p: int, spread: Spread = "data") -> Column:
    """The two thresholds in n at one p."""
    endless = at_p(setting, p, spread, log_n=1e6)
    missing = missed_accuracy(endless)
    ratio = setting.is_valid and at_most(setting.log_rows, setting.log_largest_rows_ratio)
    theorem = math.inf
    if not why_not(setting, "theorem_4_1"):
        theorem = 2 * (setting.log_rows - replace(endless, log_n=0.0).log_largest_rows_theorem_4_1)
    # ‖f‖∞ >= 1/n, so ‖f‖∞ <= Δ/2^p also asks for n >= 2^p/Δ.
    accurate = math.inf if missing else max(endless.log_smallest_n, p * LN2 - math.log(setting.ceiling))
    return Column(p, theorem, accurate, ratio, missing)


def columns(setting: PrivateSamplingSetting, values: Sequence[int], spread: Spread = "data") -> tuple[Column, ...]:
    """Columns at these p, and at both sides of every p between them at which accuracy begins or ends to be possible."""
    found = [column(setting, p, spread) for p in sorted(set(values))]
    extra = []
    for left, right in pairwise(found):
        if bool(left.missing) != bool(right.missing):
            low, high = left, right
            while high.p - low.p > 1:
                middle = column(setting, (low.p + high.p) // 2, spread)
                if bool(middle.missing) == bool(left.missing):
                    low = middle
                else:
                    high = middle
            extra += [low, high]
    return tuple(sorted({c.p: c for c in (*found, *extra)}.values(), key=lambda c: c.p))
