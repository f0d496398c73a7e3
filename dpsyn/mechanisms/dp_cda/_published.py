"""DP-CDA as printed (Saha, Tonoy, Imtiaz 2024, Algorithm 1 and Theorem 1). No guarantee holds: a demonstration only."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
import pandas as pd

from dpsyn import checks
from dpsyn.cells import in_settings
from dpsyn.data.counted import AnyTable
from dpsyn.domain import Domain
from dpsyn.errors import InputError, ParameterError
from dpsyn.mechanisms.base import Config, Mechanism, Progress, Release, check_request, no_progress
from dpsyn.mechanisms.dp_cda._checks import check_delta, class_column, class_values, rows_of_classes
from dpsyn.mechanisms.dp_cda.counterexamples import published_sigma
from dpsyn.mechanisms.feature_map import FeatureMap, clip_in_place
from dpsyn.privacy.mixing.averaging import class_averages
from dpsyn.privacy.mixing.pairs import check_clip_norm
from dpsyn.privacy.noise import NoiseSource
from dpsyn.privacy.spec import Guarantee, PrivacySpec
from dpsyn.table import Table
from dpsyn.theory.formulas import Paper

Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]

REASONS = (
    "NO GUARANTEE HOLDS. The features are scaled by the records' own mean and deviation: one record moves all others.",
    "The published formula samples l of all N records; the algorithm draws them from one class.",
    "The published formula has a misprint that can make it too small even for what it describes.",
    "Class sizes and the list of classes are used as they are.",
)


PAPER = Paper(
    "Saha, Tonoy, Imtiaz 2024",
    "DP-CDA: An Algorithm for Enhanced Privacy Preservation in Dataset Synthesis Through Randomized Mixing",
    "https://arxiv.org/abs/2411.16121",
)


@dataclass(frozen=True)
class PublishedDPCDA(Config):
    """Algorithm 1: z-score, clip to c, average l records of a class, noise on features and one-hot labels, σ by Theorem 1.

    It is no registered mechanism, its guarantee is ε = ∞ with the status ``"published_but_wrong"``, and it runs only with a
    given generator: nothing that it makes can be taken for a private release.

    Args:
        target: the class column.
        order_of_mixture: l.
        rows: T, of which each of K classes gets ⌊T/K⌋; None takes n.
        clip_norm: c, of z-scored records.
    """

    target: str = ""
    order_of_mixture: int = 4
    rows: int | None = None
    clip_norm: float = 1.0

    name: ClassVar[str] = "dp_cda_as_published"
    title: ClassVar[str] = "DP-CDA as published (no guarantee)"
    paper: ClassVar[Paper] = PAPER
    fills_empty_numbers: ClassVar[bool] = True

    def __post_init__(self) -> None:
        self._set("target", checks.text("target", self.target, "the name of a column"))
        self._set("order_of_mixture", checks.whole("order_of_mixture", self.order_of_mixture))
        self._set("rows", checks.whole_or_none("rows", self.rows))
        self._set("clip_norm", check_clip_norm("clip_norm", self.clip_norm))

    def calibrate(self, spec: PrivacySpec, domain: Domain, n: int) -> PublishedDPCDAMechanism:
        """σ = σ_x = σ_y to which the published formula gives ``spec``, for N = n and T rows.

        Raises:
            CalibrationError: δ = 0, or the formula cannot reach ε: with the orders 3 and 4 it stays above ln(1/δ)/3.
            ParameterError: the target or the number of rows do not fit, or neighbours are not replace-one.
        """
        n = check_request(spec, domain, n, self.rows)
        check_delta(spec, n)
        if spec.neighbouring != "replace_one":
            raise ParameterError("neighbouring", spec.neighbouring, "'replace_one': the paper knows no other")
        attribute = class_column(self.target, domain)
        if self.order_of_mixture > n:
            raise ParameterError("order_of_mixture", self.order_of_mixture, f"at most n = {n}")
        rows, _ = rows_of_classes(self.rows, "equal", attribute, n)
        sigma = published_sigma(
            epsilon=spec.epsilon,
            order_of_mixture=self.order_of_mixture,
            n=n,
            delta=spec.delta,
            rows=n if self.rows is None else self.rows,
            clip_norm=self.clip_norm,
        )
        return PublishedDPCDAMechanism(
            config=self,
            spec=spec,
            domain=domain,
            n=n,
            guarantee=Guarantee(
                epsilon=math.inf,
                delta=spec.delta,
                neighbouring=spec.neighbouring,
                source=f"None. The paper's Theorem 1 claims ({spec.epsilon:g}, {spec.delta:g}), and is refuted.",
                assumptions=REASONS,
                status="published_but_wrong",
            ),
            features=FeatureMap(domain.project([name for name in domain.names if name != self.target])),
            rows_per_class=rows // attribute.size,
            noise_scale=sigma,
        )


@dataclass(frozen=True)
class PublishedDPCDAMechanism(Mechanism):
    """Calibrated to the published formula.

    Attributes:
        features: columns to coordinates; what it scales by is undone by the z-score.
        rows_per_class: T_k.
        noise_scale: σ.
    """

    config: PublishedDPCDA
    features: FeatureMap = None  # type: ignore[assignment]
    rows_per_class: int = 0
    noise_scale: float = math.inf

    def calibrated(self) -> dict[str, Any]:
        """What the paper claims, and the noise that it takes for enough."""
        classes = map(in_settings, class_values(self.domain[self.config.target]))
        return {
            "claimed_epsilon": self.spec.epsilon,
            "claimed_delta": self.spec.delta,
            "noise_scale": self.noise_scale,
            "rows_per_class": dict.fromkeys(classes, self.rows_per_class),
        }

    @property
    def may_drop_rows(self) -> bool:
        """Those that are asked for and do not divide among the classes."""
        return True

    def __call__(
        self, generator: np.random.Generator | None, table: AnyTable | None = None, progress: Progress = no_progress
    ) -> Release:
        """As :meth:`Mechanism.__call__`, but a generator must be given: the run is a demonstration."""
        if generator is None:
            allowed = "a numpy.random.Generator: DP-CDA as published has no guarantee and runs as a demonstration only"
            raise ParameterError("generator", None, allowed)
        return super().__call__(generator, table, progress)

    def _run(self, noise: NoiseSource, table: Table, progress: Progress) -> tuple[pd.DataFrame, dict[str, Any]]:
        progress("scaling the records", 0.05)
        values = self.features.encode(table)
        labels = table.codes[:, self.domain.index(self.config.target)].astype(np.int64)
        classes = class_values(self.domain[self.config.target])
        centre, spread = values.mean(axis=0), values.std(axis=0)
        averages, drawn = published_rows(
            values,
            labels,
            len(classes),
            self.config.order_of_mixture,
            self.rows_per_class,
            self.noise_scale,
            noise.generator,
            clip_norm=self.config.clip_norm,
            mixed=lambda k: progress(f"mixing class {classes[k]}", 0.1 + 0.75 * k / len(classes)),
        )
        progress("decoding", 0.9)
        averages = (averages * spread + centre) * self.features.length
        pieces = self.features.decode_pieces(averages, noise.generator)
        pieces.append(self.domain[self.config.target].decode(drawn.astype(np.int32), noise.generator).to_frame())
        rows = pd.concat(pieces, axis=1)[list(self.domain.names)]
        wanted = np.repeat(np.arange(len(classes)), self.rows_per_class)
        return rows, {"noise_scale": self.noise_scale, "labels_changed_by_noise": float((drawn != wanted).mean())}


def z_scored(values: Floats, clip_norm: float) -> Floats:
    """(x - mean)/deviation by the records' own mean and deviation, clipped to norm c; constant columns become 0."""
    spread = values.std(axis=0)
    scaled: Floats = (values - values.mean(axis=0)) / np.where(spread > 0, spread, 1.0)
    clip_in_place(scaled, clip_norm)
    return scaled


