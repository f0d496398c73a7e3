"""What an experiment gives: its results, and how they show themselves."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from dpsyn.display import PRIVATE, Shown, aligned

if TYPE_CHECKING:
    from dpsyn.evaluation.experiments.run import CellResult

_MAIN = "2-way error, mean"
"""The measure that is shown where there is room for one."""


class Results(Shown, list["CellResult"]):
    """What :func:`run_grid` gives: a list of results, in the order of the grid."""

    def _shown(self) -> tuple[str, list[str]]:
        from dpsyn.evaluation.experiments.run import OVER_BUDGET
        from dpsyn.evaluation.experiments.summary import refusals, summarise

        ended = Counter(result.status for result in self)
        lines = [f"{len(self):,} runs: " + ", ".join(f"{count:,} {status}" for status, count in ended.items())]
        measured = [name for result in self for draw in result.measures for name in draw]
        if measured:
            measure = _MAIN if _MAIN in measured else measured[0]
            cells = [[measure, "at", "mean", "95 % from", "to"]]
            for p in summarise(self, measure):
                label = f"{p.label} ({OVER_BUDGET})" if p.over_budget else p.label
                cells.append([label, f"{p.value:g}", *(f"{x:.4f}" for x in (p.mean, p.low, p.high))])
            lines += [f"  {line}" for line in aligned(cells)]
        return PRIVATE, [*lines, *(f"  {label} at {at}: {why}" for label, at, why in refusals(self))]
