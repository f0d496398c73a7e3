"""Records, averages and noisy averages by a seed: the same records and the same noise while l and σ move."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy.stats import binom

from dpsyn.mechanisms.dp_cda.accounting.functions import Variant
from dpsyn.mechanisms.dp_cda.figures.records import Records

Floats = npt.NDArray[np.float64]

REAL, MIXED, NOISED = "real", "mixed", "mixed and noised"
STAGES = (REAL, MIXED, NOISED)


@dataclass(frozen=True, eq=False)
class Drawn:
    """Points of some classes at three stages, each of shape (classes, count, d): one record, its average, the noisy average.

    Attributes:
        classes: codes.
        real: records; the first of those that are averaged.
        mixed: averages of l clipped records of the class.
        noised: the same plus N(0, σ²I).
    """

    classes: tuple[int, ...]
    real: Floats
    mixed: Floats
    noised: Floats

    def stage(self, name: str) -> Floats:
        """One of :data:`STAGES`."""
        return {REAL: self.real, MIXED: self.mixed, NOISED: self.noised}[name]


def draw_rows(
    records: Records,
    *,
    order_of_mixture: int,
    sigma: float,
    radius: float,
    seed: int,
    count: int = 1,
    classes: Sequence[int] | None = None,
    variant: Variant = "fixed_size",
) -> Drawn:
    """``count`` rows of every class, with at most all records that were kept in an average.

    A larger l adds records to the same average and a larger σ stretches the same noise, so what changes between two
    settings is their doing and not chance.

    Args:
        records: what to mix.
        order_of_mixture: l.
        sigma: σ.
        radius: c.
        seed: of the draw.
        count: rows a class.
        classes: codes; None takes all with l records or more.
        variant: with ``"poisson"`` the number of records varies around l while the sum is divided by l.
    """
    chosen = [k for k in (records.mixable(order_of_mixture) if classes is None else classes) if records.sizes[k]]
    points = records.clipped(radius)
    shape = (len(chosen), count, records.dimension)
    real, mixed, noise = np.zeros(shape), np.zeros(shape), np.zeros(shape)
    for at, k in enumerate(chosen):
        generator = np.random.default_rng([seed, k])
        noise[at] = generator.standard_normal(shape[1:])
        members = np.flatnonzero(records.labels == k)
        if not len(members):
            continue
        for row in range(count):
            shuffled, chance = generator.permutation(members), generator.random()
            real[at, row] = records.points[shuffled[0]]
            wanted = min(order_of_mixture, len(members))
            taken = wanted
            if variant == "poisson":
                taken = int(binom.ppf(chance, len(members), wanted / len(members)))
            mixed[at, row] = points[shuffled[:taken]].sum(axis=0) / wanted
    return Drawn(tuple(chosen), real, mixed, mixed + sigma * noise)
