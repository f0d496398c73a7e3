"""Calibrated DP-CDA: from records to noisy averages and back to rows."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from dpsyn.cells import in_settings
from dpsyn.errors import FailureError, InputError, quoted
from dpsyn.mechanisms.base import Mechanism, Progress
from dpsyn.mechanisms.dp_cda._budget import Budget
from dpsyn.mechanisms.dp_cda._checks import class_values, count_margin, in_proportion
from dpsyn.mechanisms.dp_cda.accounting.functions import dp_cda_epsilon
from dpsyn.mechanisms.feature_map import FeatureMap, Standard, clip_in_place
from dpsyn.privacy.mixing import exact as mixing
from dpsyn.privacy.mixing.averaging import (
    NEVER,
    AddNoise,
    allowance,
    averages_in_blocks,
    gaussian_noise,
    most_picked,
)
from dpsyn.privacy.noise import NoiseSource
from dpsyn.table import Table

if TYPE_CHECKING:
    from dpsyn.mechanisms.dp_cda._config import DPCDA

Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]
Sizes = Sequence[int | None]

_SMALLEST_NOISE = 2.0**-20
"""In units of the clip norm; below it the grid of the noise would overflow 64-bit integers. More noise is always allowed."""

_RARE = 2.0**-65
"""Probability with which a noisy count may be further off than the largest average takes it to be; a number that floating
point changes has one of 2^-42 by itself."""
TIMES = 32
"""Times the size that was stated for it that a class holds at most: an assumption, where n is a secret."""


@dataclass(frozen=True)
class DPCDAMechanism(Mechanism):
    """Calibrated DP-CDA.

    Attributes:
        features: the map of the other columns to points.
        rows: T.
        rows_per_class: T_k in code order, or None if they follow from the class sizes that are estimated at run time.
        public_sizes: lower bounds on the class sizes in code order (Poisson: what the rates are made from), or None if they
            are estimated at run time.
        budget: ε and δ of every part.
    """

    config: DPCDA
    features: FeatureMap = None  # type: ignore[assignment]
    rows: int = 0
    rows_per_class: tuple[int, ...] | None = None
    public_sizes: tuple[int, ...] | None = None
    budget: Budget = None  # type: ignore[assignment]

    @property
    def radius(self) -> float:
        """Largest norm of a record; records that are scaled by public bounds have norm at most 1 as it is."""
        return self.config.clip_norm if self.budget.standard is not None else min(self.config.clip_norm, 1.0)

    @property
    def sensitivity(self) -> float:
        """How far one record moves an average: exchanged, 2c/l; left out of a Poisson sum, c/l."""
        return (1 if self.config.variant == "poisson" else 2) * self.radius / self.config.order_of_mixture

    @property
    def classes(self) -> list[Any]:
        """The public list of classes, in code order."""
        return class_values(self.domain[self.config.target])

    def rows_for(self, sizes: Sizes) -> tuple[int, ...]:
        """T_k in code order for classes that are accounted for with ``sizes`` (None: a class that is dropped).

        Where they were not known before the run they are T in proportion to the released counts, which the sizes are, less
        the margin: a function of what was released, and of nothing else.
        """
        if self.rows_per_class is not None:
            return self.rows_per_class
        margin = self.budget.count_margin
        return in_proportion(self.rows, [0 if size is None else size + margin for size in sizes])

    def noise_scale_for(self, sizes: Sizes) -> float:
        """σ for classes that hold at least ``sizes`` records (None: no rows), with the allowances for floating point."""
        made = [
            (size, rows) for size, rows in zip(sizes, self.rows_for(sizes), strict=True) if size is not None and rows > 0
        ]
        sigma = mixing.calibrate_sigma(
            epsilon=self.budget.epsilon,
            delta=self.budget.delta,
            order_of_mixture=self.config.order_of_mixture,
            clip_norm=self.radius,
            class_sizes=[size for size, _ in made],
            rows=[rows for _, rows in made],
            neighbouring=self.spec.neighbouring,
            variant=self.config.variant,
            beside=() if self.budget.standard is None else (self.budget.standard.part,),
        )
        multiplier = sigma / self.sensitivity
        sigma *= allowance(multiplier, self.summed(min(size for size, _ in made)), self.features.dimension)
        return max(sigma, _SMALLEST_NOISE * self.radius)

    def count_error(self, failure_probability: float) -> int:
        """How far noisy counts are off, at most, but with this probability; 0 where β pays for that or sizes are stated."""
        if self.config.variant == "fixed_size" or not self.budget.counted:
            return 0
        return count_margin(self.budget.count_noise_scale, 2 * len(self.classes), failure_probability)

    def summed(self, size: int) -> int:
        """Records in a row for whose rounding σ allows: more have a probability of at most twice :data:`NEVER`.

        Without replacement l. A Poisson sum has a share l/size of its class, which holds no more than n, where that is
        public, nor than a noisy count and its error. Where there is neither, :data:`TIMES` the size makes sums of no more
        than 64l + 1024.

        Args:
            size: that the smallest class is accounted for with; larger ones have no longer sums.
        """
        order = self.config.order_of_mixture
        if self.config.variant == "fixed_size":
            return order
        bounds = [self.n] if self.spec.neighbouring == "replace_one" else []
        if self.budget.counted:
            bounds.append(size + self.count_error(NEVER))
        usual = 64 * order + 1024
        return max(usual, most_picked(min(bounds) * order / size)) if bounds else usual

    @property
    def largest_average(self) -> float | None:
        """The expected mean of |average|/σ over all numbers, at most; None where nothing public bounds it.

        An average of l records has a length of c at most, a Poisson sum over l is expected to have c·N_k/size at most. Where
        nobody knows the sizes yet no class holds more than n, if that is public, and larger ones get no more noise.
        """
        sizes = self.public_sizes
        if sizes is None and self.spec.neighbouring == "replace_one":
            sizes = (self.n + self.count_error(_RARE),) * len(self.classes)
        if sizes is None:
            return None
        return self._times * self.radius / self.noise_scale_for(sizes) / math.sqrt(self.features.dimension)

    @property
    def _times(self) -> float:
        """The expectation of the largest N_k/size among classes with rows, at most; 1 without Poisson sums.

        Where sizes are noisy counts N_k + Z > l, with Z of scale s: N_k/size > 2 only where Z < -N_k/2, with a probability
        of at most e^(-N_k/(2s)), and N_k·e^(-N_k/(2s)) is at most 2s/e.
        """
        if self.config.variant == "fixed_size":
            return 1.0
        if self.public_sizes is not None:
            least = min(size for size, wanted in zip(self.public_sizes, self._wanted, strict=True) if wanted)
            return self.n / least if self.spec.neighbouring == "replace_one" else TIMES
        least = self.config.order_of_mixture + 1
        return min(self.n / least, 2 + len(self.classes) * 2 * self.budget.count_noise_scale / math.e / least)

    def calibrated(self) -> dict[str, Any]:
        """Rows, sensitivity, the ledger, and rows per class, σ and sampling rates, or when they will be known."""
        names = [in_settings(value) for value in self.classes]
        facts: dict[str, Any] = {
            "classes": names,
            "rows": self.rows,
            "sensitivity": self.sensitivity,
            "dimension": self.features.dimension,
        }
        after = "noise scale and sampling rates of the averages: from the estimated class sizes"
        if self.rows_per_class is None:
            after = f"rows of each class, {after}"
        else:
            facts["rows_per_class"] = dict(zip(names, self.rows_per_class, strict=True))
        averages: dict[str, Any] = {"epsilon": self.budget.epsilon}
        if self.public_sizes is not None:
            facts["noise_scale"] = averages["scale"] = self.noise_scale_for(self.public_sizes)
            facts["sampling_rates"] = {
                name: self.config.order_of_mixture / size if rows else 0.0
                for name, size, rows in zip(names, self.public_sizes, self.rows_for(self.public_sizes), strict=True)
            }
            if self.budget.standard is not None:
                averages["epsilon"] = self.epsilon_of_averages(self.public_sizes, averages["scale"], self.budget.delta)
        else:
            facts |= {
                "epsilon_for_counts": self.budget.epsilon_for_counts,
                "epsilon_for_averages": self.budget.epsilon,
                "count_noise_scale": self.budget.count_noise_scale,
                "count_margin": self.budget.count_margin,
                "overstated_probability": self.budget.overstated_probability,
                "known_after_the_counts": after,
            }
        return facts | {"ledger": self.budget.ledger(self.spec, averages)}

    @property
    def may_drop_rows(self) -> bool:
        """A class whose noisy count is too small takes its rows along, where these were fixed beforehand."""
        return self.public_sizes is None and self.rows_per_class is not None

    def epsilon_of_averages(self, sizes: tuple[int, ...], noise_scale: float, delta: float) -> float:
        """ε at δ of the averages by themselves."""
        return dp_cda_epsilon(
            noise_scale,
            delta,
            self.config.order_of_mixture,
            self.radius,
            sizes,
            self.rows_for(sizes),
            neighbouring=self.spec.neighbouring,
            variant=self.config.variant,
        )

    def _run(self, noise: NoiseSource, table: Table, progress: Progress) -> tuple[pd.DataFrame, dict[str, Any]]:
        progress("scaling the records", 0.02)
        labels = table.codes[:, self.domain.index(self.config.target)]
        counts = np.bincount(labels, minlength=len(self.classes)).astype(np.int64)
        standard = None if self.budget.standard is None else self.budget.standard.run(noise, self.features, table)
        points = self.features.encode(table, standard)
        clipped = clip_in_place(points, self.radius)
        progress("finding the noise scale", 0.1)
        sizes = self._sizes(noise, counts)
        sigma = self.noise_scale_for(sizes)
        mixed, drawn = self._mix(noise, points, labels, sizes, sigma, progress)
        del points
        progress("decoding", 0.9)
        rows = self._decode(mixed, drawn, noise.generator, standard)
        names = [in_settings(value) for value in self.classes]
        diagnostics = {
            "noise_scale": sigma,
            "class_counts": dict(zip(names, counts.tolist(), strict=True)),
            "sizes_used": dict(zip(names, sizes, strict=True)),
            "dropped_classes": [
                name for name, size, wanted in zip(names, sizes, self._wanted, strict=True) if size is None and wanted
            ],
            "clipped_share": clipped,
        }
        if standard is not None:
            numbers = [attribute.name for attribute in self.features.numbers]
            diagnostics["scaling"] = {
                name: {"centre": float(centre), "spread": float(spread)}
                for name, centre, spread in zip(numbers, standard.centre, standard.spread, strict=True)
            }
        return rows, diagnostics

    @property
    def _wanted(self) -> list[bool]:
        """Whether rows are asked for of each class, in code order."""
        return [rows > 0 for rows in self.rows_per_class or (1,) * len(self.classes)]

    def _sizes(self, noise: NoiseSource, counts: Integers) -> list[int | None]:
        """Class sizes that are accounted for, in code order; None for a class that is dropped."""
        wanted = self._wanted
        if self.public_sizes is not None:
            for value, size, count, rows in zip(self.classes, self.public_sizes, counts, wanted, strict=True):
                if count < size and rows and self.config.variant == "fixed_size":
                    raise InputError(f"class {quoted(value)} was declared to hold at least {size} records, and it does not")
            return [size if rows else None for size, rows in zip(self.public_sizes, wanted, strict=True)]
        order, margin = self.config.order_of_mixture, self.budget.count_margin
        released = noise.discrete_laplace(counts, self.budget.count_noise_scale) - margin
        sizes = [int(size) if size > order and rows else None for size, rows in zip(released, wanted, strict=True)]
        if all(size is None for size in sizes):
            lower = max(int(size) for size, rows in zip(released, wanted, strict=True) if rows) - 1
            raise FailureError(
                f"after noise and a margin of {margin} no class of {quoted(self.config.target)} is known to hold more than "
                f"{order} records: "
                + (f"order_of_mixture = {lower} would do for one, or " if lower >= 1 else "")
                + "lower order_of_mixture, raise epsilon or count_share, or state public class sizes"
            )
        return sizes

    def _mix(
        self, noise: NoiseSource, points: Floats, labels: npt.NDArray[Any], sizes: Sizes, sigma: float, progress: Progress
    ) -> tuple[Floats, npt.NDArray[np.int32]]:
        """T_k noisy averages of each class that is kept, times the length of the features, and their labels; shuffled."""
        kept, made = [k for k, size in enumerate(sizes) if size is not None], self.rows_for(sizes)
        rows = np.array([made[k] for k in kept])
        places = noise.generator.permutation(int(rows.sum()))
        mixed = np.empty((len(places), self.features.dimension))
        drawn = np.empty(len(places), dtype=np.int32)
        add_noise: AddNoise = (
            gaussian_noise(sigma, noise.generator, on_grid=not noise.seeded)
            if self.config.noise_sampler == "system"
            else lambda values: noise.gaussian(values, sigma)
        )
        done = 0
        for k, count in zip(kept, rows.tolist(), strict=True):
            where = np.sort(places[done : done + count])  # rows of a class are exchangeable; memory is written in order
            drawn[where] = k
            size = sizes[k]
            blocks = averages_in_blocks(
                points[labels == k],
                self.config.order_of_mixture,
                count,
                add_noise,
                noise.generator,
                variant=self.config.variant,
                rate=None if size is None else self.config.order_of_mixture / size,
            )
            for start, block in blocks:
                np.multiply(block, self.features.length, out=block)
                mixed[where[start : start + len(block)]] = block
                progress(f"mixing class {self.classes[k]}", 0.15 + 0.75 * (done + start) / len(places))
            done += count
        return mixed, drawn

    def _decode(
        self, mixed: Floats, drawn: npt.NDArray[np.int32], generator: np.random.Generator, standard: Standard | None
    ) -> pd.DataFrame:
        pieces = self.features.decode_pieces(mixed, generator, standard)
        pieces.append(self.domain[self.config.target].decode(drawn, generator).to_frame(self.config.target))
        return pd.concat(pieces, axis=1)[list(self.domain.names)]
