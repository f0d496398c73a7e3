"""The calibrated mechanism: noise on the statistics once, then post-processing."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
import pandas as pd

from dpsyn.data.counted import AnyTable
from dpsyn.mechanisms.base import Mechanism, Progress, Release
from dpsyn.mechanisms.encoding import HISTOGRAMS
from dpsyn.mechanisms.noisy_reweighting._fit import Fitted, Plan, drawn_codes, fit
from dpsyn.mechanisms.noisy_reweighting._ledger import MARGINALS, Ledger
from dpsyn.mechanisms.noisy_reweighting._spaces import NoisySums, all_points, noisy_rows
from dpsyn.mechanisms.noisy_reweighting.families import Family, TableFamily
from dpsyn.privacy.histograms import Encoding, Histograms
from dpsyn.privacy.noise import NoiseSource
from dpsyn.solvers.coded import Rows
from dpsyn.solvers.memory import require_memory

Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]

_LISTED = 200_000
"""Points that the diagnostics list."""


@dataclass(frozen=True, eq=False)
class Measured:
    """What the run learns of the rows: everything after it is post-processing.

    Attributes:
        exact: Σ_i f(x_i)/unit, shape (|F|,): private.
        sums: the same with noise.
        rows: n where it is public, else its noisy estimate.
        marginals: one-way shares that were released on their own, or None.
        encoding: between rows and codes: bins by the noisy fine histograms, or those of the domain.
        statistics: what was measured.
        spreads: standard deviation of the noise on every sum (of the continuous law, which is close), shape (|F|,).
    """

    exact: Integers
    sums: Floats
    rows: float
    marginals: list[Floats] | None
    encoding: Encoding
    statistics: Family
    spreads: Floats


@dataclass(frozen=True)
class NoisyReweightingMechanism(Mechanism):
    """Calibrated noisy reweighting.

    Attributes:
        statistics: the family F.
        plan: what is fitted to the noisy statistics, on which points, and how rows are drawn from it.
        ledger: the parts of the budget and their noise.
        part_of: the part of the ledger that each number of :meth:`exact` belongs to.
        marginals: one-way tables that get a part of the budget of their own, or None.
        histograms: fine histograms of numbers and dates, or None.
        scale: noise scale on the whole-number sums of a part of weight 1 (divide by n for the paper's σ); a part of weight w
            has ``scale/√w`` under Gaussian noise and ``scale/w`` under Laplace noise.
        count_part: whether the number of rows is released by the ledger's last part.
    """

    statistics: Family
    plan: Plan
    ledger: Ledger
    part_of: Integers
    scale: float
    marginals: TableFamily | None = None
    histograms: Histograms | None = None
    count_part: bool = False

    needs_counts_alone: ClassVar[bool] = True

    @property
    def family(self) -> str:
        """Name of the family of statistics."""
        return self.statistics.name

    @property
    def statistic_count(self) -> int:
        """|F|."""
        return self.statistics.count

    @property
    def reduced_space_size(self) -> int:
        """m: points of the reduced space."""
        return self.plan.size

    def _scale_of(self, number: int) -> float:
        # The quotient is 1 but in audits of noise that is too small: the ledger's own scales are what the proof is about.
        return self.scale / self.ledger.base * self.ledger.scale(self.ledger.parts[number])

    @property
    def scales(self) -> Floats:
        """Noise scale on every number of :meth:`exact`."""
        of_part = np.array([self._scale_of(number) for number in range(len(self.ledger.parts))])
        return np.asarray(of_part[self.part_of])

    @property
    def marginal_scale(self) -> float:
        """Noise scale on the one-way counts that are released on their own, 0 where there are none."""
        return 0.0 if self.marginals is None else float(self.scales[self.statistic_count])

    @property
    def spreads(self) -> Floats:
        """Standard deviation of the noise on every sum (of the continuous law, which is close), shape (|F|,)."""
        return self._deviations[: self.statistic_count]

    @property
    def _deviations(self) -> Floats:
        return np.asarray(self._deviation * self.scales)

    @property
    def _deviation(self) -> float:
        """Of noise at scale 1."""
        return 1.0 if self.ledger.kind == "gaussian" else math.sqrt(2)

    def calibrated(self) -> dict[str, Any]:
        """Family, |F|, m, k, the noise scales, and the budget as a ledger whose shares add up to 1."""
        scales = self.scales[: self.statistic_count]
        public_n = self._public_rows is not None
        facts: dict[str, Any] = {
            "statistics": self.family,
            "statistic_count": self.statistic_count,
            "reduced_space": self.plan.space,
            "reduced_space_size": self.plan.size,
            "noise": self.ledger.kind,
            "accounting": self.ledger.argument,
            "noise_scale_on_sums": float(scales.max()),
            "smallest_noise_scale_on_sums": float(scales.min()),
            "noise_scale_on_marginal_counts": self.marginal_scale,
            "ledger": self.ledger.entries,
        }
        if self.ledger.nothing_moves:
            facts["nothing_moves"] = True
        if self.plan.config.rows is not None or public_n:
            facts["rows"] = self.plan.config.rows or self.n
        if public_n:
            facts["noise_scale_on_averages"] = float(scales.max()) * self.statistics.unit / self.n
        return facts

    def averages(self, measured: Measured) -> Floats:
        """y = (Σ_i f(x_i) + noise)/n for every statistic f, shape (|F|,); a noisy estimate is in the place of a secret n."""
        return np.asarray(measured.sums * (self.statistics.unit / measured.rows))

    def exact(self, real: Rows) -> Integers:
        """What gets noise besides fine histograms: sums of the statistics, one-way counts of their own, number of rows."""
        parts = [self.statistics.sums_of(real)]
        if self.marginals is not None:
            parts.append(self.marginals.sums_of(real))
        if self.count_part:
            parts.append(np.array([real.n], dtype=np.int64))
        return np.concatenate(parts)

    def noisy(self, noise: NoiseSource, exact: Integers) -> npt.NDArray[Any]:
        """The same with the noise of the release, shape (…, as many): an audit asks for many releases at once."""
        if self.ledger.kind == "continuous_laplace":
            return np.asarray(exact + noise.generator.laplace(0.0, self.scale, exact.shape))
        noisy = np.empty_like(exact)
        # Marginals come last: the order in which a seed has always been used up.
        for number in sorted(np.unique(self.part_of), key=lambda part: self.ledger.parts[part].name == MARGINALS):
            mine = self.part_of == number
            noisy[..., mine] = self.ledger.released(noise, exact[..., mine], self._scale_of(number))
        return noisy

    def encoding(self, noise: NoiseSource, table: AnyTable) -> Encoding:
        """The first step: what is told apart in numbers and dates, from noisy fine histograms."""
        if self.histograms is None:
            return Encoding(self.domain)
        scale = self._scale_of([part.name for part in self.ledger.parts].index(HISTOGRAMS))
        return self.histograms.learn(
            table, lambda counts: self.ledger.released(noise, counts, scale), self._deviation * scale, self._public_rows
        )

    def measured(self, noise: NoiseSource, table: AnyTable) -> Measured:
        """The second step: noise on everything else that is learned of the rows."""
        encoding = self.encoding(noise, table)
        exact = self.exact(encoding.rows(table))
        noisy = np.asarray(self.noisy(noise, exact), dtype=np.float64)
        count = self.statistic_count
        sums = noisy[:count]
        rows, laws = self._rows(sums, noisy[-1]), self._marginal_laws(noisy[count:])
        return Measured(exact[:count], sums, rows, laws, encoding, self.statistics, self.spreads)

    def fitted(self, measured: Measured, generator: np.random.Generator, progress: Progress) -> Fitted:
        """The third step: a density near the noisy statistics; it sees no record."""
        noisy = NoisySums(measured.statistics, measured.sums, np.maximum(measured.spreads, 0.5), measured.rows)
        noisy = noisy.agreeing({j: measured.encoding.counts(j) for j in measured.encoding.bins})
        return fit(replace(self.plan, family=measured.statistics), noisy, measured.marginals, generator, progress)

    def _run(self, noise: NoiseSource, table: AnyTable, progress: Progress) -> tuple[pd.DataFrame, dict[str, Any]]:
        progress("adding noise to the statistics", 0.02)
        measured = self.measured(noise, table)
        k = self.plan.config.rows or round(measured.rows)
        require_memory("rows", k, 16 * len(self.domain) * k)
        fitted = self.fitted(measured, noise.generator, lambda step, share: progress(step, 0.05 + 0.7 * share))
        progress("drawing rows", 0.75)
        codes = drawn_codes(self.plan, fitted, self.domain.shape, k, noise.generator)
        return measured.encoding.decode(codes, noise.generator), self._diagnostics(fitted, measured)

    @property
    def _public_rows(self) -> int | None:
        return self.n if self.guarantee.neighbouring == "replace_one" else None

    def _rows(self, sums: Floats, counted: float) -> float:
        """n where it is public, else what the noisy statistics (or a count of its own) say of it, at least 1."""
        if self._public_rows is not None:
            return float(self._public_rows)
        found = counted if self.count_part else noisy_rows(self.statistics, sums, np.maximum(self.spreads, 0.5))
        return max(1.0, float(found)) if found is not None else 1.0

    def _marginal_laws(self, counts: Floats) -> list[Floats] | None:
        if self.marginals is None:
            return None
        floor = 0.2 * max(float(self._deviations[self.statistic_count]), 0.5)
        laws = [np.maximum(counts[g.start : g.stop], floor) for g in self.marginals.groups]
        return [law / law.sum() for law in laws]

    def _diagnostics(self, fitted: Fitted, measured: Measured) -> dict[str, Any]:
        noisy = self.averages(measured)
        noise = float(np.abs(measured.sums - measured.exact).max()) * (self.statistics.unit / measured.rows)
        diagnostics = {
            "largest_deviation_from_noisy_statistics": float(np.abs(fitted.statistics - noisy).max()),
            "largest_noise": noise,
            "support": int((fitted.density > 0).sum()),
            **fitted.facts,
            "noisy_statistics": noisy,
            "fitted_statistics": fitted.statistics,
            "density": fitted.density,
            "fit": _Kept(fitted, measured.encoding),
        }
        if fitted.codes is not None:
            diagnostics["points"] = fitted.codes
        elif len(fitted.density) <= _LISTED:
            diagnostics["points"] = all_points(self.domain.shape)
        return diagnostics

    def _redraw(self, generator: np.random.Generator, release: Release) -> pd.DataFrame | None:
        """As many rows again, drawn from the fitted density in the way of the release (``rounding``)."""
        kept = release.diagnostics.get("fit")
        if not isinstance(kept, _Kept):
            return None
        codes = drawn_codes(self.plan, kept.fitted, self.domain.shape, len(release.rows), generator)
        return kept.encoding.decode(codes, generator)


@dataclass(frozen=True, eq=False)
class _Kept:
    """The fit that a release was drawn from, for drawing once more."""

    fitted: Fitted
    encoding: Encoding

    def __repr__(self) -> str:
        return f"a density on {len(self.fitted.density):,} points"
