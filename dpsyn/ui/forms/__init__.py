"""The settings of each mechanism as widgets: a function per mechanism that returns its configuration."""

from __future__ import annotations

from collections.abc import Callable

from dpsyn.mechanisms.base import Config
from dpsyn.mechanisms.dp_cda import DPCDA
from dpsyn.mechanisms.noisy_reweighting import NoisyReweighting
from dpsyn.mechanisms.private_sampling import PrivateSampling
from dpsyn.privacy.spec import PrivacySpec
from dpsyn.ui.forms.dp_cda import dp_cda
from dpsyn.ui.forms.noisy_reweighting import noisy_reweighting
from dpsyn.ui.forms.private_sampling import private_sampling
from dpsyn.ui.state import Dataset

Form = Callable[[Dataset], tuple[Config, PrivacySpec]]

FORMS: dict[str, Form] = {
    PrivateSampling.name: private_sampling,
    NoisyReweighting.name: noisy_reweighting,
    DPCDA.name: dp_cda,
}
