"""Noisy reweighting side by side: Walsh or contingency statistics, Laplace or Gaussian noise, as published and corrected."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

import pandas as pd

from dpsyn.domain import Codes
from dpsyn.errors import ParameterError
from dpsyn.mechanisms.noisy_reweighting.condition_number import (
    LN2,
    log_condition_number_bound,
    log_condition_number_cube,
    log_condition_number_marginals,
    log_condition_number_valid_rows,
)
from dpsyn.mechanisms.noisy_reweighting.setting import Noise, ReweightingSetting, reweighting_setting
from dpsyn.mechanisms.noisy_reweighting.statistics_family import FamilyName
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


def variant_name(variant: Variant) -> str:
    """For a legend: ``"Walsh, Laplace"``, ``"tables, Laplace, published"``."""
    statistics, noise, corrected = variant
    return f"{_STATISTICS[statistics]}, {_NOISES[noise]}{'' if corrected else ', published'}"


@dataclass(frozen=True)
class ReweightingRow:
    """What Theorems 2.2 and 2.3 say about one variant; logarithms are natural.

    Attributes:
        variant: statistics, noise, corrected.
        size: |F|.
        log_sensitivity: ln of the sensitivity of the averages: L1 for Laplace, L2 for Gaussian noise; published: 2|F|/n.
        log_sigma: ln of the smallest private noise scale of an average.
        smallest_accuracy: the smallest that the conditions on n allow; above 1/2 Theorem 2.3 does not apply.
        log_n, log_rows, log_m: ln of the smallest n, k and m that the theorems ask for at the accuracy asked for.
        accuracy: that accuracy.
        reason: why there are no numbers (Gaussian noise without a privacy δ); they are NaN then.
    """

    variant: Variant
    size: int
    log_sensitivity: float
    log_sigma: float
    smallest_accuracy: float
    log_n: float
    log_rows: float
    log_m: float
    accuracy: float
    reason: str = ""

    @property
    def name(self) -> str:
        """For a page."""
        return variant_name(self.variant)

    @property
    def published(self) -> bool:
        """As printed: shown, never used."""
        return not self.variant[2]

    @property
    def smallest_error(self) -> float:
        """8·accuracy at the smallest accuracy."""
        return 8 * self.smallest_accuracy

    @property
    def says_something(self) -> bool:
        """Whether that error is below 1, which ignoring the data achieves as well."""
        return self.smallest_error < 1


def variant_setting(setting: ReweightingSetting, variant: Variant, stats: DatasetStatistics) -> ReweightingSetting | None:
    """The setting with other statistics and noise; None where Gaussian noise has no privacy δ to work with."""
    statistics, noise, corrected = variant
    if noise == "gaussian" and not setting.delta > 0:
        return None
    spec = PrivacySpec(setting.epsilon, setting.delta)
    other = reweighting_setting(stats, spec, degree=setting.family.degree, statistics=statistics, noise=noise)
    return replace(setting, family=other.family, bits=other.bits, noise=noise, corrected=corrected)


def reweighting_table(
    stats: DatasetStatistics,
    spec: PrivacySpec,
    *,
    degree: int = 2,
    accuracy: float = 0.1,
    failure_probability: float = 0.125,
    rows: int = 1,
    reduced_space_size: int | None = None,
    condition_number: float | None = None,
) -> tuple[ReweightingRow, ...]:
    """σ, the smallest accuracy, and the n, k and m required, for each of VARIANTS.

    Corrected rows use exact sensitivities and Hoeffding's tail; published ones 2|F|/n and exp(-α²n), which is false.

    Args:
        stats: the data; the tables are over its columns, or over its bits where they are not known.
        spec: ε, and δ for the Gaussian rows.
        degree: d.
        accuracy: α at which n, k and m are required; the promise is 8α.
        failure_probability: γ.
        rows: k; does not change the table, is checked.
        reduced_space_size: m; does not change the table, is checked.
        condition_number: K >= κ; None takes the bound N·‖f_n‖∞.
    """
    table = []
    for variant in VARIANTS:
        statistics, noise, corrected = variant
        laplace = reweighting_setting(
            stats,
            spec,
            degree=degree,
            accuracy=accuracy,
            statistics=statistics,
            failure_probability=failure_probability,
            rows=rows,
            reduced_space_size=reduced_space_size,
            condition_number=condition_number,
        )
        setting = variant_setting(laplace, variant, stats)
        if setting is None:
            nothing = math.nan
            reason = "Gaussian noise needs a privacy δ above 0"
            size = laplace.family.size
            row = ReweightingRow(
                variant, size, nothing, nothing, nothing, nothing, nothing, laplace.log_smallest_m, accuracy, reason
            )
            table.append(row)
            continue
        family = setting.family
        sensitivity = family.log_l2 if noise == "gaussian" else family.log_l1 if corrected else family.log_l1_published
        sampling = setting.log_sampling - 2 * math.log(accuracy)
        table.append(
            ReweightingRow(
                variant=variant,
                size=family.size,
                log_sensitivity=sensitivity - setting.log_n,
                log_sigma=setting.log_sigma,
                smallest_accuracy=setting.smallest_accuracy,
                log_n=max(setting.log_n_for_noise, sampling),
                log_rows=sampling,
                log_m=setting.log_smallest_m,
                accuracy=accuracy,
            )
        )
    return tuple(table)


def reweighting_frame(table: Sequence[ReweightingRow]) -> pd.DataFrame:
    """The table as text, ready to show."""

    def shown(log_value: float, side: Literal["at_least", "at_most"] | None = None) -> str:
        return "—" if math.isnan(log_value) else format_log(log_value, 3, side)

    return pd.DataFrame(
        {
            "Statistics and noise": [row.name for row in table],
            "|F|": [format_log(math.log(row.size)) for row in table],
            "Sensitivity of the averages": [shown(row.log_sensitivity, "at_least") for row in table],
            "σ": [shown(row.log_sigma, "at_least") for row in table],
            "Smallest 8·accuracy": [shown(math.log(row.smallest_error), "at_least") for row in table],
            "Says something": [row.reason or ("yes" if row.says_something else "no") for row in table],
            "n at least": [shown(row.log_n, "at_least") for row in table],
            "k at least": [shown(row.log_rows, "at_least") for row in table],
            "m at least": [shown(row.log_m, "at_least") for row in table],
        }
    )


@dataclass(frozen=True)
class ConditionNumberRow:
    """κ(ν‖μ) for one measure μ. Every row reads the private data: for teaching, never for a release.

    Attributes:
        measure: μ in words.
        log_value: ln κ.
        kind: ``"bound"`` N·‖f_n‖∞ >= κ, ``"population"`` unbiased estimate, or ``"rows"``, κ of the rows themselves.
        reads_private_data: always True; pages show it.
    """

    measure: str
    log_value: float
    kind: Literal["bound", "population", "rows"]
    reads_private_data: bool = True


def condition_number_table(stats: DatasetStatistics, codes: Codes | None = None) -> tuple[ConditionNumberRow, ...]:
    """κ against the uniform measure on the cube and on valid rows, and against the product of the one-way marginals.

    Args:
        stats: p, ‖f_n‖∞ and the sizes of the columns.
        codes: encoded rows, shape (n, number of columns); None gives the two bounds only.

    Raises:
        ParameterError: codes that do not fit the sizes.
    """
    log_cube = stats.p * LN2
    rows = [ConditionNumberRow("uniform on the cube", log_condition_number_bound(stats.max_frequency, log_cube), "bound")]
    if stats.sizes is None:
        return tuple(rows)
    log_valid = math.log(math.prod(stats.sizes))
    rows.append(
        ConditionNumberRow("uniform on valid rows", log_condition_number_bound(stats.max_frequency, log_valid), "bound")
    )
    if codes is None:
        return tuple(rows)
    if codes.ndim != 2 or codes.shape[1] != len(stats.sizes):
        raise ParameterError("codes", f"shape {codes.shape}", f"shape (n, {len(stats.sizes)})")
    kinds: tuple[tuple[Literal["population", "rows"], bool], ...] = (("population", True), ("rows", False))
    for kind, unbiased in kinds:
        if unbiased and len(codes) < 2:
            continue
        cube = log_condition_number_cube(codes, stats.sizes, stats.p, unbiased=unbiased)
        valid = log_condition_number_valid_rows(codes, stats.sizes, unbiased=unbiased)
        own = log_condition_number_marginals(codes, stats.sizes, unbiased=unbiased)
        rows += [
            ConditionNumberRow("uniform on the cube", cube, kind),
            ConditionNumberRow("uniform on valid rows", valid, kind),
            ConditionNumberRow("product of the one-way marginals", own, kind),
        ]
    return tuple(rows)
