"""The sections of the feasibility page, by name, in order."""

from __future__ import annotations

from collections.abc import Callable

from dpsyn.app.explorer import export, verdict
from dpsyn.kit.explorer import Explorer
from dpsyn.mechanisms.dp_cda.panels import feasibility as mixing
from dpsyn.mechanisms.noisy_reweighting.panels import feasibility as reweighting
from dpsyn.mechanisms.private_sampling.panels import feasibility as sampling
from dpsyn.mechanisms.private_sampling.panels import paper_tables as tables

SECTIONS: dict[str, Callable[[Explorer], None]] = {
    "Verdict": verdict.show,
    "Private sampling": sampling.show,
    "Noisy reweighting": reweighting.show,
    "DP-CDA": mixing.show,
    "The papers' tables": tables.show,
    "Export": export.show,
}
