"""The page that opens each mechanism: a function per mechanism that draws its panels."""

from __future__ import annotations

from collections.abc import Callable

from dpsyn.mechanisms.dp_cda import DPCDA
from dpsyn.mechanisms.noisy_reweighting import NoisyReweighting
from dpsyn.mechanisms.private_sampling import PrivateSampling
from dpsyn.ui.inside.mixing import mixing
from dpsyn.ui.inside.reweighting import reweighting
from dpsyn.ui.inside.sampling import sampling
from dpsyn.ui.state import Dataset

PANELS: dict[str, Callable[[Dataset], None]] = {
    PrivateSampling.name: sampling,
    NoisyReweighting.name: reweighting,
    DPCDA.name: mixing,
}
