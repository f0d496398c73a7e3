"""What an experiment gives: its results, and how they show themselves."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field
from numbers import Real
from typing import TYPE_CHECKING, Any, Literal, get_args

from dpsyn import checks
from dpsyn.display import PRIVATE, Shown, aligned
from dpsyn.errors import DataError, ParameterError
from dpsyn.evaluation.experiments.plan import Cell, Grid
from dpsyn.mechanisms.records import config_to_dict
from dpsyn.notation import counted
from dpsyn.privacy.spec import Guarantee, Neighbouring, rounded_up
from dpsyn.schema import checked

if TYPE_CHECKING:
    import plotly.graph_objects as go

Status = Literal["done", "refused", "failed", "crashed"]
ON_BUDGET = "on budget"
OVER_BUDGET = "over budget"
OTHER_NEIGHBOURS = "other neighbours"
MOST_MEASURES = 200
"""Of a release or a draw: our own have some dozens."""
_MAIN = "2-way error, mean"
"""The measure that is shown where there is room for one."""


_TODAY = {"sampling floor": "fresh real rows", "independent columns": "columns shuffled"}
"""What earlier versions called what is drawn beside a measure."""


def checked_lines(field: str, given: object) -> dict[str, dict[str, float]]:
    """What to draw beside every measure, as plain mappings, by today's names; raises ParameterError where it is something
    else."""
    why = "numbers by their names, for each measure by its name"
    return {
        checks.text(field, measure, why): {
            _TODAY.get(checks.text(field, name, why), name): checks.instance(field, height, Real, why)
            for name, height in checks.mapping(field, beside, why).items()
        }
        for measure, beside in checks.mapping(field, given, why).items()
    }


@dataclass(frozen=True)
class CellResult:
    """What came of one cell. Plain data, from private rows: for teaching and planning, not for publishing.

    Attributes:
        key, label, mechanism, value, repeat: of the cell.
        status: ``"done"``; ``"refused"`` if no such guarantee exists, ``"failed"`` if the mechanism ended without rows,
            ``"crashed"`` if its process died.
        message: why, unless done.
        asked: ε, δ and neighbouring that the experiment asks of all mechanisms here.
        guarantee: the exact claim of the release.
        settings: the configuration.
        measures: one mapping of measure to number for every draw.
        seconds: for the run and its measures.
        processor: seconds of the processor for the run alone.
        gigabytes: the largest memory of the process in that time, of which the real rows and the libraries are a part; 0
            where the system does not tell.

    Raises:
        ParameterError: a field has a value that it cannot have.
    """

    key: str
    label: str
    mechanism: str
    value: float
    repeat: int
    status: Status
    message: str = ""
    asked: dict[str, Any] = field(default_factory=dict)
    guarantee: dict[str, Any] = field(default_factory=dict)
    settings: dict[str, Any] = field(default_factory=dict)
    measures: tuple[dict[str, float], ...] = ()
    seconds: float = 0.0
    processor: float = 0.0
    gigabytes: float = 0.0

    def __post_init__(self) -> None:
        found: dict[str, Any] = {"key": checks.file_name("key", self.key), "value": checks.number("value", self.value)}
        found |= {
            name: checks.text(name, getattr(self, name), "a text in Unicode") for name in ("label", "mechanism", "message")
        }
        found |= {"status": checks.choice("status", self.status, get_args(Status))}
        found |= {"repeat": checks.whole("repeat", self.repeat, 0)}
        found |= {name: checks.number(name, getattr(self, name), 0.0) for name in ("seconds", "processor", "gigabytes")}
        found |= {name: checks.facts(name, getattr(self, name)) for name in ("asked", "guarantee", "settings")}
        why, most = "numbers by their names, for every draw", checks.LARGEST_SCALE  # their squares are summed
        draws = [checks.mapping("measures", draw, why) for draw in checks.items("measures", self.measures, why)]
        found["measures"] = tuple(
            {checks.text("measures", m, why): checks.number("measures", x, -most, most, why=why) for m, x in draw.items()}
            for draw in draws
        )
        for name, claim in (("asked", self.asked), ("guarantee", self.guarantee)):
            if claim or (found["measures"] and name == "guarantee"):
                checks.number(name, claim.get("epsilon"), 0.0)
                checks.number(name, claim.get("delta"), 0.0)
                checks.choice(name, claim.get("neighbouring"), get_args(Neighbouring))
        if found["measures"] and self.status != "done":
            raise ParameterError("status", self.status, "'done' beside measures; no other run has rows to measure")
        for name, value in found.items():
            object.__setattr__(self, name, value)

    @property
    def budget(self) -> str:
        """``"over budget"`` marks a mechanism that cannot give what was asked and was run at the ε that it needs, ``"other
        neighbours"`` one that protects a row that is replaced where one more or less was asked for; else ``"on budget"``."""
        if not (self.asked and self.guarantee):
            return ON_BUDGET
        if any(self.guarantee[name] > self.asked[name] * (1 + 1e-9) for name in ("epsilon", "delta")):
            return OVER_BUDGET
        return ON_BUDGET if self.guarantee["neighbouring"] == self.asked["neighbouring"] else OTHER_NEIGHBOURS

    @property
    def line(self) -> str:
        """Which run it was, and how it ended."""
        return f"{self.label} at {self.value:g}, run {self.repeat + 1}: {self.status}"

    @classmethod
    def of(cls, cell: Cell, status: Status, message: str = "") -> CellResult:
        """The result of a cell before anything is known but how it ended."""
        checks.instance("cell", cell, Cell, "one of grid.cells()")
        known = (cell.key, cell.label, cell.config.name, cell.value, cell.repeat)
        # Rows and functions of one's own have no word in JSON but that of their type.
        settings = json.loads(json.dumps(config_to_dict(cell.config), default=lambda value: type(value).__name__))
        return cls(*known, status, message, cell.asked, settings=settings)

    def to_dict(self) -> dict[str, Any]:
        """Plain data, fit for JSON."""
        return asdict(self)

    @classmethod
    def from_dict(cls, data: Any) -> CellResult:
        """What :meth:`to_dict` wrote down.

        Raises:
            InputError: it is not of that form.
        """
        result = checked(cls, data)
        if not re.fullmatch("[0-9a-f]{24}", result.key):
            raise DataError(f"key: {result.key[:40]!r} is not that of a cell")
        if result.guarantee or result.status == "done":
            Guarantee.from_dict(result.guarantee)
        for draw in result.measures:
            few_enough(draw)
        return result


def few_enough(measures: Mapping[str, float]) -> None:
    """A table has a column for every measure.

    Raises:
        DataError: there are too many.
    """
    if len(measures) > MOST_MEASURES:
        raise DataError(f"measures: {len(measures):,} are too many; at most {MOST_MEASURES} can be shown")


def checked_results(field: str, results: Iterable[CellResult]) -> list[CellResult]:
    """Results of cells, as :func:`run_grid` gives them.

    Raises:
        ParameterError: they are something else.
    """
    why = "a list of results, as run_grid gives them"
    return [checks.instance(field, result, CellResult, why) for result in checks.items(field, results, why)]


class Results(Shown, list[CellResult]):
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
        from dpsyn.evaluation.experiments.field import field_panels, field_references, frontier_in_words, unfinished
        from dpsyn.evaluation.experiments.summary import refusals, summarise

        ended = Counter(result.status for result in self)
        lines = [f"{counted(len(self), 'run')}: " + ", ".join(f"{count:,} {status}" for status, count in ended.items())]
        waiting, beside = unfinished(self.grid, self), field_references(self.references)
        for measure, points in field_panels(self).items():
            lines.append(f"{measure}: {frontier_in_words(points, self.grid.vary, waiting, beside.get(measure, {}))}")
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
