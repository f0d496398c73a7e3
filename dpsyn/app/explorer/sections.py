"""The sections of the feasibility page, by name, in order: the verdicts, those that the mechanisms offer, and the export."""

from __future__ import annotations

from collections.abc import Callable

from dpsyn.app.explorer import export, verdict
from dpsyn.app.explorer.setting import offers
from dpsyn.kit.explorer import Explorer

Section = Callable[[Explorer], None]


def sections() -> dict[str, Section]:
    """Each mechanism's own section first, then what else they offer."""
    offered: list[dict[str, Section]] = list(offers("SECTIONS").values())
    own = {title: show for each in offered for title, show in list(each.items())[:1]}
    rest = {title: show for each in offered for title, show in list(each.items())[1:]}
    return {"Verdict": verdict.show, **own, **rest, "Export": export.show}
