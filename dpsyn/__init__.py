"""Differentially private synthetic data: three published mechanisms, their guarantees and their limits.

Names are loaded on first use, so that ``import dpsyn`` costs next to nothing.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from dpsyn.mechanisms.registry import MECHANISMS

if TYPE_CHECKING:
    from dpsyn.data.large import file_statistics as file_statistics
    from dpsyn.data.read import read_table as read_table
    from dpsyn.data.samples import load_sample as load_sample
    from dpsyn.domain import Attribute as Attribute
    from dpsyn.domain import Domain as Domain
    from dpsyn.errors import DpsynError as DpsynError
    from dpsyn.evaluation.report import evaluate as evaluate
    from dpsyn.mechanisms.base import Release as Release
    from dpsyn.mechanisms.dp_cda import DPCDA as DPCDA
    from dpsyn.mechanisms.feasibility import feasibility as feasibility
    from dpsyn.mechanisms.noisy_reweighting import NoisyReweighting as NoisyReweighting
    from dpsyn.mechanisms.private_sampling import PrivateSampling as PrivateSampling
    from dpsyn.mechanisms.private_sampling.local_loss import LossMeter as LossMeter
    from dpsyn.mechanisms.private_sampling.local_loss import local_loss as local_loss
    from dpsyn.privacy.private_statistics import private_statistics as private_statistics
    from dpsyn.privacy.spec import Guarantee as Guarantee
    from dpsyn.privacy.spec import PrivacySpec as PrivacySpec
    from dpsyn.statistics import DatasetStatistics as DatasetStatistics
    from dpsyn.table import Table as Table

_HOME = {
    "Attribute": "dpsyn.domain",
    "DatasetStatistics": "dpsyn.statistics",
    "Domain": "dpsyn.domain",
    "DpsynError": "dpsyn.errors",
    "Guarantee": "dpsyn.privacy.spec",
    "LossMeter": "dpsyn.mechanisms.private_sampling.local_loss",
    "PrivacySpec": "dpsyn.privacy.spec",
    "Release": "dpsyn.mechanisms.base",
    "Table": "dpsyn.table",
    "evaluate": "dpsyn.evaluation.report",
    "feasibility": "dpsyn.mechanisms.feasibility",
    "file_statistics": "dpsyn.data.large",
    "load_sample": "dpsyn.data.samples",
    "local_loss": "dpsyn.mechanisms.private_sampling.local_loss",
    "private_statistics": "dpsyn.privacy.private_statistics",
    "read_table": "dpsyn.data.read",
}

_HOME |= {name: module for module, name in (home.split(":") for home in MECHANISMS.values())}

__all__ = sorted(_HOME)  # noqa: PLE0605


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module 'dpsyn' has no attribute {name!r}")
    value = getattr(import_module(_HOME[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return __all__
