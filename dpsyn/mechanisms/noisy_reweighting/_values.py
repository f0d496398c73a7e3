"""Values of binned columns that lean towards the fuller neighbouring bin."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pandas as pd

from dpsyn.domain import Attribute, Codes, Domain

Floats = npt.NDArray[np.float64]


def smooth_rows(domain: Domain, codes: Codes, generator: np.random.Generator) -> pd.DataFrame:
    """Rows like those of ``domain.decode``, but with a density that is linear inside each bin of a binned column.

    Its slope is half the difference of the neighbours' heights, as far as the density stays positive; every bin keeps its
    count. Only the released codes are used.
    """
    rows = domain.decode(codes, generator)
    for j, attribute in enumerate(domain.attributes):
        if attribute.is_binned and attribute.effective_bins > 1:
            rows[attribute.name] = _smooth_column(attribute, codes[:, j], generator)
    return rows


def _smooth_column(attribute: Attribute, codes: npt.NDArray[np.int32], generator: np.random.Generator) -> pd.Series[float]:
    edges = attribute.edges
    bins = attribute.effective_bins
    counts = np.bincount(codes, minlength=attribute.size)[:bins]
    heights = counts / np.diff(edges)
    around = np.pad(heights, 1, mode="edge")
    with np.errstate(divide="ignore", invalid="ignore"):
        slopes = np.clip(np.nan_to_num((around[2:] - around[:-2]) / (4 * heights)), -1.0, 1.0)
    empty = codes >= bins
    at = np.where(empty, 0, codes)
    low, high = edges[at], edges[at + 1]
    inside = low + _linear(slopes[at], generator.random(len(codes))) * (high - low)
    # Rounding may reach the upper edge, which belongs to the next bin.
    inside = np.minimum(inside, np.nextafter(high, low))
    if attribute.integer or attribute.kind == "date":
        inside = np.floor(inside)
    return attribute.from_numbers(np.where(empty, np.nan, inside))


def _linear(slope: Floats, uniform: Floats) -> Floats:
    """The inverse of u ↦ (1 - s)·u + s·u², which is the distribution function of the density 1 - s + 2s·u on [0, 1]."""
    flat = np.abs(slope) < 1e-9
    safe = np.where(flat, 1.0, slope)
    bent = (safe - 1 + np.sqrt((1 - safe) ** 2 + 4 * safe * uniform)) / (2 * safe)
    return np.asarray(np.clip(np.where(flat, uniform, bent), 0.0, 1.0))
