"""The sections of the feasibility page, by name, in order."""

from __future__ import annotations

from collections.abc import Callable

from dpsyn.ui.explorer import export, mixing, reweighting, sampling, tables, verdict
from dpsyn.ui.explorer.setting import Explorer

SECTIONS: dict[str, Callable[[Explorer], None]] = {
    "Verdict": verdict.show,
    "Private sampling": sampling.show,
    "Noisy reweighting": reweighting.show,
    "DP-CDA": mixing.show,
    "The papers' tables": tables.show,
    "Export": export.show,
}
