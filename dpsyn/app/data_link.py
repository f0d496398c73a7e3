"""What the address says about the data: a bundled dataset, and what was set on the page Data. Nothing of anybody's own."""

from __future__ import annotations

import json
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import replace
from typing import Any

from dpsyn.data.samples import SAMPLES
from dpsyn.domain import Attribute, Domain
from dpsyn.errors import DpsynError
from dpsyn.kit.visit import HELD_OUT, Dataset, bundled

DATA, TARGET, SHARE, BITS, COLUMNS = "data", "data_target", "data_held_out", "data_bits", "data_columns"
OWN = "own"
"""In place of a name: a table of the user's own was loaded."""
NAMES = (DATA, TARGET, SHARE, BITS, COLUMNS)


def described(current: Dataset) -> dict[str, str]:
    """The parameters that :func:`restored` reads back; for the user's own data that it was such, and nothing of it."""
    if current.sample is None:
        return {DATA: OWN}
    found = {DATA: current.sample}
    if current.two_valued_as_bit:
        found[BITS] = "true"
    if current.target != SAMPLES[current.sample].target:
        found[TARGET] = current.target or ""
    if current.held_out != HELD_OUT:
        found[SHARE] = f"{current.held_out:g}"
    changes = _changes(current.full.domain, current.table.domain)
    if changes:
        found[COLUMNS] = json.dumps(changes, ensure_ascii=False, separators=(",", ":"))
    return found


def restored(query: Mapping[str, str]) -> Dataset | None:
    """The bundled dataset as the parameters describe it, or None if they name none. What makes no sense is left out."""
    sample = query.get(DATA)
    if sample not in SAMPLES:
        return None
    made = bundled(sample)
    # Not there, or not what a link of this app says: the columns stay as they are.
    with suppress(KeyError, TypeError, ValueError, AttributeError, DpsynError):
        made = made.changed(table=made.full.with_domain(_changed(made.full.domain, json.loads(query[COLUMNS]))))
    target = query.get(TARGET, made.target)
    if target in made.classes:
        made = replace(made, target=target)
    try:
        share = float(query.get(SHARE, HELD_OUT))
    except ValueError:
        share = HELD_OUT
    return replace(made, held_out=share if 0.05 <= share <= 0.5 else HELD_OUT, two_valued_as_bit=query.get(BITS) == "true")


def _changes(full: Domain, now: Domain) -> dict[str, dict[str, Any] | None]:
    """By column what differs: None for one that is left out, everything for one of another kind."""
    changes: dict[str, dict[str, Any] | None] = {}
    for old in full.attributes:
        if old.name not in now:
            changes[old.name] = None
        elif now[old.name] != old:
            before, after = old.to_dict(), now[old.name].to_dict()
            other_kind = before["kind"] != after["kind"]
            changes[old.name] = {k: v for k, v in after.items() if k != "name" and (other_kind or before[k] != v)}
    return changes


def _changed(full: Domain, changes: Mapping[str, Mapping[str, Any] | None]) -> Domain:
    """The domain with the changes that :func:`_changes` found."""
    attributes = []
    for old in full.attributes:
        change = changes.get(old.name, {})
        if change is not None:
            before = {"name": old.name} if "kind" in change else old.to_dict()
            attributes.append(Attribute.from_dict({**before, **change}) if change else old)
    return Domain.of(attributes)
