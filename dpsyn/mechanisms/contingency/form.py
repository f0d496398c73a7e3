"""The settings of the whole table as widgets."""

from __future__ import annotations

from collections.abc import Mapping

from dpsyn.kit import categories, widgets
from dpsyn.kit.visit import Dataset
from dpsyn.mechanisms.base import Config
from dpsyn.mechanisms.contingency import Contingency
from dpsyn.mechanisms.contingency.mechanism import Cells
from dpsyn.privacy.spec import PrivacySpec

_CELLS: Mapping[Cells, str] = {
    "auto": "all cells, if there are few",
    "all": "all cells",
    "present": "the cells that have rows, above a threshold",
}


def form(current: Dataset, epsilon: float, delta: float) -> tuple[Config, PrivacySpec]:
    """Settings of the whole table."""
    settings, spec = categories.settings(current, "contingency", epsilon, delta)
    cells = widgets.pick("Noise goes on", _CELLS, key="contingency_cells")
    return Contingency(**settings, cells=cells), spec
