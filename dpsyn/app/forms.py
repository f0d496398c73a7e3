"""The settings of each mechanism as widgets: a function per mechanism that returns its configuration."""

from __future__ import annotations

from collections.abc import Callable

from dpsyn.kit.visit import Dataset
from dpsyn.mechanisms.base import Config
from dpsyn.mechanisms.dp_cda import DPCDA
from dpsyn.mechanisms.dp_cda.form import dp_cda
from dpsyn.mechanisms.noisy_reweighting import NoisyReweighting
from dpsyn.mechanisms.noisy_reweighting.form import noisy_reweighting
from dpsyn.mechanisms.private_sampling import PrivateSampling
from dpsyn.mechanisms.private_sampling.form import private_sampling
from dpsyn.privacy.spec import PrivacySpec

Form = Callable[[Dataset], tuple[Config, PrivacySpec]]

FORMS: dict[str, Form] = {
    PrivateSampling.name: private_sampling,
    NoisyReweighting.name: noisy_reweighting,
    DPCDA.name: dp_cda,
}
