"""What to say of a run of DP-CDA before it starts, and of a release what its rows alone do not show."""

from __future__ import annotations

from dpsyn.domain import Domain
from dpsyn.mechanisms.base import Release
from dpsyn.mechanisms.dp_cda._mechanism import DPCDAMechanism
from dpsyn.mechanisms.dp_cda._published import PublishedDPCDAMechanism


def of_run(mechanism: DPCDAMechanism | PublishedDPCDAMechanism) -> list[tuple[str, str]]:
    """What averages of numbers cannot keep, what is known after the class counts only, and whether these are too few."""
    said = []
    if mechanism.rows_per_class is None:
        said.append(
            "Rows are made in proportion to the noisy class counts, so how many of each class, and the noise on them, "
            "are known once the counts are released."
        )
    if mechanism.features.numbers:
        said.append(
            f"A row is an average of {mechanism.config.order_of_mixture} with noise, cut off at the "
            "bounds: values that stand out (a column of mostly zeros) and long tails go, and much noise piles "
            "values up there."
        )
    few = _too_few(mechanism) if isinstance(mechanism, DPCDAMechanism) else []  # as published no class is counted
    return [*few, *(("caption", sentence) for sentence in said)]


def _too_few(mechanism: DPCDAMechanism) -> list[tuple[str, str]]:
    """That classes of average size are lost in the margin, where n is public and class sizes are not."""
    margin, classes, order = mechanism.budget.count_margin, len(mechanism.classes), mechanism.config.order_of_mixture
    average = mechanism.n // classes
    if mechanism.spec.neighbouring != "replace_one" or not margin or average - margin > order:
        return []
    return [
        (
            "warning",
            f"This run is likely to fail, or to lose classes: of n = {mechanism.n:,} records a class of average size has "
            f"{average:,}, and noisy counts lose a margin of {margin:,}, of which more than l = "
            f"{order} have to be left. Raise ε or its share for the class sizes, or state public class sizes.",
        )
    ]


def of_release(release: Release, domain: Domain) -> list[str]:
    """That classes are missing: read from the release itself, so it is no secret."""
    target = str(release.settings.get("target"))
    if target not in domain or target not in release.rows or release.mechanism != "dp_cda":
        return []
    there, asked = set(release.rows[target]), release.settings.get("rows_per_class", {})
    absent = [str(c) for c in domain[target].categories if c not in there and asked.get(str(c)) != 0]
    if not absent:
        return []
    plural, they = ("es", "they") if len(absent) > 1 else ("", "it")
    return [
        f"No row of the class{plural} {', '.join(absent)}: by the private counts {they} may have too few records to mix. "
        "Lower l, give the counts a larger share of ε, or state a public lower bound."
    ]
