"""DP-CDA: noisy averages of records of one class (Saha, Tonoy, Imtiaz 2024), with the gaps of its proof closed."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
import pandas as pd

from dpsyn.data.table import Table
from dpsyn.domain import Attribute, Domain
from dpsyn.errors import CalibrationError, FailureError, InputError, ParameterError
from dpsyn.mechanisms._class_sizes import class_values, count_margin, public_class_sizes
from dpsyn.mechanisms._feature_map import FeatureMap, class_averages, clip_to_ball
from dpsyn.mechanisms.base import PUBLIC_DOMAIN_ASSUMPTION, Config, Mechanism, Progress
from dpsyn.privacy.mixing import calibrate_sigma
from dpsyn.privacy.noise import GAUSSIAN_ROUNDING, NoiseSource
from dpsyn.privacy.spec import Guarantee, PrivacySpec

Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]

OVERSTATED_SHARE = 0.1
"""Share of δ for the event that privately estimated class sizes, less their margin, overstate a true one."""

PUBLIC_CLASSES_ASSUMPTION = (
    "The list of classes and the number of rows made from each were fixed without looking at the data."
)
PUBLIC_SIZES_ASSUMPTION = "It is public knowledge that every class holds at least as many records as was declared."
PUBLIC_N_ASSUMPTION = "The number of records n is public; the settings of the release name it."

_SMALLEST_NOISE = 2.0**-20
"""In units of the clip norm; below it the grid of the noise would overflow 64-bit integers. More noise is always allowed."""


@dataclass(frozen=True)
class DPCDA(Config):
    """Each row of class k: the average of l records of class k, drawn without replacement, plus N(0, σ²I); label k.

    Records are scaled to the unit ball by public bounds (:class:`~dpsyn.mechanisms._feature_map.FeatureMap`) and clipped to
    norm c. Differences from the paper (Section 3, Algorithm 1), without which its claim is false: no z-score by the data's
    own mean and deviation; the sampling rate is l/N_k and not l/N; class sizes are public or estimated privately; labels
    are released as they are, since the number of rows of each class is fixed beforehand.

    Args:
        target: the class column; a truth or categorical column.
        order_of_mixture: l, records per average.
        rows: T, rows in all; each of K classes gets ⌊T/K⌋. None takes n, where n is public (replace-one).
        class_sizes: public facts: how many records each class holds at least (a number for all classes, or one for each
            value of the target; None is the key of missing values). None estimates them privately.
        count_share: share of ε spent on estimating the class sizes; unused if they are public.
        clip_norm: c. Scaled records have norm at most 1, so a larger c changes nothing.

    Raises:
        ParameterError: a parameter is outside its range.
    """

    target: str = ""
    order_of_mixture: int = 4
    rows: int | None = None
    class_sizes: Mapping[Any, int] | int | None = None
    count_share: float = 0.1
    clip_norm: float = 1.0

    name: ClassVar[str] = "dp_cda"
    title: ClassVar[str] = "DP-CDA"
    paper: ClassVar[str] = "Saha, Tonoy, Imtiaz 2024"

    def __post_init__(self) -> None:
        for field in ("order_of_mixture", "rows"):
            value = getattr(self, field)
            if not (field == "rows" and value is None) and not (isinstance(value, int | np.integer) and value >= 1):
                raise ParameterError(field, value, "a whole number, at least 1")
        if not 0 < self.count_share < 1:
            raise ParameterError("count_share", self.count_share, "a share strictly between 0 and 1")
        if not (math.isfinite(self.clip_norm) and self.clip_norm > 0):
            raise ParameterError("clip_norm", self.clip_norm, "a finite number > 0")
        if isinstance(self.class_sizes, Mapping):
            object.__setattr__(self, "class_sizes", dict(self.class_sizes))

    def settings(self) -> dict[str, Any]:
        """The configuration as plain data; the values of the target become text."""
        settings = asdict(self)
        if isinstance(self.class_sizes, Mapping):
            settings["class_sizes"] = {str(value): int(size) for value, size in self.class_sizes.items()}
        return settings

    def calibrate(self, spec: PrivacySpec, domain: Domain, n: int) -> DPCDAMechanism:
        """The smallest σ that meets ``spec`` by the exact accountant (:mod:`dpsyn.privacy.mixing`).

        With public class sizes L_k this is the guarantee between any two neighbours in which every class holds at least L_k
        records; ``replace_one`` covers a change of the label. With ``class_sizes=None`` ε is split: the K counts are
        released with discrete Laplace noise of scale (L1 sensitivity)/(``count_share``·ε), the sensitivity being 2 for
        replace-one and 1 for add/remove; a margin t is taken off with P(any count exceeds the truth by more than t) ≤ β =
        δ/10; the averages get the rest, (1 - ``count_share``)·ε and δ - β, at the sizes S_k found so. Classes with S_k ≤ l
        are dropped: they get no rows.

        Proof that this composes. Let D, D' be neighbours in this order, c the released counts, and E the set of c with
        S_k(c) ≤ N_k(D) for all classes kept; P(c ∉ E | D) ≤ β. For c ∈ E the averages B_c are made with noise for rates
        l/S_k ≥ l/N_k(D), so they are (ε₂, δ - β)-indistinguishable between D and D': a class that loses a record was mixed
        at rate l/N_k and still has N_k - 1 ≥ S_k - 1 ≥ l of them, one that gains a record is mixed at rate l/(N_k + 1). So
        P(M(D) ∈ W) ≤ β + Σ_{c∈E} P(c|D)·(min(1, e^{ε₂} P(B_c(D') ∈ W)) + δ - β) ≤ δ + e^{ε₁+ε₂} P(M(D') ∈ W), the last
        step by P(c|D) ≤ e^{ε₁} P(c|D'). D and D' may change places. What happens for c ∉ E is paid for by β.

        Raises:
            CalibrationError: δ = 0.
            ParameterError: the target, the class sizes or the number of rows do not fit the domain or n, or ``rows`` is None
                and n is not public.
        """
        if n < 1:
            raise ParameterError("n", n, "at least 1 row")
        if spec.delta == 0:
            raise CalibrationError("DP-CDA needs delta > 0: Gaussian noise gives no pure epsilon-differential privacy")
        if self.rows is None and spec.neighbouring == "add_remove":
            allowed = "a number fixed without looking at the data: under add_remove n is a secret, so it cannot be n"
            raise ParameterError("rows", None, allowed)
        attribute = self._class_column(domain)
        features = FeatureMap(domain.project([name for name in domain.names if name != self.target]))
        total = n if self.rows is None else self.rows
        if total < attribute.size:
            raise ParameterError("rows", total, f"at least one for each of the {attribute.size} classes of {self.target!r}")
        sizes = public_class_sizes(self.class_sizes, attribute, n, self.order_of_mixture)
        assumptions: tuple[str, ...] = (PUBLIC_DOMAIN_ASSUMPTION, PUBLIC_CLASSES_ASSUMPTION)
        if spec.neighbouring == "replace_one":
            assumptions = (*assumptions, PUBLIC_N_ASSUMPTION)
        mechanism = DPCDAMechanism(
            config=self,
            spec=spec,
            domain=domain,
            n=n,
            guarantee=Guarantee(
                epsilon=spec.epsilon,
                delta=spec.delta,
                neighbouring=spec.neighbouring,
                source="Privacy loss distributions of the averages, drawn without replacement from each class"
                + ("" if sizes is not None else ", composed with discrete Laplace noise on the class counts"),
                assumptions=assumptions + ((PUBLIC_SIZES_ASSUMPTION,) if sizes is not None else ()),
            ),
            features=features,
            rows_per_class=total // attribute.size,
            public_sizes=sizes,
        )
        if sizes is not None:
            mechanism.noise_scale_for(sizes)
        return mechanism

    def _class_column(self, domain: Domain) -> Attribute:
        if self.target not in domain:
            raise ParameterError("target", self.target, f"one of the columns {', '.join(map(repr, domain.names))}")
        attribute = domain[self.target]
        if attribute.is_binned:
            raise ParameterError("target", self.target, f"a truth or categorical column; this one is {attribute.kind}")
        if len(domain) < 2:
            raise ParameterError("target", self.target, "DP-CDA mixes the other columns, and there are none")
        return attribute


@dataclass(frozen=True)
class DPCDAMechanism(Mechanism):
    """Calibrated DP-CDA.

    Attributes:
        features: the map of the other columns to the unit ball.
        rows_per_class: T_k.
        public_sizes: lower bounds on the class sizes in code order, or None if they are estimated at run time.
    """

    config: DPCDA
    features: FeatureMap = None  # type: ignore[assignment]
    rows_per_class: int = 0
    public_sizes: tuple[int, ...] | None = None

    @property
    def radius(self) -> float:
        """Largest norm of a record: scaled records have norm at most 1 as it is."""
        return min(self.config.clip_norm, 1.0)

    @property
    def sensitivity(self) -> float:
        """2c/l, how far one exchanged record moves an average."""
        return 2 * self.radius / self.config.order_of_mixture

    @property
    def classes(self) -> list[Any]:
        """The public list of classes, in code order."""
        return class_values(self.domain[self.config.target])

    @property
    def epsilon_for_counts(self) -> float:
        """ε₁, zero if the class sizes are public."""
        return 0.0 if self.public_sizes is not None else self.config.count_share * self.spec.epsilon

    @property
    def overstated_probability(self) -> float:
        """β, zero if the class sizes are public."""
        return 0.0 if self.public_sizes is not None else OVERSTATED_SHARE * self.spec.delta

    @cached_property
    def count_noise(self) -> tuple[float, int]:
        """Scale of the noise on the class counts, and the margin that is taken off."""
        sensitivity = 2 if self.spec.neighbouring == "replace_one" else 1
        scale = sensitivity / self.epsilon_for_counts
        return scale, count_margin(scale, len(self.classes), self.overstated_probability)

    def noise_scale_for(self, sizes: tuple[int, ...]) -> float:
        """σ for classes that hold at least ``sizes`` records, with the allowances for floating point.

        Rounding both of two averages to a grid of step 2^-40·σ moves their difference by at most 2^-40·σ·√dimension, so the
        multiplier z that accounting asks for is met by σ = zΔ(1 + 2^-30)(1 + z·2^-39·√dimension). Summing l records in any
        order errs by at most l·2^-53·c in an average, so by l²·2^-53 of Δ = 2c/l in the difference of two.
        """
        sigma = calibrate_sigma(
            epsilon=self.spec.epsilon - self.epsilon_for_counts,
            delta=self.spec.delta - self.overstated_probability,
            order_of_mixture=self.config.order_of_mixture,
            clip_norm=self.radius,
            class_sizes=sizes,
            rows=self.rows_per_class,
            neighbouring=self.spec.neighbouring,
        )
        multiplier = sigma / self.sensitivity
        summation = self.config.order_of_mixture**2 * 2.0**-52
        allowance = (1 + GAUSSIAN_ROUNDING + summation) * (
            1 + multiplier * 2.0**-39 * math.sqrt(max(self.features.dimension, 1))
        )
        return max(sigma * allowance, _SMALLEST_NOISE * self.radius)

    def calibrated(self) -> dict[str, Any]:
        """Rows per class, sensitivity, and σ and sampling rates (or, if sizes are estimated, the noise on the counts)."""
        names = [str(value) for value in self.classes]
        shared: dict[str, Any] = {
            "classes": names,
            "rows_per_class": self.rows_per_class,
            "sensitivity": self.sensitivity,
            "dimension": self.features.dimension,
        }
        if self.public_sizes is not None:
            rates = {name: self.config.order_of_mixture / size for name, size in zip(names, self.public_sizes, strict=True)}
            return shared | {"noise_scale": self.noise_scale_for(self.public_sizes), "sampling_rates": rates}
        scale, margin = self.count_noise
        return shared | {
            "noise_scale": None,
            "epsilon_for_counts": self.epsilon_for_counts,
            "epsilon_for_averages": self.spec.epsilon - self.epsilon_for_counts,
            "count_noise_scale": scale,
            "count_margin": margin,
            "overstated_probability": self.overstated_probability,
        }

    def _run(self, noise: NoiseSource, table: Table, progress: Progress) -> tuple[pd.DataFrame, dict[str, Any]]:
        progress("scaling the records", 0.02)
        labels = table.codes[:, self.domain.index(self.config.target)]
        counts = np.bincount(labels, minlength=len(self.classes)).astype(np.int64)
        points, clipped = clip_to_ball(self.features.encode(table), self.radius)
        progress("finding the noise scale", 0.1)
        sizes = self._sizes(noise, counts)
        kept = [k for k, size in enumerate(sizes) if size is not None]
        sigma = self.noise_scale_for(tuple(size for size in sizes if size is not None))
        mixed = []
        for position, k in enumerate(kept):
            progress(f"mixing class {self.classes[k]}", 0.2 + 0.75 * position / len(kept))
            mixed.append(self._mix(noise, points[labels == k], sigma, progress, (position, len(kept))))
        progress("decoding", 0.95)
        order = noise.generator.permutation(self.rows_per_class * len(kept))
        columns = self.features.decode(np.concatenate(mixed)[order], noise.generator)
        target = self.domain[self.config.target]
        drawn = np.repeat(np.array(kept, dtype=np.int32), self.rows_per_class)[order]
        columns[self.config.target] = target.decode(drawn, noise.generator)
        diagnostics = {
            "noise_scale": sigma,
            "class_counts": {str(value): int(count) for value, count in zip(self.classes, counts, strict=True)},
            "sizes_used": {str(value): size for value, size in zip(self.classes, sizes, strict=True)},
            "dropped_classes": [str(value) for value, size in zip(self.classes, sizes, strict=True) if size is None],
            "clipped_share": clipped,
        }
        return pd.DataFrame(columns, columns=list(self.domain.names)), diagnostics

    def _sizes(self, noise: NoiseSource, counts: Integers) -> list[int | None]:
        """Class sizes that are accounted for, in code order; None for a class that is dropped."""
        if self.public_sizes is not None:
            for value, size, count in zip(self.classes, self.public_sizes, counts, strict=True):
                if count < size:
                    raise InputError(f"class {value!r} was declared to hold at least {size} records, and it does not")
            return list(self.public_sizes)
        scale, margin = self.count_noise
        released = noise.discrete_laplace(counts, scale) - margin
        sizes = [int(size) if size > self.config.order_of_mixture else None for size in released]
        if all(size is None for size in sizes):
            raise FailureError(
                f"after noise and a margin of {margin} no class of {self.config.target!r} is known to hold more than "
                f"{self.config.order_of_mixture} records: lower order_of_mixture, raise epsilon or count_share, "
                "or state public class sizes"
            )
        return sizes

    def _mix(self, noise: NoiseSource, members: Floats, sigma: float, progress: Progress, done: tuple[int, int]) -> Floats:
        """T_k noisy averages, made in chunks that fit in memory."""
        rows, dimension = self.rows_per_class, members.shape[1]
        chunk = max(1, min(4_000_000 // max(len(members), 1), 50_000 // max(dimension, 1), rows))
        parts = []
        for start in range(0, rows, chunk):
            count = min(chunk, rows - start)
            averages = class_averages(members, self.config.order_of_mixture, count, noise.generator)
            parts.append(noise.gaussian(averages, sigma) if dimension else averages)
            share = (done[0] + (start + count) / rows) / done[1]
            progress(f"mixing class {self.classes[done[0]]}", 0.2 + 0.75 * share)
        return np.concatenate(parts)
