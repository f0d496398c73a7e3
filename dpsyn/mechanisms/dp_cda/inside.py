"""What the panels and pictures of DP-CDA are drawn from: private records, and a mechanism calibrated to the page's settings.

For teaching: it reads private rows and takes their class sizes for public.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np
import numpy.typing as npt

from dpsyn.mechanisms.dp_cda._checks import class_column, class_values, in_proportion
from dpsyn.mechanisms.dp_cda._config import DPCDA
from dpsyn.mechanisms.dp_cda._mechanism import DPCDAMechanism
from dpsyn.mechanisms.dp_cda.accounting.quick import Sizes
from dpsyn.mechanisms.feature_map import FeatureMap, clip_to_ball
from dpsyn.privacy.mixing.averaging import repeated_averages
from dpsyn.privacy.mixing.pairs import Variant
from dpsyn.privacy.spec import PrivacySpec
from dpsyn.table import Table

Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]

MOST_ROWS = 10_000
"""Records that pictures are drawn from; of a longer table a random sample. Class sizes are always those of all rows."""
_MOST_CELLS = 3_000_000
_SEED = 0


@dataclass(frozen=True, eq=False)
class Records:
    """Private records of a table, scaled as a run scales them. Of a long table a fixed random sample is kept.

    Args:
        table: all rows.
        target: the class column.
        most: how many rows are kept at most (fewer if the table is very wide).

    Raises:
        ParameterError: the target is no column of truth values or categories, or there is nothing beside it to mix.
    """

    table: Table
    target: str
    most: int = MOST_ROWS
    _clipped: dict[float, Floats] = field(default_factory=dict, repr=False)

    def __post_init__(self) -> None:
        class_column(self.target, self.table.domain)

    @cached_property
    def features(self) -> FeatureMap:
        """The map between rows and points."""
        domain = self.table.domain
        return FeatureMap(domain.project([name for name in domain.names if name != self.target]))

    @cached_property
    def classes(self) -> tuple[str, ...]:
        """The values of the target as text, in code order."""
        return tuple(self.table.domain[self.target].labels())

    @cached_property
    def sizes(self) -> tuple[int, ...]:
        """N_k of all rows, in code order."""
        counts = np.bincount(self._codes, minlength=self.table.domain[self.target].size)
        return tuple(int(count) for count in counts)

    @property
    def _codes(self) -> Integers:
        return np.asarray(self.table.codes[:, self.table.domain.index(self.target)], dtype=np.int64)

    @cached_property
    def kept(self) -> Integers:
        """Numbers of the rows that are kept."""
        most = max(1, min(self.most, _MOST_CELLS // max(self.features.dimension, 1)))
        if self.table.n <= most:
            return np.arange(self.table.n)
        return np.sort(np.random.default_rng(_SEED).choice(self.table.n, size=most, replace=False))

    @cached_property
    def labels(self) -> Integers:
        """Class codes of the records kept, shape (n,)."""
        return self._codes[self.kept]

    @cached_property
    def points(self) -> Floats:
        """The records kept, shape (n, d), of norm at most 1, not yet clipped."""
        return self.features.encode(self.table.take(self.kept))

    def clipped(self, radius: float) -> Floats:
        """The points as the mechanism shortens them, remembered for the last radius."""
        if radius not in self._clipped:
            self._clipped.clear()
            self._clipped[radius] = clip_to_ball(self.points, radius)[0]
        return self._clipped[radius]

    @property
    def dimension(self) -> int:
        """d, coordinates of a point."""
        return self.features.dimension

    def mixable(self, order_of_mixture: int) -> list[int]:
        """Codes of the classes with l records or more."""
        return [k for k, size in enumerate(self.sizes) if size >= max(order_of_mixture, 1)]


@dataclass(frozen=True)
class Signal:
    """Expected squared lengths in one mixed row, in units of the scaled records.

    Attributes:
        between: of the class mean around the average class mean; it tells classes apart and does not depend on l.
        within: of a mixed row around its class mean, averaged over classes: V_k(N_k - l)/(l(N_k - 1)) for l records drawn
            without replacement; (1 - l/N_k)·E‖x‖²/l for Poisson sums, whose number of records varies as well.
        dimension: d; noise has squared length dσ².
    """

    between: float
    within: float
    dimension: int

    def to_noise(self, sigma: float) -> float:
        """Signal-to-noise ratio: total squared length over dσ²."""
        return (self.between + self.within) / (self.dimension * sigma**2) if self.dimension else 0.0


@dataclass(frozen=True, eq=False)
class Drawn:
    """Points of some classes at three stages, each of shape (classes, count, d).

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


