"""Noisy reweighting side by side: Walsh or contingency statistics, Laplace or Gaussian noise, as published and corrected."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import pandas as pd

from dpsyn.mechanisms.noisy_reweighting.setting import FamilyName, Noise, ReweightingSetting, reweighting_setting
from dpsyn.privacy.spec import PrivacySpec
from dpsyn.statistics import DatasetStatistics
from dpsyn.theory.logarithms import format_log

Variant = tuple[FamilyName, Noise, bool]
VARIANTS: tuple[Variant, ...] = (
    ("walsh", "laplace", True),
    ("walsh", "gaussian", True),
    ("contingency", "laplace", True),
    ("contingency", "gaussian", True),
    ("walsh", "laplace", False),
    ("contingency", "laplace", False),
)
"""Statistics, noise, corrected. The papers have no Gaussian noise, so there is nothing published to set beside it."""

_STATISTICS: dict[FamilyName, str] = {"walsh": "Walsh", "contingency": "tables"}
_NOISES: dict[Noise, str] = {"laplace": "Laplace", "gaussian": "Gaussian"}


@dataclass(frozen=True)
class ReweightingRow:
    """What Theorems 2.2 and 2.3 say about one variant.

    Attributes:
        variant: statistics, noise, corrected.
        setting: its numbers: |F|, sensitivity, noise scale, smallest accuracy, and the n, k and m that are required.
        reason: why most of them mean nothing: Gaussian noise without a privacy δ. The setting is with Laplace noise then.
    """

    variant: Variant
    setting: ReweightingSetting
    reason: str = ""

    @property
    def name(self) -> str:
        """For a legend: ``"Walsh, Laplace"``, ``"tables, Laplace, published"``."""
        statistics, noise, corrected = self.variant
        return f"{_STATISTICS[statistics]}, {_NOISES[noise]}{'' if corrected else ', published'}"

    @property
    def log_n(self) -> float:
        """ln of the smallest n that the theorems ask for at the accuracy asked for."""
        return max(self.setting.log_n_for_noise, self.setting.log_smallest_rows)

    @property
    def smallest_error(self) -> float:
        """8·accuracy at the smallest accuracy; NaN where there is a reason. Ignoring the data achieves 1 as well."""
        return math.nan if self.reason else 8 * self.setting.smallest_accuracy


def reweighting_table(
    stats: DatasetStatistics, spec: PrivacySpec, *, accuracy: float = 0.1, **settings: Any
) -> tuple[ReweightingRow, ...]:
    """σ, the smallest accuracy, and the n, k and m required, for each of VARIANTS.

    Corrected rows use exact sensitivities and Hoeffding's tail; published ones 2|F|/n and exp(-α²n), which is false.

    Args:
        stats: the data; the tables are over its columns, or over its bits where they are not known.
        spec: ε, and δ for the Gaussian rows.
        accuracy: α at which n, k and m are required; the promise is 8α.
        settings: as :func:`~dpsyn.mechanisms.noisy_reweighting.setting.reweighting_setting` has them, but for statistics
            and noise.
    """
    table = []
    for variant in VARIANTS:
        statistics, noise, corrected = variant
        missing = noise == "gaussian" and not spec.delta > 0
        usable: Noise = "laplace" if missing else noise
        setting = reweighting_setting(stats, spec, accuracy=accuracy, statistics=statistics, noise=usable, **settings)
        reason = "Gaussian noise needs a privacy δ above 0" if missing else ""
        table.append(ReweightingRow(variant, replace(setting, corrected=corrected), reason))
    return tuple(table)


def reweighting_frame(table: Sequence[ReweightingRow]) -> pd.DataFrame:
    """The table as text, ready to show."""

    def shown(row: ReweightingRow, log_value: float) -> str:
        return "—" if row.reason else format_log(log_value, 3, "at_least")

    return pd.DataFrame(
        {
            "Statistics and noise": [row.name for row in table],
            "|F|": [format_log(row.setting.family.log_size) for row in table],
            "Sensitivity of the averages": [shown(row, row.setting.log_sensitivity - row.setting.log_n) for row in table],
            "σ": [shown(row, row.setting.log_sigma) for row in table],
            "Smallest 8·accuracy": [shown(row, math.log(8) + row.setting.log_smallest_accuracy) for row in table],
            "Says something": [row.reason or ("yes" if row.smallest_error < 1 else "no") for row in table],
            "n at least": [shown(row, row.log_n) for row in table],
            "k at least": [shown(row, row.setting.log_smallest_rows) for row in table],
            "m at least": [format_log(row.setting.log_smallest_m, 3, "at_least") for row in table],
        }
    )