def published_rows(
    values: Floats,
    labels: Integers,
    classes: int,
    order_of_mixture: int,
    rows_per_class: int,
    noise_scale: float,
    generator: np.random.Generator,
    *,
    clip_norm: float = 1.0,
    mixed: Callable[[int], object] = lambda k: None,
) -> tuple[Floats, Integers]:
    """Algorithm 1 on plain arrays: z-scored synthetic features, shape (K·T_k, dimension), and noisy labels, class by class.

    Args:
        values: features as they are, shape (N, dimension).
        labels: class of each record, 0 … K-1.
        classes: K.
        order_of_mixture: l.
        rows_per_class: T_k.
        noise_scale: σ_x = σ_y.
        generator: draws records and noise.
        clip_norm: c.
        mixed: told of every class that begins.

    Raises:
        InputError: a class holds fewer than l records; the algorithm does not say what to do.
    """
    scaled = z_scored(values, clip_norm)
    averages, drawn = [], []
    for k in range(classes):
        mixed(k)
        members = scaled[labels == k]
        if len(members) < order_of_mixture:
            raise InputError(f"class {k} holds {len(members)} records, fewer than order_of_mixture = {order_of_mixture}")
        features = class_averages(members, order_of_mixture, rows_per_class, generator)
        averages.append(features + generator.normal(0.0, noise_scale, features.shape))
        votes = generator.normal(0.0, noise_scale, (rows_per_class, classes))
        votes[:, k] += 1.0
        drawn.append(np.argmax(votes, axis=1))
    return np.concatenate(averages), np.concatenate(drawn).astype(np.int64)
