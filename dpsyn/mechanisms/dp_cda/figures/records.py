"""Private records as DP-CDA scales them, and how much of them survives mixing."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from dpsyn.errors import ParameterError
from dpsyn.mechanisms.dp_cda._feature_map import FeatureMap, clip_to_ball
from dpsyn.mechanisms.dp_cda.accounting.functions import Variant
from dpsyn.table import Table

Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]

MOST_ROWS = 10_000
"""Records that pictures are drawn from; of a longer table a random sample. Class sizes are always those of all rows."""
_MOST_CELLS = 8_000_000
_SEED = 0


@dataclass(frozen=True)
class Moments:
    """Of clipped records: class means, shape (K, d), total variances around them and mean squared norms, shape (K,)."""

    means: Floats
    variances: Floats
    squares: Floats


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

    @property
    def total(self) -> float:
        """Between and within."""
        return self.between + self.within

    def to_noise(self, sigma: float) -> float:
        """Signal-to-noise ratio: total squared length over dσ²."""
        return self.total / (self.dimension * sigma**2) if self.dimension else 0.0


@dataclass(frozen=True, eq=False)
class Records:
    """Private records of a table as points of the unit ball.

    Attributes:
        features: the map between rows and points.
        target: the class column.
        classes: the values of the target as text, in code order.
        sizes: N_k of all rows, in code order.
        labels: class codes of the records kept, shape (n,).
        points: the records kept, shape (n, d), of norm at most 1, not yet clipped.
    """

    features: FeatureMap
    target: str
    classes: tuple[str, ...]
    sizes: tuple[int, ...]
    labels: Integers
    points: Floats
    _moments: dict[float, Moments] = field(default_factory=dict, repr=False)

    @property
    def n(self) -> int:
        """Number of all rows."""
        return sum(self.sizes)

    @property
    def dimension(self) -> int:
        """d, coordinates of a point."""
        return int(self.points.shape[1])

    @property
    def sampled(self) -> bool:
        """Whether only a sample of the rows was kept."""
        return len(self.labels) < self.n

    def mixable(self, order_of_mixture: int) -> list[int]:
        """Codes of the classes with l records or more."""
        return [k for k, size in enumerate(self.sizes) if size >= max(order_of_mixture, 1)]

    def clipped(self, radius: float) -> Floats:
        """The points, shortened to norm ``radius`` where they are longer."""
        return clip_to_ball(self.points, radius)[0]

    def moments(self, radius: float) -> Moments:
        """Of the points clipped to ``radius``, remembered."""
        if radius not in self._moments:
            points, width = self.clipped(radius), len(self.classes)
            counts = np.maximum(np.bincount(self.labels, minlength=width), 1)
            means = np.stack([points[self.labels == k].sum(axis=0) for k in range(width)]) / counts[:, None]
            squares = np.bincount(self.labels, weights=(points**2).sum(axis=1), minlength=width) / counts
            variances = np.maximum(squares - (means**2).sum(axis=1), 0.0)
            self._moments[radius] = Moments(means, variances, squares)
        return self._moments[radius]

    def signal(
        self,
        order_of_mixture: int,
        radius: float,
        classes: Sequence[int] | None = None,
        variant: Variant = "fixed_size",
    ) -> Signal:
        """Expected squared lengths in a row that averages l records of norm at most ``radius``.

        Args:
            order_of_mixture: l.
            radius: c.
            variant: how records are drawn.
            classes: codes of the classes that rows are made from, equally many from each; None takes :meth:`mixable`.
        """
        kept = self.mixable(order_of_mixture) if classes is None else list(classes)
        if not kept:
            return Signal(0.0, 0.0, self.dimension)
        found = self.moments(radius)
        means = found.means[kept]
        between = float(((means - means.mean(axis=0)) ** 2).sum(axis=1).mean())
        sizes = np.array([self.sizes[k] for k in kept], dtype=np.float64)
        left = np.maximum(sizes - order_of_mixture, 0)
        if variant == "poisson":
            within = float((found.squares[kept] * left / sizes).mean()) / order_of_mixture
        else:
            within = float((found.variances[kept] * left / np.maximum(sizes - 1, 1)).mean()) / order_of_mixture
        return Signal(between, within, self.dimension)


def records_of(table: Table, target: str, *, most: int = MOST_ROWS) -> Records:
    """The records of a table, or of a fixed random sample of ``most`` of its rows (fewer if it is very wide).

    Raises:
        ParameterError: the target is no column of truth values or categories, or there is nothing beside it to mix.
    """
    if target not in table.domain:
        raise ParameterError("target", target, f"one of the columns {', '.join(map(repr, table.domain.names))}")
    attribute = table.domain[target]
    if attribute.is_binned:
        raise ParameterError("target", target, f"a truth or categorical column; this one is {attribute.kind}")
    others = [name for name in table.domain.names if name != target]
    if not others:
        raise ParameterError("target", target, "a column beside others: DP-CDA mixes the other columns, and there are none")
    codes = table.codes[:, table.domain.index(target)].astype(np.int64)
    features = FeatureMap(table.domain.project(others))
    most = max(1, min(most, _MOST_CELLS // max(features.dimension, 1)))
    kept = np.arange(table.n)
    if table.n > most:
        kept = np.sort(np.random.default_rng(_SEED).choice(table.n, size=most, replace=False))
    return Records(
        features=features,
        target=target,
        classes=tuple(attribute.labels()),
        sizes=tuple(int(count) for count in np.bincount(codes, minlength=attribute.size)),
        labels=codes[kept],
        points=features.encode(table.take(kept)),
    )
