"""What to say of a release of DP-CDA that its rows alone do not show."""

from __future__ import annotations

from dpsyn.domain import Domain
from dpsyn.mechanisms.base import Release


def of_release(release: Release, domain: Domain) -> list[str]:
    """That classes are missing: read from the release itself, so it is no secret."""
    target = str(release.settings.get("target"))
    if target not in domain or release.mechanism != "dp_cda":
        return []
    there = set(release.rows[target])
    absent = [str(c) for c in domain[target].categories if c not in there]
    if not absent:
        return []
    return [
        f"No row of the classes {', '.join(absent)}: by the private counts they may have too few records to mix. "
        "Lower l, give the counts a larger share of ε, or state a public lower bound."
    ]
