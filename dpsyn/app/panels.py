"""The page that opens each mechanism: a function per mechanism that draws its panels."""

from __future__ import annotations

from collections.abc import Callable

from dpsyn.kit.visit import Dataset
from dpsyn.mechanisms.dp_cda import DPCDA
from dpsyn.mechanisms.dp_cda.panels import mixing
from dpsyn.mechanisms.noisy_reweighting import NoisyReweighting
from dpsyn.mechanisms.noisy_reweighting.panels import reweighting
from dpsyn.mechanisms.private_sampling import PrivateSampling
from dpsyn.mechanisms.private_sampling.panels import sampling

PANELS: dict[str, Callable[[Dataset], None]] = {
    PrivateSampling.name: sampling,
    NoisyReweighting.name: reweighting,
    DPCDA.name: mixing,
}