@dataclass(frozen=True, eq=False)
class Inside:
    """Everything that the pictures draw from.

    Args:
        records: the private records.
        epsilon, delta, order_of_mixture, clip_norm, variant: as :class:`DPCDA` and its requirement have them.
        rows: T, in proportion to the sizes of the classes; those with fewer than l records get none.
    """

    records: Records
    epsilon: float
    delta: float
    order_of_mixture: int
    rows: int
    clip_norm: float = 1.0
    variant: Variant = "fixed_size"

    def at(self, order_of_mixture: int) -> Inside:
        """The same at another l."""
        return replace(self, order_of_mixture=order_of_mixture)

    @cached_property
    def kept(self) -> list[int]:
        """Codes of the classes that can be mixed: l records or more."""
        return self.records.mixable(self.order_of_mixture)

    @cached_property
    def rows_per_class(self) -> tuple[int, ...]:
        """T_k of the classes that can be mixed."""
        return in_proportion(self.rows, [self.records.sizes[k] for k in self.kept]) if self.kept else ()

    @cached_property
    def mechanism(self) -> DPCDAMechanism:
        """What would run: the true class sizes declared, no rows of the classes that are too small.

        Columns of a single value, which a release refuses, have no coordinates and are left out.
        """
        table = self.records.table
        values = class_values(table.domain[self.records.target])
        made = dict(zip(self.kept, self.rows_per_class, strict=True))
        config = DPCDA(
            target=self.records.target,
            order_of_mixture=self.order_of_mixture,
            rows={value: made.get(k, 0) for k, value in enumerate(values)},
            class_sizes=dict(zip(values, self.records.sizes, strict=True)),
            clip_norm=self.clip_norm,
            variant=self.variant,
        )
        varied = [a.name for a in table.domain.attributes if a.name == self.records.target or not a.is_constant]
        return config.calibrate(PrivacySpec(self.epsilon, self.delta), table.domain.project(varied), table.n)

    @cached_property
    def sigma(self) -> float:
        """σ of the mechanism."""
        return self.mechanism.noise_scale_for(self.mechanism.public_sizes or ())

    @property
    def sizes(self) -> Sizes:
        """What the other accountants know of the same rows."""
        counts = tuple(self.records.sizes[k] for k in self.kept)
        return Sizes(counts, self.rows_per_class, self.delta, self.clip_norm, self.variant)

    @property
    def clipped(self) -> Floats:
        """The records kept, shortened to c."""
        return self.records.clipped(min(self.clip_norm, 1.0))

    def signal(self, order_of_mixture: int | None = None) -> Signal:
        """Expected squared lengths in a row of a class that can be mixed, at this l or another, every class counted once."""
        order = self.order_of_mixture if order_of_mixture is None else order_of_mixture
        if not self.kept:
            return Signal(0.0, 0.0, self.records.dimension)
        means, variances, squares = self._moments
        between = float(((means - means.mean(axis=0)) ** 2).sum(axis=1).mean())
        sizes = np.array([self.records.sizes[k] for k in self.kept], dtype=np.float64)
        left = np.maximum(sizes - order, 0)
        if self.variant == "poisson":
            within = float((squares * left / sizes).mean()) / order
        else:
            within = float((variances * left / np.maximum(sizes - 1, 1)).mean()) / order
        return Signal(between, within, self.records.dimension)

    @cached_property
    def _moments(self) -> tuple[Floats, Floats, Floats]:
        """Of the clipped records of the classes that can be mixed: means (K, d), variances around them and mean squares."""
        members = [self.clipped[self.records.labels == k] for k in self.kept]
        counts = np.maximum([len(found) for found in members], 1)
        means = np.stack([found.sum(axis=0) for found in members]) / counts[:, None]
        squares = np.array([(found**2).sum() for found in members]) / counts
        return means, np.maximum(squares - (means**2).sum(axis=1), 0.0), squares

    def draw(self, seed: int, count: int = 1, classes: Sequence[int] | None = None, sigma: float | None = None) -> Drawn:
        """``count`` rows of every class, step by step, with all records that were kept in an average at most.

        Args:
            seed: of the draw; it keeps its records and its noise while l and σ change (:func:`repeated_averages`).
            count: rows per class.
            classes: codes; None takes all that can be mixed.
            sigma: None takes the mechanism's.
        """
        scale = self.sigma if sigma is None else sigma
        chosen = [k for k in (self.kept if classes is None else classes) if self.records.sizes[k]]
        real, mixed, noised = np.zeros((3, len(chosen), count, self.records.dimension))
        for at, k in enumerate(chosen):
            members = np.flatnonzero(self.records.labels == k)
            if len(members):
                first, mixed[at], noised[at] = repeated_averages(
                    self.clipped[members], self.order_of_mixture, count, scale, [seed, k], variant=self.variant
                )
                real[at] = self.records.points[members[first]]
        return Drawn(tuple(chosen), real, mixed, noised)
