"""What an experiment gives: its results, and how they show themselves."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from numbers import Real
from typing import TYPE_CHECKING

from dpsyn import checks
from dpsyn.display import PRIVATE, Shown, aligned
from dpsyn.errors import ParameterError
from dpsyn.evaluation.experiments.plan import Grid

if TYPE_CHECKING:
    import plotly.graph_objects as go

    from dpsyn.evaluation.experiments.run import CellResult

_MAIN = "2-way error, mean"
"""The measure that is shown where there is room for one."""


def checked_lines(field: str, given: object) -> dict[str, dict[str, float]]:
    """What to draw beside every measure, as plain mappings; raises ParameterError where it is something else."""
    why = "numbers by their names, for each measure by its name"
    return {
        checks.text(field, measure, why): {
            checks.text(field, name, why): checks.instance(field, height, Real, why)
            for name, height in checks.mapping(field, beside, why).items()
        }
        for measure, beside in checks.mapping(field, given, why).items()
    }


class Results(Shown, list["CellResult"]):
    """What :func:`run_grid` gives: a list of results, in the order of the grid.

    Args:
        results: of the cells.
        grid: that they are of.
        references: what to draw beside every measure (:func:`~dpsyn.evaluation.report.references`).

    Raises:
        ParameterError: they are something else.
    """

    def __init__(
        self, results: Iterable[CellResult], grid: Grid, references: Mapping[str, Mapping[str, float]] | None = None
    ) -> None:
        from dpsyn.evaluation.experiments.run import checked_results

        given = checks.instance("results", results, Iterable, "a list of results, as run_grid gives them")
        super().__init__(checked_results("results", list(given)))
        self.grid: Grid = checks.instance("grid", grid, Grid, "an experiment, Grid(...)")
        self.references = checked_lines("references", {} if references is None else references)

    @property
    def measures(self) -> tuple[str, ...]:
        """Names of what was measured."""
        return tuple(dict.fromkeys(name for result in self for draw in result.measures for name in draw))

    @property
    def figures(self) -> tuple[str, ...]:
        """Names that :meth:`figure` takes: of what was measured, and first ``"field"`` where systems differ and ε does."""
        from dpsyn.evaluation.experiments.field import FIELD, field_panels

        return (*([FIELD] if field_panels(self) else []), *self.measures)

    def figure(self, measure: str | None = None) -> go.Figure:
        """The curves of one measure against what varies, or the picture of the field: errors of tables, range queries and
        prediction, with the best system at every ε. As page Comparison has it: a Plotly figure that reads private rows.

        Args:
            measure: one of :attr:`figures`; when None the field, or else tables of two columns, or else the first one.

        Raises:
            ParameterError: nothing was measured, or not this; the message names the choices.
        """
        from dpsyn.evaluation.experiments.field import FIELD, field_panels, field_references, unfinished
        from dpsyn.evaluation.experiments.figures import draw_experiment
        from dpsyn.evaluation.experiments.summary import summarise
        from dpsyn.kit.plotly import alone

        if not self.figures:
            raise ParameterError("measure", measure, "none: no run ended with rows")
        usual = FIELD if FIELD in self.figures else self._main
        name = usual if measure is None else checks.choice("measure", measure, self.figures)
        panels = field_panels(self) if name == FIELD else {name: summarise(self, name)}
        waiting = unfinished(self.grid, self)
        return alone(draw_experiment(self.grid, panels, references=field_references(self.references), waiting=waiting))

    @property
    def _main(self) -> str:
        return _MAIN if _MAIN in self.measures else self.measures[0]

    def _shown(self) -> tuple[str, list[str]]:
        from dpsyn.evaluation.experiments.field import field_panels, frontier_in_words, unfinished
        from dpsyn.evaluation.experiments.run import OTHER_NEIGHBOURS, OVER_BUDGET
        from dpsyn.evaluation.experiments.summary import refusals, summarise
        from dpsyn.privacy.spec import rounded_up

        ended = Counter(result.status for result in self)
        lines = [f"{len(self):,} runs: " + ", ".join(f"{count:,} {status}" for status, count in ended.items())]
        waiting = unfinished(self.grid, self)
        for measure, points in field_panels(self).items():
            lines.append(f"{measure}: {frontier_in_words(points, self.grid.vary, waiting)}")
        if self.measures:
            measure = self._main
            cells = [[measure, "at", "mean", "95 % from", "to"]]
            for p in summarise(self, measure):
                over = f"{OVER_BUDGET}: ε = {rounded_up(p.claimed_epsilon, 3)}"
                mark = "" if p.fair else f" ({over if p.over_budget else OTHER_NEIGHBOURS})"
                ends = ["—" if x is None else f"{x:.4f}" for x in (p.low, p.high)]
                cells.append([f"{p.label}{mark}", f"{p.value:g}", f"{p.mean:.4f}", *ends])
            lines += [f"  {line}" for line in aligned(cells)]
        return PRIVATE, [*lines, *(f"  {label} at {at}: {why}" for label, at, why in refusals(self))]
