"""Noisy reweighting (Boedihardjo, Strohmer, Vershynin 2021b): noisy statistics, then a density on a reduced space."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import numpy as np
import numpy.typing as npt
import pandas as pd

from dpsyn.basis.dimension import contingency_cells, walsh_dimension
from dpsyn.data.table import Table
from dpsyn.domain import Codes, Domain
from dpsyn.errors import CalibrationError, ParameterError
from dpsyn.mechanisms.base import PUBLIC_DOMAIN_ASSUMPTION, Config, Mechanism, Progress
from dpsyn.privacy import sensitivity
from dpsyn.privacy.noise import NoiseSource
from dpsyn.privacy.spec import Guarantee, PrivacySpec
from dpsyn.privacy.zcdp import zcdp_rho

Statistics = Literal["auto", "walsh", "contingency"]
Noise = Literal["laplace", "gaussian"]
ReducedSpace = Literal["uniform", "marginals"]

WHOLE_DOMAIN_AT_MOST = 8192
DEFAULT_DRAWS = 3000
LARGEST_MATRIX = 60_000_000
_SMOOTHING = 0.1

N_IS_PUBLIC = "The number of rows n is public."


@dataclass(frozen=True)
class NoisyReweighting(Config):
    """Settings of noisy reweighting.

    Args:
        degree: d, the order of the statistics that are matched.
        statistics: ``"walsh"`` (binary domains), ``"contingency"`` (all d-way tables, any domain), or ``"auto"``: Walsh
            where the domain is binary, tables elsewhere; each is the better family there.
        noise: ``"laplace"`` (the paper's; pure ε) or ``"gaussian"`` (needs δ > 0).
        rows: k, how many rows to draw; None draws n.
        reduced_space_size: m, how many points to draw for the reduced space; None takes the whole domain when it has at
            most 8,192 rows and 3,000 draws otherwise.
        reduced_space: the public measure μ: ``"uniform"`` on the domain (the paper's cube), or ``"marginals"``, the
            product of differentially private one-way marginals.
        marginal_share: share of the budget that ``"marginals"`` spends on them; nothing where the whole domain is taken.

    Raises:
        ParameterError: a value is outside its range.
    """

    degree: int = 2
    statistics: Statistics = "auto"
    noise: Noise = "laplace"
    rows: int | None = None
    reduced_space_size: int | None = None
    reduced_space: ReducedSpace = "uniform"
    marginal_share: float = 0.2

    name: ClassVar[str] = "noisy_reweighting"
    title: ClassVar[str] = "Noisy reweighting"
    paper: ClassVar[str] = "Boedihardjo, Strohmer, Vershynin 2021b"

    def __post_init__(self) -> None:
        if not isinstance(self.degree, int) or self.degree < 1:
            raise ParameterError("degree", self.degree, "a whole number, at least 1")
        for name, allowed in (
            ("statistics", ("auto", "walsh", "contingency")),
            ("noise", ("laplace", "gaussian")),
            ("reduced_space", ("uniform", "marginals")),
        ):
            if getattr(self, name) not in allowed:
                raise ParameterError(name, getattr(self, name), f"one of {', '.join(map(repr, allowed))}")
        for name in ("rows", "reduced_space_size"):
            if getattr(self, name) is not None and getattr(self, name) < 1:
                raise ParameterError(name, getattr(self, name), "at least 1")
        if not 0 < self.marginal_share < 1:
            raise ParameterError("marginal_share", self.marginal_share, "a share strictly between 0 and 1")

    def calibrate(self, spec: PrivacySpec, domain: Domain, n: int) -> NoisyReweightingMechanism:
        """Noise scales that make the release (ε, δ)-DP for replacing one of ``n`` rows.

        Laplace: discrete Laplace noise of scale L1/ε on the integer sums (Theorem 2.2 with the exact L1 in place of
        2|F|). Gaussian: discrete Gaussian noise of scale L2/√(2ρ), ρ the largest with ρ-zCDP ⟹ (ε, δ)-DP. With
        ``reduced_space="marginals"`` the two releases compose: ε (or ρ) is split by ``marginal_share``.

        Raises:
            CalibrationError: ``add_remove`` was asked for (n is used as a public number), or Gaussian noise without δ.
            ParameterError: Walsh statistics on a domain that is not binary, or a matrix too large for memory.
        """
        if n < 1:
            raise ParameterError("n", n, "at least 1 row")
        if spec.neighbouring != "replace_one":
            raise CalibrationError(
                "noisy reweighting divides by the number of rows, so n must be public: ask for neighbouring='replace_one'"
            )
        if self.noise == "gaussian" and spec.delta == 0:
            raise CalibrationError("Gaussian noise gives no pure differential privacy: set delta > 0 or noise='laplace'")
        family = self._family(domain)
        size = (
            contingency_cells(domain.shape, self.degree)
            if family == "contingency"
            else walsh_dimension(len(domain), self.degree)
        )
        m = self.reduced_space_size or (domain.size if domain.size <= WHOLE_DOMAIN_AT_MOST else DEFAULT_DRAWS)
        stored = m * (size if family == "walsh" else math.comb(len(domain), min(self.degree, len(domain))))
        if stored > LARGEST_MATRIX or size > LARGEST_MATRIX // 100:
            raise ParameterError(
                "degree",
                self.degree,
                f"{size:,} statistics on {m:,} points are too many for the linear program; lower the degree, "
                "the number of columns, bins or categories, or reduced_space_size",
            )
        return NoisyReweightingMechanism(
            config=self,
            spec=spec,
            domain=domain,
            n=n,
            guarantee=Guarantee(
                epsilon=spec.epsilon,
                delta=spec.delta if self.noise == "gaussian" else 0.0,
                neighbouring="replace_one",
                source=self._source(),
                assumptions=(PUBLIC_DOMAIN_ASSUMPTION, N_IS_PUBLIC),
            ),
            family=family,
            statistic_count=size,
            reduced_space_size=m,
            **self._scales(spec, domain, family),
        )

    def _takes_all(self, domain: Domain) -> bool:
        """Whether the reduced space is the whole domain."""
        return self.reduced_space_size is None and domain.size <= WHOLE_DOMAIN_AT_MOST

    def _family(self, domain: Domain) -> Literal["walsh", "contingency"]:
        if self.statistics == "auto":
            return "walsh" if domain.is_binary else "contingency"
        if self.statistics == "walsh" and not domain.is_binary:
            wide = next(a for a in domain.attributes if a.size != 2)
            raise ParameterError(
                "statistics",
                "walsh",
                f"column {wide.name!r} has {wide.size} values; Walsh functions need two, use 'contingency'",
            )
        return self.statistics

    def _source(self) -> str:
        if self.noise == "gaussian":
            return "Discrete Gaussian mechanism, zCDP (Canonne, Kamath, Steinke 2020), exact L2 sensitivity"
        return "Theorem 2.2 of Boedihardjo, Strohmer, Vershynin 2021b with the exact L1 sensitivity, discrete Laplace noise"

    def _scales(self, spec: PrivacySpec, domain: Domain, family: str) -> dict[str, float]:
        q = len(domain)
        if family == "walsh":
            l1, l2 = float(sensitivity.walsh_sum_l1(q, self.degree)), sensitivity.walsh_sum_l2(q, self.degree)
        else:
            l1, l2 = (
                float(sensitivity.contingency_count_l1(q, self.degree)),
                sensitivity.contingency_count_l2(q, self.degree),
            )
        # Where the reduced space is the whole domain no marginals are released, so nothing is spent on them.
        share = self.marginal_share if self.reduced_space == "marginals" and not self._takes_all(domain) else 0.0
        if self.noise == "laplace":
            main, first = spec.epsilon * (1 - share), spec.epsilon * share
            return {"scale": l1 / main, "marginal_scale": sensitivity.contingency_count_l1(q, 1) / first if share else 0.0}
        rho = zcdp_rho(spec.epsilon, spec.delta)
        marginal = sensitivity.contingency_count_l2(q, 1) / math.sqrt(2 * rho * share) if share else 0.0
        return {"scale": l2 / math.sqrt(2 * rho * (1 - share)), "marginal_scale": marginal}


@dataclass(frozen=True)
class NoisyReweightingMechanism(Mechanism):
    """Calibrated noisy reweighting.

    Attributes:
        family: the statistics that are matched.
        statistic_count: |F|.
        reduced_space_size: m.
        scale: noise scale on the integer sums (divide by n for the paper's σ).
        marginal_scale: noise scale on the one-way counts, 0 where they are not used.
    """

    config: NoisyReweighting
    family: Literal["walsh", "contingency"] = "walsh"
    statistic_count: int = 0
    reduced_space_size: int = 0
    scale: float = 0.0
    marginal_scale: float = 0.0

    def calibrated(self) -> dict[str, Any]:
        """Family, |F|, m, k and the noise scales."""
        return {
            "statistics": self.family,
            "statistic_count": self.statistic_count,
            "reduced_space_size": self.reduced_space_size,
            "rows": self.config.rows or self.n,
            "noise_scale_on_sums": self.scale,
            "noise_scale_on_averages": self.scale / self.n,
            "noise_scale_on_marginal_counts": self.marginal_scale,
        }

    def noisy_statistics(self, noise: NoiseSource, table: Table) -> npt.NDArray[np.float64]:
        """y = (Σ_i f(x_i) + noise)/n for every statistic f, shape (|F|,): the first release of the mechanism."""
        return self.noisy_sums(noise, self._sums(table.codes)) / self.n

    def noisy_sums(self, noise: NoiseSource, sums: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
        """Sums with the noise of the release, shape (…, |F|): an audit asks for many releases at once."""
        draw = noise.discrete_laplace if self.config.noise == "laplace" else noise.discrete_gaussian
        return draw(sums, self.scale)

    def _sums(self, codes: Codes) -> npt.NDArray[np.int64]:
        if self.family == "walsh":
            from dpsyn.basis.walsh import walsh_sums

            return walsh_sums((2 * codes - 1).astype(np.int8), self.config.degree)
        from dpsyn.basis.contingency import ContingencyBasis

        return ContingencyBasis(self.domain.shape, self.config.degree).counts(codes)

    def _matrix(self, points: Codes) -> Any:
        if self.family == "walsh":
            from dpsyn.basis.walsh import walsh_matrix

            return walsh_matrix((2 * points - 1).astype(np.int8), self.config.degree).astype(np.float64)
        from dpsyn.basis.contingency import ContingencyBasis

        return ContingencyBasis(self.domain.shape, self.config.degree).indicator(points)

    def _points(self, noise: NoiseSource, table: Table) -> Codes:
        """The reduced space Ω*, distinct points, shape (at most m, number of columns)."""
        shape = self.domain.shape
        generator = noise.generator
        if self.config._takes_all(self.domain):
            grid = np.indices(shape, dtype=np.int32).reshape(len(shape), -1).T
            return np.ascontiguousarray(grid)
        columns = []
        for j, size in enumerate(shape):
            if self.marginal_scale:
                draw = noise.discrete_laplace if self.config.noise == "laplace" else noise.discrete_gaussian
                counts = draw(np.bincount(table.codes[:, j], minlength=size).astype(np.int64), self.marginal_scale)
                weights = np.maximum(counts, 0).astype(np.float64)
                total = weights.sum()
                weights = (1 - _SMOOTHING) * weights / total + _SMOOTHING / size if total else np.full(size, 1 / size)
                columns.append(generator.choice(size, self.reduced_space_size, p=weights / weights.sum()))
            else:
                columns.append(generator.integers(0, size, self.reduced_space_size))
        return np.unique(np.stack(columns, axis=1).astype(np.int32), axis=0)

    def _run(self, noise: NoiseSource, table: Table, progress: Progress) -> tuple[pd.DataFrame, dict[str, Any]]:
        from dpsyn.optim.chebyshev import fit_density

        progress("drawing the reduced space", 0.02)
        points = self._points(noise, table)
        progress("adding noise to the statistics", 0.1)
        target = self.noisy_statistics(noise, table)
        progress(f"fitting a density to {len(target):,} statistics on {len(points):,} points", 0.2)
        fit = fit_density(self._matrix(points), target)
        progress("drawing rows", 0.95)
        k = self.config.rows or self.n
        drawn = noise.generator.choice(len(points), k, p=fit.density)
        rows = self.domain.decode(points[drawn], noise.generator)
        exact = self._sums(table.codes) / self.n
        diagnostics = {
            "largest_deviation_from_noisy_statistics": fit.deviation,
            "largest_noise": float(np.abs(target - exact).max()),
            "support": int((fit.density > 0).sum()),
            "points": points,
            "density": fit.density,
            "noisy_statistics": target,
            "solver_status": fit.status,
            "solver_residual": fit.residual,
            "duality_gap": fit.deviation - fit.dual_bound,
        }
        return rows, diagnostics
