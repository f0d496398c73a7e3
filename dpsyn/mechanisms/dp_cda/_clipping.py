"""How much a clip norm cuts. Reads the records: for a picture, never for choosing c on the data that are released."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from dpsyn.errors import ParameterError
from dpsyn.mechanisms.dp_cda._feature_map import FeatureMap
from dpsyn.mechanisms.dp_cda._standard import SMALLEST_SPREAD
from dpsyn.table import Table

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Clipping:
    """What clipping does to the records. NOT private.

    Attributes:
        clip_norm: c.
        norms: of the scaled records before clipping, shape (n,).
        share_cut: share of the records whose norm is above c.
        lost: share of the sum of squared norms that is cut away.
    """

    clip_norm: float
    norms: Floats

    @property
    def share_cut(self) -> float:
        """Share of the records that are shortened."""
        return float((self.norms > self.clip_norm * (1 + 1e-12)).mean()) if len(self.norms) else 0.0

    @property
    def lost(self) -> float:
        """1 - Σ min(‖x‖, c)² / Σ ‖x‖²."""
        total = float((self.norms**2).sum())
        return 1 - float((np.minimum(self.norms, self.clip_norm) ** 2).sum()) / total if total > 0 else 0.0


def clipping(table: Table, target: str, clip_norm: float, *, standardised: bool = False) -> Clipping:
    """Norms of the records scaled by public bounds, and what c cuts.

    Args:
        table: the records.
        target: the class column, which is not mixed.
        clip_norm: c.
        standardised: scale by the data's own means and deviations, as ``scaling="private"`` does up to its noise.

    Raises:
        ParameterError: there is no such column or no other, or c is not positive.
    """
    if target not in table.domain:
        raise ParameterError("target", target, f"one of the columns {', '.join(map(repr, table.domain.names))}")
    if not clip_norm > 0:
        raise ParameterError("clip_norm", clip_norm, "a number > 0; 1 keeps records that are scaled by bounds as they are")
    names = [name for name in table.domain.names if name != target]
    if not names:
        raise ParameterError("target", target, "one column of several: there is nothing else to scale")
    features = FeatureMap(table.domain.project(names))
    points = features.encode(table)
    if standardised and table.n:
        at = features.number_coordinates
        values = points[:, at] * features.length
        spread = np.maximum(values.std(axis=0), SMALLEST_SPREAD)
        points[:, at] = (values - values.mean(axis=0)) / spread / features.length
    return Clipping(clip_norm, np.sqrt(np.einsum("ij,ij->i", points, points)))
